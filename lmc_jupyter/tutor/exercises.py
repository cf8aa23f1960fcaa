"""The exercises of a notebook: what a teacher writes beside it, in `exercises.yaml`.

One rule: a file that is wrong is said whole, with the exercise and the value, before a pupil meets
it; what is not known is no key of ours.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmc_jupyter.content.folder_file import read_file
from lmc_jupyter.errors import LMCError
from lmc_jupyter.formats import strict_yaml

FILE = "exercises.yaml"
MAX_BYTES = 1_000_000
QUOTA = 5
"""Hints for one exercise, unless the teacher's file says otherwise."""
_KEYS = {"task", "reference", "tests", "notes", "mistakes", "quota"}


class ExerciseError(LMCError):
    """A file of exercises that cannot be used, or an exercise that is not there."""


@dataclass(frozen=True)
class CommonMistake:
    """A mistake that pupils often make.

    Parameters
    ----------
    code : a wrong solution
    hint : what the teacher says of it
    """

    code: str
    hint: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Parameters
    ----------
    id : as the tag of its cell has it, `lmc-exercise: ID`
    task : in words
    reference : the teacher's solution; no pupil sees it
    tests : Python that fails where a solution is wrong; a message of an assert is the teacher's
    notes : what a hint should lead to, and avoid
    mistakes : with a hint of the teacher's for each
    quota : hints that a pupil gets
    """

    id: str
    task: str
    reference: str
    tests: str
    notes: str = ""
    mistakes: tuple[CommonMistake, ...] = ()
    quota: int = QUOTA


def find(folder: Path, id: str) -> Exercise:
    """The exercise of this id in the file of this folder.

    Raises
    ------
    ExerciseError
        Where there is none, or the file is wrong.
    """
    exercises = read(folder)
    if id not in exercises:
        names = ", ".join(exercises) or "none"
        raise ExerciseError(f"{FILE} has no exercise {id!r:.80}: it has {names}")
    return exercises[id]


def read(folder: Path) -> dict[str, Exercise]:
    """The exercises of the file of this folder, by their ids.

    Raises
    ------
    ExerciseError
        Where there is no such file, or it is wrong.
    """
    values = read_values(folder)
    if values is None:
        raise ExerciseError(
            f"there is no {FILE} beside this notebook: your teacher has to give it to you"
        )
    return from_values(values)


def read_values(folder: Path) -> dict[str, Any] | None:
    """What stands below `exercises:` in the file of this folder; None where there is no file.

    Raises
    ------
    ExerciseError
        Where nothing stands there.
    """
    data = read_file(folder / FILE, MAX_BYTES, inside=folder)
    if data is None:
        return None
    value = strict_yaml.load(data.decode("utf-8"), FILE)
    found = value.get("exercises") if isinstance(value, dict) else None
    if not isinstance(found, dict) or not found:
        raise ExerciseError(f"{FILE} must have `exercises:`, and below it each one by its id")
    return {str(id): each for id, each in found.items()}


def from_values(values: Mapping[str, Any]) -> dict[str, Exercise]:
    """The exercises of such values, by their ids.

    Raises
    ------
    ExerciseError
        For a value that is wrong, with the exercise.
    """
    return {id: _exercise(id, each) for id, each in values.items()}


def _exercise(id: str, value: Any) -> Exercise:
    where = f"{FILE}, exercise {id!r:.80}"
    if not isinstance(value, dict):
        raise ExerciseError(f"{where}: it must have `task`, `reference` and `tests`")
    if strange := sorted(set(value) - _KEYS):
        raise ExerciseError(
            f"{where}: {strange[0]!r:.60} is no key of an exercise: they are "
            f"{', '.join(sorted(_KEYS))}"
        )
    texts = {key: _text(where, value, key) for key in ("task", "reference", "tests")}
    for key in ("reference", "tests"):
        _check_code(f"{where}, {key}", texts[key])
    quota = value.get("quota", QUOTA)
    if not isinstance(quota, int) or isinstance(quota, bool) or quota < 0:
        raise ExerciseError(f"{where}: `quota` must be a number of hints, not {quota!r:.60}")
    notes = value.get("notes") or ""
    if not isinstance(notes, str):
        raise ExerciseError(f"{where}: `notes` must be text, not {notes!r:.60}")
    return Exercise(
        id, **texts, notes=notes, mistakes=_mistakes(where, value.get("mistakes")), quota=quota
    )


def _text(where: str, value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip():
        raise ExerciseError(f"{where}: `{key}` must be text, and is {text!r:.60}")
    return text


def _mistakes(where: str, value: Any) -> tuple[CommonMistake, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ExerciseError(f"{where}: `mistakes` must be a list, not {value!r:.60}")
    found = []
    for number, each in enumerate(value, 1):
        match each:
            case {"code": str(code), "hint": str(hint)} if len(each) == 2:
                _check_code(f"{where}, mistake {number}", code)
                found.append(CommonMistake(code, hint))
            case _:
                raise ExerciseError(
                    f"{where}, mistake {number}: it must have `code` and `hint`, and is "
                    f"{each!r:.60}"
                )
    return tuple(found)


def _check_code(where: str, code: str) -> None:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ExerciseError(f"{where}: it is no Python that can be read: {error}") from None
