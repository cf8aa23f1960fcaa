"""A switch that ends every wait for a model.

One rule: a wait takes what it waits for from a `box`, so that Stop and Ctrl-C end it at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from lmc_jupyter.errors import Stopped


def ignore(_: object) -> None:
    """Do nothing: for callers to whom nobody listens."""


class Cancel:
    """A switch that ends every wait that knows it, from any thread; once set it stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: list[queue.SimpleQueue[Any]] = []
        self.is_set = False

    def set(self) -> None:
        with self._lock:
            self.is_set = True
            for box in self._boxes:
                box.put(Stopped("stopped"))

    def check(self) -> None:
        """Raise `Stopped` if it is set."""
        if self.is_set:
            raise Stopped("stopped")

    @contextmanager
    def box(self) -> Iterator[queue.SimpleQueue[Any]]:
        """A queue that gets a `Stopped` when this is set."""
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            self._boxes.append(box)
            if self.is_set:
                box.put(Stopped("stopped"))
        try:
            yield box
        finally:
            with self._lock:
                self._boxes.remove(box)


def receive(box: queue.SimpleQueue[Any]) -> Any:
    """The next item of the queue. It waits in short steps: Ctrl-C may not end a long wait."""
    while True:
        with suppress(queue.Empty):
            return box.get(timeout=0.5)
