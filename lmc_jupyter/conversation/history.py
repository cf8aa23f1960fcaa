"""The messages of a conversation, and the one place where they change.

One rule: a change is an event before it is anything else. The event is committed by one append to
a queue; then it is applied to the messages, and told to every reader in order. Whatever breaks
that off (a Ctrl-C comes between any two steps) is done again before anybody reads or changes the
messages next, so that no reader misses a change.
"""

from __future__ import annotations

import itertools
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
        self._numbers = itertools.count(1)
        self._pending: deque[tuple[int, Event]] = deque()
        self._readers: tuple[_Reader, ...] = ()
        self._last_event: Event | None = None  # the last event that all readers know
        self._last_number = 0  # the number of the last event that the messages hold
        self._state = threading.RLock()  # of the queue and the messages; locked for a moment
        self._telling = threading.Lock()  # locked while readers are told, which may take a while
        self._teller = 0  # the thread that holds it
        self.revision = 0
        """Grows with each event that changes the messages."""

    # Reading --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        self._apply()
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        self._apply()
        return self._messages[index]

    def __iter__(self) -> Iterator[Message]:
        self._apply()
        return iter(self._messages)  # a Sequence's own asks for each message by its place

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, History) else other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def last(self) -> Message | None:
        """The last whole message; None where there is none."""
        self._apply()
        return self._messages[-1] if self._messages else None

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
        first = self._assembler.open
        if (
            chunk.end
            and first is not None
            and chunk == replace(first, content=None, start=False, end=True)
        ):
            message = self._close()
        elif (message := self._assembler.feed(chunk)) is not None:  # one without such an end
            message = self._add(message.stamped())
        self.tell(Grown(chunk))  # behind it: who is shown the end may count on the whole
        return message

    def flush(self) -> None:
        """Keep what has come of the message that is being written, marked as partial."""
        if self._whole is None:
            message = self._assembler.so_far()
            if message is None or message.content == "":
                self._assembler.flush()
                return
            self._whole = message.marked(**{PARTIAL: True}).stamped()
        self._close()

    def _close(self) -> Message | None:
        """The message that is being written is whole; what a Ctrl-C broke off is done again."""
        if self._whole is None and (message := self._assembler.so_far()) is not None:
            self._whole = message.stamped()
        whole, last = self._whole, self.last
        assert whole is not None, "no message is open"
        result = whole if last is not None and last.id == whole.id else self._add(whole)
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
        dropped with a warning, and the conversation goes on. An event that a Ctrl-C broke off is
        told again: the very same object.
        """
        reader = _Reader(hear)
        self._readers = (*self._readers, reader)
        return lambda: self._drop(reader)

    def tell(self, *events: Event) -> None:
        """Something has happened: apply it to the messages, and tell every reader.

        Of several events all have happened, or none.

        A Ctrl-C comes out of it when all have been told. Who has to be sure tells the same event
        again: it happens once.
        """
        if self._telling.locked() and self._teller == threading.get_ident():
            self._commit(events)  # a reader tells something while it is told: that comes next
            return
        with self._telling:
            self._teller = threading.get_ident()
            self._tell_readers()  # what a Ctrl-C broke off
            self._commit(events)
            self._tell_readers()
            self._teller = 0  # else this thread's next event might be taken for a reader's

    @property
    def more(self) -> bool:
        """Whether other events have happened that come right behind the one that is told now."""
        return len(self._pending) > 1

    def tell_now(self, event: Stopping | Saved) -> None:
        """Tell every reader at once, on any thread, beside the order of the events."""
        for reader in self._readers:
            self._hear(reader, event)

    def _commit(self, events: tuple[Event, ...]) -> None:
        with self._state:
            last = events[-1]
            if (
                not (self._pending and self._pending[-1][1] is last)
                and self._last_event is not last
            ):
                entries = [(next(self._numbers), event) for event in events]
                self._pending.extend(entries)  # in one step: from here on they have happened
        self._apply()

    def _apply(self) -> None:
        """Bring the messages to where the events are; each may be applied twice."""
        if not self._pending:
            return
        with self._state:
            for number, event in self._pending:
                if number > self._last_number:
                    self._change(event)
                    self._last_number = number

    def _change(self, event: Event) -> None:
        match event:
            case Appended(at, message):
                self._messages[at:] = [message]
            case Rewritten(at, message) | Marked(at, message):
                self._messages[at] = message
            case Cut(length):
                del self._messages[length:]
            case Replaced(conversation):
                self._messages[:] = conversation.messages
            case _:
                return
        self.revision += 1

    def _tell_readers(self) -> None:
        interrupt: KeyboardInterrupt | None = None
        while self._pending:
            number, event = self._pending[0]
            for reader in self._readers:
                if reader.number < number:
                    try:  # in one statement: it has heard of it, or it has not
                        reader.number = self._hear(reader, event, number)
                    except KeyboardInterrupt as error:
                        interrupt = error
            if interrupt is not None and any(each.number < number for each in self._readers):
                break  # it is told again with the next event
            self._last_event = event
            with self._state:
                self._pending.popleft()
        if interrupt is not None:
            raise interrupt

    def _hear(self, reader: _Reader, event: Event, number: int = 0) -> int:
        """Tell one reader; returns the number of the event, once it has heard of it."""
        try:
            reader.hear(event)
        except Exception as error:  # noqa: BLE001 - the border to code of others
            self._drop(reader)
            warnings.warn(
                f"{_name(reader.hear)} stopped watching, because it failed at "
                f"{type(event).__name__}: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        return number

    def _drop(self, reader: _Reader) -> None:
        self._readers = tuple(each for each in self._readers if each is not reader)


class _Reader:
    """Who hears of events, and the number of the last event that was told."""

    def __init__(self, hear: Hear) -> None:
        self.hear, self.number = hear, 0


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
