"""What one model at one address was sent of a conversation, and what it sent: a list that grows.

One rule: a message is written once. It stays as it was sent or received, with its images, its
omissions and redactions; what has changed since (names, settings) is said in the message that
is about to be sent. Only `renew` writes a history anew, and it says why.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from itertools import takewhile
from operator import attrgetter, eq
from typing import Any

from lmc_jupyter.content.tokens import estimate
from lmc_jupyter.context.names import describe_news
from lmc_jupyter.keys import Redactor
from lmc_jupyter.lmc import Message, clean
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.cancel import ignore
from lmc_jupyter.models.openai.files import Roots
from lmc_jupyter.models.openai.media import Media
from lmc_jupyter.models.openai.messages import (
    Chat,
    describe_change_of_tools,
    make_nonce,
    names_text,
    system_message,
    to_chat,
    tools_of,
)
from lmc_jupyter.models.openai.provider import THOUGHTS, without_thoughts

MAX_IMAGES, NEWEST_IMAGES = 20, 8
"""Images of a request; and those that stay when there are more, so that the next ones fit too."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model takes: tool calls, images, sound, PDF files.

    Parameters
    ----------
    tools : whether it is to call tools, as the person's setting says or else what is known of it
    refuses_tools : whether its address takes no request with tools in it
    """

    tools: bool
    vision: bool
    hears: bool = False
    reads_pdf: bool = False
    refuses_tools: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """How much there was at a point to which the list can be rolled back."""

    messages: int
    chat: int
    count: int
    names: str | None
    instructions: str | None
    by_call: bool | None = None


@dataclass(frozen=True, slots=True)
class _SentState:
    """What there was before a request; `last` is the last message as JSON, which may grow."""

    chat: list[dict[str, Any]]
    last: str
    marks: list[_Mark]
    system: list[dict[str, Any]]
    tools: list[dict[str, Any]]


@dataclass(slots=True)
class Sent:
    """The request so far.

    Parameters
    ----------
    system, tools : as they were first sent: where the person turns calls off, the schemas stay,
        because strict providers refuse calls without them; where they turn them on, they come along
    chat : the messages behind the system message
    messages : those of the conversation that `chat` has
    names : as the model knows them; None before it was told of any
    cut : what of `messages` a full window has left out
    reason : why the list began anew before the last request; "" where it only grew
    tell : takes what has changed, as JSON, for a journal
    """

    tell: Callable[[dict[str, Any]], None] = ignore
    system: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    chat: list[dict[str, Any]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    names: str | None = None
    cut: budget.Omission | None = None
    reason: str = ""
    pdfs: list[tuple[str, str]] = field(default_factory=list)
    remark: str = ""
    """What the last request lacks of the reply before it, as a sentence; "" for nothing."""
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Names this list to a provider's cache."""
    has_calls: bool = False
    """Whether the model has called a tool here."""
    wants_reasoning: bool = False
    """Whether its server wants `reasoning_content` with each call, as its own calls have it."""
    _instructions: str = ""
    _by_call: bool | None = None
    """Whether the model was told last that code is a call; None before it was told."""
    _abilities: Abilities | None = None
    _count: int = 0
    _reply: dict[str, Any] | None = None
    _loss: str = ""
    _marks: list[_Mark] = field(default_factory=list)

    def request(
        self,
        messages: Sequence[Message],
        brief: Brief,
        abilities: Abilities,
        selection: budget.Selection | None = None,
    ) -> list[dict[str, Any]]:
        """The chat of the next request: the one before, and what is new.

        Parameters
        ----------
        messages : the whole conversation
        selection : what of it fits the window; default: all
        """
        before = _SentState(
            [*self.chat], json.dumps(self.chat[-1:]), [*self._marks], self.system, self.tools
        )
        chat = self._request(messages, brief, abilities, selection)
        self.tell(self._changes(before))
        return chat

    def _request(
        self,
        messages: Sequence[Message],
        brief: Brief,
        abilities: Abilities,
        selection: budget.Selection | None,
    ) -> list[dict[str, Any]]:
        self.pdfs, self.remark, self._loss = [], self._loss, ""
        if self._abilities is not None:  # else it was renewed since, and says why
            self.reason = ""
        cut = None if selection is None else selection.cut
        same = _same(self.messages, messages)
        if self._abilities is None:
            self._begin(brief, abilities)
        elif self.tools and abilities.refuses_tools:
            self.renew("it takes no tools")
            self._begin(brief, abilities)
        elif cut is not None and cut is not self.cut:
            self.renew("the model's window was full")
            self._begin(brief, abilities)
        elif same < len(self.messages):
            self._roll_back(same)
            if self._abilities is None:  # to before all that was sent
                self._begin(brief, abilities)
        self.cut, self._abilities = cut or self.cut, abilities
        if abilities.tools and not self.tools and not brief.only_words:
            self.tools = tools_of(brief.languages)
        known = max(0, len(self.chat) - 1)  # the last one may grow
        if cut is not None and not self.chat and selection is not None:
            self._add(selection.messages, brief, abilities)
            self.messages = [*messages]
        else:
            self._add(messages[len(self.messages) :], brief, abilities)
            self.messages = [*messages]
        self._mark()
        if _count_images(self.chat[known:]) and _count_images(self.chat) > MAX_IMAGES:
            self.renew("there were too many images")
            self._begin(brief, abilities)
            whole = messages if selection is None else selection.messages
            self._add(_with_newest_images(whole), brief, abilities)
            self.messages, self.cut = [*messages], cut
            self._mark()
        return [*self.system, *self.chat]

    def has_tools(self, abilities: Abilities) -> bool:
        """Whether the next request has tools in it."""
        stay = self._abilities is not None and bool(self.tools) and not abilities.refuses_tools
        return abilities.tools or stay

    def describe_names(self, namespace: str) -> str:
        """What the next request says of the names in the notebook's namespace."""
        if self.names is None:
            return names_text(namespace)
        return describe_news(self.names, namespace)

    def keep(self, reply: dict[str, Any]) -> None:
        """Keep the provider's own message of the reply to the last request."""
        if reply.get("tool_calls") and not self.tools:
            return  # a call of what nobody offered: a strict server does not take it back
        redactor = Redactor(shapes=False)
        thoughts = json.dumps({key: reply[key] for key in THOUGHTS if key in reply})
        if redactor.text(thoughts) != thoughts:  # a signature holds for the whole of a thought
            reply = without_thoughts(reply)
            self._loss = "The thoughts of the last reply had a key in them and do not go back."
        if isinstance(reply.get("content"), str):
            reply["content"] = redactor.text(reply["content"])
        for call in reply.get("tool_calls", ()):
            call["function"]["arguments"] = redactor.text(call["function"]["arguments"])
        self._learn(reply)
        if reply.get("content") or reply.get("tool_calls"):
            self._reply = reply
            self.tell({"reply": reply})

    def _learn(self, reply: Mapping[str, Any]) -> None:
        if reply.get("tool_calls"):
            self.has_calls = True
            is_plain = [key for key in THOUGHTS if key in reply] == ["reasoning_content"]
            self.wants_reasoning = self.wants_reasoning or is_plain

    def rest(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """What of these messages is new behind a request that a full window has shortened; None
        behind any other.
        """
        known = len(self.messages)
        is_behind = self.cut is not None and _same(self.messages, messages) == known
        return messages[known:] if is_behind else None

    def tokens(self) -> int:
        """Tokens of the chat, by a cautious estimate."""
        images = _count_images(self.chat)
        sizes = (budget.AROUND + estimate(_texts_of(each)) for each in self.chat)
        return images * budget.IMAGE_TOKENS + sum(sizes)

    def begin_with_blanks(self) -> bool:
        """Let the next request have a blank in place of each thought that is not known; returns
        whether the last one had none.
        """
        if self.wants_reasoning:
            return False
        self.wants_reasoning = True
        self.renew("the server wants a thought with each call, and other models made some")
        return True

    def renew(self, reason: str) -> None:
        """Let the next request be written anew, for this reason."""
        self.chat, self.messages, self._marks = [], [], []
        self.names, self.cut, self._reply, self._abilities = None, None, None, None
        self._count, self.reason = 0, reason

    # A journal ------------------------------------------------------------------------------------

    def _changes(self, before: _SentState) -> dict[str, Any]:
        """What the last request has changed, as JSON; images are in the conversation already."""
        at = _count_common(before.chat, self.chat)
        if before.chat and at == len(before.chat) and json.dumps([before.chat[-1]]) != before.last:
            at -= 1
        kept = _count_common(before.marks, self._marks)
        changes: dict[str, Any] = {
            "at": at,
            "chat": [_without_images(each) for each in self.chat[at:]],
            "kept": kept,
            "marks": [
                astuple(_without_same(mark, self._marks[n - 1] if n else None))
                for n, mark in enumerate(self._marks[kept:], kept)
            ],
        }
        if self.system is not before.system or self.tools is not before.tools:
            assert self._abilities is not None
            changes["begin"] = {
                "system": self.system,
                "tools": self.tools,
                "abilities": astuple(self._abilities),
                "cut": None if self.cut is None else self.cut.counts,
            }
        return changes

    def load(
        self, changes: Mapping[str, Any], messages: Sequence[Message], images: Mapping[str, str]
    ) -> None:
        """Take changes of a journal.

        Parameters
        ----------
        messages : of the conversation
        images : hash -> data URL of the images in it

        Raises
        ------
        KeyError, TypeError, ValueError
            For what is no such changes.
        """
        if "reply" in changes:
            self._reply = dict(changes["reply"])
            self._learn(self._reply)
            return
        if begin := changes.get("begin"):
            self.system, self.tools = list(begin["system"]), list(begin["tools"])
            self._abilities = Abilities(*begin["abilities"])
            counts = begin.get("cut")
            self.cut = None if counts is None else budget.Omission([], [], *counts)
        self.chat[changes["at"] :] = [_with_images(each, images) for each in changes["chat"]]
        del self._marks[changes["kept"] :]
        for values in changes["marks"]:
            mark = _Mark(*values)
            last = self._marks[-1] if self._marks else mark
            if mark.names is None:
                mark = replace(mark, names=last.names)
            if mark.instructions is None:
                mark = replace(mark, instructions=last.instructions)
            if mark.by_call is None:  # an older journal has none: its setting began the list anew
                mark = replace(mark, by_call=self._abilities is not None and self._abilities.tools)
            self._marks.append(mark)
        if self._marks:
            mark = self._marks[-1]
            self._take(mark)
            self.messages = [*messages[: mark.messages]]
        self._reply = None

    # Making it ------------------------------------------------------------------------------------

    def _begin(self, brief: Brief, abilities: Abilities) -> None:
        self.system = system_message(brief, tools=abilities.tools)
        is_offered = abilities.tools and not brief.only_words
        self.tools = tools_of(brief.languages) if is_offered else []
        self._instructions, self._abilities = brief.instructions, abilities
        self._by_call = abilities.tools

    def _take(self, mark: _Mark) -> None:
        """Go on with what the model knew at this point."""
        self._count, self.names = mark.count, mark.names
        self._instructions, self._by_call = mark.instructions or "", mark.by_call

    def _mark(self) -> None:
        self._marks.append(
            _Mark(
                len(self.messages),
                len(self.chat),
                self._count,
                self.names,
                self._instructions,
                self._by_call,
            )
        )

    def _roll_back(self, length: int) -> None:
        """Take away what came after this many messages of the conversation."""
        while self._marks and self._marks[-1].messages > length:
            self._marks.pop()
        mark = self._marks[-1] if self._marks else None
        if mark is None or self.cut is not None:
            self.renew("the conversation was changed")
            return
        self.reason = "the conversation was changed"
        del self.chat[mark.chat :], self.messages[mark.messages :]
        self._take(mark)
        self._reply = None

    def _add(self, new: Sequence[Message], brief: Brief, abilities: Abilities) -> None:
        """Write what is new behind what was sent."""
        media = Media(
            abilities.vision, abilities.hears, abilities.reads_pdf, brief.max_output,
            Roots.of(brief),
        )  # fmt: skip
        chat = Chat(abilities.tools, media, make_nonce)
        chat.count, chat.reply, self._reply = self._count, self._reply, None
        chat.wants_reasoning = self.wants_reasoning
        last = self.chat[-1:] if self.chat and self.chat[-1]["role"] == "user" else []
        chat.messages = [*map(dict, last)]  # a question without an answer goes on
        before = len(self.chat) - len(last)
        end = _end_of_reply(new)
        if end and chat.reply is not None:  # a point to roll back to: the next words may change
            chat.add_all(new[:end])
            self.chat[before:] = chat.messages
            known = len(self.messages)
            self.messages = [*self.messages, *new[:end]]
            self._count = chat.count
            if known:
                self._mark()
            new = new[end:]
        chat.add_all(new, self._news(brief, abilities, media.redactor))
        self.chat[before:] = chat.messages
        self._count, self.pdfs = chat.count, media.pdfs

    def _news(self, brief: Brief, abilities: Abilities, redactor: Redactor) -> str:
        """What has changed since the model was told of it: names, instructions, how to write code.

        It is said in words: of `tool_choice` some caches read the whole request anew.
        """
        names = redactor.text(clean(brief.namespace))
        texts = [self.describe_names(names)]
        self.names = names
        if brief.instructions != self._instructions:
            texts.append(_describe_instructions(self._instructions, brief.instructions))
            self._instructions = brief.instructions
        if abilities.tools != self._by_call:
            texts.append(describe_change_of_tools(tools=abilities.tools))
            self._by_call = abilities.tools
        return "\n\n".join(filter(None, texts))


class Exchanges:
    """What of one conversation went to each model at each address, and came from it.

    Parameters
    ----------
    tell : takes each change, as JSON, for a journal
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None] = ignore) -> None:
        self._tell = tell
        self._sent: dict[str, Sent] = {}

    def of(self, model: str, address: str | None) -> Sent:
        """The one of this model at this address; `None` is its provider's own."""
        to = f"{model} at {address}" if address else model
        if to not in self._sent:
            self._sent[to] = Sent(partial(self._tell_of, to))
        sent = self._sent[to]
        if not sent.system and any(each.system for each in self._sent.values()):
            sent.reason = "another model answers"
        return sent

    def begin(self, records: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> None:
        """Go on with another conversation.

        Parameters
        ----------
        records : what `tell` got before; what cannot be read begins anew with the next request
        """
        self._sent.clear()
        images = _images(messages) if records else {}
        for record in records:
            to = str(record.get("to", ""))
            sent = self._sent.setdefault(to, Sent(partial(self._tell_of, to)))
            try:
                sent.load(record, messages, images)
            except (KeyError, TypeError, ValueError):
                sent.renew("the journal of what was sent cannot be read")

    def _tell_of(self, to: str, changes: dict[str, Any]) -> None:
        self._tell({"to": to, **changes})


def _images(messages: Sequence[Message]) -> dict[str, str]:
    """hash -> data URL of the images of a conversation, as a model gets them."""
    urls = [
        part["image_url"]["url"]
        for each in to_chat(messages, Brief(), tools=False, vision=True)
        for part in (each["content"] if isinstance(each["content"], list) else ())
        if part.get("type") == "image_url"
    ]
    return {_hash(url): url for url in urls}


def _hash(url: str) -> str:
    return f"sha256:{hashlib.sha256(url.encode()).hexdigest()}"


def _map_images(message: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    parts = [
        {**part, "image_url": {"url": change(part["image_url"]["url"])}}
        if part.get("type") == "image_url"
        else part
        for part in content
    ]
    return {**message, "content": parts}


def _without_images(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with hashes in place of its images."""
    return _map_images(message, _hash)


def _with_images(message: Mapping[str, Any], images: Mapping[str, str]) -> dict[str, Any]:
    return _map_images(message, lambda url: images[url])


def _without_same(mark: _Mark, before: _Mark | None) -> _Mark:
    """The mark with None for what it has from the one before it."""
    if before is None:
        return mark
    names = None if mark.names == before.names else mark.names
    instructions = None if mark.instructions == before.instructions else mark.instructions
    return replace(mark, names=names, instructions=instructions)


def _count_common(before: Sequence[object], now: Sequence[object]) -> int:
    """How many objects at the beginning of both are equal."""
    length = min(len(before), len(now))
    if before[:length] == now[:length]:  # a tenth of the time, of 10,000 messages at each request
        return length
    return sum(takewhile(bool, map(eq, before, now)))


_seen = attrgetter("id", "role", "type", "format", "recipient", "content")
"""What of a message a model can tell from another."""


def _same(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages at the beginning are the same to a model."""
    first = _count_common(before, now)
    return first + _count_common(
        [*map(_seen, before[first:])], [*map(_seen, now[first : len(before)])]
    )


def _end_of_reply(messages: Sequence[Message]) -> int:
    """How many messages at the beginning are of a reply and its results."""
    for at, each in enumerate(messages):
        if each.role == "user":
            return at
    return len(messages)


def _describe_instructions(before: str, now: str) -> str:
    """What of the instructions is new, and what no longer holds."""
    lines = [*difflib.ndiff(before.splitlines(), now.splitlines())]
    new = [line[2:] for line in lines if line.startswith("+ ") and line[2:].strip()]
    gone = [line[2:] for line in lines if line.startswith("- ") and line[2:].strip()]
    texts = ["The instructions have changed. New:\n" + "\n".join(new)] if new else []
    texts += ["This holds no longer:\n" + "\n".join(gone)] if gone else []
    return "\n".join(texts)


def _count_images(chat: Sequence[Mapping[str, Any]]) -> int:
    lists = [parts for each in chat if isinstance(parts := each.get("content"), list)]
    return sum(part.get("type") == "image_url" for parts in lists for part in parts)


def _texts_of(message: Mapping[str, Any]) -> str:
    """All texts of a message of the chat, of which its provider counts the tokens."""
    texts: list[str] = []
    values: list[Any] = [_without_images(message)]
    for value in values:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, (list, dict)):
            values += value.values() if isinstance(value, dict) else value
    return "\n".join(texts)


def _with_newest_images(messages: Sequence[Message]) -> list[Message]:
    """The messages with a sentence in place of the older images."""
    images = [at for at, each in enumerate(messages) if each.type == "image"]
    old = {*images[:-NEWEST_IMAGES]}
    return [
        budget.replace_by_sentence(each) if at in old else each for at, each in enumerate(messages)
    ]
