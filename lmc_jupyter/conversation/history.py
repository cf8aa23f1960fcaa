"""The messages of a conversation, and the one place where they change.

One rule: a change is an event before it is anything else. It is applied to the messages, then told
to every reader in order. A Ctrl-C comes between two events, never inside one (`delay_interrupt`).
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from lmc_jupyter.conversation.events import (
    Appended,
    Cut,
    Event,
    Grown,
    Marked,
    Replaced,
    Rewritten,
    Saved,
    Stopping,
)
from lmc_jupyter.conversation.records import is_empty_result, place, with_keys
from lmc_jupyter.interrupts import delay_interrupt
from lmc_jupyter.lmc import PARTIAL, Chunk, Message, distinct
from lmc_jupyter.stream import Assembler

Hear = Callable[[Event], None]


class History(Sequence[Message]):
    """One conversation's messages.

    Parameters
    ----------
    messages : to begin with; a list is not copied, it grows with the conversation
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = messages if isinstance(messages, list) else list(messages)
        self._assembler = Assembler()
        self._whole: Message | None = None  # what is written, while it becomes a message
        self._untold: deque[Event] = deque()  # what has happened; the readers hear of it in order
        self._readers: tuple[Hear, ...] = ()
        self._telling = threading.RLock()
        self._tells = False  # whether readers are told now: on the thread that holds the lock
        self.revision = 0
        """Grows with each event that changes the messages."""

    # Reading --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)  # a Sequence's own asks for each message by its place

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, History) else other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def last(self) -> Message | None:
        """The last whole message; None where there is none."""
        return next(iter(self._messages[-1:]), None)

    @property
    def open(self) -> Chunk | None:
        """The chunk that opened the message that is being written; None where none is."""
        return self._assembler.open

    def growing_message(self) -> Message | None:
        """What has come of the message that is being written, marked as partial; None if none is.

        While it becomes a message of the conversation it is that very message, with its id.
        """
        whole, partial = self._whole, self._assembler.so_far()
        if whole is not None or partial is None or not partial.content:
            return whole
        return partial.marked(**{PARTIAL: True})

    def place(self, message_id: str) -> int | None:
        """Where the message with this id stands; None where none has it."""
        return place(self[:], message_id)

    # Changing -------------------------------------------------------------------------------------

    def append(self, message: Message) -> None:
        """Put a whole message at the end."""
        self.tell(Appended(len(self), message))

    def answer(self, message: Message) -> None:
        """Put what the computer says at the end, or in the place of a result that was empty."""
        last = self.last
        if last is not None and is_empty_result(last):
            self.rewrite(len(self) - 1, message)
        else:
            self.append(message)

    def grow(self, chunk: Chunk) -> Message | None:
        """Take the next chunk of a message; return the message that it completes, else None.

        Raises
        ------
        ProtocolError
            When the chunk opens a message inside another, or belongs to none.
        """
        with delay_interrupt():
            message = self._assembler.take(chunk)
            if message is not None:
                message = self._close(message.stamped())
            self._tell(Grown(chunk))  # behind it: who is shown the end may count on the whole
            return message

    def flush(self) -> None:
        """Keep what has come of the message that is being written, marked as partial."""
        with delay_interrupt():
            message = self._assembler.so_far()
            if message is not None and message.content != "":
                self._close(message.marked(**{PARTIAL: True}).stamped())
            self._assembler.flush()

    def _close(self, message: Message) -> Message | None:
        """The message that is being written is whole."""
        self._whole = message
        result = self._add(message)
        self._assembler.flush()
        self._whole = None
        return result

    def rewrite(self, at: int, message: Message) -> None:
        """Put this message in the place of another."""
        self.tell(Rewritten(at, message))

    def mark(self, at: int, keys: Mapping[str, Any]) -> Message:
        """Set keys beside the protocol's of the message at this place; None takes one away."""
        message = with_keys(self[at], keys)
        self.tell(Marked(at, message, keys))
        return message

    def cut(self, length: int) -> None:
        """Take away the messages from this place on."""
        if length < len(self):
            self.tell(Cut(length))

    def put(self, at: int, messages: Iterable[Message]) -> None:
        """Put these in the place of the messages from this place on: all of them, or none."""
        events: list[Event] = [Cut(at)] if at < len(self) else []
        events += (Appended(n, each.stamped()) for n, each in enumerate(messages, at))
        if events:
            self.tell(*events)

    def replace(self, messages: Sequence[Message]) -> None:
        """Make these the messages of this conversation; those that are the same stay."""
        same = self.same_until(messages)
        self.put(same, messages[same:])

    def same_until(self, messages: Iterable[Message]) -> int:
        """How many messages at the beginning are given back as they were."""
        count = 0
        for old, new in zip(self[:], messages, strict=False):
            if not _is_again(old, new):
                break
            count += 1
        return count

    def _add(self, message: Message) -> Message | None:
        if message.role != "computer":
            self.append(message)
        elif message.content == "":
            return None
        else:
            self.answer(message)
        return message

    # Telling --------------------------------------------------------------------------------------

    def subscribe(self, hear: Hear) -> Callable[[], None]:
        """Let a reader hear of every event from now on, in order; call the value to end it.

        It is told on the thread that makes the change, and must not block. One that fails is
        dropped with a warning, and the conversation goes on.
        """
        self._readers = (*self._readers, hear)
        return lambda: self._drop(hear)

    def tell(self, *events: Event) -> None:
        """Something has happened: apply it to the messages, and tell every reader.

        Of several events all have happened, or none. A Ctrl-C comes out of it when all are told.
        """
        with delay_interrupt():
            self._tell(*events)

    def _tell(self, *events: Event) -> None:
        with self._telling:
            self._apply(events)
            self._untold.extend(events)
            if self._tells:
                return  # a reader tells something while it is told: that comes next
            self._tells = True
            try:
                while self._untold:
                    event = self._untold.popleft()
                    for hear in self._readers:
                        self._let_hear(hear, event)
            finally:
                self._tells = False

    @property
    def more(self) -> bool:
        """Whether other events have happened that come right behind the one that is told now."""
        return bool(self._untold)

    def tell_now(self, event: Stopping | Saved) -> None:
        """Tell every reader at once, on any thread, beside the order of the events."""
        with delay_interrupt():
            for hear in self._readers:
                self._let_hear(hear, event)

    def _apply(self, events: tuple[Event, ...]) -> None:
        """Change the messages in one step: who reads them on another thread sees all, or none."""
        messages = self._messages if len(events) == 1 else self._messages[:]
        for event in events:
            match event:
                case Appended(at, message):
                    messages[at:] = [message]
                case Rewritten(at, message) | Marked(at, message):
                    messages[at] = message
                case Cut(length):
                    del messages[length:]
                case Replaced(conversation):
                    messages[:] = conversation.messages
                case _:
                    continue
            self.revision += 1
        if messages is not self._messages:
            self._messages[:] = messages

    def _let_hear(self, hear: Hear, event: Event) -> None:
        try:
            hear(event)
        except Exception as error:  # noqa: BLE001 - the border to code of others
            self._drop(hear)
            warnings.warn(
                f"{_name(hear)} stopped watching, because it failed at "
                f"{type(event).__name__}: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )

    def _drop(self, hear: Hear) -> None:
        self._readers = tuple(each for each in self._readers if each is not hear)


def _name(hear: Hear) -> str:
    return type(getattr(hear, "__self__", hear)).__name__


def _is_again(old: Message, new: Message) -> bool:
    """Whether somebody gives back this message.

    Without an id it is what a client has kept of it: not the time, not what stands beside the
    protocol's keys, not a format that its type has without saying so.
    """
    if old is new:
        return True
    if new.id is not None:
        return old == replace(new, created_at=new.created_at or old.created_at)
    return (
        (old.role, old.type, old.recipient, old.content)
        == (new.role, new.type, new.recipient, new.content)
    ) and (
        distinct(old.type, old.format) == distinct(new.type, new.format)
        or (new.type == "console" and new.format is None)
    )
