"""The line of a block that runs now, read from outside 20 times a second.

One rule: the code is not touched and not slowed; only a change of line is reported. One thread
looks for every block of the process, and sleeps while none runs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

SECONDS = 0.05


class ActiveLine:
    """While entered, `report(line)` is called on a thread of its own when the line changes.

    Parameters
    ----------
    filename : gives the name under which the block was compiled; "" as long as it was not
    report : takes the line, from 1; for a function of the block it is the line in it
    first : the line that was reported already
    offset : lines at the beginning that are not compiled; a reported line counts them
    tick : called at every look
    """

    def __init__(
        self,
        filename: Callable[[], str],
        report: Callable[[int], None],
        first: int,
        tick: Callable[[], None] | None = None,
        offset: int = 0,
    ) -> None:
        self._filename, self._report, self._line = filename, report, first
        self._offset = offset
        self._tick = tick
        self._home = threading.get_ident()
        self._over = False

    def __enter__(self) -> ActiveLine:
        _watcher.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True  # nobody waits for the thread: what comes late is not reported
        _watcher.remove(self)

    def look(self) -> None:
        """Report the line if it is another one."""
        if self._over:
            return
        if self._tick is not None:
            self._tick()
        filename = self._filename()
        frame = sys._current_frames().get(self._home)
        while frame is not None and frame.f_code.co_filename != filename:
            frame = frame.f_back
        line = None if frame is None else frame.f_lineno + self._offset
        del frame  # it keeps the code's variables alive
        if line is not None and line != self._line and not self._over:
            self._line = line
            self._report(line)


class _Watcher:
    """The thread that looks. It holds nothing of a block that has ended."""

    def __init__(self) -> None:
        self._lines: list[ActiveLine] = []
        self._lock = threading.Lock()
        self._has_work = threading.Condition(self._lock)
        self._asleep = False
        self._thread: threading.Thread | None = None

    def add(self, line: ActiveLine) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._go, name="lmc-line", daemon=True)
                thread.start()
                self._thread = thread
            self._lines.append(line)
            if self._asleep:
                self._asleep = False
                self._has_work.notify()

    def remove(self, line: ActiveLine) -> None:
        """Remove the block; the thread is not woken for that, and sees it at its next look."""
        with self._lock:
            if line in self._lines:  # it is not, in a child that was forked meanwhile
                self._lines.remove(line)

    def _go(self) -> None:
        while True:
            self._wait_for_work()
            time.sleep(SECONDS)
            self._look()

    def _wait_for_work(self) -> None:
        with self._lock:
            while not self._lines:
                self._asleep = True
                self._has_work.wait()
            self._asleep = False

    def _look(self) -> None:
        for line in tuple(self._lines):
            try:
                line.look()
            except Exception:  # noqa: BLE001 - said below; the other blocks go on
                self.remove(line)
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))


_watcher = _Watcher()


def _begin_anew() -> None:
    """In a forked child there is no such thread, and its lock may be held for ever."""
    global _watcher
    _watcher = _Watcher()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def first_line(code: str) -> int:
    """The first line that is neither blank nor a comment."""
    for number, line in enumerate(code.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return number
    return 1


def blank_lines(code: str) -> int:
    """How many lines at the beginning are blank: IPython does not compile those."""
    lines = code.splitlines()
    return next((number for number, line in enumerate(lines) if line.strip()), 0)
