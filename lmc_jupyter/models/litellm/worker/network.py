"""What one call of a model may do on the network.

It follows no redirect, takes in no more than so much, and asks no third party.

One rule: it holds for every provider, because it stands below LiteLLM, where httpx sends; and for
our calls alone: what the person's own code sends by httpx is not touched.
"""

from __future__ import annotations

import asyncio
import re
import time
import zlib
from collections.abc import AsyncIterator, Iterator
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
    model : who is asked, for the sentences
    seconds, size, event : how long a reply may take, how many bytes it and one event may have
    """

    model: str
    seconds: float
    size: int
    event: int
    problem: str = ""
    """Why it was ended; LiteLLM may say something else of the same error."""
    _started: float = field(default_factory=time.monotonic)
    _size: int = 0
    _event: int = 0
    _tail: bytes = b""

    def begin(self) -> None:
        """Make this the exchange of all that the calling task sends, also on threads that it uses.

        The tasks that it makes follow no redirect either, for one of them may send the key; but
        what goes wrong there is not the reply's problem: it may be a callback of the person's own.
        """
        _current.set((self, _task()))

    def refuse(self, problem: str) -> ModelError:
        self.problem = problem
        return ModelError(problem)

    def asks_a_third_party(self, request: Any) -> bool:
        """Whether LiteLLM looks up a model's tokenizer or template where nobody was chosen."""
        if self.model.startswith("huggingface/"):
            return False
        return request.method in ("GET", "HEAD") and request.url.host in _THIRD_PARTIES

    def prepare(self, request: Any) -> None:
        """Take out of a request's headers what is not to be sent."""
        request.headers["Accept-Encoding"] = "identity"  # a small body could unpack to any size

    def check_head(self, response: Any) -> None:
        """Check the status and the headers of a reply.

        Raises
        ------
        ModelError
            For a redirect: the key, and with 307 and 308 the conversation, would go along. For a
            packed body: a small one could unpack to any size. Of an error a part is unpacked.
        """
        if response.has_redirect_location:
            asked, location = response.url, response.headers["location"]
            try:
                target = str(asked.join(location))
            except Exception:  # noqa: BLE001 - what a server says may be no address
                target = repr(location)
            raise self.refuse(
                f"the server at {address(str(asked.copy_with(query=None)))} answered with a "
                f"redirect ({response.status_code}) to {address(target)[:200]}: nothing was sent "
                "there, because your key would have been sent too. If you trust that address, "
                "choose it yourself: `%lmc model NAME --api-base URL`, or LMC_API_BASE in the "
                "environment"
            )
        coding = _packed(response)
        if coding and response.status_code < _ERROR:
            raise self.refuse(
                f"the server of {self.model} answered in the encoding {coding!r}, which was "
                "not requested: the answer was not read"
            )

    def check_piece(self, piece: bytes, ends: tuple[bytes, ...]) -> None:
        """Count the bytes that have arrived.

        Parameters
        ----------
        ends : what an event of this reply ends with; none: it has no such parts

        Raises
        ------
        ModelError
            When it is more than a reply may have.
        """
        self._size += len(piece)
        seen = self._tail + piece
        after = max((at + len(end) for end in ends if (at := seen.rfind(end)) >= 0), default=0)
        self._event = len(seen) - after if after else self._event + len(piece)
        self._tail = seen[-3:]  # an end may be cut in two
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
        if time.monotonic() - self._started > self.seconds:
            raise self.refuse(
                f"the reply of {self.model} took more than {self.seconds:,.0f} s: it was cut "
                "there, and the part that arrived is here"
            )


_MARK = "_of_lmc"
_THIRD_PARTIES = ("huggingface.co", "hf.co")

_PACKED = ("gzip", "deflate", "br", "zstd")
"""What httpx unpacks; it ignores all other codings."""
_ERROR = 400
_MOST_OF_ERROR = 100_000
"""Bytes of an error that are unpacked."""

_current: ContextVar[tuple[Exchange, asyncio.Task[Any] | None] | None] = ContextVar(
    "lmc_exchange", default=None
)


def _task() -> asyncio.Task[Any] | None:
    """The task that runs here; None on a thread without one."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _exchange() -> Exchange | None:
    """The exchange that a request of this task or thread belongs to; None for none."""
    exchange, task = _current.get() or (None, None)
    if exchange is None or _task() in (None, task):
        return exchange
    return replace(exchange, problem="")


def _packed(response: Any) -> str:
    """The coding that httpx would unpack; "" where there is none."""
    codings = response.headers.get_list("content-encoding", split_commas=True)
    return next((each for one in codings if (each := one.strip().lower()) in _PACKED), "")


class _Unpacked:
    """The first part of an error that came packed; nothing of one that cannot be unpacked."""

    def __init__(self) -> None:
        self._left = _MOST_OF_ERROR
        self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)  # 32: gzip, or zlib

    def feed(self, piece: bytes) -> bytes:
        if not self._left:
            return b""
        try:
            unpacked = self._zlib.decompress(piece, self._left)
        except zlib.error:
            self._left = 0
            return b""
        self._left -= len(unpacked)
        return unpacked


def _ends(kind: str) -> tuple[bytes, ...]:
    """The delimiters that end an event in a body of this media type."""
    if "text/event-stream" in kind:
        return b"\n\n", b"\r\n\r\n", b"\r\r"
    return () if "vnd.amazon.eventstream" in kind else (b"\n",)


def _direct(client: Any, request: Any) -> Any:
    """The client; for a server on this machine, where a proxy is set, one that uses no proxy.

    A proxy looks for that server on its own machine, and would get the key and the conversation.
    """
    import httpx

    host = request.url.host
    is_here = host in ("localhost", "::1") or re.fullmatch(r"127(?:\.\d{1,3}){3}", host)
    if not is_here or not getproxies():
        return client
    kind = httpx.AsyncClient if isinstance(client, httpx.AsyncClient) else httpx.Client
    return kind(
        trust_env=False,
        verify=request.url.scheme != "http",  # to load certificates takes 20 ms
        limits=httpx.Limits(max_keepalive_connections=0),
    )


def install() -> None:
    """Have httpx ask the current `Exchange`, where there is one. httpx is imported here."""
    import httpx

    if hasattr(httpx.AsyncClient.send, _MARK):
        return

    class Counted(httpx.SyncByteStream, httpx.AsyncByteStream):
        """A body, counted as it comes."""

        def __init__(self, response: Any, exchange: Exchange) -> None:
            self._body, self._exchange = response.stream, exchange
            self._ends = _ends(response.headers.get("content-type", ""))
            self._unpacked = _Unpacked() if _packed(response) else None
            if self._unpacked is not None:
                del response.headers["content-encoding"]

        def _count(self, piece: bytes) -> bytes:
            self._exchange.check_piece(piece, self._ends)
            return piece if self._unpacked is None else self._unpacked.feed(piece)

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
            response.stream = Counted(response, exchange)
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
            response.stream = Counted(response, exchange)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    for kind, method in ((httpx.Client, guarded_send), (httpx.AsyncClient, guarded_asend)):
        setattr(method, _MARK, True)
        setattr(kind, "send", method)  # noqa: B010 - for mypy a method cannot be assigned
