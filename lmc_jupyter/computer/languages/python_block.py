"""A block of the live python: what runs it, and what it has shown.

One rule: there is one body for a block (`Block.body`), whichever thread runs it, and one block at a
time in the process, but for those that a block itself starts.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.content.bundle import pieces
from lmc_jupyter.content.error_text import short
from lmc_jupyter.kernel.active_line import ActiveLine, blank_lines, first_line
from lmc_jupyter.kernel.between_cells import Payloads
from lmc_jupyter.kernel.capture import Capture
from lmc_jupyter.kernel.changes import Watch
from lmc_jupyter.kernel.execute import execute
from lmc_jupyter.kernel.frontend import can_ask, kernel_of
from lmc_jupyter.kernel.stop import Interruptible
from lmc_jupyter.kernel.widgets import WidgetOutput, Widgets, model_of, output_widget
from lmc_jupyter.lmc import Chunk, Recipient

if TYPE_CHECKING:
    from lmc_jupyter.computer.languages.python import LivePython
    from lmc_jupyter.computer.languages.python_greenlet import OnReadersThread

_blocks: list[Block] = []
"""The blocks that have begun and not ended; each but the first was started by the one before."""
_of_block: contextvars.ContextVar[Block | None] = contextvars.ContextVar("lmc_block", default=None)
"""The block that this thread or task works for, where no cell shows it."""


class Block:
    """One block of code: what runs it, and what it has shown."""

    def __init__(self, python: LivePython, code: str) -> None:
        self.python, self.code = python, code
        self.interrupts = Interruptible()
        self.interrupted = False
        """Whether an interrupt ended it."""
        self.show = not python.quiet
        """Whether the kernel or terminal shows what it shows."""
        self.begun = threading.Event()
        """It runs, or has been stopped before."""
        self.finished = threading.Event()
        self.pressed = False
        """An interrupt has come that the code did not get: the reader is to stop it."""
        self.outbox = OutputBuffer()
        self.home: OnReadersThread | None = None
        self.thread = 0
        """The thread that runs it."""
        self._capture: Capture | None = None
        self._lines: ActiveLine | None = None
        self._away: set[int] = set()
        self._strangers: frozenset[threading.Thread] = frozenset()
        self._line = first_line(code)
        self._filename = ""
        self._widgets = Widgets()
        self._taken = WidgetOutput()
        self.report(self._line)

    def mute(self, thread: int, muted: bool = True) -> None:
        """Whether what this thread shows is not the code's."""
        for threads in (self.outbox.muted_threads, self._away):
            (threads.add if muted else threads.discard)(thread)

    def stop(self) -> None:
        """Interrupt it, or keep it from beginning; from any thread, returns at once."""
        self.interrupts.stop()
        self.begun.set()

    def end(self) -> None:
        """Nothing more comes of it; also where it was interrupted before its first line."""
        self.begun.set()
        self.finished.set()
        self.outbox.ring()

    def press(self) -> None:
        """An interrupt came between our own lines; called within the signal."""
        self.pressed = True
        self.outbox.ring()

    def ask(self, prompt: str, password: bool) -> str:
        """The code asks the person for a line; what a terminal would show of it is shown."""
        __tracebackhide__ = True
        screen = self.python.screen
        if screen is None:
            raise EOFError("nobody can be asked any more")
        self.outbox.text(prompt)
        try:
            said = screen.ask(prompt, password)
        except EOFError:
            self.outbox.text("\n")
            raise
        self.outbox.text("\n" if password else f"{said}\n")
        return said

    def abandon(self) -> None:
        """It can't be ended and never goes on: take back what it did to the shell."""
        if self._capture is not None:
            self._capture.__exit__()
        if self._lines is not None:
            self._lines.__exit__()
        self.interrupts.ended.set()
        _TurnLock.forget(self)

    # Running --------------------------------------------------------------------------------------

    def body(self) -> None:
        """Run it here and now, from beginning to end. It raises nothing that the code raised."""
        self.begun.set()
        try:
            with _TurnLock(self):
                self._run(self.python.shell)
        finally:
            self.outbox.finish()
            self.end()

    def _run(self, shell: Any) -> None:
        kernel = kernel_of(shell)
        watch = Watch(shell, self.code)
        as_text = kernel is not None and not can_ask(kernel)
        self._capture = Capture(shell, self, error_as_text=as_text, show=self.show)
        skipped = blank_lines(self.code)
        self._lines = ActiveLine(self._name, self.report, self._line, self._tick, skipped)
        error: BaseException | None
        with (
            self._in_a_cell(shell) if self.show else self._alone(shell),
            self._capture,
            _ExitEndsTheBlock(shell),
            self._lines,
        ):
            try:
                error = self.interrupts.run(
                    lambda: execute(shell, self.code, self.interrupts, self._breathe, self._named)
                )
            except (KeyboardInterrupt, asyncio.CancelledError) as stop:
                error = stop
            self._capture.drain()
        self._tell_taken(self._taken.pour())
        for bundle in self.outbox.last_updates():
            self._show(bundle)
        # a panel may not be able to show a widget: there the person reads it, too
        whom: Recipient | None = "assistant" if self.show else None
        for text in self._widgets.news():
            self.outbox.put(Chunk("computer", "console", "output", f"{text}\n", whom))
        self.interrupted = self.interrupts.stopped or self._is_interrupt(error)
        self.python.keep(watch.changes())
        del watch  # the traceback of an error may keep this frame, and it every value from before

    @contextmanager
    def _in_a_cell(self, shell: Any) -> Iterator[None]:
        """The pager of the cell opens at its end; the reader is told of it now."""
        payloads = Payloads(shell)
        try:
            yield
        finally:
            for bundle in payloads.look():
                self._show(bundle)

    @contextmanager
    def _alone(self, shell: Any) -> Iterator[None]:
        """With no cell around it: know what is not ours, and leave nothing for the next cell."""
        watchers = {getattr(s, "watch_fd_thread", None) for s in (sys.stdout, sys.stderr)}
        self._strangers = frozenset(threading.enumerate()) - watchers
        token = _of_block.set(self)
        payloads = Payloads(shell)
        try:
            yield
        finally:
            for bundle in payloads.take():
                self.display(bundle, None, update=False)
            _of_block.reset(token)

    def _name(self) -> str:
        return self._filename

    def _named(self, filename: str) -> None:
        self._filename = filename

    def _tick(self) -> None:
        if self.home is not None:
            self.home.listen()

    def _breathe(self) -> None:
        if self.home is not None:
            self.home.hand_over()

    # What the capture tells (see lmc_jupyter.kernel.capture.Listener) -----------------------------

    @property
    def muted_threads(self) -> set[int]:
        return self.outbox.muted_threads

    def foreign(self) -> bool:
        """Whether this thread, or this task of the loop, is at work for somebody else.

        It is the block's when it was begun by it, as far as that can be known.
        """
        thread = threading.get_ident()
        if thread in self._away:
            return True
        if _of_block.get() is self:
            return False
        if thread == self.thread:
            return self.interrupts.wait_for is not None
        return threading.current_thread() in self._strangers

    @property
    def text(self) -> Callable[[str], None]:
        return self.outbox.text if self.show else self._text

    def _text(self, text: str) -> None:
        __tracebackhide__ = True
        widget = None if threading.get_ident() in self._away else output_widget()
        if widget is None:
            self._tell_taken(self._taken.pour())
            self.outbox.text(text)
        else:
            self._tell_taken(self._taken.text(widget, text))

    def _tell_taken(self, text: str) -> None:
        """The person has it in a widget."""
        if text:
            self.outbox.put(Chunk("computer", "console", "output", text, "assistant"))

    def flush_text(self) -> None:
        if threading.get_ident() not in self._away and not self.outbox.empty():
            self._shown()

    def display(self, bundle: Mapping[str, Any], display_id: str | None, update: bool) -> None:
        if update and self.outbox.put_off(bundle, display_id):
            return
        widget = None if self.show or threading.get_ident() in self._away else output_widget()
        if widget is None:
            self._tell_taken(self._taken.pour())
            self._show(bundle)
            return
        self._tell_taken(self._taken.display(widget, bundle))
        for piece in pieces(bundle):
            if piece.recipient != "user":
                self.outbox.put(replace(piece, recipient="assistant"))

    def clear_output(self, wait: bool) -> None:
        """What was yielded stays: the model has seen it. The view may draw again."""
        widget = output_widget()
        if widget is not None:  # the cell's output stays as it is
            if not self.show:
                self._tell_taken(self._taken.clear(widget, wait))
        elif self.python.on_clear is not None:
            self.python.on_clear(wait)

    def error(self, value: BaseException) -> None:
        if isinstance(value, SystemExit):
            if isinstance(value.code, str) and value.code:  # sys.exit("why")
                self.outbox.line(value.code)
            self.outbox.line("exit() ended this block only: the kernel goes on.")
        elif self._is_interrupt(value):
            self.outbox.line("KeyboardInterrupt")
        else:
            self.outbox.line(short(value, self._filename))
        self._shown()
        if isinstance(value, SystemExit):
            self.outbox.muted_threads.add(threading.get_ident())  # IPython now warns how to exit

    def delay_stop(self) -> AbstractContextManager[None]:
        return self.interrupts.delay_stop()

    def _shown(self) -> None:
        """Something has been shown that is not text: a good moment to hand over."""
        if self.home is not None and not self.interrupts.stopped:
            self.home.offer("\n")

    def report(self, line: int) -> None:
        self.outbox.put(Chunk("computer", "console", "active_line", line))

    def _is_interrupt(self, error: BaseException | None) -> bool:
        """Whether this is an interrupt; code that awaits sees it as a cancellation."""
        if isinstance(error, asyncio.CancelledError):
            return self.interrupts.hits > 0 or self.interrupts.stopped
        return isinstance(error, KeyboardInterrupt)

    def _show(self, bundle: Mapping[str, Any]) -> None:
        if threading.get_ident() in self._away:
            return
        self._widgets.saw(bundle)
        self.outbox.show(bundle, "" if self.show else model_of(bundle))
        self._shown()


class _TurnLock:
    """One block at a time in the process, but those that blocks themselves start."""

    _free = threading.Condition()

    def __init__(self, block: Block) -> None:
        self._block, self._thread = block, threading.get_ident()

    def __enter__(self) -> None:
        with self._free:
            self._block.thread = self._thread
            while _blocks and _blocks[-1].thread != self._thread:
                if self._block.interrupts.stopped:
                    raise KeyboardInterrupt
                self._free.wait(0.25)
        while _blocks and (left := _blocks[-1].home) is not None and not left.within():
            left.halt()  # somebody began to read a block and went away
        with self._free:
            _blocks.append(self._block)

    def __exit__(self, *_: object) -> None:
        self.forget(self._block)

    @classmethod
    def forget(cls, block: Block) -> None:
        with cls._free:
            if block in _blocks:
                _blocks.remove(block)
            cls._free.notify_all()


class _ExitEndsTheBlock:
    """`exit()` and `quit()` end the block, not the kernel."""

    def __init__(self, shell: Any) -> None:
        self._attributes = vars(shell)
        self._before = self._attributes.get("ask_exit")

    def __enter__(self) -> None:
        self._attributes["ask_exit"] = _exit

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            self._attributes.pop("ask_exit", None)
        else:
            self._attributes["ask_exit"] = self._before


def _exit(*_: object, **__: object) -> None:
    raise SystemExit
