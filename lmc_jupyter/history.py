"""A conversation on disk, so that it outlives the kernel that it was held in.

One rule: the file is the list of messages, one to a line, and each is written as soon as it is
whole: what a kernel takes with it when it dies is at most the message that was being written.

A journal belongs to one kernel and has its name: Jupyter gives a restarted kernel the same one.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.lmc import Message

_PREFIX, _SUFFIX = "lmc-", ".jsonl"


class Journal:
    """The messages of one conversation in a file that only its owner can read.

    Parameters
    ----------
    path : the file; it is made with the first message, and taken away with the last
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lost = 0
        """How many lines `read` could not read."""
        self._written: list[Message] = []
        self._ends: list[int] = []  # where each message ends in the file, in bytes
        self._lock = threading.Lock()

    @classmethod
    def of_kernel(cls, connection_file: str | Path) -> Journal:
        """The journal of the kernel with this connection file, in the folder beside it.

        Journals of kernels that are gone, whose connection files are, are removed.
        """
        file = Path(connection_file)
        for left in file.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
            name = left.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
            if not (file.parent / f"{name}.json").exists():
                with suppress(OSError):  # somebody else has taken it away
                    left.unlink()
        return cls(file.parent / f"{_PREFIX}{file.stem}{_SUFFIX}")

    def read(self) -> list[Message]:
        """What was kept. A line that a dying kernel has cut is counted in `lost`.

        Raises
        ------
        OSError
            When there is a file and it cannot be read.
        """
        with self._lock:
            try:
                lines = self.path.read_bytes().splitlines(keepends=True)
            except FileNotFoundError:
                return []
            self._written, self._ends, end = [], [], 0
            for line in lines:
                try:
                    message = Message.from_dict(json.loads(line))
                except (ValueError, RecursionError, ProtocolError):
                    break
                end += len(line)
                self._written.append(message)
                self._ends.append(end)
            self.lost = len(lines) - len(self._written)
            return list(self._written)

    def keep(self, messages: Sequence[Message]) -> None:
        """Bring the file in step: what is new is added, what is gone or other goes.

        Raises
        ------
        OSError
            When it cannot be written.
        """
        with self._lock:
            same = 0
            for old, new in zip(self._written, messages, strict=False):
                if old is not new:
                    break
                same += 1
            if same == len(self._written) == len(messages):
                return
            if messages:
                start = self._ends[same - 1] if same else 0
                self._ends[same:] = self._write(start, messages[same:])
            else:
                self.path.unlink(missing_ok=True)
                self._ends = []
            self._written[same:] = messages[same:]

    def _write(self, start: int, messages: Sequence[Message]) -> list[int]:
        """These messages from this byte on, and nothing behind them; where each of them ends."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        ends = []
        with os.fdopen(descriptor, "wb") as file:
            file.truncate(start)
            file.seek(start)
            for message in messages:
                start += file.write(json.dumps(message.to_dict(), default=str).encode() + b"\n")
                ends.append(start)
        return ends
