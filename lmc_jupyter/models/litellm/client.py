"""The kernel's side of the worker, the process of LiteLLM and the network.

One rule: no other module knows that there is a process. It starts at the first use, belongs to this
process alone, starts again after a crash, and ends with this process.

`worker/main.py` defines the lines on its pipes. Four threads meet here: a caller waits at a queue
(box) of its own; one thread writes, so that Stop ends the wait for a worker that does not read; one
reads answers, one the worker's log.

The file is long because the process and the requests to it end each other: a crash, a second try
and the end of a wait are decided between the same boxes. An event loop would not make it simpler:
the kernel would pay for one, and Stop has to end a wait of any thread.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import queue
import site
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.keys import redact, reveal
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel, ignore
from lmc_jupyter.models.failure import Problem

PATIENCE = 10.0
"""Seconds of silence after which the worker gets a ping; after as many more without an answer it is
ended. It also has so many seconds to end a cancelled request."""

START_SECONDS = 120.0
"""Seconds that it may take to start; Python in a home on the network is slow."""

IDLE_SECONDS = 1_800.0
"""Seconds without a request after which the worker ends; the next request starts a new one."""

BEGIN = """
import json, sys
options = json.loads(sys.argv[1])
sys.path.insert(0, options.pop("package"))
import lmc_jupyter
del sys.path[0]
sys.path += [each for each in options.pop("path") if each not in sys.path]
from lmc_jupyter.models.litellm.worker.main import main
main(**options)
"""
"""The program of the worker. Python is isolated: it imports nothing from the notebook's folder."""

_AT_START = (
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ",
    "USER", "USERPROFILE", "WINDIR",
)  # fmt: skip
_AT_START_WITH = ("DYLD_", "LC_", "LD_")
"""Prefixes of the variables that the process starts with. All others come over its pipe, which no
other program of this machine reads: they may be keys."""

_PACKAGE = str(Path(__file__).parents[3])
"""The folder of this installation."""

_PIECE = 1 << 20


class Worker:
    """One worker process.

    Parameters
    ----------
    patience, idle : see `PATIENCE`, `IDLE_SECONDS`
    """

    def __init__(self, *, patience: float = PATIENCE, idle: float = IDLE_SECONDS) -> None:
        self.patience = patience
        self.is_loaded = False
        """Whether it has imported LiteLLM: the first request waits seconds for that."""
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._boxes: dict[int, Callable[[Any], None]] = {}
        self._cancel_timers: dict[int, threading.Timer] = {}
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._log: deque[str] = deque(maxlen=20)
        self._log_ended = threading.Event()
        self._end_reason = ""
        """The reason why we have ended it; "" where we have not."""
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if name.upper() in _AT_START or name.upper().startswith(_AT_START_WITH)
        }
        self._folder = ""
        self._process = self._start(idle)
        self.is_alive = True
        self._last_answer = self._last_ping = time.monotonic()
        self._is_up = False
        out, log = self._process.stdout, self._process.stderr
        assert out is not None
        assert log is not None
        for run, arguments in ((self._write, ()), (self._read, (out,)), (self._note, (log,))):
            threading.Thread(target=run, args=arguments, daemon=True, name="lmc-models").start()

    def _start(self, idle: float) -> subprocess.Popen[bytes]:
        options = {
            "package": _PACKAGE,
            "path": _path(),
            "idle": idle,
            "parent": os.getpid(),
        }
        return subprocess.Popen(
            [sys.executable, "-I", "-c", BEGIN, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # the interrupt meant for the person's code does not reach it
            env=self._environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def new_number(self) -> int:
        """A new number for a request."""
        return next(self._numbers)

    def send(
        self, number: int, do: str, arguments: Mapping[str, Any], put: Callable[[Any], None]
    ) -> None:
        """Send a request; `put` gets its answers, and None where the worker ends before the last.

        Parameters
        ----------
        number : of `new_number`
        arguments : values of JSON and secrets, which are revealed in the line
        """
        with self._lock:
            environment, folder = dict(os.environ), _folder()
            changes = None
            if environment != self._environment or folder != self._folder:
                new = {n: v for n, v in environment.items() if self._environment.get(n) != v}
                unset = [name for name in self._environment if name not in environment]
                changes = {"set": new, "unset": unset, "folder": folder}
            line = _line(number=number, do=do, changes=changes, **arguments)
            self._boxes[number] = put
            self._lines.put(line)
            self._environment, self._folder = environment, folder
            if not self.is_alive:
                put(None)

    def close(self, number: int) -> None:
        """Drop further answers to this request, and cancel it where it is in progress."""
        with self._lock:
            if number not in self._boxes:
                return
            self._boxes[number] = ignore
            timer = threading.Timer(self.patience, self._end_stuck, (number,))
            timer.daemon = True
            self._cancel_timers[number] = timer
            self._lines.put(_line(cancel=number))
        timer.start()

    def check(self) -> None:
        """End it after a long silence with a ping in between."""
        now = time.monotonic()
        if not self._is_up:
            if now - self._last_answer > START_SECONDS:
                self.end(f"it did not start within {START_SECONDS:.0f} s")
            return
        if now - self._last_answer < self.patience:
            return
        if self._last_ping <= self._last_answer:
            self._last_ping = now
            self._lines.put(_line(ping=True))
        elif now - self._last_ping > self.patience:
            self.end(f"it said nothing for {now - self._last_answer:.0f} s")

    def end(self, why: str = "") -> None:
        """End the process at once."""
        self._end_reason = self._end_reason or why
        with suppress(ProcessLookupError):
            self._process.kill()  # it has no state that needs an orderly end

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait()

    def why(self) -> str:
        """The reason of its end, as far as known, in a sentence without keys."""
        self._log_ended.wait(1.0)  # the log ends a moment after the answers
        status = self._process.poll()
        last = (
            redact(" ".join(self._log[-1].split()))[-300:] if self._log else ""
        )  # redacted before the cut, so that no half of a key stays
        return self._end_reason or last or f"it ended without a word, with the status {status}"

    def _end_stuck(self, number: int) -> None:
        if number in self._boxes and self._is_up:  # while it starts, it has more time
            self.end("it did not end a request that was stopped")

    def _write(self) -> None:
        """Write the lines of the queue, until the worker reads no more."""
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError), closing(pipe):
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(pipe.fileno(), rest) :]

    def _read(self, pipe: IO[bytes]) -> None:
        """Put each answer into the box of its request, until the end."""
        rest: list[bytes] = []
        try:
            with closing(pipe):
                while piece := os.read(pipe.fileno(), _PIECE):
                    self._last_answer = time.monotonic()
                    first, *others = piece.split(b"\n")
                    rest.append(first)
                    for each in others:
                        self._hear(json.loads(b"".join(rest)))
                        rest = [each]
        except ValueError:
            self.end("it wrote a line that is no answer")
        self._process.wait()
        with self._lock:
            self.is_alive = False
            boxes = list(self._boxes.values())
            self._boxes.clear()
        self._lines.put(None)
        for put in boxes:
            put(None)

    def _hear(self, answer: dict[str, Any]) -> None:
        number = answer.get("number")
        if number is None:
            self._is_up = True
            return
        self.is_loaded = self.is_loaded or number not in self._cancel_timers
        put = self._boxes.get(number, ignore)
        if "end" in answer:
            with self._lock:
                self._boxes.pop(number, None)
                timer = self._cancel_timers.pop(number, None)
            if timer is not None:
                timer.cancel()
        put(answer)

    def _note(self, pipe: IO[bytes]) -> None:
        """Store the last lines of its log."""
        with pipe:
            for line in pipe:
                if line.strip():
                    self._log.append(line[-2_000:].decode("utf-8", "replace"))
        self._log_ended.set()


def _folder() -> str:
    """The working directory; "" where it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 - a string, at each request
    except OSError:
        return ""


def _path() -> list[str]:
    """The folders of packages that an isolated Python lacks: those of PYTHONPATH, of the person's
    own packages and of ours, without that of the notebook."""
    own = [_PACKAGE, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    if site.ENABLE_USER_SITE:
        own.append(site.getusersitepackages())
    return [
        each for each in sys.path if each in own and Path(each).is_absolute() and each != _folder()
    ]


def _line(**values: Any) -> bytes:
    """A line for the worker; the only place where keys are revealed."""
    return json.dumps(reveal(values), separators=(",", ":")).encode() + b"\n"


# The worker of this process -----------------------------------------------------------------------

_lock = threading.Lock()
_workers: list[Worker] = []
"""The worker that was started last, if any."""


def worker() -> Worker:
    """The worker of this process; a new one where none is alive.

    Raises
    ------
    ModelError
        When it cannot be started.
    """
    with _lock:
        if not _workers or not _workers[0].is_alive:
            try:
                _workers[:] = [Worker()]
            except OSError as error:
                raise ModelError(
                    f"the process that speaks to the models cannot be started ({error})"
                ) from None
        return _workers[0]


def begin() -> None:
    """Start the worker where there is none, and have it import LiteLLM; returns at once.

    It has the priority of the person's own code: Linux lets no process take a lower one back, and
    whoever asked meanwhile on a busy machine would wait for a minute.
    """
    if not _workers or not _workers[0].is_alive:
        new = worker()
        new.send(new.new_number(), "load", {}, ignore)


def is_loaded() -> bool:
    """Whether the worker has imported LiteLLM."""
    return bool(_workers) and _workers[0].is_alive and _workers[0].is_loaded


def answers(
    do: str, *, notify: Notify = ignore, cancel: Cancel | None = None, **arguments: Any
) -> Generator[dict[str, Any], None, None]:
    """Yield each answer of the worker to a request; closing the generator cancels the request.

    Where the worker dies before the first answer, the request is sent once more.

    Parameters
    ----------
    notify : gets a sentence on each wait

    Raises
    ------
    ModelError
        When LiteLLM cannot be imported, or the worker died.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    has_begun = False
    for is_last in (False, True):
        target = worker()
        if not target.is_loaded:
            notify("loading LiteLLM")
        number = target.new_number()
        with cancel.box() as box:
            try:
                target.send(number, do, arguments, box.put)
                while (answer := _receive(box, target)) is not None:
                    cancel.check()  # after a cancel, answers that have come are dropped
                    if "end" in answer:
                        return
                    has_begun = has_begun or "deltas" in answer
                    yield answer
            finally:
                target.close(number)
        if is_last or has_begun:
            raise ModelError(
                "the process that speaks to the models has ended: "
                + ("the part that arrived is here; " if has_begun else "")
                + f"ask again ({target.why()})"
            )


def _receive(box: queue.SimpleQueue[Any], target: Worker) -> dict[str, Any] | None:
    """The next answer; None where the worker has died.

    It waits in short steps: Ctrl-C may not end a long wait.
    """
    while True:
        with suppress(queue.Empty):
            item: dict[str, Any] | LMCError | None = box.get(timeout=min(0.5, target.patience / 2))
            if isinstance(item, LMCError):
                raise item
            return item
        target.check()


def look_up(
    do: str, *, notify: Notify = ignore, cancel: Cancel | None = None, **arguments: Any
) -> Any:
    """The worker's one answer to a question about models; None to "load".

    Raises
    ------
    ModelError
        When LiteLLM cannot be imported, or the worker died.
    Stopped
        `cancel` was set.
    """
    result = None
    for answer in answers(do, notify=notify, cancel=cancel, **arguments):
        if "failed" in answer:
            raise ModelError(_sentence(answer.pop("failed")))
        result = answer["answer"]
    return result


def _sentence(report: Mapping[str, Any]) -> str:
    return redact(report.get("sentence") or Problem.from_dict(report["problem"]).text)


def load(notify: Notify = ignore, cancel: Cancel | None = None) -> None:
    """Wait until the worker has imported LiteLLM; see `look_up`."""
    look_up("load", notify=notify, cancel=cancel)


@atexit.register
def close() -> None:
    """End the worker of this process."""
    with _lock:
        workers = list(_workers)
        _workers.clear()
    for each in workers:
        each.end()
        each.wait()


def _forget() -> None:
    """Forget the worker in a fork: it belongs to the parent; the child neither uses nor ends it."""
    global _lock
    _lock = threading.Lock()
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
