"""Any model that LiteLLM reaches; the only file that imports litellm, at the first call.

One rule: what LiteLLM says about the end of a reply is not believed. It invents a
`finish_reason` for a stream that broke off, so we look at the provider's own stream below it.
A reply that is not whole ends in a `ModelError`; one that has begun is never asked for again.

The network is read on one daemon thread for all replies. So a reply goes on downloading while
a person reads its first block of code, waiting can be interrupted, and closing the generator
closes the connection.
"""

from __future__ import annotations

import asyncio
import atexit
import copy
import hashlib
import importlib
import json
import logging
import os
import queue
import random
import re
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from lmc_jupyter.errors import LMCError, ModelError, Stopped
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import budget, network
from lmc_jupyter.models.brief import Brief, Notify
from lmc_jupyter.models.budget import Fitted, Measure, Tokens, Window
from lmc_jupyter.models.environment import unchanged_environment
from lmc_jupyter.models.failure import (
    Failure,
    NotWhole,
    TooLong,
    close_names,
    did_you_mean,
    keyless,
    over_window,
    pause,
    refuses_tools,
    said_window,
)
from lmc_jupyter.models.keys import Secret, held, plain, problem, redacted, stored
from lmc_jupyter.models.network import Exchange
from lmc_jupyter.models.openai import AS_FILE, Conversion, execute_tool
from lmc_jupyter.models.reply import Reply
from lmc_jupyter.models.sent import Record, Request

PLACEHOLDER = "none"
"""Sent where a server wants some key and the person gave none for it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may take; all limits of the network are here.

    Parameters
    ----------
    connect, first_byte, idle : seconds to wait for the connection, the first byte, any later byte
    whole : seconds that a whole reply may take, on however slow a machine
    size : bytes of a whole reply as it comes; the longest that models write today has 50 million
    event : bytes of one event or line of it; a longer one is read slowly and brings nothing
    text : characters of what it says; a million tokens have about so many
    tries : how often it is asked
    longest_wait : seconds between two tries
    """

    connect: float = 10.0
    first_byte: float = 60.0
    idle: float = 60.0
    whole: float = 3_600.0
    size: int = 64_000_000
    event: int = 4_000_000
    text: int = 4_000_000
    tries: int = 4
    longest_wait: float = 60.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took: tokens as the provider counted them, US dollars, seconds."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call."""

    index: int
    id: str | None
    name: str | None
    arguments: str | None


@dataclass(frozen=True, slots=True)
class Delta:
    """What came at once. The last one has `finish`, the provider's word for why it ended."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()
    finish: str | None = None
    usage: Usage | None = None

    @property
    def size(self) -> int:
        """The characters of it."""
        calls = sum(len(each.arguments or "") for each in self.calls)
        return len(self.text) + len(self.reasoning) + calls


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for each token that is read, and each that is written, as the person said it."""

    read: float
    written: float


class ToolsRefused(ModelError):  # noqa: N818 - it may be asked again without tools
    """The server refused the tools that it was sent."""


class WindowExceeded(ModelError):  # noqa: N818 - it may be asked again with less
    """The provider refused what it was sent, because it is longer than the model reads.

    Parameters
    ----------
    text : the provider's own words
    """

    def __init__(self, sentence: str, text: str) -> None:
        super().__init__(sentence)
        self.text = text


class Cancel:
    """Ends, from any thread, the waiting of whoever was given it; it stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: list[queue.SimpleQueue[Any]] = []
        self.is_set = False

    def set(self) -> None:
        with self._lock:
            self.is_set = True
            for box in self._boxes:
                box.put(Stopped("stopped"))

    def check(self) -> None:
        """Raise `Stopped` if it is set."""
        if self.is_set:
            raise Stopped("stopped")

    def watch(self, box: queue.SimpleQueue[Any]) -> None:
        with self._lock:
            self._boxes.append(box)
            if self.is_set:
                box.put(Stopped("stopped"))

    def forget(self, box: queue.SimpleQueue[Any]) -> None:
        with self._lock:
            self._boxes.remove(box)


class LiteLLMModel:
    """A model by its LiteLLM name: "gpt-4o", "anthropic/claude-...", "openai/any" at a base.

    Parameters
    ----------
    name : str
        As LiteLLM writes it.
    api_base, api_key : str, optional
        Default: LMC_API_BASE and LMC_API_KEY of the environment at each call, else what LiteLLM
        knows.
    tools, vision, hears : bool, optional
        Whether it calls tools, sees images, hears audio. Default: what LiteLLM knows of it; at an
        address of one's own tools are tried, and left out from then on where they are refused, or
        where it writes code blocks all the same.
    transcription_model : str, optional
        LiteLLM's name of the model that writes down what is said, for one that does not hear;
        where it is of the same provider it is asked at the same address, with the same key.
    limits : Limits, optional
    context_window : int, optional
        How many tokens it reads and writes in one request. Default: what LiteLLM knows, else
        `budget.DEFAULT_WINDOW`, and less when the provider refuses that.
    free : bool, optional
        Whether it costs nothing. Default: models of a server of one's own, such as Ollama.
    input_cost_per_token, output_cost_per_token : float, optional
        Its price in US dollars. Default: what LiteLLM knows.
    **options
        Handed to LiteLLM as they are: temperature, max_tokens, ...
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | Secret | None = None,
        tools: bool | None = None,
        vision: bool | None = None,
        hears: bool | None = None,
        transcription_model: str | None = None,
        limits: Limits | None = None,
        context_window: int | None = None,
        free: bool | None = None,
        input_cost_per_token: float | None = None,
        output_cost_per_token: float | None = None,
        **options: Any,
    ) -> None:
        self.name = self.label = name
        self._free = free
        self._price: Price | None = None
        if input_cost_per_token is not None or output_cost_per_token is not None:
            self._price = Price(input_cost_per_token or 0.0, output_cost_per_token or 0.0)
        self._base, self._key = api_base or None, _secret(api_key)
        self._tools, self._vision, self._hears = tools, vision, hears
        self._limits = limits or Limits()
        self._options = held(options)
        self._brief: Callable[[], Brief] = Brief
        self._notify: Notify = _silent
        self._record: Record | None = None
        self._cancel = Cancel()
        # one of each for all that `with_brief` makes of this model
        self._last: list[Usage] = []
        self._toolless: set[str] = set()
        """Addresses where it takes no tools."""
        self._conversion = Conversion()
        self._sight = Sight(name, context_window, self._options)
        self._ears = Ears(transcription_model, name, self._access, self._limits)

    def __repr__(self) -> str:
        return f"LiteLLMModel({self.name!r})"

    @property
    def usage(self) -> Usage | None:
        """Of the last reply that came whole."""
        return self._last[0] if self._last else None

    def _access(self) -> tuple[str | None, Secret | None]:
        """The address and the key, as the person or the environment says them now."""
        base = self._base or os.environ.get("LMC_API_BASE") or None
        key = self._key
        if key is None and _is_usual(base):
            key = _secret(os.environ.get("LMC_API_KEY"), "LMC_API_KEY")
        return base, key

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> LiteLLMModel:
        """The same model, told `brief()` at each reply; see `Briefed`."""
        told = copy.copy(self)
        told._brief, told._notify, told._cancel = brief, notify, Cancel()
        told._ears = self._ears.for_one_answer(notify, told._cancel)
        return told

    def with_record(self, record: Record) -> LiteLLMModel:
        """The same model, giving each request to `record`; see `Recorded`."""
        told = copy.copy(self)
        told._record = record
        told._ears = self._ears.for_one_answer(self._notify, self._cancel)
        told._ears.record = record
        return told

    def vision(self) -> str:
        """See `Session.vision`."""
        if self._abilities([])[1]:
            return "yes"
        return "unknown" if self._vision is None else "no"

    def stop(self) -> None:
        """End the reply that is being given, and any later one, with `Stopped`."""
        self._cancel.set()

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        """Yield the pieces of one reply.

        Raises
        ------
        ModelError
            When it is not whole, with a sentence that says why.
        Stopped
            After `stop`.
        """
        told = self._brief()
        litellm = load(self._notify, cancel=self._cancel)
        learned = False
        while True:
            abilities = self._abilities(messages)
            brief = self._sight.told(litellm, told)
            fitted, room = self._sight.fit(litellm, messages, brief, *abilities)
            try:
                yield from self._reply(brief, fitted, room, *abilities)
                return
            except ToolsRefused:
                base = self._access()[0]
                if self._tools is not None or not base:
                    raise
                self._toolless.add(base)
                self._notify(f"{self.name} takes no tools there: asking again without them")
            except WindowExceeded as error:
                if learned or not self._sight.learn(error.text, fitted.tokens + room.fixed):
                    raise
                learned = True
                window = self._sight.window(litellm)
                self._notify(
                    f"{self.name} reads only {window.tokens:,} tokens: sending a shorter request"
                )

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How many tokens the next request would take, and of what; see `Counted`."""
        litellm = load(self._notify, cancel=self._cancel)
        brief = self._sight.told(litellm, brief)
        return self._sight.tokens(litellm, messages, brief, *self._abilities(messages))

    def _reply(
        self, brief: Brief, fitted: Fitted, room: Room, tools: bool, vision: bool, hears: bool
    ) -> Generator[Chunk, None, None]:
        """One request and its reply."""
        base, own = self._access()
        keys = self._keys(base, own)
        request = {
            "model": self.name,
            **keys,
            **self._options,
            "messages": self._conversion.to_chat(
                fitted.messages,
                brief,
                tools=tools,
                vision=vision,
                hears=hears,
                reads_pdf=self._reads_pdf(fitted.messages),
                transcribe=self._ears.hear,
                max_output=brief.max_output,
            ),
        }
        pdfs = [f"{name!r:.80} is {how}." for name, how in self._conversion.pdfs]
        for each in pdfs:
            self._notify(each)
        texts = [each for each in pdfs if not each.endswith(f"{AS_FILE}.")]
        key = request.pop("api_key", None)
        yield from self._ears.remarks()
        if tools:
            request["tools"] = [execute_tool(brief.languages)]
        reply = Reply(brief.languages)
        deltas = stream(
            self._notify,
            api_base=base,
            api_key=key,
            limits=self._limits,
            cancel=self._cancel,
            record=self._record,
            left_out=" ".join([*texts, budget.left_out(fitted.cut, room.window)]).strip(),
            prompt_tokens=fitted.tokens + room.fixed,
            price=self._price,
            free=self._free,
            **request,
        )
        blocks = called = False
        try:
            for delta in deltas:
                if delta.reasoning:
                    yield from reply.reasoning(delta.reasoning)
                for chunk in reply.text(delta.text) if delta.text else ():
                    blocks = blocks or chunk.type == "code"
                    yield chunk
                for call in delta.calls:
                    called = True
                    yield from reply.tool(call.index, call.id, call.name, call.arguments)
                if delta.usage is not None:
                    self._last[:] = [delta.usage]
            yield from reply.end()
            if base and tools and blocks and not called:
                # a server that ignores tools may drop their results too
                self._toolless.add(base)
        except LMCError:
            yield from reply.cut()
            raise
        finally:
            deltas.close()

    def _keys(self, base: str | None, key: Secret | None) -> dict[str, Secret]:
        """The key, as an argument of the call; of some providers there are two."""
        if key is not None:
            return {"api_key": key}
        litellm = load(self._notify, cancel=self._cancel)
        return _stored(litellm, self.name, base, usual=_is_usual(base))

    def _abilities(self, messages: list[Message]) -> tuple[bool, bool, bool]:
        """Whether to use tools, images, sound."""
        tools, vision, hears = self._tools, self._vision, self._hears
        if hears is None and not any(message.type == "audio" for message in messages):
            hears = False  # it makes no difference, and need not be looked up
        if tools is None or vision is None or hears is None:
            litellm = load(self._notify, cancel=self._cancel)
            if tools is None:
                base = self._access()[0]
                tools = base not in self._toolless and (
                    bool(litellm.supports_function_calling(model=self.name))
                    or _tries_tools(litellm, self.name, base)
                )
            if vision is None:
                vision = bool(litellm.supports_vision(model=self.name))
            if hears is None:
                hears = bool(litellm.supports_audio_input(model=self.name))
        return tools, vision, hears

    def _reads_pdf(self, messages: list[Message]) -> bool:
        """Whether the model takes PDF files, as far as LiteLLM knows; False without a file."""
        if not any(each.type == "file" and each.role == "user" for each in messages):
            return False
        litellm = load(self._notify, cancel=self._cancel)
        return bool(litellm.utils.supports_pdf_input(model=self.name))


@dataclass(frozen=True, slots=True)
class Room:
    """What a request has room for.

    Parameters
    ----------
    fixed : tokens of the instructions, the names and the tool
    """

    window: Window
    fixed: int

    @property
    def tokens(self) -> int:
        """For the conversation."""
        return self.window.tokens - self.window.answer - self.fixed


class Sight:
    """How much of a conversation a model sees, and what was left out of it before.

    Parameters
    ----------
    said : its window, as the person said it
    """

    def __init__(self, name: str, said: int | None, options: Mapping[str, Any]) -> None:
        if said is not None and (isinstance(said, bool) or not isinstance(said, int) or said < 256):
            raise ModelError(
                f"a context_window of {said!r} is not a number of tokens: give a whole number such "
                "as 8192, or leave it out"
            )
        self._name, self._said, self._options = name, said, options
        self._learned: int | None = None
        self._factor = 1.0
        self._setting: object = None
        self._cut: budget.Cut | None = None
        self._rough: Measure | None = None
        self._exact: Measure | None = None
        self._how = ""
        self._texts: dict[str, int] = {}

    def window(self, litellm: Any) -> Window:
        """The model's window, and how it is known."""
        most = next(
            (
                value
                for key in ("max_completion_tokens", "max_tokens")
                if isinstance(value := self._options.get(key), int) and value > 0
            ),
            None,
        )
        tokens, source = self._said or 0, "said"
        if not tokens:
            tokens, source = _known_window(litellm, self._name, self._options), "known"
        if not tokens:
            tokens, source = budget.DEFAULT_WINDOW, "default"
        if self._learned is not None and self._learned < tokens:
            tokens, source = self._learned, "learned"
        return Window(tokens, source, budget.answer_share(tokens, most))

    def told(self, litellm: Any, brief: Brief) -> Brief:
        """The brief with as many names as a small window has room for."""
        most = int(NAMES_SHARE * self.window(litellm).tokens)
        names = budget.fewer_names(brief.namespace, most)
        return brief if names is brief.namespace else replace(brief, namespace=names)

    def fit(
        self,
        litellm: Any,
        messages: list[Message],
        brief: Brief,
        tools: bool,
        vision: bool,
        hears: bool,
    ) -> tuple[Fitted, Room]:
        """What of the conversation is sent, and the room that there is for it.

        Raises
        ------
        budget.WindowError
            When the last question alone does not fit.
        """
        room = self._room(litellm, brief, tools)
        setting = room.window.tokens, vision, hears, brief.max_output
        if self._setting != setting:
            self._setting, self._cut, self._exact = setting, None, None
            self._rough = self._measure(budget.estimate, brief, vision, hears)
        assert self._rough is not None
        tokens = int(room.tokens / self._factor)
        if self._cut is not None and not self._cut.begins(messages):
            self._cut = None
            for each in filter(None, (self._rough, self._exact)):
                each.forget()
        if self._cut is None and (total := self._rough.total(messages, tokens)) <= tokens:
            return Fitted(list(messages), None, total), room
        if self._exact is None:
            count, self._how = _counter(litellm, self._name)
            is_rough = count is budget.estimate
            self._exact = self._rough if is_rough else self._measure(count, brief, vision, hears)
        fitted = budget.fit(messages, tokens, self._exact, self._cut, room.window)
        self._cut = fitted.cut
        return fitted, room

    def tokens(
        self,
        litellm: Any,
        messages: list[Message],
        brief: Brief,
        tools: bool,
        vision: bool,
        hears: bool,
    ) -> Tokens:
        """What the next request would take."""
        count, how = _counter(litellm, self._name)
        measure = self._measure(count, brief, vision, hears)
        window, schema = self.window(litellm), _schema(brief) if tools else ""
        names = measure.text(brief.namespace)
        fixed = measure.text(brief.instructions) + measure.text(schema)
        return budget.tokens(messages, measure, window, fixed, names, how, self._cut)

    def learn(self, text: str, sent: int) -> bool:
        """Take from a refusal how much the model reads; whether less can be sent now.

        Parameters
        ----------
        sent : tokens of the request that was refused, as we count them
        """
        before = self._learned
        window, was = said_window(text)
        if window is None:
            window = int(0.6 * sent)
        elif was is not None and sent and 1 < was / sent <= 4:
            self._factor = max(self._factor, was / sent)  # its tokens are shorter than we thought
        elif self._learned is not None and window >= self._learned:
            window = int(0.8 * self._learned)  # it was right about that, and it was too much
        self._learned = max(256, window)
        self._setting = None
        return self._learned != before or self._factor > 1

    def _room(self, litellm: Any, brief: Brief, tools: bool) -> Room:
        parts = [brief.instructions, brief.namespace, _schema(brief) if tools else ""]
        sizes = {part: self._texts.get(part) or budget.estimate(part) for part in parts if part}
        self._texts = sizes
        return Room(self.window(litellm), sum(sizes.values()) + _AROUND_ALL)

    @staticmethod
    def _measure(count: budget.Count, brief: Brief, vision: bool, hears: bool) -> Measure:
        return Measure(count, vision=vision, hears=hears, max_output=brief.max_output)


NAMES_SHARE = 1 / 5
"""The part of the window that the names of the notebook may take."""

_AROUND_ALL = 80
"""Tokens of our own words in every request: what delimiters mean, and the protocol's own."""


def _schema(brief: Brief) -> str:
    return json.dumps(execute_tool(brief.languages))


def _known_window(litellm: Any, name: str, options: Mapping[str, Any]) -> int:
    """What is known of it without asking anybody; 0 where nothing is."""
    provider = _provider(litellm, name)
    if provider in _OLLAMA:  # LiteLLM would ask its server, which says what a model could read
        said = options.get("num_ctx") or os.environ.get("OLLAMA_CONTEXT_LENGTH")
        try:
            return int(said) if said else OLLAMA_WINDOW
        except ValueError:
            return OLLAMA_WINDOW
    info = _info(litellm, name)
    tokens = info.get("max_input_tokens") or info.get("max_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def _info(litellm: Any, name: str) -> Mapping[str, Any]:
    """What LiteLLM's list says of a model; empty where it is not in it."""
    if _provider(litellm, name) in _OWN_SERVER:
        return {}  # nobody is asked
    try:
        return dict(litellm.get_model_info(name))
    except Exception:  # noqa: BLE001 - a model that it does not know
        return {}


OLLAMA_WINDOW = 4_096
"""Tokens that Ollama reads unless it is told otherwise (`num_ctx`); it drops the rest unsaid."""

_OLLAMA = ("ollama", "ollama_chat")
_OWN_SERVER = ("ollama", "ollama_chat", "lm_studio", "llamafile", "docker_model_runner", "local")
"""LiteLLM's names of the providers that are a server of one's own, which costs nothing."""


def _counter(litellm: Any, name: str) -> tuple[budget.Count, str]:
    """What counts the tokens of a text for this model, and how that is said."""
    provider = _provider(litellm, name)
    known = bool(_info(litellm, name))
    if known and provider in ("openai", "azure", "text-completion-openai"):
        # LiteLLM has one encoding for all of them; by this name it asks no network for another
        return partial(_encoded, litellm, "gpt-4o"), "by LiteLLM's tokenizer"
    tokenizer = _claude_tokenizer(litellm) if known and provider == "anthropic" else None
    if tokenizer is not None:

        def count(text: str) -> int:
            return int(_NEWER * _encoded(litellm, name, text, tokenizer)) + 1

        return count, "by LiteLLM's tokenizer for Claude, and 35 % more for its newer models"
    return budget.estimate, "by a cautious estimate: its tokenizer is not here"


_NEWER = 1.35


def _encoded(litellm: Any, name: str, text: str, tokenizer: Any = None) -> int:
    return int(litellm.token_counter(model=name, text=text, custom_tokenizer=tokenizer))


@lru_cache(maxsize=1)
def _claude_tokenizer(litellm: Any) -> Any:
    """The one that LiteLLM brings along; None in a version that does not."""
    file = resources.files(litellm) / "litellm_core_utils/tokenizers/anthropic_tokenizer.json"
    if not file.is_file():
        return None
    return litellm.create_tokenizer(file.read_text(encoding="utf-8"))


class Ears:
    """What is said in recordings, for a model that does not hear; each is transcribed once.

    Parameters
    ----------
    name : the model that transcribes, as LiteLLM writes it; None: none was chosen
    beside : the model that answers; of the same provider they have the address and key in common
    access : gives both
    """

    def __init__(
        self,
        name: str | None,
        beside: str,
        access: Callable[[], tuple[str | None, Secret | None]] = lambda: (None, None),
        limits: Limits | None = None,
    ) -> None:
        self.name, self._beside, self._access = name or None, beside, access
        self._limits = limits or Limits()
        self.record: Record | None = None
        self._notify: Notify = _silent
        self._cancel = Cancel()
        self._known: dict[bytes, str] = {}  # one for all that `for_one_answer` makes of it
        self._failed: set[bytes] = set()
        self._remarks: list[str] = []

    def for_one_answer(self, notify: Notify, cancel: Cancel) -> Ears:
        """The same ears; what could not be heard before is tried again."""
        ears = copy.copy(self)
        ears._notify, ears._cancel, ears._failed, ears._remarks = notify, cancel, set(), []
        return ears

    def hear(self, wav: bytes) -> str:
        """What is said in it; "" where that cannot be told, and a remark says why.

        Raises
        ------
        Stopped
            `cancel` was set.
        """
        mark = hashlib.sha256(wav).digest()
        if mark not in self._known and mark not in self._failed:
            try:
                self._known[mark] = self._transcript(wav)
                self._remarks.append(f"Transcribed by {self.name}: “{self._known[mark]}”")
            except ModelError as error:
                self._failed.add(mark)
                self._remarks.append(f"The recording was not transcribed: {error}.")
        return self._known.get(mark, "")

    def remarks(self) -> Generator[Chunk, None, None]:
        """What the person is to know of it, and the model is not told; each once."""
        while self._remarks:
            said = f"{self._remarks.pop(0)}\n"
            yield Chunk("assistant", "console", "output", said, "user", end=True)

    def _transcript(self, wav: bytes) -> str:
        if self.name is None:
            raise ModelError(
                f"{self._beside} takes no sound, and no transcription model is chosen: "
                'choose one (`%config LMC.transcription_model = "whisper-1"`), choose a '
                "model that takes sound, or type the question"
            )
        litellm = load(self._notify, cancel=self._cancel)
        near = _provider(litellm, self.name) == _provider(litellm, self._beside)
        self._notify(f"{self.name} transcribes the recording")
        base, key = self._access() if near else (None, None)
        return transcript(
            self.name,
            wav,
            self._notify,
            api_base=base,
            api_key=key or _stored(litellm, self.name, base).get("api_key"),
            limits=self._limits,
            cancel=self._cancel,
            record=self.record,
        )


def transcript(
    model: str,
    wav: bytes,
    notify: Notify,
    *,
    api_base: str | None = None,
    api_key: str | Secret | None = None,
    limits: Limits | None = None,
    cancel: Cancel | None = None,
    record: Record | None = None,
) -> str:
    """What is said in a recording, by a model such as `whisper-1`.

    Raises
    ------
    ModelError
        When it could not be transcribed, or nothing is said in it.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    cancel.check()
    key = _sendable(_secret(api_key))
    litellm = load(notify, cancel=cancel)
    box: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sent: Request | None = None
    if record is not None:
        sent = Request(model, {"model": model, "file": f"a wav of {len(wav):,} bytes"}, [key])
        price = _price_of_sound(litellm, model, wav)
        sent.most = lambda: price
        sent.came = lambda: 0.0  # it is counted when it has come
        record(sent)
    request = {"model": model, "file": ("recording.wav", wav)}
    call = _Transcription(litellm, request, api_base, key, limits or Limits(), box.put)
    task = asyncio.run_coroutine_threadsafe(call.run(), _loop())
    cancel.watch(box)
    try:
        while True:
            item = _next(box)
            cancel.check()
            if isinstance(item, Delta):
                if sent is not None:
                    sent.ended(cost=sent.most())
                if item.text.strip():
                    return item.text.strip()
                raise ModelError(f"{model} found no words in it")
            if not isinstance(item, str):
                raise item
            notify(item)
    finally:
        cancel.forget(box)
        task.cancel()
        if sent is not None:
            sent.ended()


def _price_of_sound(litellm: Any, model: str, wav: bytes) -> float | None:
    """US dollars for a recording; None where the price is not known, or is not by the second."""
    if _provider(litellm, model) in _OWN_SERVER:
        return 0.0
    known = litellm.model_cost.get(model) or litellm.model_cost.get(model.partition("/")[2]) or {}
    second = known.get("input_cost_per_second")
    rate = int.from_bytes(wav[28:32], "little")  # bytes a second, by the wav's own head
    return second * len(wav) / rate if isinstance(second, float) and rate else None


def stream(
    notify: Notify,
    *,
    limits: Limits | None = None,
    cancel: Cancel | None = None,
    record: Record | None = None,
    api_base: str | None = None,
    api_key: str | Secret | None = None,
    left_out: str = "",
    prompt_tokens: int = 0,
    price: Price | None = None,
    free: bool | None = None,
    **request: Any,
) -> Generator[Delta, None, None]:
    """One streamed completion; the keywords are those of `litellm.completion`.

    Closing it closes the connection. `notify` is told what is waited for, `record` what is sent;
    when it raises, nothing is.

    Parameters
    ----------
    left_out : what the person is to know of what was not sent
    prompt_tokens : how many it has at most, as we count them
    price, free : what it costs, where that is known better than by LiteLLM

    Raises
    ------
    ModelError
        No whole reply: see `Limits` and the provider's sentence in it.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    cancel.check()
    key = _sendable(_secret(api_key))
    litellm = load(notify, cancel=cancel)
    box: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sent: Request | None = None
    costs = Costs(litellm, request, price, free)
    if record is not None:
        sent = Request(str(request["model"]), request, [key])
        sent.left_out, sent.free = left_out, costs.free
        sent.most = partial(costs.most, prompt_tokens)
        sent.came = lambda: 0.0 if refused else costs.of(prompt_tokens, written)
        record(sent)
    written, refused = 0, False
    call = _Call(litellm, request, api_base, key, limits or Limits(), box.put, sent, costs)
    task = asyncio.run_coroutine_threadsafe(call.run(), _loop())
    cancel.watch(box)
    try:
        while True:
            item = _next(box)
            cancel.check()  # what has come but was not taken is not wanted any more
            if isinstance(item, Delta):
                if sent is not None and item.usage is not None:
                    used = item.usage
                    sent.ended(used.prompt_tokens, used.completion_tokens, used.cost)
                written += item.size
                yield item
            elif isinstance(item, str):
                notify(item)
            elif item is None:
                return
            else:
                refused = not written and isinstance(item, ModelError)
                raise item
    finally:
        cancel.forget(box)
        task.cancel()
        if sent is not None:
            sent.ended()


class Costs:
    """What one request costs, in US dollars, as far as the price is known.

    Parameters
    ----------
    price, free : as the person said; None: by LiteLLM's list
    """

    def __init__(
        self, litellm: Any, request: Mapping[str, Any], price: Price | None, free: bool | None
    ) -> None:
        self._litellm, self._request, self._price = litellm, request, price
        self._model = str(request["model"])
        own = price is None and _provider(litellm, self._model) in _OWN_SERVER
        self.free = own if free is None else free

    def of(self, read: int, written: int, counted: Any = None) -> float | None:
        """So many tokens; None where the price is not known.

        Parameters
        ----------
        counted : the provider's own count, which may say which tokens were cheaper
        """
        if self.free:
            return 0.0
        if self._price is not None:
            return read * self._price.read + written * self._price.written
        try:
            if counted is None:
                parts = self._litellm.cost_per_token(
                    model=self._model, prompt_tokens=read, completion_tokens=written
                )
                return float(sum(parts))
            fields = counted if isinstance(counted, dict) else counted.model_dump()
            usage = self._litellm.Usage(**fields)
            return float(sum(self._litellm.cost_per_token(model=self._model, usage_object=usage)))
        except Exception:  # noqa: BLE001 - it has no price for this model
            return None

    def most(self, read: int) -> float | None:
        """If it writes as much as it may."""
        if self.free:
            return 0.0
        written = next(
            (
                value
                for key in ("max_completion_tokens", "max_tokens")
                if isinstance(value := self._request.get(key), int) and value > 0
            ),
            None,
        )
        if written is None:
            info = _info(self._litellm, self._model)
            written = info.get("max_output_tokens") or info.get("max_tokens") or MOST_WRITTEN
        return self.of(read, written)


MOST_WRITTEN = 32_000
"""Tokens that a reply may have, where nobody said and nobody knows."""


def _next(box: queue.SimpleQueue[Any]) -> Any:
    """The next item. A Ctrl-C that falls just before a wait without end would never be heard."""
    while True:
        with suppress(queue.Empty):
            return box.get(timeout=0.5)


# LiteLLM and its thread ---------------------------------------------------------------------------

_thread_lock = threading.Lock()
_thread: tuple[int, asyncio.AbstractEventLoop] | None = None


def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that reads the network, on a daemon thread of its own."""
    global _thread
    with _thread_lock:
        if _thread is None or _thread[0] != os.getpid():  # a fork has no threads
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="lmc-models", daemon=True)
            thread.start()
            atexit.register(_end, loop, thread, os.getpid())
            _thread = os.getpid(), loop
        return _thread[1]


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, owner: int) -> None:
    """Close the connections that are kept for the next reply, and the loop."""
    if os.getpid() != owner:
        return
    asyncio.run_coroutine_threadsafe(_close_all(loop), loop)
    thread.join(1.0)
    if not thread.is_alive():
        loop.close()


async def _close_all(loop: asyncio.AbstractEventLoop) -> None:
    rest = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in rest:
        task.cancel()
    try:
        await asyncio.wait_for(asyncio.gather(*rest, return_exceptions=True), 0.5)
        if _loaded:
            await asyncio.wait_for(_loaded[0].close_litellm_async_clients(), 0.3)
    finally:
        loop.stop()


def load(
    notify: Notify,
    prepare: Callable[[Any], None] | None = None,
    *,
    cancel: Cancel | None = None,
) -> Any:
    """The module litellm, imported on the network's thread: that takes seconds the first time.

    `prepare` is called with it, each time: to register a provider of one's own.
    """
    if not _loaded:
        notify("loading LiteLLM")
        cancel = cancel or Cancel()
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        _loop().call_soon_threadsafe(_import, box.put)
        cancel.watch(box)
        try:
            item = _next(box)
        finally:
            cancel.forget(box)
        if isinstance(item, LMCError):
            raise item
    if prepare is not None:
        prepare(_loaded[0])
    return _loaded[0]


_loaded: list[Any] = []


def _import(put: Callable[[Any], None]) -> None:
    if not _loaded:
        mine = "litellm" not in sys.modules
        prices = os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
        _quiet()
        try:
            # in its other mode it loads a file `.env` of this folder or one above it
            with unchanged_environment(
                LITELLM_MODE="PRODUCTION", LITELLM_LOCAL_MODEL_COST_MAP=prices
            ):
                litellm: Any = importlib.import_module("litellm")
            litellm.ModelResponse()  # its types are made at their first use, with warnings
            litellm.ModelResponseStream()
            network.install()
        except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
            put(ModelError(f"LiteLLM cannot be imported ({type(error).__name__}: {error})"))
            return
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True  # a third party would learn what is asked
        if mine:  # else its user has chosen
            litellm.telemetry = False
            litellm.disable_aiohttp_transport = True  # it drops what came just before a cut
            for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        _loaded.append(litellm)
    put(_loaded[0])


def _quiet() -> None:
    """Nothing that LiteLLM warns of is for the person; `catch_warnings` knows no threads."""
    warnings.filterwarnings("ignore", module=r"litellm\b")
    warnings.filterwarnings("ignore", message=r"Items? .* on TypedDict class", category=UserWarning)
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    # a call that is stopped while LiteLLM still prepares it
    warnings.filterwarnings("ignore", message=r"coroutine '\w+\.\w+' was never awaited")
    warnings.filterwarnings("ignore", message=r"module 'sre_\w+' is deprecated")


_sleep = asyncio.sleep
_random = random.random


# One call -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    """A request, until its reply is whole or has failed; runs on the network's thread."""

    litellm: Any
    request: dict[str, Any]
    base: str | None
    key: Secret | None
    limits: Limits
    put: Callable[[Any], None]
    sent: Request | None = None
    costs: Costs | None = None
    begun: bool = False
    started: float = field(default_factory=time.monotonic)
    exchange: Exchange | None = None

    async def run(self) -> None:
        try:
            await self.run_with_retries()
        except Exception as error:  # noqa: BLE001 - a provider may raise anything
            if self.exchange is not None and self.exchange.problem:
                self.put(ModelError(redacted(self.exchange.problem, self.keys())))
            elif isinstance(error, LMCError):
                self.put(error)
            elif over_window(error) and not self.begun:
                self.put(WindowExceeded(self.sentence(error), str(error)))
            elif self.refuses_tools(error):
                self.put(ToolsRefused(self.sentence(error)))
            else:
                self.put(ModelError(self.sentence(error)))
        finally:
            self.put(None)

    async def run_with_retries(self) -> None:
        limits = self.limits
        for tried in range(1, limits.tries + 1):
            exchange = self.exchange = Exchange(
                self.request["model"], limits.whole, limits.size, limits.event
            )
            exchange.begin()
            try:
                await self.run_once()
                return
            except Exception as error:
                if self.begun or exchange.problem or tried == limits.tries:
                    raise
                if self.lacks_key(error) or self.refuses_tools(error):
                    raise
                wait = pause(error, tried, _random(), limits.longest_wait)
                if wait is None:
                    raise
            self.put(f"{self.request['model']} is not ready: trying again in {wait:.0f} s")
            await _sleep(wait)

    async def run_once(self) -> None:
        import httpx

        limits = self.limits
        request = plain(self.request)
        request.setdefault("num_retries", 0)
        request.setdefault("max_retries", 0)
        request.setdefault(
            "timeout",
            httpx.Timeout(limits.idle, connect=limits.connect, read=limits.idle),
        )
        if "tools" in request:
            request["_skip_mcp_handler"] = True  # else it wants the package mcp
        if self.counts():
            request.setdefault("stream_options", {"include_usage": True})
        request.update(self.access())
        if self.sent is not None:
            request.setdefault("logger_fn", partial(_went_out, self.sent))
        try:
            response = await asyncio.wait_for(self.ask(request), limits.first_byte)
        except asyncio.TimeoutError:
            raise TooLong from None
        wire = _Wire(response)
        try:
            await self.read(response, wire)
        finally:
            await wire.close()

    async def ask(self, request: dict[str, Any]) -> Any:
        if self.exchange is not None:
            self.exchange.begin()  # `wait_for` may have made a task of it
        return await self.litellm.acompletion(stream=True, **request)

    def access(self) -> dict[str, str]:
        """The address and the key, as arguments of the call."""
        access = {"api_base": self.base} if self.base else {}
        if self.key is not None:
            access["api_key"] = self.key.reveal()
        elif self.base and not self.own_base():
            access["api_key"] = PLACEHOLDER
        return access

    async def read(self, response: Any, wire: _Wire) -> None:
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
                        f"the reply of {self.request['model']} has more than "
                        f"{self.limits.text:,} characters: it was cut there, and the part "
                        "that arrived is here"
                    )
                self.put(delta)
            if choice.finish_reason:
                await self.finish(choice.finish_reason, wire)
                return
        raise NotWhole

    async def finish(self, reason: str, wire: _Wire) -> None:
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
        self.put(Delta(finish=reason, usage=self.usage(wire.usage)))

    def counts(self) -> bool:
        """Whether the provider can be asked to count the tokens."""
        try:
            name, provider, *_ = self.litellm.get_llm_provider(self.request["model"])
            known = self.litellm.get_supported_openai_params(name, provider)
        except Exception:  # noqa: BLE001 - a model that it does not know: the call will say so
            return False
        return "stream_options" in (known or ())

    def own_base(self) -> bool:
        """Whether the base is the provider's own, where the environment's keys may go."""
        return _is_own(self.litellm, str(self.request["model"]), self.base)

    def usage(self, counted: Any) -> Usage:
        seconds = time.monotonic() - self.started
        prompt, completion = (
            _number(counted, "prompt_tokens"),
            _number(counted, "completion_tokens"),
        )
        if prompt is None or completion is None:
            return Usage(prompt, completion, None, seconds)
        cost = self.costs.of(prompt, completion, counted) if self.costs is not None else None
        return Usage(prompt, completion, cost, seconds)

    def missing(self) -> list[str]:
        """The variables of the environment that would hold a key, if none is there."""
        if self.key is not None or self.base:
            return []
        return _missing(self.litellm, str(self.request["model"]))

    def unkeyed(self) -> str:
        """How to give a key to the address that was asked without one; "" when one was sent."""
        if not self.base or self.own_base() or self.keys():
            return ""
        if not _is_usual(self.base):
            return (
                "LMC_API_KEY goes to the address in LMC_API_BASE only, which is another one: set "
                "LMC_API_BASE to this address"
            )
        return "set LMC_API_KEY in the environment, or type it with `%lmc key LMC_API_KEY`"

    def lacks_key(self, error: BaseException) -> bool:
        """Whether that is what went wrong; some providers need no key but are logged in to."""
        return keyless(error) and bool(self.missing())

    def refuses_tools(self, error: BaseException) -> bool:
        """Whether that is what went wrong; another try with them does not help."""
        return "tools" in self.request and not self.begun and refuses_tools(error)

    # What went wrong, in a sentence ---------------------------------------------------------------

    def keys(self) -> list[Secret]:
        return [key for key in (self.key, *self.request.values()) if isinstance(key, Secret)]

    def sentence(self, error: BaseException) -> str:
        failure = Failure(
            error,
            self.request["model"],
            self.base,
            begun=self.begun,
            missing=self.missing() if self.lacks_key(error) else [],
            unkeyed=self.unkeyed(),
            meant="" if self.base else meant(str(self.request["model"])),
            keyring=problem(),
            first_byte=self.limits.first_byte,
            idle=self.limits.idle,
        )
        return redacted(failure.sentence(), self.keys())


@dataclass(slots=True)
class _Transcription(_Call):
    """A recording on its way to a model that writes down what is said in it."""

    async def run_once(self) -> None:
        import httpx

        limits = self.limits
        timeout = httpx.Timeout(limits.first_byte, connect=limits.connect)
        response = await self.litellm.atranscription(
            **self.request, **self.access(), timeout=timeout, max_retries=0
        )
        text = getattr(response, "text", None)
        self.put(Delta(text if isinstance(text, str) else ""))


class _Wire:
    """The provider's own stream, put under LiteLLM's, to see what really came."""

    def __init__(self, response: Any) -> None:
        self._response = response
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
            self._raw = response.completion_stream.__aiter__()
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
        for stream in (self._raw, self._response):
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


def _provider(litellm: Any, model: str) -> str:
    """LiteLLM's name of the provider; "" for a model that it does not know."""
    try:
        return str(litellm.get_llm_provider(model)[1])
    except Exception:  # noqa: BLE001 - the call will say so
        return ""


def _delta(raw: Any) -> Delta | None:
    """What the chunk brings, or None."""
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


def _went_out(sent: Request, details: Mapping[str, Any]) -> None:
    """LiteLLM is about to send, or has sent: the body in the provider's own form."""
    body = (details.get("additional_args") or {}).get("complete_input_dict")
    if isinstance(body, (str, bytes)):
        body = json.loads(body)
    if isinstance(body, Mapping) and body:
        rest = {key: value for key, value in body.items() if key != "extra_body"}
        sent.went_out_as({**rest, **(body.get("extra_body") or {})})


def _number(counted: Any, name: str) -> int | None:
    value = counted.get(name) if isinstance(counted, dict) else getattr(counted, name, None)
    return value if isinstance(value, int) else None


def _is_usual(base: str | None) -> bool:
    """Whether LMC_API_KEY may go to this address."""
    usual = os.environ.get("LMC_API_BASE") or None
    return usual is None or base == usual


def _secret(key: str | Secret | None, name: str = "api_key") -> Secret | None:
    if isinstance(key, str):
        return Secret(key, name) if key.strip() else None
    return key


def _sendable(key: Secret | None) -> Secret | None:
    """The key, if a request can carry it; what was copied along with it may be no key's."""
    if key is not None and not (key.reveal().isascii() and key.reveal().isprintable()):
        raise ModelError(
            f"the key {key.name} holds characters that no key has, such as quotation marks or line "
            "breaks: copy it again"
        )
    return key


def _stored(
    litellm: Any, model: str, base: str | None, *, usual: bool = False
) -> dict[str, Secret]:
    """Keys that were typed or are in the keyring, where the environment has none: for the call.

    Parameters
    ----------
    usual : whether LMC_API_KEY may go to this address
    """
    found: dict[str, Secret] = {}
    if not base or _is_own(litellm, model, base):
        for name in _missing(litellm, model):
            if not _KEY_NAME.search(name):
                continue
            key = stored(name)
            if key is not None:
                found.setdefault(name.lower() if name.startswith("AWS_") else "api_key", key)
    if not found and usual and (key := stored("LMC_API_KEY")) is not None:
        found["api_key"] = key
    return found


_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET")


def _missing(litellm: Any, model: str) -> list[str]:
    """The variables that would hold the keys of this model, if none of them is there."""
    try:
        found = litellm.validate_environment(model)
    except Exception:  # noqa: BLE001 - a model that it does not know: the call will say so
        return []
    return [] if found["keys_in_environment"] else [str(each) for each in found["missing_keys"]]


def _is_own(litellm: Any, model: str, base: str | None) -> bool:
    """Whether the base is the provider's own, where the environment's keys may go."""
    host = (urlsplit(base or "").hostname or "").lower()
    return any(
        host == own or host.endswith("." + own) for own in _OWN.get(_provider(litellm, model), ())
    )


def meant(model: str) -> str:
    """Which model may have been meant; "" where LiteLLM knows it, or is not loaded."""
    return did_you_mean(close_names(model, _loaded[0].model_cost)) if _loaded else ""


def _tries_tools(litellm: Any, model: str, base: str | None) -> bool:
    """Whether its server shows what it can; of Ollama's, LiteLLM asks the server itself."""
    own = base is not None and not _is_own(litellm, model, base)
    return own and _provider(litellm, model) not in _OLLAMA


def _silent(text: str) -> None:
    pass


# Where the keys of the environment may go: LiteLLM's name of a provider -> its hosts
_OWN = {
    "openai": ("openai.com",),
    "azure": ("azure.com", "azure.us", "azure-api.net"),
    "azure_ai": ("azure.com",),
    "anthropic": ("anthropic.com",),
    "gemini": ("googleapis.com",),
    "vertex_ai": ("googleapis.com",),
    "mistral": ("mistral.ai",),
    "codestral": ("mistral.ai",),
    "groq": ("groq.com",),
    "deepseek": ("deepseek.com",),
    "xai": ("x.ai",),
    "openrouter": ("openrouter.ai",),
    "together_ai": ("together.xyz", "together.ai"),
    "fireworks_ai": ("fireworks.ai",),
    "cohere": ("cohere.com", "cohere.ai"),
    "cohere_chat": ("cohere.com", "cohere.ai"),
    "perplexity": ("perplexity.ai",),
    "cerebras": ("cerebras.ai",),
    "huggingface": ("huggingface.co",),
    "nvidia_nim": ("nvidia.com",),
    "bedrock": ("amazonaws.com",),
}


def key_name(model: str, notify: Notify = _silent) -> str:
    """What the environment would call the key of this model: OPENAI_API_KEY.

    Raises
    ------
    ModelError
        For a model that LiteLLM does not know.
    """
    litellm = load(notify)
    names = [name for name in _missing(litellm, model) if name.endswith("_API_KEY")]
    if names:
        return names[0]
    provider = _provider(litellm, model)
    if not provider:
        raise ModelError(f"nobody can say which key {model!r:.80} needs: `%lmc key NAME`")
    return f"{re.sub('[^A-Z0-9]', '_', provider.upper())}_API_KEY"
