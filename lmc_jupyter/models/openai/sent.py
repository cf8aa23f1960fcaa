"""What one model at one address was sent of a conversation, and what it sent: a list that grows.

One rule: a message is written once. It stays as it was sent or received, with its images, its
omissions and redactions; what has changed since (names, instructions) is said in the message that
is about to be sent. Only `renew` writes a history anew, and it says why.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmc_jupyter.context.names import describe_news
from lmc_jupyter.keys import Redactor
from lmc_jupyter.lmc import Message, clean
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai.files import Roots
from lmc_jupyter.models.openai.messages import (
    Chat,
    execute_tool,
    make_nonce,
    names_text,
    system_message,
)
from lmc_jupyter.models.openai.provider import THOUGHTS, without_thoughts

MAX_IMAGES, NEWEST_IMAGES = 20, 8
"""Images of a request; and those that stay when there are more, so that the next ones fit too."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model takes: tool calls, images, sound, PDF files."""

    tools: bool
    vision: bool
    hears: bool = False
    reads_pdf: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """How much there was at a point to which the list can be rolled back."""

    messages: int
    chat: int
    count: int
    names: str | None
    instructions: str


@dataclass(slots=True)
class Sent:
    """The request so far.

    Parameters
    ----------
    system, tools : as they were first sent
    chat : the messages behind the system message
    messages : those of the conversation that `chat` has
    names : as the model knows them; None before it was told of any
    cut : what of `messages` a full window has left out
    reason : why the list began anew before the last request; "" where it only grew
    """

    system: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    chat: list[dict[str, Any]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    names: str | None = None
    cut: budget.Cut | None = None
    reason: str = ""
    pdfs: list[tuple[str, str]] = field(default_factory=list)
    has_calls: bool = False
    """Whether the model has called a tool here."""
    _instructions: str = ""
    _abilities: Abilities | None = None
    _count: int = 0
    _reply: dict[str, Any] | None = None
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
        self.reason, self.pdfs = "", []
        cut = None if selection is None else selection.cut
        same = _same(self.messages, messages)
        if self._abilities is None:
            self._begin(brief, abilities)
        elif abilities.tools != self._abilities.tools:
            self.renew("it takes no tools" if self._abilities.tools else "it takes tools now")
            self._begin(brief, abilities)
        elif cut is not None and cut is not self.cut:
            self.renew("the model's window was full")
            self._begin(brief, abilities)
        elif same < len(self.messages):
            self._roll_back(same)
        self.cut, self._abilities = cut or self.cut, abilities
        if cut is not None and not self.chat and selection is not None:
            self._add(selection.messages, brief, abilities)
            self.messages = [*messages]
        else:
            self._add(messages[len(self.messages) :], brief, abilities)
            self.messages = [*messages]
        self._mark()
        if sum(map(_images_of, self.chat)) > MAX_IMAGES:
            self.renew("there were too many images")
            self._begin(brief, abilities)
            whole = messages if selection is None else selection.messages
            self._add(_with_newest_images(whole), brief, abilities)
            self.messages, self.cut = [*messages], cut
            self._mark()
        return [*self.system, *self.chat]

    def describe_names(self, namespace: str) -> str:
        """What the next request says of the names in the notebook's namespace."""
        if self.names is None:
            return names_text(namespace)
        return describe_news(self.names, namespace)

    def keep(self, reply: dict[str, Any]) -> None:
        """Keep the provider's own message of the reply to the last request."""
        redactor = Redactor(shapes=False)
        thoughts = json.dumps({key: reply[key] for key in THOUGHTS if key in reply})
        if redactor.text(thoughts) != thoughts:  # a signature holds for the whole of a thought
            reply = without_thoughts(reply)
        if isinstance(reply.get("content"), str):
            reply["content"] = redactor.text(reply["content"])
        for call in reply.get("tool_calls", ()):
            call["function"]["arguments"] = redactor.text(call["function"]["arguments"])
            self.has_calls = True
        if reply.get("content") or reply.get("tool_calls"):
            self._reply = reply

    def renew(self, reason: str) -> None:
        """Let the next request be written anew, for this reason."""
        self.chat, self.messages, self._marks = [], [], []
        self.names, self.cut, self._reply, self._abilities = None, None, None, None
        self._count, self.reason = 0, reason

    def _begin(self, brief: Brief, abilities: Abilities) -> None:
        self.system = system_message(brief.instructions)
        self.tools = [execute_tool(brief.languages)] if abilities.tools else []
        self._instructions, self._abilities = brief.instructions, abilities

    def _mark(self) -> None:
        self._marks.append(
            _Mark(len(self.messages), len(self.chat), self._count, self.names, self._instructions)
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
        self._count, self.names, self._instructions = mark.count, mark.names, mark.instructions
        self._reply = None

    def _add(self, new: Sequence[Message], brief: Brief, abilities: Abilities) -> None:
        """Write what is new behind what was sent."""
        chat = Chat(
            abilities.tools,
            abilities.vision,
            abilities.hears,
            brief.max_output,
            make_nonce,
            Roots.of(brief),
            reads_pdf=abilities.reads_pdf,
        )
        chat.count, chat.reply, self._reply = self._count, self._reply, None
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
        chat.add_all(new, self._news(brief, chat.redactor))
        self.chat[before:] = chat.messages
        self._count, self.pdfs = chat.count, chat.pdfs

    def _news(self, brief: Brief, redactor: Redactor) -> str:
        """What has changed in names and instructions since the model was told of them."""
        names = redactor.text(clean(brief.namespace))
        texts = [self.describe_names(names)]
        self.names = names
        if brief.instructions != self._instructions:
            texts.append(_describe_instructions(self._instructions, brief.instructions))
            self._instructions = brief.instructions
        return "\n\n".join(filter(None, texts))


def _same(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages at the beginning are the same to a model."""
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new and (
            (old.id, old.role, old.type, old.format, old.recipient, old.content)
            != (new.id, new.role, new.type, new.format, new.recipient, new.content)
        ):
            return at
    return min(len(before), len(now))


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


def _images_of(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return sum(part.get("type") == "image_url" for part in parts)


def _with_newest_images(messages: Sequence[Message]) -> list[Message]:
    """The messages with a sentence in place of the older images."""
    images = [at for at, each in enumerate(messages) if each.type == "image"]
    old = {*images[:-NEWEST_IMAGES]}
    return [
        budget.replace_by_sentence(each) if at in old else each for at, each in enumerate(messages)
    ]
