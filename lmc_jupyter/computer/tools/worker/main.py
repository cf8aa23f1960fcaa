"""The process that holds an MCP server: requests come in, answers go out, as lines of JSON.

One rule: it never outlives the process that started it. It ends with its standard input, or when
its parent has ended; the reaper ends the server then.

A line from the kernel has `do`: `start` (with `name`, `spec`; it comes first, and once), `call`
(with `number`, `tool`, `arguments`), `cancel` or `errors` (`number`). A line to the kernel has a
`state` of the server (starting, ready, ended, failed), with `tools` or `why`; or a `number` and one
of `progress`, `result`, `failed` and `lines`.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import psutil  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer.tools.worker.connection import Connection, Write

WATCH_SECONDS = 1.0
"""Seconds between two checks that its parent is alive and its memory is bounded."""
MAX_MEMORY = 400_000_000
"""Bytes. The SDK reads a line of any length, and takes about six times the memory of its text."""


class ServerCalls:
    """The requests to the server; in a task of the loop."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._server: Connection
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, line: dict[str, Any]) -> None:
        """Carry out a line of the kernel."""
        do = line["do"]
        if do == "start":
            self._server = Connection(line["name"], line["spec"], self._write)
            self._server.start()
        elif do == "call":
            call = self._server.call(line["number"], line["tool"], line["arguments"])
            self._tasks.add(task := asyncio.get_running_loop().create_task(call))
            task.add_done_callback(self._tasks.discard)
        elif do == "cancel":
            self._server.cancel(line["number"])
        elif do == "errors":
            self._write({"number": line["number"], "lines": list(self._server.log)})


def _watch(parent: int) -> NoReturn:
    """End after the parent, even if a fork of it still has our standard input; or when a message
    of the server takes all memory."""
    own = psutil.Process()
    while os.getppid() == parent:
        if own.memory_info().rss > MAX_MEMORY:
            sys.stderr.write(f"its messages took more than {MAX_MEMORY / 1e6:.0f} MB of memory\n")
            os._exit(1)
        time.sleep(WATCH_SECONDS)
    os._exit(0)


def _read(take: Callable[[dict[str, Any]], None]) -> None:
    """Take each line; end the process at the end of the input."""
    with os.fdopen(os.dup(0), "rb") as lines:
        for line in lines:
            take(json.loads(line))
    os._exit(0)


def _print(lines: queue.SimpleQueue[dict[str, Any]], out: int) -> None:
    """Write each line: a kernel that computes may be slow to read."""
    while True:
        text = memoryview(json.dumps(lines.get(), separators=(",", ":")).encode() + b"\n")
        while text:
            text = text[os.write(out, text) :]


async def _serve(out: int) -> NoReturn:
    lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    requests = ServerCalls(lines.put)
    loop = asyncio.get_running_loop()

    def take(line: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(came.put_nowait, line)

    threading.Thread(target=_read, args=(take,), daemon=True).start()
    threading.Thread(target=_print, args=(lines, out), daemon=True).start()
    while True:
        requests.take(await came.get())


def main(parent: int) -> NoReturn:
    """Answer until the kernel has ended.

    Parameters
    ----------
    parent : the process that started this one
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    warnings.simplefilter("ignore")  # they are not for the person
    out = os.dup(1)
    os.dup2(2, 1)  # prints of a library must not mix with the answers
    asyncio.run(_serve(out))
    raise AssertionError("it ends by itself")
