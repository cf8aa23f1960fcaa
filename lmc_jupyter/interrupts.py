"""Ctrl-C: it comes between two steps that belong together, never inside one.

One rule: `delay_interrupt` is held for a moment, and never while something waits for a person, a
model or code.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any


def delay_interrupt() -> AbstractContextManager[None]:
    """Hold back a Ctrl-C until the block is over: `with delay_interrupt(): ...`.

    Python runs the handler of a signal on the main thread, between any two of its steps. On
    another thread there is nothing to hold back, nor where a Ctrl-C raises nothing.

    Raises
    ------
    KeyboardInterrupt
        Behind the block, when a Ctrl-C came inside it; or before it, of which nothing is done then.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return _NOTHING
    handler = signal.getsignal(signal.SIGINT)
    return _Delay(handler) if callable(handler) and not isinstance(handler, _Delay) else _NOTHING


_NOTHING = nullcontext()


class _Delay(AbstractContextManager[None]):
    """The handler that takes the place of the one that was there."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self._handler, self._is_pressed = handler, False

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's own
        self._is_pressed = True

    def __enter__(self) -> None:
        signal.signal(signal.SIGINT, self)  # what was pressed before is raised here

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._handler)
        if self._is_pressed:
            self._handler(signal.SIGINT, None)
