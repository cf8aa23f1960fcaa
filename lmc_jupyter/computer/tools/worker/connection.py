"""One MCP server: it is started or reached, its tools are listed, its calls are made.

One rule: the server gets nothing of the person but the arguments of a call. Sampling, elicitation
and roots are not offered to it, so the SDK refuses them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from typing import IO, Any

import anyio
import httpx2
import psutil
from mcp import Client, MCPError, StdioServerParameters, stdio_client, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.content.worker_loop import Write

START_SECONDS = 120.0
"""Seconds that a server may take until it has listed its tools: npx may have to fetch it first."""
PING_SECONDS = 5.0
"""Seconds in which a server has to answer a ping after a call was cancelled."""
PROGRESS_SECONDS = 0.2
"""Seconds between two lines on how far a call is; what comes between them is left out."""
MAX_STARTS = 3
"""How often a server is started again by calls, until the person restarts it."""
GOOD_SECONDS = 60.0
"""Seconds after which a server that was ready may be started so often anew."""
MAX_TOOLS = 1_000
"""Of one server; the others are counted."""
MAX_PAGES = 100
MAX_DESCRIPTION = 4_000
MAX_SCHEMA = 50_000
"""Characters of a tool's schema; of a longer one only that it takes arguments is known."""
MAX_LIST = 2_000_000
"""Characters of all descriptions and schemas of a server; the tools behind have only a name."""
MAX_RESULT = 10_000_000
"""Characters of a result, as JSON."""
MAX_LOG = 100
"""Lines of its standard error that stay."""
MAX_LINE = 2_000


class Connection:
    """One server.

    Parameters
    ----------
    spec : command, args, env, cwd; or url and headers
    write : writes a line to the kernel
    """

    def __init__(self, name: str, spec: dict[str, Any], write: Write) -> None:
        self.name, self.spec, self._write = name, spec, write
        self.log: deque[str] = deque(maxlen=MAX_LOG)
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._end = self._settled = asyncio.Event()
        self._why = ""
        self._starts = 0
        self._pid = self._status = 0
        self._scopes: dict[int, anyio.CancelScope] = {}

    # The connection -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it; returns at once."""
        self._starts += 1
        self._why = ""
        self._end, self._settled = asyncio.Event(), asyncio.Event()
        self._state("starting")
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        late = asyncio.get_running_loop().call_later(START_SECONDS, self._expire, task)
        is_ready, begin = False, 0.0
        try:
            async with contextlib.AsyncExitStack() as stack:
                options: dict[str, Any] = {"cache": None, "client_info": _info()}
                options["message_handler"] = self._hear
                transport = await self._http(stack) if "url" in self.spec else self._stdio()
                client = Client(transport, **options)
                await stack.enter_async_context(client)
                listed = await self._list(client)
                late.cancel()
                self._client, is_ready = client, True
                begin = asyncio.get_running_loop().time()
                self._settled.set()
                self._state("ready", **listed)
                await self._end.wait()
        except asyncio.CancelledError:
            self._why = self._why or "it was ended"
        except Exception as error:  # noqa: BLE001 - a server may answer anything
            self._why = self._why or f"{_sentence(error)}{self._status_words()}"
        finally:
            late.cancel()
            self._client = None
            if is_ready and asyncio.get_running_loop().time() - begin > GOOD_SECONDS:
                self._starts = 0
            if self._pid:
                sessions.end(self._pid)
                reaper.forget(self._pid)
                self._pid = 0
            self._state("ended" if is_ready else "failed", why=self._why or "it has ended")
            self._settled.set()

    def _status_words(self) -> str:
        """What the status of the last answer over HTTP says of a failure; "" for nothing."""
        if self._status < 400:
            return ""
        key = ": give it a valid token in `headers`" if self._status in (401, 403) else ""
        return f" (HTTP {self._status}{key})"

    def _expire(self, task: asyncio.Task[None]) -> None:
        self._why = f"it did not start within {START_SECONDS:.0f} s"
        task.cancel()

    def _state(self, state: str, **more: Any) -> None:
        self._write({"state": state, **more})

    async def _http(self, stack: contextlib.AsyncExitStack) -> Any:
        client: httpx2.AsyncClient = create_mcp_http_client(headers=self.spec["headers"])

        async def note(response: httpx2.Response) -> None:
            self._status = response.status_code

        client.event_hooks = {"response": [note]}
        await stack.enter_async_context(client)
        return streamable_http_client(self.spec["url"], http_client=client)

    @contextlib.asynccontextmanager
    async def _stdio(self) -> AsyncGenerator[Any, None]:
        """The streams of its process; their end ends the connection, its errors are stored."""
        parameters = StdioServerParameters(
            command=self.spec["command"],
            args=self.spec["args"],
            env=self.spec["env"],
            cwd=self.spec["cwd"] or None,
            encoding_error_handler="replace",
        )
        out, into = os.pipe()
        reading = os.fdopen(out, "rb")
        threading.Thread(target=self._note, args=(reading,), daemon=True).start()
        async with contextlib.AsyncExitStack() as stack:
            with os.fdopen(into, "w") as errors:
                before = _children()
                read, write = await stack.enter_async_context(stdio_client(parameters, errors))
                self._pid = next(iter(_children() - before), 0)
            if self._pid:
                reaper.watch(self._pid)
            send, receive = anyio.create_memory_object_stream[Any](0)

            async def relay() -> None:
                async with send:
                    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        async for message in read:
                            await send.send(_reply_instead(message))
                self._why = self._why or "its process has ended"
                self._end.set()

            async with anyio.create_task_group() as group:
                group.start_soon(relay)
                try:
                    yield receive, write
                finally:
                    group.cancel_scope.cancel()

    def _note(self, pipe: IO[bytes]) -> None:
        """Store the last lines of its standard error."""
        with pipe:
            while line := pipe.readline(MAX_LINE):
                if line.strip():
                    self.log.append(line.decode("utf-8", "replace").rstrip("\r\n"))

    async def _hear(self, message: Any) -> None:
        """A notification: only that of another list of tools counts."""
        method = getattr(message, "method", "")
        if method == "notifications/tools/list_changed" and self._client is not None:
            asyncio.create_task(self._list_again(self._client))  # noqa: RUF006 - it ends by itself

    async def _list_again(self, client: Client) -> None:
        with contextlib.suppress(Exception):  # the list stays as it is
            self._state("ready", **await self._list(client))

    async def _list(self, client: Client) -> dict[str, Any]:
        """Its tools, as far as their number and their length go."""
        tools: list[dict[str, Any]] = []
        cursor, count, size = None, 0, 0
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            count += len(page.tools)
            for each in page.tools[: MAX_TOOLS - len(tools)]:
                tool = _tool(each) if size < MAX_LIST else _only_name(each)
                size += len(json.dumps(tool, default=repr))
                tools.append(tool)
            cursor = page.next_cursor
            if cursor is None or len(tools) >= MAX_TOOLS:
                break
        return {"tools": tools, "more": count - len(tools), "endless": cursor is not None}

    # Calls ----------------------------------------------------------------------------------------

    def call(self, number: int, tool: str, arguments: dict[str, Any]) -> Coroutine[Any, Any, None]:
        """Call a tool and write what comes of it; a server that has ended is started again.

        It can be cancelled from now on, also before the coroutine is awaited.
        """
        self._scopes[number] = anyio.CancelScope()
        return self._call(number, tool, arguments)

    async def _call(self, number: int, tool: str, arguments: dict[str, Any]) -> None:
        with self._scopes[number] as scope:
            try:
                self._write({"number": number, **await self._answer(number, tool, arguments)})
            finally:
                del self._scopes[number]
        if scope.cancelled_caught:
            self._write({"number": number, "failed": "it was cancelled"})
            await self._ping()

    def cancel(self, number: int) -> None:
        """Cancel a call: the server is told."""
        if number in self._scopes:
            self._scopes[number].cancel()

    async def _answer(self, number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        loop, next_time = asyncio.get_running_loop(), 0.0

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal next_time
            if loop.time() < next_time:
                return
            next_time = loop.time() + PROGRESS_SECONDS
            text = (message or "")[:200]
            self._write({"number": number, "progress": [progress, total, text]})

        if self._task is not None and self._end.is_set():
            await asyncio.wait([self._task])
        if self._task is None or self._task.done():
            if self._starts > MAX_STARTS:
                return {
                    "failed": f"it was started {self._starts} times and has ended ({self._why}): "
                    f"`%lmc tools errors {self.name}` shows its words, and "
                    f"`%lmc tools restart {self.name}` starts it again"
                }
            self.start()
        await self._settled.wait()
        client = self._client
        if client is None:
            return {"failed": f"it did not start: {self._why}"}
        end = self._end
        try:
            result = await client.call_tool(tool, arguments, progress_callback=progress)
            text = result.model_dump_json(by_alias=True, exclude_none=True)
        except Exception as error:  # noqa: BLE001 - a server may answer anything
            if end.is_set():
                await asyncio.sleep(0)
                return {"failed": "its process has ended: the next call starts it again"}
            return {"failed": f"{_sentence(error)}{self._status_words()}"}
        if len(text) > MAX_RESULT:
            size, most = len(text) / 1e6, MAX_RESULT / 1e6
            sentence = f"its result has {size:.0f} MB and at most {most:.0f} are read: ask for less"
            return {"failed": sentence}
        return {"result": json.loads(text)}

    async def _ping(self) -> None:
        """End it where it answers nothing after a call was cancelled."""
        client = self._client
        if client is None or "url" in self.spec:
            return
        session = client.session
        version = client.protocol_version
        is_modern = session.discover_result is not None
        ask = session.send_discover(version) if is_modern else session.send_ping()
        try:
            await asyncio.wait_for(ask, PING_SECONDS)
        except asyncio.TimeoutError:
            self._why = "it did not answer after a call was stopped, so it was ended"
            if self._pid:
                sessions.end(self._pid)
            self._end.set()
        except Exception:  # noqa: BLE001 - an answer, though it is no good one
            return


def _children() -> set[int]:
    return {each.pid for each in psutil.Process().children()}


def _info() -> types.Implementation:
    return types.Implementation(name="lmc-jupyter", version=sys.modules["lmc_jupyter"].__version__)


def _tool(tool: types.Tool) -> dict[str, Any]:
    schema = tool.input_schema
    if len(json.dumps(schema, default=repr)) > MAX_SCHEMA:
        schema = {"type": "object"}
    text = tool.description or tool.title or ""
    return {"name": tool.name[:200], "description": text[:MAX_DESCRIPTION], "schema": schema}


def _only_name(tool: types.Tool) -> dict[str, Any]:
    return {"name": tool.name[:200], "description": "", "schema": {"type": "object"}}


def _reply_instead(message: Any) -> Any:
    """The message; for a reply that cannot be read an error, so that its call ends.

    The SDK does so over HTTP. Noise, which names no request, stays as it is.
    """
    if not isinstance(message, ValidationError):
        return message
    error = message.errors(include_url=False)[0]
    given, number = error["input"], None
    if isinstance(given, dict) and "method" not in given:
        number = given.get("id")
    elif isinstance(given, str) and given.lstrip()[:1] == "{":
        found = _HEAD.match(given[:MAX_NUMBER]) or _TAIL.search(given[-MAX_NUMBER:])
        is_reply = found is not None and '"method"' not in found[0]
        number = int(found[1]) if found is not None and is_reply else None
    if not isinstance(number, int):
        return message
    words = f"its reply cannot be read ({error['msg'][:200]})"
    data = types.ErrorData(code=types.PARSE_ERROR, message=words)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=data))


_HEAD = re.compile(r'\s*\{[^\[{]*?"id"\s*:\s*(\d{1,15})\b')
_TAIL = re.compile(r'[\]}]\s*,[^\[\]{}]*"id"\s*:\s*(\d{1,15})\b[^\[\]{}]*\}\s*$')
"""The number of a request in a line that is no JSON: before, or behind, what it has inside."""
MAX_NUMBER = 400
"""Characters of such a line's beginning and end that are searched for it."""


def _sentence(error: BaseException) -> str:
    """What went wrong; of several errors the first."""
    while isinstance(nested := getattr(error, "exceptions", None), tuple) and nested:
        error = nested[0]
    if isinstance(error, MCPError):
        return " ".join(str(error.error.message).split())[:MAX_LINE] or "it gave an error"
    if isinstance(error, FileNotFoundError):
        return f"there is no command or folder {str(error.filename)!r:.200} here"
    text = " ".join(str(error).split())[:MAX_LINE]
    if isinstance(error, ValidationError):
        return f"its answer is not as the protocol says ({text[:200]})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
