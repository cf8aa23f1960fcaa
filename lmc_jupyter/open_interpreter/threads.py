"""Generators for web servers: read from whichever thread, each step made on one.

One rule: the live python is read by one thread from a block's beginning to its end.
"""

from __future__ import annotations

import contextvars
import queue
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

from lmc_jupyter.kernel.between_cells import between_cells
from lmc_jupyter.kernel.frontend import current_shell, kernel_of

T = TypeVar("T")


def on_one_thread(steps: Generator[T, Any, None]) -> Generator[T, Any, None]:
    """The same generator, each step of it made on one thread, whichever threads ask for them.

    A web server reads a stream from now this thread and now that, and the live python is read by
    one. Where the main thread begins to read, it is that one.
    """
    yield from steps if on_main_thread() else _on_own_thread(steps)


def _on_own_thread(steps: Generator[T, Any, None]) -> Generator[T, Any, None]:
    """Each step on a thread of its own."""
    asks: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
    says: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        with between_cells_of_kernel():
            while (act := asks.get()) is not None:
                try:
                    says.put((act(), None))
                except BaseException as error:  # noqa: BLE001 - raised where the step was asked for
                    says.put((None, error))

    def do(act: Callable[[], Any]) -> Any:
        asks.put(act)
        value, error = says.get()
        if error is not None:
            raise error
        return value

    def step(answer: Any) -> T | None:
        try:
            return steps.send(answer)
        except StopIteration:
            return None

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="lmc-stream", daemon=True).start()
    answer: Any = None
    try:
        while (value := do(partial(step, answer))) is not None:
            answer = yield value
    finally:
        if not sys.is_finalizing():  # its thread stands still by then
            do(steps.close)
            asks.put(None)


def on_main_thread() -> bool:
    """Whether this is the main thread, where the cell or terminal shows python's output itself.

    On another thread we show it: there what the other threads print would be taken for the code's.
    """
    return threading.current_thread() is threading.main_thread()


def between_cells_of_kernel() -> AbstractContextManager[None]:
    """In a kernel, code of an answer on a thread runs between the cells, as the panel's does."""
    return nullcontext() if kernel_of(current_shell()) is None else between_cells()
