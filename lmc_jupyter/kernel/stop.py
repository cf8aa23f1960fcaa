"""Stopping code of ours, and nothing else: a KeyboardInterrupt that hits only that code.

One rule: a signal is sent only while the code is on its thread, under a lock, and one that
arrives a moment too late is swallowed. Neither our own machinery nor a cell of the person's is
ever hit by it.
"""

from __future__ import annotations

# as `signal`, which first looks whether a handler is one of an enum's
import _signal  # type: ignore[import-not-found]  # ships no types
import _thread
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar
from weakref import finalize

T = TypeVar("T")

AGAIN_SECONDS = 0.5
"""How long code may go on after a stop before it is told again."""
MAX_SPARES = 10
"""How often a stop passes by what is about to end."""

HIDE_BELOW = "with all that it calls"
"""The `__tracebackhide__` of a frame of ours in which, and below which, an interrupt is not shown:
it hit the code's own line above."""

_running: list[Interruptible] = []


class Interruptible:
    """One piece of code that runs on one thread, now or soon, and can be stopped from any.

    `stop` before `run` keeps it from starting. Code that catches the interrupt and goes on is
    told again every half second, and whenever it pauses.
    """

    def __init__(self) -> None:
        self.stopped = False
        """Whether somebody asked for a stop."""
        self.hits = 0
        """How many interrupts reached the code; it may have caught them."""
        self.ended = threading.Event()
        self.wait_for: Callable[[], bool] | None = None
        """While code awaits: cancels it and returns True, or False when a frame of it runs."""
        self.cancel: Callable[[FrameType | None], bool] | None = None
        """Cancels what the code waits for elsewhere, and returns True; False interrupts it."""
        self._lock = threading.Lock()
        self._thread = 0
        self._inside = self._late = False
        self._signals_sent = self._signals_seen = self._spare = 0
        self._previous: Any = None

    def run(self, code: Callable[[], T]) -> T:
        """Call `code` on this thread.

        Raises
        ------
        KeyboardInterrupt
            When it was stopped, or a SIGINT came as it began or ended.
        """
        self._thread = threading.get_ident()
        _running.append(self)
        try:
            self._enter()
            try:
                if self.stopped:
                    raise KeyboardInterrupt
                result = self._call(code)
            finally:
                self._leave()
            if self._late:
                raise KeyboardInterrupt
            return result
        finally:
            _running.remove(self)
            self.ended.set()

    def pause(self, switch: Callable[[], object]) -> None:
        """Within the code: be somewhere else while `switch` runs, where no stop hits."""
        __tracebackhide__ = True
        self._leave()
        try:
            switch()
        finally:
            self._enter()
        if self.stopped or self._late:
            raise KeyboardInterrupt

    @contextmanager
    def delay_stop(self) -> Iterator[None]:
        """Within the code: what runs here is about to end, and a stop lets it for a while."""
        self._spare = MAX_SPARES
        try:
            yield
        finally:
            self._spare = 0

    def stop(self) -> None:
        """Interrupt the code, again and again until it ends. Any thread; never blocks.

        Asked twice, it hits no sooner: the second one would fall into the traceback of the first.
        """
        with self._lock:
            first, self.stopped = not self.stopped, True
            if first:
                self._hit()
        if first and not self.ended.is_set():
            threading.Thread(target=self._insist, name="lmc-stop", daemon=True).start()

    def _insist(self) -> None:
        while not self.ended.wait(AGAIN_SECONDS):
            with self._lock:
                self._hit()

    def _hit(self) -> None:
        if not self._inside:
            return
        if self._spare > 0:
            self._spare -= 1
            return
        if self._thread != threading.main_thread().ident:
            self._signals_sent += 1
            _raise_in(self._thread, KeyboardInterrupt)
            return
        self._signals_sent += 1
        if hasattr(signal, "pthread_kill"):  # it alone ends a sleep or a lock in the main thread
            signal.pthread_kill(self._thread, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def _call(self, code: Callable[[], T]) -> T:
        return code()

    def _enter(self) -> None:
        if self._thread == threading.main_thread().ident:
            self._previous = _signal.signal(_signal.SIGINT, self._on_sigint)
        with self._lock:
            self._inside = True

    def _leave(self) -> None:
        if self._thread != threading.main_thread().ident:
            self._leave_other_thread()
            return
        with self._lock:
            self._inside = False
        for _ in range(100):  # what was sent is on its way: take it here
            if self._signals_seen >= self._signals_sent:
                break
            time.sleep(0.001)
        if _signal.getsignal(_signal.SIGINT) == self._on_sigint:  # else the code put its own
            previous = self._previous
            _signal.signal(
                _signal.SIGINT, signal.default_int_handler if previous is None else previous
            )

    def _leave_other_thread(self) -> None:
        """What was sent and has not come yet is taken here, at a jump back of the loop.

        It is not taken back by sending nothing: in CPython 3.11 that leaves a mark which slows
        the whole process down, and hangs it under a debugger.
        """
        while True:
            try:
                with self._lock:
                    self._inside = False
                for _ in range(100 if self._signals_sent else 0):
                    pass
                return
            except KeyboardInterrupt:
                continue

    def _on_sigint(self, _signum: int, frame: FrameType | None) -> None:
        self._signals_seen = self._signals_sent
        inner = frame
        while inner is not None and inner.f_code is not _CALL:
            if inner.f_code in _OURS:
                inner = None
                break
            inner = inner.f_back
        if inner is None or inner is frame:
            self._late = True  # between our own lines: it counts at the next safe place
            return
        self.hits += 1
        if self.cancel is not None and self.cancel(frame):
            return
        if self.wait_for is None or not self.wait_for():
            raise KeyboardInterrupt


_CALL = Interruptible._call.__code__
_HANDLER = Interruptible._on_sigint.__code__
_OURS = {
    each.__code__  # what a finalizer raises is lost, and the rest of its work with it
    for each in (Interruptible.pause, Interruptible._enter, Interruptible._leave, finalize.__call__)
}


def interrupt_main() -> bool:
    """Stop the code of ours that runs on the main thread; False when there is none."""
    main = threading.main_thread().ident
    for block in reversed(_running):
        if block._thread == main:
            block.stop()
            return True
    return False


def without_handler(error: BaseException | None) -> None:
    """Cut our frames off the end: the code's own line is what a person looks for.

    Also in what came before it: code that is slow to end is told again, within its `except`.
    """
    ids: set[int] = set()
    errors = [error]
    while errors:
        error = errors.pop()
        if error is not None and id(error) not in ids:
            ids.add(id(error))
            _cut(error)
            errors += [error.__cause__, error.__context__]


def _cut(error: BaseException) -> None:
    traceback = last = error.__traceback__  # the last frame that is to be seen
    while traceback is not None:
        frame = traceback.tb_frame
        hide = frame.f_locals.get("__tracebackhide__")
        if hide is HIDE_BELOW and isinstance(error, KeyboardInterrupt):
            break
        if frame.f_code is not _HANDLER and not hide:
            last = traceback
        traceback = traceback.tb_next
    if last is not None:
        last.tb_next = None


def _raise_in(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
