"""A session's messages as the list of dicts that an app holds, and what the app did to it.

One rule: the session has the conversation; this list is made from it, and read back.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from lmc_jupyter.formats.foreign import read_messages
from lmc_jupyter.lmc import Message


class Dicts:
    """The list, what it was made from, and how it was when the app got it."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self._shown: list[dict[str, Any]] = []
        self._of: list[Message | None] = []

    def changed(self) -> bool:
        """Whether the app has done something to it."""
        return self.list != self._shown

    def show(self, messages: list[Message]) -> None:
        """Make it what the conversation is now."""
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

    def settle(self, messages: list[Message]) -> None:
        """As `show`, but what the app has put behind it stays there until it is taken."""
        behind = self.list[len(self._shown) :]
        self.show(messages)
        self.list += behind

    def read(self, messages: list[Message]) -> tuple[list[Message] | None, list[Message]]:
        """What the app did: the conversation, if it changed that, and what it put behind it.

        Raises
        ------
        ProtocolError
            For a dict that LMC does not allow.
        """
        count = len(self._shown)
        added = read(self.list[count:])
        if self.list[:count] == self._shown:
            return None, added
        before: list[Message] = []
        for each, shown, message in zip(self.list, self._shown, self._of):  # noqa: B905 - cut
            before += read([each]) if message is None or each != shown else [message]
        return [*before, *messages[len(self._of) :]], added

    def edited(self, pending: Message) -> str | None:
        """What the app has made of the code that waits; from now on that is known."""
        for at, (each, message) in enumerate(zip(self.list, self._of)):  # noqa: B905 - cut
            content = each.get("content")
            if message is pending and isinstance(content, str) and content != pending.content:
                self._shown[at], self._of[at] = dict(each), None
                return content
        return None


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
