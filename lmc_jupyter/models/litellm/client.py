"""The kernel's side of the worker, the process that holds LiteLLM and the network.

One rule: nobody else knows that there is a process. It is started at the first use, belongs to
this process alone, is started again when it has died, and is gone with this process.

What goes over its pipes is said in `worker/main.py`. Four threads meet here: whoever asks waits at
a box of their own; one writes, so that Stop ends the wait for a worker that does not read; one
reads answers, one what the worker prints.

The file is long because one process and the requests to it end each other: who dies first, who is
asked again and who waits no more is decided between the same boxes. It was not made simpler by an
event loop: the kernel would pay for one, and Stop has to end a wait of any thread.
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
"""Seconds after which a worker that says nothing is asked whether it lives; after as many more it
is ended. A worker that does not end a request that was cancelled has as long."""

START_SECONDS = 120.0
"""How long it may take to start; Python on a network's home is slow."""

IDLE_SECONDS = 1_800.0
"""After so long without a request the worker ends; the next one starts another."""

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
"""The program of the worker. Python is isolated: nothing is imported from the notebook's folder."""

_AT_START = (
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ",
    "USER", "USERPROFILE", "WINDIR",
)  # fmt: skip
_AT_START_WITH = ("DYLD_", "LC_", "LD_")
"""What the process is started with. All else comes over its pipe, where no other program of this
machine reads it: it may hold keys."""

_PACKAGE = str(Path(__file__).parents[3])
"""The folder that we are installed in."""

_PIECE = 1 << 20


class Worker:
    """One process.

    Parameters
    ----------
    patience, idle : see `PATIENCE`, `IDLE_SECONDS`
    """

    def __init__(self, *, patience: float = PATIENCE, idle: float = IDLE_SECONDS) -> None:
        self.patience = patience
        self.is_loaded = False
        """Whether it has LiteLLM: the first request waits for that, for seconds."""
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._boxes: dict[int, Callable[[Any], None]] = {}
        self._cancelled: dict[int, threading.Timer] = {}
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._log: deque[str] = deque(maxlen=20)
        self._log_ended = threading.Event()
        self._ended = ""
        """Why it was ended, by us."""
        self._sent = {
            name: value
            for name, value in os.environ.items()
            if name.upper() in _AT_START or name.upper().startswith(_AT_START_WITH)
        }
        self._folder = ""
        self._process = self._start(idle)
        self.is_alive = True
        self._heard = self._pinged = time.monotonic()
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
            env=self._sent,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def new_number(self) -> int:
        """The number of a request that is to be sent."""
        return next(self._numbers)

    def send(
        self, number: int, do: str, arguments: Mapping[str, Any], put: Callable[[Any], None]
    ) -> None:
        """Send a request; `put` gets its answers, and None where the worker ends before.

        Parameters
        ----------
        number : of `new_number`
        arguments : values of JSON and secrets; the keys among them are revealed here
        """
        with self._lock:
            environment, folder = dict(os.environ), _folder()
            changes = None
            if environment != self._sent or folder != self._folder:
                new = {n: v for n, v in environment.items() if self._sent.get(n) != v}
                gone = [name for name in self._sent if name not in environment]
                changes = {"set": new, "unset": gone, "folder": folder}
            line = _line(number=number, do=do, changes=changes, **arguments)
            self._boxes[number] = put
            self._lines.put(line)
            self._sent, self._folder = environment, folder
            if not self.is_alive:
                put(None)

    def close(self, number: int) -> None:
        """Nobody wants more answers to this request; one that is under way is cancelled."""
        with self._lock:
            if number not in self._boxes:
                return
            self._boxes[number] = ignore
            timer = threading.Timer(self.patience, self._end_stuck, (number,))
            timer.daemon = True
            self._cancelled[number] = timer
            self._lines.put(_line(cancel=number))
        timer.start()

    def check(self) -> None:
        """End it if it says nothing for long, though it was asked."""
        now = time.monotonic()
        if not self._is_up:
            if now - self._heard > START_SECONDS:
                self.end(f"it did not start within {START_SECONDS:.0f} s")
            return
        if now - self._heard < self.patience:
            return
        if self._pinged <= self._heard:
            self._pinged = now
            self._lines.put(_line(ping=True))
        elif now - self._pinged > self.patience:
            self.end(f"it said nothing for {now - self._heard:.0f} s")

    def end(self, why: str = "") -> None:
        """End the process, whatever it is doing."""
        self._ended = self._ended or why
        with suppress(ProcessLookupError):
            self._process.kill()  # it holds nothing that needs a farewell

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait()

    def why(self) -> str:
        """Why it has ended, as far as that is known, in a sentence without keys."""
        self._log_ended.wait(1.0)  # it comes a moment after the end of the answers
        status = self._process.poll()
        last = redact(" ".join(self._log[-1].split()))[-300:] if self._log else ""  # no half a key
        return self._ended or last or f"it ended without a word, with the status {status}"

    def _end_stuck(self, number: int) -> None:
        if number in self._boxes and self._is_up:  # else it starts, and has longer for that
            self.end("it did not end a request that was stopped")

    def _write(self) -> None:
        """Write what is sent, until the worker reads no more."""
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError), closing(pipe):
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(pipe.fileno(), rest) :]

    def _read(self, pipe: IO[bytes]) -> None:
        """Put each answer where it is waited for, until the end."""
        rest: list[bytes] = []
        try:
            with closing(pipe):
                while piece := os.read(pipe.fileno(), _PIECE):
                    self._heard = time.monotonic()
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
        self.is_loaded = self.is_loaded or number not in self._cancelled
        put = self._boxes.get(number, ignore)
        if "end" in answer:
            with self._lock:
                self._boxes.pop(number, None)
                timer = self._cancelled.pop(number, None)
            if timer is not None:
                timer.cancel()
        put(answer)

    def _note(self, pipe: IO[bytes]) -> None:
        """Keep the last lines of what it prints."""
        with pipe:
            for line in pipe:
                if line.strip():
                    self._log.append(line[-2_000:].decode("utf-8", "replace"))
        self._log_ended.set()


def _folder() -> str:
    """The working directory; "" where somebody has deleted it."""
    try:
        return os.getcwd()  # noqa: PTH109 - a string, at each request
    except OSError:
        return ""


def _path() -> list[str]:
    """Where this Python finds packages, beside what an isolated one knows: the folders of
    PYTHONPATH, of the person's own packages and of ours, without that of the notebook."""
    own = [_PACKAGE, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    if site.ENABLE_USER_SITE:
        own.append(site.getusersitepackages())
    return [
        each for each in sys.path if each in own and Path(each).is_absolute() and each != _folder()
    ]


def _line(**values: Any) -> bytes:
    """The line that says this to the worker; the only place where keys are revealed."""
    return json.dumps(reveal(values), separators=(",", ":")).encode() + b"\n"


# The worker of this process -----------------------------------------------------------------------

_lock = threading.Lock()
_workers: list[Worker] = []
"""The one that was started last, if any."""


def worker() -> Worker:
    """The worker of this process, started if there is none that lives.

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
        started = worker()
        started.send(started.new_number(), "load", {}, ignore)


def is_loaded() -> bool:
    """Whether LiteLLM has been imported by the worker."""
    return bool(_workers) and _workers[0].is_alive and _workers[0].is_loaded


def answers(
    do: str, *, notify: Notify = ignore, cancel: Cancel | None = None, **arguments: Any
) -> Generator[dict[str, Any], None, None]:
    """Each answer of the worker to a request; closing this cancels it.

    A request of which nothing had come is sent once more where the worker dies.

    Parameters
    ----------
    notify : is told what is waited for

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
        asked = worker()
        if not asked.is_loaded:
            notify("loading LiteLLM")
        number = asked.new_number()
        with cancel.box() as box:
            try:
                asked.send(number, do, arguments, box.put)
                while (answer := _receive(box, asked)) is not None:
                    cancel.check()  # what has come but was not taken is not wanted any more
                    if "end" in answer:
                        return
                    has_begun = has_begun or "deltas" in answer
                    yield answer
            finally:
                asked.close(number)
        if is_last or has_begun:
            raise ModelError(
                "the process that speaks to the models has ended: "
                + ("the part that arrived is here; " if has_begun else "")
                + f"ask again ({asked.why()})"
            )


def _receive(box: queue.SimpleQueue[Any], asked: Worker) -> dict[str, Any] | None:
    """The next answer; None where the worker has died. It waits in short steps: Ctrl-C may not
    end a long wait."""
    while True:
        with suppress(queue.Empty):
            item: dict[str, Any] | LMCError | None = box.get(timeout=min(0.5, asked.patience / 2))
            if isinstance(item, LMCError):
                raise item
            return item
        asked.check()


def look_up(
    do: str, *, notify: Notify = ignore, cancel: Cancel | None = None, **arguments: Any
) -> Any:
    """The one answer of the worker to a question about models; None to "load".

    Raises
    ------
    ModelError
        When LiteLLM cannot be imported, or the worker died.
    Stopped
        `cancel` was set.
    """
    found = None
    for answer in answers(do, notify=notify, cancel=cancel, **arguments):
        if "failed" in answer:
            raise ModelError(_sentence(answer.pop("failed")))
        found = answer["answer"]
    return found


def _sentence(failed: Mapping[str, Any]) -> str:
    return redact(failed.get("sentence") or Problem.from_dict(failed["problem"]).text)


def load(notify: Notify = ignore, cancel: Cancel | None = None) -> None:
    """Wait until the worker has LiteLLM; see `look_up`."""
    look_up("load", notify=notify, cancel=cancel)


@atexit.register
def close() -> None:
    """End the worker of this process."""
    with _lock:
        ended = list(_workers)
        _workers.clear()
    for each in ended:
        each.end()
        each.wait()


def _forget() -> None:
    """In a fork the worker is the parent's: the child neither uses nor ends it."""
    global _lock
    _lock = threading.Lock()
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
