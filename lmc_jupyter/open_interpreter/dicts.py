"""A session's messages as the list of dicts that an app holds, and what the app did to it.

One rule: the session has the conversation; this list is made from it, and read back.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from lmc_jupyter.formats.foreign import read_messages
from lmc_jupyter.lmc import Message


class Dicts:
    """The list, what it was made from, and how it was when the app got it."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self._shown: list[dict[str, Any]] = []
        self._of: list[Message | None] = []
        self._behind: list[Any] = []  # what the app appended, while the three change
        self._changing = False  # an interrupt may leave them so

    def changed(self) -> bool:
        """Whether the app has done something to it."""
        return self.list != self._shown

    def show(self, messages: list[Message]) -> None:
        """Make it what the conversation is now."""
        self._behind, self._changing = [], True
        self._change(messages)

    def _change(self, messages: list[Message]) -> None:
        of = self._of
        same = len(of)
        if messages[:same] != of:
            same = next(
                at for at, old in enumerate(of) if at >= len(messages) or old is not messages[at]
            )
        if self.list[:same] != self._shown[:same]:
            same = 0
        fresh = [message.to_dict() for message in messages[same:]]
        self.list[same:] = fresh
        self._shown[same:] = [dict(each) for each in fresh]
        of[same:] = messages[same:]
        self.list += self._behind
        self._changing = False

    def _mend(self, messages: list[Message]) -> None:
        """Begin anew where an interrupt came in the middle."""
        self.list.clear()
        self._shown, self._of = [], []
        self._change(messages)

    def settle(self, messages: list[Message]) -> None:
        """As `show`, but what the app has put behind it stays there until it is taken."""
        behind = self.list[self._end() :]
        self._behind, self._changing = behind, True
        self._change(messages)

    def follow(self, messages: list[Message]) -> None:
        """As `settle`, but what the app has changed in it stays too."""
        if self._changing:
            self._mend(messages)
        count = len(self._shown)
        if self.list[:count] == self._shown:
            self.settle(messages)
        elif count <= min(len(self.list), len(messages)) and self._are_in_place():
            self._behind, self._changing = self.list[count:], True
            for at, message in enumerate(messages[:count]):
                old = self._of[at]
                if old is not None and old is not message and self.list[at] == self._shown[at]:
                    self.list[at], self._of[at] = message.to_dict(), message
                    self._shown[at] = dict(self.list[at])
            fresh = [message.to_dict() for message in messages[count:]]
            self.list[count:count] = fresh
            self._shown += map(dict, fresh)
            self._of += messages[count:]
            self._changing = False

    def _are_in_place(self) -> bool:
        """Whether the app has only changed some, each where it was."""
        pairs = zip(self.list, self._shown)  # noqa: B905 - cut
        return all(_id(each) in (None, shown.get("id")) for each, shown in pairs)

    def _end(self) -> int:
        """Where what the app put behind it begins."""
        count = len(self._shown)
        if self.list[:count] == self._shown:
            return count
        known = {each.get("id") for each in self._shown}
        at = len(self.list)
        while at > 0:
            name = _id(self.list[at - 1])
            if name in known if name is not None else at <= count:
                break
            at -= 1
        return at

    def read(self, messages: list[Message]) -> tuple[list[Message] | None, list[Message]]:
        """What the app did: the conversation, if it changed that, and what it put behind it.

        Raises
        ------
        ProtocolError
            For a dict that LMC does not allow.
        """
        end, count = self._end(), len(self._shown)
        added = read(self.list[end:])
        if self.list[:end] == self._shown:
            return None, added
        before: list[Message] = []
        for at, each in enumerate(self.list[:end]):
            message = self._of[at] if at < count and each == self._shown[at] else None
            before += read([each]) if message is None else [message]
        return [*before, *messages[count:]], added

    def edited(self, pending: Message) -> str | None:
        """What the app has made of the code that waits; from now on that is known."""
        at = next((at for at, message in enumerate(self._of) if message is pending), None)
        if at is None:
            return None
        place = [each for each in self.list[at : at + 1] if _id(each) is None]  # put there anew
        found = [each for each in self.list if _id(each) == pending.id] or place
        for each in found[:1]:
            content = each.get("content")
            if isinstance(content, str) and content != pending.content:
                self._shown[at], self._of[at] = dict(each), None
                return content
        return None


def _id(value: Any) -> Any:
    return value.get("id") if isinstance(value, Mapping) else getattr(value, "id", None)


def read(values: Iterable[Any]) -> list[Message]:
    """What an app hands in, as Open Interpreter of any version writes it too.

    Warns
    -----
    RuntimeWarning
        With a sentence for each that could not be kept as it was.
    """
    lost: list[str] = []
    found = read_messages(values, lost)
    if lost:
        warnings.warn(" ".join(lost), RuntimeWarning, stacklevel=4)
    return found
