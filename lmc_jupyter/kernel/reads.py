"""The files that a block of Python has opened for reading.

One rule: seen by the audit event of `open`, so what native code reads by itself (polars, pyarrow,
DuckDB) is not seen; and what a file had is read when the block has ended.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.kernel import audit

MAX_FILES = 100
"""That one block is said to have read."""
MAX_BYTES = 100_000_000
"""Of the files of one block that are read again for their SHA-256."""
_MODULES = (".py", ".pyc", ".pyi", ".so", ".pyd", ".pth")
"""Endings of modules: what is imported is no data."""
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/System/", "/Library/")


class Reads:
    """What code opens for reading, until it ends.

    Parameters
    ----------
    is_foreign : whether this thread works for other code now
    """

    def __init__(self, is_foreign: Callable[[], bool]) -> None:
        self._is_foreign = is_foreign
        self._others: frozenset[threading.Thread] = frozenset()
        self._seen: set[object] = set()
        self._reader: audit.Reader = (self._seen, self._meet)
        self._paths: dict[str, None] = {}

    def __enter__(self) -> Reads:
        self._others = frozenset(threading.enumerate()) - {threading.current_thread()}
        audit.readers.append(self._reader)
        audit.hook()
        return self

    def __exit__(self, *_: object) -> None:
        audit.readers.remove(self._reader)

    def _meet(self, path: object) -> None:
        """A file is about to be opened for reading, on this thread."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # a file that is open already
        thread = threading.current_thread()
        if thread in self._others or thread.name.startswith("lmc-") or self._is_foreign():
            return
        try:
            text = os.fsdecode(path)
            absolute = os.path.abspath(text)  # noqa: PTH100 - as it is written
        except FileNotFoundError:  # the working folder was removed: nothing is below it
            return
        self._seen.add(text)
        if len(self._paths) < MAX_FILES and not _is_of_system(absolute):
            self._paths[absolute] = None

    def files(self) -> tuple[FileRead, ...]:
        """Those that are there, as they are now."""
        room, found = MAX_BYTES, []
        for path in self._paths:
            try:
                status = os.stat(path)  # noqa: PTH116 - a path that `open` got
                if not stat.S_ISREG(status.st_mode):
                    continue
                room -= status.st_size
                digest = _digest(path) if room >= 0 else ""
            except OSError:
                continue  # it was none, or is gone
            found.append(FileRead(_short(path), status.st_size, digest))
        return tuple(found)


def _digest(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _is_of_system(path: str) -> bool:
    """Whether it belongs to Python, a library or the system, or is hidden."""
    if path.endswith(_MODULES) or path.startswith((*_SYSTEM, sys.prefix, sys.base_prefix)):
        return True
    parts = Path(path).parts
    return "site-packages" in parts or any(part.startswith(".") for part in parts)


def _short(path: str) -> str:
    try:
        here = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return path
    return os.path.relpath(path, here) if path.startswith(here + os.sep) else path
