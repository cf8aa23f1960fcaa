"""The engine of a block: it takes its turn, works on a thread of its own, and always ends.

One rule: whoever reads the pieces waits for the work, and the work waits for nobody. `stop` only
has the work told to end: asked again and again, then with SIGTERM, then with SIGKILL.
"""

from __future__ import annotations

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
"""Output that comes faster than this is joined to one piece."""


@dataclass(frozen=True)
class Patience:
    """How long a block that is to end is waited for, in seconds; a test shortens it.

    Parameters
    ----------
    again : between two requests
    polite : it is interrupted for so long, then terminated for as long, then killed
    """

    again: float = 0.3
    polite: float = 2.0


class Block(ABC):
    """One block; nothing of it runs before its first piece.

    A language says how it is run (`work`) and how its end is asked for. What is not overridden of
    `terminate`, `kill` and `abandon` is what comes before it.

    Parameters
    ----------
    patience : with a block that is to end
    """

    def __init__(self, patience: Patience | None = None) -> None:
        self.thread = threading.get_ident()
        """The thread that reads it."""
        self.outbox = OutputBuffer()
        self.failed: ComputerError | None = None
        self.stopped, self.ended = threading.Event(), threading.Event()
        self._patience = patience or Patience()
        self._begun = False
        self._lock = threading.Lock()
        self._step = threading.Lock()

    @abstractmethod
    def work(self) -> None:
        """Run the code, read what comes of it until it has ended; on a thread of its own."""

    @abstractmethod
    def interrupt(self) -> None:
        """Ask the code to end, as Ctrl-C does."""

    def terminate(self) -> None:
        """Ask what the code has started to end, by SIGTERM."""
        self.interrupt()

    def kill(self) -> None:
        """End what the code has started."""
        self.terminate()

    def abandon(self) -> None:
        """End the program that runs the code, and with it the state of earlier blocks."""
        self.kill()

    def attend(self) -> None:  # noqa: B027 - most languages have nothing to attend to
        """Something may have come: called on the thread that reads, between two pieces."""

    def settle(self) -> None:  # noqa: B027 - most languages have nothing to settle
        """It has ended: leave all as the next block is to find it. Called once, in its turn."""

    def pieces(self) -> Pieces:
        """Begin, and yield what comes until it has ended."""
        self._begun = True
        threading.Thread(target=self._work, name="lmc block", daemon=True).start()
        while not self.ended.is_set():
            self.outbox.wait()
            yield from self.outbox.take()
            self.attend()
            self.ended.wait(_READ_SECONDS)
        yield from self.outbox.take()

    def finish(self) -> None:
        """See to it that it has ended."""
        if not self._begun:
            self.ended.set()
        elif not self.ended.is_set():
            self.stop()
            self.ended.wait()

    def stop(self) -> None:
        """Have it end; from any thread, returns at once."""
        with self._lock:
            if self.stopped.is_set():
                return
            self.stopped.set()
        threading.Thread(target=self._tell, name="lmc stop", daemon=True).start()

    def _work(self) -> None:
        try:
            self.work()
        except ComputerError as error:
            self.failed = error
        finally:
            self.outbox.finish()
            with self._step:  # what asks for its end would else reach the block behind it
                self.ended.set()
            self.outbox.ring()

    def _tell(self) -> None:
        steps = (self.interrupt, self.terminate, self.kill, self.abandon)
        for told in itertools.count():
            with self._step:
                if self.ended.is_set():
                    return
                steps[min(int(told * self._patience.again / self._patience.polite), 3)]()
            self.ended.wait(self._patience.again)


class Turns:
    """The blocks of a language: each waits until the one before has ended.

    Parameters
    ----------
    together : they run beside each other instead
    """

    def __init__(self, *, together: bool = False) -> None:
        self.blocks: set[Block] = set()
        self.lock = threading.Condition(threading.RLock())
        self._together = together
        self._stops = 0

    def run(self, block: Block) -> Pieces:
        """Its pieces, when its turn has come; they end as those of `BlockLanguage.run`."""
        return self._pieces(block, self._stops)

    def _pieces(self, block: Block, stops: int) -> Pieces:
        self._begin(block)
        try:
            if self._stops == stops:
                yield from block.pieces()
            else:  # it was stopped before anything of it has run
                block.stopped.set()
        finally:
            self._finish(block)
        if block.failed is not None:
            raise block.failed
        if block.stopped.is_set():
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

    def _begin(self, block: Block) -> None:
        """Wait for the turn; a block that this thread has begun to read and left is ended."""
        block.thread = threading.get_ident()
        with self.lock:
            while self.blocks and not self._together:
                left = next(iter(self.blocks))
                if left.thread == block.thread:
                    self._finish(left)
                else:
                    self.lock.wait()
            self.blocks.add(block)

    def _finish(self, block: Block) -> None:
        block.finish()
        with self.lock:
            if block in self.blocks:
                self.blocks.discard(block)
                block.settle()
                self.lock.notify_all()


class BlockLanguage(ABC):
    """A `Language` whose blocks the engine runs: it adds what a block is.

    Parameters
    ----------
    patience : with a block that is to end
    together : blocks run beside each other, and do not wait for the one before
    """

    def __init__(self, patience: Patience | None = None, *, together: bool = False) -> None:
        self._patience = patience or Patience()
        self._turns = Turns(together=together)

    @abstractmethod
    def _block(self, code: str) -> Block:
        """What runs this code; raises a ComputerError where it is known that nothing can."""

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes. From this call on `stop` reaches it.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When it is not there, does not start, or cannot be given this code.
        """
        return self._turns.run(self._block(code))

    def stop(self) -> None:
        """Interrupt the blocks that run, from any thread; returns at once."""
        self._turns.stop()
