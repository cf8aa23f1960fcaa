"""What a format cannot carry, in sentences.

One rule: what differs is named and what is named differs: the sentences are made by comparing
what went in with what comes out again, not by guessing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
        lost.append(f"Values that JSON cannot hold were saved as text: {numbered(changed)}.")
    return found


def numbered(numbers: Sequence[int]) -> str:
    """ "message 3", or "7 messages (1, 2, 3, 4, 5, …)"; they count from one."""
    few = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
    return f"message {few}" if len(numbers) == 1 else f"{len(numbers)} messages ({few})"


def differences(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """Sentences on what a file does not give back of the messages that it was made of."""
    found = _Found()
    for number, one, other in _paired(before, after):
        found.pair(number, one, other)
    return found.sentences()


class _Found:
    def __init__(self) -> None:
        self.numbers: dict[str, list[int]] = {}
        self.changes: dict[tuple[str, str], list[int]] = {}
        self.keys: dict[str, None] = {}
        self.added = 0

    def pair(self, number: int, one: Message | None, other: Message | None) -> None:
        if one is None:
            self.added += 1
            return
        if other is None:
            self.note("gone", number)
            return
        if kind(one) != kind(other):
            self.changes.setdefault((kind(one), kind(other)), []).append(number)
        if not same(one.content, other.content):
            self.note("content", number)
        for name in ("id", "created_at", "recipient"):
            if not same(getattr(one, name), getattr(other, name)):
                self.note(name, number)
        if not same(dict(one.extra), dict(other.extra)):
            self.note("extra", number)
            keys = {**one.extra, **other.extra}
            self.keys.update(
                (key, None)
                for key in keys
                if not same(one.extra.get(key, ...), other.extra.get(key, ...))
            )

    def note(self, what: str, number: int) -> None:
        self.numbers.setdefault(what, []).append(number)

    def sentences(self) -> list[str]:
        found = []
        for (one, other), numbers in self.changes.items():
            found.append(
                f"A message of the kind {one} is read back as {other}: {numbered(numbers)}."
            )
        keys = ", ".join(f"{key!s:.40}" for key in list(self.keys)[:8])
        for what, sentence in _SENTENCES.items():
            if what in self.numbers:
                found.append(sentence.format(numbered(self.numbers[what]), keys))
        if self.added:
            found.append(
                f"{self.added} more messages are read back than were saved: the file splits some "
                "in two."
            )
        return found


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


_AHEAD = 40
"""Messages that are looked through for the one that fits."""

_Pair = tuple[int, "Message | None", "Message | None"]


def _paired(before: Sequence[Message], after: Sequence[Message]) -> Iterator[_Pair]:
    """Which message became which, in order; None for one that is only on one side."""
    ones = [(kind(each), str(each.content)) for each in before]
    others = [(kind(each), str(each.content)) for each in after]
    i = j = 0
    while i < len(before) and j < len(after):
        if ones[i] != others[j]:
            skip_after = _ahead(others, j, ones[i])
            skip_before = _ahead(ones, i, others[j])
            if skip_before and (not skip_after or skip_before <= skip_after):
                for _ in range(skip_before):
                    yield i + 1, before[i], None
                    i += 1
                continue
            if skip_after:
                for _ in range(skip_after):
                    yield i + 1, None, after[j]
                    j += 1
                continue
            left, there = len(before) - i, len(after) - j
            if left > there and before[i].role != after[j].role:
                yield i + 1, before[i], None
                i += 1
                continue
        yield i + 1, before[i], after[j]
        i, j = i + 1, j + 1
    for at in range(i, len(before)):
        yield at + 1, before[at], None
    for at in range(j, len(after)):
        yield i + 1, None, after[at]


def _ahead(messages: Sequence[tuple[str, str]], start: int, wanted: tuple[str, str]) -> int:
    """How many messages on it stands; 0 where it does not."""
    for at in range(start + 1, min(start + _AHEAD, len(messages))):
        if messages[at] == wanted:
            return at - start
    return 0


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
