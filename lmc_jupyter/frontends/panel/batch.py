"""Numbered events on their way to the panel, a few times a second.

One rule: numbers have no gaps, and whoever has missed some can ask for them; when they are no
longer there it gets a snapshot instead. A flood costs the front end no more than a stream: what
a console puts out too fast is counted, not sent, but its beginning and its end always are.
"""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

from lmc_jupyter.lmc import Chunk

SECONDS = 0.04
"""The time between two messages to the front end."""
CONSOLE_RATE = 64_000
"""Characters of consoles a second; as many at once after a pause."""
CONSOLE_BEGINNING = 24_000
"""The beginning of a console is always sent, so many characters of it."""
CONSOLE_END = 1_000
"""The end of what has come is always sent, so many characters of it."""
REPEATED = 500_000
"""Characters, about, of the last events, which whoever has missed them gets again."""
_LINE_WITHIN = 400  # characters of a console's end that are left out to begin it with a line

WireEvent = dict[str, Any]
"""`Event` of protocol.ts."""


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
        self._send = send
        self.epoch = uuid.uuid4().hex
        self.lock = threading.RLock()
        """Held by whoever adds events and changes what they tell of."""
        self._sending = threading.RLock()  # held while events are numbered and sent; taken first
        self._news = threading.Condition(self.lock)
        self._pending: list[WireEvent | _PendingText] = []
        self._next = 0  # the number of the next event
        self._sent: deque[tuple[int, list[WireEvent], int]] = deque()  # number, events, characters
        self._size = 0  # of what was sent, in characters
        self._bucket = _TokenBucket(clock)
        self._beginning = 0  # characters of the open console that are still its beginning
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    # Collecting; the lock is held -----------------------------------------------------------------

    def add(self, event: WireEvent) -> None:
        """The next event. Of states in a row only the last one is sent."""
        last = self._pending[-1] if self._pending else None
        if isinstance(last, dict) and "state" in event and "state" in last:
            self._pending[-1] = event
            return
        self._append(event)

    def add_chunk(self, chunk: Chunk) -> None:
        """The next chunk of the open message; contents of one message are joined."""
        last = self._pending[-1] if self._pending else None
        if chunk.start:
            self._beginning = CONSOLE_BEGINNING if chunk.type == "console" else 0
        if not isinstance(last, _PendingText) or not last.is_of(chunk):
            if chunk.content is None or chunk.start or chunk.end:
                self._append({"grown": chunk.to_dict()})
                return
            last = _PendingText(chunk)
            self._append(last)
        self._beginning -= last.take(chunk, self._beginning)

    def _append(self, event: WireEvent | _PendingText) -> None:
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
        with self._sending:
            with self.lock:
                seq, events = self._number()
            if events:
                self._send_events(seq, events)

    def snapshot(self, make: Callable[[], dict[str, Any]], kind: str = "snapshot") -> None:
        """Send a message: what `make` gives, under the lock, is how it stands at that number."""
        with self._sending:
            with self.lock:
                seq, events = self._number()
                content = make()
            if events:
                self._send_events(seq, events)
            self._send({"kind": kind, "epoch": self.epoch, "seq": self._next, **content})

    def repeat(self, epoch: object, have: object) -> bool:
        """Send again what somebody lacks who has so many; False when that is not there any more."""
        with self._sending:
            self.flush()
            first = self._sent[0][0] if self._sent else self._next
            if epoch != self.epoch or not isinstance(have, int) or not first <= have <= self._next:
                return False
            missed: list[WireEvent] = []
            for seq, events, _ in self._sent:
                missed += events[max(0, have - seq) :]
            self._send_events(have, missed)
            return True

    def _send_events(self, seq: int, events: list[WireEvent]) -> None:
        try:
            self._send({"kind": "events", "epoch": self.epoch, "seq": seq, "events": events})
        except Exception as error:  # noqa: BLE001 - of the front end's library, or of its wire
            # the thread goes on, and of a new epoch whoever listens asks for a snapshot
            self.epoch, self._size = uuid.uuid4().hex, 0
            self._sent.clear()
            warnings.warn(
                f"the panel could not be told of {len(events)} events, and is told everything "
                f"again: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )

    def _number(self) -> tuple[int, list[WireEvent]]:
        """What is pending, with the number of its first event; it counts as sent from now on."""
        pending, self._pending = self._pending, []
        seq, events, size = self._next, [], 0
        for each in pending:
            if isinstance(each, _PendingText):
                new = each.events(self._bucket.take if each.is_console else None)
            else:
                new, size = [each], size + 200
            events += new
            size += sum(map(_length, new))
        if events:
            self._next += len(events)
            self._sent.append((seq, events, size))
            self._size += size
            while self._size > REPEATED:
                self._size -= self._sent.popleft()[2]
        return seq, events


class _TokenBucket:
    """Tells how much of a console may be sent: `CONSOLE_RATE`, as much at once after a pause.

    Parameters
    ----------
    clock : seconds, monotonic
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens, self._filled = float(CONSOLE_RATE), clock()

    def take(self, wanted: int) -> int:
        """How many of so many characters may be sent now, at least `CONSOLE_END`."""
        now = self._clock()
        passed, self._filled = now - self._filled, now
        self._tokens = min(float(CONSOLE_RATE), self._tokens + passed * CONSOLE_RATE)
        taken = min(wanted, max(int(self._tokens), CONSOLE_END))
        self._tokens = max(0.0, self._tokens - taken)
        return taken


class _PendingText:
    """Contents of one message that wait to be sent as one chunk, and its last active line."""

    def __init__(self, chunk: Chunk) -> None:
        self._first = chunk
        self._active_line: Chunk | None = None
        self.is_console = chunk.type == "console"
        self._beginning = ""  # of the console: nothing of it is left out
        self._parts: list[str] = []
        self._length = self._skipped = 0

    def is_of(self, chunk: Chunk) -> bool:
        """Whether it is content of the same message."""
        has = chunk.content is not None or chunk.format == "active_line"
        return has and not (chunk.start or chunk.end) and chunk.key == self._first.key

    def take(self, chunk: Chunk, most: int) -> int:
        """Add this content; how many of its characters are the console's beginning.

        Parameters
        ----------
        most : so many at most
        """
        if chunk.format == "active_line":
            self._active_line = chunk
            return 0
        text: str = chunk.content
        beginning = text[:most]
        self._beginning += beginning
        self._parts.append(text[len(beginning) :])
        self._length += len(text) - len(beginning)
        if self.is_console and self._length > 4 * CONSOLE_RATE:
            text = "".join(self._parts)
            self._parts = [text[-CONSOLE_RATE:]]
            self._skipped += len(text) - CONSOLE_RATE
            self._length = CONSOLE_RATE
        return len(beginning)

    def events(self, limit: Callable[[int], int] | None) -> list[WireEvent]:
        """What is to be sent.

        Parameters
        ----------
        limit : how many of so many characters may be sent; None where all may
        """
        events: list[WireEvent] = []
        text = "".join(self._parts)
        if text and limit is not None:
            text = self._end(text, limit(len(text)))
        if self._skipped and self._beginning:
            events.append(self._event(self._beginning))
        else:
            text = self._beginning + text
        if text:
            event = self._event(text)
            if self._skipped:
                event["skipped"] = self._skipped
            events.append(event)
        if self._active_line is not None:
            events.append({"grown": self._active_line.to_dict()})
        return events

    def _event(self, text: str) -> WireEvent:
        format_ = "output" if self.is_console else self._first.format
        first = self._first
        chunk = Chunk(first.role, first.type, format_, text, first.recipient, cell=first.cell)
        return {"grown": chunk.to_dict()}

    def _end(self, text: str, most: int) -> str:
        """The end of a text, so many characters at most, from the beginning of a line."""
        if len(text) <= most:
            return text
        start = len(text) - most
        line = text.find("\n", start, start + min(_LINE_WITHIN, most - 1))
        start = line + 1 if line >= 0 else start
        self._skipped += start
        return text[start:]


def _length(event: WireEvent) -> int:
    """Characters of the contents in an event, which are most of it."""
    length = 0
    for value in event.values():
        for each in value if isinstance(value, list) else [value]:
            message = each.get("message", each) if isinstance(each, dict) else None
            if isinstance(message, dict):
                length += len(str(message.get("content", "")))
    return length
