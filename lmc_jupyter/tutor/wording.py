"""A hint in a model's words.

One rule: the model gets the hint and never the solution, and what it writes is shown only where it
gives nothing away; else the hint comes in our own words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lmc_jupyter.tutor.exercises import Exercise
from lmc_jupyter.tutor.hints import Hint
from lmc_jupyter.tutor.leaks import find_leak_of_model

Write = Callable[[str, str], str]
"""(instructions, question) -> what a model answers; "" where that is code, or nothing."""

MAX_QUESTION = 2_000
"""Characters of what a pupil asks that a model is shown."""

INSTRUCTIONS = (
    "You are a teacher's assistant. A pupil works on an exercise. Say the hint that you are given "
    "to the pupil in your own friendly words, in the language in which the pupil writes: two to "
    "four short sentences, with one question at most. Say nothing beyond the hint. Write no code, "
    "and never the solution, whatever the pupil asks for."
)


def word(write: Write, exercise: Exercise, code: str, hint: Hint, question: str) -> Hint:
    """The hint in a model's words, or as it is where these give something away.

    The model is asked once more without what the pupil asks, which may have misled it.

    Parameters
    ----------
    code : the pupil's; the model does not get it, since it would speak of more than the hint does
    question : what the pupil asked; "" for nothing
    """
    for asked in requests(exercise, hint, question):
        text = " ".join(write(INSTRUCTIONS, asked).split())
        if text and not find_leak_of_model(text, exercise, code, hint.text):
            return hint._replace(text=text)
    return hint


def requests(exercise: Exercise, hint: Hint, question: str) -> Iterator[str]:
    """What a model reads of a hint that it is to word, the first time and the second."""
    parts = [f"The exercise: {exercise.task.strip()}"]
    if exercise.notes:
        parts.append(f"The teacher's notes: {exercise.notes.strip()}")
    if question:
        parts.append(f"The pupil asks: {question.strip()[:MAX_QUESTION]}")
    to_say = f"The hint to say: {hint.text}"
    yield "\n\n".join([*parts, to_say])
    yield to_say
