"""The words of a loop: what a model is told to go on with, and how it says that it has ended.

One rule: every breaker stands in the message, so that the model knows it.
"""

from __future__ import annotations

LOOP_BREAKERS = (
    "The task is done.",
    "The task cannot be done.",
    "What should I do next?",
    "I need to know more.",
)
"""With one of these sentences in its last message a model ends the loop."""

LOOP_MESSAGE = (
    "Go on with the task; you can run code. If nothing is left to do, or you need the person, end "
    f"with exactly one of these sentences: {' '.join(LOOP_BREAKERS)}"
)
