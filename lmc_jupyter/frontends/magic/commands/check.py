"""The command that runs the notebook again, and its report.

One rule: what counts as the same is decided in `computer.check`; this shows it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from lmc_jupyter.content import shorten
from lmc_jupyter.conversation.events import Acted
from lmc_jupyter.frontends.magic.commands.files import notebook_file, paths
from lmc_jupyter.frontends.magic.commands.table import Invocation, WrongCommand, columns, command

if TYPE_CHECKING:
    from lmc_jupyter.computer.check import CellReport, Report, State

TIMEOUT = 300
"""Seconds that a cell may take."""
MOST_SOURCE = 50
"""Characters of a cell's first line."""

_WORDS: dict[State, str] = {
    "the same": "same output",
    "ran": "not compared",
    "different": "different",
    "failed": "failed",
    "missing": "missing a name",
    "out of order": "out of order",
    "not run": "skipped",
}
_AGAIN = "ran from top to bottom in a fresh kernel"
_BREAKS: tuple[State, ...] = ("failed", "missing", "out of order")
"""Where a notebook does not run again."""


@command(
    "check",
    "[PATH] [--timeout SECONDS]",
    help="run the notebook in a fresh kernel, and compare it cell by cell",
    more="Without a path it is this notebook: JupyterLab and Notebook 7 save it first, elsewhere "
    "it is the saved file. Cells and lines that ask the model are not run. A cell may take "
    f"{TIMEOUT} seconds, or as many as --timeout says. Stop ends it.",
    complete={"PATH": paths},
    in_panel=False,
)
def check(call: Invocation, path: str | None, timeout: str | None) -> str:
    from lmc_jupyter.computer.check import check as run_again  # not with the extension

    seconds = TIMEOUT
    if timeout is not None:
        if not timeout.isdecimal() or not int(timeout):
            raise WrongCommand(f"--timeout takes a number of seconds, not {timeout!r:.40}")
        seconds = int(timeout)
    target, age = (Path(path).expanduser(), "") if path is not None else _this_notebook(call)
    if not target.is_file():
        what = "a folder" if target.is_dir() else "no file"
        raise WrongCommand(f"{str(target)!r} is {what}: name the file of a notebook")
    ran = None if path is not None else [source for source, _ in call.session.computer.cells()]
    call.front.progress("starting a fresh kernel")
    try:
        report = run_again(target, timeout=seconds, progress=call.front.progress, ran=ran)
    finally:
        call.front.progress("")
    if path is None and call.session.history:  # for `%lmc methods`
        cells = [{"sha256": each.sha256, "state": each.state} for each in report.cells]
        call.session.history.tell(Acted({"action": "check", "cells": cells}))
    return "\n".join([*_lines(report), *(["", age] if age else [])])


def _this_notebook(call: Invocation) -> tuple[Path, str]:
    """The file of this kernel's notebook, with all that ran so far; and a sentence on its age, ""
    where it has what stands on the screen.

    Raises
    ------
    WrongCommand
        Where there is none, or it is not saved.
    """
    name = call.session.journal.notebook
    if not name:
        raise WrongCommand(
            "the file of this notebook is not known here: name it, `%lmc check PATH`"
        )
    path = notebook_file(name)
    if not path.is_file():
        raise WrongCommand(
            f"there is no file {name!r}: save the notebook; where it was renamed since its kernel "
            "started, name its file, `%lmc check PATH`"
        )
    on_screen = call.commands.is_on_screen(path)
    saved = path.stat().st_mtime
    if saved < call.cells.last_end:
        raise WrongCommand(
            "cells ran since the notebook was saved: save it (Ctrl+S, ⌘ S), then enter "
            "`%lmc check` again"
        )
    if on_screen:
        return path, ""
    changed = "; the notebook on screen has changed since" if on_screen is False else ""
    return path, f"Checked as saved at {time.strftime('%H:%M', time.localtime(saved))}{changed}."


def _lines(report: Report) -> Iterator[str]:
    """The report as text: in a line whether it runs again, then its cells."""
    counts = Counter(each.state for each in report.cells)
    breaks = sum(counts[state] for state in _BREAKS)
    differences = counts["different"]
    if breaks:
        verdict = "does not run again"
    elif differences:
        differ = "output differs" if differences == 1 else "outputs differ"
        verdict = f"{_AGAIN}, but {differences} {differ}"
    else:
        verdict = f"{_AGAIN}: no output differs"
    yield f"{report.path.name} {verdict}."
    total = sum(counts.values())
    shares = ", ".join(f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state])
    yield f"{total} {'cell' if total == 1 else 'cells'} in {report.seconds:.0f} s: {shares}."
    yield ""
    rows: list[list[str]] = []
    notes: list[list[str]] = []
    for _, group in groupby(report.cells, _alike):
        first, *more = group
        number = str(first.number)
        count = "" if first.count is None else f"In [{first.count}]"
        source = shorten.line(first.source, MOST_SOURCE)
        if more:
            number, count, source = f"{number}-{more[-1].number}", "", ""
        rows.append([number, count, _WORDS[first.state], source])
        notes.append(first.notes)
    if not any(count for _, count, *_ in rows):
        rows = [[number, *others] for number, _, *others in rows]
    width = sum(max(map(len, column)) + 2 for column in [*zip(*rows, strict=True)][:-2])
    for line, below in zip(columns(rows), notes, strict=True):
        yield line
        yield from (f"{'':<{width}}{note}" for note in below)


def _alike(cell: CellReport) -> object:
    """A value that cells have in common which stand in one line of the report."""
    if cell.state == "not run" or not cell.notes:
        return cell.state, cell.notes
    return cell.number
