"""A teacher's folder of a course, and the folder that the pupils get.

One rule: each exercise is checked before anything is written, and nothing is overwritten unasked.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import yaml

from lmc_jupyter.conversation.disk import write_whole
from lmc_jupyter.errors import LMCError
from lmc_jupyter.tutor import exercises
from lmc_jupyter.tutor.course import marks
from lmc_jupyter.tutor.course.marks import AssignedExercise, Assignment
from lmc_jupyter.tutor.exercises import FILE, Exercise, ExerciseError

PUPILS = "pupils"
"""The folder of the pupils, in the teacher's."""
LOAD = "%load_ext lmc_jupyter"
MODE_FILE = "lmc.yaml"
MODE = "tutor: hints\n"
SHARED = 0o644
"""The rights of what others read; the umask takes some away."""


@dataclass(frozen=True)
class Course:
    """What was read of a teacher's folder.

    Parameters
    ----------
    notebooks : file -> (the whole notebook, what was read of it)
    exercises : by their ids
    setups : id -> sources of the cells above the exercise; none for one without a cell
    without_tests : ids of cells whose solution is cut out, and that are no exercise of ours
    """

    folder: Path
    notebooks: dict[Path, tuple[Any, Assignment]]
    exercises: dict[str, Exercise]
    setups: dict[str, tuple[str, ...]]
    without_tests: list[str]


def read(folder: Path) -> Course:
    """The course of this folder: its notebooks, and its file of exercises where it has one.

    Raises
    ------
    ExerciseError
        Where something of it cannot be used, with the file.
    """
    if not folder.is_dir():
        raise ExerciseError(f"there is no folder {str(folder)!r}")
    notebooks: dict[Path, tuple[Any, Assignment]] = {}
    found: dict[str, AssignedExercise] = {}
    for path in sorted(folder.glob("*.ipynb")):
        try:
            notebook = nbformat.read(path, as_version=4)
            assignment = marks.read([dict(each) for each in notebook.cells])
        except (OSError, ValueError, SyntaxError, LMCError) as error:
            raise ExerciseError(f"{path.name}: {error}") from None
        if twice := found.keys() & assignment.exercises.keys():
            raise ExerciseError(f"{path.name}: another notebook has {min(twice)!r:.80}, too")
        notebooks[path], found = (notebook, assignment), {**found, **assignment.exercises}
    written = exercises.read_values(folder) or {}
    ids = [id for id, each in found.items() if each.tests or id in written]
    values = {id: each for id, each in written.items() if id not in found} | {
        id: {**found[id].values, **written.get(id, {})} for id in ids
    }
    if not values:
        raise ExerciseError(
            f"{str(folder)!r} has no exercise: a cell with the tag `lmc-exercise: ID` and {FILE}, "
            "or the marks of nbgrader or Otter"
        )
    return Course(
        folder,
        notebooks,
        exercises.from_values(values),
        {id: each.setup for id, each in found.items()},
        [id for id in found if id not in ids],
    )


def build(course: Course, to: Path, *, replace: bool = False) -> Iterator[str]:
    """Write the folder of the pupils; yields a sentence for each file.

    Parameters
    ----------
    replace : whether a folder that is there may be overwritten

    Raises
    ------
    ExerciseError
        Where it may not.
    """
    if to.exists() and not replace:
        raise ExerciseError(f"there is {str(to)!r} already: name another folder, or add --replace")
    if to.resolve() == course.folder.resolve():
        raise ExerciseError("the folder of the pupils cannot be the teacher's own")
    to.mkdir(parents=True, exist_ok=True)
    for path, (notebook, assignment) in course.notebooks.items():
        cells = [{"id": secrets.token_hex(4), **each} for each in _with_us(assignment.cells)]
        version = {"nbformat": 4, "nbformat_minor": 5}
        made = nbformat.from_dict({**notebook, "cells": cells, **version})
        write_whole(to / path.name, nbformat.writes(made).encode(), mode=SHARED)
        count = len(assignment.exercises.keys() & course.exercises.keys())
        yield f"{path.name}: {count} exercise{'' if count == 1 else 's'}"
    write_whole(to / FILE, _dump(course.exercises).encode(), mode=SHARED)
    yield f"{FILE}: {len(course.exercises)} in all"
    for path in sorted(course.folder.iterdir()):
        is_data = path.is_file() and path.suffix != ".ipynb" and not path.name.startswith(".")
        if is_data and path.name != FILE:
            shutil.copyfile(path, to / path.name)
            yield f"{path.name}: as it is"
    if not (to / MODE_FILE).exists():
        write_whole(to / MODE_FILE, MODE.encode(), mode=SHARED)
        yield f"{MODE_FILE}: tutor: hints"


def _with_us(cells: list[marks.Cell]) -> list[marks.Cell]:
    """The cells, and before them one that loads the extension where none does."""
    if any(LOAD in each["source"] for each in cells if each["cell_type"] == "code"):
        return cells
    return [nbformat.v4.new_code_cell(LOAD), *cells]


def _dump(found: dict[str, Exercise]) -> str:
    values = {id: dict(_values(each)) for id, each in found.items()}
    return str(yaml.dump({"exercises": values}, Dumper=_Texts, sort_keys=False, allow_unicode=True))


def _values(exercise: Exercise) -> Iterator[tuple[str, Any]]:
    for key in ("task", "reference", "tests"):
        lines = str(getattr(exercise, key)).splitlines()
        yield key, "\n".join(map(str.rstrip, lines))  # a block of YAML has no blanks at an end
    if exercise.notes:
        yield "notes", exercise.notes
    if exercise.mistakes:
        yield "mistakes", [{"code": each.code, "hint": each.hint} for each in exercise.mistakes]
    if exercise.quota != exercises.QUOTA:
        yield "quota", exercise.quota


class _Texts(yaml.SafeDumper):
    """Writes code as the lines that it has."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Texts.add_representer(str, _block)
