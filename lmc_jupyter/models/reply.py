"""The text, reasoning and tool calls of one model reply -> pieces of LMC messages.

One rule: how the provider cut the reply makes no difference, and code gets its `end` only
when it is whole: its fence has closed, or its arguments are a whole JSON object. Each
character is read a constant number of times.

Text is read by `fences.py`, tool calls by `calls.py`; here is their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, clean
from lmc_jupyter.models.calls import ToolCall
from lmc_jupyter.models.fences import FenceSplitter, Prose


class Reply:
    """Reads one reply as it streams; each method returns the pieces that have become sure.

    Parameters
    ----------
    languages : name -> other words for it
        Blocks in these become code; any other block is part of the message, word for word.
    fences : whether they do; else all code is a call, and every block is part of the message
    """

    def __init__(self, languages: Mapping[str, tuple[str, ...]], *, fences: bool = True) -> None:
        self._names = {
            word.lower(): name for name, words in languages.items() for word in (name, *words)
        }
        self._out: list[Chunk] = []
        self._text = FenceSplitter(self._names if fences else {}, self._out)
        self._thought = Prose(self._out, "user")
        self._text_halves, self._thought_halves = _Halves(), _Halves()
        self._calls: dict[int, ToolCall] = {}
        # in the order of arrival: text, or a call, whose later pieces come by its index
        self._queue: deque[str | _Thought | ToolCall] = deque()

    def text(self, delta: str) -> Iterator[Chunk]:
        """Take the next piece of the reply's text."""
        if text := self._text_halves.take(delta):
            self._queue.append(text)
        return self._take()

    def reasoning(self, delta: str) -> Iterator[Chunk]:
        """Take the next piece of what the model thinks: for the person, never sent back."""
        if text := self._thought_halves.take(delta):
            self._queue.append(_Thought(text))
        return self._take()

    def tool(
        self, index: int | None, id: str | None, name: str | None, arguments: str | None
    ) -> Iterator[Chunk]:
        """Take the next piece of a tool call; `None` and `""` mean "not in this piece".

        Raises
        ------
        ModelError
            For an unknown function, or for arguments that are not those of the function.
        """
        call = self._calls.get(index or 0)
        if call is None or (id and call.id and id != call.id):  # some give every call index 0
            call = self._calls[index or 0] = ToolCall(self._names, self._out)
            self._queue.append(call)
        call.id = id or call.id
        call.queue.append((name or "", arguments or ""))
        if call.is_done:
            call.read()
        return self._take()

    def end(self) -> Iterator[Chunk]:
        """The provider says that the reply is whole.

        Raises
        ------
        ModelError
            After the last pieces, when it stopped inside a block of code or a tool call.
        """
        return self._take(last=True, whole=True)

    def cut(self) -> Iterator[Chunk]:
        """The connection broke here: return what is still buffered, none of it with an `end`."""
        return self._take(last=True, whole=False)

    def _take(self, *, last: bool = False, whole: bool = True) -> Iterator[Chunk]:
        error = None
        try:
            self._read()
            if last:
                self._read_last(whole=whole)
        except ModelError as problem:
            error = problem
            self._queue.clear()  # anything behind unfinished code would look like its end
        yield from _merge(self._out)
        self._out.clear()
        if error is not None:
            raise error

    def _read(self) -> None:
        """Read the queue, up to a call that is not whole yet."""
        queue = self._queue
        while queue:
            item = queue[0]
            if isinstance(item, ToolCall):
                if not item.has_begun:
                    self._text.end(whole=True)
                    self._thought.stop()
                item.read()
                if item.raw and len(queue) > 1:
                    item.end(whole=True)
                if not item.is_done:
                    return
            elif isinstance(item, str):
                self._thought.stop()
                self._text.feed(item)
            elif self._text.in_code:
                self._text.thoughts.append(item.text)  # a block of code is not broken in two
            else:
                self._text.prose.stop()
                self._thought.put(item.text)
            queue.popleft()

    def _read_last(self, *, whole: bool) -> None:
        while self._queue:
            item = self._queue.popleft()
            if isinstance(item, ToolCall):
                if not (whole or item.is_done):
                    self._queue.clear()
                    return
                item.end(whole=whole)
            self._read()
        self._text.end(whole=whole)


class _Halves:
    """Joins the halves of characters that a server which counts in UTF-16 has cut in two."""

    def __init__(self) -> None:
        self._high = ""  # the first half of a surrogate pair; at the very end it is dropped

    def take(self, text: str) -> str:
        if not text:
            return ""
        text, self._high = self._high + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return clean(text)


@dataclass(frozen=True, slots=True)
class _Thought:
    text: str


def _merge(pieces: list[Chunk]) -> Iterator[Chunk]:
    """The pieces, those that arrived together and belong together joined into one."""
    first: Chunk | None = None
    parts: list[str] = []
    for piece in pieces:
        if first is not None and piece.key == first.key and not piece.start and not piece.end:
            parts.append(piece.content)
            continue
        if first is not None:
            yield _join(first, parts)
        first, parts = (None, []) if piece.end else (piece, [])
        if piece.end:
            yield piece
    if first is not None:
        yield _join(first, parts)


def _join(first: Chunk, parts: list[str]) -> Chunk:
    if not parts:
        return first
    content = "".join([first.content or "", *parts])
    return replace(first, content=content)
