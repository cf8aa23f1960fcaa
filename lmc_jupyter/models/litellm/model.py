"""Any model that LiteLLM reaches: a conversation becomes a request, its deltas become chunks.

One rule: a request is repeated only for a known reason (the server refuses tools, it misses the
thoughts of another model, the window is smaller than we thought), and once for each.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Generator, Mapping
from typing import Any

from lmc_jupyter.errors import CallError, LMCError, ModelError
from lmc_jupyter.keys import Secret, hide, reveal
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Brief, Notify
from lmc_jupyter.models.budget import Selection, Tokens
from lmc_jupyter.models.cancel import Cancel, ignore
from lmc_jupyter.models.litellm import access, catalogue, worker_process
from lmc_jupyter.models.litellm.completion import stream
from lmc_jupyter.models.litellm.prices import Price
from lmc_jupyter.models.litellm.window import ContextWindow, Room
from lmc_jupyter.models.openai import (
    AS_FILE,
    Abilities,
    Exchanges,
    ProviderMessage,
    Sent,
    is_recording,
    unheard,
)
from lmc_jupyter.models.reply import Reply
from lmc_jupyter.models.request import Record
from lmc_jupyter.models.values import (
    NetworkLimits,
    ReasoningMissing,
    ToolsRefused,
    Usage,
    WindowExceeded,
)

_MARKED = ("anthropic", "bedrock", "bedrock_converse", "vertex_ai")
"""Providers that cache up to the marks in a request."""
_KEYED = ("openai", "xai")
"""Providers that find a conversation's cache by its key."""


def _check(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        try:
            json.dumps(reveal({name: value}))
        except (TypeError, ValueError):
            raise ModelError(
                f"the option {name} is an object ({type(value).__name__}), and options go to "
                "another process: give text, numbers, lists or dicts, or leave it out"
            ) from None


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
    limits : Limits, optional
    context_window : int, optional
        How many tokens it reads and writes in one request. Default: what LiteLLM knows, else what a
        server of one's own says, else `budget.DEFAULT_WINDOW`, and less when the provider refuses
        that.
    free : bool, optional
        Whether it costs nothing. Default: models of a server of one's own, such as Ollama.
    input_cost_per_token, output_cost_per_token, cache_read_input_token_cost : float, optional
        Its price in US dollars. Default: what LiteLLM knows.
    **options
        Handed to LiteLLM as they are: temperature, max_tokens, ... They go to another process, as
        JSON: text, numbers, lists, dicts.
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
        limits: NetworkLimits | None = None,
        context_window: int | None = None,
        free: bool | None = None,
        input_cost_per_token: float | None = None,
        output_cost_per_token: float | None = None,
        cache_read_input_token_cost: float | None = None,
        **options: Any,
    ) -> None:
        self.name = self.label = name
        self.limits = limits or NetworkLimits()
        self._free = free
        self._price: Price | None = None
        if input_cost_per_token is not None or output_cost_per_token is not None:
            self._price = Price(
                input_cost_per_token or 0.0,
                output_cost_per_token or 0.0,
                cache_read_input_token_cost,
            )
        self._base, self._key = api_base or None, access.secret(api_key)
        self._tools, self._vision, self._hears = tools, vision, hears
        self._options = hide(options)
        _check(self._options)
        self._brief: Callable[[], Brief] = Brief
        self._notify: Notify = ignore
        self._record: Record | None = None
        self._cancel = Cancel()
        # one of each for all that `with_brief` makes of this model
        self._last: list[Usage] = []
        self._toolless: set[str] = set()
        """Addresses where it takes no tools."""
        self._with_calls: set[str | None] = set()
        """Addresses where it has called one."""
        self._exchanges = Exchanges()
        self._window = ContextWindow(name, context_window, self._options, self._ask_window)

    def __repr__(self) -> str:
        return f"LiteLLMModel({self.name!r})"

    @property
    def usage(self) -> Usage | None:
        """The tokens, cost and time of the last reply that came whole; None before it."""
        return self._last[0] if self._last else None

    def _ask_window(self) -> int:
        """Tokens that it reads by the word of a server of one's own; 0 where that does not say."""
        base, key = self.access()
        if base is None or access.is_own(self.name, base):
            return 0
        return catalogue.window_of_server(self.name, base, key)

    def access(self) -> tuple[str | None, Secret | None]:
        """The address and the key now, by the person or the environment."""
        base = self._base or access.usual_address()
        key = self._key
        if key is None and access.is_usual(base):
            key = access.secret(os.environ.get("LMC_API_KEY"), "LMC_API_KEY")
        return base, key

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> LiteLLMModel:
        """The same model, with `brief()` for each reply; see `Briefable`."""
        clone = copy.copy(self)
        clone._brief, clone._notify, clone._cancel = brief, notify, Cancel()
        return clone

    def with_record(self, record: Record) -> LiteLLMModel:
        """The same model, giving each request to `record`; see `Recordable`."""
        clone = copy.copy(self)
        clone._record = record
        return clone

    def vision(self) -> str:
        """See `Choice.vision`."""
        if self._abilities().vision:
            return "yes"
        return "unknown" if self._vision is None else "no"

    def hears(self) -> bool:
        """Whether it takes sound."""
        if self._hears is not None:
            return self._hears
        return "audio_input" in catalogue.facts(self.name).abilities

    def reads_little(self) -> bool:
        """See `Choice.reads_little`."""
        return self._window.is_small()

    def preload(self) -> None:
        """Begin to load LiteLLM; see `Preloadable`."""
        worker_process.begin()

    def stop(self) -> None:
        """End the current reply, and any later one, with `Stopped`."""
        self._cancel.set()

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        """Yield the pieces of one reply.

        Raises
        ------
        ModelError
            When the reply is not whole; the sentence says why.
        Stopped
            After `stop`.
        """
        self._load()
        whole = self._brief()  # it goes by the window
        sounds = (each for each in messages if each.type == "audio")
        if any(map(is_recording, sounds)) and not self.hears():
            yield from unheard(messages, self.name)
        has_learned = False
        while True:
            abilities = self._abilities(messages)
            brief = self._window.shorten(whole, messages)
            sent = self._sent(brief)
            takes = sent.has_tools(abilities), abilities.vision, abilities.hears
            selection, room = self._window.fit(messages, brief, *takes, sent)
            try:
                yield from self._reply(messages, brief, selection, room, abilities)
                return
            except ToolsRefused:
                base = self.access()[0]
                if not sent.tools:
                    raise
                sent.renew("it takes no tools")
                if abilities.tools and (self._tools is not None or not base):
                    raise
                if base:
                    self._toolless.add(base)
                self._notify(f"{self.name} takes no tools there: asking again without them")
            except ReasoningMissing:
                if not sent.begin_with_blanks():
                    raise
            except WindowExceeded as error:
                if has_learned or not self._window.learn(
                    error.text, selection.tokens + room.overhead
                ):
                    raise
                has_learned = True
                self._notify(
                    f"{self.name} reads only {self._window.size().tokens:,} tokens: sending a "
                    "shorter request"
                )

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How many tokens the next request would take, and of what; see `Countable`."""
        self._load()
        brief = self._window.shorten(brief, messages)
        takes = self._abilities(messages)
        tools = self._sent(brief).has_tools(takes)
        return self._window.tokens(messages, brief, tools, takes.vision, takes.hears)

    def _reply(
        self,
        messages: list[Message],
        brief: Brief,
        selection: Selection,
        room: Room,
        abilities: Abilities,
    ) -> Generator[Chunk, None, None]:
        """One request and its reply."""
        base, key = self.access()
        keys = {"api_key": key} if key is not None else self._stored_keys(base)
        sent = self._sent(brief)
        chat = sent.request(messages, brief, abilities, selection)
        remark = self._describe(sent)
        request = {"model": self.name, **keys, **self._options, "messages": chat}
        if sent.tools:
            request["tools"] = sent.tools
        request.update(self._cache_options(base, sent) | self._options)
        deltas = stream(
            self._notify,
            api_base=base,
            api_key=request.pop("api_key", None),
            limits=self.limits,
            cancel=self._cancel,
            record=self._record,
            left_out=f"{remark} {budget.left_out(selection.cut, room.window)}".strip(),
            renewal=sent.reason,
            prompt_tokens=selection.tokens + room.overhead,
            price=self._price,
            free=self._free,
            **request,
        )
        # who has called the tool here only shows the fences in its words
        has_called = sent.has_calls or base in self._with_calls
        fences = not (abilities.tools and has_called)
        reply, message = Reply(brief.languages, fences=fences), ProviderMessage()
        blocks = has_calls = has_mistake = False
        try:
            for delta in deltas:
                message.add(delta)
                if delta.reasoning:
                    yield from reply.reasoning(delta.reasoning)
                for chunk in reply.text(delta.text) if delta.text else ():
                    blocks = blocks or (chunk.type == "code" and chunk.recipient is None)
                    yield chunk
                for call in delta.calls:
                    has_calls = True
                    self._with_calls.add(base)
                    yield from reply.tool(call.index, call.id, call.name, call.arguments)
                if delta.usage is not None:
                    self._last[:] = [delta.usage]
            yield from reply.end()
            if base and abilities.tools and blocks and not (has_calls or has_called):
                # a server that ignores tools may drop their results too
                self._toolless.add(base)
        except LMCError as error:
            has_mistake = isinstance(error, CallError)
            yield from reply.cut()
            raise
        finally:
            deltas.close()
            sent.keep(message.build(has_mistake=has_mistake))

    def _sent(self, brief: Brief) -> Sent:
        """What of this conversation went to this model at its address."""
        return (brief.exchanges or self._exchanges).of(self.name, self.access()[0])

    def _cache_options(self, base: str | None, sent: Sent) -> dict[str, Any]:
        """How a provider is asked to cache what this request shares with the next one: by marks on
        the system message and the last one, or by a key of the conversation; others do it unasked.
        """
        about = catalogue.facts(self.name)
        if about.provider in _MARKED and "prompt_caching" in about.abilities:
            places = ({"role": "system"}, {"index": -1})
            points = [{"location": "message", **place} for place in places]
            return {"cache_control_injection_points": points}
        if about.provider in _KEYED and (base is None or access.is_own(self.name, base)):
            return {"prompt_cache_key": sent.key}
        return {}

    def _describe(self, sent: Sent) -> str:
        """Sentences for the person on the PDFs that go as their text, and on what is lacking."""
        pdfs = [f"{name!r:.80} is {how}." for name, how in sent.pdfs]
        for each in pdfs:
            self._notify(each)
        texts = [each for each in pdfs if not each.endswith(f"{AS_FILE}.")]
        return " ".join([*texts, *filter(None, [sent.remark])])

    def _load(self) -> None:
        """Wait for LiteLLM's facts on the model: that takes seconds the first time."""
        catalogue.refresh(self.name, self._notify, self._cancel)

    def _stored_keys(self, base: str | None) -> dict[str, Secret]:
        """Keys that the person typed or that the keyring has; some providers need two."""
        return access.stored_keys(self.name, base, usual=access.is_usual(base))

    def _abilities(self, messages: list[Message] | None = None) -> Abilities:
        """Whether to use tools, images, sound, PDF files; the last two are looked up only where
        there are some."""
        tools, vision, hears = self._tools, self._vision, False
        if tools is None:
            tools = self._calls_tools()
        if vision is None:
            vision = "vision" in catalogue.facts(self.name).abilities
        types = {each.type for each in messages or ()}
        if "audio" in types:
            hears = self.hears()
        reads_pdf = "file" in types and "pdf_input" in catalogue.facts(self.name).abilities
        refuses = not self._tools and self.access()[0] in self._toolless
        return Abilities(tools, vision, hears, reads_pdf, refuses)

    def _calls_tools(self) -> bool:
        """Whether it calls tools, by LiteLLM; at an address of one's own we try them.

        For Ollama's models, LiteLLM asks the server itself.
        """
        base = self.access()[0]
        if base in self._toolless:
            return False
        about = catalogue.facts(self.name)
        if "function_calling" in about.abilities:
            return True
        is_own = base is not None and not access.is_own(self.name, base)
        return is_own and about.provider not in catalogue.OLLAMA
