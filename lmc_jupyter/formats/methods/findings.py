"""What is known of the code of a notebook: who wrote it, who allowed it, what it read and did.

One rule: it says what the notebook's file and the conversations on this computer say, each for what
it is; a notebook can say of itself what it likes, so its own word is never given as a finding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.content.notebook_file import source_of
from lmc_jupyter.conversation import Conversation, TurnRecord
from lmc_jupyter.lmc import Message, is_code, is_proposal

Figure = tuple[str, str]
"""("png" or "jpeg", base64)."""

FATES = {"ran": "ran", "ran unasked": "ran", "edited": "edited, then ran", "stopped": "stopped"}
"""What became of a block; any other fate is that it did not run."""
ALLOWED = {
    "clicked": "clicked by the person",
    "covered": "by their yes to the whole answer",
    "harmless": "unasked: it only reads and makes new names",
    "rule": "unasked: a rule of the person lets it run",
    "": "nobody",
}
_DECISIONS = {
    "ran": "after the person ran it", "ran unasked": "after it ran unasked",
    "edited": "after the person edited and ran it", "not run": "in place of a run",
    "waits": "in place of a run", "stopped": "after it was stopped", "shown": "as it was shown",
}  # fmt: skip
_CHECKED = {
    "the same": "same output", "ran": "nothing to compare", "different": "different output",
    "failed": "failed", "missing": "failed", "out of order": "failed",
}  # fmt: skip


class CellEntry(NamedTuple):
    """A code cell of the notebook.

    Parameters
    ----------
    number : its place among all cells, from 1
    text : as it stands in the file
    by : who wrote that text, in words
    since : "as it was", "edited since"; "" where that is not known
    again : what `%lmc check` said of this text last, with the day; "" where it never did
    figures : that stand below it
    """

    number: int
    text: str
    by: str
    since: str
    again: str
    figures: tuple[Figure, ...]


class BlockEntry(NamedTuple):
    """A block of code that a model or an agent wrote.

    Parameters
    ----------
    time : ISO 8601, UTC, when it was known what became of it
    by : the model or agent
    language, code : what ran, or would have
    fate, allowed : what became of it, and who allowed it, in words
    new, changed, removed : names
    breach : what it did unasked beside new names
    read : the files that it has read
    figures : that it has shown
    """

    time: str
    by: str
    language: str
    code: str
    fate: str
    allowed: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    breach: str
    read: tuple[FileRead, ...]
    figures: tuple[Figure, ...]


class Methods(NamedTuple):
    """All that is known.

    Parameters
    ----------
    name : of the notebook's file
    made : when and by what this was put together
    talks : how many conversations it rests on
    unknown : sentences on what cannot be known
    """

    name: str
    made: str
    talks: int
    cells: tuple[CellEntry, ...]
    blocks: tuple[BlockEntry, ...]
    unknown: tuple[str, ...]


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find(
    name: str, cells: Sequence[Mapping[str, Any]], conversations: Iterable[Conversation], made: str
) -> Methods:
    """What is known of this notebook.

    Parameters
    ----------
    name : of its file
    cells : of that file, as they stand in it
    conversations : those of this notebook on this computer
    made : the day and the program
    """
    talks = sorted(conversations, key=lambda each: each.began)
    return Methods(
        name,
        made,
        len(talks),
        tuple(_cells(cells, talks)),
        tuple(block for talk in talks for block in _blocks(talk)),
        tuple(_unknown(talks)),
    )


def _blocks(talk: Conversation) -> Iterator[BlockEntry]:
    """Of each block of a conversation what is known."""
    places = {message.id or "": at for at, message in enumerate(talk.messages)}
    for block in talk.blocks:
        at = places.get(block.message)
        if at is None:
            continue  # it was undone
        code = talk.messages[at]
        turn = _turn_at(talk, at, places)
        yield BlockEntry(
            block.time,
            turn.model if turn is not None else talk.model,
            code.format or "",
            code.content,
            FATES.get(block.fate, "not run"),
            ALLOWED.get(block.allowed, "nobody"),
            block.new,
            block.changed,
            block.removed,
            block.breach,
            block.read,
            tuple(_shown(talk.messages[at + 1 :])),
        )


def _shown(messages: Iterable[Message]) -> Iterator[Figure]:
    """The figures of the block before these."""
    for message in messages:
        if message.role != "computer":
            return
        kind = (message.format or "").removeprefix("base64.")
        if message.type == "image" and kind in ("png", "jpeg"):
            yield kind, message.content


def _turn_at(talk: Conversation, at: int, places: Mapping[str, int]) -> TurnRecord | None:
    """The turn that the message at this place belongs to."""
    begun = [each for each in talk.turns if places.get(each.anchor or "", at + 1) <= at]
    return max(begun, key=lambda each: places[each.anchor or ""], default=None)


def _cells(
    cells: Iterable[Mapping[str, Any]], talks: Sequence[Conversation]
) -> Iterator[CellEntry]:
    known = {of: what for talk in talks for of, what in _codes(talk)}
    checked = dict(_checked(talks))
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") != "code":
            continue
        text = source_of(dict(cell))
        metadata = cell.get("metadata")
        mark = metadata.get("lmc") if isinstance(metadata, dict) else None
        by, since = _author(mark, text, known) if isinstance(mark, dict) else ("no mark", "")
        if text.lstrip().startswith("%%lmc"):
            by, since = "the person: a question to a model", ""
        again = checked.get(digest(text), "")
        yield CellEntry(number, text, by, since, again, tuple(_figures(cell)))


def _figures(cell: Mapping[str, Any]) -> Iterator[Figure]:
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        for kind in ("png", "jpeg"):
            found = data.get(f"image/{kind}") if isinstance(data, dict) else None
            if found:
                yield kind, "".join(map(str, found)) if isinstance(found, list) else str(found)


def _checked(talks: Sequence[Conversation]) -> Iterator[tuple[str, str]]:
    """SHA-256 of a cell's text -> what became of it when the notebook ran again; the last is
    right.
    """
    for talk in talks:
        for action in talk.events:
            cells = action.data.get("cells") if action.data.get("action") == "check" else None
            for each in cells if isinstance(cells, (list, tuple)) else ():
                if isinstance(each, Mapping) and each.get("state") in _CHECKED:
                    day = str(action.data.get("time", ""))[:10]
                    yield str(each.get("sha256")), f"{_CHECKED[each['state']]}, {day}"


def _codes(talk: Conversation) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of each code of a conversation: its SHA-256, and who wrote it and what became of it."""
    places = {message.id or "": at for at, message in enumerate(talk.messages)}
    fates = {block.message: block.fate for block in talk.blocks}
    for at, message in enumerate(talk.messages):
        if is_code(message) or is_proposal(message):
            turn = _turn_at(talk, at, places)
            model = turn.model if turn is not None else talk.model
            yield digest(message.content), (model, fates.get(message.id or "", "shown"))


def _author(
    mark: Mapping[str, Any], text: str, known: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    """Who wrote the text that a cell had, and whether that text still stands there."""
    model, decision, first = (mark.get(key) for key in ("model", "decision", "sha256"))
    said = " (the cell says so; no conversation here has this text)"
    if isinstance(first, str) and first in known:  # not by the cell's own word
        (model, decision), said = known[first], ""
    how = _DECISIONS.get(decision, "") if isinstance(decision, str) else ""
    by = f"{str(model) if model else 'a model'} {how}".strip()
    return by + said, "as it was" if first == digest(text) else "edited since"


def _unknown(talks: Sequence[Conversation]) -> Iterator[str]:
    if not talks:
        yield (
            "There is no conversation of this notebook on this computer: who wrote a cell is only "
            "what the cell says of itself."
        )
    yield "A cell without a mark was typed or pasted, or put there by a program that leaves none."
    yield "What cells of the person read, made and changed is not recorded."
    yield (
        "Files that native code reads by itself (Polars, PyArrow, DuckDB), and those of other "
        "languages than Python, are not seen."
    )
    yield "A conversation that was deleted, or that another computer has, is missing here."
