"""What languages look for on this machine (programs, Jupyter kernels, packages), each once.

One rule: a result, also "not there", holds for `SECONDS`, and as long as the environment and
`sys.path` are the same: what a person installs meanwhile is there with their next question.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SECONDS = 5.0
"""How long a result holds: a question asks for each one several times."""

_memory: tuple[object, float, dict[Any, Any]] = None, 0.0, {}
"""The environment and `sys.path`, until when the results hold, and the results."""


def results() -> dict[Any, Any]:
    """The results that hold now: the same object as long as they do."""
    global _memory
    state = os.environ.copy(), tuple(sys.path)
    known, end, _ = _memory
    if known != state or time.monotonic() >= end:
        _memory = state, time.monotonic() + SECONDS, {}
    return _memory[2]


def remember(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator: the function runs again when its results hold no more."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        known, key = results(), (function, args, *kwargs.items())
        if key not in known:
            known[key] = function(*args, **kwargs)
        result: T = known[key]
        return result

    return call


@remember
def which(program: str) -> str | None:
    """The path of a program that is on the PATH; None where it is not."""
    return shutil.which(program)


@remember
def has_package(name: str) -> bool:
    """Whether Python could import this package; it is not imported."""
    return importlib.util.find_spec(name) is not None
