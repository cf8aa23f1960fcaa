"""The process that holds an MCP server: requests come in, answers go out, as lines of JSON.

One rule: it ends with the process that started it (`content/worker_loop.py`); the reaper ends the
server then.

A line from the kernel has `do`: `start` (with `name`, `spec`; it comes first, and once), `call`
(with `number`, `tool`, `arguments`), `cancel` or `errors` (`number`). A line to the kernel has a
`state` of the server (starting, ready, ended, failed), with `tools` or `why`; or a `number` and one
of `progress`, `result`, `failed` and `lines`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, NoReturn

import psutil

from lmc_jupyter.computer.tools.worker.connection import Connection
from lmc_jupyter.content.worker_loop import Write, serve

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


def _check_memory() -> None:
    """End where a message of the server takes all memory."""
    if psutil.Process().memory_info().rss > MAX_MEMORY:
        sys.stderr.write(f"its messages took more than {MAX_MEMORY / 1e6:.0f} MB of memory\n")
        os._exit(1)


def main(parent: int) -> NoReturn:
    """Answer until the kernel has ended.

    Parameters
    ----------
    parent : the process that started this one
    """
    serve(parent, lambda write: ServerCalls(write).take, _check_memory)
