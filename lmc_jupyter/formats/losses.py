"""Sentences on what a format cannot carry.

One rule: each difference has a sentence, and each sentence stands for a difference, because the
messages are compared with those that are read back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.lmc import Message, clean

_BESIDE = {
    "title": "The title {!r:.60}",
    "model": "The name of the model, {!r:.60},",
    "began": "The time of its beginning ({:.40})",
    "notebook": "The notebook's path {!r:.80}",
    "events": "The record of the buttons that were pressed",
    "extra": "What an imported file had beside the messages ({})",
}


def beside(conversation: Conversation, keeps: Sequence[str] = ()) -> list[str]:
    """A sentence for each value beside the messages that the format does not keep."""
    sentences = []
    for name, sentence in _BESIDE.items():
        value = getattr(conversation, name)
        if value and name not in keeps:
            text = ", ".join(map(str, value)) if name == "extra" else value
            sentences.append(f"{sentence.format(text)} is not in the file.")
    return sentences


def plain_keys(messages: Sequence[Message], losses: list[str]) -> Sequence[Message]:
    """The messages with JSON values only; `losses` gets a sentence on those that were changed."""
    numbers: list[int] = []
    result = []
    for number, message in enumerate(messages, 1):
        plain = _plain_message(message)
        if plain is not message:
            numbers.append(number)
        result.append(plain)
    if numbers:
        losses.append(
            f"Values that JSON cannot hold were saved as text: {message_numbers(numbers)}."
        )
    return result


def message_numbers(numbers: Sequence[int]) -> str:
    """ "message 3", or "7 messages (1, 2, 3, 4, 5, …)"; they count from one."""
    few = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
    return f"message {few}" if len(numbers) == 1 else f"{len(numbers)} messages ({few})"


def differences(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """Sentences on how the messages that are read back differ from those that were written."""
    numbers: dict[str, list[int]] = {}
    keys: dict[str, None] = {}
    new_count = 0
    for number, one, other in _pairs(before, after):
        if one is None:
            new_count += 1
            continue
        keys_here = [] if other is None else _changed_keys(one, other)
        keys.update(dict.fromkeys(keys_here))
        for what in _differences_of(one, other, extra=bool(keys_here)):
            numbers.setdefault(what, []).append(number)
    examples = ", ".join(f"{key!s:.40}" for key in list(keys)[:8])
    sentences = [
        f"{what}: {message_numbers(numbers[what])}." for what in numbers if what not in _SENTENCES
    ]
    for what, sentence in _SENTENCES.items():
        if what in numbers:
            sentences.append(sentence.format(message_numbers(numbers[what]), examples))
    if new_count:
        sentences.append(
            f"{new_count} more messages are read back than were saved: the file splits some in two."
        )
    return sentences


def _differences_of(one: Message, other: Message | None, *, extra: bool) -> Iterator[str]:
    """Keys of `_SENTENCES`, and a sentence without its end for a message of another kind."""
    if other is None:
        yield "gone"
        return
    if kind(one) != kind(other):
        yield f"A message of the kind {kind(one)} is read back as {kind(other)}"
    for name in ("content", "id", "created_at", "recipient"):
        if not same(getattr(one, name), getattr(other, name)):
            yield name
    if extra:
        yield "extra"


def _changed_keys(one: Message, other: Message) -> list[str]:
    keys = {**one.extra, **other.extra}
    return [key for key in keys if not same(one.extra.get(key, ...), other.extra.get(key, ...))]


_SENTENCES = {
    "gone": "The file lacks some messages, or has them at another place: {}.",
    "content": "The content changes: {}.",
    "id": "The id is not in the file: {}.",
    "created_at": "The time of creation is not in the file: {}.",
    "recipient": "The recipient is not in the file: {}.",
    "extra": "Other keys ({1}) are not in the file: {0}.",
}


def kind(message: Message) -> str:
    """ "a computer's console/output"."""
    format_ = "" if message.format is None else f"/{message.format}"
    return f"{message.role} {message.type}{format_}"


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON; 1, 1.0 and true are three values there."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _pairs(
    before: Sequence[Message], after: Sequence[Message]
) -> Iterator[tuple[int, Message | None, Message | None]]:
    """(number, what was written, what is read back), in order; None where one side has none."""
    ones, others = ([(kind(each), str(each.content)) for each in side] for side in (before, after))
    for _, i, i_end, j, j_end in SequenceMatcher(None, ones, others).get_opcodes():
        pairs = zip_longest(before[i:i_end], after[j:j_end])
        yield from ((number, *pair) for number, pair in enumerate(pairs, i + 1))


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
    is_same = all(same(getattr(message, name), value) for name, value in new.items())
    return message if is_same else replace(message, **new)


def plain(value: Any) -> Any:
    """The value as JSON has it: what it does not have becomes text."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(each) for key, each in value.items()}
    return value if is_plain(value) else clean(str(value))


def is_plain(value: Any) -> bool:
    """Whether JSON has this single value, and every loader reads it."""
    if isinstance(value, str):
        return clean(value) is value
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) < _LARGEST)


_LARGEST = 10**300


def dumps(value: Any) -> str:
    """JSON as every file of ours has it."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
