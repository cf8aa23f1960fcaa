"""A line of the panel's list, and how it goes over the wire.

One rule: a record has the message of the conversation, or the chunk that began it; nothing here
joins text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

from lmc_jupyter.conversation import Rating
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.lmc import Chunk, Message, clean

CONSOLE_HEAD = CONSOLE_TAIL = 32_000
"""Characters of a long console that a snapshot holds; `Mirror.whole_text` gives all of it."""

RATINGS = get_args(Rating)


@dataclass(eq=False)
class Record:
    """A line of the list: a message, or a note of ours, which has no head."""

    head: Message | Chunk | None = None
    """The message; while it is being written its first chunk, and the assembler has its text."""
    whole: bool = False
    """Whether the message stands in the conversation."""
    marks: dict[str, Any] = field(default_factory=dict)
    note: dict[str, Any] | None = None
    names: Names | None = None

    @classmethod
    def of(cls, message: Message) -> Record:
        record = cls()
        record.take(message)
        return record

    def take(self, message: Message) -> None:
        """This is the message, as the conversation has it."""
        self.head, self.whole = message, True
        if message.extra.get("partial"):
            self.marks["partial"] = True
        if message.extra.get("edited"):
            self.marks.setdefault("fate", "edited")
        if message.extra.get("feedback") in RATINGS:
            self.marks["feedback"] = message.extra["feedback"]

    def is_of(self, role: str, type_: str) -> bool:
        return self.head is not None and (self.head.role, self.head.type) == (role, type_)

    @property
    def id(self) -> str | None:
        """The message's; None while it is being written."""
        return self.head.id if isinstance(self.head, Message) else None

    @property
    def is_page(self) -> bool:
        """Whether it is shown in the front end's sandbox."""
        head = self.head
        if head is None or head.recipient == "assistant":
            return False
        return self.is_of("computer", "code") and head.format in ("html", "javascript")

    def wire(self, text: str) -> dict[str, Any]:
        """As the front end reads it (`Record` of protocol.ts)."""
        if self.note is not None:
            return self.note
        head = self.head
        assert head is not None, "a record without a head is a note"
        made = head.created_at if isinstance(head, Message) else None
        optional = {
            "format": "output" if head.type == "console" else head.format,
            "recipient": head.recipient,
            "id": self.id,
            "created_at": None if made is None else str(made),
        }
        wire = {"role": head.role, "type": head.type}
        wire |= {key: value for key, value in optional.items() if value is not None}
        record = {"message": wire, **self.marks}
        if head.type == "console" and len(text) > CONSOLE_HEAD + CONSOLE_TAIL:
            record["cut"] = len(text) - CONSOLE_HEAD - CONSOLE_TAIL
            record["tail"] = clean(text[-CONSOLE_TAIL:])
            text = text[:CONSOLE_HEAD]
        wire["content"] = clean(text)
        return record
