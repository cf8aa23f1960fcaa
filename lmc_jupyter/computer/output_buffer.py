"""The output of a running block that no reader has taken yet, in order and bounded.

One rule: text costs one append per write; output beyond the bounds is only counted, and a line
says how much that was.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from threading import get_ident
from typing import Any

from lmc_jupyter.content.bundle import WidgetChunk, pieces
from lmc_jupyter.lmc import Chunk

HEAD = 1_000_000
"""Characters of console text that are kept from the beginning of a block."""
TAIL = 64_000
"""Characters that are kept from its end, beyond `HEAD`."""
RICH = 16_000_000
"""Characters of images and HTML that are kept of a block."""
DISPLAYS = 200
"""Images, pages and the like that are kept of a block."""
UPDATES = 10
"""Updates of one display that are kept as they come; of more, the last one."""
LINE_ENDS = ("\n", "\r")
"""What ends a line of a terminal; a progress bar goes back to its beginning."""


class OutputBuffer:
    """A buffer that any thread fills and one thread empties.

    Parameters
    ----------
    offer : called with the text after each write of the code, on the thread that wrote it
    """

    def __init__(self, offer: Callable[[str], None] | None = None) -> None:
        self.muted_threads: set[int] = set()
        """Ids of threads whose text is not the code's."""
        self.offer = offer
        self._items: deque[Chunk | str] = deque()
        self._room, self._rich_room, self._places = HEAD, RICH, DISPLAYS
        self._tail: deque[str] = deque()
        self._tail_size = self._excess = self._excess_rich = 0
        self._at_line_start = True
        self._has_rest = False
        """Whether the first text is the open line that the last `take` has put back."""
        self._images: set[int] = set()
        self._updates: dict[str, int] = {}
        self._last_updates: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.RLock()
        self._waiting = False
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()

    def text(self, text: str) -> None:
        """Take text from the code, unless this thread is muted."""
        __tracebackhide__ = True
        if get_ident() in self.muted_threads:
            return
        room = self._room - len(text)
        if room < 0 or not text:
            self._add(text)
        else:  # the usual case, which must cost nothing
            self._room = room
            self._items.append(text)
            if self._waiting:
                self.ring()
        if self.offer is not None:
            self.offer(text)

    def line(self, text: str) -> None:
        """Take text that stands on lines of its own."""
        if get_ident() in self.muted_threads:
            return
        open_ = "" if self._is_at_line_start() else "\n"
        self._add(open_ + text + ("" if text.endswith("\n") else "\n"))

    def put(self, chunk: Chunk) -> None:
        """Take anything else."""
        size = len(chunk.content) if isinstance(chunk.content, str) else 0
        with self._lock:
            if chunk.format != "active_line":  # it changes all the time: its place does not matter
                self._close_tail()
                if size > self._rich_room or not self._places:
                    self._excess_rich += 1
                    return
                self._rich_room -= size
                self._places -= 1
            self._items.append(chunk)
        if self._waiting:
            self.ring()

    def show(self, bundle: Mapping[str, Any], model_id: str = "", *, repeats: bool = False) -> None:
        """Take a mime bundle.

        Parameters
        ----------
        model_id : of the widget in the bundle; its first piece carries it
        repeats : whether to take an image that the block has shown before; matplotlib shows a
            figure twice that is the last value of a block
        """
        for piece in pieces(bundle):
            if model_id:
                head = (piece.role, piece.type, piece.format, piece.content, piece.recipient)
                self.put(WidgetChunk(*head, start=True, end=True, model_id=model_id))
                model_id = ""
            elif piece.type == "console" and piece.recipient is None:
                self.line(str(piece.content))
            elif repeats or piece.type != "image" or self._is_new(str(piece.content)):
                self.put(piece)

    def _is_new(self, image: str) -> bool:
        is_known = hash(image) in self._images
        self._images.add(hash(image))
        return not is_known

    def put_off(self, bundle: Mapping[str, Any], display_id: str | None) -> bool:
        """Whether this update of a display is one too many; then only `last_updates` has it."""
        if display_id is None:
            return False
        count = self._updates[display_id] = self._updates.get(display_id, 0) + 1
        if count > UPDATES:
            self._last_updates.pop(
                display_id, None
            )  # so that the order is that of the last updates
            self._last_updates[display_id] = bundle
        return count > UPDATES

    def last_updates(self) -> list[Mapping[str, Any]]:
        """The last bundle of each display with too many updates, for the end of a block."""
        return list(self._last_updates.values())

    def finish(self) -> None:
        """End the block, with a line that counts what was not saved."""
        with self._lock:
            self._close_tail()
            if self._excess_rich:
                self._items.append(
                    f"\n… {self._excess_rich} more images or displays were shown and not saved …\n"
                )

    def take(self, whole_lines: bool = False) -> Iterator[Chunk]:
        """Yield what there is now; consecutive writes are one piece.

        Parameters
        ----------
        whole_lines : leave a line that has just begun for the next call: `print` writes one in
            pieces
        """
        parts: list[str] = []
        line: Chunk | None = None
        while self._items:
            item = self._items.popleft()
            if isinstance(item, Chunk) and item.format == "active_line":
                line = item  # of several in a row the last one counts
                continue
            if isinstance(item, str):
                if line is not None and not (parts and _is_open(parts[-1])):
                    if parts:
                        yield self._join(parts)
                        parts = []
                    yield line
                    line = None
                parts.append(item)
                continue
            if parts:
                yield self._join(parts)
                parts = []
            if line is not None:
                yield line
                line = None
            self._at_line_start, self._has_rest = True, False
            yield item
        if whole_lines:
            self._leave(parts)
        if parts:
            yield self._join(parts)
        if line is not None:
            yield line

    def _leave(self, parts: list[str]) -> None:
        """Put the last line back, if it has begun since the last call and has no end."""
        at = len(parts)
        while at > 0 and _is_open(parts[at - 1]):
            at -= 1
        rest, parts[at:] = parts[at:], []
        if at == 0 and self._has_rest:
            parts[:], rest = rest, []
        self._has_rest = bool(rest)
        self._items.extendleft(reversed(rest))

    def wait(self) -> None:
        """Return when there is something, or after `finish`."""
        self._waiting = True
        if not self._items:
            self._bell.get()
        self._waiting = False

    def empty(self) -> bool:
        """Whether there is nothing to take."""
        return not self._items

    def ring(self) -> None:
        """Wake the thread that waits."""
        self._waiting = False
        self._bell.put(None)

    def _add(self, text: str) -> None:
        if not text:
            return
        room = self._room - len(text)
        if room >= 0:
            self._room = room
            self._items.append(text)
        else:
            self._beyond(text)
        if self._waiting:
            self.ring()

    def _is_at_line_start(self) -> bool:
        """Whether the last text has ended its line."""
        if self._tail:
            return self._tail[-1].endswith("\n")
        count = 0
        while True:
            count += 1
            try:
                last = self._items[-count]
            except IndexError:  # the reader has taken the rest
                return self._at_line_start
            if isinstance(last, str):
                if last:
                    return last.endswith("\n")
            elif last.format != "active_line":
                return True  # an image or a display: what follows is another message

    def _join(self, parts: list[str]) -> Chunk:
        text = "".join(parts).replace("\r\n", "\n")  # `!ls` runs on a terminal
        self._at_line_start = text.endswith("\n")
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: no front end takes it
            text = text.encode("utf-8", "replace").decode()
        return Chunk("computer", "console", "output", text)

    def _beyond(self, text: str) -> None:
        with self._lock:
            if self._room > 0:
                head, text = text[: self._room], text[self._room :]
                self._items.append(head)
                self._room = 0
            if len(text) > TAIL:
                self._excess += len(text) - TAIL
                text = text[-TAIL:]
            self._tail.append(text)
            self._tail_size += len(text)
            while self._tail_size - len(self._tail[0]) >= TAIL:
                size = len(self._tail.popleft())
                self._tail_size -= size
                self._excess += size

    def _close_tail(self) -> None:
        if not self._tail:
            return
        if self._excess:
            self._items.append(f"\n… {self._excess:,} characters were shown and not saved …\n")
        self._items.extend(self._tail)
        self._tail.clear()
        self._tail_size = self._excess = 0


def _is_open(text: str) -> bool:
    """Whether a line goes on behind it."""
    return text[-1:] not in LINE_ENDS
