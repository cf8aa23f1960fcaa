"""The file of one conversation, open for writing.

One rule: a record is never written again. It is one line at the end of the file; when it cannot
be written whole, the file is truncated to the records before it. A damaged file is not written any
more: one goes on with a copy of what can be read of it.

Beside `<id>.jsonl` may lie `<id>.part`, the unfinished message (it is in the journal when it is
whole), `<id>.lock`, the lock of the one process that writes, and, while the file is made,
`.<id>.jsonl.<number>`.
"""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmc_jupyter.conversation import records
from lmc_jupyter.conversation.disk import APPEND, READ, calls, write_all, write_whole
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import Message

if TYPE_CHECKING:
    from filelock import FileLock

MAX_BYTES = 2 << 30
"""Bytes; a longer file is no conversation of ours."""


class LockedError(SessionError):
    """Another process writes this conversation."""


class DamagedError(SessionError):
    """The file of this conversation cannot be read to its end."""


class AlteredError(OSError):
    """The file is no longer as its writer wrote it."""


class Journal:
    """The writer of one conversation's file; `new` makes one, `Journal.of` goes on with one.

    Every method raises OSError when the disk refuses; the file then has the records that it had
    before, and the call may be tried again.
    """

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path, self._lock = path, lock
        self._descriptor = self._part = -1
        self._size = self._n = 0
        self._synced = 0  # bytes
        self._unsure = False  # whether something may stand behind `_size` that is not whole
        self._owner = os.getpid()
        self._open: set[int] = set()
        self._end = weakref.finalize(self, _let_go, self._open, lock, path, self._owner)

    @classmethod
    def new(cls, folder: Path, first: Sequence[Mapping[str, Any]]) -> Journal:
        """The writer of a new file of these records: it is whole, or not there.

        Parameters
        ----------
        first : the head, which has the id, and those behind it
        """
        calls.make_folder(folder)
        path = folder / f"{first[0]['id']}.jsonl"
        data = b"".join(map(records.line, first))
        journal = cls(path, _take_lock(path))
        try:
            write_whole(path, data)
            journal._descriptor = journal._open_file(path, APPEND & ~os.O_CREAT)
            journal._n, journal._size = len(first), len(data)
        except BaseException:
            with suppress(OSError):  # the next try overwrites the rest of it
                journal.remove()
            journal.close()
            raise
        return journal

    @classmethod
    def of(cls, path: Path) -> tuple[Journal, records.Fold]:
        """(the writer of an existing file, its content).

        The unfinished message of a writer that died is added; half a line at the end goes.

        Raises
        ------
        LockedError
            When another process writes it.
        DamagedError
            When more than half a line at its end cannot be read.
        SessionError
            When it is no conversation.
        OSError
            When it cannot be read or written.
        """
        journal = cls(path, _take_lock(path))
        try:
            journal._descriptor = journal._open_file(path, APPEND & ~os.O_CREAT)
            return journal, journal._read()
        except BaseException:
            journal.close()
            raise

    def _read(self) -> records.Fold:
        fold, self._size, tail = read(self.path)
        if describe_damage(fold, tail):
            raise DamagedError("the file of this conversation is damaged: work on a copy of it")
        self._n, self._unsure = fold.n, bool(tail)
        self._cut()
        part = read_part(self.path, fold)
        if part is not None:
            before = len(fold.messages)
            records.add_part(fold.messages, part)
            more = len(fold.messages) > before
            kind = {"kind": "message"} if more else {"kind": "instead", "at": before - 1}
            self.append([{**kind, "message": part.to_dict()}])
        with suppress(FileNotFoundError):
            calls.unlink(_beside(self.path, ".part"))
        return fold

    def append(self, rest: Sequence[Mapping[str, Any]]) -> None:
        """Write these records, all or none."""
        self._check_owner()
        self._cut()
        data = b"".join(map(records.line, rest))
        self._unsure = True
        try:
            write_all(self._descriptor, data)
        except OSError:
            with suppress(OSError):  # then the next call does it first
                self._cut()
            raise
        self._n += len(rest)
        self._size += len(data)
        self._unsure = False

    def sync(self) -> None:
        """Have the whole file on the disk.

        Raises
        ------
        AlteredError
            When the file is gone, or another program has changed it.
        """
        self._check_owner()
        self._cut()
        status = calls.status(self._descriptor)
        if status.st_nlink == 0 or status.st_size != self._size:
            raise AlteredError(f"{self.path} was changed or removed by another program")
        if self._synced < self._size:
            calls.sync(self._descriptor)
            self._synced = self._size

    # The message that is being written ------------------------------------------------------------

    def begin_message(self, message: Message) -> None:
        """Begin a message whose content comes in pieces."""
        self._check_owner()
        if self._part < 0:
            self._part = self._open_file(_beside(self.path, ".part"))
        calls.truncate(self._part, 0)
        write_all(self._part, records.line(records.part_head(self._n, message)))

    def write_piece(self, text: str) -> None:
        """Write a piece of its content."""
        if text:
            write_all(self._part, records.line(text))

    def end_message(self) -> None:
        """End the message: it is in the journal now."""
        if self._part >= 0:
            calls.truncate(self._part, 0)

    # The end --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close it; then another process may write it."""
        self._end()
        self._descriptor = self._part = -1

    def remove(self) -> None:
        """Remove the file, with all files beside it, and close it."""
        with suppress(FileNotFoundError):
            calls.unlink(self.path)
        remove_beside(self.path)
        self.close()

    def _open_file(self, path: Path, flags: int = APPEND) -> int:
        descriptor = calls.open(path, flags, 0o600)
        self._open.add(descriptor)
        return descriptor

    def _cut(self) -> None:
        """Take away what is not whole."""
        if self._unsure:
            calls.truncate(self._descriptor, self._size)
            self._unsure = False

    def _check_owner(self) -> None:
        if not self._end.alive:
            raise OSError(f"{self.path} is closed")
        if os.getpid() != self._owner:
            raise OSError("this process is a fork of the one that writes the conversation")


def _take_lock(path: Path) -> FileLock:
    lock = calls.lock(_beside(path, ".lock"))
    if lock is None:
        raise LockedError("another kernel uses this conversation: work on a copy of it")
    return lock


def _let_go(descriptors: set[int], lock: FileLock, path: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # the copies of a forked process end with it
    for descriptor in descriptors:
        with suppress(OSError):  # it is closed all the same
            calls.close(descriptor)
    descriptors.clear()
    part = _beside(path, ".part")
    with suppress(OSError):
        if part.stat().st_size == 0:  # else its message is in it and nowhere else
            calls.unlink(part)
    unlock(path, lock)


def unlock(path: Path, lock: FileLock) -> None:
    """Release a conversation's lock."""
    with suppress(OSError):  # before the release: there are never two locks of one name
        calls.unlink(_beside(path, ".lock"))
    lock.release()


def is_locked(path: Path) -> bool:
    """Whether another process (or journal) writes the conversation in this file."""
    beside = _beside(path, ".lock")
    if not beside.exists():
        return False
    try:
        lock = calls.lock(beside)
    except OSError:
        return True  # so that nobody writes it
    if lock is None:
        return True
    unlock(path, lock)
    return False


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises
    ------
    SessionError
        When it is something else, or too long.
    OSError
        When it cannot be read.
    """
    descriptor = calls.open(path, READ)
    try:
        status = calls.status(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SessionError(f"{path} is no file: it holds no conversation")
        if status.st_size > MAX_BYTES:
            raise SessionError(f"{path} has {status.st_size:,} bytes: no conversation has")
        parts = []
        while data := calls.read(descriptor, 1 << 24):
            parts.append(data)
        return b"".join(parts)
    finally:
        calls.close(descriptor)


def read(path: Path) -> tuple[records.Fold, int, bytes]:
    """(the content of a file, the number of its valid bytes, the other bytes).

    Raises
    ------
    SessionError
        When it is no conversation.
    OSError
        When it cannot be read.
    """
    data = read_bytes(path)
    fold, good = records.fold(data)
    if not fold.n:
        raise SessionError(f"{path} cannot be read as a conversation: its first line is damaged")
    return fold, good, data[good:]


def read_part(path: Path, fold: records.Fold) -> Message | None:
    """The unfinished message beside this file; None without one."""
    try:
        data = read_bytes(_beside(path, ".part"))
    except (OSError, SessionError):  # usually there is none
        return None
    return records.part(data, fold)


def describe_damage(fold: records.Fold, tail: bytes) -> str:
    """A sentence on a damaged end; "" for half a line, which a killed kernel leaves."""
    if b"\n" not in tail:
        return ""
    return (
        f"The file of this conversation is damaged: its first {len(fold.messages)} messages are "
        f"here, its last {len(tail):,} bytes cannot be read."
    )


def remove_beside(path: Path) -> None:
    """Remove the files beside a conversation, but for its lock."""
    for suffix in (".part", ".bad"):  # older versions put what they could not read into a `.bad`
        with suppress(FileNotFoundError):
            calls.unlink(_beside(path, suffix))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_suffix(suffix)
