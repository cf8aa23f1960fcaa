"""The body of a request as a person reads it: who says what, with real line breaks.

One rule: whatever the provider's form is, nothing of the body is left out but the bytes of images
and sounds, which are counted.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

_MESSAGES = ("messages", "contents", "input")
"""Keys of the list of messages: of OpenAI's chat, of Gemini, of OpenAI's responses."""
_SYSTEM = ("system", "system_instruction", "systemInstruction", "instructions")
_CONTENT = ("content", "parts")
_LONG = 200
"""Characters of data without a blank that are still shown."""


def outline(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(role, text) of each message, the newest last; all that is no message comes first, as
    "settings".
    """
    rest = {key: each for key, each in body.items() if key not in (*_MESSAGES, *_SYSTEM)}
    outlined = [("settings", describe(rest))] if rest else []
    outlined += [("system", describe(body[key])) for key in _SYSTEM if key in body]
    for key in _MESSAGES:
        if key in body:
            messages = body[key] if isinstance(body[key], (list, tuple)) else [body[key]]
            outlined += map(_message, messages)
    return outlined


def _message(message: Any) -> tuple[str, str]:
    if not isinstance(message, Mapping):
        return "user", describe(message)
    role = str(message.get("role", "")) or "message"
    texts = [describe(message[key]) for key in _CONTENT if message.get(key)]
    others = {
        key: each
        for key, each in message.items()
        if key not in ("role", *_CONTENT) and each is not None
    }
    if others:
        texts.append(describe(others))
    return role, "\n\n".join(texts)


def describe(value: Any) -> str:
    """Any value of JSON as text: a list is its items, an object a line for each key."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        between = "\n\n" if any(isinstance(each, (Mapping, str)) for each in value) else ", "
        return between.join(map(describe, value))
    if isinstance(value, Mapping):
        if isinstance(value.get("text"), str) and value.keys() <= {"type", "text", "cache_control"}:
            return str(value["text"])
        match value:
            case {"type": "image_url", "image_url": {"url": str(url), **rest}} if not rest:
                return _text(url)
        return "\n".join(_lines(value))
    return json.dumps(value, default=repr)


def _lines(value: Mapping[Any, Any]) -> Iterator[str]:
    for key, each in value.items():
        text = describe(_arguments(each) if key == "arguments" else each)
        if "\n" in text:
            yield f"{key}:\n{textwrap.indent(text, '  ')}"
        else:
            yield f"{key}: {text}"


def _arguments(value: Any) -> Any:
    """What a call gives to its function, which goes as JSON within JSON."""
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def _text(text: str) -> str:
    """A text as it is; of an image or a sound what it is, and how long."""
    match = re.match(r"data:([\w.+-]+/[\w.+-]+)[^,]{0,100},", text)
    if match:
        return f"[{match[1]}, {len(text) - match.end():,} characters of data]"
    if len(text) > _LONG and re.fullmatch(r"[\w+/=-]+", text):
        return f"[{len(text):,} characters of data]"
    return text
