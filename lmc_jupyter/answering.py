"""One answer at a time: how it is driven until it is over, or stopped.

One rule: after a stop nothing begins, whoever has said yes before; and nothing is shown that the
watchers have not been told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator

from lmc_jupyter.agent import Computer, Decision, Reply
from lmc_jupyter.errors import SessionError, Stopped
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.redaction import without_keys
from lmc_jupyter.turns import Blocks, Watchers


def driven(reply: Reply, stop: threading.Event, blocks: Blocks, watchers: Watchers) -> Reply:
    """The chunks of a reply, with the answers to its confirmations, until it ends or is stopped.

    Who made the reply closes it.
    """
    answer: Decision | None = None
    while not stop.is_set():
        try:
            chunk = reply.send(answer)
        except StopIteration:
            return
        blocks.before(chunk)
        if chunk.type == "confirmation":
            answer = yield chunk
            blocks.answered(answer)
        else:
            watchers.tell("shown", chunk)
            blocks.after(chunk)
            answer = yield chunk


class UntilStopped:
    """The computer of one answer, without the keys in what it puts out.

    Parameters
    ----------
    stop : is set when the answer was stopped
    begins : is told before a block of code begins
    """

    def __init__(
        self, computer: Computer, stop: threading.Event, begins: Callable[[], None]
    ) -> None:
        self._computer, self._stop, self._begins = computer, stop, begins

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        self._begins()
        computer = self._computer  # one of somebody's own has no `granted`
        pieces = getattr(computer, "granted", computer.run)(language, code)
        # from here on its own `stop` reaches it
        if self._stop.is_set():
            pieces.close()
            raise Stopped("stopped before the code was run")
        return without_keys(pieces)


class Idle:
    """Holds the lock of a session's turns for a moment, or says why not."""

    def __init__(self, lock: threading.Lock, what: str) -> None:
        self.lock, self.what = lock, what

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            raise SessionError(f"cannot {self.what} while an answer is being given: stop it first")

    @property
    def __exit__(self) -> Callable[..., None]:
        """The lock's own, which no Ctrl-C comes into."""
        return self.lock.__exit__
