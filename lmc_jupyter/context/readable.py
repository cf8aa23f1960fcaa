"""The files that a model may read beside those of the working directory.

One rule: a person has attached or named each of them; what a message or a file says opens none.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from lmc_jupyter.computer.process import reaper


class Readable:
    """The files of one session: a private folder, deleted with this object, and files by name."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._files: dict[Path, None] = {}

    @property
    def folder(self) -> Path:
        """The private folder, made at first use."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="lmc-"))
            weakref.finalize(self, _remove, self._folder, os.getpid())
            reaper.watch_directory(str(self._folder))  # and when this process is killed
        return self._folder

    @property
    def folders(self) -> tuple[Path, ...]:
        """The private folder, where it was made."""
        return () if self._folder is None else (self._folder,)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the person named, without links."""
        return tuple(self._files)

    def allow(self, path: Path) -> Path:
        """Let this file be read, wherever it is; its path without links.

        Raises
        ------
        OSError
            When there is no such file.
        """
        real = path.resolve(strict=True)
        self._files[real] = None
        return real

    def forget(self) -> None:
        """Forget the files that were named: they may no longer be read."""
        self._files.clear()


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a fork of it, which ends with its own copy of the session
        shutil.rmtree(folder, ignore_errors=True)
