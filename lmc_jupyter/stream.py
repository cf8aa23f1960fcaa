"""The two directions of a stream: pieces -> chunks (`delimit`), chunks -> messages (`Assembler`).

One rule: no other module puts flags on chunks or joins their contents.

A *piece* is a chunk as a model or a language makes it: content, and a flag only where the
boundary would not show by itself. A piece with `end` closes its message (so two images in a
row stay two), a piece with `start` opens a new one (so two code blocks in a row stay two).
The grammar is that of the migration guide's section "New Streaming Structure".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, AnyStr

from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.lmc import CELL, Chunk, Message


def delimit(pieces: Iterable[Chunk]) -> Iterator[Chunk]:
    """Put exactly one `start` and one `end` chunk around the pieces of each message.

    Empty content is not passed on, confirmations pass bare. Closing this iterator emits no
    more: a view ends what is open by itself.
    """
    last: Chunk | None = None
    for piece in pieces:
        if piece.type == "confirmation":
            if last is not None:
                yield _flag(last, end=True)
                last = None
            yield _bare(piece) if piece.start or piece.end else piece
            continue
        has_content = piece.format == "active_line" or (
            piece.content is not None and piece.content != ""
        )
        if last is not None and (piece.start or piece.key != last.key):
            yield _flag(last, end=True)
            last = None
        if last is None and (has_content or piece.start):
            yield _flag(piece, start=True)
            last = piece
        if has_content:
            yield _bare(piece) if piece.start or piece.end else piece
        if piece.end and last is not None:
            yield _flag(piece, end=True)
            last = None
    if last is not None:
        yield _flag(last, end=True)


def _flag(chunk: Chunk, *, start: bool = False, end: bool = False) -> Chunk:
    format_ = None if chunk.type == "console" else chunk.format  # its flags enclose both formats
    return Chunk(chunk.role, chunk.type, format_, None, chunk.recipient, start, end, chunk.cell)


def _bare(chunk: Chunk) -> Chunk:
    return replace(chunk, start=False, end=False)  # of the same class


class Assembler:
    """Builds messages from chunks: feed it every chunk, it returns each message once whole.

    It accepts the strict stream of `delimit`, a chunk that carries content and a flag at
    once, and a whole message without flags. The JavaScript of the migration guide gives the
    same messages. After a `ProtocolError` it is as it was before the bad chunk.
    """

    def __init__(self) -> None:
        self._first: Chunk | None = None
        self._parts: list[str] = []
        self.active_line: int | None = None
        """The line that runs now, while a console is open."""

    @property
    def open(self) -> Chunk | None:
        """The chunk that opened the message which is not yet whole, if there is one."""
        return self._first

    def feed(self, chunk: Chunk) -> Message | None:
        """Take the next chunk; return the message that it completes, else None.

        Raises
        ------
        ProtocolError
            When the chunk opens a message inside another, or belongs to none.
        """
        message = self.take(chunk)
        if message is not None and self._first is not None:
            self.flush()
        return message

    def take(self, chunk: Chunk) -> Message | None:
        """As `feed`; but a message that is whole stays open until `flush`."""
        if chunk.type == "confirmation":
            return None
        if chunk.start:
            if self._first is not None:
                raise ProtocolError(
                    f"a {chunk.type!r} starts while a {self._first.type!r} is open: end that first"
                )
            self._first, self._parts = chunk, []
        elif self._first is None:
            return self._loose(chunk)
        elif self._first.key != chunk.key:
            raise ProtocolError(
                f"a chunk of {_name(chunk)} came while a message of {_name(self._first)} is open: "
                "end that first"
            )
        if chunk.format == "active_line":
            self.active_line = chunk.content
        elif chunk.content:
            self._parts.append(chunk.content)
        return self.so_far() if chunk.end else None

    def flush(self) -> Message | None:
        """What there is of the open message, if one is open: a stopped reply is kept so far."""
        message = self.so_far()
        self._first = self.active_line = None
        return message

    def so_far(self) -> Message | None:
        """What there is of the open message, which stays open; None where none is."""
        first = self._first
        if first is None:
            return None
        format_ = "output" if first.type == "console" else first.format
        return _message(first, format_, "".join(self._parts))

    def _loose(self, chunk: Chunk) -> Message | None:
        """A whole message without flags; an active line or an end without a message is lost."""
        if chunk.format == "active_line" and not chunk.end:
            self.active_line = chunk.content
            return None
        if chunk.content is None or chunk.format == "active_line":
            raise ProtocolError(
                f"an end of {_name(chunk)} came, but no message is open: start one first"
            )
        return _message(chunk, chunk.format, chunk.content)


def _message(head: Chunk, format_: str | None, content: Any) -> Message:
    """A message under the head of this chunk."""
    extra = {} if head.cell is None else {CELL: head.cell}
    return Message(head.role, head.type, format_, content, head.recipient, extra=extra)


def _name(chunk: Chunk) -> str:
    return "/".join(str(part) for part in chunk.key if part is not None)


def partial_suffix(text: AnyStr, delimiters: Iterable[AnyStr], least: int = 1) -> int:
    """Index of the longest end of `text` that begins a delimiter, which more text may complete.

    Its length where there is none.

    Parameters
    ----------
    least : a beginning of fewer characters does not count
    """
    at = len(text)
    for delimiter in delimiters:
        start = text.find(delimiter[:least], max(0, len(text) - len(delimiter) + 1))
        while 0 <= start < at:
            if delimiter.startswith(text[start:]):
                at = start
            else:
                start = text.find(delimiter[:least], start + 1)
    return at
