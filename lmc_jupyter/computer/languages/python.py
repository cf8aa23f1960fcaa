"""The live python: code runs in the person's own namespace, by their own IPython shell.

One rule: there is one body for a block (`_Block.body`), and it runs on the main thread where
that is possible. While a cell of ours serves the main thread, a worker hands the block over and
reads its pieces as they come. A turn that no cell waits for (`between_cells`) does the same, and
the kernel runs the block when its turn among the cells comes; there our pieces alone show it.
Anywhere else the block runs on the caller's thread in a greenlet which hands over at each piece,
so that it streams there too and halts where the caller stops.

Why it is one file: a block, its reader and the lock that orders blocks share one state, and each
of the three ways to read (`_of_main_thread`, `_between_cells`, `_of_this_thread`) is a page of it.
Why the greenlet: a plain script and a cell that loops over a reply have one thread for the code
and for its reader. With a thread for the code, the code would not run on the main thread; without
either, output would come when the block has ended, and breaking out of the loop would not stop it.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import platform
import sys
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any
from weakref import WeakSet

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.python_uses import uses
from lmc_jupyter.computer.output_buffer import LINE_ENDS, OutputBuffer
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.content.bundle import pieces
from lmc_jupyter.content.error_text import short
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.kernel import runner
from lmc_jupyter.kernel.active_line import ActiveLine, blank_lines, first_line
from lmc_jupyter.kernel.between_cells import Payloads, is_between_cells, schedule
from lmc_jupyter.kernel.capture import Capture
from lmc_jupyter.kernel.cells import history
from lmc_jupyter.kernel.changes import Changes, RecentChanges, Watch
from lmc_jupyter.kernel.engines import engines
from lmc_jupyter.kernel.execute import execute
from lmc_jupyter.kernel.frontend import can_ask, current_shell, kernel_of
from lmc_jupyter.kernel.namespace import summary
from lmc_jupyter.kernel.own_shell import own_shell
from lmc_jupyter.kernel.stop import Interruptible
from lmc_jupyter.kernel.values import value_of
from lmc_jupyter.kernel.widgets import WidgetOutput, Widgets, model_of, output_widget
from lmc_jupyter.lmc import LANGUAGES, Chunk, Recipient

WAIT_SECONDS = 0.1
"""A block that has not begun by then is said to wait."""
READ_SECONDS = 0.02
"""Writes that follow each other faster than this become one piece."""
LINE_SECONDS = 0.2
"""A line that was begun and not ended is handed over at a write that comes so much later."""
BURST = 200
"""Lines that are handed over one by one before those that come in a flood are joined."""
MAX_REFUSED = 100
"""How often code that was told to end may catch that and write on."""
FREE_SECONDS = 2.0
"""How long names that are to be brought back wait for a cell to end."""

Pieces = Generator[Chunk, None, None]

_HERE = Availability(f"Python {platform.python_version()}, in this kernel")

_blocks: list[_Block] = []
"""The blocks that have begun and not ended; each but the first was started by the one before."""
_of_block: contextvars.ContextVar[_Block | None] = contextvars.ContextVar("lmc_block", default=None)
"""The block that this thread or task works for, where no cell shows it."""
_abandoned: list[greenlet] = []
"""Code that could not be ended; kept, because letting go of it would run it."""


class LivePython:
    """Python in the namespace of an IPython shell.

    Parameters
    ----------
    shell : an IPython shell
        Default: the running one, else one that is made at the first block and works in the
        namespace of `__main__`.
    """

    name = "python"
    aliases = LANGUAGES["python"]

    def __init__(self, shell: Any | None = None) -> None:
        self._shell = shell
        self.screen: Screen | None = None
        """Who asks the person what the code asks, where no cell can; set by the computer."""
        self._open: WeakSet[_Block] = WeakSet()  # one that nobody reads goes with its generator
        self.on_clear: Callable[[bool], None] | None = None
        """Called, on the code's thread, after the code has cleared the cell's output."""
        self.on_wait: Callable[[bool], None] | None = None
        """Called, on the reader's thread, with True when a block has to wait until a cell of the
        user's has ended, and with False when that wait is over."""
        self.quiet = False
        """Whether only our pieces show what a block shows, where a cell or terminal would too."""
        self._changes: Changes | None = None
        self._recent = RecentChanges()

    @property
    def native(self) -> bool:
        """Whether the kernel or terminal shows what a block shows that runs from this thread."""
        return not (self.quiet or is_between_cells())

    @property
    def shell(self) -> Any:
        """The IPython shell, made at first use where there is none."""
        if self._shell is None:
            self._shell = current_shell() or own_shell()
        return self._shell

    def run(self, code: str) -> Pieces:
        """Run a block; yield its pieces as they come, in exact order.

        It begins with the first piece; `stop` keeps it from that from this call on. Closing the
        generator throws a KeyboardInterrupt into the code and returns when the code has ended.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when the code was interrupted.
        ComputerError
            When the generator is read on another thread than the one that began it.
        """
        block = _Block(self, code)
        self._open.add(block)
        return self._run(block)

    def _run(self, block: _Block) -> Pieces:
        try:
            kernel = kernel_of(self.shell) if is_between_cells() else None
            if kernel is not None:
                yield from self._between_cells(block, kernel)
            elif runner.serving():
                yield from self._of_main_thread(block)
            else:
                yield from self._of_this_thread(block)
        finally:
            self._open.discard(block)
        if block.interrupted:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        for block in list(self._open):
            block.stop()

    def close(self) -> None:
        """Stop. The namespace is the person's and stays; what it was before is let go."""
        self.stop()
        self._changes = None
        self._recent.clear()

    def changes(self) -> Changes | None:
        """What the last block did to the names, once; None when it did nothing."""
        changes, self._changes = self._changes, None
        return changes

    def keep(self, changes: Changes) -> None:
        """A block has ended, and has done this."""
        self._changes = changes or None
        if changes:
            self._recent.add(changes)

    def restore(self, names: Changes) -> str:
        """Bring the names back as they were before a block: on the main thread, where one is.

        Returns
        -------
        Sentences on what was brought back, and what was not.

        Raises
        ------
        ComputerError
            When they are kept no longer, or a cell holds the main thread.
        """
        if not names.restorable:
            raise ComputerError(
                "these variables cannot be restored: they were restored already, or their earlier "
                "values are no longer in memory"
            )
        shell = self.shell
        kernel = kernel_of(shell)
        if kernel is None or threading.current_thread() is threading.main_thread():
            return names.restore(shell.user_ns)
        said: list[str] = []
        booked = schedule(kernel, lambda: said.append(names.restore(shell.user_ns)), lambda: None)
        if not wait([booked], FREE_SECONDS).done and booked.cancel():
            raise ComputerError(
                "a cell is running, and may be using these names: restore them when it has ended"
            )
        booked.result()
        return said[0]

    def names(self, values: bool = False) -> str:
        """A line per variable, engines first; see `lmc_jupyter.kernel.namespace.summary`."""
        shell = self._shell or current_shell()
        if shell is None:
            return ""
        return summary(shell, first=engines(shell.user_ns), values=values)

    def value(self, name: str) -> str | None:
        """What a variable holds, see `lmc_jupyter.kernel.values.value_of`; None: there is none."""
        shell = self._shell or current_shell()
        return None if shell is None else value_of(shell, name)

    def cells(self) -> list[tuple[str, str]]:
        """The source of every cell so far, and the text of its traceback if it failed."""
        shell = self._shell or current_shell()
        return [] if shell is None else history(shell)

    def put(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Give these functions their names in the namespace, where nothing else has them."""
        namespace = self.shell.user_ns
        for name, function in functions.items():
            if namespace.get(name, function) is not function:
                raise ComputerError(
                    f"something else is called {name!r} in the notebook: give the function another "
                    f"name, such as {{'my_{name}': {name}}}"
                )
        namespace.update(functions)

    def availability(self) -> Availability:
        """It is always there."""
        return _HERE

    def uses(self, code: str) -> Collection[str]:
        """The other languages in it: `!ls`, `%%bash`, `os.system` are shell."""
        return uses(code, self._shell or current_shell())

    def _of_main_thread(self, block: _Block) -> Pieces:
        """The pieces of a block that the serving thread runs."""
        block.mute(threading.get_ident())  # what the reader prints is not the code's
        yield from self._read(block, runner.post(block.body))

    def _between_cells(self, block: _Block, kernel: Any) -> Pieces:
        """The pieces of a block that the kernel runs when the cells before it have ended."""
        block.mute(threading.get_ident())
        block.show = False
        ask = None if self.screen is None else block.ask
        booked = schedule(kernel, block.body, block.press, ask)
        booked.add_done_callback(lambda _: block.end())
        try:
            self._wait_until_it_begins(block)
            if block.interrupts.stopped and booked.cancel():
                block.interrupted = True
                return
        except BaseException:
            booked.cancel()
            raise
        finally:
            if booked.cancelled():
                block.interrupts.ended.set()
        yield from self._read(block, booked)

    def _wait_until_it_begins(self, block: _Block) -> None:
        if block.begun.wait(WAIT_SECONDS):
            return
        if self.on_wait is not None:
            self.on_wait(True)
        try:
            block.begun.wait()
        finally:
            if self.on_wait is not None:
                self.on_wait(False)

    def _read(self, block: _Block, ended: Future[None]) -> Pieces:
        """The pieces of a block that another thread runs."""
        try:
            while not block.finished.is_set():
                block.outbox.wait()
                if block.pressed:
                    block.stop()
                yield from block.outbox.take(whole_lines=True)
                block.finished.wait(READ_SECONDS)
            yield from block.outbox.take()
            ended.result()
        finally:
            if not ended.done():
                block.stop()
                ended.exception()  # waits: the next block starts clean

    def _of_this_thread(self, block: _Block) -> Pieces:
        """The pieces of a block that runs here, between the calls of `next`."""
        runs = greenlet(block.body)
        runs.gr_context = contextvars.copy_context()
        home = _MainGreenlet(block, runs)
        block.home = home
        try:
            while not runs.dead:
                yield from block.outbox.take()
                home.go_on()
            yield from block.outbox.take()
        finally:
            home.halt()


class _Block:
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
        self.home: _MainGreenlet | None = None
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
        for threads in (self.outbox.muted, self._away):
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
    def muted(self) -> set[int]:
        return self.outbox.muted

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

    def flushed(self) -> None:
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

    def cleared(self, wait: bool) -> None:
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
            self.outbox.muted.add(threading.get_ident())  # IPython now warns how to exit

    def spared(self) -> AbstractContextManager[None]:
        return self.interrupts.spared()

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


class _MainGreenlet:
    """A block in a greenlet on its reader's thread."""

    def __init__(self, block: _Block, runs: greenlet) -> None:
        self._block, self._runs = block, runs
        self._thread, self._process = threading.get_ident(), os.getpid()
        self._credit, self._handed = float(BURST), 0.0
        self._open, self._opened = False, 0.0
        """Whether a line has begun and not ended, and since when."""
        self._refused = 0
        block.outbox.offer = self.offer

    def go_on(self) -> None:
        """Let the code run until it has something to hand over, or ends."""
        if threading.get_ident() != self._thread:
            raise ComputerError(
                "the output of a block was read on another thread than the one that began it: "
                "read it all on one thread"
            )
        self._runs.parent = getcurrent()
        self._runs.switch()

    def halt(self) -> None:
        """End the code where it stands, with a KeyboardInterrupt."""
        block = self._block
        if self._runs.dead:
            return
        if not self._runs:  # it has never begun
            block.interrupts.ended.set()
            return
        block.interrupts.stopped = True
        block.outbox.offer = self._refuse
        if threading.get_ident() != self._thread:  # only its own thread could end it
            _abandoned.append(self._runs)
            block.abandon()
            return
        self._runs.parent = getcurrent()
        self._runs.throw(KeyboardInterrupt)
        if not self._runs.dead:
            _abandoned.append(self._runs)
            block.abandon()

    def within(self) -> bool:
        """Whether the code of this block is what calls."""
        at: greenlet | None = getcurrent()
        while at is not None and at is not self._runs:
            at = at.parent
        return at is not None

    def offer(self, text: str) -> None:
        """The code has written: hand it over, unless it writes in a flood."""
        __tracebackhide__ = True
        was_open, self._open = self._open, text[-1:] not in LINE_ENDS
        now = monotonic()
        if self._open:  # `print` writes a line in pieces: wait for its end
            if not was_open:
                self._opened = now
            if now - self._opened < LINE_SECONDS:
                return
        quiet = now - self._handed
        if quiet >= READ_SECONDS:
            self._credit = min(float(BURST), self._credit + quiet * BURST / 4)
        elif self._credit >= 1 and not self._open:
            self._credit -= 1
        else:
            if not self._open:
                self._block.outbox.offer = None  # a flood: not asked again before the next tick
            return
        if threading.get_ident() != self._thread or getcurrent() is not self._runs:
            return  # another thread of the code, or a greenlet of its own
        if self._block.interrupts.wait_for is None:  # else between two steps of the loop
            self._handed = now
            self.hand_over()

    def listen(self) -> None:
        """Another piece of time has passed: be offered what the code writes."""
        if self._block.outbox.offer is None:
            self._block.outbox.offer = self.offer

    def _refuse(self, _text: str) -> None:
        """The code has been told to end, and writes on: it is told again, but not for ever."""
        __tracebackhide__ = True
        if threading.get_ident() != self._thread or getcurrent() is not self._runs:
            return
        self._refused += 1
        if self._refused > MAX_REFUSED:
            self.hand_over()  # the reader never comes back
        raise KeyboardInterrupt

    def hand_over(self) -> None:
        """Be at the reader's until it asks for more."""
        __tracebackhide__ = True
        if os.getpid() != self._process:
            return  # a forked child of the code: the reader is not here
        parent = self._runs.parent
        assert parent is not None  # set by whoever switched here
        self._block.mute(self._thread)
        try:
            self._block.interrupts.pause(parent.switch)
        finally:
            self._block.mute(self._thread, muted=False)


class _TurnLock:
    """One block at a time in the process, but those that blocks themselves start."""

    _free = threading.Condition()

    def __init__(self, block: _Block) -> None:
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
    def forget(cls, block: _Block) -> None:
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
