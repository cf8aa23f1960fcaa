"""Ctrl-C: it comes between two steps that belong together, never inside one.

One rule: `delay_interrupt` is held for a moment, and never while something waits for a person, a
model or code.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delay_interrupt() -> Iterator[None]:
    """Hold back a Ctrl-C until the block is over.

    Python runs the handler of a signal on the main thread, between any two of its steps. On
    another thread there is nothing to hold back, nor where a Ctrl-C raises nothing.

    Raises
    ------
    KeyboardInterrupt
        Behind the block, when a Ctrl-C came inside it; or before it, of which nothing is done then.
    """
    is_main = threading.get_ident() == threading.main_thread().ident
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    if not callable(handler) or isinstance(handler, _Delay):
        yield
        return
    delay = _Delay()
    signal.signal(signal.SIGINT, delay)  # what was pressed before is raised here
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if delay.is_pressed:
            handler(signal.SIGINT, None)


class _Delay:
    """The handler that takes the place of the one that was there."""

    is_pressed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's own
        self.is_pressed = True
