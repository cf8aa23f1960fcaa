"""A block on the thread that reads it: in a greenlet, which switches to the reader at each piece.

One rule: the code runs only while its reader waits for the next piece. So its output streams, and
the code halts where the reader stops.

Why a greenlet: a plain script and a cell that loops over a reply have one thread for the code and
for its reader. With a thread for the code, the code would not run on the main thread; without
either, output would come when the block has ended, and breaking out of the loop would not stop it.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Generator
from time import monotonic
from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer.output_buffer import LINE_ENDS
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk

if TYPE_CHECKING:
    from lmc_jupyter.computer.languages.python_block import PythonBlock

READ_SECONDS = 0.02
"""Seconds: writes that follow faster become one piece."""
LINE_SECONDS = 0.2
"""Seconds after which an open line goes to the reader at the next write."""
BURST = 200
"""Lines that become one piece each, before the lines of a flood are joined."""
MAX_REFUSALS = 100
"""How often code may catch the interrupt that ends it and write on."""

_orphans: list[greenlet] = []
"""Greenlets that could not be ended; a reference stays, because collecting them would run them."""


class OnReadersThread:
    """A block in a greenlet on its reader's thread."""

    def __init__(self, block: PythonBlock) -> None:
        self._block, self._runs = block, greenlet(block.body)
        self._runs.gr_context = contextvars.copy_context()
        self._thread, self._process = threading.get_ident(), os.getpid()
        self._credit, self._last_piece = float(BURST), 0.0
        self._open, self._open_since = False, 0.0
        """(whether a line is open, since when)."""
        self._refusals = 0
        block.home, block.outbox.offer = self, self.offer

    def pieces(self) -> Generator[Chunk, None, None]:
        """Yield the output of the code as it comes; the code runs between the calls of `next`."""
        try:
            while not self._runs.dead:
                yield from self._block.outbox.take()
                self._go_on()
            yield from self._block.outbox.take()
        finally:
            self.halt()

    def _go_on(self) -> None:
        """Let the code run until its next piece, or its end."""
        if threading.get_ident() != self._thread:
            raise ComputerError(
                "the output of a block was read on another thread than the one that began it: "
                "read it all on one thread"
            )
        self._runs.parent = getcurrent()
        self._runs.switch()

    def halt(self) -> None:
        """End the code at its current line, with a KeyboardInterrupt."""
        block = self._block
        if self._runs.dead:
            return
        if not self._runs:  # it has never begun
            block.interrupts.ended.set()
            return
        block.interrupts.stopped = True
        block.outbox.offer = self._refuse
        if threading.get_ident() != self._thread:  # only its own thread could end it
            _orphans.append(self._runs)
            block.abandon()
            return
        self._runs.parent = getcurrent()
        self._runs.throw(KeyboardInterrupt)
        if not self._runs.dead:
            _orphans.append(self._runs)
            block.abandon()

    def within(self) -> bool:
        """Whether the code of this block calls this."""
        at: greenlet | None = getcurrent()
        while at is not None and at is not self._runs:
            at = at.parent
        return at is not None

    def offer(self, text: str) -> None:
        """Switch to the reader after a write of the code, unless it writes in a flood."""
        __tracebackhide__ = True
        was_open, self._open = self._open, text[-1:] not in LINE_ENDS
        now = monotonic()
        if self._open:  # `print` writes a line in pieces: wait for its end
            if not was_open:
                self._open_since = now
            if now - self._open_since < LINE_SECONDS:
                return
        quiet = now - self._last_piece
        if quiet >= READ_SECONDS:
            self._credit = min(float(BURST), self._credit + quiet * BURST / 4)
        elif self._credit >= 1 and not self._open:
            self._credit -= 1
        else:
            if not self._open:
                self._block.outbox.offer = None  # a flood: no call before the next tick
            return
        if threading.get_ident() != self._thread or getcurrent() is not self._runs:
            return  # another thread of the code, or a greenlet of its own
        if self._block.interrupts.wait_for is None:  # else between two steps of the loop
            self._last_piece = now
            self.hand_over()

    def listen(self) -> None:
        """Accept offers of text again; called at each tick of time."""
        if self._block.outbox.offer is None:
            self._block.outbox.offer = self.offer

    def _refuse(self, _text: str) -> None:
        """Interrupt code that writes on after its interrupt; but not for ever."""
        __tracebackhide__ = True
        if threading.get_ident() != self._thread or getcurrent() is not self._runs:
            return
        self._refusals += 1
        if self._refusals > MAX_REFUSALS:
            self.hand_over()  # the reader never comes back
        raise KeyboardInterrupt

    def hand_over(self) -> None:
        """Switch to the reader until it wants the next piece."""
        __tracebackhide__ = True
        if os.getpid() != self._process:
            return  # a forked child of the code: the reader is not here
        parent = self._runs.parent
        assert parent is not None  # the switch to this greenlet has set it
        self._block.mute(self._thread)
        try:
            self._block.interrupts.pause(parent.switch)
        finally:
            self._block.mute(self._thread, on=False)
