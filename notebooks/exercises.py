"""What the checks of the teaching notebooks share: find an exercise, look, say what is missing.

One rule: a check reads the conversation and the variables and changes nothing; where something is
missing it says what, and what to do, in a sentence, and it never raises because of what a learner
wrote.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lmc_jupyter import LMCError, Message, current_session

Answer = list[Message]
"""A question and all that came after it, up to the next one."""

WIDTH = 80
"""Characters of a line of what a check says."""

NOT_ASKED = "You have not asked yet: run the %%lmc cell above, answer it, then run this cell."


def answers(messages: Iterable[Message]) -> list[Answer]:
    """The conversation, cut before each question."""
    found: list[Answer] = []
    for message in messages:
        if message.role == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


def answer_to(words: str) -> Answer | None:
    """The last question that holds these words, with its answer; None if nobody asked it."""
    asked = [
        answer
        for answer in answers(current_session().messages)
        if words in str(answer[0].content).lower()
    ]
    return asked[-1] if asked else None


def code(answer: Answer, language: str | None = None) -> list[Message]:
    """The model's code, of one language or of all."""
    return [
        each
        for each in answer
        if each.role == "assistant" and each.type == "code" and language in (None, each.format)
    ]


def printed(answer: Answer) -> str:
    """What the computer printed."""
    return "".join(
        str(each.content)
        for each in answer
        if each.role == "computer" and each.type == "console" and each.format == "output"
    )


def images(answer: Answer) -> list[Message]:
    """The pictures that the computer showed."""
    return [each for each in answer if each.role == "computer" and each.type == "image"]


def is_refusal(message: Message) -> bool:
    """Whether the computer says here that code was not run."""
    return message.role == "computer" and "This code was not run" in str(message.content)


def declined(answer: Answer) -> bool:
    """Whether every block of it was left out."""
    refused = sum(is_refusal(message) for message in answer)
    return bool(refused) and refused >= len(code(answer))


@dataclass(frozen=True)
class _Exercise:
    words: str
    verdict: Callable[..., str]
    well_done: str


class Checks:
    """The exercises of one notebook: `check = Checks()`, then `check("count", rarest=rarest)`."""

    def __init__(self) -> None:
        self._exercises: dict[str, _Exercise] = {}

    def exercise(
        self, name: str, well_done: str, *, words: str = ""
    ) -> Callable[[Callable[..., str]], Callable[..., str]]:
        """Make a function the check of an exercise.

        It takes what the learner made and returns what is wrong, as a sentence, or "".

        Parameters
        ----------
        well_done : the sentence when nothing is wrong
        words : of the question, in lower case: its last answer is then the first argument
        """

        def add(verdict: Callable[..., str]) -> Callable[..., str]:
            self._exercises[name] = _Exercise(words, verdict, well_done)
            return verdict

        return add

    def __call__(self, exercise: str, **given: Any) -> None:
        """Print what is right or wrong about an exercise.

        Parameters
        ----------
        exercise : its name
        **given : variables that the exercise is about
        """
        if exercise not in self._exercises:
            names = ", ".join(self._exercises)
            raise ValueError(f"there is no exercise {exercise!r}: choose one of {names}")
        found = self._exercises[exercise]
        wrong = self._wrong(found, given)
        says = f"✗ {wrong}" if wrong else f"✓ {found.well_done}"
        print(textwrap.fill(says, WIDTH, break_long_words=False))  # noqa: T201 - it talks to you

    def _wrong(self, exercise: _Exercise, given: dict[str, Any]) -> str:
        try:
            if not exercise.words:
                return exercise.verdict(**given)
            answer = answer_to(exercise.words)
            return NOT_ASKED if answer is None else exercise.verdict(answer, **given)
        except LMCError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - what a learner made may be anything
            return (
                f"This cannot be checked: looking at it ended with {type(error).__name__}: "
                f"{str(error)[:200]}. Compare what you wrote with the example above the exercise."
            )
