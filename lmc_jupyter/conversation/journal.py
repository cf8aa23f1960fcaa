"""The file of one conversation, open for writing.

One rule: what was written is never written again. A record is one line at the end of the file;
when it cannot be written whole, the file is cut back to the records before it.

Beside `<id>.jsonl` may lie `<id>.part`, the message that is being written (it is in the journal
when it is whole), `<id>.lock`, held by the one process that writes, `<id>.bad`, the end of a file
that was damaged, and for the moment in which it is made `.<id>.jsonl.<number>`.
"""

from __future__ import annotations

import _thread
import os
import stat
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
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
"""A longer file is none of ours."""
_CHUNK = 1 << 20


class LockedError(SessionError):
    """Another process writes this conversation."""


class Journal:
    """The writer of one conversation's file; `new` makes one, `Journal.of` goes on with one.

    Every method raises OSError when the disk refuses; the file then holds the records that it held
    before, and the call may be tried again.
    """

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path, self._lock = path, lock
        self._descriptor = self._part = -1
        self._size = self._n = 0
        self._unsure = False
        self._syncing: _Sync | None = None
        self._synced = 0  # bytes
        self._piece: tuple[object, int, int] = (None, 0, 0)  # the last one, and where it stands
        self._owner = os.getpid()
        self._open: set[int] = set()
        self._end = weakref.finalize(self, _let_go, self._open, lock, path, self._owner)

    @classmethod
    def new(
        cls,
        folder: Path,
        head: Mapping[str, Any],
        rest: Iterable[dict[str, Any]],
        *,
        sync: bool = True,
    ) -> Journal:
        """A new file that begins with a head and these records: it has them, or is not there.

        Parameters
        ----------
        sync : whether it is on the disk itself; if not, see `begin_sync`
        """
        calls.make_folder(folder)
        path = folder / f"{head['id']}.jsonl"
        first = [{"kind": "head", "version": records.VERSION, **head}, *rest]
        data = b"".join(records.line({"n": n, **each}) for n, each in enumerate(first))
        journal = cls(path, _locked(path))
        try:
            write_whole(path, data)
            journal._descriptor = journal._opened(path, APPEND & ~os.O_CREAT)
            journal._n, journal._size = len(first), len(data)
            if sync:
                journal.sync()
        except BaseException:
            with suppress(OSError):  # what is left of it is written over by the next try
                journal.remove()
            journal.close()
            raise
        return journal

    @classmethod
    def of(cls, path: Path) -> tuple[Journal, records.Fold, str]:
        """Go on with a file: its writer, what it holds, and a sentence on what was damaged.

        A message that was being written when its writer died is taken over; a damaged end is
        kept aside.

        Raises
        ------
        LockedError
            When another process writes it.
        SessionError
            When it is no conversation.
        OSError
            When it cannot be read or written.
        """
        journal = cls(path, _locked(path))
        try:
            journal._descriptor = journal._opened(path, APPEND & ~os.O_CREAT)
            folded, lost = journal.settle()
        except BaseException:
            journal.close()
            raise
        return journal, folded, lost

    @property
    def n(self) -> int:
        """How many records it has."""
        return self._n

    def append(self, rest: Sequence[Mapping[str, Any]]) -> None:
        """Write these records, all or none."""
        self._mine()
        if self._unsure:
            self._cut()
        data = bytearray()
        for count, record in enumerate(rest, self._n):
            data += records.line({"n": count, **record})
        self._unsure = True
        try:
            for start in range(0, len(data), _CHUNK):
                write_all(self._descriptor, bytes(data[start : start + _CHUNK]))
        except OSError:
            with suppress(OSError):  # then it is cut before anything else is written
                self._cut()
            raise
        n, size = self._n + len(rest), self._size + len(data)
        self._n, self._size, self._unsure = n, size, False  # together, whatever a Ctrl-C breaks off

    @property
    def syncing(self) -> bool:
        """Whether a sync has begun that nobody has waited for yet."""
        return self._syncing is not None

    def begin_sync(self) -> None:
        """Begin to have all of it on the disk, on a thread of its own; `sync` waits for the end.

        Raises
        ------
        AlteredError
            When the file is gone, or is no longer what was written.
        """
        self._wait()
        self._check()
        if self._synced < self._size:
            self._syncing = _Sync(self._descriptor, self._size)

    def sync(self) -> None:
        """Have all of it on the disk; raises as `begin_sync`."""
        if self._wait() and self._synced == self._size:
            return
        self._check()
        calls.sync(self._descriptor)
        self._synced = self._size

    def _wait(self) -> bool:
        """Wait for the sync that has begun; whether one has."""
        sync = self._syncing
        if sync is None:
            return False
        self._mine()  # a fork has no such thread
        try:
            sync.wait()
        except Exception:
            self._syncing = None  # the next sync is another one
            raise
        self._synced, self._syncing = sync.size, None
        return True

    def _check(self) -> None:
        """Cut off what was not written whole; an AlteredError if another program has written."""
        self._mine()
        if self._unsure:
            self._cut()
        status = calls.status(self._descriptor)
        if status.st_nlink == 0 or status.st_size != self._size:
            raise AlteredError(f"{self.path} was changed or removed by another program")

    def settle(self) -> tuple[records.Fold, str]:
        """Read the file anew, put its end in order, and take up the part beside it."""
        self._mine()
        folded, good, tail = read(self.path)
        if tail:
            self._put_aside(tail)
        self._n, self._size, self._unsure = folded.n, good, False
        if tail:
            self._cut()
        found = read_part(self.path, folded)
        if found is not None:
            before = len(folded.messages)
            records.add_part(folded.messages, found)
            more = len(folded.messages) > before
            kind = {"kind": "message"} if more else {"kind": "instead", "at": before - 1}
            self.append([{**kind, "message": found.to_dict()}])
        with suppress(FileNotFoundError):
            calls.unlink(_beside(self.path, ".part"))
        return folded, damaged(folded, tail)

    # The message that is being written ------------------------------------------------------------

    def begin(self, message: Message) -> None:
        """A message begins: its content comes in pieces."""
        self._mine()
        if self._part < 0:
            self._part = self._opened(_beside(self.path, ".part"))
        head = records.line(records.part_head(self._n, message))
        calls.truncate(self._part, 0)
        self._piece = None, 0, len(head)
        write_all(self._part, head)

    def piece(self, event: object, text: str) -> None:
        """More of its content, which this event brought: it stands there once, however often a
        Ctrl-C breaks this off and the same event is told again."""
        last, start, end = self._piece
        data = records.line(text)
        if last is not event:
            start, end = end, end + len(data)
            self._piece = event, start, end
        elif calls.status(self._part).st_size == end:
            return
        else:
            calls.truncate(self._part, start)
        write_all(self._part, data)

    def over(self) -> None:
        """No message is being written."""
        if self._part >= 0:
            calls.truncate(self._part, 0)

    # The end --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let it go: another process may write it then."""
        with suppress(OSError):  # who let it go without a sync did not ask for one
            self._wait()
        self._end()
        self._descriptor = self._part = -1

    def remove(self) -> None:
        """Close it and take it away, with all that lies beside it."""
        with suppress(FileNotFoundError):
            calls.unlink(self.path)
        remove_beside(self.path)
        self.close()

    def _opened(self, path: Path, flags: int = APPEND) -> int:
        descriptor = calls.open(path, flags, 0o600)
        self._open.add(descriptor)
        return descriptor

    def _cut(self) -> None:
        calls.truncate(self._descriptor, self._size)
        self._unsure = False

    def _put_aside(self, tail: bytes) -> None:
        bad = calls.open(_beside(self.path, ".bad"), APPEND, 0o600)
        try:
            write_all(bad, tail)
            calls.sync(bad)
        finally:
            calls.close(bad)

    def _mine(self) -> None:
        if self._descriptor < 0 and self._end.alive is False:
            raise OSError(f"{self.path} is closed")
        if os.getpid() != self._owner:
            raise OSError("this process is a fork of the one that writes the conversation")


class AlteredError(OSError):
    """The file is not what its writer wrote."""


class _Sync:
    """One sync, on a thread of its own.

    Parameters
    ----------
    descriptor : of the file
    size : how many bytes it has
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self._error: Exception | None = None
        self._over = threading.Event()
        # not `threading.Thread`, which waits until the thread runs: a millisecond of the question
        _thread.start_new_thread(self._run, (descriptor,))

    def _run(self, descriptor: int) -> None:
        try:
            calls.sync(descriptor)
        except Exception as error:  # noqa: BLE001 - raised again by who waits for it
            self._error = error
        finally:
            self._over.set()

    def wait(self) -> None:
        """Wait for its end, and raise what it raised."""
        self._over.wait()
        if self._error is not None:
            raise self._error


def _locked(path: Path) -> FileLock:
    lock = calls.lock(_beside(path, ".lock"))
    if lock is None:
        raise LockedError("another kernel uses this conversation: work on a copy of it")
    return lock


def _let_go(opened: set[int], lock: FileLock, path: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork's copies end with the fork
    for descriptor in opened:
        with suppress(OSError):  # it is closed all the same
            calls.close(descriptor)
    opened.clear()
    part = _beside(path, ".part")
    with suppress(OSError):
        if part.stat().st_size == 0:  # else its message is in it and nowhere else
            calls.unlink(part)
    unlock(path, lock)


def unlock(path: Path, lock: FileLock) -> None:
    """Let go of a conversation's lock."""
    with suppress(OSError):  # taken away while it is held, so that nobody holds another of the name
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
    """What is in a file, if it is one.

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
    """What a file holds, how many of its bytes are good, and the others.

    Raises
    ------
    SessionError
        When it is no conversation.
    OSError
        When it cannot be read.
    """
    data = read_bytes(path)
    folded, good = records.fold(data)
    if not folded.n:
        raise SessionError(f"{path} cannot be read as a conversation: its first line is damaged")
    return folded, good, data[good:]


def read_part(path: Path, folded: records.Fold) -> Message | None:
    """The message that was being written beside this file."""
    try:
        data = read_bytes(_beside(path, ".part"))
    except (OSError, SessionError):  # there is none, as a rule
        return None
    return records.part(data, folded)


def damaged(folded: records.Fold, tail: bytes) -> str:
    """The sentence on a damaged end; "" for half a line, which a killed kernel leaves."""
    if b"\n" not in tail:
        return ""
    return (
        f"The file of this conversation was damaged: its first {len(folded.messages)} messages "
        f"are here, the last {len(tail):,} bytes could not be read and are saved in a file "
        "beside it."
    )


def remove_beside(path: Path) -> None:
    """Take away what lies beside a conversation, but its lock."""
    for suffix in (".part", ".bad"):
        with suppress(FileNotFoundError):
            calls.unlink(_beside(path, suffix))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_suffix(suffix)
