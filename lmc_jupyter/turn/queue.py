"""What the person writes while an answer is being given: it waits in a queue.

One rule: an entry is in the queue, or it has been asked; never both, and never neither.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import Message


@dataclass(frozen=True)
class Entry:
    """A text that waits, with what the person has chosen to go with it."""

    id: str
    text: str
    cells: CellChoice = field(default_factory=CellChoice)


class Queue:
    """The texts that wait, in the order in which they will be asked; for any thread."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.RLock()
        self.on_change: Callable[[], None] = lambda: None
        """Called after each change; yours to set."""

    @property
    def entries(self) -> list[Entry]:
        """What waits now."""
        with self._lock:
            return list(self._entries)

    def add(self, text: str, *, first: bool = False, cells: CellChoice | None = None) -> Entry:
        """Put a text at the end, or at the beginning.

        Raises
        ------
        SessionError
            For a text without a word.
        """
        if not text.strip():
            raise SessionError("the question is empty: write a question first")
        entry = Entry(uuid.uuid4().hex, text, cells or CellChoice())
        with self._lock:
            self._entries.insert(0 if first else len(self._entries), entry)
        self.on_change()
        return entry

    def edit(self, id: str, text: str) -> None:
        """Put another text in the place of an entry.

        Raises
        ------
        SessionError
            When it is no longer in the queue, or the text has no word.
        """
        if not text.strip():
            raise SessionError("the question is empty: take it back instead")
        with self._lock:
            at = self._place(id)
            self._entries[at] = replace(self._entries[at], text=text)
        self.on_change()

    def move(self, id: str, to: int) -> None:
        """Put an entry at this place, counted from 0. See `edit`."""
        with self._lock:
            entry = self._entries.pop(self._place(id))
            self._entries.insert(max(0, to), entry)
        self.on_change()

    def remove(self, id: str) -> str:
        """Take an entry back; returns its text. See `edit`."""
        with self._lock:
            entry = self._entries.pop(self._place(id))
        self.on_change()
        return entry.text

    def ask_first(self, ask: Callable[[Entry], None]) -> bool:
        """Take the first entry out and ask it; whether there was one.

        Where `ask` raises, the entry is back in its place.
        """
        with self._lock:
            if not self._entries:
                return False
            entry = self._entries.pop(0)
        try:
            ask(entry)
        except BaseException:
            with self._lock:
                self._entries.insert(0, entry)
            self.on_change()
            raise
        self.on_change()
        return True

    def take(self, make: Callable[[str, CellChoice], list[Message]]) -> list[Message]:
        """The messages that `make` makes of texts and their cells, up to the first that it refuses.

        That one and those behind it stay: why is said when they are asked at the end.
        """
        messages: list[Message] = []
        with suppress(SessionError):
            while self.ask_first(lambda entry: messages.extend(make(entry.text, entry.cells))):
                pass
        return messages

    def _place(self, id: str) -> int:
        for at, entry in enumerate(self._entries):
            if entry.id == id:
                return at
        raise SessionError("this question is no longer in the queue: it has been asked")
