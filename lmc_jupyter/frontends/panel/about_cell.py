"""Questions about one cell of the notebook: what Fix, Explain and Ask at a cell put to the model.

One rule: a cell that this kernel has run is pointed at, so that its own record goes with the
question; of any other the text goes that the notebook shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.cell import Cell
from lmc_jupyter.content.chat import fence
from lmc_jupyter.context.cells import LIMITS
from lmc_jupyter.context.parts import to_extra
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.panel.wire import text
from lmc_jupyter.lmc import Message
from lmc_jupyter.session import Session

WISHES = {
    "fix": "Fix {}, which failed: write the whole cell again.",
    "explain": "Explain why {} failed.",
}
"""What is asked about a cell, by the word of the button; the whole of it can be replaced."""

MAX_SOURCE = 8_000
"""Characters of a cell's source in a question."""


@dataclass(frozen=True)
class ShownCell:
    """A cell as a notebook shows it (`ShownCell` of protocol.ts).

    Parameters
    ----------
    id : its id in the notebook
    number : N of its `In [N]`; None where it did not run
    source : its text
    error : its traceback, "" for none
    hidden : whether it has the tag `lmc-hide`
    """

    id: str
    number: int | None
    source: str
    error: str
    hidden: bool


def read_cell(content: Mapping[str, Any]) -> ShownCell:
    """The cell that a front end names.

    Raises
    ------
    LMCError
        For what is none, and for a cell that no model gets.
    """
    cell = content.get("cell")
    if not isinstance(cell, dict):
        raise LMCError("the page names no cell: reload the page and press again")
    number = cell.get("number")
    shown = ShownCell(
        text(cell, "id"),
        number if isinstance(number, int) else None,
        text(cell, "source"),
        text(cell, "error"),
        cell.get("hidden") is True,
    )
    if shown.hidden:
        raise SessionError(
            "this cell has the tag lmc-hide, so no model gets it: take the tag off and ask again"
        )
    return shown


def question(session: Session, wish: str, shown: ShownCell) -> str | Message:
    """What to ask about a cell; `wish` is a key of `WISHES`."""
    ran = _find(session.prompt.cells(), shown)
    if ran is not None:
        return WISHES[wish].format(f"@cell {ran.number}")
    content = f"{WISHES[wish].format('this cell')}\n\n{_blocks(session, shown)}"
    return Message("user", "message", content=content, extra=to_extra((), about=shown.id))


def reference(session: Session, shown: ShownCell) -> str:
    """What a question says to be about a cell: "@cell 12 ", or a block that stands below it."""
    ran = _find(session.prompt.cells(), shown)
    if ran is not None and ran.source == shown.source.strip():
        return f"@cell {ran.number} "
    return f"\n\n{_blocks(session, shown)}"


def _find(cells: Sequence[Cell], shown: ShownCell) -> Cell | None:
    """The run of this cell that the notebook shows; a number of an ended kernel is of no use."""
    found = (each for each in cells if shown.id and each.id == shown.id)
    return next((each for each in found if each.number == shown.number), None)


def _blocks(session: Session, shown: ShownCell) -> str:
    redact = session.prompt.redact
    blocks = [fence("python", redact(shorten.middle(shown.source, MAX_SOURCE)).strip())]
    error = terminal.plain(shown.error).strip()
    if error:
        blocks.append(fence("", redact(shorten.middle(error, LIMITS["error"])).strip()))
    return "\n\n".join(blocks)
