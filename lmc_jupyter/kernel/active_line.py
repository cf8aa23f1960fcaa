"""Which line of a block runs now, by looking from outside 20 times a second.

One rule: the code is not touched and not slowed; only a change of line is reported.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

SECONDS = 0.05


class ActiveLine:
    """While entered, `report(line)` is called on a thread of its own when the line changes.

    Parameters
    ----------
    filename : the name under which the block was compiled
    report : takes the line, from 1; for a function of the block it is the line in it
    first : the line that was reported already
    skipped : lines at the beginning that are not compiled; a reported line counts them
    tick : called at every look
    """

    def __init__(
        self,
        filename: str,
        report: Callable[[int], None],
        first: int,
        tick: Callable[[], None] | None = None,
        skipped: int = 0,
    ) -> None:
        self._filename, self._report, self._line = filename, report, first
        self._skipped = skipped
        self._tick = tick
        self._home = threading.get_ident()
        self._halt = threading.Event()

    def __enter__(self) -> ActiveLine:
        threading.Thread(target=self._sample, name="lmc-line", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._halt.set()  # nobody waits for it: what comes late is not reported

    def _sample(self) -> None:
        while not self._halt.wait(SECONDS):
            if self._tick is not None:
                self._tick()
            frame = sys._current_frames().get(self._home)
            while frame is not None and frame.f_code.co_filename != self._filename:
                frame = frame.f_back
            line = None if frame is None else frame.f_lineno + self._skipped
            del frame  # it keeps the code's variables alive
            if line is not None and line != self._line and not self._halt.is_set():
                self._line = line
                self._report(line)


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
