"""A real server on 127.0.0.1 that speaks the OpenAI protocol from scripts, faults included.

One rule: it knows nothing of our package. What a test needs to know it logs: each request's
body and headers, and whether the client closed the connection.

    with ModelServer() as server:
        server.turns = [Turn(tool("python", "1 + 1")), Turn(text("It is 2."))]
        ... LiteLLM with api_base=server.base ...
        server.requests[0].body["messages"]

The turn is picked by the number of assistant messages in the request, so that one script
drives a whole conversation; `server.first` holds turns that are used up before, whatever is
asked (a 429, then an answer).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any

CUTS: dict[str, Callable[[str], list[str]]] = {
    "4": lambda s: [s[i : i + 4] for i in range(0, len(s), 4)],
    "char": list,
    "word": lambda s: re.findall(r"```|\n+| ?\w+|[^\S\n]+|[^\w\s]", s),  # near to GPT tokenizers
    "line": lambda s: s.splitlines(keepends=True),
    "all": lambda s: [s] if s else [],
}

Part = tuple[Any, ...]


def text(content: str) -> Part:
    return ("content", content)


def reasoning(content: str) -> Part:
    return ("reasoning_content", content)


def tool(language: str, code: str) -> Part:
    return ("call", "execute", json.dumps({"language": language, "code": code}))


def call(name: str, arguments: str) -> Part:
    return ("call", name, arguments)


def wait(event: threading.Event) -> Part:
    """Nothing more is sent until the test sets the event, or the client goes."""
    return ("wait", event)


STALL: Part = ("stall",)
"""Nothing more is sent; the connection stays open until the client closes it."""


@dataclass
class Turn:
    """One reply: parts in order, cut into deltas, then the finish and the count of tokens."""

    parts: Iterable[Part]
    cut: str = "word"
    finish: str | None = None  # default: stop, or tool_calls
    usage: tuple[int, int] | None = (11, 7)
    cached: int = 0

    def __init__(self, *parts: Part, **options: Any) -> None:
        self.parts = parts
        for name, value in options.items():
            setattr(self, name, value)


@dataclass
class Fault:
    """An answer of exactly these bytes, as far as `cut`; then the connection is closed.

    With `reset` it is aborted instead, with `stall` it stays open.
    """

    data: bytes
    cut: int | None = None
    reset: bool = False
    stall: bool = False


@dataclass
class Refusal:
    """An HTTP error."""

    status: int
    message: str = "no"
    headers: dict[str, str] = field(default_factory=dict)
    code: str | None = None


@dataclass
class Request:
    """What the client sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    """Of a form (multipart): the text of each field, and the bytes of each file."""


Answer = Turn | Fault | Refusal


# The bytes of a stream ----------------------------------------------------------------------------

OPEN_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
"""Of an answer that leaves the connection open for the next request."""
HEAD = OPEN_HEAD[:-2] + b"Connection: close\r\n\r\n"
"""Of the last answer on a connection: without the line, a client may send its next request there,
and loses it when the server closes.
"""
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    data = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def deltas(turn: Turn) -> tuple[list[Any], str]:
    """The deltas of a turn, with what is to be waited for among them; and its finish."""
    cut, out, index = CUTS[turn.cut], [{"role": "assistant", "content": ""}], -1
    found: list[Any] = list(out)
    for kind, *args in turn.parts:
        if kind in ("content", "reasoning_content", "reasoning"):
            found += [{kind: piece} for piece in cut(args[0])]
        elif kind == "call":
            index += 1
            name, arguments = args
            function = {"name": name, "arguments": ""}
            start = {"index": index, "id": f"call_{index}", "type": "function"}
            found.append({"tool_calls": [{**start, "function": function}]})
            found += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in cut(arguments)
            ]
        else:
            found.append((kind, *args))
    return found, turn.finish or ("tool_calls" if index >= 0 else "stop")


class ModelServer:
    """The server; a context, running on a thread of its own."""

    def __init__(self) -> None:
        self.turns: list[Answer] = []
        self.first: list[Answer] = []
        self.answer: Callable[[Request], Answer] | None = None
        """Makes the answer to each request, in place of `turns`."""
        self.transcripts: list[str | Refusal] = []
        """What is heard in one recording after the other; the last one stays."""
        self.requests: list[Request] = []
        self.lookups: list[Request] = []
        """Questions about its models."""
        self.models: list[dict[str, Any]] = [{"id": "some/model-1"}, {"id": "<script>"}]
        self.props: dict[str, Any] | None = None
        self.dropped = threading.Event()
        """The client closed a connection while an answer was being given."""
        self.asked = threading.Event()
        """A request has come."""
        self.port = 0
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self._started = threading.Event()
        self._clients: set[asyncio.Task[None]] = set()

    @property
    def base(self) -> str:
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        assert self._started.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.ensure_future(self._client(reader, writer))
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read(reader):
                if request.path.endswith(("/models", "/props")):
                    self.lookups.append(request)
                else:
                    self.requests.append(request)
                    self.asked.set()
                if not await self._answer(self._pick(request), reader, writer):
                    break
        except ConnectionError:
            self.dropped.set()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _pick(self, request: Request) -> Answer:
        if request.path.endswith("/models"):
            return _plain(200, {"data": self.models})
        if request.path.endswith("/props"):
            return Refusal(404, "no") if self.props is None else _plain(200, self.props)
        if request.path.endswith("/audio/transcriptions"):
            heard = self.transcripts.pop(0) if len(self.transcripts) > 1 else self.transcripts[0]
            return heard if isinstance(heard, Refusal) else _plain(200, {"text": heard})
        if self.first:
            return self.first.pop(0)
        if self.answer is not None:
            return self.answer(request)
        given = sum(each["role"] == "assistant" for each in request.body.get("messages", ()))
        if not self.turns:
            return Refusal(500, "the test gave no script")
        return self.turns[min(given, len(self.turns) - 1)]

    async def _answer(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Send it; whether the connection can be used again."""
        if isinstance(answer, Refusal):
            error = {"error": {"message": answer.message, "code": answer.code, "type": "error"}}
            answer = _plain(answer.status, error, answer.headers)
            writer.write(answer.data)
            await writer.drain()
            return True
        if isinstance(answer, Fault):
            writer.write(answer.data[: answer.cut])
            await writer.drain()
            if answer.stall:
                await self._until_dropped(reader)
            if answer.reset:
                writer.transport.abort()
            return answer.data.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json")
        writer.write(OPEN_HEAD)
        parts, finish = deltas(answer)
        for part in parts:
            if isinstance(part, dict):
                writer.write(chunked(event(part)))
                continue
            await writer.drain()
            if part[0] == "stall":
                await self._until_dropped(reader)
                return False
            waiting = asyncio.ensure_future(asyncio.to_thread(part[1].wait, 60))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                part[1].set()
                self.dropped.set()
                return False
            gone.cancel()
        writer.write(chunked(event({}, finish)))
        if answer.usage is not None:
            prompt, completion = answer.usage
            usage = {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": {"cached_tokens": answer.cached},
            }
            data = json.loads(event({})[6:])
            writer.write(
                chunked(b"data: " + json.dumps({**data, "choices": [], "usage": usage}).encode())
            )
            writer.write(chunked(b"\n\n"))
        writer.write(chunked(DONE) + END)
        await writer.drain()
        return True

    async def _until_dropped(self, reader: asyncio.StreamReader) -> None:
        await reader.read(1)
        self.dropped.set()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (s.partition(":") for s in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/"):
        return Request(first.split()[1], headers, _form(kind, body))
    return Request(first.split()[1], headers, json.loads(body) if body else {})


def _form(kind: str, body: bytes) -> dict[str, Any]:
    """The fields of a form, and the files in it."""
    whole = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    found: dict[str, Any] = {}
    for part in whole.get_payload():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        found[name] = data if part.get_filename() else data.decode()
    return found


def _plain(status: int, body: object, headers: dict[str, str] | None = None) -> Fault:
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Error'}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return Fault("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
