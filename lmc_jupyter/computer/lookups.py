"""What languages look for on this machine (programs, Jupyter kernels, packages), each once.

One rule: what was found, or not found, is remembered until the environment changes, or one of the
folders that it is looked for in. What a file holds is not seen in its folder: who reads one does
not remember it.
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

Kind = Literal["programs", "kernels", "packages"]
Known = dict[Kind, dict[Any, Any]]

_UNSURE_NS = 2_000_000_000
"""What is looked up so soon after a folder has changed is not remembered: a file system's clock is
coarse (4 ms to 2 s), and a second change in the same tick could not be seen."""


class _Memory(NamedTuple):
    """What is known, and what held when it was looked up.

    Parameters
    ----------
    variables, path : the environment, and `sys.path`
    folders : by kind, those in which it is looked for
    stamps : by kind, when each folder was last changed, in nanoseconds, and its inode; None where
        it is not there
    known : by kind, what was looked up, by its function and its arguments
    """

    variables: dict[str, str]
    path: tuple[str, ...]
    folders: dict[Kind, tuple[str, ...]]
    stamps: Mapping[Kind, tuple[object, ...]]
    known: Known


_memory = _Memory({}, (), {}, {}, {})
_known: ContextVar[Known | None] = ContextVar("lmc_known", default=None)
"""What is known in the look that is going on here; empty before its first question."""


def one_look(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, during which the folders are looked at once, or not at all."""

    def begin(*args: P.args, **kwargs: P.kwargs) -> T:
        _known.set({})
        return function(*args, **kwargs)

    @functools.wraps(function)
    def look(*args: P.args, **kwargs: P.kwargs) -> T:
        if _known.get() is not None:
            return function(*args, **kwargs)
        return copy_context().run(begin, *args, **kwargs)  # no Ctrl-C leaves it set in ours

    return look


def remembered(kind: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """The same function, which looks again only when something of this kind may have changed."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        @one_look
        @functools.wraps(function)
        def remember(*args: P.args, **kwargs: P.kwargs) -> T:
            look, key = _known.get(), (function, args, *kwargs.items())
            assert look is not None, "it is called in a look"
            if not look:
                look.update(_still_known())
            known = look[kind]
            if key not in known:
                known[key] = function(*args, **kwargs)
            found: T = known[key]
            return found

        return remember

    return remembering


@remembered("programs")
def which(program: str) -> str | None:
    """The path of a program that is on the PATH; None where it is not."""
    return shutil.which(program)


@remembered("packages")
def has_package(name: str) -> bool:
    """Whether Python could import this package; it is not imported."""
    return importlib.util.find_spec(name) is not None


def _still_known() -> Known:
    """What was looked up and still holds."""
    global _memory
    last, variables, path = _memory, os.environ.copy(), tuple(sys.path)
    same = (last.variables, last.path) == (variables, path)
    folders = last.folders if same else _folders(path)
    # before anything is looked up:
    stamps = {kind: tuple(map(_stamp, each)) for kind, each in folders.items()}
    if same and stamps == last.stamps:
        return last.known
    known: Known = {
        kind: last.known[kind] if same and stamps[kind] == last.stamps.get(kind) else {}
        for kind in folders
    }
    now = time.time_ns()
    settled = {
        kind: each
        for kind, each in stamps.items()
        if all(stamp is None or abs(now - stamp[0]) > _UNSURE_NS for stamp in each)
    }
    _memory = _Memory(variables, path, folders, settled, known)
    return known


def _folders(path: tuple[str, ...]) -> dict[Kind, tuple[str, ...]]:
    from jupyter_core.paths import jupyter_path  # is told by the environment

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
