"""The names that are near to one that an error misses: variables, attributes, keys, columns.

One rule: it looks at the error and at the frames of its traceback, and no code of the person is
called.
"""

from __future__ import annotations

import builtins
import difflib
import linecache
import re
import traceback
from collections.abc import Iterable
from types import FrameType
from typing import Any

from lmc_jupyter.content.columns import name_of

MIN_NAME, MAX_NEAR = 3, 5
MAX_COLUMNS = 2_000
"""Characters of the columns of a frame."""
MAX_SEARCHED = 5_000
"""Names that are compared with the one that is missing."""

_FRAMES = ("pandas", "geopandas")


def hints(error: BaseException) -> str:
    """A line on what there is in the place of what an error misses; "" for other errors."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return ""
    last, number = frames[-1]
    if isinstance(error, NameError):
        return _near(error.name, [*last.f_locals, *last.f_globals, *vars(builtins)])
    if isinstance(error, AttributeError):
        columns = _columns(error.name, error.obj, frames)
        return columns or _near(error.name, _attributes(error.obj))
    if isinstance(error, KeyError):
        key = error.args[0] if error.args else None
        for frame, _ in frames:
            if text := _columns(key, frame.f_locals.get("self"), frames):
                return text
        line = linecache.getline(last.f_code.co_filename, number)
        for name, value in {**last.f_globals, **last.f_locals}.items():
            if type(value) is dict and re.search(rf"\b{re.escape(name)}\s*\[", line):
                return _near(key, value)
    return ""


def _near(name: object, there: Iterable[object]) -> str:
    if type(name) is not str or len(name) < MIN_NAME:
        return ""
    return _line(_closest(name, there))


def _line(names: list[str]) -> str:
    return f"Near it: {', '.join(names)}\n" if names else ""


def _closest(name: str, there: Iterable[object]) -> list[str]:
    """Those that are most like the name, which may be written in other letters."""
    by_lower: dict[str, str] = {}
    for each in there:
        if type(each) is str and len(by_lower) < MAX_SEARCHED:
            by_lower.setdefault(each.lower(), each)
    return [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower, MAX_NEAR)]


def _attributes(value: Any) -> list[str]:
    """The names of an object's own attributes and of those of its classes."""
    classes = type.__getattribute__(type(value), "__mro__")
    names = [name for each in classes for name in type.__getattribute__(each, "__dict__")]
    try:
        names += object.__getattribute__(value, "__dict__")
    except AttributeError:  # it has slots, or none
        return names
    return names


def _columns(key: object, value: Any, frames: list[tuple[FrameType, int]]) -> str:
    """A line on the columns of a frame of pandas that lacks the key; "" for anything else."""
    if _library(type.__getattribute__(type(value), "__module__")) not in _FRAMES:
        return ""
    labels = list(getattr(value, "columns", ()))
    if not labels or (type(key) is str and key in labels):
        return ""
    names = [name_of(each) for each in labels]
    if sum(map(len, names)) + 2 * len(names) > MAX_COLUMNS:
        names = list(dict.fromkeys([*_closest(str(key), labels), *names]))
    room, shown = MAX_COLUMNS, list[str]()
    for name in names:
        room -= len(name) + 2
        if room < 0:
            shown.append(f"… {len(names) - len(shown):,} more")
            break
        shown.append(name)
    return f"{_variable(value, frames)} has the columns {', '.join(shown)}\n"


def _variable(value: Any, frames: list[tuple[FrameType, int]]) -> str:
    """The name of a variable with this value, of code that is not the library's."""
    for frame, _ in frames:
        if _library(frame.f_globals.get("__name__")) not in _FRAMES:
            for name, each in {**frame.f_globals, **frame.f_locals}.items():
                if each is value and not name.startswith("_"):
                    return name
    return "It"


def _library(module: object) -> str:
    return module.partition(".")[0] if type(module) is str else ""
