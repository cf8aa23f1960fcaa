"""Messages that another program wrote, as LMC's own.

One rule: messages of Open Interpreter 0.1-0.4 are always read. Any other dict raises an error where
code assigns it; in a file it becomes readable text, and a sentence says so.

The key `was` of a message keeps the values that were changed. An entry of a computer or server that
LMC has no type for is for the person only: it never reaches a model.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lmc_jupyter.errors import FormatError, ProtocolError
from lmc_jupyter.lmc import FORMATS, RECIPIENTS, ROLES, WAS, Message

Losses = list[str]

MAX_MESSAGES = 200_000
"""Messages of one file."""


def read_messages(
    values: Iterable[Any], losses: Losses, *, anything: bool = False
) -> list[Message]:
    """These dicts (or messages) as messages.

    Parameters
    ----------
    losses : gets a sentence for each message that had to be changed
    anything : whether a dict that no program is known to write becomes something readable too

    Raises
    ------
    ProtocolError
        For what is no message, and without `anything` for what LMC does not allow.
    """
    messages: list[Message] = []
    for number, value in enumerate(values, 1):
        if isinstance(value, Message):
            messages.append(value)
            continue
        try:
            messages += (
                [Message.from_dict(value)] if _is_ours(value) else _read(value, number, losses)
            )
        except ProtocolError:
            if not (anything and isinstance(value, Mapping)):
                raise
            messages.append(_readable(value, number, losses))
    return messages


def _is_ours(value: Any) -> bool:
    """Whether no other program wrote it, by its keys; most messages are ours."""
    if not isinstance(value, Mapping):
        return True  # and is refused as such
    type_, content = value.get("type"), value.get("content")
    bare = "format" not in value
    return (
        value.get("role") in ROLES
        and type_ in FORMATS
        and not (bare and type_ == "image" and isinstance(content, str) and not _is_base64(content))
        and not (bare and type_ == "console" and not isinstance(content, str))
        and value.get("format") not in _OTHER_FORMATS
        and (value.get("content") != "" or value.get("format") != "active_line")
    )


_OTHER_FORMATS = ("description", "base64.jpg")
_OTHER_TYPES = ("command", "review", "status", "error", "complete", "completion", "acknowledge")


def _read(value: Mapping[str, Any], number: int, losses: Losses) -> list[Message]:
    """The messages of a dict that Open Interpreter wrote."""
    if "type" not in value and "content" not in value and value.get("role") in ROLES:
        return _of_0_1(value)
    role, type_, format_ = value.get("role"), value.get("type"), value.get("format")
    content = value.get("content")
    if role == "server" or (role in ROLES and type_ in _OTHER_TYPES):
        return [_readable(value, number, losses)]
    if type_ == "image" and format_ is None and isinstance(content, str):
        return [_with_values(value, format="path")]
    if type_ == "image" and format_ == "base64.jpg":
        return [_with_values(value, format="base64.jpeg")]
    if type_ == "image" and format_ == "description":
        losses.append(f"Message {number}, the description of an image, was read as text.")
        return [_with_values(value, type="message", format=None)]
    if type_ == "console" and format_ is None and "content" in value:
        return [_with_values(value, format="active_line")]
    if format_ == "active_line" and content == "":
        return [_with_values(value, content=None)]
    return [Message.from_dict(value)]


def _of_0_1(value: Mapping[str, Any]) -> list[Message]:
    """The nested messages of Open Interpreter 0.1: text, code and its output in one dict."""
    extra = {key: each for key, each in value.items() if key not in _KEYS_0_1}
    parts: list[dict[str, Any]] = []
    if isinstance(value.get("message"), str):
        parts.append({"role": value["role"], "type": "message", "content": value["message"]})
    if isinstance(value.get("code"), str):
        language = value.get("language")
        parts.append({"role": value["role"], "type": "code", "content": value["code"]})
        if language:
            parts[-1]["format"] = language
    if isinstance(value.get("output"), str):
        output = {"type": "console", "format": "output", "content": value["output"]}
        parts.append({"role": "computer", **output})
    if not parts:
        return [Message.from_dict(value)]  # says what is missing
    return [Message.from_dict({**parts[0], **extra}), *map(Message.from_dict, parts[1:])]


_KEYS_0_1 = {"role", "message", "code", "language", "output"}


def _with_values(value: Mapping[str, Any], **new: Any) -> Message:
    """The message with other values; None leaves a key out, but for content."""
    was = {key: value[key] for key in new if key in value}
    gone = {key for key, each in new.items() if each is None and key != "content"}
    values = {key: each for key, each in {**value, **new}.items() if key not in gone}
    if was:
        values[WAS] = was
    return Message.from_dict(values)


def _readable(value: Mapping[str, Any], number: int, losses: Losses) -> Message:
    """Any dict as text for the person, which no model gets."""
    role, type_ = value.get("role"), value.get("type")
    content = value.get("content")
    text = content if isinstance(content, str) else as_json(value if content is None else content)
    was = {key: value[key] for key in ("role", "type", "format", "recipient") if key in value}
    what = " ".join(str(each)[:40] for each in (role, type_, value.get("format")) if each)
    losses.append(
        f"Message {number} ({what or 'without role and type'}) is of no kind that LMC has: "
        "it was read as text for you, and no model gets it."
    )
    extra = {
        key: each
        for key, each in value.items()
        if key not in ("role", "type", "format", "content", "recipient")
    }
    return Message.from_dict(
        {
            **extra,
            "role": role if role in ROLES else "computer",
            "type": "message",
            "content": text,
            "recipient": RECIPIENTS[0],
            WAS: was,
        }
    )


def _is_base64(content: str) -> bool:
    """Whether its first characters are base64, as of an image; a path has others."""
    try:
        base64.b64decode(content[:64], validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(content) % 4 == 0


def at_most(values: list[Any]) -> list[Any]:
    """The list, or a FormatError when it is longer than any conversation."""
    if len(values) > MAX_MESSAGES:
        raise FormatError(
            f"the file has {len(values):,} messages, and {MAX_MESSAGES:,} are the most that are "
            "read"
        )
    return values


def as_json(value: Any) -> str:
    """Any value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def conversation_of(values: Any, losses: Losses) -> list[Message]:
    """The messages of a file's list, whatever wrote it.

    Raises
    ------
    FormatError
        When it is no list of dicts.
    """
    if not isinstance(values, list):
        raise FormatError(
            f"a conversation is a list of messages, not {type(values).__name__}: {values!r:.60}"
        )
    try:
        return unique(read_messages(at_most(values), losses, anything=True), losses)
    except ProtocolError as error:
        raise FormatError(str(error)) from None


def unique(messages: list[Message], losses: Losses) -> list[Message]:
    """The messages with ids that are text and differ; a message loses any other id."""
    ids: set[str] = set()
    result, count = [], 0
    for message in messages:
        name = message.id
        if name is not None and (not isinstance(name, str) or not name or name in ids):
            message, count = replace(message, id=None), count + 1
        elif name is not None:
            ids.add(name)
        result.append(message)
    if count:
        losses.append(
            f"{count} message{'s' if count > 1 else ''} had an id that another message has, or "
            "that is not text: each gets a new one."
        )
    return result
