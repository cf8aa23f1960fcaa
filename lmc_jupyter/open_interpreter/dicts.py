"""The list of dicts that an app holds: a session's messages, followed by their events.

One rule: the session owns the conversation. The list has a dict for each of its messages; the
session gets what the app changes or appends there before the next answer.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from lmc_jupyter.conversation.events import Appended, Cut, Event, Marked, Replaced, Rewritten
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.records import is_empty_result
from lmc_jupyter.formats.foreign import read_messages
from lmc_jupyter.interrupts import delay_interrupt
from lmc_jupyter.lmc import Message

Dict = dict[str, Any]
"""A message as the guide writes it."""


class MessageList:
    """The list, and which of its dicts are messages of the history."""

    def __init__(self, history: History) -> None:
        self.list: list[Dict] = []
        self._history = history
        self._pairs: list[tuple[Dict, Message]] = []  # for each message its dict
        self._growing: Dict | None = None  # the message that is being written
        self._lock = threading.RLock()  # nobody waits for the history while holding it
        self._take_all()
        history.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        with self._lock:
            match event:
                case Appended(at, message) if at == len(self._pairs):
                    self._append(message)
                case Rewritten(at, message) | Marked(at, message) if at < len(self._pairs):
                    self._rewrite(at, message)
                case Cut(length):
                    self._cut(length)
                case Replaced(conversation):
                    self._cut(0)
                    for message in conversation.messages:
                        self._append(message)
                case _:
                    """It changes no message, or is here already."""

    def grow(self) -> None:
        """Show what has come of the message that is being written."""
        with delay_interrupt(), self._lock:
            message = self._history.growing_message()
            if message is not None and message.content:
                self._grow(message)

    def _take_all(self) -> None:
        for message in self._history:
            self._append(message)

    def _grow(self, message: Message) -> None:
        last = self._pairs[-1] if self._pairs else None
        if last is not None and message.id is not None and message.id == last[1].id:
            return  # it stands there whole
        if self._growing is None:
            if last is not None and message.role == "computer" and is_empty_result(last[1]):
                self._growing = last[0]
            else:
                end = self._end()
                self._growing = message.to_dict()
                self.list.insert(end, self._growing)
        _fill(self._growing, message)

    def _append(self, message: Message) -> None:
        growing, end = self._growing, self._end()
        if growing is not None and not (self._pairs and growing is self._pairs[-1][0]):
            _fill(growing, message)
            self._pairs.append((growing, message))
        else:
            self._pairs.append((message.to_dict(), message))
            self.list.insert(end, self._pairs[-1][0])
        self._growing = None

    def _rewrite(self, at: int, message: Message) -> None:
        each, before = self._pairs[at]
        if (
            each is self._growing
            or each.get("content") == message.content
            or each == before.to_dict()
        ):
            _fill(each, message)  # else the app has changed it, and that counts
        self._pairs[at] = each, message
        if each is self._growing:
            self._growing = None

    def _cut(self, length: int) -> None:
        ids = {id(each) for each, _ in self._pairs[length:]} | {id(self._growing)}
        self.list[:] = [each for each in self.list if id(each) not in ids]
        del self._pairs[length:]
        self._growing = None

    def _end(self) -> int:
        """Where what the app has put behind the conversation begins.

        Where nothing of the conversation is left, what the app has put there takes its place.
        """
        places = range(len(self.list), 0, -1)
        last = self._growing or (self._pairs[-1][0] if self._pairs else None)
        for at in places:  # the last message is nearly always there, and near
            if self.list[at - 1] is last:
                return at
        ours = {id(each) for each, _ in self._pairs}
        rest = len(self.list) if ours else 0
        return next((at for at in places if id(self.list[at - 1]) in ours), rest)

    # Changes of the app ---------------------------------------------------------------------------

    def read(self) -> tuple[list[Message], list[Message]]:
        """What the app has made of the conversation, and what it has put behind it.

        Raises
        ------
        ProtocolError
            For a dict that LMC does not allow.
        """
        with self._lock:
            messages = {id(each): message for each, message in self._pairs}
            end, dicts = self._end(), self.list[:]
        result: list[Message] = []
        for each in dicts[:end]:
            message = messages.get(id(each))
            result += [message] if message and each == message.to_dict() else read([each])
        return result, read(dicts[end:])

    def behind(self) -> list[Any]:
        """What the app has put behind the conversation."""
        with self._lock:
            return self.list[self._end() :]

    def show(self, behind: Iterable[Any] = ()) -> None:
        """Show the conversation, and this behind it: the session has got what the app changed."""
        with self._lock:
            self.list[:] = [*(each for each, _ in self._pairs), *behind]

    def begin(self) -> None:
        """Show the conversation as it is: nothing of what the app did counts any more."""
        with delay_interrupt(), self._lock:
            self._cut(0)
            self.list.clear()
            self._take_all()

    def read_edit(self) -> str | None:
        """What the app has made of the last message, which is code that waits; None: nothing."""
        with self._lock:
            each, message = self._pairs[-1]
            end = self._end()
            if each not in self.list and self.list[end:] and _is_code(self.list[end]):
                each["content"], self.list[end] = self.list[end]["content"], each
            content = each.get("content")
            return content if isinstance(content, str) and content != message.content else None


def _is_code(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "code" and value.get("id") is None


def _fill(each: Dict, message: Message) -> None:
    """Make this the dict of the message; another thread that reads it finds no empty one."""
    values = message.to_dict()
    each.update(values)
    for key in each.keys() - values.keys():
        del each[key]


def read(values: Iterable[Any]) -> list[Message]:
    """What an app hands in, as Open Interpreter of any version writes it too.

    Warns
    -----
    RuntimeWarning
        With a sentence for each that could not be kept as it was.
    """
    losses: list[str] = []
    messages = read_messages(values, losses)
    if losses:
        warnings.warn(" ".join(losses), RuntimeWarning, stacklevel=4)
    return messages
