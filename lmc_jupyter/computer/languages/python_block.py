"""A block of the live python: the code that runs it, and its output.

One rule: there is one body for a block (`Block.body`), whichever thread runs it, and one block at a
time in the process, but for those that a block itself starts.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.computer.screen import in_words
from lmc_jupyter.content.bundle import pieces
from lmc_jupyter.content.error_text import short, stopped
from lmc_jupyter.kernel.active_line import ActiveLine, blank_lines, first_line
from lmc_jupyter.kernel.audit import ANSWERS, Promise
from lmc_jupyter.kernel.between_cells import Payloads
from lmc_jupyter.kernel.capture import Capture
from lmc_jupyter.kernel.changes import Watch
from lmc_jupyter.kernel.execute import execute
from lmc_jupyter.kernel.frontend import can_ask, kernel_of
from lmc_jupyter.kernel.reads import Reads
from lmc_jupyter.kernel.stop import Interruptible
from lmc_jupyter.kernel.widgets import WidgetOutput, Widgets, model_of, output_widget
from lmc_jupyter.lmc import Chunk, Recipient

if TYPE_CHECKING:
    from lmc_jupyter.computer.languages.python import LivePython
    from lmc_jupyter.computer.languages.python_greenlet import OnReadersThread

LONG_TRACEBACK = 15
"""Lines from which on a cell shows the short form of a traceback."""

_blocks: list[PythonBlock] = []
"""The blocks that have begun and not ended; each one was started by the one before it."""
_of_block: contextvars.ContextVar[PythonBlock | None] = contextvars.ContextVar(
    "lmc_block", default=None
)
"""The block of this thread or task, where no cell shows its output."""


class PythonBlock:
    """One block of code, with its output."""

    def __init__(self, python: LivePython, code: str, *, is_promised: bool = False) -> None:
        self.python, self.code = python, code
        self._promise = Promise(self._ask_about, self.foreign) if is_promised else None
        self.interrupts = Interruptible()
        self.is_interrupted = False
        """Whether an interrupt ended it."""
        self.show = not python.quiet
        """Whether the kernel or terminal shows its output."""
        self.begin_flag = threading.Event()
        """Set when it begins, or is stopped before that."""
        self.end_flag = threading.Event()
        self.is_pressed = False
        """Whether an interrupt came outside of the code: then the reader stops the block."""
        self.outbox = OutputBuffer()
        self.home: OnReadersThread | None = None
        self.thread = 0
        """The id of the thread that runs it."""
        self._capture: Capture | None = None
        self._lines: ActiveLine | None = None
        self._away: set[int] = set()
        self._strangers: frozenset[threading.Thread] = frozenset()
        self._line = first_line(code)
        self._filename = self._traceback = ""
        self._widgets = Widgets()
        self._widget_output = WidgetOutput()
        self.report(self._line)

    def mute(self, thread: int, on: bool = True) -> None:
        """Set whether the output of this thread is ignored, since it is not the code's."""
        for threads in (self.outbox.muted_threads, self._away):
            (threads.add if on else threads.discard)(thread)

    def stop(self) -> None:
        """Interrupt it, or prevent its beginning; from any thread, return at once."""
        self.interrupts.stop()
        self.begin_flag.set()

    def end(self) -> None:
        """Mark the end of its output; also where it was interrupted before its first line."""
        self.begin_flag.set()
        self.end_flag.set()
        self.outbox.ring()

    def press(self) -> None:
        """Note an interrupt between our own lines; called within the signal handler."""
        self.is_pressed = True
        self.outbox.ring()

    def ask(self, prompt: str, password: bool) -> str:
        """Ask the person for a line; show prompt and answer as a terminal would."""
        __tracebackhide__ = True
        screen = self.python.screen
        if screen is None:
            raise EOFError("nobody can be asked any more")
        self.outbox.text(prompt)
        try:
            answer = screen.ask(prompt, password)
        except EOFError:
            self.outbox.text("\n")
            raise
        self.outbox.text("\n" if password else f"{answer}\n")
        return answer

    def _ask_about(self, prompt: str) -> str:
        """One of `ANSWERS`, which the person gives where `input()` would ask them."""
        screen = self.python.screen
        if self.show or screen is None:
            return input(in_words(prompt, ANSWERS))
        return screen.ask(prompt, choices=ANSWERS)

    def abandon(self) -> None:
        """Undo its changes to the shell: it cannot be ended and never goes on."""
        if self._capture is not None:
            self._capture.__exit__()
        if self._lines is not None:
            self._lines.__exit__()
        self.interrupts.ended.set()
        _TurnLock.forget(self)

    # Running --------------------------------------------------------------------------------------

    def body(self) -> None:
        """Run it here and now, from beginning to end. No error of the code is raised."""
        self.begin_flag.set()
        try:
            with _TurnLock(self):
                self._run(self.python.shell)
        finally:
            self.outbox.finish()
            self.end()

    def _run(self, shell: Any) -> None:
        kernel = kernel_of(shell)
        before, made = tuple(shell.user_ns), self.python.made.names(shell.user_ns)
        watch = Watch(shell, self.code, made)
        as_text = kernel is not None and not can_ask(kernel)
        self._capture = Capture(shell, self, error_as_text=as_text, show=self.show)
        blank = blank_lines(self.code)
        self._lines = ActiveLine(self._name, self.report, self._line, self._tick, blank)
        error: BaseException | None
        reads = Reads(self.foreign)
        with (
            self._in_a_cell(shell) if self.show else self._alone(shell),
            self._capture,
            _ExitEndsTheBlock(shell),
            self._lines,
        ):
            try:
                with self._promise or nullcontext(), reads:
                    error = self.interrupts.run(
                        lambda: execute(
                            shell, self.code, self.interrupts, self._breathe, self._set_filename
                        )
                    )
            except (KeyboardInterrupt, asyncio.CancelledError) as stop:
                error = stop
            self._capture.drain()
        self._tell_model(self._widget_output.pour())
        for bundle in self.outbox.last_updates():
            self._show(bundle)
        # a panel may be unable to show a widget: there the person reads the text, too
        whom: Recipient | None = "assistant" if self.show else None
        for text in self._widgets.news():
            self.outbox.put(Chunk("computer", "console", "output", f"{text}\n", whom))
        self.is_interrupted = self.interrupts.stopped or self.is_stop(error)
        changes = watch.changes()
        if self._promise is not None:
            theirs = {*changes.changed, *changes.removed} - made
            changes.breach = self._promise.breach(sorted(theirs))
        changes.read = reads.files()
        self.python.keep(changes)
        self.python.made.add(before, made, dict(shell.user_ns))
        del watch  # the traceback of an error may keep this frame, and it every value from before

    @contextmanager
    def _in_a_cell(self, shell: Any) -> Iterator[None]:
        """Show the pages of help now; the pager of the cell opens only at the end of the cell."""
        payloads = Payloads(shell)
        try:
            yield
        finally:
            for bundle in payloads.look():
                self._show(bundle)

    @contextmanager
    def _alone(self, shell: Any) -> Iterator[None]:
        """Run it without a cell: separate the output of others; leave nothing for the next cell."""
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

    def _set_filename(self, filename: str) -> None:
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
        """Whether this thread, or this task of the loop, works for other code.

        It works for the block when the block has started it, as far as that can be known.
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
            self._tell_model(self._widget_output.pour())
            self.outbox.text(text)
        else:
            self._tell_model(self._widget_output.text(widget, text))

    def _tell_model(self, text: str) -> None:
        """Put text out for the model alone: the person has it in a widget."""
        if text:
            self.outbox.put(Chunk("computer", "console", "output", text, "assistant"))

    def flush_text(self) -> None:
        if threading.get_ident() not in self._away and not self.outbox.empty():
            self._offer()

    def display(self, bundle: Mapping[str, Any], display_id: str | None, update: bool) -> None:
        if update and self.outbox.put_off(bundle, display_id):
            return
        widget = None if self.show or threading.get_ident() in self._away else output_widget()
        if widget is None:
            self._tell_model(self._widget_output.pour())
            self._show(bundle)
            return
        self._tell_model(self._widget_output.display(widget, bundle))
        for piece in pieces(bundle):
            if piece.recipient != "user":
                self.outbox.put(replace(piece, recipient="assistant"))

    def clear_output(self, wait: bool) -> None:
        """Report that the view may draw again. The output stays: the model has seen it."""
        widget = output_widget()
        if widget is not None:  # the cell's output stays as it is
            if not self.show:
                self._tell_model(self._widget_output.clear(widget, wait))
        elif self.python.on_clear is not None:
            self.python.on_clear(wait)

    def error(self, value: BaseException) -> None:
        if isinstance(value, SystemExit):
            if isinstance(value.code, str) and value.code:  # sys.exit("why")
                self.outbox.line(value.code)
            self.outbox.line("exit() ended this block only: the kernel goes on.")
        elif self.is_stop(value):
            self.outbox.line(stopped(value, self._filename))
        else:
            self.outbox.line(short(value, self._filename))
        if self._traceback and self.python.on_traceback is not None:
            self.python.on_traceback(self._traceback)
            self._traceback = ""
        self._offer()
        if isinstance(value, SystemExit):
            self.outbox.muted_threads.add(threading.get_ident())  # IPython now warns how to exit

    def traceback(self, error: BaseException, lines: list[str]) -> list[str]:
        """A long one in the short form that a model reads, where somebody shows the whole."""
        text = "\n".join(lines)
        if self.python.on_traceback is None or text.count("\n") < LONG_TRACEBACK:
            return lines
        self._traceback = text
        return short(error, self._filename).rstrip("\n").split("\n")

    def delay_stop(self) -> AbstractContextManager[None]:
        return self.interrupts.delay_stop()

    def _offer(self) -> None:
        """Let the reader go on: there is output that is not text."""
        if self.home is not None and not self.interrupts.stopped:
            self.home.offer("\n")

    def report(self, line: int) -> None:
        self.outbox.put(Chunk("computer", "console", "active_line", line))

    def is_stop(self, error: BaseException | None) -> bool:
        """Whether this is an interrupt; code that awaits sees it as a cancellation."""
        if isinstance(error, asyncio.CancelledError):
            return self.interrupts.hits > 0 or self.interrupts.stopped
        return isinstance(error, KeyboardInterrupt)

    def _show(self, bundle: Mapping[str, Any]) -> None:
        if threading.get_ident() in self._away:
            return
        self._widgets.saw(bundle)
        self.outbox.show(bundle, "" if self.show else model_of(bundle))
        self._offer()


class _TurnLock:
    """One block at a time in the process, except those that blocks themselves start."""

    _free = threading.Condition()

    def __init__(self, block: PythonBlock) -> None:
        self._block, self._thread = block, threading.get_ident()

    def __enter__(self) -> None:
        self._block.thread = self._thread
        while True:
            with self._free:
                while _blocks and _blocks[-1].thread != self._thread:
                    if self._block.interrupts.stopped:
                        raise KeyboardInterrupt
                    self._free.wait(0.25)
                home = _blocks[-1].home if _blocks else None
                if home is None or home.within():
                    _blocks.append(self._block)
                    return
            home.halt()  # its reader has begun to read it and left

    def __exit__(self, *_: object) -> None:
        self.forget(self._block)

    @classmethod
    def forget(cls, block: PythonBlock) -> None:
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
