"""Views: whatever shows an answer and waits for a person; and `play`, which drives them.

One rule: all drawing and all waiting is here. To add a front end, write a class with the four
methods of `View`.
"""

from __future__ import annotations

from typing import Protocol

from lmc_jupyter.agent import Reply
from lmc_jupyter.errors import LMCError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Chunk


class View(Protocol):
    """A front end for one answer."""

    def show(self, chunk: Chunk) -> None:
        """Draw the next chunk; one that reads the events of the conversation has drawn it."""
        ...

    def confirm(self, chunk: Chunk) -> Decision | None:
        """Ask the person; None declines, unless policy lets the code run unasked."""
        ...

    def fail(self, error: BaseException) -> None:
        """Say what ended the answer: an `LMCError`, or a KeyboardInterrupt for a stop."""
        ...

    def close(self) -> None:
        """The answer is over: leave what should last."""
        ...


def play(reply: Reply, view: View) -> None:
    """Show a whole answer, asking the view at each confirmation.

    Raises
    ------
    LMCError
        What ended the answer too early, after the view has shown it.
    """
    answer: Decision | None = None
    try:
        while True:
            chunk = reply.send(answer)
            view.show(chunk)
            answer = view.confirm(chunk) if chunk.type == "confirmation" else None
    except StopIteration:
        return
    except (LMCError, KeyboardInterrupt) as error:
        reply.close()  # first, so that what the view shows at last is what the history keeps
        view.fail(error)
        raise
    finally:
        reply.close()
        view.close()
