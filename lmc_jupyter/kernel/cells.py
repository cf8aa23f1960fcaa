"""The person's own cells: the last one, and the last that failed.

One rule: it only records; blocks of a model and cells with `%lmc` do not count.
"""

from __future__ import annotations

import traceback
from typing import Any

from IPython.core.error import UsageError

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.errors import LMCError
from lmc_jupyter.kernel.values import value_of

MAX_SOURCE = 8_000
"""Characters of a cell, or of a function's source."""


class Cells:
    """Records the cells of one shell from now on, until `close`."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._last = ""
        self._failure: tuple[str, BaseException] | None = None
        shell.events.register("post_run_cell", self._ran)

    def close(self) -> None:
        """Stop recording."""
        self._failure = None
        self._shell.events.unregister("post_run_cell", self._ran)

    def _ran(self, result: Any) -> None:
        info = getattr(result, "info", None)
        if info is None or not info.store_history:
            return
        cell = info.raw_cell.strip()
        if cell and not cell.startswith(("%lmc", "%%lmc")):
            self._last = cell
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not isinstance(error, (KeyboardInterrupt, LMCError, UsageError)):
            self._failure = cell, error

    @property
    def last(self) -> str:
        """The source of the last cell; "" where there was none."""
        return cut(self._last)

    @property
    def failure(self) -> tuple[str, BaseException, str] | None:
        """(source, error, file name) of the last cell that failed; None where none did."""
        if self._failure is None:
            return None
        cell, error = self._failure
        return cut(cell), error, _filename(error)

    def source_of(self, name: str) -> str | None:
        """The source of a function or class of this name, else its value; None: there is none."""
        return value_of(self._shell, name, MAX_SOURCE)


def history(shell: Any) -> list[tuple[str, str]]:
    """Every cell of this kernel so far: its source, and the text of its traceback if it failed.

    The place of a cell in the list is its number less one. Which cells failed is known from
    IPython 9 on; before, a cell that failed looks like any other.
    """
    manager = shell.history_manager
    if manager is None:
        return []
    errors = getattr(manager, "exceptions", {})
    return [
        (str(source), _traceback(errors.get(number)))
        for number, source in enumerate(manager.input_hist_raw)
        if number
    ]


def _traceback(error: Any) -> str:
    lines = error.get("traceback") if isinstance(error, dict) else None
    return terminal.plain("\n".join(map(str, lines))) if isinstance(lines, list) else ""


def _filename(error: BaseException) -> str:
    """The cell's own name in the traceback: the first frame that is not IPython's."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if not str(frame.f_globals.get("__name__", "")).startswith(("IPython", "ipykernel")):
            return frame.f_code.co_filename
    return ""


def cut(text: str) -> str:
    """The text, truncated to `MAX_SOURCE` characters."""
    return shorten.middle(text, MAX_SOURCE)
