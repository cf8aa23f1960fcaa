"""A bash process: its descriptors, what is said to it, and the session that it leads.

One rule: whatever is sent to it is numbered, so that a line which an interrupt has cut, or an
answer that comes late, is known for what it is and never taken for another.

How it is driven (measured): an interactive bash without a terminal reads fixed one-line
commands on its stdin; interactive, because only then does SIGINT abort a whole block. The code
comes on a descriptor of its own, status and directory go back on another, and marks behind the
output say that all of it has arrived. A pty is its stdout, so that programs write line by line.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import re
import secrets
import selectors
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Collection
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from lmc_jupyter.computer import processes, reaper
from lmc_jupyter.computer.processes import session as session
from lmc_jupyter.errors import ComputerError

OUTPUT_FD, ERRORS_FD, CODE_FD, REPORT_FD = 196, 197, 198, 199
"""Descriptors of bash: a second stdout and stderr, the code that comes in, status and directory
that go out. The code itself has none of them."""
_START_SECONDS = 20.0
_SYNC_SECONDS = 0.5
_WAIT_SECONDS = 0.5
_SYNC_TRIES = 10
_LOOK_SECONDS = 0.0003
_REST_SECONDS = 1.0
_COMPUTES_SECONDS = 0.05
"""A fork of bash that has used the processor for so long becomes no program: it computes."""

_SETTINGS = {
    "PS1": "", "PS2": "", "PROMPT_COMMAND": "", "HISTFILE": "", "COLUMNS": "120", "LINES": "40",
}  # fmt: skip
_LINUX = sys.platform == "linux"  # elsewhere nothing tells what a process is about
_ASLEEP = (psutil.STATUS_SLEEPING, psutil.STATUS_IDLE)
_HALTED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
_NONCE = secrets.token_hex(8)
_MARK_BEGIN = f"\x1e{_NONCE}:"
_MARK = re.compile(rf"\x1e{_NONCE}:(\d+)\x1e")
_CLOSED = " ".join(f"{fd}>&-" for fd in (OUTPUT_FD, ERRORS_FD, CODE_FD, REPORT_FD))
# The code is the record behind the one that bears its number; others were cut or never read.
_SET_UP = f"""\
set +m +o history; unset COLUMNS LINES PROMPT_COMMAND; PS1= PS2=; \
__lmc_read() {{ while IFS= builtin read -r -d "" -u {CODE_FD} __lmc_code; do \
[[ $__lmc_code == "$1" ]] && IFS= builtin read -r -d "" -u {CODE_FD} __lmc_code && return 0; \
done; return 1; }}; \
__lmc_end() {{ local status=$?; PS1= PS2= PROMPT_COMMAND=; unset __lmc_code; return $status; }}; \
__lmc_say() {{ local status=$?; \
[[ ${{BASHPID-$$}} == "$$" ]] || builtin exec sh -c 'kill -INT $$'; \
builtin printf "%s\\0%s\\0%s\\0" "$1" "$status" "$PWD" >&{REPORT_FD}; \
builtin printf "\\036{_NONCE}:%s\\036" "$1" >&{OUTPUT_FD}; \
builtin printf "\\036{_NONCE}:%s\\036" "$1" >&{ERRORS_FD}; }}
"""
# A child that bash has just forked, and that an interrupt hits before it has become its program,
# is thrown back to the prompt and reads our lines in bash's place: `__lmc_say` has it die of that
# interrupt after all, which is what bash waits for.


class Bash:
    """An interactive bash in a session of its own.

    Parameters
    ----------
    directory : where it begins; None: where this process is

    Raises
    ------
    ComputerError
        When there is none, or it does not start.
    """

    def __init__(self, directory: str | None = None) -> None:
        program = _program()
        self.report: tuple[int, str] = (0, "")
        """Status and directory, as bash said them last."""
        self._number = self._reported = 0
        self._report_bytes = b""
        self._owed: dict[str, int] = {}
        self._held = {"output": "", "errors": ""}
        self._rest = b""
        self._released = False
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: decoder("replace") for name in self._held}
        theirs, ours = _channels()
        self._commands, self._code, self._waker = ours["commands"], ours["code"], ours["waker"]
        self._fds = {name: ours[name] for name in ("output", "errors", "report", "wake")}
        try:
            self.leader = os.posix_spawn(
                program,
                ["bash", "--norc", "--noprofile", "--noediting", "+H", "-i"],
                {**processes.plain_environment(), **_SETTINGS},
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in theirs.items()],
                setsid=True,
                setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE],
            )
        finally:
            self._last = {"output": theirs.pop(1), "errors": theirs.pop(2)}
            for fd in theirs.values():
                os.close(fd)
        reaper.watch(self.leader)
        self._program = os.path.realpath(program)
        for name, fd in self._fds.items():
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ, name)
        os.set_blocking(self._code, False)
        os.set_blocking(self._waker, False)
        self._start(directory)

    def _start(self, directory: str | None) -> None:
        self._command(_SET_UP)
        if directory is not None:
            self.run(f"cd -- {_quoted(directory)}")
        if not self._until_reported(_START_SECONDS):
            self.kill()
            raise ComputerError(
                f"bash did not start within {_START_SECONDS:.0f} s: look at its installation"
            )

    # Saying ---------------------------------------------------------------------------------------

    def run(self, code: str) -> None:
        """Begin a block; `ready` and `read` tell what comes of it, `reported` when it has ended."""
        self._number += 1
        name = f"{_NONCE}-{self._number}"
        line = f'__lmc_read {name} && builtin eval "$__lmc_code" </dev/null {_CLOSED}; __lmc_end\n'
        data = f"{name}\0{code}\0".encode("utf-8", "surrogateescape")
        self._rest += (b"\0" if self._rest else b"") + data
        self._command(line)
        self._write()

    def ask(self) -> None:
        """Have another report: an interrupt may have cut the one that is awaited."""
        self._command("")

    def sync(self) -> bool:
        """Have bash answer, after interrupts that may have cut what it was reading.

        What is printed meanwhile is dropped. False when it does not answer.
        """
        self._rest = b""  # of code that nobody reads any more; a cut record is passed over
        self._want_to_write()
        for _ in range(_SYNC_TRIES):
            self._command("\n")  # the first line end closes what was cut
            if self._until_reported(_SYNC_SECONDS):
                with contextlib.suppress(BlockingIOError, BrokenPipeError):
                    os.write(self._code, b"\0")
                return True
        return False

    def _command(self, line: str) -> None:
        """Send a line, and behind it one that gives a report and marks the output."""
        self._number += 1
        self._owed = dict.fromkeys(self._held, self._number)
        self._awaited = self._number
        with contextlib.suppress(BrokenPipeError):  # it has ended; the end of its reports says so
            os.write(self._commands, f"{line}__lmc_say {self._number}\n".encode())

    def _until_reported(self, seconds: float) -> bool:
        """Read and drop output until the last command is reported; False when it is not."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for name in self.ready(left):
                if name in self._held:
                    self.read(name)
                elif name == "report" and self.reported() is False:
                    return False
            if self._reported >= self._awaited and not self.owes():
                return True
        return False

    # Hearing --------------------------------------------------------------------------------------

    def ready(self, seconds: float | None) -> list[str]:
        """Wait until something has come: "output", "errors", "report", in this order.

        It comes back without anything now and then: a Ctrl-C that falls just before the wait
        would else be heard only at its end.
        """
        seconds = _WAIT_SECONDS if seconds is None else min(seconds, _WAIT_SECONDS)
        names = {str(key.data) for key, _ in self._selector.select(seconds)}
        if "code" in names:
            self._write()
        if "wake" in names:
            with contextlib.suppress(BlockingIOError):
                os.read(self._fds["wake"], 4096)
        return [name for name in ("output", "errors", "report") if name in names]

    def wake(self) -> None:
        """Make `ready` return, from any thread."""
        with self._lock:
            if not self._released:
                with contextlib.suppress(BlockingIOError):  # full: it wakes anyway
                    os.write(self._waker, b"\0")

    def read(self, name: str) -> str:
        """What has come on "output" or "errors", without the marks."""
        fd = self._fds[name]
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return ""
        except OSError:  # a pty without another side
            data = b""
        text = self._held[name] + self._decoders[name].decode(data, final=not data)
        self._held[name] = ""
        if not data:
            self._selector.unregister(fd)
            self._owed.pop(name, None)
            return text
        if "\x1e" not in text:
            return text
        for found in _MARK.finditer(text):
            if int(found[1]) >= self._owed.get(name, 0):
                self._owed.pop(name, None)
        text = _MARK.sub("", text)
        begun = text.rfind("\x1e")  # the beginning of a mark, perhaps: held back
        if begun >= 0 and _may_be_a_mark(text[begun:]):
            text, self._held[name] = text[:begun], text[begun:]
        return text

    def owes(self) -> bool:
        """Whether output of what was reported is still on its way."""
        return bool(self._owed)

    def reported(self) -> bool | None:
        """True when what was said last is done, False when bash has ended, None for not yet."""
        try:
            data = os.read(self._fds["report"], 65536)
        except BlockingIOError:
            return None
        if not data:
            self._selector.unregister(self._fds["report"])
            self._mark_the_end()
            return False
        self._report_bytes += data
        done = None
        while self._report_bytes.count(b"\0") >= 3:
            number, status, directory, self._report_bytes = self._report_bytes.split(b"\0", 3)
            if number.isdigit() and int(number) > self._reported:
                self._reported = int(number)
                if self._reported >= self._awaited:
                    done = True
                if self._reported <= self._awaited or done:
                    self.report = int(status), os.fsdecode(directory)
        return done

    def _mark_the_end(self) -> None:
        """Bash has ended without a mark: mark the pty and the pipe ourselves, behind its output."""
        mark = f"\x1e{_NONCE}:{self._number}\x1e".encode()
        for name, fd in self._last.items():
            if name in self._owed:
                os.set_blocking(fd, False)
                with contextlib.suppress(OSError):
                    os.write(fd, mark)

    def _write(self) -> None:
        """Send as much of the code as the pipe takes now."""
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._code, self._rest[:65536]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._rest = b""
        self._want_to_write()

    def _want_to_write(self) -> None:
        registered = self._code in self._selector.get_map()
        if self._rest and not registered:
            self._selector.register(self._code, selectors.EVENT_WRITE, "code")
        elif registered and not self._rest:
            self._selector.unregister(self._code)

    # Processes ------------------------------------------------------------------------------------

    def lives(self) -> bool:
        """Whether the process is there."""
        try:
            return os.waitpid(self.leader, os.WNOHANG) == (0, 0)
        except ChildProcessError:
            return False

    def status(self) -> int | None:
        """Wait for its end and say how it was; None when somebody else has taken that."""
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.leader, 0)[1])
        except ChildProcessError:
            return None

    def signal(self, number: int, spare: Collection[psutil.Process] = ()) -> None:
        """Signal every process of the session but those."""
        for process in session(self.leader):
            if process not in spare:
                with contextlib.suppress(psutil.Error):
                    process.send_signal(number)

    def interrupt(self, spare: Collection[psutil.Process] = ()) -> None:
        """SIGINT to bash and every process of its session but those, when it does bash no harm.

        In its jobs.c, `wait_for` puts a handler on SIGINT and then notes which one was there. A
        SIGINT between the two has bash 5.2 send itself SIGINT without end, on a whole core, deaf
        to all else: once in 6,000 stops that fall where a program starts. A child that is hit
        before it is its program is thrown back to the prompt. And bash goes on to the next command
        when a program has ended by itself, or has died of SIGINT before bash was hit.
        """
        rest = _Rest(self.leader, self._program, spare)
        try:
            for process in rest.reached():
                with contextlib.suppress(psutil.Error):
                    process.send_signal(signal.SIGINT)
        finally:
            rest.let_go()

    def kill(self, *, release: bool = True) -> None:
        """End the whole session, whoever of it still lives."""
        self.signal(signal.SIGKILL)
        self.status()
        reaper.forget(self.leader)
        if release:
            self.release()

    def release(self) -> None:
        """Close our ends; what bash started may go on."""
        with self._lock:
            if self._released:
                return
            self._released = True
            self._selector.close()
            last = self._last.values()
            for fd in (*self._fds.values(), *last, self._commands, self._code, self._waker):
                os.close(fd)


class _Rest:
    """The processes of a bash's session, held for a moment in which SIGINT does no harm.

    The programs that bash waits for are suspended, so that it waits on, or is suspended itself
    where it neither waits nor forks. Its forks are left to become programs, or to wait in turn.
    """

    def __init__(self, leader: int, program: str, spare: Collection[psutil.Process]) -> None:
        self._leader, self._program = leader, program
        self._spare = {process for process in spare if process.pid != leader}
        self._held: dict[int, psutil.Process] = {}
        self._used: dict[int, float] = {}
        self._bashes: set[int] = set()

    def reached(self) -> list[psutil.Process]:
        """All of them, each behind its parent, as soon as they are at rest, or will never be."""
        end = time.monotonic() + _REST_SECONDS
        before: object = None
        while True:
            found = [each for each in session(self._leader) if each not in self._spare]
            if not _LINUX or time.monotonic() > end:
                return found
            now = None if self._moves(found) else self._mark()
            if now is not None and now == before:  # it has slept from that look to this one
                return found
            before = now
            time.sleep(_LOOK_SECONDS)

    def let_go(self) -> None:
        for process in reversed(self._held.values()):  # bash last: its children are dead by then
            with contextlib.suppress(psutil.Error):
                process.resume()

    def _mark(self) -> object:
        """How often bash has gone to sleep; a constant when it has ended."""
        try:
            return psutil.Process(self._leader).num_ctx_switches()
        except psutil.Error:
            return "ended"

    def _moves(self, found: list[psutil.Process]) -> bool:
        self._bashes.clear()
        moves = False
        for process in found:
            try:
                with process.oneshot():
                    moves |= self._one_moves(process)
            except psutil.AccessDenied:  # somebody else's, like sudo: it is hit as it is
                continue
            except (psutil.NoSuchProcess, ProcessLookupError):
                moves = True
        return moves

    def _one_moves(self, process: psutil.Process) -> bool:
        program = _program_of(process)
        if program == self._program:
            self._bashes.add(process.pid)
            leads = process.pid == self._leader
            return self._leader_moves(process) if leads else self._fork_moves(process)
        if process.ppid() not in self._bashes or os.getpgid(process.pid) != self._leader:
            return False  # in a group of its own it is under job control: bash would see it stop
        if program is None:  # it has ended: unless bash is held, it goes on at once
            return self._leader not in self._held
        return self._program_moves(process)

    def _leader_moves(self, process: psutil.Process) -> bool:
        if process.status() in _ASLEEP:
            return False
        if process.pid not in self._held:
            self._hold(process)
        elif process.status() == psutil.STATUS_STOPPED:
            if not _blocks_sigchld(process.pid):
                return False
            process.resume()  # it forks or waits, and may be between the two lines
            del self._held[process.pid]
        return True

    def _fork_moves(self, process: psutil.Process) -> bool:
        times = process.cpu_times()
        used = times.user + times.system
        computes = used - self._used.setdefault(process.pid, used) >= _COMPUTES_SECONDS
        return process.status() not in (*_ASLEEP, *_HALTED) and not computes

    def _program_moves(self, process: psutil.Process) -> bool:
        if process.status() in _HALTED:
            return False
        if process.pid not in self._held:
            self._hold(process)
        return True

    def _hold(self, process: psutil.Process) -> None:
        self._held[process.pid] = process
        process.suspend()


def _program_of(process: psutil.Process) -> str | None:
    """The path of what it runs; None when it has ended."""
    try:
        return str(process.exe()) or None
    except psutil.ZombieProcess:
        return None


def _blocks_sigchld(pid: int) -> bool:
    """Whether that bash is in `make_child` or `wait_for`, which block it at their beginning."""
    found = re.search(r"^SigBlk:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return found is None or bool(int(found[1], 16) >> (signal.SIGCHLD - 1) & 1)


def _may_be_a_mark(text: str) -> bool:
    if len(text) <= len(_MARK_BEGIN):
        return _MARK_BEGIN.startswith(text)
    return text.startswith(_MARK_BEGIN) and text[len(_MARK_BEGIN) :].isdigit()


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
    raise ComputerError("bash is not on the PATH: install it, or write python instead")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
