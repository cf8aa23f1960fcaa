"""One call of a model, on the thread that reads the network: it is sent, tried again, read.

One rule: what LiteLLM says about the end of a reply is not believed. It invents a
`finish_reason` for a stream that broke off, so we look at the provider's own stream below it.
A reply that is not whole ends in a `ModelError`; one that has begun is never asked for again.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.keys import Secret, problem, redact, reveal
from lmc_jupyter.models import meant
from lmc_jupyter.models.failure import (
    Failure,
    NotWhole,
    TooLong,
    keyless,
    over_window,
    pause,
    refuses_tools,
)
from lmc_jupyter.models.litellm import access
from lmc_jupyter.models.litellm.loading import load
from lmc_jupyter.models.litellm.prices import Costs
from lmc_jupyter.models.network import Exchange
from lmc_jupyter.models.values import (
    Body,
    CallDelta,
    Delta,
    Item,
    Limits,
    ToolsRefused,
    Usage,
    WindowExceeded,
)

_sleep = asyncio.sleep
_random = random.random


@dataclass(slots=True)
class Call:
    """One request to a model, until its reply is whole or has failed.

    Parameters
    ----------
    request : the keywords of `litellm.completion`
    base, key : where it goes; None: what LiteLLM knows
    put : takes each `Item`
    shows_body : whether `put` wants the `Body`
    own_worker : see `Exchange`
    """

    request: dict[str, Any]
    base: str | None
    key: Secret | None
    limits: Limits
    costs: Costs | None = None
    shows_body: bool = False
    own_worker: bool = False
    put: Callable[[Item], None] = lambda _: None
    begun: bool = False
    started: float = field(default_factory=time.monotonic)
    exchange: Exchange | None = None

    @property
    def model(self) -> str:
        return str(self.request["model"])

    async def run(self) -> None:
        """Ask, and put what comes; the last item is None."""
        try:
            for tried in range(1, self.limits.tries + 1):
                wait = await self._try(tried)
                if wait is None:
                    return
                self.put(f"{self.model} is not ready: trying again in {wait:.0f} s")
                await _sleep(wait)
        except Exception as error:  # noqa: BLE001 - a provider may raise anything
            self.put(self._failure(error))
        finally:
            self.put(None)

    async def _try(self, tried: int) -> float | None:
        """Ask once. Returns the seconds until the next try; None where none is needed."""
        limits = self.limits
        exchange = Exchange(
            self.model, limits.whole, limits.size, limits.event, own_worker=self.own_worker
        )
        self.exchange = exchange
        exchange.begin()
        try:
            await self._ask()
            return None
        except Exception as error:
            last = self.begun or exchange.problem or tried == limits.tries
            if last or self._lacks_key(error) or self._refuses_tools(error):
                raise
            wait = pause(error, tried, _random(), limits.longest_wait)
            if wait is None:
                raise
            return wait

    async def _ask(self) -> None:
        """Send it and read what comes."""
        import httpx

        limits = self.limits
        request = {
            "num_retries": 0,
            "max_retries": 0,
            "timeout": httpx.Timeout(limits.idle, connect=limits.connect, read=limits.idle),
            **({"stream_options": {"include_usage": True}} if self._counts() else {}),
            **({"logger_fn": self._show_body} if self.shows_body else {}),
            # else LiteLLM wants the package mcp
            **({"_skip_mcp_handler": True} if "tools" in self.request else {}),
            **reveal(self.request),
            **self._access(),
        }

        async def ask() -> Any:
            if self.exchange is not None:
                self.exchange.begin()  # `wait_for` may have made a task of it
            return await load().acompletion(stream=True, **request)

        try:
            response = await asyncio.wait_for(ask(), limits.first_byte)
        except asyncio.TimeoutError:
            raise TooLong from None
        wire = _Wire(response)
        try:
            await self._read(response, wire)
        finally:
            await wire.close()

    async def _read(self, response: Any, wire: _Wire) -> None:
        await wire.attach()
        written = 0
        async for chunk in response:
            choice = chunk.choices[0] if chunk.choices else None
            if choice is None:
                continue
            delta = _delta(choice.delta)
            if delta is not None:
                self.begun = True
                written += delta.size
                if written > self.limits.text:
                    raise ModelError(
                        f"the reply of {self.model} has more than {self.limits.text:,} "
                        "characters: it was cut there, and the part that arrived is here"
                    )
                self.put(delta)
            if choice.finish_reason:
                await self._finish(choice.finish_reason, wire)
                return
        raise NotWhole

    async def _finish(self, reason: str, wire: _Wire) -> None:
        if not wire.finished():
            raise NotWhole
        if reason == "length":
            raise ModelError(
                "the reply is longer than the limit for one reply, and was cut there: raise "
                "max_tokens, or ask for a shorter answer"
            )
        if reason == "content_filter":
            raise ModelError(
                "the provider's content filter stopped the reply: rephrase the question"
            )
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(wire.drain(), 2.0)
        self.put(Delta(finish=reason, usage=self._usage(wire.usage)))

    def _usage(self, counted: Any) -> Usage:
        seconds = time.monotonic() - self.started
        read, written = (_number(counted, f"{each}_tokens") for each in ("prompt", "completion"))
        cost = None
        if read is not None and written is not None and self.costs is not None:
            cost = self.costs.of(read, written, counted)
        return Usage(read, written, cost, seconds)

    def _counts(self) -> bool:
        """Whether the provider can be asked to count the tokens."""
        try:
            name, provider, *_ = load().get_llm_provider(self.model)
            options = load().get_supported_openai_params(name, provider)
        except Exception:  # noqa: BLE001 - a model that it does not know: the call will say so
            return False
        return "stream_options" in (options or ())

    def _access(self) -> dict[str, str]:
        """The address and the key, as arguments of the call."""
        arguments = {"api_base": self.base} if self.base else {}
        if self.key is not None:
            arguments["api_key"] = self.key.reveal()
        elif self.base and not access.is_own(self.model, self.base):
            arguments["api_key"] = access.PLACEHOLDER
        return arguments

    def _show_body(self, details: Mapping[str, Any]) -> None:
        """LiteLLM is about to send, or has sent: put the body in the provider's own form."""
        body = (details.get("additional_args") or {}).get("complete_input_dict")
        if isinstance(body, (str, bytes)):
            body = json.loads(body)
        if isinstance(body, Mapping) and body:
            rest = {key: value for key, value in body.items() if key != "extra_body"}
            self.put(Body({**rest, **(body.get("extra_body") or {})}))

    # What went wrong, in a sentence ---------------------------------------------------------------

    def _failure(self, error: Exception) -> LMCError:
        if self.exchange is not None and self.exchange.problem:
            return ModelError(redact(self.exchange.problem, self._keys()))
        if isinstance(error, LMCError):
            return error
        if over_window(error) and not self.begun:
            return WindowExceeded(self._sentence(error), str(error))
        kind = ToolsRefused if self._refuses_tools(error) else ModelError
        return kind(self._sentence(error))

    def _lacks_key(self, error: BaseException) -> bool:
        """Whether the error comes from a missing key; some providers need none but a login."""
        return keyless(error) and bool(self._missing())

    def _missing(self) -> list[str]:
        """The environment variables that would hold the key of this call, if it has none."""
        return [] if self.key is not None or self.base else access.missing(self.model)

    def _unkeyed(self) -> str:
        """How to give a key to the address that was asked without one; "" when one was sent."""
        if not self.base or access.is_own(self.model, self.base) or self._keys():
            return ""
        if not access.is_usual(self.base):
            return (
                "LMC_API_KEY goes to the address in LMC_API_BASE only, which is another one: set "
                "LMC_API_BASE to this address"
            )
        return "set LMC_API_KEY in the environment, or type it with `%lmc key LMC_API_KEY`"

    def _refuses_tools(self, error: BaseException) -> bool:
        """Whether the error comes from the tools; another try with them does not help."""
        return "tools" in self.request and not self.begun and refuses_tools(error)

    def _keys(self) -> list[Secret]:
        return [key for key in (self.key, *self.request.values()) if isinstance(key, Secret)]

    def _sentence(self, error: BaseException) -> str:
        failure = Failure(
            error,
            self.model,
            self.base,
            begun=self.begun,
            missing=self._missing() if self._lacks_key(error) else [],
            unkeyed=self._unkeyed(),
            meant=lambda: meant(self.model, self.base),
            keyring=problem(),
            first_byte=self.limits.first_byte,
            idle=self.limits.idle,
        )
        return redact(failure.sentence(), self._keys())


@dataclass(slots=True)
class TranscriptionCall(Call):
    """A recording on its way to a model that writes down what is said in it."""

    async def _ask(self) -> None:
        import httpx

        timeout = httpx.Timeout(self.limits.first_byte, connect=self.limits.connect)
        response = await load().atranscription(
            **self.request, **self._access(), timeout=timeout, max_retries=0
        )
        text = getattr(response, "text", None)
        self.put(Delta(text if isinstance(text, str) else ""))


class _Wire:
    """The provider's own stream, put under LiteLLM's, to see what really came."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._stream: Any = None
        self._raw: AsyncIterator[Any] | None = None
        self._lines: _Lines | None = None
        self.usage: Any = None

    async def attach(self) -> None:
        response = self._response
        if response.completion_stream is None:
            await response.fetch_stream()
        stream = response.completion_stream
        if "gemini" in type(stream).__module__ and hasattr(stream, "streaming_response"):
            # there even the stream below says "stop" in every chunk: look at the lines
            self._lines = stream.streaming_response = _Lines(stream.streaming_response)
        if hasattr(response.completion_stream, "__aiter__"):
            self._stream = response.completion_stream
            self._raw = self._stream.__aiter__()
            response.completion_stream = self

    def finished(self) -> bool:
        """Whether the provider itself said why it ended."""
        if self._lines is not None:
            return self._lines.finished
        seen = [
            getattr(self._response, name, None)
            for name in ("received_finish_reason", "intermittent_finish_reason")
        ]
        return any(seen)

    def __aiter__(self) -> _Wire:
        return self

    async def __anext__(self) -> Any:
        if getattr(self._response, "received_finish_reason", None) is not None:
            raise StopAsyncIteration  # what a provider says after its end is no part of the reply
        return await self._next()

    async def _next(self) -> Any:
        assert self._raw is not None
        raw = await self._raw.__anext__()
        counted = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
        self.usage = counted or self.usage
        return raw

    async def drain(self) -> None:
        """Read what follows the end: the count of tokens."""
        while self._raw is not None:
            try:
                await self._next()
            except StopAsyncIteration:
                return
            except Exception:  # noqa: BLE001 - the reply is whole; only the count is lost
                return

    async def close(self) -> None:
        # OpenAI's iterator leaves the connection to the stream that made it
        for stream in (self._raw, self._stream, self._response):
            close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
            if close is None:
                continue
            with suppress(Exception):
                result = close()
                if hasattr(result, "__await__"):
                    await result


class _Lines:
    """The lines of Gemini's stream, watched for its end; within a text the quotes are escaped."""

    def __init__(self, lines: Any) -> None:
        self._lines = lines.__aiter__()
        self.finished = False

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> Any:
        line = await self._lines.__anext__()
        self.finished = self.finished or '"finishReason"' in str(line)
        return line

    async def aclose(self) -> None:
        close = getattr(self._lines, "aclose", None)
        if close is not None:
            await close()


def _delta(raw: Any) -> Delta | None:
    """The text, reasoning and tool calls of a chunk; None where it has none of them."""
    text = getattr(raw, "content", None)
    reasoning = getattr(raw, "reasoning_content", None)
    calls = tuple(
        CallDelta(
            getattr(call, "index", None) or 0,
            getattr(call, "id", None),
            getattr(call.function, "name", None),
            getattr(call.function, "arguments", None),
        )
        for call in getattr(raw, "tool_calls", None) or ()
        if getattr(call, "function", None) is not None
    )
    if not (text or reasoning or calls):
        return None
    return Delta(text if isinstance(text, str) else "", reasoning or "", calls)


def _number(counted: Any, name: str) -> int | None:
    value = counted.get(name) if isinstance(counted, dict) else getattr(counted, name, None)
    return value if isinstance(value, int) else None
