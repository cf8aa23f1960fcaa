"""The kernel's side of the workers that hold the MCP servers.

One rule: a server has a worker of its own, and no other module knows that there is one. So whatever
a server sends keeps no other server waiting. A worker belongs to this process alone, starts again
with the next call after a crash, and ends with this process.

`worker/main.py` defines the lines on its pipes. A caller waits at a queue (box) of its own, in
short steps, so that Stop and Ctrl-C end the wait at once and cancel the call.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from lmc_jupyter.computer.tools import guards
from lmc_jupyter.computer.tools.catalogue import Server, clean_line, identifiers, read_tools
from lmc_jupyter.computer.tools.config import ServerConfig
from lmc_jupyter.content.python_process import PythonProcess, program
from lmc_jupyter.errors import ToolError
from lmc_jupyter.keys import redact

STEP_SECONDS = 0.2
"""Seconds of one step of a wait: an interrupt of another thread than the main one ends the step."""
QUIET_SECONDS = 10.0
"""Seconds without an answer after which a call says so, and again after as many more."""
MAX_ERROR = 2_000
"""Characters of the words of a server that failed."""
RESERVED = ("search",)
"""What `tools` has beside the servers."""

MISSING = (
    "the tools of MCP servers need the package mcp, 2.0 or newer: run "
    '`%pip install "lmc-jupyter[mcp]"`, then `%lmc tools restart`'
)

BEGIN = program("lmc_jupyter.computer.tools.worker.main")
"""The program of a worker."""

_ENVIRONMENT = {
    "APPDATA", "COMSPEC", "HOME", "HOMEDRIVE", "HOMEPATH", "LANG", "LOCALAPPDATA", "LOGNAME",
    "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE",
    "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "USERNAME",
    "USERPROFILE", "WINDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
}  # fmt: skip
"""The variables that a worker starts with: no key is among them."""


class Servers:
    """The servers of this process, and what they offer."""

    def __init__(self) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called, on a thread of ours, when a server or its tools have changed. Yours to set."""
        self.show: Callable[[str], None] = lambda _: None
        """Takes a line on how far a call is; "" at its end. Yours to set."""
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._configs: dict[str, ServerConfig] = {}
        self._servers: dict[str, Server] = {}
        self._workers: dict[str, _ServerWorker] = {}
        self._numbers = itertools.count(1)
        self._waited: set[str] = set()

    # Which there are ------------------------------------------------------------------------------

    def use(self, configs: Iterable[ServerConfig]) -> None:
        """Have these servers and no others; each new one starts at once, in the background."""
        with self._lock:
            given = {each.name: each for each in configs}
            before = self._servers
            self._servers = {
                name: Server(name, identifier)
                for name, identifier in zip(given, identifiers(given, RESERVED), strict=True)
            }
            same = {
                name
                for name, each in given.items()
                if each.is_same(self._configs.get(name))
                and before[name].identifier == self._servers[name].identifier
            }
            self._servers |= {name: before[name] for name in same}
            self._configs = given
            self._end_workers(self._workers.keys() - same)
            for name in given.keys() - same:
                self._start(name)
        self.changed()

    def current(self) -> list[Server]:
        """Every server as it is now."""
        with self._lock:
            return list(self._servers.values())

    def configs(self) -> list[ServerConfig]:
        """How each is started or reached."""
        with self._lock:
            return list(self._configs.values())

    def wait(self, seconds: float, name: str | None = None) -> None:
        """Wait until no server starts, or not this one, but no longer than so many seconds."""
        end = time.monotonic() + seconds
        with self._news:
            while any(
                each.state == "starting" and name in (None, each.name)
                for each in self._servers.values()
            ):
                left = end - time.monotonic()
                if left <= 0:
                    return
                self._news.wait(min(left, STEP_SECONDS))

    def wait_once(self, seconds: float) -> None:
        """Wait for each server that starts, but never again for the same."""
        with self._lock:
            there = {each.name for each in self._servers.values() if each.state == "starting"}
            new, self._waited = there - self._waited, self._waited | there
        if new:
            self.wait(seconds)

    def restart(self, name: str | None = None) -> None:
        """Start this server again, or all.

        Raises
        ------
        ToolError
            When there is none of that name.
        """
        with self._lock:
            names = self._servers.keys() if name is None else [self.find(name).name]
            self._end_workers(names)
            for each in names:
                self._start(each)
        self.changed()

    def errors(self, name: str) -> list[str]:
        """The last lines of its standard error, without keys.

        Raises
        ------
        ToolError
            When there is no such server, or no answer.
        """
        server = self.find(name)
        answer = self._ask(server.name, f"the server {server.name}", do="errors")
        lines = answer.get("lines", [])
        return [clean_line(self._redact(server.name, each), MAX_ERROR) for each in lines]

    # Calls ----------------------------------------------------------------------------------------

    def call(self, server: str, tool: str, arguments: dict[str, Any], path: str) -> dict[str, Any]:
        """The result of a tool, as the protocol writes it. An interrupt cancels the call.

        Parameters
        ----------
        path : as code writes it, to begin a sentence

        Raises
        ------
        ToolError
            When it fails.
        GateError
            When code of a model calls it, and policy does not allow that.
        """
        for guard in list(guards):
            guard.check({"tools"})
        is_shown = False

        def show(text: str) -> None:
            nonlocal is_shown
            is_shown = True
            self.show(clean_line(f"{path}: {self._redact(server, text)}", 100))

        try:
            answer = self._ask(server, path, show, do="call", tool=tool, arguments=arguments)
        finally:
            if is_shown:
                self.show("")
        if "failed" in answer:
            words = clean_line(self._redact(server, str(answer["failed"])), MAX_ERROR)
            raise ToolError(f"{path}: {words}")
        result: dict[str, Any] = answer["result"]
        if result.get("isError"):
            texts = [each.get("text", "") for each in result.get("content", ())]
            words = self._redact(server, "\n".join(filter(None, texts)))
            raise ToolError(f"{path}: {clean_line(words, MAX_ERROR) or 'it failed'}")
        return result

    def _ask(
        self,
        server: str,
        path: str,
        show: Callable[[str], None] = lambda _: None,
        **line: Any,
    ) -> dict[str, Any]:
        """The last answer to a request.

        Parameters
        ----------
        show : takes a line on how far it is
        """
        number = next(self._numbers)
        box: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            if server not in self._servers:
                raise ToolError(f"{path}: there is no server {server} any more")
            if not self._is_alive(server):
                self._start(server)
            worker = self._workers.get(server)
            if worker is None:
                raise ToolError(self._servers[server].why)
            worker.boxes[number] = box.put
            try:
                worker.send(number=number, **line)
            except (TypeError, ValueError) as error:
                del worker.boxes[number]
                raise ToolError(
                    f"{path}: an argument cannot be sent as JSON ({error}): give texts, numbers, "
                    "lists and dicts"
                ) from None
        is_over, since, quiet = False, time.monotonic(), QUIET_SECONDS
        try:
            while True:
                try:
                    answer = box.get(timeout=STEP_SECONDS)
                except queue.Empty:
                    if time.monotonic() - since >= quiet:
                        show(f"no answer for {quiet:.0f} s (Stop or Ctrl-C ends the call)")
                        quiet += QUIET_SECONDS
                    continue
                if answer is None:
                    is_over = True
                    raise ToolError(
                        f"{path}: the process that holds the server has ended "
                        f"({worker.why()}); the next call starts it again"
                    )
                if "progress" not in answer:
                    is_over = True
                    return answer
                since, quiet = time.monotonic(), QUIET_SECONDS
                done, total, words = answer["progress"]
                show(f"{done:g} {words}" if total is None else f"{done:g} of {total:g} {words}")
        finally:
            worker.boxes.pop(number, None)
            if not is_over:
                worker.send(do="cancel", number=number)

    # The workers ----------------------------------------------------------------------------------

    def find(self, name: str) -> Server:
        """The server of this name, or this identifier.

        Raises
        ------
        ToolError
            When there is none.
        """
        for each in self.current():
            if name in (each.name, each.identifier):
                return each
        there = ", ".join(each.name for each in self.current()) or "none"
        raise ToolError(f"there is no server {name!r:.60}: there are {there}")

    def _is_alive(self, name: str) -> bool:
        return name in self._workers and self._workers[name].is_alive

    def _start(self, name: str) -> None:
        """Start the worker of a server; the lock is held."""
        if importlib.util.find_spec("mcp") is None:
            self._fail(name, MISSING)
            return
        try:
            worker = _ServerWorker(partial(self._hear, name), partial(self._ended, name))
        except OSError as error:
            self._fail(name, f"the process that holds the server cannot be started ({error})")
            return
        self._workers[name] = worker
        self._servers[name] = replace(self._servers[name], state="starting", why="")
        worker.send(do="start", name=name, spec=self._configs[name].plain_spec())

    def _fail(self, name: str, why: str) -> None:
        self._workers.pop(name, None)
        self._servers[name] = replace(self._servers[name], state="failed", why=why)

    def _ended(self, name: str, worker: _ServerWorker) -> None:
        """A worker has ended; on its thread."""
        with self._news:
            if self._workers.get(name) is not worker:
                return
            self._fail(
                name,
                MISSING
                if "No module named 'mcp" in (why := worker.why()) or "import name" in why
                else f"the process that holds the server has ended ({why})",
            )
            self._news.notify_all()
        self.changed()

    def _hear(self, name: str, worker: _ServerWorker, line: dict[str, Any]) -> None:
        """A server has another state; on its worker's thread."""
        with self._news:
            if self._workers.get(name) is not worker:
                return
            why = clean_line(self._redact(name, line.get("why", "")), 500)
            server = replace(self._servers[name], state=line["state"], why=why)
            if "tools" in line:
                tools = read_tools(server.identifier, line["tools"])
                server = replace(server, tools=tools, more=line["more"])
            self._servers[name] = server
            self._news.notify_all()
        self.changed()

    def _redact(self, name: str, text: str) -> str:
        config = self._configs.get(name)
        return redact(text, config.secrets() if config is not None else ())

    def _end_workers(self, names: Collection[str]) -> None:
        """End these workers, and their servers with them."""
        ended = [self._workers.pop(name) for name in list(names) if name in self._workers]
        for each in ended:
            each.begin_end()
        for each in ended:
            each.end()

    def close(self) -> None:
        """End every server."""
        with self._lock:
            self._configs, self._servers = {}, {}
            self._end_workers(self._workers.keys())
        self.changed()

    def forget(self) -> None:
        """Forget the workers in a fork: they belong to the parent."""
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._workers = {}


class _ServerWorker:
    """The worker process of one server.

    Parameters
    ----------
    hear : takes it and each line on its server's state
    ended : takes it when it has ended
    """

    def __init__(
        self,
        hear: Callable[[_ServerWorker, dict[str, Any]], None],
        ended: Callable[[_ServerWorker], None],
    ) -> None:
        self.boxes: dict[int, Callable[[dict[str, Any] | None], None]] = {}
        self._tell_state, self._tell_end = hear, ended
        names = _ENVIRONMENT | {each.lower() for each in _ENVIRONMENT}
        environment = {n: v for n, v in os.environ.items() if n in names or n.startswith("LC_")}
        self._python = PythonProcess(BEGIN, environment)
        self.is_alive = True
        self._python.listen(self._hear, self._ended, "lmc-tools")

    def send(self, **line: Any) -> None:
        """Send a line; TypeError and ValueError for what is no JSON."""
        text = json.dumps(line, separators=(",", ":"), allow_nan=False)
        self._python.write(text.encode() + b"\n")

    def begin_end(self) -> None:
        """Have it end soon."""
        self._python.write(None)

    def end(self) -> None:
        """Wait for its end, and kill it where that does not come."""
        with suppress(subprocess.TimeoutExpired):
            self._python.process.wait(2.0)
            return
        self._python.end()
        self._python.process.wait()

    def why(self) -> str:
        """The reason of its end, as far as known."""
        return redact(self._python.why())[-300:]  # before the cut: no half of a key stays

    def _hear(self, answer: dict[str, Any]) -> None:
        if "state" in answer:
            self._tell_state(self, answer)
        elif (put := self.boxes.get(answer["number"])) is not None:
            put(answer)

    def _ended(self) -> None:
        self.is_alive = False
        for put in list(self.boxes.values()):
            put(None)
        self._tell_end(self)


servers = Servers()
"""Those of this process."""

atexit.register(servers.close)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=servers.forget)
