"""The environment of the process, kept as the person made it while a library is imported.

One rule: what one thread undoes is only what that thread has done. LiteLLM is imported on the
network's thread, and a cell may set a variable of its own meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_one_at_a_time = threading.RLock()
"""`os.putenv` belongs to the whole process: who put it back last would else put back another's."""


@contextmanager
def unchanged_environment(**meanwhile: str) -> Iterator[None]:
    """Give these variables these values; at the end undo all that this thread has changed.

    A library may load a file `.env` of the working directory, or of a folder above it, when it is
    imported. Whoever sends you a folder would then choose where your key is sent.
    """
    with _one_at_a_time:
        yield from _unchanged(meanwhile)


def _unchanged(meanwhile: dict[str, str]) -> Iterator[None]:
    thread = threading.get_ident()
    before: dict[str, str | None] = {}
    put, unset = os.putenv, os.unsetenv  # `os.environ` calls these at each change

    def note(name: Any) -> None:
        if threading.get_ident() == thread:
            before.setdefault(os.fsdecode(name), os.environ.get(os.fsdecode(name)))

    def noted_put(name: Any, value: Any, /) -> None:
        note(name)
        put(name, value)

    def noted_unset(name: Any, /) -> None:
        note(name)
        unset(name)

    os.putenv, os.unsetenv = noted_put, noted_unset
    try:
        os.environ.update(meanwhile)
        yield
    finally:
        os.putenv, os.unsetenv = put, unset
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
