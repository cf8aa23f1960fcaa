"""The ledger: what goes with the next question, and what the person has chosen of it.

One rule: what it lists is computed by `Prompt.companions`, as what is sent is; what a front end
says of the notebook's document is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lmc_jupyter.content.cell import read_places
from lmc_jupyter.context.cells import CellChoice, Selected
from lmc_jupyter.context.parts import Part
from lmc_jupyter.context.question import Unseen, describe
from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.frontends.magic.commands.table import PersonsCells
from lmc_jupyter.frontends.panel.wire import text
from lmc_jupyter.kernel.cells import cut, is_ours
from lmc_jupyter.session import Session

POINTERS = {
    "cell": "the selected cell, or the last one that ran",
    "output": "what that cell put out",
    "above": "the Markdown above the selected cell",
    "selection": "the text that is selected in a cell",
}
"""What `@word` points at in a question."""

_OF_DOCUMENT = ("above", "selection")
_CELLS = 8
"""How many of the newest cells are offered by their numbers."""


def read_choice(value: object, cells: PersonsCells | None) -> CellChoice:
    """The choice that a front end sent (`Choice` of protocol.ts).

    Cells that have the tag `lmc-hide` in the document are hidden in `cells`, from now on.

    Raises
    ------
    LMCError
        When it is something else.
    """
    if not isinstance(value, Mapping):
        return CellChoice()
    left_out = _strings(value, "left_out")
    document = value.get("document")
    selected, above, places = None, "", dict[str, str]()
    if isinstance(document, Mapping):
        hidden = _strings(document, "hidden")
        if cells is not None and hidden:
            cells.hide(ids=hidden)
        above = text(document, "above")
        places = read_places(document.get("outline"))
        cell = document.get("selected")
        if isinstance(cell, Mapping):
            id, source = text(cell, "id"), cut(text(cell, "source").strip())
            is_shown = id not in hidden and not is_ours(source)
            selected = Selected(id, source, text(cell, "text")) if is_shown else Selected("", "")
    return CellChoice(
        pointed=frozenset(_numbers(value, "pinned")),
        left_out=frozenset(number for each in left_out if (number := _number(each)) is not None),
        without=frozenset(each for each in left_out if _number(each) is None),
        above=above,
        selected=selected,
        places=places,
    )


def ledger(session: Session, question: str, choice: CellChoice) -> dict[str, Any]:
    """`Ledger` of protocol.ts: the parts that go with this question, and those left out.

    Raises
    ------
    SessionError
        Where the question points at what is not there.
    """
    listed: list[tuple[Part, bool]] = []
    unseen = None
    always: list[Part] = []
    with suppress(ModelError):  # there can be no such model: the question reports it
        listed = session.prompt.listed(question, choice)
        unseen = session.prompt.companions(question, choice).unseen
        always = session.prompt.list_parts(session.glm.for_prompt())
    return {
        "line": describe([part for part, goes in listed if goes], always),
        "parts": [part_wire(part) for part, _ in listed],
        "always": [part_wire(part) for part in always],
        "unseen": unseen_wire(unseen),
    }


def part_wire(part: Part) -> dict[str, Any]:
    """`Part` of protocol.ts."""
    return {
        "kind": part.kind,
        "title": part.title,
        "tokens": part.tokens,
        "content": part.content,
        "id": part.id,
        "number": _number(part.id),
    }


def unseen_wire(unseen: Unseen | None) -> dict[str, Any] | None:
    """`Unseen` of protocol.ts."""
    if unseen is None:
        return None
    return {
        "title": unseen.title,
        "why": unseen.why,
        "numbers": unseen.numbers,
        "can_go": unseen.can_go,
    }


def pointers(session: Session, prefix: str, has_document: bool) -> list[dict[str, str]]:
    """The words that begin so and point at the notebook, as `Name` of protocol.ts.

    Of a bare `@` they are the words alone, without each cell: `@cell` lists those.
    """
    prefix = prefix.lower()
    if prefix in POINTERS and prefix != "cell":
        return []  # it is written: Enter sends the question
    names = {
        word: what for word, what in POINTERS.items() if has_document or word not in _OF_DOCUMENT
    }
    visible = [each for each in session.prompt.cells() if not each.hidden]
    for cell in reversed(visible[-_CELLS:] if prefix else []):
        names[f"cell {cell.number}"] = cell.source.partition("\n")[0][:60]
    return [
        {"name": name, "type": what, "shape": ""}
        for name, what in names.items()
        if name.startswith(prefix)
    ]


def _number(id: str) -> int | None:
    match = re.fullmatch(r"cell (\d{1,9})", id)
    return int(match[1]) if match else None


def _strings(value: Mapping[Any, Any], key: str) -> list[str]:
    return [each for each in _list(value, key) if isinstance(each, str)]


def _numbers(value: Mapping[Any, Any], key: str) -> list[int]:
    return [each for each in _list(value, key) if isinstance(each, int)]


def _list(value: Mapping[Any, Any], key: str) -> list[Any]:
    found = value.get(key, [])
    if not isinstance(found, list):
        raise LMCError(f"{key!r} must be a list, not {type(found).__name__}")
    return found
