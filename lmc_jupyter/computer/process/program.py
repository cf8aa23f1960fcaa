"""A block that runs one program, or several one after the other, and can be stopped at any moment.

One rule: the block is over when its program has ended, even if jobs of it still run; we write a
mark behind its last output. (The pipe or terminal itself stays open as long as a job in the
background has it.) Output goes through a terminal, where the system has them, so that it comes
line by line and in its order.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from lmc_jupyter.computer.language import Availability
from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.computer.process.engine import LATE, BlockLanguage, ForeignBlock, Patience
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.stream import partial_suffix

_POSIX = os.name == "posix"


@dataclass(frozen=True)
class Step:
    """One program of a block.

    Parameters
    ----------
    argv : the program, found on the PATH, and its arguments
    stdin : its input; none by default
    directory : its working directory; ours by default
    """

    argv: Sequence[str]
    stdin: str | None = None
    directory: str | None = None


class ProgramLanguage(BlockLanguage):
    """A language whose blocks are programs of their own.

    The jobs that a block leaves go on, and the next block begins with their output since then;
    `close` ends them. A block ends with a line of the status when that is not 0.
    """

    def __init__(self, patience: Patience | None = None, *, together: bool = True) -> None:
        super().__init__(patience, together=together)
        self._jobs: dict[int, list[psutil.Process]] = {}  # by the leader of their session
        self._late = OutputBuffer()
        self._lock = threading.Lock()

    @abstractmethod
    def availability(self) -> Availability:
        """Whether its programs are available."""

    @abstractmethod
    def _steps(self, code: str, directory: Path) -> Sequence[Step]:
        """The programs; each runs when the one before has not failed.

        Their files are written into the directory, which is removed after the block.
        """

    def _read(self, directory: Path) -> None:
        """Read the files that the programs have left in the directory; called after their end."""

    def _block(self, code: str) -> ForeignBlock:
        if missing := self.availability().missing:
            raise ComputerError(f"{missing}; nothing was run")
        return _Programs(self, code, self._patience)

    def close(self) -> None:
        """End the blocks that run, and the jobs of earlier ones."""
        self._turns.end()
        with self._lock:
            self._look()
            for leader in self._jobs:
                sessions.end(leader)
            self._look()
            self._late = OutputBuffer()

    def _hear(self, text: str) -> None:
        """Buffer what a job prints after the end of its block."""
        with self._lock:
            self._late.text(text)

    def _take_late_text(self) -> str:
        with self._lock:
            late, self._late = self._late, OutputBuffer()
        late.finish()
        return "".join(str(piece.content) for piece in late.take())

    def _leave(self, jobs: dict[int, list[psutil.Process]]) -> None:
        with self._lock:
            self._jobs.update(jobs)
            self._look()

    def _look(self) -> None:
        """Forget the sessions without a process: the system may use their number again."""
        for leader, processes in list(self._jobs.items()):
            if any(process.is_running() for process in processes):
                now = [each for each in sessions.session(leader) if sessions.lives(each)]
            else:
                now = []
            if now:
                self._jobs[leader] = now
            else:
                del self._jobs[leader]
                reaper.forget(leader)


class _Programs(ForeignBlock):
    def __init__(self, owner: ProgramLanguage, code: str, patience: Patience) -> None:
        super().__init__(patience)
        self._owner, self._code = owner, code
        self._leader: int | None = None
        """The leader of the running program's session; None between two programs."""
        self._jobs: dict[int, list[psutil.Process]] = {}

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
        self._owner._leave(self._jobs)

    def work(self) -> None:
        if late := self._owner._take_late_text():
            self.outbox.line(f"{LATE}\n{late}")
        directory: str | None = None
        try:
            directory = tempfile.mkdtemp(prefix="lmc-block-")
            reaper.watch_directory(directory)
            for step in self._owner._steps(self._code, Path(directory)):
                if self.stop_flag.is_set():
                    break
                if status := self._one(step, f"{directory}{os.sep}".encode()):
                    if not self.stop_flag.is_set():
                        self.outbox.line(_describe_status(status))
                    break
            self._owner._read(Path(directory))
        except OSError as error:
            raise ComputerError(f"this could not be run: {error}") from error
        finally:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
                reaper.forget_directory(directory)

    def _one(self, step: Step, folder: bytes) -> int:
        """Run one program to its end; return its status. Its output is shown without `folder`."""
        program = shutil.which(step.argv[0])
        if program is None:
            raise ComputerError(f"there is no {step.argv[0]} on the PATH: nothing was run")
        ours, theirs = _channel()
        mark = f"\x1e{secrets.token_hex(16)}\x1e".encode()
        try:
            with _stdin(step.stdin) as stdin:
                leader, wait = _start([program, *step.argv[1:]], step.directory, stdin, theirs)
            reaper.watch(leader)
            self._leader = leader
            status: list[int] = []

            def mark_the_end() -> None:
                status.append(wait())
                _write(theirs, mark)

            threading.Thread(target=mark_the_end, daemon=True).start()
            rest = self._read(ours, mark, folder)
            self._settle(leader)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        if self._jobs:  # else it would wait for a reader, or fail as it prints
            threading.Thread(
                target=_read_on, args=(ours, rest, self._owner._hear), daemon=True
            ).start()
        else:
            os.close(ours)
        return status[0]

    def _read(self, fd: int, mark: bytes, folder: bytes) -> bytes:
        """Read the output up to the mark; return the bytes behind it."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        buffer = b""
        while True:
            buffer = (buffer + os.read(fd, 65536)).replace(folder, b"")
            end = buffer.find(mark)
            if end >= 0:
                self.outbox.text(decode(buffer[:end], final=True))
                return buffer[end + len(mark) :]
            whole = partial_suffix(buffer, (mark, folder))
            self.outbox.text(decode(buffer[:whole]))
            buffer = buffer[whole:]

    def _settle(self, leader: int) -> None:
        """Remember the jobs of a program that has ended; end them, where the block was stopped."""
        self._leader = None
        jobs = [each for each in sessions.session(leader) if sessions.lives(each)]
        if jobs and self.stop_flag.is_set():
            sessions.end(leader)
            jobs = []
        if jobs:
            self._jobs[leader] = jobs
        else:
            reaper.forget(leader)


def _start(
    argv: Sequence[str], directory: str | None, stdin: int, output: int
) -> tuple[int, Callable[[], int]]:
    """Start a program that leads a session of its own; (its id, a function that waits for its
    status)."""
    if sys.platform == "win32":
        process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=output,
            stderr=output,
            cwd=directory,
            env=_environment(),
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
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
        # a kernel ignores SIGINT between its cells, and its children would inherit that
        setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE],
    )

    def wait() -> int:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:  # other code has set SIGCHLD to "ignore"
            return 0

    return pid, wait


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _read_on(fd: int, data: bytes, hear: Callable[[str], None]) -> None:
    """Read the output of jobs, until the last one has ended."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    hear(decode(data))
    with contextlib.suppress(OSError):  # a terminal whose other side is closed
        while data := os.read(fd, 65536):
            hear(decode(data))
    os.close(fd)


def _channel() -> tuple[int, int]:
    """(our end, the program's end) of a terminal, or of a pipe where there is no terminal."""
    if sys.platform == "win32":
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
    """The descriptor of a file with this text; unlike a pipe, it needs no writer."""
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
    """Our environment, without colours and pagers, and with UTF-8."""
    it = sessions.plain_environment()
    locale = it.get("LC_ALL") or it.get("LC_CTYPE") or it.get("LANG") or ""
    if _POSIX and "utf" not in locale.lower():
        it.pop("LC_ALL", None)
        it["LC_CTYPE"] = "C.UTF-8"
    return it


def _describe_status(status: int) -> str:
    if status > 0:
        return f"[exit status {status}]"
    try:
        return f"[ended by {signal.Signals(-status).name}]"
    except ValueError:
        return f"[ended by signal {-status}]"
