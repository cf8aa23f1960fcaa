"""What one call of a model may do on the network.

It follows no redirect, limits the size of a reply, and sends nothing to a third party.

One rule: this holds for every provider, because it is below LiteLLM, where httpx sends; and for our
calls alone: requests of the person's own code by httpx do not change.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any
from urllib.request import getproxies

from lmc_jupyter.errors import ModelError
from lmc_jupyter.keys import address


@dataclass(slots=True)
class Exchange:
    """One request and its reply.

    Parameters
    ----------
    model : its name, for the sentences
    seconds, size, event : the most seconds of a reply, bytes of it, and bytes of one event
    silent : the most seconds in which only comments arrive, which are no data of an event
    show : takes the body of each request, where LiteLLM does not tell it
    """

    model: str
    seconds: float
    size: int
    event: int
    silent: float = math.inf
    show: Callable[[bytes], None] | None = None
    problem: str = ""
    """A sentence on why we ended it; LiteLLM may give the same error another text."""
    _start: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)
    """When data arrived."""
    _line: bytes = b""
    """The first byte of the line that has not ended."""
    _size: int = 0
    _event: int = 0
    _tail: bytes = b""

    def begin(self) -> None:
        """Make this the exchange of all requests of the calling task, also on threads that it uses.

        The tasks that it makes follow no redirect either, for one of them may send the key; but an
        error there is not the reply's problem: it may be a callback of the person's own.
        """
        _current.set((self, _task()))

    def refuse(self, problem: str) -> ModelError:
        self.problem = problem
        return ModelError(problem)

    def asks_a_third_party(self, request: Any) -> bool:
        """Whether LiteLLM looks up a model's tokenizer or template at a host that nobody chose."""
        if self.model.startswith("huggingface/"):
            return False
        return request.method in ("GET", "HEAD") and request.url.host in _THIRD_PARTIES

    def prepare(self, request: Any) -> None:
        """Change the headers of a request before it is sent, and show its body."""
        if self.show is not None and request.method == "POST":
            self.show(request.content)
        request.headers["Accept-Encoding"] = (
            "identity"  # no compression: a small body could unpack to any size
        )

    def check_head(self, response: Any) -> None:
        """Check the status and the headers of a reply.

        Raises
        ------
        ModelError
            For a redirect: the key, and with 307 and 308 the conversation, would go with it. For a
            compressed body: a small one could unpack to any size. An error may be compressed.
        """
        if response.has_redirect_location:
            source, location = response.url, response.headers["location"]
            try:
                target = str(source.join(location))
            except Exception:  # noqa: BLE001 - a server may send a location that is no address
                target = repr(location)
            raise self.refuse(
                f"the server at {address(str(source.copy_with(query=None)))} answered with a "
                f"redirect ({response.status_code}) to {address(target)[:200]}: nothing was sent "
                "there, because your key would have been sent too. If you trust that address, "
                "choose it yourself: `%lmc model NAME --api-base URL`, or LMC_API_BASE in the "
                "environment"
            )
        coding = _coding(response)
        if coding and response.status_code < _ERROR:
            raise self.refuse(
                f"the server of {self.model} answered in the encoding {coding!r}, which was "
                "not requested: the answer was not read"
            )

    def check_piece(self, piece: bytes, ends: tuple[bytes, ...]) -> None:
        """Count the bytes that have arrived.

        Parameters
        ----------
        ends : delimiters of events in this reply; none where it has no events

        Raises
        ------
        ModelError
            When it is more than a reply may have.
        """
        self._size += len(piece)
        data = self._tail + piece
        after = max((at + len(end) for end in ends if (at := data.rfind(end)) >= 0), default=0)
        self._event = len(data) - after if after else self._event + len(piece)
        self._tail = data[-3:]  # an end may be cut in two
        if self._size > self.size:
            raise self.refuse(
                f"{self.model} sent more than {self.size:,} bytes for one reply: it was cut "
                "there, and the part that arrived is here"
            )
        if ends and self._event > self.event:
            raise self.refuse(
                f"{self.model} sent more than {self.event:,} bytes in one event of its reply: it "
                "was cut there, and the part before it is here"
            )
        now = time.monotonic()
        if _ends(_EVENTS) != ends or self._has_data(piece):
            self._last = now
        if now - self._last > self.silent:
            raise self.refuse(
                f"{self.model} sent nothing but signs of life for {self.silent:,.0f} s: its reply "
                "was cut there, and the part that arrived is here"
            )
        if now - self._start > self.seconds:
            raise self.refuse(
                f"the reply of {self.model} took more than {self.seconds:,.0f} s: it was cut "
                "there, and the part that arrived is here"
            )

    def _has_data(self, piece: bytes) -> bool:
        """Whether a line in a piece of events is no comment; those begin with a colon."""
        lines = (self._line + piece).replace(b"\r", b"\n").split(b"\n")
        self._line = lines[-1][:1]
        return any(line[:1] not in (b"", b":") for line in lines)


_EVENTS = "text/event-stream"
_MARK = "_of_lmc"
_THIRD_PARTIES = ("huggingface.co", "hf.co")

_CODINGS = ("gzip", "deflate", "br", "zstd")
"""Codings that httpx unpacks; it ignores all others."""
_ERROR = 400

_current: ContextVar[tuple[Exchange, asyncio.Task[Any] | None] | None] = ContextVar(
    "lmc_exchange", default=None
)


def _task() -> asyncio.Task[Any] | None:
    """The current task; None on a thread without one."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _exchange() -> Exchange | None:
    """The exchange of a request of this task or thread; None for none."""
    exchange, task = _current.get() or (None, None)
    if exchange is None or _task() in (None, task):
        return exchange
    return replace(exchange, problem="")


def _coding(response: Any) -> str:
    """The coding of a response that httpx would unpack; "" where there is none."""
    codings = response.headers.get_list("content-encoding", split_commas=True)
    return next((each for one in codings if (each := one.strip().lower()) in _CODINGS), "")


def _ends(kind: str) -> tuple[bytes, ...]:
    """The delimiters that end an event in a body of this media type."""
    if _EVENTS in kind:
        return b"\n\n", b"\r\n\r\n", b"\r\r"
    return () if "vnd.amazon.eventstream" in kind else (b"\n",)


def is_here(host: str) -> bool:
    """Whether this is the name or address of this machine, which no proxy is asked for."""
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", host))


def _direct(client: Any, request: Any) -> Any:
    """The client; for a server on this machine, where a proxy is set, one that uses no proxy.

    A proxy would look for the server on its own machine, and get the key and the conversation.
    """
    import httpx

    if not is_here(request.url.host) or not getproxies():
        return client
    kind = httpx.AsyncClient if isinstance(client, httpx.AsyncClient) else httpx.Client
    return kind(
        trust_env=False,
        verify=request.url.scheme != "http",  # to load certificates takes 20 ms
        limits=httpx.Limits(max_keepalive_connections=0),
    )


def install() -> None:
    """Let httpx use the current `Exchange`, where there is one. This imports httpx."""
    import httpx

    if hasattr(httpx.AsyncClient.send, _MARK):
        return

    class CountedBody(httpx.SyncByteStream, httpx.AsyncByteStream):
        """A body, counted as it comes."""

        def __init__(self, response: Any, exchange: Exchange) -> None:
            self._body, self._exchange = response.stream, exchange
            self._ends = _ends(response.headers.get("content-type", ""))

        def _count(self, piece: bytes) -> bytes:
            self._exchange.check_piece(piece, self._ends)
            return piece

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._body:
                yield self._count(piece)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._body:
                yield self._count(piece)

        def close(self) -> None:
            self._body.close()

        async def aclose(self) -> None:
            await self._body.aclose()

    send, asend = httpx.Client.send, httpx.AsyncClient.send

    @wraps(send)
    def guarded_send(
        client: Any, request: Any, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        exchange = _exchange()
        if exchange is None:
            return send(client, request, stream=stream, **options)
        if exchange.asks_a_third_party(request):
            return httpx.Response(404, request=request)
        exchange.prepare(request)
        options["follow_redirects"] = False
        response = send(_direct(client, request), request, stream=True, **options)
        try:
            exchange.check_head(response)
            response.stream = CountedBody(response, exchange)
            if not stream:
                response.read()
        except BaseException:
            response.close()
            raise
        return response

    @wraps(asend)
    async def guarded_asend(
        client: Any, request: Any, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        exchange = _exchange()
        if exchange is None:
            return await asend(client, request, stream=stream, **options)
        if exchange.asks_a_third_party(request):
            return httpx.Response(404, request=request)
        exchange.prepare(request)
        options["follow_redirects"] = False
        response = await asend(_direct(client, request), request, stream=True, **options)
        try:
            exchange.check_head(response)
            response.stream = CountedBody(response, exchange)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    for kind, method in ((httpx.Client, guarded_send), (httpx.AsyncClient, guarded_asend)):
        setattr(method, _MARK, True)
        setattr(kind, "send", method)  # noqa: B010 - for mypy a method cannot be assigned
