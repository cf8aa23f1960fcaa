"""What languages look for on this machine (programs, Jupyter kernels, packages), each once.

One rule: a result, also "not there", is remembered until the environment changes, or one of the
folders of the search. The content of a file is not seen in its folder: a function that reads one
remembers nothing.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Kind = Literal["programs", "kernels", "packages", "all"]
Results = dict[Kind, dict[Any, Any]]

_UNSURE_NS = 2_000_000_000
"""Nanoseconds after a change of a folder in which no result is remembered: a file system's clock is
coarse (4 ms to 2 s), and a second change in the same tick could not be seen."""


class _Memory(NamedTuple):
    """The results, and the state of the machine that they hold for.

    Parameters
    ----------
    variables, path : the environment, and `sys.path`
    folders : by kind, those of the search
    stamps : by kind, when each folder was last changed, in nanoseconds, and its inode; None where
        it is not there
    results : by kind, those of each function and its arguments
    """

    variables: dict[str, str]
    path: tuple[str, ...]
    folders: dict[Kind, tuple[str, ...]]
    stamps: Mapping[Kind, tuple[object, ...]]
    results: Results


_memory = _Memory({}, (), {}, {}, {})
_results: ContextVar[Results | None] = ContextVar("lmc_results", default=None)
"""The results that hold during the current look; empty before its first question."""


def one_look(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, which reads the state of the folders once, or not at all."""

    def begin(*args: P.args, **kwargs: P.kwargs) -> T:
        _results.set({})
        return function(*args, **kwargs)

    @functools.wraps(function)
    def look(*args: P.args, **kwargs: P.kwargs) -> T:
        if _results.get() is not None:
            return function(*args, **kwargs)
        return copy_context().run(
            begin, *args, **kwargs
        )  # so that no Ctrl-C leaves `_results` set here

    return look


def remember(kind: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: the function runs again only when something of this kind may have changed."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @one_look
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            results, key = _look()[kind], (function, args, *kwargs.items())
            if key not in results:
                results[key] = function(*args, **kwargs)
            result: T = results[key]
            return result

        return call

    return decorate


@remember("programs")
def which(program: str) -> str | None:
    """The path of a program that is on the PATH; None where it is not."""
    return shutil.which(program)


@remember("packages")
def has_package(name: str) -> bool:
    """Whether Python could import this package; it is not imported."""
    return importlib.util.find_spec(name) is not None


@one_look
def machine_state() -> object:
    """Stands for what this machine has: the same object until some of it may have changed."""
    return _look()["all"]


def _look() -> Results:
    """The results that hold during the current look."""
    look = _results.get()
    assert look is not None, "it is called during a look"
    if not look:
        look.update(_valid_results())
    return look


def _valid_results() -> Results:
    """The results that still hold."""
    global _memory
    last, variables, path = _memory, os.environ.copy(), tuple(sys.path)
    same = (last.variables, last.path) == (variables, path)
    folders = last.folders if same else _folders(path)
    # before the first search:
    stamps = {kind: tuple(map(_stamp, each)) for kind, each in folders.items()}
    if same and stamps == last.stamps:
        return last.results
    results: Results = {
        kind: last.results[kind] if same and stamps[kind] == last.stamps.get(kind) else {}
        for kind in folders
    }
    results["all"] = {}
    now = time.time_ns()
    stable = {
        kind: each
        for kind, each in stamps.items()
        if all(stamp is None or abs(now - stamp[0]) > _UNSURE_NS for stamp in each)
    }
    _memory = _Memory(variables, path, folders, stable, results)
    return results


def _folders(path: tuple[str, ...]) -> dict[Kind, tuple[str, ...]]:
    from jupyter_core.paths import jupyter_path  # reads the environment

    programs = os.environ.get("PATH", os.defpath).split(os.pathsep)
    here = [os.curdir] if os.name == "nt" else []  # Windows takes programs from there too
    return {
        "programs": tuple(dict.fromkeys([*here, *programs])),
        "kernels": tuple(jupyter_path("kernels")),
        "packages": tuple(filter(None, path)),  # "", where the code runs, is no place to install
    }


def _stamp(folder: str) -> tuple[int, int] | None:
    try:
        status = os.stat(folder or os.curdir)  # noqa: PTH116 - a Path for each costs more than it
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ino
