"""A block that does its work on a thread of its own, while whoever reads takes its pieces.

One rule: the reader waits for the work, and the work for nobody: `stop` only has it told to end,
and `finish` returns when it has ended.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Generator

from lmc_jupyter.computer.outbox import Outbox
from lmc_jupyter.lmc import Chunk

Pieces = Generator[Chunk, None, None]

READ_SECONDS = 0.02
"""Output that comes faster than this is joined to one piece."""


class ThreadedBlock(ABC):
    """One block; nothing runs before its first piece."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self._begun = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    @abstractmethod
    def _run(self) -> None:
        """Do the work, on its own thread; at its end it calls `_is_over`, whatever happens."""

    @abstractmethod
    def _end(self) -> None:
        """Have the work end, again and again until `_ended` is set; on a thread of its own."""

    def pieces(self) -> Pieces:
        """Begin, and yield what comes until it has ended."""
        self._begun = True
        threading.Thread(target=self._run, name="lmc block", daemon=True).start()
        while not self._ended.is_set():
            self._outbox.wait()
            yield from self._outbox.take()
            self._ended.wait(READ_SECONDS)
        yield from self._outbox.take()

    def finish(self) -> None:
        """See to it that it has ended."""
        if self._begun and not self._ended.is_set():
            self.stop()
            self._ended.wait()

    def stop(self) -> None:
        """Have it end; from any thread, returns at once."""
        with self._lock:
            if self.stopped.is_set():
                return
            self.stopped.set()
        threading.Thread(target=self._end, name="lmc stop", daemon=True).start()

    def _is_over(self) -> None:
        """The work has ended: tell the reader."""
        self._outbox.finish()
        self._ended.set()
        self._outbox.ring()
