"""What a cell needs of the notebook's own document: the Markdown above it, where cells stand, and
that it is saved.

One rule: JupyterLab says it as the cell is about to run (js/src/lab/running.ts); elsewhere the
notebook's file is read, which lacks what a person has not saved. What cannot be read is nothing.
"""

from __future__ import annotations

import time
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from comm import get_comm_manager

from lmc_jupyter.content.cell import read_places
from lmc_jupyter.kernel.frontend import kernel_of, notebook_path, parent_of

MAX_CHARACTERS = 20_000
"""Of the Markdown; what is sent of it is far less."""

MAX_BYTES = 20_000_000
"""A larger file is not read: it would take too long for one question."""

SAVES = 10.0
"""Seconds that a front end has to save the notebook."""

TARGET = "lmc-jupyter:document"
"""The comm that JupyterLab opens before a cell that asks; the kernel takes its data and closes it.
"""


class Document:
    """The document of one shell's notebook."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._above: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self._saved: float | None = None
        if kernel_of(shell) is not None:
            get_comm_manager().register_target(TARGET, self._take)

    def close(self) -> None:
        """Take no more of a front end."""
        if kernel_of(self._shell) is not None:
            get_comm_manager().unregister_target(TARGET, self._take)

    def _take(self, comm: Any, message: Any) -> None:
        from lmc_jupyter.kernel.mailbox import Mailbox  # at the first cell that asks

        Mailbox.of(kernel_of(self._shell)).has_page = True
        data = message["content"]["data"]
        id, text = data.get("cell"), data.get("above")
        if isinstance(id, str) and isinstance(text, str):
            self._above = {id: text[-MAX_CHARACTERS:]}  # of the one cell that comes next
            self._places = read_places(data.get("outline"))
        if isinstance(saved := data.get("saved"), str):
            self._saved = _seconds(saved)
        comm.close()

    def is_on_screen(self, path: Path) -> bool | None:
        """Whether this file has what stands on the screen; waits while the front end saves it.

        None where the front end has said nothing: it has nothing to save, or tells no kernel.
        """
        before, self._saved = self._saved, None
        if before is None:
            return None
        end = time.monotonic() + SAVES
        while not path.is_file() or path.stat().st_mtime <= before + 0.001:  # as ISO rounds it
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def places(self) -> dict[str, str]:
        """id of a cell -> where it stands, as JupyterLab has said it for the cell that runs now."""
        places, self._places = self._places, {}
        return places

    def above(self) -> str:
        """The Markdown cells directly above the cell that runs now; "" for none.

        In a terminal there is no document; in a front end that names no cell it is not known which
        one runs.
        """
        kernel = kernel_of(self._shell)
        id = None if kernel is None else (parent_of(kernel).get("metadata") or {}).get("cellId")
        if not isinstance(id, str):
            return ""
        said = self._above.pop(id, None)
        return _in_file(notebook_path(self._shell), id) if said is None else said


def _seconds(iso: str) -> float:
    """A time of the server's as seconds since 1970; now where it says none."""
    try:
        return datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return time.time()


def _in_file(path: str, id: str) -> str:
    if not path:
        return ""
    try:
        status = Path(path).stat()
    except OSError:  # it was moved, or the kernel runs elsewhere
        return ""
    if status.st_size > MAX_BYTES:
        return ""
    return above(_cells(path, status.st_mtime_ns, status.st_size), id)


def above(cells: tuple[tuple[str, str, str], ...], id: str) -> str:
    """The Markdown directly above the cell of this id, of cells as (id, type, source)."""
    texts: list[str] = []
    for own, kind, source in cells:
        if own == id:
            return "\n\n".join(texts)
        if kind == "markdown":
            texts.append(source.strip())
        else:
            texts.clear()
    return ""


@lru_cache(maxsize=2)
def _cells(path: str, _modified: int, _size: int) -> tuple[tuple[str, str, str], ...]:
    """(id, type, source) of each cell of a notebook's file, as it was when it was last changed."""
    from lmc_jupyter.content.notebook_file import read_cells, source_of

    return tuple(
        (str(each.get("id", "")), str(each.get("cell_type", "")), source_of(each))
        for each in read_cells(path)
    )
