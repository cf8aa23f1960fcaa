"""A program, or some one after the other, run to their end for a block, and stopped at any moment.

One rule: the block is over when its program has ended, whatever that has left running; a mark
that is written behind its last output says so. (A pipe or terminal itself stays open as long as
any job in the background holds it.) Output goes through a terminal where there are such, so that
it comes line by line and in its order.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer import processes, reaper
from lmc_jupyter.computer.threaded import Pieces, ThreadedBlock
from lmc_jupyter.errors import ComputerError

AGAIN_SECONDS = 0.3
"""A program that goes on after SIGINT is told again, for so long…"""
PATIENCE_SECONDS = 2.0
"""…and then it gets SIGTERM, and as long after that SIGKILL."""

_POSIX = os.name == "posix"


@dataclass(frozen=True)
class Step:
    """One program of a block.

    Parameters
    ----------
    argv : the program, found on the PATH, and its arguments
    stdin : what it reads; nothing by default
    directory : where it runs; ours by default
    """

    argv: Sequence[str]
    stdin: str | None = None
    directory: str | None = None


Plan = Callable[[Path], Sequence[Step]]
"""Writes what the steps need into a directory, which goes with the block, and gives the steps."""


class Programs:
    """Runs blocks; each is programs of its own.

    What a block leaves running goes on; `close` ends it.
    """

    def __init__(self) -> None:
        self._blocks: set[_Block] = set()
        self._left: dict[int, list[psutil.Process]] = {}  # by the session's leader
        self._lock = threading.Lock()
        self._stops = 0

    def run(self, plan: Plan, after: Callable[[Path], None] | None = None) -> Pieces:
        """Run the steps of the plan until one fails; yield their output as it comes.

        It ends with a line of the status when that is not 0. `after` is called when they have
        ended, with the directory. From this call on `stop` reaches it.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When a program cannot be started.
        """
        return self._run(_Block(plan, after), self._stops)

    def _run(self, block: _Block, stops: int) -> Pieces:
        with self._lock:
            self._blocks.add(block)
        try:
            if self._stops == stops:
                yield from block.pieces()
            else:  # it was stopped before anything of it has run
                block.stopped.set()
        finally:
            block.finish()
            with self._lock:
                self._blocks.discard(block)
                self._left.update(block.left)
                self._look()
        if block.failed is not None:
            raise block.failed
        if block.stopped.is_set():
            raise KeyboardInterrupt

    def stop(self) -> None:
        """End the blocks that run, from any thread; returns at once."""
        self._stops += 1
        for block in list(self._blocks):
            block.stop()

    def close(self) -> None:
        """End the blocks that run and what earlier ones have left."""
        self.stop()
        for block in list(self._blocks):
            block.finish()
        with self._lock:
            self._look()
            for leader in self._left:
                processes.end(leader)
            self._look()

    def _look(self) -> None:
        """Forget the sessions that nobody is in any more: their number may be used again."""
        for leader, known in list(self._left.items()):
            if any(process.is_running() for process in known):
                now = [each for each in processes.session(leader) if processes.lives(each)]
            else:
                now = []
            if now:
                self._left[leader] = now
            else:
                del self._left[leader]
                _forget(leader)


class _Block(ThreadedBlock):
    def __init__(self, plan: Plan, after: Callable[[Path], None] | None) -> None:
        super().__init__()
        self._plan, self._after = plan, after
        self._leader: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.failed: ComputerError | None = None
        self.left: dict[int, list[psutil.Process]] = {}

    def _end(self) -> None:
        """Tell it to end: politely and again, then less so."""
        for told in itertools.count():
            since, leader = told * AGAIN_SECONDS, self._leader
            if leader is None:  # between two programs
                pass
            elif since < PATIENCE_SECONDS:
                processes.interrupt(leader)
            elif since < 2 * PATIENCE_SECONDS:
                processes.tell(processes.session(leader), signal.SIGTERM)
            else:
                processes.end(leader)
            if self._ended.wait(AGAIN_SECONDS):
                return

    # On a thread of its own -----------------------------------------------------------------------

    def _run(self) -> None:
        directory: str | None = None
        try:
            directory = tempfile.mkdtemp(prefix="lmc-block-")
            if _POSIX:
                reaper.watch_directory(directory)
            for step in self._plan(Path(directory)):
                if self.stopped.is_set():
                    break
                if status := self._one(step, f"{directory}{os.sep}".encode()):
                    if not self.stopped.is_set():
                        self._outbox.line(_said(status))
                    break
            if self._after is not None:
                self._after(Path(directory))
        except ComputerError as error:
            self.failed = error
        except OSError as error:
            self.failed = ComputerError(f"this could not be run: {error}")
        finally:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
                if _POSIX:
                    reaper.forget_directory(directory)
            self._is_over()

    def _one(self, step: Step, hidden: bytes) -> int:
        """Run one program to its end; gives its status. That text is left out of its output."""
        program = shutil.which(step.argv[0])
        if program is None:
            raise ComputerError(f"there is no {step.argv[0]} on the PATH: nothing was run")
        ours, theirs = _channel()
        mark = f"\x1e{secrets.token_hex(16)}\x1e".encode()
        try:
            with _stdin(step.stdin) as stdin:
                process = subprocess.Popen(
                    [program, *step.argv[1:]],
                    stdin=stdin,
                    stdout=theirs,
                    stderr=theirs,
                    cwd=step.directory,
                    env=_environment(),
                    start_new_session=True,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                )
            if _POSIX:
                reaper.watch(process.pid)
            self._leader = process.pid
            waiter = threading.Thread(target=_mark_the_end, args=(process, theirs, mark))
            waiter.daemon = True
            waiter.start()
            self._read(ours, mark, hidden)
            waiter.join()
            self._settle(process.pid)
            return process.returncode
        finally:
            os.close(ours)
            os.close(theirs)

    def _read(self, fd: int, mark: bytes, hidden: bytes) -> None:
        """Take what comes, up to the mark."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        held = b""
        while True:
            held = (held + os.read(fd, 65536)).replace(hidden, b"")
            end = held.find(mark)
            if end >= 0:
                self._outbox.text(decode(held[:end], final=True))
                return
            whole = min(_begins(held, mark), _begins(held, hidden))
            self._outbox.text(decode(held[:whole]))
            held = held[whole:]

    def _settle(self, leader: int) -> None:
        """The program has ended: end what it left, too, when it was stopped."""
        self._leader = None
        left = [each for each in processes.session(leader) if processes.lives(each)]
        if left and self.stopped.is_set():
            processes.end(leader)
            left = []
        if left:
            self.left[leader] = left
        else:
            _forget(leader)


def _begins(data: bytes, word: bytes) -> int:
    """Where at its end the data may begin with that word; its length when it does not."""
    for size in range(min(len(word) - 1, len(data)), 0, -1):
        if data.endswith(word[:size]):
            return len(data) - size
    return len(data)


def _forget(leader: int) -> None:
    if _POSIX:
        reaper.forget(leader)


def _mark_the_end(process: subprocess.Popen[bytes], fd: int, mark: bytes) -> None:
    process.wait()
    while mark:
        mark = mark[os.write(fd, mark) :]


def _channel() -> tuple[int, int]:
    """Our end and the program's of what it writes: a terminal, or a pipe where there is none."""
    if not _POSIX:
        return os.pipe()
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST  # no \r\n
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return ours, theirs


@contextlib.contextmanager
def _stdin(text: str | None) -> Generator[int, None, None]:
    """A file with that text: unlike a pipe, nobody needs to write it while it is read."""
    if text is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        file.seek(0)
        yield file.fileno()


def _environment() -> dict[str, str]:
    """Ours, without colours and pagers, and with characters in UTF-8."""
    it = processes.plain_environment()
    locale = it.get("LC_ALL") or it.get("LC_CTYPE") or it.get("LANG") or ""
    if _POSIX and "utf" not in locale.lower():
        it.pop("LC_ALL", None)
        it["LC_CTYPE"] = "C.UTF-8"
    return it


def _said(status: int) -> str:
    if status > 0:
        return f"[exit status {status}]"
    try:
        return f"[ended by {signal.Signals(-status).name}]"
    except ValueError:
        return f"[ended by signal {-status}]"
