"""Numbered events on their way to the panel, a few times a second.

One rule: numbers have no gaps, and whoever has missed some can ask for them; when they are no
longer kept it gets a snapshot instead. A flood costs the front end no more than a stream: what
a console puts out too fast is counted, not sent, but its end always is.
"""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

from lmc_jupyter.lmc import Chunk, clean

SECONDS = 0.04
"""The time between two messages to the front end."""
CONSOLE_RATE = 64_000
"""Characters of consoles a second; as many at once after a pause."""
CONSOLE_BEGINNING = 24_000
"""The beginning of a console is always sent, so many characters of it."""
CONSOLE_END = 1_000
"""The end of what has come is always sent, so many characters of it."""
KEPT = 500_000
"""Characters, about, of the last events that are kept for who has missed them."""
_LINE_WITHIN = 400  # characters of a console's end that are left out to begin it with a line

Event = dict[str, Any]


class Batch:
    """Collects events and sends them together.

    Parameters
    ----------
    send : takes a message for the front end, on any thread
    clock : seconds, monotonic
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send, self._clock = send, clock
        self.epoch = uuid.uuid4().hex
        self.lock = threading.RLock()
        """Held by whoever adds events and changes what they tell of."""
        self._out = threading.RLock()  # held while something is numbered and sent; taken first
        self._news = threading.Condition(self.lock)
        self._pending: list[Event | _Text] = []
        self._next = 0
        self._kept: deque[tuple[int, list[Event], int]] = deque()
        self._size = 0
        self._allowed, self._counted = float(CONSOLE_RATE), clock()
        self._beginning = 0  # characters of the open console that are still its beginning
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    # Taking in; the lock is held ------------------------------------------------------------------

    def add(self, event: Event) -> None:
        """The next event. Of states in a row only the last one is told."""
        last = self._pending[-1] if self._pending else None
        if isinstance(last, dict) and "state" in event and "state" in last:
            self._pending[-1] = event
            return
        self._put(event)

    def add_chunk(self, chunk: Chunk) -> None:
        """The next chunk of the open message; contents of one message are joined."""
        last = self._pending[-1] if self._pending else None
        if chunk.start:
            self._beginning = CONSOLE_BEGINNING if chunk.type == "console" else 0
        if not isinstance(last, _Text) or not last.is_of(chunk):
            if chunk.content is None or chunk.start or chunk.end:
                self._put({"grown": chunk.to_dict()})
                return
            last = _Text(chunk)
            self._put(last)
        self._beginning -= last.take(chunk, self._beginning)

    def _put(self, event: Event | _Text) -> None:
        self._pending.append(event)
        if len(self._pending) == 1:
            self._news.notify()

    # Sending --------------------------------------------------------------------------------------

    def start(self, run: Callable[[Callable[[], None]], None] = lambda work: work()) -> None:
        """Send from now on, on a thread of its own, whose work is done by `run`."""
        self._thread = threading.Thread(
            target=run, args=(self._send_until_closed,), name="lmc-panel", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Send what is left, and end the thread."""
        self._closed.set()
        with self.lock:
            self._news.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)
        self._thread = None

    def _send_until_closed(self) -> None:
        while not self._closed.is_set():
            with self.lock:
                self._news.wait_for(lambda: bool(self._pending) or self._closed.is_set())
            self.flush()
            self._closed.wait(SECONDS)
        self.flush()

    def flush(self) -> None:
        """Send what is there, now."""
        with self._out:
            with self.lock:
                seq, events = self._numbered()
            if events:
                self._tell(seq, events)

    def snapshot(self, make: Callable[[], dict[str, Any]]) -> None:
        """Send everything: what `make` gives, under the lock, is how it stands at that number."""
        with self._out:
            with self.lock:
                seq, events = self._numbered()
                whole = make()
            if events:
                self._tell(seq, events)
            self._send({"kind": "snapshot", "epoch": self.epoch, "seq": self._next, **whole})

    def repeat(self, epoch: object, have: object) -> bool:
        """Send again what somebody lacks who has so many; False when that is not kept."""
        with self._out:
            self.flush()
            first = self._kept[0][0] if self._kept else self._next
            if epoch != self.epoch or not isinstance(have, int) or not first <= have <= self._next:
                return False
            events = [
                event
                for seq, kept, _ in self._kept
                for number, event in enumerate(kept, seq)
                if number >= have
            ]
            self._tell(have, events)
            return True

    def _tell(self, seq: int, events: list[Event]) -> None:
        try:
            self._send({"kind": "events", "epoch": self.epoch, "seq": seq, "events": events})
        except Exception as error:  # noqa: BLE001 - of the front end's library, or of its wire
            # the thread goes on, and of a new epoch whoever listens asks for a snapshot
            self.epoch, self._size = uuid.uuid4().hex, 0
            self._kept.clear()
            warnings.warn(
                f"the panel could not be told of {len(events)} events, and is told everything "
                f"again: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )

    def _numbered(self) -> tuple[int, list[Event]]:
        """Number what is pending and keep it for a while."""
        pending, self._pending = self._pending, []
        seq, events, size = self._next, [], 0
        for each in pending:
            if isinstance(each, _Text):
                found = each.events(self._allow if each.is_console else None)
                events += found
                size += sum(len(str(event["grown"].get("content", ""))) for event in found)
            else:
                events.append(each)
                size += 200 + _weight(each)
        if events:
            self._next += len(events)
            self._kept.append((seq, events, size))
            self._size += size
            while self._size > KEPT:
                self._size -= self._kept.popleft()[2]
        return seq, events

    def _allow(self, wanted: int) -> int:
        """How many characters of a console may go out now; they are taken as sent."""
        now = self._clock()
        passed, self._counted = now - self._counted, now
        self._allowed = min(float(CONSOLE_RATE), self._allowed + passed * CONSOLE_RATE)
        allowed = min(wanted, max(int(self._allowed), CONSOLE_END))
        self._allowed = max(0.0, self._allowed - allowed)
        return allowed


class _Text:
    """Contents of one message that wait to be sent as one chunk."""

    def __init__(self, chunk: Chunk) -> None:
        self._head, self._line = chunk, _NONE
        self.is_console = chunk.type == "console"
        self._begin = ""
        self._parts: list[str] = []
        self._length = self._cut = 0

    def is_of(self, chunk: Chunk) -> bool:
        """Whether it is content of the same message."""
        has = chunk.content is not None or chunk.format == "active_line"
        return has and not (chunk.start or chunk.end) and chunk.key == self._head.key

    def take(self, chunk: Chunk, beginning: int) -> int:
        """Take this content too; how many of its characters are the message's beginning.

        Parameters
        ----------
        beginning : so many at most
        """
        if chunk.format == "active_line":
            self._line = chunk.content
            return 0
        text: str = chunk.content
        begin = text[:beginning]
        self._begin += begin
        self._parts.append(text[len(begin) :])
        self._length += len(text) - len(begin)
        if self.is_console and self._length > 4 * CONSOLE_RATE:
            text = "".join(self._parts)
            self._parts = [text[-CONSOLE_RATE:]]
            self._cut += len(text) - CONSOLE_RATE
            self._length = CONSOLE_RATE
        return len(begin)

    def events(self, allow: Callable[[int], int] | None) -> list[Event]:
        events: list[Event] = []
        text = "".join(self._parts)
        if text and allow is not None:
            text = self._end_of(text, allow(len(text)))
        if self._cut and self._begin:
            events.append(self._event(self._begin))
        elif self._begin:
            text = self._begin + text
        if text:
            event = self._event(text)
            if self._cut:
                event["skipped"] = self._cut
            events.append(event)
        if self._line is not _NONE:
            line = Chunk(self._head.role, "console", "active_line", self._line)
            events.append({"grown": line.to_dict()})
        return events

    def _event(self, text: str) -> Event:
        format_ = "output" if self.is_console else self._head.format
        chunk = Chunk(self._head.role, self._head.type, format_, text, self._head.recipient)
        return {"grown": {**chunk.to_dict(), "content": clean(text)}}

    def _end_of(self, text: str, most: int) -> str:
        if len(text) > most:
            start = len(text) - most
            line = text.find("\n", start, start + min(_LINE_WITHIN, most - 1))
            start = line + 1 if line >= 0 else start
            self._cut += start
            text = text[start:]
        return text


_NONE: Any = object()


def _weight(event: Event) -> int:
    weight = 0
    for record in (event.get("appended"), *event.get("replaced", ())):
        message = record.get("message") if isinstance(record, dict) else None
        weight += len(str(message.get("content", ""))) if isinstance(message, dict) else 0
    return weight
