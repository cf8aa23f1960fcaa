"""Who wrote and ran the code of a notebook, as Markdown for the appendix of a paper.

One rule: it says what the notebook's file and the conversations on this computer say, each for what
it is; a notebook can say of itself what it likes, so its own word is never given as a finding.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lmc_jupyter.content import shorten
from lmc_jupyter.content.notebook_file import source_of
from lmc_jupyter.conversation import Conversation, TurnRecord
from lmc_jupyter.lmc import is_code, is_proposal

MOST_CODE = 60
"""Characters of a line of code or of a question."""
DIGEST = 12
"""Digits of a SHA-256 in a table."""

_ALLOWED = {
    "clicked": "clicked by the person",
    "covered": "by their yes to the whole answer",
    "harmless": "unasked: it only reads and makes new names",
    "rule": "unasked: a rule of the person lets it run",
    "": "nobody",
}
_FATES = {"ran": "ran", "ran unasked": "ran", "edited": "edited, then ran", "stopped": "stopped"}
_DECISIONS = {
    "ran": "after the person ran it", "ran unasked": "after it ran unasked",
    "edited": "after the person edited and ran it", "not run": "in place of a run",
    "waits": "in place of a run", "stopped": "after it was stopped", "shown": "as it was shown",
}  # fmt: skip


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def methods(
    name: str, cells: Sequence[Mapping[str, Any]], conversations: Iterable[Conversation], made: str
) -> str:
    """The page.

    Parameters
    ----------
    name : of the notebook's file
    cells : of that file, as they stand in it
    conversations : those of this notebook on this computer
    made : the day and the program
    """
    talks = sorted(conversations, key=lambda each: each.began)
    blocks = [line for talk in talks for line in _blocks(talk)]
    lines = [
        f"# Who wrote and ran the code of {_plain(name)}",
        f"{made}, from the notebook's file and {len(talks)} "
        f"conversation{'' if len(talks) == 1 else 's'} on this computer.",
        "## The cells, in their order",
        *_table(("cell", "begins", "SHA-256", "text by", "since then"), _cells(cells, talks)),
        "## The code that models and agents wrote",
        *(_table(_HEAD, blocks) if blocks else ["None is known."]),
        "## What cannot be known",
        *(f"- {sentence}" for sentence in _unknown(talks)),
    ]
    return "\n\n".join("\n".join(part) for part in _paragraphs(lines)) + "\n"


_HEAD = ("when", "by", "begins", "SHA-256", "what became of it", "allowed", "made", "changed")


def _blocks(talk: Conversation) -> Iterator[tuple[str, ...]]:
    """Of each block of a conversation what is known."""
    places = {message.id or "": at for at, message in enumerate(talk.messages)}
    for block in talk.blocks:
        at = places.get(block.message)
        if at is None:
            continue  # it was undone
        code = talk.messages[at]
        turn = _turn_at(talk, at, places)
        changed = [*block.changed, *(f"{each} (removed)" for each in block.removed)]
        breach = f", **unasked: {_plain(block.breach)}**" if block.breach else ""
        yield (
            block.time[:19].replace("T", " "),
            _plain(turn.model if turn is not None else talk.model),
            _code(code.content),
            _code(digest(code.content)[:DIGEST]),
            _FATES.get(block.fate, "not run"),
            _ALLOWED.get(block.allowed, "nobody"),
            ", ".join(map(_code, block.new)),
            ", ".join(map(_code, changed)) + breach,
        )


def _turn_at(talk: Conversation, at: int, places: Mapping[str, int]) -> TurnRecord | None:
    """The turn that the message at this place belongs to."""
    begun = [each for each in talk.turns if places.get(each.anchor or "", at + 1) <= at]
    return max(begun, key=lambda each: places[each.anchor or ""], default=None)


def _cells(
    cells: Iterable[Mapping[str, Any]], talks: Sequence[Conversation]
) -> Iterator[tuple[str, ...]]:
    known = {of: what for talk in talks for of, what in _codes(talk)}
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") != "code":
            continue
        text = source_of(dict(cell))
        metadata = cell.get("metadata")
        mark = metadata.get("lmc") if isinstance(metadata, dict) else None
        by, since = _author(mark, text, known) if isinstance(mark, dict) else ("no mark", "")
        begins = text
        if text.lstrip().startswith("%%lmc"):
            by, begins = "the person: a question to a model", text.strip().partition("\n")[2]
        yield str(number), _code(begins), _code(digest(text)[:DIGEST]), by, since


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
    by = f"{_plain(str(model)) or 'a model'} {how}".strip()
    return by + said, "as it was" if first == digest(text) else "edited since"


def _unknown(talks: Sequence[Conversation]) -> Iterator[str]:
    if not talks:
        yield (
            "There is no conversation of this notebook on this computer: who wrote a cell is only "
            "what the cell says of itself."
        )
    yield "A cell without a mark was typed or pasted, or put there by a program that leaves none."
    yield "What cells of the person read, made and changed is not recorded."
    yield "A conversation that was deleted, or that another computer has, is missing here."


# Markdown -----------------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(each) + " |" for each in lines]


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines of one table or list stand together, all others alone."""
    group: list[str] = []
    for line in lines:
        if group and not (line[:1] in "|-" and line[:1] == group[-1][:1]):
            yield group
            group = []
        group.append(line)
    yield group


def _code(text: str) -> str:
    """The first line of a text as code in a cell of a table."""
    first = shorten.line(text.strip().split("\n", 1)[0], MOST_CODE)
    plain = " ".join(first.replace("|", "\\|").split())
    if "`" in plain:
        return f"`` {plain.replace('``', '` `')} ``"
    return f"`{plain}`" if plain else ""


def _plain(text: str) -> str:
    """Text of others as plain words in a cell of a table."""
    return re.sub(r"[\\|*_<>\[\]#~&!`]", r"\\\g<0>", " ".join(text.split()))
