"""What a front end lends to the languages of a computer while an answer is given.

One rule: the computer never looks for a person; the driver of the answer (the panel, a cell)
sets `Computer.screen` before it, and removes it after it. Without a screen, a language says what
it cannot do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Choices = Sequence[tuple[str, str]]
"""(what is answered, what its button says)."""


def in_words(prompt: str, choices: Choices) -> str:
    """The prompt for a keyboard, with what may be answered."""
    words = ", ".join(f"{answer}: {name}" for answer, name in choices)
    return f"{prompt} ({words}) " if words else prompt


@dataclass(frozen=True)
class Page:
    """What became of HTML or JavaScript in the person's browser.

    Parameters
    ----------
    lines : of its console, its errors and blocked requests, in their order
    text : the visible text of the page, bounded
    width, height : of its content, in CSS pixels
    picture : HTML without scripts that looks as the page did; "" where there is none
    """

    lines: tuple[str, ...] = ()
    text: str = ""
    width: int = 0
    height: int = 0
    picture: str = ""


class PendingPage(Protocol):
    """A page that is about to be shown."""

    def wait(self, seconds: float) -> Page | None:
        """The report of the page; None when there is none in so many seconds, or after `stop`."""
        ...

    def stop(self) -> None:
        """Have `wait` return now; from any thread."""
        ...


class Screen(Protocol):
    """The person's front end."""

    def expect(self, code: str) -> PendingPage | None:
        """The page of this HTML or JavaScript, which must be the next output.

        None where no browser runs what the computer shows.
        """
        ...

    def ask(self, prompt: str, password: bool = False, choices: Choices = ()) -> str:
        """The answer that the person types to a program, waited for on the caller's thread.

        With `choices` it is no program that asks, and the answer is one of these.

        The caller shows prompt and answer, as a terminal would; nobody stores a password.

        Raises
        ------
        EOFError
            When the person gives no answer (Ctrl-D).
        KeyboardInterrupt
            When the person stops the answer meanwhile.
        ComputerError
            Where there is no person to ask.
        """
        ...
