"""What became of each cell of a notebook that ran again.

One rule: what a cell lacks is known from the run itself, by its NameError; the code is parsed only
to say which cell makes that name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from lmc_jupyter.computer.check.outputs import Outputs, error_line
from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.code_names import assigned_names

State = Literal["the same", "ran", "different", "failed", "missing", "out of order", "not run"]
"""`ran`: there is nothing to compare. `missing`: it needs a name that no cell makes.
`out of order`: it needs a name that only a cell below makes."""

MOST_SOURCE = 200
"""Characters of a cell's first line in a report."""

_ASKS = re.compile(r"^\s*%%lmc\b", re.MULTILINE)
_LINE = re.compile(r"^([ \t]*)%lmc\b.*$", re.MULTILINE)
_OURS = re.compile(r"^[ \t]*%(?:lmc\b|(?:re)?load_ext[ \t]+lmc_jupyter\b)", re.MULTILINE)
_AROUND = re.compile(r"%%(?:time|capture)\b[^\n]*\n?")
"""A magic of a cell whose body is python that runs in the notebook."""
_NAME = re.compile(r"name '(\w+)' is not defined")
_FRAME = re.compile(r"^(Cell|File) ", re.MULTILINE)


@dataclass(frozen=True)
class CellReport:
    """What became of one cell.

    Parameters
    ----------
    number : its place among the code cells, from 1
    count : its saved number, as in `In [7]`; None for none
    source : its first line
    notes : lines that say more
    sha256 : of its whole text, in hexadecimal
    """

    number: int
    count: int | None
    source: str
    state: State
    notes: list[str]
    sha256: str = ""


@dataclass
class CheckedCell:
    """A code cell of the notebook, before and after the run.

    Parameters
    ----------
    saved : its outputs in the file
    new : its outputs of the run; None where it did not run
    traceback : of the error that ended it
    reason : why it did not run, or what ended it
    """

    number: int
    source: str
    count: int | None
    saved: Outputs
    new: Outputs | None = None
    traceback: str = ""
    reason: str = ""
    makes: set[str] = field(default_factory=set)

    @property
    def asks_model(self) -> bool:
        """Whether it is a `%%lmc` cell."""
        return bool(_ASKS.search(self.source))

    @property
    def left_out(self) -> str:
        """Why it is not to be run; "" where it is."""
        if self.asks_model:
            return "it asks the model"
        return "" if _LINE.sub("", self.source).strip() else "it is a %lmc command"

    @property
    def runs(self) -> str:
        """What of it runs: without its `%lmc` lines."""
        return _LINE.sub(r"\1pass", self.source)

    @property
    def has_ended(self) -> bool:
        """Whether it ran to its end."""
        return self.new is not None and not self.new.failure and not self.reason


def judge(cells: Sequence[CheckedCell]) -> list[CellReport]:
    """What became of these cells, in their order."""
    for each in cells:
        each.makes = names_made(each.source)
    reports = []
    for each in cells:
        state, notes = _judge(each, cells)
        sha256 = hashlib.sha256(each.source.encode("utf-8", "surrogatepass")).hexdigest()
        first = _first_line(each.source)
        reports.append(CellReport(each.number, each.count, first, state, notes, sha256))
    return reports


def _first_line(source: str) -> str:
    return shorten.line(source.strip().split("\n")[0], MOST_SOURCE)


def _judge(cell: CheckedCell, cells: Sequence[CheckedCell]) -> tuple[State, list[str]]:
    if cell.new is None:
        return "not run", [cell.reason] if cell.reason else []
    if cell.reason:
        return "failed", [cell.reason]
    is_saved = cell.saved != Outputs() or cell.count is not None
    difference = cell.saved.difference(cell.new)
    if cell.new.failure and not (is_saved and cell.saved.failure == cell.new.failure):
        return _failure(cell, cell.new.failure, cells)
    if not is_saved:
        return "ran", []
    if _OURS.search(cell.source):
        return "ran", []
    return ("different", difference) if difference else ("the same", [])


def _failure(
    cell: CheckedCell, failure: tuple[str, str], cells: Sequence[CheckedCell]
) -> tuple[State, list[str]]:
    """The state of a cell that failed as the saved one did not."""
    match = _NAME.search(failure[1]) if failure[0] == "NameError" else None
    if match is None or not _is_in_cell(cell.traceback):
        return "failed", [error_line(*failure)]
    name = match[1]
    makers = [each for each in cells if name in each.makes and each is not cell]
    above = [each for each in makers if each.number < cell.number]
    if above:
        maker = above[-1]
        if maker.has_ended:
            return "failed", [error_line(*failure)]
        what = "was not run" if maker.new is None else "failed"
        return "failed", [f"`{name}` comes from cell {maker.number}, which {what}"]
    if makers:
        return "out of order", [f"`{name}` comes from cell {makers[0].number}, which stands below"]
    notes = [f"no cell makes `{name}`"]
    if any(each.asks_model for each in cells[: cell.number]):
        notes.append(
            "perhaps the answer to a %%lmc cell made it: `%lmc export` writes a notebook with the "
            "code of the answers"
        )
    return "missing", notes


def _is_in_cell(traceback: str) -> bool:
    """Whether the innermost frame is a cell's: a name that a module lacks is none of a cell."""
    frames = _FRAME.findall(terminal.plain(traceback))
    return not frames or frames[-1] == "Cell"


def note_order(reports: Sequence[CellReport], ran: Sequence[str] | None = None) -> None:
    """Add a line to each cell of which the saved numbers say that one below ran before it.

    A kernel counts from 1 after a restart: numbers of two kernels say nothing of an order.

    Parameters
    ----------
    ran : sources of the cells of the kernel that runs now, by their numbers: others ran in one
        before; None where it is not known: then a number that is there twice tells of two kernels
    """
    counted = [(each, each.count) for each in reports if each.count is not None]
    if ran is not None:
        lines = dict(enumerate(map(_first_line, ran), 1))
        counted = [pair for pair in counted if lines.get(pair[1]) == pair[0].source]
    elif len({count for _, count in counted}) < len(counted):
        return
    for at, (report, count) in enumerate(counted):
        before = next((other for _, other in counted[at + 1 :] if other < count), None)
        if before is not None and report.state != "out of order":
            report.notes.append(f"it ran out of order: In [{count}] stands above In [{before}]")


def names_made(source: str) -> set[str]:
    """The names of the notebook that a cell's python binds."""
    from IPython.core.inputtransformer2 import TransformerManager

    code = TransformerManager().transform_cell(_AROUND.sub("", source.lstrip(), count=1))
    return assigned_names(code)
