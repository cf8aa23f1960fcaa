"""What a format cannot carry, in sentences.

One rule: what differs is named and what is named differs: the sentences are made by comparing
what went in with what comes out again, not by guessing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.lmc import Message, clean

_BESIDE = {
    "title": "The title {!r:.60}",
    "model": "The name of the model, {!r:.60},",
    "began": "When it began ({:.40})",
    "notebook": "The notebook's path {!r:.80}",
    "events": "What was pressed and when",
    "extra": "What a file of another format said beside the messages ({})",
}


def beside(conversation: Conversation, keeps: Sequence[str] = ()) -> list[str]:
    """A sentence for each thing known beside the messages, but for those that the format keeps."""
    found = []
    for name, sentence in _BESIDE.items():
        value = getattr(conversation, name)
        if value and name not in keeps:
            said = ", ".join(map(str, value)) if name == "extra" else value
            found.append(f"{sentence.format(said)} is not in the file.")
    return found


def plain_keys(messages: Sequence[Message], lost: list[str]) -> Sequence[Message]:
    """The messages with nothing in them that JSON has not; what was changed is said."""
    changed: list[int] = []
    found = []
    for number, message in enumerate(messages, 1):
        plain = _plain_message(message)
        if plain is not message:
            changed.append(number)
        found.append(plain)
    if changed:
        lost.append(
            f"{_numbered(changed)} {'has' if len(changed) == 1 else 'have'} values that JSON has "
            "not: they became texts."
        )
    return found


def _numbered(numbers: Sequence[int]) -> str:
    few = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
    return f"Message {few}" if len(numbers) == 1 else f"{len(numbers)} messages ({few})"


def _plain_message(message: Message) -> Message:
    if (
        not message.extra
        and isinstance(message.created_at, (str, type(None)))
        and (not isinstance(message.content, str) or clean(message.content) is message.content)
    ):
        return message
    new = {
        "content": plain(message.content),
        "extra": plain(dict(message.extra)),
        "created_at": plain(message.created_at),
        "id": plain(message.id),
        "format": plain(message.format),
    }
    same = all(_same(getattr(message, name), value) for name, value in new.items())
    return message if same else replace(message, **new)


def _same(before: Any, after: Any) -> bool:
    return type(before) is type(after) and before == after


def plain(value: Any) -> Any:
    """The value as JSON has it: what it does not have becomes text."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _LARGEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {clean(str(key)): plain(each) for key, each in value.items()}
    return clean(str(value))


_LARGEST = 10**300


def dumps(value: Any) -> str:
    """JSON as every file of ours has it."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
