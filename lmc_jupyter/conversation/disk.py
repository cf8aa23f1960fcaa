"""The calls of the operating system that write a conversation, and a whole file in one step.

One rule: every write of a conversation goes through `calls`, which tests replace by failing ones.
"""

from __future__ import annotations

import os
import sys
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | _SAFE
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _SAFE  # a pipe of that name is not waited for
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _SAFE


class Calls:
    """The calls of the operating system."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    read = staticmethod(os.read)
    truncate = staticmethod(os.ftruncate)
    close = staticmethod(os.close)
    status = staticmethod(os.fstat)
    unlink = staticmethod(os.unlink)
    replace = staticmethod(os.replace)

    @staticmethod
    def sync(descriptor: int) -> None:
        """Have the file's content on the disk itself."""
        if sys.platform == "darwin":  # fsync leaves it in the drive's own memory there
            import fcntl

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        elif hasattr(os, "fdatasync"):
            os.fdatasync(descriptor)
        else:
            os.fsync(descriptor)

    @staticmethod
    def make_folder(path: Path) -> None:
        """This folder and those that it lies in, where they are missing; for their owner only."""
        for each in [*reversed(path.parents), path]:
            if not each.is_dir():
                each.mkdir(mode=0o700, exist_ok=True)

    @staticmethod
    def lock(path: Path) -> FileLock | None:
        """Take this lock; None while another process has it. Its process's end lets it go.

        Raises
        ------
        OSError
            Where nothing can be locked.
        """
        from filelock import FileLock, Timeout  # with the first conversation that is saved

        lock = FileLock(path, thread_local=False, mode=0o600)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        except NotImplementedError as error:  # a file system without locks
            raise OSError(str(error)) from None
        return lock


calls = Calls()
"""The calls in use; a test may replace it."""


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it; a short write goes on.

    Raises
    ------
    OSError
        When it cannot be written; some of it may have been.
    """
    while data:
        count = calls.write(descriptor, data)
        if count <= 0:
            raise OSError("nothing was written")
        data = data[count:] if count < len(data) else b""


def write_whole(path: Path, data: bytes, *, mode: int = 0o600, sync: bool = False) -> None:
    """Write a file in one step: it is as it was before, or has all of these bytes.

    Parameters
    ----------
    mode : the rights of a new file, of which the person's umask takes some away
    sync : whether the bytes are on the disk itself before the file has its name

    Raises
    ------
    OSError
        When it cannot be written.
    """
    name = path.name if len(os.fsencode(path.name)) < 200 else "long"
    new = path.with_name(f".{name}.{uuid.uuid4().int >> 64}")
    try:
        descriptor = calls.open(new, WRITE | os.O_EXCL, mode)
        try:
            write_all(descriptor, data)
            if sync:
                calls.sync(descriptor)
        finally:
            calls.close(descriptor)
        calls.replace(new, path)
    except BaseException:  # a Ctrl-C too: what was said is to lie in no file that nobody knows of
        with suppress(OSError):
            calls.unlink(new)
        raise
