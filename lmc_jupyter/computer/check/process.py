"""The process that runs a notebook again, and what it says.

One rule: whatever ends the check, the process and the fresh kernel end with it, and all that they
have started. (A process that leaves its session is out of reach, as everywhere.)
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lmc_jupyter.computer.check.judge import CellReport, note_order
from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.errors import ComputerError, Stopped

_BEGIN = """
import sys
sys.path.append(sys.argv[1])
from lmc_jupyter.computer.check.fresh import main
main(*sys.argv[2:])
"""
"""Its working directory is empty: it imports nothing from the notebook's folder."""
_PACKAGE = str(Path(__file__).parents[3])


@dataclass(frozen=True)
class Report:
    """What became of a notebook that ran again.

    Parameters
    ----------
    path : of its file
    seconds : how long it took
    cells : its code cells, in their order
    """

    path: Path
    seconds: float
    cells: list[CellReport]


def check(
    path: Path,
    *,
    timeout: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
    ran: Sequence[str] | None = None,
) -> Report:
    """Run the notebook of this file in a fresh kernel of this Python, in the file's folder.

    Parameters
    ----------
    timeout : seconds that a cell may take; one that takes longer ends the run; None: no limit
    progress : gets "cell 3 of 12" as each begins
    ran : sources of the cells of this notebook's kernel, see `note_order`

    Raises
    ------
    ComputerError
        When it is no notebook of Python, or there is no fresh kernel.
    Stopped
        After a KeyboardInterrupt; nothing of it runs any more.
    """
    cell, of, kernel = 0, 0, None
    with _folder() as folder:
        log = Path(folder, "log")
        process = _start(path, timeout, folder, log)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                news = json.loads(line)
                kernel, of = news.get("kernel", kernel), news.get("of", of)
                if "cell" in news:
                    cell = news["cell"]
                    progress(f"cell {cell} of {of}")
                if "problem" in news or "cells" in news:
                    kernel = None  # it has ended, and its id may be another's
                if "problem" in news:
                    raise ComputerError(f"{str(path)!r} {news['problem']}")
                if "cells" in news:
                    cells = [CellReport(**each) for each in news["cells"]]
                    note_order(cells, ran)
                    return Report(path, news["seconds"], cells)
            raise ComputerError(f"the check of {str(path)!r} ended too early{last_line(log)}")
        except KeyboardInterrupt:
            where = f" at cell {cell} of {of}" if cell else ""
            raise Stopped(f"the check was stopped{where}: nothing of it runs any more") from None
        finally:
            _end(process, kernel)


def _start(path: Path, timeout: int | None, folder: str, log: Path) -> subprocess.Popen[str]:
    words = [str(path.resolve()), folder, *([] if timeout is None else [str(timeout)])]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN, _PACKAGE, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            encoding="utf-8",
            start_new_session=True,  # the kernel's interrupt does not reach it: `check` ends it
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    reaper.watch(process.pid)
    return process


def _end(process: subprocess.Popen[str], kernel: int | None) -> None:
    """End it, and the process of the fresh kernel, where that may run."""
    for leader in filter(None, (process.pid, kernel)):
        sessions.end(leader)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    reaper.forget(process.pid)


@contextmanager
def _folder() -> Iterator[str]:
    """A folder for the connection of the fresh kernel, which is removed whatever happens."""
    folder = tempfile.mkdtemp(prefix="lmc-check-")
    reaper.watch_directory(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        reaper.forget_directory(folder)


def last_line(log: Path) -> str:
    """The last line of a process's log, as the end of a sentence on why it ended; "" without."""
    lines = terminal.plain(log.read_text("utf-8", "replace")).strip().splitlines()
    return f": {shorten.line(lines[-1].strip(), 300)}" if lines else ""
