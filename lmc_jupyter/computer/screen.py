"""What a front end lends to the languages of a computer while an answer is given.

One rule: the computer never looks for a person; whoever drives the answer (the panel, a cell)
sets `Computer.screen` before it, and takes it away after it. Without one a language says what
it cannot do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Page:
    """What became of HTML or JavaScript in the person's browser.

    Parameters
    ----------
    lines : what its console said, its errors and blocked requests, a line each, as they came
    text : the visible text of the page, bounded
    width, height : of its content, in CSS pixels
    picture : HTML without scripts, how a page with scripts looked; "" where that is not known
    """

    lines: tuple[str, ...] = ()
    text: str = ""
    width: int = 0
    height: int = 0
    picture: str = ""


class Expected(Protocol):
    """A page that is about to be shown."""

    def wait(self, seconds: float) -> Page | None:
        """What became of it; None when nothing was heard for so long, or `stop` was called."""
        ...

    def stop(self) -> None:
        """Have `wait` return now; from any thread."""
        ...


class Screen(Protocol):
    """The person's front end."""

    def expect(self, code: str) -> Expected | None:
        """Say that this HTML or JavaScript is put out next, and that its page is waited for.

        None where what the computer shows is not run in a browser.
        """
        ...

    def ask(self, prompt: str, password: bool = False) -> str:
        """What the person types, for a program that asks; on the thread of the caller.

        The caller shows prompt and answer, as a terminal would; a password is kept nowhere.

        Raises
        ------
        EOFError
            When the person gives no answer (Ctrl-D).
        KeyboardInterrupt
            When the answer is stopped meanwhile.
        ComputerError
            Where nobody can be asked.
        """
        ...
