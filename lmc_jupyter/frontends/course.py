"""What `lmc-jupyter course` does: build, check and report.

One rule: it prints what it did, a line each, and returns 1 where something is not right.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from lmc_jupyter.models.choice import Choice
from lmc_jupyter.tutor.answering import ask
from lmc_jupyter.tutor.course import check, folder, report
from lmc_jupyter.tutor.exercises import ExerciseError
from lmc_jupyter.tutor.wording import Write


def run(options: Namespace) -> int:
    """Do one step; returns the exit code.

    Raises
    ------
    LMCError
        Where it cannot be done.
    """
    if options.step == "report":
        return _report(options.files, options.to, replace=options.replace)
    course = folder.read(options.folder)
    if options.step == "check":
        return _check(course, options.model)
    to = options.to or options.folder / folder.PUPILS
    for line in folder.build(course, to, replace=options.replace):
        _print(line)
    _print(f"The folder of the pupils is {to}. Check the course: lmc-jupyter course check")
    return 0


def _check(course: folder.Course, name: str | None) -> int:
    mistakes = 0
    for is_right, line in check.check(course, _writer(name) if name else None):
        mistakes += not is_right
        _print(line if is_right else f"WRONG {line}")
    _print(f"{mistakes} to mend." if mistakes else "All is as it should be.")
    return 1 if mistakes else 0


def _writer(name: str) -> Write:
    model = Choice(name, {}).model
    return lambda instructions, question: ask(model, instructions, question)


def _report(files: list[Path], to: Path, *, replace: bool) -> int:
    if to.exists() and not replace:
        raise ExerciseError(f"there is {str(to)!r} already: name another file, or add --replace")
    submissions = [report.read(path) for path in files]
    report.write(to, report.of_class(submissions))
    _print(f"{to}: the work of {len(submissions)} pupil{'' if len(submissions) == 1 else 's'}.")
    return 0


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
