"""The shell: one bash that lives on from block to block, with its directory and variables.

One rule: every process of its session is ours to interrupt and to end, and nothing else is.
Whoever reads the pieces does the work: there is no thread here.

How it is driven (measured): an interactive bash without a terminal reads fixed one-line
commands; interactive, because only then does SIGINT abort the whole block. The code comes on a
descriptor of its own, status and directory go back on another. A pty is its stdout, so that
programs write line by line.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import secrets
import selectors
import signal
import struct
import termios
import threading
import time
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer import reaper
from lmc_jupyter.computer.outbox import Outbox
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk

Pieces = Generator[Chunk, None, None]

OUTPUT_FD, ERRORS_FD, CODE_FD, REPORT_FD = 196, 197, 198, 199
"""Descriptors of bash: a second stdout and stderr, the code that comes in, status and directory
that go out. The code itself has none of them."""
AGAIN_SECONDS = 0.3
"""A block that goes on after SIGINT is told again, for so long…"""
PATIENCE_SECONDS = 2.0
"""…and then its processes get SIGTERM, and as long after that SIGKILL."""
READ_SECONDS = 0.02
_MARK_SECONDS = 1.0
"""How long the mark behind the last output may take; a pty hands its bytes over in its own time."""
_START_SECONDS = 20.0

_SETTINGS = {
    "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "NO_COLOR": "1", "GIT_TERMINAL_PROMPT": "0",
    "PS1": "", "PS2": "", "PROMPT_COMMAND": "", "HISTFILE": "", "COLUMNS": "120", "LINES": "40",
}  # fmt: skip
_MARK = "\x1e" + secrets.token_hex(8) + "\x1e"
_REPORT = (
    f'builtin printf "%s\\0%s\\0" "$?" "$PWD" >&{REPORT_FD}; '
    f'builtin printf "{_MARK}" >&{OUTPUT_FD}; builtin printf "{_MARK}" >&{ERRORS_FD}\n'
)
_CLOSED = " ".join(f"{fd}>&-" for fd in (OUTPUT_FD, ERRORS_FD, CODE_FD, REPORT_FD))
_SET_UP = "set +m +o history; unset COLUMNS LINES PROMPT_COMMAND; PS1= PS2=\n"
_RUN = (
    f'IFS= builtin read -r -d "" -u {CODE_FD} __lmc_code; '
    f'builtin eval "$__lmc_code" </dev/null {_CLOSED}\n'
)


class Shell:
    """bash. Windows has none: there this language is not registered."""

    name = "shell"
    aliases = LANGUAGES["shell"]

    def __init__(self) -> None:
        self._bash: _Bash | None = None
        self._directory: str | None = None
        self._left: list[_Bash] = []  # ended by themselves; their jobs may go on
        self._turn = threading.Lock()
        self._block: _Block | None = None

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes, then its status when it is not 0.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When there is no bash, or the code holds a NUL character.
        """
        if "\0" in code:
            raise ComputerError("shell code cannot hold a NUL character: nothing was run")
        with self._turn:
            bash = self._started()
            block = self._block = _Block(bash, code)
            try:
                yield from block.pieces()
            finally:
                if block.ended is None:
                    block.end()
                self._block = None
                self._settle(block)
        if block.stopped:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        block = self._block
        if block is not None:
            block.stop()

    def close(self) -> None:
        """End bash and all that it started. The next block starts a new one."""
        self.stop()
        with self._turn:
            for bash in (*self._left, *([self._bash] if self._bash is not None else [])):
                bash.kill()
            self._left.clear()
            self._bash = self._directory = None

    def _started(self) -> _Bash:
        if self._bash is not None and not self._bash.lives():
            self._let_go(self._bash)  # it was ended from outside between two blocks
        if self._bash is None:
            self._bash = _Bash(self._directory)
        return self._bash

    def _settle(self, block: _Block) -> None:
        """Remember where it was, and let go of a bash that has ended."""
        if block.ended is not None:
            self._directory = block.ended.directory or self._directory
        if block.ended is None or not block.ended.lives:
            self._let_go(block.bash)

    def _let_go(self, bash: _Bash) -> None:
        bash.release()
        self._left.append(bash)
        self._bash = None


@dataclass(frozen=True)
class _End:
    """How a block ended."""

    status: int | None
    directory: str | None
    lives: bool


class _Block:
    """One block in a bash: reads until it ends, and ends it."""

    def __init__(self, bash: _Bash, code: str) -> None:
        self.bash = bash
        self.ended: _End | None = None
        self.stopped = False
        self._rest = memoryview(code.encode("utf-8", "surrogateescape") + b"\0")
        self._outbox = Outbox()
        self._before = set(members(bash.leader))  # jobs of earlier blocks are not its to end
        self._held = ""
        self._told = 0
        self._first = self._next = 0.0

    def pieces(self) -> Pieces:
        self.bash.command(_RUN + _REPORT)
        self._write()
        read = 0.0
        while self.ended is None:
            pause = read + READ_SECONDS - time.monotonic()
            if self._outbox.empty():
                self._step(self._next_signal())
            elif pause > 0:
                self._step(pause)
            else:
                read = time.monotonic()
                yield from self._outbox.take()
            if self.stopped and self.ended is None:
                self._signal()
        self._outbox.finish()
        yield from self._outbox.take()
        if not self.stopped and (said := _said(self.ended)):
            self._outbox.line(said)
            yield from self._outbox.take()

    def end(self) -> None:
        """Nobody reads any more: interrupt the block and wait until it has ended."""
        self.stopped = True
        while self.ended is None:
            self._signal()
            self._step(self._next_signal())

    def stop(self) -> None:
        self.stopped = True
        self.bash.wake()

    # Stopping -------------------------------------------------------------------------------------

    def _signal(self) -> None:
        """Tell the block to end: politely and again, then its processes, then bash itself."""
        now = time.monotonic()
        if self._told == 0:
            self._first = now
        elif now < self._next:
            return
        since = now - self._first
        self._told += 1
        self._next = now + AGAIN_SECONDS
        if since < PATIENCE_SECONDS:
            self.bash.signal(signal.SIGINT)
        elif since < 2 * PATIENCE_SECONDS:
            self.bash.signal(signal.SIGTERM, spare=self._before)
            self.bash.signal(signal.SIGINT)
        elif since < 3 * PATIENCE_SECONDS:
            self.bash.signal(signal.SIGKILL, spare=self._before)
            self.bash.signal(signal.SIGINT)
        else:
            self.bash.signal(signal.SIGKILL)
            self.ended = _End(self.bash.status(), None, lives=False)

    def _next_signal(self) -> float | None:
        return None if not self._told else max(0.0, self._next - time.monotonic())

    # Reading --------------------------------------------------------------------------------------

    def _step(self, seconds: float | None) -> None:
        """Wait for something from bash, at most so long, and take it."""
        for name in self.bash.ready(seconds):
            if name == "code":
                self._write()
            elif name == "report":
                self._report()
            elif name != "wake":
                self._take(name)

    def _write(self) -> None:
        """Send as much of the code as the pipe takes now."""
        try:
            while self._rest:
                self._rest = self._rest[os.write(self.bash.code, self._rest[:65536]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._rest = self._rest[:0]
        self.bash.want_to_write(bool(self._rest))

    def _take(self, name: str) -> None:
        text = self.bash.read(name)
        if name == "errors":
            text = self._held + text
            self._held = "exit\n" if text.endswith("exit\n") else ""  # bash says so as it ends
            text = text[: len(text) - len(self._held)]
        self._outbox.text(text)

    def _report(self) -> None:
        lives = self.bash.read_report()
        if lives is None:
            return
        end = time.monotonic() + _MARK_SECONDS
        while self.bash.owes() and (left := end - time.monotonic()) > 0:
            for name in self.bash.ready(left, only=("output", "errors")):
                self._take(name)
        if lives:
            self._outbox.text(self._held)
            status, directory = self.bash.report
            self.ended = _End(status, directory, lives=True)
        else:
            self.ended = _End(self.bash.status(), None, lives=False)


def _said(end: _End) -> str:
    if end.lives:
        return f"[exit status {end.status}]" if end.status else ""
    status = "" if end.status is None else f" with status {end.status}"
    return f"[the shell has ended{status}; the next block gets a new one in the same directory]"


class _Bash:
    """A bash process, its descriptors and its session."""

    def __init__(self, directory: str | None) -> None:
        program = _program()
        self._selector = selectors.DefaultSelector()
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("output", "errors")
        }
        self._reported = b""
        self.report: tuple[int, str] = (0, "")
        """Status and directory, as bash said them last."""
        self._owed: dict[str, str] = {}
        self._released = False
        theirs, ours = _channels()
        self._commands, self.code = ours["commands"], ours["code"]
        self._fds = {name: ours[name] for name in ("output", "errors", "report", "wake")}
        self._waker = ours["waker"]
        try:
            self.leader = os.posix_spawn(
                program,
                ["bash", "--norc", "--noprofile", "--noediting", "+H", "-i"],
                {**os.environ, **_SETTINGS},
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in theirs.items()],
                setsid=True,
                setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE],
            )
        finally:
            self._last = {"output": theirs.pop(1), "errors": theirs.pop(2)}
            for fd in theirs.values():
                os.close(fd)
        reaper.watch(self.leader)
        for name, fd in self._fds.items():
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ, name)
        os.set_blocking(self.code, False)
        os.set_blocking(self._waker, False)
        self._start(directory)

    def _start(self, directory: str | None) -> None:
        self.command(_SET_UP + _REPORT)
        self._until_report()
        if directory is not None:
            self.command(_RUN + _REPORT)
            os.write(self.code, f"cd -- {_quoted(directory)}".encode("utf-8", "surrogateescape"))
            os.write(self.code, b"\0")
            self._until_report()

    def _until_report(self) -> None:
        """What bash says as it starts is not the block's output."""
        end, reported = time.monotonic() + _START_SECONDS, False
        while (left := end - time.monotonic()) > 0:
            for name in self.ready(left):
                if name in ("output", "errors"):
                    self.read(name)
                elif name == "report" and (lives := self.read_report()) is not None:
                    if not lives:
                        self.kill()
                        raise ComputerError("bash ended as it started: look at its installation")
                    reported = True
            if reported and not self.owes():
                return
        self.kill()
        raise ComputerError(f"bash did not start within {_START_SECONDS:.0f} s")

    # Channels -------------------------------------------------------------------------------------

    def command(self, line: str) -> None:
        """Send one line that ends with a report, and then marks in the output."""
        self._owed = {"output": "", "errors": ""}
        with contextlib.suppress(BrokenPipeError):  # it has ended; the report's end says so
            os.write(self._commands, line.encode())

    def want_to_write(self, wanted: bool) -> None:
        registered = self.code in self._selector.get_map()
        if wanted and not registered:
            self._selector.register(self.code, selectors.EVENT_WRITE, "code")
        elif registered and not wanted:
            self._selector.unregister(self.code)

    def ready(self, seconds: float | None, only: tuple[str, ...] = ()) -> list[str]:
        """The names of the channels that have something, output before the report."""
        names = [str(key.data) for key, _ in self._selector.select(seconds)]
        if only:
            return [name for name in names if name in only]
        if "wake" in names:
            with contextlib.suppress(BlockingIOError):
                os.read(self._fds["wake"], 4096)
        return sorted(names, key=lambda name: name == "report")

    def wake(self) -> None:
        """Make `ready` return, from any thread."""
        with contextlib.suppress(BlockingIOError, OSError):  # full: it wakes anyway
            os.write(self._waker, b"\0")

    def read(self, name: str) -> str:
        fd = self._fds[name]
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return ""
        except OSError:  # a pty without another side
            data = b""
        text = self._decoders[name].decode(data, final=not data)
        if not data:
            self._selector.unregister(fd)
            return self._owed.pop(name, "") + text
        if name not in self._owed:
            return text
        text = self._owed[name] + text  # what may be the beginning of a mark was held back
        if _MARK in text:
            del self._owed[name]
            return text.replace(_MARK, "", 1)
        held = next((n for n in range(len(_MARK) - 1, 0, -1) if text.endswith(_MARK[:n])), 0)
        self._owed[name] = text[len(text) - held :]
        return text[: len(text) - held]

    def owes(self) -> bool:
        """Whether output of the last command is still on its way."""
        return bool(self._owed)

    def read_report(self) -> bool | None:
        """True when `report` is new, False when bash has ended, None when it is not yet whole."""
        data = os.read(self._fds["report"], 65536)
        if not data:
            self._selector.unregister(self._fds["report"])
            self._last_words()
            return False
        self._reported += data
        if self._reported.count(b"\0") < 2:
            return None
        status, directory, self._reported = self._reported.split(b"\0", 2)
        self.report = int(status), os.fsdecode(directory)
        return True

    def _last_words(self) -> None:
        """Bash has ended without a mark: mark the pty and the pipe ourselves, behind its output."""
        for name, fd in self._last.items():
            if name in self._owed:
                with contextlib.suppress(OSError):
                    os.write(fd, _MARK.encode())

    # Processes ------------------------------------------------------------------------------------

    def lives(self) -> bool:
        try:
            return os.waitpid(self.leader, os.WNOHANG) == (0, 0)
        except ChildProcessError:
            return False

    def status(self) -> int | None:
        """How it ended; None when somebody else has taken that."""
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.leader, 0)[1])
        except ChildProcessError:
            return None

    def signal(self, number: int, spare: Collection[int] = ()) -> None:
        """Signal every process of the session but those."""
        for pid in members(self.leader):
            if pid not in spare:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def kill(self) -> None:
        """End the whole session, whoever of it still lives."""
        for pid in members(self.leader):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self.status()
        reaper.forget(self.leader)
        self.release()

    def release(self) -> None:
        """Close our ends; what bash started may go on."""
        if self._released:
            return
        self._released = True
        self._selector.close()
        last = self._last.values()
        for fd in (*self._fds.values(), *last, self._commands, self.code, self._waker):
            os.close(fd)


def members(leader: int) -> list[int]:
    """The processes of the session that this one leads, or led."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader:
                found.append(pid)
    return found


def _channels() -> tuple[dict[int, int], dict[str, int]]:
    """Bash's descriptors by number, and our ends by name."""
    commands, code, errors, report, wake = (os.pipe() for _ in range(5))
    output, terminal = os.openpty()
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.OPOST  # no \r\n
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    theirs = {
        0: commands[0],
        1: terminal,
        2: errors[1],
        OUTPUT_FD: os.dup(terminal),
        ERRORS_FD: os.dup(errors[1]),
        CODE_FD: code[0],
        REPORT_FD: report[1],
    }
    for number, fd in theirs.items():  # out of the way of each other's numbers
        theirs[number] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, REPORT_FD + 1)
        os.close(fd)
    ours = {
        "commands": commands[1],
        "code": code[1],
        "output": output,
        "errors": errors[0],
        "report": report[0],
        "wake": wake[0],
        "waker": wake[1],
    }
    return theirs, ours


def _program() -> str:
    for directory in os.get_exec_path():
        path = Path(directory) / "bash"
        if os.access(path, os.X_OK):
            return str(path)
    raise ComputerError("there is no bash on the PATH: install it, or write python instead")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
