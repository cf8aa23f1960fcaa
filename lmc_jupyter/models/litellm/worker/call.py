"""One call of a model: it is sent, tried again, read.

One rule: what LiteLLM says about the end of a reply is not believed. It invents a
`finish_reason` for a stream that broke off, so we look at the provider's own stream below it.
A reply that is not whole ends in a failure; one that has begun is never asked for again.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.models.failure import (
    NotWhole,
    Problem,
    TooLong,
    lacks_key,
    pause,
    refuses_tools,
)
from lmc_jupyter.models.litellm.worker import lookups
from lmc_jupyter.models.litellm.worker.loading import load
from lmc_jupyter.models.litellm.worker.network import Exchange
from lmc_jupyter.models.values import Body, CallDelta, Delta, NetworkLimits, Usage

_sleep = asyncio.sleep
_random = random.random

_STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}
"""Of the Responses interface: nothing stays there, and what the model thought comes encrypted, to
go back with its reply."""

Item = Delta | Body | Problem | LMCError | str
"""What a call puts: a piece, what was sent, how it failed, a sentence on what it waits for."""


@dataclass(slots=True)
class ModelCall:
    """One request to a model, until its reply is whole or has failed.

    Parameters
    ----------
    request : the keywords of `litellm.completion`
    access : the address and the key, as keywords too
    put : takes each `Item`
    lacks_key : whether the request has no key, and its model wants one
    shows_body : whether `put` wants the `Body`
    """

    request: dict[str, Any]
    access: dict[str, str]
    limits: NetworkLimits
    put: Callable[[Item], None]
    lacks_key: bool = False
    shows_body: bool = False
    has_begun: bool = False
    goes_by_responses: bool = False
    """Whether LiteLLM asks by OpenAI's Responses interface: it has the thoughts of a reply behind
    its calls, which says so by an empty list."""
    start: float = field(default_factory=time.monotonic)
    exchange: Exchange | None = None

    @property
    def model(self) -> str:
        return str(self.request["model"])

    async def run(self) -> None:
        """Ask, and put what comes."""
        try:
            base = self.access.get("api_base")
            self.goes_by_responses = lookups.goes_by_responses(self.model, self.request, base)
            for attempt in range(1, self.limits.tries + 1):
                wait = await self._try(attempt)
                if wait is None:
                    return
                self.put(f"{self.model} is not ready: trying again in {wait:.0f} s")
                await _sleep(wait)
        except Exception as error:  # noqa: BLE001 - a provider may raise anything
            self.put(self._failure(error))

    async def _try(self, attempt: int) -> float | None:
        """Ask once. Returns the seconds until the next try; None where none is needed."""
        limits = self.limits
        exchange = Exchange(self.model, limits.whole, limits.size, limits.event, limits.silent)
        if self.shows_body and self.goes_by_responses:
            exchange.show = self._show  # LiteLLM's bridge does not tell it
        self.exchange = exchange
        exchange.begin()
        try:
            await self._ask()
            return None
        except Exception as error:
            problem = Problem.of(error)
            last = self.has_begun or exchange.problem or attempt == limits.tries
            without_key = self.lacks_key and lacks_key(problem)
            if last or without_key or ("tools" in self.request and refuses_tools(problem)):
                raise
            wait = pause(problem, attempt, _random(), limits.longest_wait)
            if wait is None:
                raise
            return wait

    async def _ask(self) -> None:
        """Send it and read what comes."""
        import httpx

        limits = self.limits
        counts = lookups.counts_tokens(self.model)
        request = {
            "num_retries": 0,
            "max_retries": 0,
            "timeout": httpx.Timeout(limits.idle, connect=limits.connect, read=limits.idle),
            **({"stream_options": {"include_usage": True}} if counts else {}),
            **({"logger_fn": self._show_body} if self.shows_body else {}),
            # else LiteLLM wants the package mcp
            **({"_skip_mcp_handler": True} if "tools" in self.request else {}),
            **(_STATELESS if self.goes_by_responses else {}),
            **self.request,
            **self.access,
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
        size = 0
        async for chunk in wire if wire.is_openai else response:
            choices = _field(chunk, "choices")
            if not choices:
                continue
            delta = _delta(_field(choices[0], "delta"))
            if delta is not None:
                self.has_begun = True
                if self.goes_by_responses and delta.calls:
                    delta = replace(delta, more={"reasoning_items": [], **delta.more})
                size += delta.size
                if size > self.limits.text:
                    raise ModelError(
                        f"the reply of {self.model} has more than {self.limits.text:,} "
                        "characters: it was cut there, and the part that arrived is here"
                    )
                self.put(delta)
            if reason := _field(choices[0], "finish_reason"):
                await self._finish(reason, wire)
                return
        raise NotWhole

    async def _finish(self, reason: str, wire: _Wire) -> None:
        if not wire.is_finished():
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

    def _usage(self, count: Any) -> Usage:
        seconds = time.monotonic() - self.start
        prompt, reply = (_number(count, f"{each}_tokens") for each in ("prompt", "completion"))
        cost = None
        if prompt is not None and reply is not None:
            cost = lookups.cost(self.model, prompt, reply, count)
        details = _field(count, "prompt_tokens_details")
        cached = _number(details, "cached_tokens") or _number(count, "cache_read_input_tokens")
        return Usage(prompt, reply, cost, seconds, cached)

    def _show_body(self, details: Mapping[str, Any]) -> None:
        """LiteLLM is about to send, or has sent: put the body in the provider's own form."""
        self._show((details.get("additional_args") or {}).get("complete_input_dict"))

    def _show(self, body: Any) -> None:
        if isinstance(body, (str, bytes)):
            body = json.loads(body)
        if isinstance(body, Mapping) and body:
            rest = {key: value for key, value in body.items() if key != "extra_body"}
            self.put(Body({**rest, **(body.get("extra_body") or {})}))

    def _failure(self, error: Exception) -> Problem | LMCError:
        if self.exchange is not None and self.exchange.problem:
            return ModelError(self.exchange.problem)
        return error if isinstance(error, LMCError) else Problem.of(error)


@dataclass(slots=True)
class TranscriptionCall(ModelCall):
    """A recording on its way to a model that writes down what is said in it."""

    async def _ask(self) -> None:
        import httpx

        timeout = httpx.Timeout(self.limits.first_byte, connect=self.limits.connect)
        response = await load().atranscription(
            **self.request, **self.access, timeout=timeout, max_retries=0
        )
        text = getattr(response, "text", None)
        self.put(Delta(text if isinstance(text, str) else ""))


class _Wire:
    """The provider's own stream, put under LiteLLM's, to see what really came."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._stream: Any = None
        self._raw: AsyncIterator[Any] | None = None
        self._lines: _GeminiLines | None = None
        self.is_openai = False
        """Whether it is OpenAI's own, which is read without LiteLLM: that takes three times as
        long, to make of each chunk what it is already."""
        self.usage: Any = None

    async def attach(self) -> None:
        response = self._response
        if response.completion_stream is None:
            await response.fetch_stream()
        stream = response.completion_stream
        if "gemini" in type(stream).__module__ and hasattr(stream, "streaming_response"):
            # there even the stream below says "stop" in every chunk: look at the lines
            self._lines = stream.streaming_response = _GeminiLines(stream.streaming_response)
        if hasattr(response.completion_stream, "__aiter__"):
            self._stream = response.completion_stream
            self._raw = self._stream.__aiter__()
            provider = getattr(response, "custom_llm_provider", "")
            own = type(stream).__module__.partition(".")[0] == "openai"
            self.is_openai = own and provider == "openai" and hasattr(stream, "_cast_to")
            if self.is_openai:
                stream._cast_to = object  # its chunks are dicts then; objects take thrice as long
            response.completion_stream = self

    def is_finished(self) -> bool:
        """Whether the provider itself said why it ended."""
        if self.is_openai:
            return True  # LiteLLM has no hand in it
        if self._lines is not None:
            return self._lines.is_finished
        reasons = [
            getattr(self._response, name, None)
            for name in ("received_finish_reason", "intermittent_finish_reason")
        ]
        return any(reasons)

    def __aiter__(self) -> _Wire:
        return self

    async def __anext__(self) -> Any:
        if getattr(self._response, "received_finish_reason", None) is not None:
            raise StopAsyncIteration  # what a provider says after its end is no part of the reply
        return await self._next()

    async def _next(self) -> Any:
        assert self._raw is not None
        raw = await self._raw.__anext__()
        self.usage = _field(raw, "usage") or self.usage
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


class _GeminiLines:
    """The lines of Gemini's stream, watched for its end; within a text the quotes are escaped."""

    def __init__(self, lines: Any) -> None:
        self._lines = lines.__aiter__()
        self.is_finished = False

    def __aiter__(self) -> _GeminiLines:
        return self

    async def __anext__(self) -> Any:
        line = await self._lines.__anext__()
        self.is_finished = self.is_finished or '"finishReason"' in str(line)
        return line

    async def aclose(self) -> None:
        close = getattr(self._lines, "aclose", None)
        if close is not None:
            await close()


def _delta(raw: Any) -> Delta | None:
    """The text, reasoning and tool calls of a chunk; None where it has none of them."""
    text = _field(raw, "content")
    # OpenRouter and vLLM have the second name
    reasoning = _field(raw, "reasoning_content") or _field(raw, "reasoning")
    calls = tuple(
        CallDelta(
            _field(call, "index") or 0,
            _field(call, "id"),
            _field(function, "name"),
            _field(function, "arguments"),
            _plain(call, _OF_A_CALL) or None,
        )
        for call in _field(raw, "tool_calls") or ()
        if (function := _field(call, "function")) is not None
    )
    more = _plain(raw, _OF_A_REPLY)
    if not (text or reasoning or calls or more):
        return None
    if _field(raw, "reasoning_content"):
        more.pop("reasoning", None)
    text, reasoning = (each if isinstance(each, str) else "" for each in (text, reasoning))
    return Delta(text, reasoning, calls, more=more)


_OF_A_REPLY = (
    "thinking_blocks", "reasoning", "reasoning_items", "reasoning_details",
    "provider_specific_fields",
)  # fmt: skip
"""What a provider wants back with its reply, by LiteLLM's and the providers' names; beside it
`reasoning_content`, which is the delta's own `reasoning`."""
_OF_A_CALL = ("provider_specific_fields", "extra_content")


def _plain(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What of these an object of LiteLLM, or a dict of JSON, has, as JSON."""
    found = {name: each for name in names if (each := _field(value, name))}
    if not found:
        return found
    plain: dict[str, Any] = json.loads(json.dumps(found, default=_as_dict))
    return plain


def _as_dict(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else repr(value)


def _number(count: Any, name: str) -> int | None:
    value = _field(count, name)
    return value if isinstance(value, int) else None


def _field(value: Any, name: str) -> Any:
    """What an object of LiteLLM, or a dict of JSON, has under this name; None for nothing."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
