"""The vocabulary of LMC (Language Model Computer) messages: one table, two value types.

One rule: this module imports nothing of ours but the errors, and nobody else decides what a
valid message is. Everything inside the package is a `Chunk` or a `Message`; dicts exist only
at the doors (`from_dict`, `to_dict`).

Sources: the seed documents "LMC Messages" (sections Anatomy, Roles, Possible Message Types)
and "0.2.0 Migration Guide" (sections New Static Messages, New Streaming Structure).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Literal, get_args

from lmc_jupyter.errors import ProtocolError

Role = Literal["user", "assistant", "computer"]
Recipient = Literal["user", "assistant"]
ROLES: tuple[Role, ...] = get_args(Role)
RECIPIENTS: tuple[Recipient, ...] = get_args(Recipient)


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the table: the formats of a type, who usually sends it, what its content is, and
    the format that is meant where none is said, if the type has only that one."""

    formats: tuple[str, ...] | None  # None: open (any language; they are the computer's affair)
    roles: tuple[Role, ...]
    content: str
    implied: str | None = None


FORMATS: dict[str, Format] = {
    "message": Format(("text",), ("user", "assistant"), "text", implied="text"),
    "console": Format(
        ("output", "active_line"), ("computer",), "text, errors included; or a line number"
    ),
    "image": Format(
        ("base64", "base64.png", "base64.jpeg", "path"), ("user", "computer"), "base64 or a path"
    ),
    "code": Format(None, ("assistant", "computer"), "code to execute"),
    "file": Format(("path",), ("user",), "a path", implied="path"),
    "confirmation": Format(("execution",), ("computer",), "the code that waits for a yes"),
    "audio": Format(("wav",), ("user",), "wav data (base64) or a path"),
}
"""Message type -> its row. To add a type, add a row; `tests/test_formats.py` names the rest."""

LANGUAGES: dict[str, tuple[str, ...]] = {
    "python": ("py", "python3", "ipython", "ipython3"),
    "shell": ("bash", "sh", "zsh"),
    "javascript": ("js", "node"),
    "html": (),
    "r": (),
    "applescript": ("osascript",),
}
"""The seed's languages -> other words that models write for them. Case does not matter."""

_ALIASES = {word: name for name, aliases in LANGUAGES.items() for word in (name, *aliases)}


def canonical(language: str) -> str:
    """The one name of a language word: `bash` -> `shell`; an unknown word stays, in lower case."""
    word = language.strip().lower()
    return _ALIASES.get(word, word)


def distinct(type_: str, format_: str | None) -> str | None:
    """The format, or None where it is the one that this type has without saying so."""
    return None if format_ == FORMATS[type_].implied else format_


def clean(text: str) -> str:
    """The text as UTF-8 can hold it: surrogate pairs joined, lone ones replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a message as it streams; it refuses what LMC does not allow.

    Parameters
    ----------
    role : "user", "assistant" or "computer"
    type : a key of `FORMATS`
    format : a format of that type; for code any language
    content : str; an int or None for `active_line`; a dict for `confirmation`
    recipient : "user" or "assistant" when it is meant for that one only
    cell : of code for the person, N of the `In [N]` whose place it is to take
    start, end : flags of the first and last chunk of a message; a flag needs no content

    Raises
    ------
    ProtocolError
        With a sentence that names the key and the value.
    """

    role: Role
    type: str
    format: str | None = None
    content: Any = None
    recipient: Recipient | None = None
    start: bool = False
    end: bool = False
    cell: int | None = None

    def __post_init__(self) -> None:
        _check_head(self.role, self.type, self.format, self.recipient)
        if self.start is not True and self.start is not False:
            raise ProtocolError(f"key 'start' is {self.start!r}: it must be true or left out")
        if self.end is not True and self.end is not False:
            raise ProtocolError(f"key 'end' is {self.end!r}: it must be true or left out")
        if self.content is None:
            if not (self.start or self.end or self.format == "active_line"):
                raise ProtocolError(
                    f"a chunk of type {self.type!r} has neither content nor a flag: "
                    "give it 'content', 'start' or 'end'"
                )
        else:
            content = _checked_content(self.type, self.format, self.content)
            if content is not self.content:
                object.__setattr__(self, "content", content)

    @property
    def key(self) -> tuple[str, str, str | None, str | None, int | None]:
        """Chunks of one key belong to one message; a console is one whatever its formats."""
        format_ = None if self.type == "console" else distinct(self.type, self.format)
        return self.role, self.type, format_, self.recipient, self.cell

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Chunk:
        """Read the wire form. Unknown keys are ignored; bad ones raise `ProtocolError`."""
        head = _head(data)
        flags = {key: data[key] for key in ("start", "end") if data.get(key) is not None}
        cell = _cell(data.get(CELL))
        return cls(*head, data.get("content"), data.get("recipient"), **flags, cell=cell)

    def to_dict(self) -> dict[str, Any]:
        """The wire form of the seed documents: no key without a value."""
        wire: dict[str, Any] = {"role": self.role, "type": self.type}
        if self.format is not None:
            wire["format"] = self.format
        if self.content is not None or not (self.start or self.end):
            wire["content"] = self.content  # None only for the closing active_line
        if self.recipient is not None:
            wire["recipient"] = self.recipient
        if self.cell is not None:
            wire[CELL] = self.cell
        if self.start:
            wire["start"] = True
        if self.end:
            wire["end"] = True
        return wire


@dataclass(frozen=True, slots=True)
class Message:
    """A whole message of a conversation.

    `id` and `created_at` (ISO 8601, UTC) are set in a history, see `stamped`; `extra` has
    every other key of the message, unchanged (`KEYS` has those that are ours).
    """

    role: Role
    type: str
    format: str | None = None
    content: Any = ""
    recipient: Recipient | None = None
    id: str | None = None
    created_at: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_head(self.role, self.type, self.format, self.recipient)
        if self.content is None and self.format != "active_line":
            raise ProtocolError(
                f"a message of type {self.type!r} has no content: give it 'content'"
            )
        if self.content is not None:
            content = _checked_content(self.type, self.format, self.content)
            if content is not self.content:
                object.__setattr__(self, "content", content)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read a stored message; keys that LMC does not know are kept in `extra`."""
        head = _head(data)
        if "content" not in data:
            raise ProtocolError(
                f"a message of type {data['type']!r} has no content: give it 'content'"
            )
        extra = {key: value for key, value in data.items() if key not in MESSAGE_KEYS}
        return cls(
            *head,
            data["content"],
            data.get("recipient"),
            data.get("id"),
            data.get("created_at"),
            extra,
        )

    def to_dict(self) -> dict[str, Any]:
        """The stored form: the seed's keys, then `id`, `created_at` and what else there was."""
        wire: dict[str, Any] = {"role": self.role, "type": self.type}
        if self.format is not None:
            wire["format"] = self.format
        wire["content"] = self.content
        for key in ("recipient", "id", "created_at"):
            value = getattr(self, key)
            if value is not None:
                wire[key] = value
        wire.update(self.extra)
        return wire

    def stamped(self) -> Message:
        """The same message with an `id` and a `created_at`, made now where it has none."""
        if self.id is not None and self.created_at is not None:
            return self
        return replace(
            self,
            id=uuid.uuid4().hex if self.id is None else self.id,
            created_at=datetime.now(timezone.utc).isoformat()
            if self.created_at is None
            else self.created_at,
        )

    def marked(self, **extra: Any) -> Message:
        """The same message with more keys beside the protocol's, such as `partial=True`."""
        return replace(self, extra={**self.extra, **extra})


class Note(Message):
    """What became of a block of code, in our words and the person's: no output, so no data.

    It is a message like any other in files and on the wire; one that is read from there is none,
    because code can print the same words.
    """

    __slots__ = ()
    __hash__ = Message.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.to_dict() == other.to_dict()


PARTIAL, EDITED, CONTEXT, FIGURE_OF = "partial", "edited", "context", "figure_of"
SECONDS = "seconds"
INSERTED, FEEDBACK, SENTIMENT = "inserted", "feedback", "sentiment"
CELL, TAKEN, WAS, RECEIPTS = "cell", "taken", "was", "receipts"

_FILES = "LMC, notebooks, GLM"

KEYS: dict[str, tuple[str, str, str]] = {
    PARTIAL: (
        "the loop and the journal, where a message was stopped before its end",
        "everybody: code with it is never offered",
        _FILES,
    ),
    EDITED: (
        "the loop, where the person changed the code before it ran",
        "the model, the panel and cells, agents",
        _FILES,
    ),
    SECONDS: (
        "the loop, on the last result of a block that took long or was stopped",
        "the model",
        _FILES,
    ),
    CONTEXT: ("the question, with what of the notebook goes along", "the model, views", _FILES),
    FIGURE_OF: ("the question, with the cell of a figure", "the model, the panel", _FILES),
    INSERTED: ("the question, with the length of the values below it", "an edit of it", _FILES),
    FEEDBACK: ("the person's thumb", "the panel", _FILES),
    CELL: (
        "the model, of a proposal: N of the `In [N]` whose place it is to take",
        "the panel, cells, other models",
        f"{_FILES}, chat messages",
    ),
    TAKEN: (
        "the person's press: what became of a proposal (see `TAKINGS`)",
        "the panel, notebooks",
        _FILES,
    ),
    RECEIPTS: ("the loop: a number of closing words -> the id of where it is", "views", _FILES),
    WAS: (
        "a reader of another program's file: the values that it changed",
        "the exports: it is what the file had, no thought of a model",
        _FILES,
    ),
    SENTIMENT: ("an application", "an application", _FILES),
}
"""Our keys in `Message.extra` -> (who writes it, who reads it, which files keep it)."""


def is_partial(message: Message) -> bool:
    """Whether it was stopped before its end."""
    return bool(message.extra.get(PARTIAL, False))


def is_code(message: Message) -> bool:
    """Whether this is code that a model wrote whole, to be run: the only thing that is ever
    offered.
    """
    return _is_whole_code(message) and message.recipient != "user"


def is_proposal(message: Message) -> bool:
    """Whether this is code that a model wrote whole for a cell of the person: nothing runs it."""
    return _is_whole_code(message) and message.recipient == "user"


def is_thought(part: Chunk | Message) -> bool:
    """Whether a model said this to itself, and not something that a reader of a file could give to
    nobody but the person.
    """
    head = (part.role, part.type, part.recipient)
    is_changed = isinstance(part, Message) and WAS in part.extra
    return head == ("assistant", "message", "user") and not is_changed


def is_written_code(part: Chunk | Message) -> bool:
    """Whether a model wrote this as code: whole or not, to be run or for a cell of the person."""
    return part.role == "assistant" and part.type == "code"


def _is_whole_code(message: Message) -> bool:
    return is_written_code(message) and not is_partial(message)


def cell_of(part: Chunk | Message) -> int | None:
    """N of the `In [N]` whose place a proposal is to take; None for a new cell."""
    return part.cell if isinstance(part, Chunk) else _cell(part.extra.get(CELL))


def _cell(value: Any) -> int | None:
    """A number of a cell; another program may use the key for something else."""
    return value if type(value) is int and value > 0 else None


TAKINGS = {
    "inserted": "inserted it as a new cell",
    "replaced": "put it in the place of the cell",
    "ran": "put it in the place of the cell and ran the cell",
}
"""What a person does with a proposal, and how a model reads of it."""

MESSAGE_KEYS = {"role", "type", "format", "content", "recipient", "id", "created_at"}
"""Keys of a stored message that are no `extra`."""


def confirmation(language: str, code: str) -> Chunk:
    """The bare chunk that asks for a yes, in the form of the migration guide's example."""
    content = {"type": "code", "format": language, "content": code}
    return Chunk("computer", "confirmation", "execution", content)


def _head(data: Mapping[str, Any]) -> tuple[Role, str, str | None]:
    if not isinstance(data, Mapping):
        raise ProtocolError(f"a message must be a dict, not {type(data).__name__}: {data!r:.80}")
    for key in ("role", "type"):
        if key not in data:
            raise ProtocolError(f"key {key!r} is missing in {dict(data)!r:.120}")
    return data["role"], data["type"], data.get("format")


def _check_head(role: object, type_: object, format_: object, recipient: object) -> None:
    if role not in ROLES:
        raise ProtocolError(f"unknown role {role!r}: it must be one of {', '.join(ROLES)}")
    if not isinstance(type_, str) or type_ not in FORMATS:
        raise ProtocolError(f"unknown type {type_!r}: it must be one of {', '.join(FORMATS)}")
    if format_ is not None:
        formats = FORMATS[type_].formats
        if not isinstance(format_, str) or not format_:
            raise ProtocolError(f"key 'format' is {format_!r}: it must be a word or left out")
        if formats is not None and format_ not in formats:
            raise ProtocolError(
                f"type {type_!r} has no format {format_!r}: it must be one of {', '.join(formats)}"
            )
    if recipient is not None and recipient not in RECIPIENTS:
        raise ProtocolError(
            f"unknown recipient {recipient!r}: it must be user, assistant or left out"
        )


def _checked_content(type_: str, format_: str | None, content: Any) -> Any:
    """The content in the form that we keep, or a `ProtocolError` that says what is wrong."""
    if format_ == "active_line":
        if isinstance(content, str) and re.fullmatch("[0-9]{1,18}", content):
            return int(content)  # the guide's example writes "1"
        if isinstance(content, int) and not isinstance(content, bool):
            return content
        raise ProtocolError(f"active_line must be a line number or None, not {content!r:.60}")
    if type_ == "confirmation":
        return _checked_confirmation(content)
    if not isinstance(content, str):
        raise ProtocolError(
            f"the content of type {type_!r} must be a str, "
            f"not {type(content).__name__}: {content!r:.60}"
        )
    return content


def _checked_confirmation(content: Any) -> dict[str, str]:
    """Both shapes of the guide, as the one of its example: type, format, content."""
    if isinstance(content, Mapping):
        if set(content) == {"type", "format", "content"} and content["type"] == "code":
            language, code = content["format"], content["content"]
        elif set(content) == {"code", "language"}:
            language, code = content["language"], content["code"]
        else:
            language = code = None
        if isinstance(language, str) and isinstance(code, str):
            if isinstance(content, dict) and "format" in content:
                return content
            return {"type": "code", "format": language, "content": code}
    raise ProtocolError(
        "the content of a confirmation must be {'type': 'code', 'format': <language>, "
        f"'content': <code>}}, not {content!r:.80}"
    )
