"""An event loop on a thread of its own, for work that goes on in the background.

One rule: each process has its own. A fork has no threads, so it starts another one at first use.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from typing import Any


class LoopThread:
    """Gives the loop when it is called; the first call starts its daemon thread.

    Parameters
    ----------
    name : of the thread
    close : closes, on the loop, what it has open as the interpreter ends
    seconds : how long the end of the interpreter waits for that
    make : makes the loop
    """

    def __init__(
        self,
        name: str,
        close: Callable[[], Coroutine[Any, Any, None]],
        seconds: float,
        make: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    ) -> None:
        self._name, self._close, self._seconds, self._make = name, close, seconds, make
        self._lock = threading.Lock()
        self._running: tuple[int, asyncio.AbstractEventLoop] | None = None

    def __call__(self) -> asyncio.AbstractEventLoop:
        """The loop of this process."""
        with self._lock:
            if self._running is None or self._running[0] != os.getpid():
                loop = self._make()
                thread = threading.Thread(target=loop.run_forever, name=self._name, daemon=True)
                thread.start()
                atexit.register(self._end, os.getpid(), loop, thread)
                self._running = os.getpid(), loop
            return self._running[1]

    def _end(self, process: int, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        if os.getpid() != process or loop.is_closed():
            return
        wait([asyncio.run_coroutine_threadsafe(self._close(), loop)], self._seconds)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(self._seconds)
        if not thread.is_alive():
            loop.close()
