"""A program of another language that lives on from block to block: node, or R.

One rule: whoever reads the pieces does the work, there is no thread here; and a block always
ends: it is asked to, again and again, then the programs that it has started are ended, then the
program itself, and that is said.

How it speaks (the other side is in `drivers/`): orders go in on a descriptor of its own, frames
of JSON come out on another, each behind a token that only the driver was told; and everything
that is printed, by whomever, comes on one pipe, in which a mark stands where a frame belongs. So
the order of output is kept, nothing printed can be taken for a frame, and a program may read or
close its stdin and stdout as it likes.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import json
import os
import re
import secrets
import selectors
import signal
import stat
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmc_jupyter.computer.outbox import Outbox
from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.content.bundle import pieces as pieces_of
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk

Pieces = Generator[Chunk, None, None]
Frame = dict[str, Any]

AGAIN_SECONDS = 0.15
"""A block that goes on after it was asked to end is asked again, for so long…"""
PATIENCE_SECONDS = 2.0
"""…and then the programs that it started get SIGTERM, as long after that SIGKILL, and as long
after that the program itself is ended."""
READ_SECONDS = 0.02
"""Output that comes faster than this is joined to one piece."""
MAX_FRAME = 64_000_000
"""Bytes of a frame; a longer one is dropped."""
DRIVERS = Path(__file__).parent / "drivers"

_PIPE_SIZE = 1 << 20
_LOOK_SECONDS = 0.5
"""How often whoever waits looks up: for a Ctrl-C that fell just before the wait, and whether the
program is still there where the system cannot tell."""
_MARK_SECONDS = 1.0
"""How long a frame waits for its mark: the code may have closed its output."""
_LEAVE_SECONDS = 1.0
_START_TEXT = 4_000
_EARLIER = "[printed after the end of an earlier block:]"


class Framed:
    """A program in a session of its own, and our ends of its pipes.

    Parameters
    ----------
    command : the program and its arguments; the numbers of its two descriptors are put behind
    directory : where it begins; None: where this process is
    environment : all of it

    Raises
    ------
    OSError
        When it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], directory: str | None, environment: Mapping[str, str]
    ) -> None:
        self.about: Frame = {}
        """What its driver said of itself as it was ready; empty before."""
        self.before_ready = ""
        """What was printed before that."""
        self._token = secrets.token_hex(16)
        self._mark = re.compile(rb"\x1e%s:(\d{1,15})\x1e" % self._token.encode())
        self._mark_begin = f"\x1e{self._token}:".encode()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = self._line = b""
        self._frames: list[Frame] = []
        self._frames_since = 0.0
        self._rest = b""
        self._released = False
        self._lock = threading.Lock()
        theirs, ours = [], []
        for reads in (True, False, False):  # orders, frames, console
            end, other = os.pipe()
            _enlarge(end)
            theirs.append(end if reads else other)
            ours.append(other if reads else end)
        self._orders, self._out, self._console = ours
        self._wake, self._waker = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*command, *map(str, theirs[:2])],
                stdin=subprocess.DEVNULL,
                stdout=theirs[2],
                stderr=theirs[2],
                pass_fds=theirs[:2],
                cwd=directory,
                env=dict(environment),
                start_new_session=True,
            )
        except BaseException:
            for fd in (*ours, self._wake, self._waker):
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self.leader = self._process.pid
        reaper.watch(self.leader)
        for fd in (*ours, self._wake, self._waker):
            os.set_blocking(fd, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ, "frames")
        self._selector.register(self._console, selectors.EVENT_READ, "console")
        self._selector.register(self._wake, selectors.EVENT_READ, "wake")
        self._end = -1
        with contextlib.suppress(AttributeError, OSError):  # Linux; elsewhere we look now and then
            self._end = os.pidfd_open(self.leader)
            self._selector.register(self._end, selectors.EVENT_READ, "end")
        self.order("token", 0, self._token)

    # Saying ---------------------------------------------------------------------------------------

    def order(self, word: str, number: int, text: str = "") -> None:
        """Tell the driver something; what the pipe does not take now goes while we listen."""
        data = text.encode("utf-8", "replace")
        self._rest += f"{word} {number} {len(data)}\n".encode() + data
        self._write()

    def _write(self) -> None:
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._orders, self._rest[:_PIPE_SIZE]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it has ended: its end is told elsewhere
            self._rest = b""
        registered = self._orders in self._selector.get_map()
        if self._rest and not registered:
            self._selector.register(self._orders, selectors.EVENT_WRITE, "orders")
        elif registered and not self._rest:
            self._selector.unregister(self._orders)

    # Hearing --------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Make `listen` return, from any thread."""
        with self._lock:
            if not self._released:
                with contextlib.suppress(BlockingIOError):  # full: it wakes anyway
                    os.write(self._waker, b"\0")

    def listen(self, seconds: float | None) -> list[str | Frame]:
        """Wait for something, at most so long: printed text and frames, in their order.

        The last frame of all is `{"t": "ended", "status": int}`.
        """
        seconds = _LOOK_SECONDS if seconds is None else min(seconds, _LOOK_SECONDS)
        names = {str(key.data) for key, _ in self._selector.select(seconds)}
        if "orders" in names:
            self._write()
        if "wake" in names:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
        if "frames" in names:
            self._read_frames()
        items: list[str | Frame] = []
        if "console" in names:
            self._read_console(items.append)
        if "end" in names or (self._end < 0 and not names and not self.lives()):
            self._read_the_rest(items.append)
        elif self._frames and time.monotonic() > self._frames_since + _MARK_SECONDS:
            self._deliver(items.append, None)
        return items

    def _read_console(self, add: Callable[[str | Frame], None]) -> bool:
        """Take what has been printed; False when there is nothing (now)."""
        try:
            data = os.read(self._console, _PIPE_SIZE)
        except BlockingIOError:
            return False
        if not data and self._console in self._selector.get_map():
            self._selector.unregister(self._console)
        bytes_, self._held = self._held + data, b""
        at = 0
        while (begin := bytes_.find(b"\x1e", at)) >= 0:
            found = self._mark.match(bytes_, begin)
            if found is not None:
                self._text(bytes_[at:begin], add)
                self._read_frames()  # it was written before its mark
                self._deliver(add, int(found[1]))
                at = found.end()
            elif data and self._may_be_a_mark(bytes_[begin:]):
                self._text(bytes_[at:begin], add)
                self._held = bytes_[begin:]
                return True
            else:
                self._text(bytes_[at : begin + 1], add)
                at = begin + 1
        self._text(bytes_[at:], add, final=not data)
        return bool(data)

    def _text(
        self, data: bytes, add: Callable[[str | Frame], None], *, final: bool = False
    ) -> None:
        text = self._decoder.decode(data, final)
        if text:
            add(text)

    def _may_be_a_mark(self, data: bytes) -> bool:
        begin = self._mark_begin
        if len(data) <= len(begin):
            return begin.startswith(data)
        return data.startswith(begin) and data[len(begin) :].isdigit() and len(data) < 100

    def _read_frames(self) -> None:
        """Take the frames that are whole, without waiting."""
        while True:
            try:
                data = os.read(self._out, _PIPE_SIZE)
            except BlockingIOError:
                return
            if not data:
                if self._out in self._selector.get_map():
                    self._selector.unregister(self._out)
                return
            if b"\n" not in data:
                self._line = self._line + data if len(self._line) < MAX_FRAME else b""
                continue
            first, *more = data.split(b"\n")
            lines = [self._line + first, *more]
            self._line = lines.pop()
            for line in lines:
                self._frame(line)

    def _frame(self, line: bytes) -> None:
        token = self._token.encode()
        if not line.startswith(token):
            return  # not the driver's
        try:
            frame = json.loads(line[len(token) :].decode("utf-8", "replace"), strict=False)
        except ValueError:  # it was cut as it was written
            return
        except RecursionError:
            frame = {"t": "error", "text": "[this is nested too deep to be shown]"}
        if isinstance(frame, dict):
            if not self._frames:
                self._frames_since = time.monotonic()
            self._frames.append(frame)

    def _deliver(self, add: Callable[[str | Frame], None], number: int | None) -> None:
        """Hand over the frames up to this number; None: all."""
        while self._frames and (number is None or int(self._frames[0].get("n", 0)) <= number):
            add(self._frames.pop(0))
        self._frames_since = time.monotonic()

    def _read_the_rest(self, add: Callable[[str | Frame], None]) -> None:
        """It has ended: what is in its pipes, and how it was. Its children may print on."""
        for _ in range(4):
            if not self._read_console(add):
                break
        self._read_frames()
        self._deliver(add, None)
        self._text(self._held, add, final=True)
        self._held = b""
        add({"t": "ended", "status": self._process.wait()})

    # Processes ------------------------------------------------------------------------------------

    def lives(self) -> bool:
        """Whether it is there."""
        return self._process.poll() is None

    def interrupt(self) -> None:
        """SIGINT to the program alone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def leave(self) -> None:
        """Have it end by itself, which it does when nobody can order anything any more.

        R removes its temporary folder then. A program that is busy is not waited for long.
        """
        if self._orders in self._selector.get_map():
            self._selector.unregister(self._orders)
        os.close(self._orders)
        self._orders = -1
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_SECONDS)

    def kill(self) -> None:
        """End the whole session, whoever of it still lives."""
        sessions.end(self.leader)
        self._process.wait()
        reaper.forget(self.leader)

    def release(self) -> None:
        """Close our ends; what it started may go on."""
        with self._lock:
            if self._released:
                return
            self._released = True
            self._selector.close()
            fds = (self._orders, self._out, self._console, self._wake, self._waker, self._end)
            for fd in fds:
                if fd >= 0:
                    os.close(fd)


def _enlarge(pipe: int) -> None:
    """Have it hold more before its writer waits; a system that does not is slower, no more."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


class FramedLanguage(ABC):
    """A `Language` that is run by a program with a driver of ours.

    A language adds how its program is called and started, and how a block of it is asked to end.
    """

    title = ""
    """The program's name for people: "node"."""

    def __init__(self) -> None:
        self._program: Framed | None = None
        self._directory: str | None = None
        self._left: list[Framed] = []  # ended by themselves; their children may go on
        self._note = ""  # what the next block says first
        self._turn = threading.Condition(threading.RLock())
        self._block: _Block | None = None
        self._number = self._stops = 0

    @abstractmethod
    def _command(self) -> list[str]:
        """The program and its arguments.

        Raises
        ------
        ComputerError
            When it is not there.
        """

    def _environment(self) -> dict[str, str]:
        return sessions.plain_environment()

    @abstractmethod
    def _ask_to_end(self, program: Framed, number: int) -> None:
        """Ask for the end of that block, politely."""

    def _run(self, word: str, code: str) -> Pieces:
        """Run a block; yield its output as it comes. From this call on `stop` reaches it.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When the program is not there, or does not start.
        """
        return self._pieces(word, code, self._stops)

    def _pieces(self, word: str, code: str, stops: int) -> Pieces:
        block = self._begin(word, code)
        block.stopped |= self._stops != stops  # while the program was started, or before
        try:
            if self._note:
                note, self._note = self._note, ""
                yield Chunk("computer", "console", "output", note + "\n")
            yield from block.pieces()
        finally:
            self._finish(block)
        if block.stopped:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        self._stops += 1
        block = self._block
        if block is not None:
            block.stop()

    def close(self) -> None:
        """End the program and all that it started. The next block starts a new one."""
        block = self._block
        if block is not None:
            block.stopped = block.closed = True
        with self._turn:
            if block is None and self._program is not None:
                self._program.leave()
            for program in (*self._left, *([self._program] if self._program else [])):
                program.kill()
                if block is None or block.program is not program:  # else its reader looks at it
                    program.release()
            self._left.clear()
            self._program = self._directory = None
            self._note = ""

    def _begin(self, word: str, code: str) -> _Block:
        """Wait for the turn; a block that this thread has begun to read and left is ended."""
        with self._turn:
            while (left := self._block) is not None:
                if left.thread != threading.get_ident():
                    self._turn.wait()
                else:
                    self._finish(left)
            self._number += 1
            self._block = _Block(self, self._started(), self._number, word, code)
            return self._block

    def _started(self) -> Framed:
        if self._program is not None and not self._program.lives():
            self._let_go(self._program)
            self._note = (
                f"[{self.title} was killed by another program: its variables are lost; this is a "
                "new one]"
            )
        if self._program is None:
            command = self._command()
            directory = self._directory
            if directory is not None and not Path(directory).is_dir():
                directory = None
            try:
                self._program = Framed(command, directory, self._environment())
            except OSError as error:
                raise ComputerError(f"{command[0]} does not start: {error}") from error
        return self._program

    def _finish(self, block: _Block) -> None:
        """See to it that the block has ended, and remember where it was."""
        with self._turn:
            if self._block is not block:
                return
            if not block.ended:
                block.end()
            self._block = None
            if block.directory is not None:
                self._directory = block.directory
            if block.program is not self._program:
                block.program.release()  # `close` has ended it meanwhile
            elif block.dead:
                self._note = block.unsaid
                self._let_go(block.program)
            self._turn.notify_all()

    def _let_go(self, program: Framed) -> None:
        program.release()
        self._program = None
        if sessions.session(program.leader):
            self._left.append(program)
        else:
            reaper.forget(program.leader)


class _Block:
    """One block in a program: reads until it ends, and ends it."""

    def __init__(
        self, language: FramedLanguage, program: Framed, number: int, word: str, code: str
    ) -> None:
        self.program = program
        self.thread = threading.get_ident()
        self.ended = self.dead = self.stopped = self.closed = False
        self.directory: str | None = None
        self.unsaid = ""
        """What of its end nobody has been told."""
        self._language, self._number = language, number
        self._order: tuple[str, str] | None = (word, code)
        self._begun = self._earlier = False
        self._open = False  # what was printed last did not end its line
        self._outbox = Outbox()
        self._before = set(sessions.session(program.leader))  # what it started is not ours to end
        self._told = 0
        self._first = self._next = 0.0

    def pieces(self) -> Pieces:
        if self.stopped:
            return  # nothing of it has run
        assert self._order is not None
        (word, code), self._order = self._order, None
        self.program.order(word, self._number, code)
        read = 0.0
        while not self.ended:
            pause = read + READ_SECONDS - time.monotonic()
            if self._outbox.empty():
                self._step(self._until_told())
            elif pause > 0:
                self._step(pause)
            else:
                read = time.monotonic()
                yield from self._outbox.take()
            if self.stopped and not self.ended:
                self._tell()
        self._outbox.finish()
        if self.unsaid:
            self._line(self.unsaid)
            self.unsaid = ""
        yield from self._outbox.take()

    def end(self) -> None:
        """Nobody reads any more: ask the block to end, and wait until it has."""
        self.stopped = True
        if self._order is not None:  # it has never begun
            self.ended = True
        while not self.ended:
            self._tell()
            if not self.ended:
                self._step(self._until_told())

    def stop(self) -> None:
        """Have whoever reads end the block; any thread."""
        self.stopped = True
        self.program.wake()

    def _tell(self) -> None:
        """Tell the block to end: politely and again, then what it started, then the program."""
        now = time.monotonic()
        if not self._told:
            self._first = now
        elif now < self._next:
            return
        self._told += 1
        self._next = now + AGAIN_SECONDS
        since = now - self._first
        title = self._language.title
        if since >= 3 * PATIENCE_SECONDS:
            self.program.kill()
            self._died(f"[{title} did not react to Stop and was killed: its variables are lost]")
            return
        self._language._ask_to_end(self.program, self._number)
        if self._told > 1:  # first the code, so that it does not go on behind what it waited for
            leader = self.program.leader
            started = [
                each
                for each in sessions.session(leader)
                if each.pid != leader and each not in self._before
            ]
            hard = signal.SIGINT
            if since >= PATIENCE_SECONDS:
                hard = signal.SIGTERM if since < 2 * PATIENCE_SECONDS else signal.SIGKILL
            sessions.tell(started, hard)

    def _until_told(self) -> float | None:
        return max(0.0, self._next - time.monotonic()) if self._told else None

    def _step(self, seconds: float | None) -> None:
        """Wait for something, at most so long, and take it."""
        for item in self.program.listen(seconds):
            if isinstance(item, dict):
                self._take(item)
            elif not self.program.about:
                self.program.before_ready = (self.program.before_ready + item)[-_START_TEXT:]
            else:
                if not self._begun and not self._earlier:
                    self._earlier = True
                    self._line(_EARLIER)
                self._open = not item.endswith("\n")
                self._outbox.text(item)

    def _take(self, frame: Frame) -> None:
        kind, outbox = frame.get("t"), self._outbox
        if kind == "ready":
            self.program.about = frame
        elif kind == "begin" and frame.get("id") == self._number:
            self._begun = True
            if self._earlier:
                self._line("[this block:]")
        elif kind == "done" and frame.get("id") == self._number:
            self.ended = True
            cwd = frame.get("cwd")
            self.directory = cwd if isinstance(cwd, str) else None
        elif kind == "ended":
            status = int(frame["status"])
            title = self._language.title
            if not self.program.about and not self.stopped:
                self.ended = self.dead = True
                said = self.program.before_ready.strip() or "it printed nothing"
                raise ComputerError(f"{title} did not start (status {status}): {said}")
            how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
            self._died(f"[{title} {how}; its variables are lost; the next block starts a new one]")
        elif kind == "line":
            outbox.put(Chunk("computer", "console", "active_line", int(frame["line"])))
        elif kind in ("error", "result"):
            self._line(str(frame["text"]))
        elif kind == "display" and isinstance(frame.get("data"), dict):
            self._show(frame["data"])
        elif kind in ("image", "page"):
            path = Path(frame["path"])
            try:
                image = kind == "image"
                shown = {frame["mime"]: _read_once(path)} if image else {"text/html": page(path)}
            except OSError as error:  # the code may have removed it
                self._line(f"[{path.name} was to be shown and cannot be read: {error}]")
            else:
                self._show(shown)

    def _line(self, text: str) -> None:
        """Put out text that stands on lines of its own."""
        begin, end = "\n" if self._open else "", "" if text.endswith("\n") else "\n"
        self._open = False
        self._outbox.text(begin + text + end)

    def _show(self, data: Mapping[str, Any]) -> None:
        for chunk in pieces_of(data):
            if chunk.type == "console" and chunk.recipient is None:
                self._line(str(chunk.content))
            else:
                self._outbox.put(chunk)

    def _died(self, how: str) -> None:
        if not self.closed and self.program.about:
            self.unsaid = how
        self.ended = self.dead = True


def _read_once(path: Path) -> bytes:
    """The bytes of a file that the driver wrote for us; it is gone then."""
    data = _read(path)
    path.unlink()
    return data


def _read(path: Path) -> bytes:
    """All of a file; OSError for what would never end, or is too large to be shown."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is no plain file")
        data = file.read(MAX_FRAME + 1)
    if len(data) > MAX_FRAME:
        raise OSError(f"it is larger than {MAX_FRAME:,} bytes")
    return data


_LINKED = re.compile(
    r"""<script\b[^<>]{0,400}\bsrc=["']([^"':]{1,400})["'][^<>]{0,400}>\s*</script>|"""
    r"""<link\b[^<>]{0,400}\bhref=["']([^"':]{1,400}\.css)["'][^<>]{0,400}>|"""
    r"""(?<=src=["'])([^"':]+\.(?:png|jpe?g|gif|svg))(?=["'])""",
    re.IGNORECASE,
)
_MIMES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".svg": "svg+xml"}


def page(path: Path) -> str:
    """An HTML file as one text: the scripts, styles and images beside it are put into it.

    Only files below its own directory are read, and together no more than `MAX_FRAME`.
    """
    root = path.parent.resolve()
    text_of_page = _read(path).decode("utf-8", "replace")
    room = MAX_FRAME - len(text_of_page)

    def put_in(found: re.Match[str]) -> str:
        nonlocal room
        name = found[1] or found[2] or found[3]
        file = (root / name).resolve()
        if not file.is_relative_to(root) or not file.is_file() or file.stat().st_size > room:
            return found[0]
        room -= file.stat().st_size
        if found[3]:
            data = base64.b64encode(_read(file)).decode()
            return f"data:image/{_MIMES[file.suffix.lower()]};base64,{data}"
        text = _read(file).decode("utf-8", "replace")
        if found[2]:
            return f"<style>{text}</style>"
        return f"<script>{text.replace('</script', '<' + chr(92) + '/script')}</script>"

    return _LINKED.sub(put_in, text_of_page)
