"""A pupil's attempt: the cell, run in a fresh process with the cells that it rests on, against the
teacher's tests.

One rule: nothing of it touches the notebook's kernel; the process ends with the attempt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmc_jupyter.content.code_names import NOT_PYTHON, assigned_names, read_names
from lmc_jupyter.tutor.exercises import Exercise, ExerciseError

SECONDS = 15
"""For one attempt: a loop without an end is a fault like any other."""
_PROGRAM = Path(__file__).with_name("program.py").read_text("utf-8")
"""Given as text, so that the folder of the process is the notebook's."""


@dataclass(frozen=True)
class Side:
    """A side of a comparison: the name of its type, and its text, bounded."""

    type: str
    repr: str


@dataclass(frozen=True)
class Attempt:
    """What became of a cell.

    Parameters
    ----------
    code : the pupil's
    stage : where it ended: "setup" (a cell that it rests on fails), "cell", "tests", "passed", or
        "time" for one that did not end
    passed, tests : how many tests passed, of how many
    error, message : the type and the text of the error; an assert's message is the teacher's
    line : of the cell where the error happened; 0 for none
    test : the test that failed
    left, right : what was compared; None where that is not known
    lines : of the cell that ran in that test
    printed : whether it printed in that test
    setup, folder : sources of the cells that it rests on, and where it ran
    """

    code: str
    stage: str
    passed: int = 0
    tests: int = 0
    error: str = ""
    message: str = ""
    line: int = 0
    test: str = ""
    left: Side | None = None
    right: Side | None = None
    lines: tuple[int, ...] = ()
    printed: bool = False
    setup: tuple[str, ...] = ()
    folder: Path = Path()

    @property
    def has_passed(self) -> bool:
        """Whether all tests pass."""
        return self.stage == "passed"


def attempt(exercise: Exercise, code: str, before: Sequence[str], folder: Path) -> Attempt:
    """Run a cell against the tests of its exercise.

    Parameters
    ----------
    before : sources of the cells that ran before it, the oldest first
    folder : the working directory of the run, the notebook's

    Raises
    ------
    ExerciseError
        Where no fresh process can be started.
    """
    return _run(exercise, code, tuple(rests_on(code, before)), folder)


def try_code(exercise: Exercise, code: str, like: Attempt) -> Attempt:
    """Run other code in the place of an attempt's; see `attempt`."""
    return _run(exercise, code, like.setup, like.folder)


def _run(exercise: Exercise, code: str, setup: tuple[str, ...], folder: Path) -> Attempt:
    given = {"setup": setup, "cell": NOT_PYTHON.sub("", code), "tests": exercise.tests}
    made = Attempt(code, "cell", setup=setup, folder=folder)
    with tempfile.TemporaryDirectory(prefix="lmc-tutor-") as place:
        into, out = Path(place, "in.json"), Path(place, "out.json")
        into.write_text(json.dumps(given), "utf-8")
        try:
            subprocess.run(
                [sys.executable, "-c", _PROGRAM, str(into), str(out)], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return replace(made, stage="time")
        except OSError as error:
            raise ExerciseError(f"the cell cannot be tried: {error.strerror}") from None
        if not out.exists():  # it ended the process itself
            return replace(made, error="SystemExit")
        return _read(made, json.loads(out.read_text("utf-8")))


def _read(made: Attempt, found: dict[str, Any]) -> Attempt:
    left, right = (Side(**found[key]) if key in found else None for key in ("left", "right"))
    return replace(
        made,
        stage=found["stage"],
        passed=found.get("passed", 0),
        tests=found.get("tests", 0),
        error=found.get("type", ""),
        message=found.get("message", ""),
        line=found.get("line", 0),
        test=found.get("test", ""),
        lines=tuple(found.get("lines", ())),
        printed=found.get("printed", False),
        left=left,
        right=right,
    )


def rests_on(code: str, before: Sequence[str]) -> list[str]:
    """Those of the earlier cells that make a name which this code, or one of them, uses."""
    needed = set().union(*read_names(NOT_PYTHON.sub("", code)))
    found: list[str] = []
    for source in (NOT_PYTHON.sub("", each) for each in reversed(before)):
        made = assigned_names(source)
        if made & needed:
            needed = (needed - made).union(*read_names(source))
            found.append(source)
    return found[::-1]
