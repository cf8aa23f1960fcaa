"""A program of another language that lives on from block to block: node, or R.

One rule: a block always ends: we ask it to, again and again, then end the programs that it has
started, then the program itself, and the output says so.

Its protocol (the other side is in `languages/drivers/`): orders go in on one descriptor, frames of
JSON come out on another, each behind a token that only the driver knows; all printed text comes on
one pipe, with a mark in place of each frame. So the order of output is right, no printed text can
pass for a frame, and a program may read or close its stdin and stdout as it likes.

Why one file: `Framed` reads the pipes, `FramedLanguage` and its block are the engine's side
of it; node and R differ in less than a page each. Why frames have a pipe of their own: on the
console, text of programs in the background would fall into the middle of a frame, and code that
closes its stdout would leave a block without an end.
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
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.computer.process.engine import LATE, BlockLanguage, ForeignBlock, Patience, Pieces
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.stream import partial_suffix

Frame = dict[str, Any]

MAX_FRAME = 64_000_000
"""Bytes of a frame; a longer one is dropped."""
DRIVERS = Path(__file__).parents[1] / "languages" / "drivers"

_PIPE_SIZE = 1 << 20
_LONGEST_MARK = 64
"""Bytes of a mark: its two ends, the token and a number."""
_LOOK_SECONDS = 0.5
"""Seconds between two checks of a frame that waits for its mark."""
_MARK_SECONDS = 2.0
"""Seconds that a frame waits for its mark: the code may have closed its output."""
_LEAVE_SECONDS = 5.0
_START_TEXT = 4_000


class FramedProgram:
    """A program in a session of its own, and our ends of its pipes.

    Parameters
    ----------
    command : the program and its arguments; the numbers of its two descriptors follow them
    directory : its working directory; None: that of this process
    environment : the whole environment

    Raises
    ------
    OSError
        When it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], directory: str | None, environment: Mapping[str, str]
    ) -> None:
        self.about: Frame = {}
        """The first frame of its driver; empty before."""
        self.before_ready = ""
        """The text that was printed before that."""
        self._token = secrets.token_hex(16)
        self._mark_begin = f"\x1e{self._token}:".encode()
        self._mark = re.compile(re.escape(self._mark_begin) + rb"(\d{1,15})\x1e")
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = self._line = b""
        self._frames: list[Frame] = []
        self._frames_since = 0.0
        self._is_released = False
        self._unsent = bytearray()
        """Orders that the program has no room for yet: a busy one does not read them."""
        self._ordering = threading.Lock()
        orders_there, self._orders = os.pipe()
        self._out, out_there = os.pipe()
        self._console, console_there = os.pipe()
        self._end, end_there = os.pipe()
        for fd in (self._orders, self._out, self._console):
            _enlarge(fd)
        try:
            self._process = subprocess.Popen(
                [*command, str(orders_there), str(out_there)],
                stdin=subprocess.DEVNULL,
                stdout=console_there,
                stderr=console_there,
                pass_fds=(orders_there, out_there),
                cwd=directory,
                env=dict(environment),
                start_new_session=True,
            )
        except BaseException:
            for fd in (self._orders, self._out, self._console, self._end, end_there):
                os.close(fd)
            raise
        finally:
            for fd in (orders_there, out_there, console_there):
                os.close(fd)
        self.leader = self._process.pid
        reaper.watch(self.leader)
        self._selector = selectors.DefaultSelector()
        for fd, what in ((self._out, "frames"), (self._console, "console"), (self._end, "end")):
            _unblock(fd)
            self._selector.register(fd, selectors.EVENT_READ, what)
        _unblock(self._orders)
        threading.Thread(target=self._await, args=(end_there,), daemon=True).start()
        self.order("token", 0, self._token)

    # Saying ---------------------------------------------------------------------------------------

    def order(self, word: str, number: int, text: str = "") -> None:
        """Send the driver an order, from any thread; return at once."""
        data = text.encode("utf-8", "replace")
        with self._ordering:
            if self._orders < 0:
                return  # it is ending
            self._unsent += f"{word} {number} {len(data)}\n".encode() + data
            self._send()

    def _send(self) -> None:
        """Write of the orders what there is room for; `listen` sends the rest."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self._orders, self._unsent[:_PIPE_SIZE])]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it has ended, which is told elsewhere
            self._unsent.clear()

    def _await(self, end: int) -> None:
        """Write to this pipe when the program has ended.

        Closing it is not enough: a process that the person's code has forked also has its end.
        """
        self._process.wait()
        with os.fdopen(end, "wb", buffering=0) as pipe, contextlib.suppress(BrokenPipeError):
            pipe.write(b"\0")

    # Hearing --------------------------------------------------------------------------------------

    def listen(self) -> list[str | Frame]:
        """Wait for output, not for ever: printed text and frames, in their order.

        The last frame of all is `{"t": "ended", "status": int}`.
        """
        with self._ordering:
            if self._unsent and self._orders not in self._selector.get_map():
                self._selector.register(self._orders, selectors.EVENT_WRITE, "orders")
        # as it was before the look: this process may stand still behind it
        is_late = bool(self._frames) and time.monotonic() > self._frames_since + _MARK_SECONDS
        ready = {str(key.data) for key, _ in self._selector.select(_LOOK_SECONDS)}
        if "orders" in ready:
            with self._ordering:
                self._send()
                if not self._unsent and self._orders in self._selector.get_map():
                    self._selector.unregister(self._orders)
        if "frames" in ready:
            self._read_frames()
        items: list[str | Frame] = []
        if "console" in ready:
            self._read_console(items.append)
        if "end" in ready:
            self._read_the_rest(items.append)
        elif is_late:
            self._deliver(items.append, None)
        return items

    def _read_console(self, add: Callable[[str | Frame], None]) -> bool:
        """Read what has been printed; False when there is nothing (now)."""
        try:
            more = os.read(self._console, _PIPE_SIZE)
        except BlockingIOError:
            return False
        if not more and self._console in self._selector.get_map():
            self._selector.unregister(self._console)
        data, at = self._rest + more, 0
        for mark in self._mark.finditer(data):
            self._text(data[at : mark.start()], add)
            self._read_frames()  # it was written before its mark
            self._deliver(add, int(mark[1]))
            at = mark.end()
        begin = data.find(self._mark_begin, max(at, len(data) - _LONGEST_MARK))
        whole = begin if begin >= 0 else at + partial_suffix(data[at:], (self._mark_begin,))
        self._text(data[at:whole], add)
        self._rest = data[whole:]
        return bool(more)

    def _text(
        self, data: bytes, add: Callable[[str | Frame], None], *, final: bool = False
    ) -> None:
        text = self._decoder.decode(data, final)
        if text:
            add(text)

    def _read_frames(self) -> None:
        """Read the frames that are whole, without waiting."""
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
        except ValueError:  # it was cut while it was written
            return
        except RecursionError:
            frame = {"t": "error", "text": "[this is nested too deep to be shown]"}
        if isinstance(frame, dict):
            if not self._frames:
                self._frames_since = time.monotonic()
            self._frames.append(frame)

    def _deliver(self, add: Callable[[str | Frame], None], number: int | None) -> None:
        """Deliver the frames up to this number; None: all."""
        while self._frames and (number is None or int(self._frames[0].get("n", 0)) <= number):
            add(self._frames.pop(0))
        self._frames_since = time.monotonic()

    def _read_the_rest(self, add: Callable[[str | Frame], None]) -> None:
        """Read the rest of its pipes, after its end, and its status. Its children may print on."""
        for _ in range(4):
            if not self._read_console(add):
                break
        self._read_frames()
        self._deliver(add, None)
        self._text(self._rest, add, final=True)
        self._rest = b""
        add({"t": "ended", "status": self._process.wait()})

    # Processes ------------------------------------------------------------------------------------

    def lives(self) -> bool:
        """Whether it is alive."""
        return self._process.poll() is None

    def interrupt(self) -> None:
        """Send SIGINT to the program alone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def leave(self) -> None:
        """Let it end by itself, as it does at the end of its orders.

        R removes its temporary folder then. The wait for a busy program is short.
        """
        self._end_orders()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_SECONDS)

    def _end_orders(self) -> None:
        with self._ordering:
            self._unsent.clear()
            if self._orders >= 0:
                if self._orders in self._selector.get_map():
                    self._selector.unregister(self._orders)
                os.close(self._orders)
                self._orders = -1

    def kill(self) -> None:
        """End all processes of the session."""
        sessions.end(self.leader)
        self._process.wait()
        reaper.forget(self.leader)

    def release(self) -> None:
        """Close our ends of the pipes; its children may go on."""
        if not self._is_released:
            self._is_released = True
            self._end_orders()
            self._selector.close()
            for fd in (self._out, self._console, self._end):
                os.close(fd)


def _unblock(pipe: int) -> None:
    """Make reads and writes of this pipe return at once."""
    if sys.platform == "win32":
        raise ComputerError("This language needs pipes that do not block, and Windows has none.")
    os.set_blocking(pipe, False)


def _enlarge(pipe: int) -> None:
    """Enlarge the pipe's buffer, where the system can: its writer waits less."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


class FramedLanguage(BlockLanguage):
    """A `Language` that runs by a program with a driver of ours.

    A language adds the command of its program, and how to ask a block to end.
    """

    title = ""
    """The program's name for people: "node"."""

    def __init__(self, patience: Patience | None = None) -> None:
        super().__init__(patience)
        self._program: FramedProgram | None = None
        self._directory: str | None = None
        self._old_programs: list[FramedProgram] = []  # they have ended; their children may go on
        self._note = ""  # the first line of the next block
        self._number = 0

    @abstractmethod
    def _command(self) -> list[str]:
        """The program and its arguments; a ComputerError where it is missing."""

    def _environment(self) -> dict[str, str]:
        return sessions.plain_environment()

    @abstractmethod
    def _ask_to_end(self, program: FramedProgram, number: int) -> None:
        """Ask this block to end, as an interrupt does."""

    def _block(self, code: str, word: str = "run") -> ForeignBlock:
        return _FramedBlock(self, word, code, self._patience)

    def close(self) -> None:
        """End the program and all its processes. The next block starts a new one."""
        with self._turns.lock:
            for block in self._turns.blocks:
                assert isinstance(block, _FramedBlock)
                block.is_closed = True
                block.stop()  # else its end would look as if its code had ended
            if self._program is not None:
                if not self._turns.blocks:
                    self._program.leave()
                self._program.kill()
        self._turns.end()
        for program in (*self._old_programs, *([self._program] if self._program else [])):
            program.kill()
            program.release()
        self._old_programs.clear()
        self._program = self._directory = None
        self._note = ""

    def _start_program(self) -> FramedProgram:
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
                self._program = FramedProgram(command, directory, self._environment())
            except OSError as error:
                raise ComputerError(f"{command[0]} does not start: {error}") from error
        return self._program

    def _let_go(self, program: FramedProgram) -> None:
        program.release()
        self._program = None
        if sessions.session(program.leader):
            self._old_programs.append(program)
        else:
            reaper.forget(program.leader)


class _FramedBlock(ForeignBlock):
    """One block in a program."""

    def __init__(
        self, owner: FramedLanguage, word: str, code: str, patience: Patience | None
    ) -> None:
        super().__init__(patience)
        self.is_closed = False
        self._owner, self._word, self._code = owner, word, code
        self._program: FramedProgram | None = None
        self._number = 0
        """The number of the block in its program; 0 before the order to run it."""
        self._over = self._dead = self._has_asked = self._is_abandoned = False
        self._begun_there = self._earlier = False
        self._directory: str | None = None
        self._unsaid = ""
        """The sentence on its end that no output has yet."""
        self._before: list[int] = []
        """Ids of processes of earlier blocks, which this one does not end."""

    def pieces(self) -> Pieces:
        yield from super().pieces()
        if self._unsaid:
            self.outbox.line(self._unsaid)
            self.outbox.finish()
            self._unsaid = ""
            yield from self.outbox.take()

    def work(self) -> None:
        owner = self._owner
        self._program = program = owner._start_program()
        if owner._note:
            self.outbox.line(owner._note)
            owner._note = ""
        if self.stop_flag.is_set():
            return  # its code has not run
        self._before = sessions.pids(program.leader)
        owner._number += 1
        self._number = owner._number
        program.order(self._word, self._number, self._code)
        while not self._over:
            for item in program.listen():
                if isinstance(item, dict):
                    self._take(item)
                elif not program.about:
                    program.before_ready = (program.before_ready + item)[-_START_TEXT:]
                else:
                    if not self._begun_there and not self._earlier:
                        self._earlier = True
                        self.outbox.line(LATE)
                    self.outbox.text(item)

    def settle(self) -> None:
        owner, program = self._owner, self._program
        if self._directory is not None:
            owner._directory = self._directory
        if program is not None and self._dead:
            owner._note = self._unsaid
            owner._let_go(program)

    # Its end --------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        self._ask(signal.SIGINT if self._has_asked else None)  # first the code alone, so that
        self._has_asked = True  # it does not go on after its child ends

    def terminate(self) -> None:
        self._ask(signal.SIGTERM)

    def kill(self) -> None:
        self._ask(getattr(signal, "SIGKILL", signal.SIGTERM))

    def abandon(self) -> None:
        if self._program is not None and self._number:
            self._is_abandoned = True
            self._program.kill()

    def _ask(self, number: signal.Signals | None) -> None:
        """Ask the program to end the block, and signal the processes of the block."""
        program = self._program
        if program is None or not self._number:
            return
        self._owner._ask_to_end(program, self._number)
        if number is not None:
            processes = sessions.session(program.leader)
            others = {program.leader, *self._before}
            sessions.tell([each for each in processes if each.pid not in others], number)

    # What it tells --------------------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        kind, program = frame.get("t"), self._program
        assert program is not None
        if kind == "ready":
            program.about = frame
        elif kind == "begin" and frame.get("id") == self._number:
            self._begun_there = True
            if self._earlier:
                self.outbox.line("[this block:]")
        elif kind == "done" and frame.get("id") == self._number:
            self._over = True
            cwd = frame.get("cwd")
            self._directory = cwd if isinstance(cwd, str) else None
        elif kind == "ended":
            self._over = self._dead = True
            self._died(program, int(frame["status"]))
        elif kind == "line":
            self.outbox.put(Chunk("computer", "console", "active_line", int(frame["line"])))
        elif kind in ("error", "result"):
            self.outbox.line(str(frame["text"]))
        elif kind == "display" and isinstance(frame.get("data"), dict):
            self.outbox.show(frame["data"], repeats=True)
        elif kind in ("image", "page"):
            path = Path(frame["path"])
            try:
                image = kind == "image"
                bundle = {frame["mime"]: _read_once(path)} if image else {"text/html": page(path)}
            except OSError as error:  # the code may have removed it
                self.outbox.line(f"[{path.name} was to be shown and cannot be read: {error}]")
            else:
                self.outbox.show(bundle, repeats=True)

    def _died(self, program: FramedProgram, status: int) -> None:
        title = self._owner.title
        if not program.about:
            if not self.stop_flag.is_set():
                text = program.before_ready.strip() or "it said nothing"
                raise ComputerError(f"{title} did not start (status {status}): {text}")
        elif self._is_abandoned:
            self._unsaid = f"[{title} did not react to Stop and was killed: its variables are lost]"
        elif not self.is_closed:
            how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
            self._unsaid = (
                f"[{title} {how}; its variables are lost; the next block starts a new one]"
            )


def _read_once(path: Path) -> bytes:
    """The bytes of a file that the driver wrote for us; the file is removed."""
    data = _read(path)
    path.unlink()
    return data


def _read(path: Path) -> bytes:
    """The bytes of a regular file; OSError for any other, or one that is too large."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is no plain file")
        data = file.read(MAX_FRAME + 1)
    if len(data) > MAX_FRAME:
        raise OSError(f"it is larger than {MAX_FRAME:,} bytes")
    return data


_LINK = re.compile(
    r"""<script\b[^<>]{0,400}\bsrc=["']([^"':]{1,400})["'][^<>]{0,400}>\s*</script>|"""
    r"""<link\b[^<>]{0,400}\bhref=["']([^"':]{1,400}\.css)["'][^<>]{0,400}>|"""
    r"""(?<=src=["'])([^"':]+\.(?:png|jpe?g|gif|svg))(?=["'])""",
    re.IGNORECASE,
)
_MIMES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".svg": "svg+xml"}


def page(path: Path) -> str:
    """The text of an HTML file, with the scripts, styles and images beside it inside it.

    Only files below its own directory are read, and together no more than `MAX_FRAME`.
    """
    root = path.parent.resolve()
    text_of_page = _read(path).decode("utf-8", "replace")
    room = MAX_FRAME - len(text_of_page)

    def put_in(match: re.Match[str]) -> str:
        nonlocal room
        name = match[1] or match[2] or match[3]
        file = (root / name).resolve()
        if not file.is_relative_to(root) or not file.is_file() or file.stat().st_size > room:
            return match[0]
        room -= file.stat().st_size
        if match[3]:
            data = base64.b64encode(_read(file)).decode()
            return f"data:image/{_MIMES[file.suffix.lower()]};base64,{data}"
        text = _read(file).decode("utf-8", "replace")
        if match[2]:
            return f"<style>{text}</style>"
        return f"<script>{text.replace('</script', '<' + chr(92) + '/script')}</script>"

    return _LINK.sub(put_in, text_of_page)
