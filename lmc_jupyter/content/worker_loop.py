"""The loop of a worker, a process of ours beside the kernel: lines of JSON come in and go out.

One rule: it never outlives the process that started it. It ends with its standard input, or when
its parent has ended, though a fork of the parent still has that input.

`content/python_process.py` is the kernel's end of the two pipes. What the lines say is defined by
each worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

WATCH_SECONDS = 1.0
"""Seconds between two checks that its parent is alive."""

Line = dict[str, Any]
Write = Callable[[Line], None]
Take = Callable[[Line], None]


def serve(
    parent: int, begin: Callable[[Write], Take], check: Callable[[], None] = lambda: None
) -> NoReturn:
    """Answer until the kernel has ended.

    Parameters
    ----------
    parent : the process that started this one
    begin : called once, on the event loop, with what writes a line to the kernel from any thread;
        returns what takes a line of the kernel, on the loop
    check : called every second on a thread of its own; it may end the process
    """
    threading.Thread(target=_watch, args=(parent, check), daemon=True).start()
    warnings.simplefilter("ignore")  # those of a library are not for the person
    out = os.dup(1)
    os.dup2(2, 1)  # prints of a library must not mix with the answers
    asyncio.run(_serve(begin, out))
    raise AssertionError("it ends by itself")


async def _serve(begin: Callable[[Write], Take], out: int) -> NoReturn:
    """Take each line in this task: a library may ask which task it runs in, and an error there ends
    the process with its words."""
    lines: queue.SimpleQueue[Line] = queue.SimpleQueue()
    came: asyncio.Queue[Line] = asyncio.Queue()
    loop, take = asyncio.get_running_loop(), begin(lines.put)
    for run, arguments in ((_read, (loop, came)), (_print, (lines, out))):
        threading.Thread(target=run, args=arguments, daemon=True).start()
    while True:
        take(await came.get())


def _watch(parent: int, check: Callable[[], None]) -> NoReturn:
    while os.getppid() == parent:
        check()
        time.sleep(WATCH_SECONDS)
    os._exit(0)


def _read(loop: asyncio.AbstractEventLoop, came: asyncio.Queue[Line]) -> NoReturn:
    """Put each line; end the process at the end of the input."""
    with os.fdopen(os.dup(0), "rb") as lines:
        for line in lines:
            loop.call_soon_threadsafe(came.put_nowait, json.loads(line))
    os._exit(0)


def _print(lines: queue.SimpleQueue[Line], out: int) -> NoReturn:
    """Write each line: a kernel that computes may be slow to read, and no server waits for it."""
    while True:
        line = json.dumps(lines.get(), separators=(",", ":"), default=repr)
        rest = memoryview(line.encode() + b"\n")
        while rest:
            rest = rest[os.write(out, rest) :]
