"""The shell: one bash that lives on from block to block, with its directory and variables.

One rule: whoever reads the pieces does the work, there is no thread here; and a block always
ends: SIGINT again and again, then SIGTERM, then SIGKILL to what it started.
"""

from __future__ import annotations

import re
import shutil
import signal
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.bash import Bash, session
from lmc_jupyter.computer.outbox import Outbox
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk

Pieces = Generator[Chunk, None, None]

AGAIN_SECONDS = 0.3
"""A block that goes on after SIGINT is told again, for so long…"""
PATIENCE_SECONDS = 2.0
"""…and then its processes get SIGTERM, and as long after that SIGKILL."""
READ_SECONDS = 0.02
"""Output that comes faster than this is joined to one piece."""
NEW_AFTER_A_STOP = (
    "[the shell before did not answer to Stop and was ended; this is a new one in the same "
    "directory, without its variables]\n"
)
_MARK_SECONDS = 1.0
"""How long the mark behind the last output may take; a pty hands its bytes over in its own time."""


class Shell:
    """bash. Windows has none: there this language is not registered."""

    name = "shell"
    aliases = LANGUAGES["shell"]
    hint = "one bash that keeps its folder, variables and functions"

    def __init__(self) -> None:
        self._bash: Bash | None = None
        self._directory: str | None = None
        self._left: list[Bash] = []  # ended by themselves; their jobs may go on
        self._hung = False  # the bash before did not hear a stop and was ended
        self._turn = threading.Condition(threading.RLock())
        self._block: _Block | None = None
        self._stops = 0

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes, then its status when it is not 0.

        From this call on `stop` reaches it.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When there is no bash, or the code holds a NUL character.
        """
        if "\0" in code:
            raise ComputerError("shell code cannot hold a NUL character: nothing was run")
        return self._pieces(code, self._stops)

    def _pieces(self, code: str, stops: int) -> Pieces:
        block = self._begin(code)
        block.stopped |= self._stops != stops  # while bash was started, or before
        try:
            if self._hung:
                self._hung = False
                yield Chunk("computer", "console", "output", NEW_AFTER_A_STOP)
            yield from block.pieces()
        finally:
            self._finish(block)
        if block.stopped:
            raise KeyboardInterrupt

    def availability(self) -> Availability:
        """Whether there is a bash on the PATH."""
        missing = "" if shutil.which("bash") else "there is no bash on the PATH: install it"
        return Availability("bash", missing)

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        self._stops += 1
        block = self._block
        if block is not None:
            block.stop()

    def close(self) -> None:
        """End bash and all that it started. The next block starts a new one."""
        block = self._block
        if block is not None:
            block.stopped = True
        with self._turn:
            for bash in (*self._left, *([self._bash] if self._bash is not None else [])):
                bash.kill(release=block is None)  # else its reader still looks at it
            self._left.clear()
            self._bash = self._directory = None

    def _begin(self, code: str) -> _Block:
        """Wait for the turn; a block that this thread has begun to read and left is ended."""
        with self._turn:
            while (left := self._block) is not None:
                if left.thread != threading.get_ident():
                    self._turn.wait()
                else:
                    self._finish(left)
            self._block = _Block(self._started(), code)
            return self._block

    def _finish(self, block: _Block) -> None:
        """See to it that the block has ended, and remember where it was."""
        with self._turn:
            if self._block is not block:
                return
            if block.begun and block.ended is None:
                block.end()
            self._block = None
            self._settle(block)
            self._turn.notify_all()

    def _started(self) -> Bash:
        if self._bash is not None and not self._bash.lives():
            self._let_go(self._bash)  # it was ended from outside between two blocks
        if self._bash is None:
            self._bash = Bash(self._directory)
        return self._bash

    def _settle(self, block: _Block) -> None:
        """Remember where it was; let go of a bash that has ended, or does not answer any more."""
        if block.bash is not self._bash:
            block.bash.release()  # `close` has ended it meanwhile
            return
        if not block.begun:
            return
        if block.ended is None or not block.ended.lives:
            self._hung = block.stopped
            self._let_go(block.bash)
            return
        self._directory = block.ended.directory
        if block.told and not block.bash.sync():
            block.bash.signal(signal.SIGKILL)
            self._hung = True
            self._let_go(block.bash)

    def _let_go(self, bash: Bash) -> None:
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

    def __init__(self, bash: Bash, code: str) -> None:
        self.bash, self._code = bash, code
        self.thread = threading.get_ident()
        self.ended: _End | None = None
        self.stopped = self.begun = False
        self.told = 0
        """How often it was told to end."""
        self._outbox = Outbox()
        self._before = set(session(bash.leader))  # jobs of earlier blocks are not its to end
        self._held = ""
        self._first = self._next = 0.0

    def pieces(self) -> Pieces:
        if self.stopped:
            return  # nothing of it has run
        self.begun = True
        self.bash.run(self._code)
        read = 0.0
        while self.ended is None:
            pause = read + READ_SECONDS - time.monotonic()
            if self._outbox.empty():
                self._step(self._until_told())
            elif pause > 0:
                self._step(pause)
            else:
                read = time.monotonic()
                yield from self._outbox.take()
            if self.stopped and self.ended is None:
                self._tell()
        self._outbox.finish()
        yield from self._outbox.take()
        if not self.stopped and (said := _said(self.ended)):
            self._outbox.line(said)
            yield from self._outbox.take()

    def end(self) -> None:
        """Nobody reads any more: interrupt the block and wait until it has ended."""
        self.stopped = True
        while self.ended is None:
            self._tell()
            if self.ended is None:
                self._step(self._until_told())

    def stop(self) -> None:
        """Have whoever reads end the block; any thread."""
        self.stopped = True
        self.bash.wake()

    def _tell(self) -> None:
        """Tell the block to end: politely and again, then its processes, then bash itself."""
        now = time.monotonic()
        if not self.told:
            self._first = now
        elif now < self._next:
            return
        since = now - self._first
        self.told += 1
        self._next = now + AGAIN_SECONDS / 2
        if self.told % 2 == 0:
            self.bash.ask()  # the block may have ended, and the interrupt cut the report of it
            return
        if since >= 6 * PATIENCE_SECONDS:  # its processes are dead for long: it is bash itself
            self.bash.signal(signal.SIGKILL)
            self.ended = _End(self.bash.status(), None, lives=False)
            return
        # SIGINT first: bash ends a loop only when the program in it has died of SIGINT, and of
        # two signals that wait the system takes SIGINT before SIGTERM
        self.bash.interrupt(spare=self._before)
        if self.told == 1:  # it may take a while to be in a moment for it
            self._first = time.monotonic()
        self._next = time.monotonic() + AGAIN_SECONDS / 2
        if since >= PATIENCE_SECONDS:
            hard = signal.SIGTERM if since < 2 * PATIENCE_SECONDS else signal.SIGKILL
            self.bash.signal(hard, spare=self._before)

    def _until_told(self) -> float | None:
        return max(0.0, self._next - time.monotonic()) if self.told else None

    def _step(self, seconds: float | None) -> None:
        """Wait for something from bash, at most so long, and take it."""
        for name in self.bash.ready(seconds):
            if name == "report":
                self._report()
            else:
                self._take(name)

    def _take(self, name: str) -> None:
        text = self.bash.read(name)
        if name == "errors":
            text, self._held = _without_bash(self._held + text)
        self._outbox.text(text)

    def _report(self) -> None:
        lives = self.bash.reported()
        if lives is None:
            return
        end = time.monotonic() + _MARK_SECONDS
        while self.bash.owes() and (left := end - time.monotonic()) > 0:
            for name in self.bash.ready(left):
                if name != "report":
                    self._take(name)
                elif lives and self.bash.reported() is False:
                    lives = False  # it ended right behind its report
        if lives:
            self._outbox.text(self._held)
            self.ended = _End(*self.bash.report, lives=True)
        else:
            self.ended = _End(self.bash.status(), None, lives=False)


_OF_BASH = re.compile(r"bash: \[\d+: \d+ \(\d+\)\] tcsetattr: [^\n]*\n")
_PERHAPS_OF_BASH = re.compile(r"(?:exit\n|b(?:a(?:s(?:h(?::(?: (?:\[[^\n]*)?)?)?)?)?)?)\Z")


def _without_bash(text: str) -> tuple[str, str]:
    """(the errors without what bash says of itself, an end of them that may be the like).

    It complains that its terminal is none when a program dies of a signal, and says "exit" as
    it ends.
    """
    text = _OF_BASH.sub("", text)
    perhaps = _PERHAPS_OF_BASH.search(text)
    at = perhaps.start() if perhaps is not None else len(text)
    return text[:at], text[at:]


def _said(end: _End) -> str:
    if end.lives:
        return f"[exit status {end.status}]" if end.status else ""
    status = "" if end.status is None else f" with status {end.status}"
    return f"[the shell has ended{status}; the next block gets a new one in the same directory]"
