"""The engine of a block: it waits for its turn, works on a thread of its own, and always ends.

One rule: the reader of the pieces waits for the work, and the work waits for nobody. `stop` only
begins to ask the work to end: again and again, then with SIGTERM, then with SIGKILL.
"""

from __future__ import annotations

import _thread
import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass

from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk

Pieces = Generator[Chunk, None, None]

LATE = "[printed after the end of an earlier block:]"
_READ_SECONDS = 0.02
"""Seconds: output that comes faster becomes one piece."""


@dataclass(frozen=True)
class Patience:
    """How long a stopped block may take to end, in seconds.

    Parameters
    ----------
    again : between two requests
    polite : the time of interrupts, then as long again of SIGTERM, then SIGKILL
    """

    again: float = 0.3
    polite: float = 2.0


class ForeignBlock(ABC):
    """One block; its code does not run before the first piece is read.

    A language defines how to run it (`work`) and how to ask for its end. Of `terminate`, `kill`
    and `abandon`, one that is not overridden does the same as the one before it.

    Parameters
    ----------
    patience : how long a stopped block may take to end
    """

    def __init__(self, patience: Patience | None = None) -> None:
        self.thread = threading.get_ident()
        """The id of the thread that reads it."""
        self.outbox = OutputBuffer()
        self.problem: ComputerError | None = None
        self.stop_flag, self.end_flag = threading.Event(), threading.Event()
        self._patience = patience or Patience()
        self._has_begun = False
        self._lock = threading.Lock()
        self._step = threading.Lock()

    @abstractmethod
    def work(self) -> None:
        """Run the code and read its output until it has ended; on a thread of its own."""

    @abstractmethod
    def interrupt(self) -> None:
        """Ask the code to end, as Ctrl-C does."""

    def terminate(self) -> None:
        """Ask the processes of the code to end, by SIGTERM."""
        self.interrupt()

    def kill(self) -> None:
        """End the processes of the code."""
        self.terminate()

    def abandon(self) -> None:
        """End the program that runs the code, and with it the state of earlier blocks."""
        self.kill()

    def attend(self) -> None:  # noqa: B027 - most languages have nothing to attend to
        """Do what must be done on the reader's thread; called between two pieces."""

    def settle(self) -> None:  # noqa: B027 - most languages have nothing to settle
        """Prepare for the next block; called once, when this one has ended."""

    def pieces(self) -> Pieces:
        """Begin, unless it was ended before, and yield the output until the end."""
        with self._lock:
            if self.end_flag.is_set():
                return
            self._has_begun = True
        # not `threading.Thread`, which waits until the thread runs: a change of threads a block
        _thread.start_new_thread(self._work, ())
        while not self.end_flag.is_set():
            self.outbox.wait()
            yield from self.outbox.take()
            self.attend()
            self.end_flag.wait(_READ_SECONDS)
        yield from self.outbox.take()

    def finish(self) -> None:
        """Wait for its end; stop it first, where it runs."""
        with self._lock:
            if not self._has_begun:
                self.end_flag.set()
        if not self.end_flag.is_set():
            self.stop()
            self.end_flag.wait()

    def stop(self) -> None:
        """Ask it to end, from any thread; return at once."""
        with self._lock:
            if self.stop_flag.is_set():
                return
            self.stop_flag.set()
        threading.Thread(target=self._tell, name="lmc stop", daemon=True).start()

    def _work(self) -> None:
        try:
            self.work()
        except ComputerError as error:
            self.problem = error
        finally:
            self.outbox.finish()
            with self._step:  # else a request to end could reach the next block
                self.end_flag.set()
            self.outbox.ring()

    def _tell(self) -> None:
        steps = (self.interrupt, self.terminate, self.kill, self.abandon)
        for count in itertools.count():
            with self._step:
                if self.end_flag.is_set():
                    return
                steps[min(int(count * self._patience.again / self._patience.polite), 3)]()
            self.end_flag.wait(self._patience.again)


class Turns:
    """The blocks of a language: each waits until the one before has ended.

    Parameters
    ----------
    together : they run beside each other instead
    """

    def __init__(self, *, together: bool = False) -> None:
        self.blocks: set[ForeignBlock] = set()
        self.lock = threading.Condition(threading.RLock())
        self._together = together
        self._stops = 0

    def run(self, block: ForeignBlock) -> Pieces:
        """Yield its pieces, after its turn has come; they end as those of `BlockLanguage.run`."""
        return self._pieces(block, self._stops)

    def _pieces(self, block: ForeignBlock, stops: int) -> Pieces:
        self._begin(block)
        try:
            if self._stops == stops:
                yield from block.pieces()
            else:  # it was stopped before its code ran
                block.stop_flag.set()
        finally:
            self._finish(block)
        if block.problem is not None:
            raise block.problem
        if block.stop_flag.is_set():
            raise KeyboardInterrupt

    def stop(self) -> None:
        """End the blocks that run, from any thread; returns at once."""
        self._stops += 1
        for block in list(self.blocks):
            block.stop()

    def end(self) -> None:
        """Stop the blocks that run, and wait until they have ended."""
        self.stop()
        for block in list(self.blocks):
            self._finish(block)

    def _begin(self, block: ForeignBlock) -> None:
        """Wait for the turn; end a block that this thread has begun to read and left."""
        block.thread = threading.get_ident()
        with self.lock:
            while self.blocks and not self._together:
                other = next(iter(self.blocks))
                if other.thread == block.thread:
                    self._finish(other)
                else:
                    self.lock.wait()
            self.blocks.add(block)

    def _finish(self, block: ForeignBlock) -> None:
        block.finish()
        with self.lock:
            if block in self.blocks:
                self.blocks.discard(block)
                block.settle()
                self.lock.notify_all()


class BlockLanguage(ABC):
    """A `Language` whose blocks the engine runs; a subclass makes the blocks.

    Parameters
    ----------
    patience : how long a stopped block may take to end
    together : blocks run beside each other, and do not wait for the one before
    """

    def __init__(self, patience: Patience | None = None, *, together: bool = False) -> None:
        self._patience = patience or Patience()
        self._turns = Turns(together=together)

    @abstractmethod
    def _block(self, code: str) -> ForeignBlock:
        """A block for this code; raises a ComputerError where it is known that it cannot run."""

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes. From this call on `stop` stops it.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When the language is not available, does not start, or cannot run this code.
        """
        return self._turns.run(self._block(code))

    def stop(self) -> None:
        """Interrupt the blocks that run, from any thread; returns at once."""
        self._turns.stop()
