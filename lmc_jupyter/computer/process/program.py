"""A program, or some one after the other, run to their end for a block, and stopped at any moment.

One rule: the block is over when its program has ended, whatever that has left running; a mark
that is written behind its last output says so. (A pipe or terminal itself stays open as long as
any job in the background holds it.) Output goes through a terminal where there are such, so that
it comes line by line and in its order.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer.language import Availability
from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.computer.process.engine import LATE, Block, BlockLanguage, Patience
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.stream import partial_suffix

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


class ProgramLanguage(BlockLanguage):
    """A language each block of which is programs of its own.

    What a block leaves running goes on, and the next block begins with what it has printed since;
    `close` ends it. A block ends with a line of the status when that is not 0.
    """

    def __init__(self, patience: Patience | None = None, *, together: bool = True) -> None:
        super().__init__(patience, together=together)
        self._left: dict[int, list[psutil.Process]] = {}  # by the session's leader
        self._late = OutputBuffer()
        self._lock = threading.Lock()

    @abstractmethod
    def availability(self) -> Availability:
        """Whether its programs are there."""

    @abstractmethod
    def _steps(self, code: str, directory: Path) -> Sequence[Step]:
        """The programs, each of which runs when the one before has not failed.

        Their files are written into the directory, which goes with the block.
        """

    def _read(self, directory: Path) -> None:
        """The programs have ended: take what they left in the directory."""

    def _block(self, code: str) -> Block:
        if missing := self.availability().missing:
            raise ComputerError(f"{missing}; nothing was run")
        return _Programs(self, code, self._patience)

    def close(self) -> None:
        """End the blocks that run and what earlier ones have left."""
        self._turns.end()
        with self._lock:
            self._look()
            for leader in self._left:
                sessions.end(leader)
            self._look()
            self._late = OutputBuffer()

    def _hear(self, text: str) -> None:
        """Keep what a program in the background prints when its block has ended."""
        with self._lock:
            self._late.text(text)

    def _heard(self) -> str:
        with self._lock:
            late, self._late = self._late, OutputBuffer()
        late.finish()
        return "".join(str(piece.content) for piece in late.take())

    def _leave(self, left: dict[int, list[psutil.Process]]) -> None:
        with self._lock:
            self._left.update(left)
            self._look()

    def _look(self) -> None:
        """Forget the sessions that nobody is in any more: their number may be used again."""
        for leader, known in list(self._left.items()):
            if any(process.is_running() for process in known):
                now = [each for each in sessions.session(leader) if sessions.lives(each)]
            else:
                now = []
            if now:
                self._left[leader] = now
            else:
                del self._left[leader]
                _forget(leader)


class _Programs(Block):
    def __init__(self, owner: ProgramLanguage, code: str, patience: Patience) -> None:
        super().__init__(patience)
        self._owner, self._code = owner, code
        self._leader: int | None = None
        """Of the program that runs; None between two."""
        self._left: dict[int, list[psutil.Process]] = {}

    def interrupt(self) -> None:
        if (leader := self._leader) is not None:
            sessions.interrupt(leader)

    def terminate(self) -> None:
        if (leader := self._leader) is not None:
            sessions.tell(sessions.session(leader), signal.SIGTERM)

    def kill(self) -> None:
        if (leader := self._leader) is not None:
            sessions.end(leader)

    def settle(self) -> None:
        self._owner._leave(self._left)

    def work(self) -> None:
        if heard := self._owner._heard():
            self.outbox.line(f"{LATE}\n{heard}")
        directory: str | None = None
        try:
            directory = tempfile.mkdtemp(prefix="lmc-block-")
            if _POSIX:
                reaper.watch_directory(directory)
            for step in self._owner._steps(self._code, Path(directory)):
                if self.stopped.is_set():
                    break
                if status := self._one(step, f"{directory}{os.sep}".encode()):
                    if not self.stopped.is_set():
                        self.outbox.line(_said(status))
                    break
            self._owner._read(Path(directory))
        except OSError as error:
            raise ComputerError(f"this could not be run: {error}") from error
        finally:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
                if _POSIX:
                    reaper.forget_directory(directory)

    def _one(self, step: Step, hidden: bytes) -> int:
        """Run one program to its end; gives its status. That text is left out of its output."""
        program = shutil.which(step.argv[0])
        if program is None:
            raise ComputerError(f"there is no {step.argv[0]} on the PATH: nothing was run")
        ours, theirs = _channel()
        mark = f"\x1e{secrets.token_hex(16)}\x1e".encode()
        try:
            with _stdin(step.stdin) as stdin:
                leader, wait = _start([program, *step.argv[1:]], step.directory, stdin, theirs)
            if _POSIX:
                reaper.watch(leader)
            self._leader = leader
            status: list[int] = []

            def mark_the_end() -> None:
                status.append(wait())
                _write(theirs, mark)

            threading.Thread(target=mark_the_end, daemon=True).start()
            rest = self._read(ours, mark, hidden)
            self._settle(leader)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        if self._left:  # else it would wait for a reader, or fail as it prints
            threading.Thread(
                target=_read_on, args=(ours, rest, self._owner._hear), daemon=True
            ).start()
        else:
            os.close(ours)
        return status[0]

    def _read(self, fd: int, mark: bytes, hidden: bytes) -> bytes:
        """Take what comes, up to the mark; gives what came behind it."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        held = b""
        while True:
            held = (held + os.read(fd, 65536)).replace(hidden, b"")
            end = held.find(mark)
            if end >= 0:
                self.outbox.text(decode(held[:end], final=True))
                return held[end + len(mark) :]
            whole = partial_suffix(held, (mark, hidden))
            self.outbox.text(decode(held[:whole]))
            held = held[whole:]

    def _settle(self, leader: int) -> None:
        """The program has ended: end what it left, too, when it was stopped."""
        self._leader = None
        left = [each for each in sessions.session(leader) if sessions.lives(each)]
        if left and self.stopped.is_set():
            sessions.end(leader)
            left = []
        if left:
            self._left[leader] = left
        else:
            _forget(leader)


def _forget(leader: int) -> None:
    if _POSIX:
        reaper.forget(leader)


def _start(
    argv: Sequence[str], directory: str | None, stdin: int, output: int
) -> tuple[int, Callable[[], int]]:
    """Start a program that leads a session of its own; its id, and what waits for its status."""
    if not _POSIX:
        process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=output,
            stderr=output,
            cwd=directory,
            env=_environment(),
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        return process.pid, process.wait
    if directory is not None:
        argv = ["/bin/sh", "-c", 'cd -- "$0" && exec "$@"', directory, *argv]
    pid = os.posix_spawn(
        argv[0],
        list(argv),
        _environment(),
        file_actions=[
            (os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((stdin, output, output))
        ],
        setsid=True,
        # a kernel ignores SIGINT between its cells, and what it starts would do so as well
        setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE],
    )

    def wait() -> int:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:  # somebody has asked the system to forget our children
            return 0

    return pid, wait


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _read_on(fd: int, data: bytes, hear: Callable[[str], None]) -> None:
    """Read what programs in the background print, until the last one has ended."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    hear(decode(data))
    with contextlib.suppress(OSError):  # a terminal without another side
        while data := os.read(fd, 65536):
            hear(decode(data))
    os.close(fd)


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
        with Path(os.devnull).open("rb") as nothing:
            yield nothing.fileno()
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        file.seek(0)
        yield file.fileno()


def _environment() -> dict[str, str]:
    """Ours, without colours and pagers, and with characters in UTF-8."""
    it = sessions.plain_environment()
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
