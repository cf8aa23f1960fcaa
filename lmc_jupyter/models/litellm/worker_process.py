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
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from typing import Any

from lmc_jupyter.content.python_process import PythonProcess, current_folder, program
from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.keys import redact, reveal
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel, ignore
from lmc_jupyter.models.failure import Problem

PATIENCE = 10.0
"""Seconds that it has to end a cancelled request, once it has started; then it is ended, and the
next request starts another. One that hangs is ended by the person's Stop in this way."""

START_SECONDS = 120.0
"""Seconds that it may take to start; Python in a home on the network is slow."""

IDLE_SECONDS = 1_800.0
"""Seconds without a request after which the worker ends; the next request starts a new one."""

BEGIN = program("lmc_jupyter.models.litellm.worker.main")
"""The program of the worker."""

_AT_START = (
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ",
    "USER", "USERPROFILE", "WINDIR",
)  # fmt: skip
_AT_START_WITH = ("DYLD_", "LC_", "LD_")
"""Prefixes of the variables that the process starts with. All others come over its pipe, which no
other program of this machine reads: they may be keys."""


class LiteLLMWorker:
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
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if name.upper() in _AT_START or name.upper().startswith(_AT_START_WITH)
        }
        self._folder = ""
        self._python = PythonProcess(BEGIN, self._environment, idle=idle)
        self.is_alive = True
        self._began = time.monotonic()
        self._is_up = False
        self._python.listen(self._hear, self._ended, "lmc-models")

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._python.process.pid

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
            environment, folder = dict(os.environ), current_folder()
            changes = None
            if environment != self._environment or folder != self._folder:
                new = {n: v for n, v in environment.items() if self._environment.get(n) != v}
                unset = [name for name in self._environment if name not in environment]
                changes = {"set": new, "unset": unset, "folder": folder}
            line = _line(number=number, do=do, changes=changes, **arguments)
            self._boxes[number] = put
            self._python.write(line)
            self._environment, self._folder = environment, folder
            if not self.is_alive:
                put(None)

    def close(self, number: int) -> None:
        """Drop further answers to this request, and cancel it where it is in progress."""
        with self._lock:
            if number not in self._boxes:
                return
            self._boxes[number] = ignore
            self._python.write(_line(cancel=number))
            self._begin_timer(number)

    def check_start(self) -> None:
        """End it where it has not started within `START_SECONDS`."""
        if not self._is_up and time.monotonic() - self._began > START_SECONDS:
            self.end(f"it did not start within {START_SECONDS:.0f} s")

    def end(self, why: str = "") -> None:
        """End the process at once: it has no state that needs an orderly end."""
        self._python.end(why)

    def wait(self) -> None:
        """Wait for its end."""
        self._python.process.wait()

    def why(self) -> str:
        """The reason of its end, as far as known, in a sentence without keys."""
        return redact(self._python.why())[-300:]  # before the cut: no half of a key stays

    def _begin_timer(self, number: int) -> None:
        """Give it its time to end a cancelled request, from now on; the lock is held."""
        timer = threading.Timer(self.patience, self._end_stuck, (number,))
        timer.daemon = True
        self._cancel_timers[number] = timer
        timer.start()

    def _end_stuck(self, number: int) -> None:
        with self._lock:
            if number in self._boxes and self._is_up:
                self.end("it did not end a request that was stopped")

    def _ended(self) -> None:
        with self._lock:
            self.is_alive = False
            boxes = list(self._boxes.values())
            self._boxes.clear()
        for put in boxes:
            put(None)

    def _hear(self, answer: dict[str, Any]) -> None:
        """Put an answer into the box of its request."""
        number = answer.get("number")
        if number is None:
            with self._lock:
                is_first, self._is_up = not self._is_up, True
                for each, early in list(self._cancel_timers.items()) if is_first else ():
                    early.cancel()  # their time begins now
                    self._begin_timer(each)
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


def _line(**values: Any) -> bytes:
    """A line for the worker; the only place where keys are revealed."""
    return json.dumps(reveal(values), separators=(",", ":")).encode() + b"\n"


# The worker of this process -----------------------------------------------------------------------

_lock = threading.Lock()
_workers: list[LiteLLMWorker] = []
"""The worker that was started last, if any."""


def worker() -> LiteLLMWorker:
    """The worker of this process; a new one where none is alive.

    Raises
    ------
    ModelError
        When it cannot be started.
    """
    with _lock:
        if not _workers or not _workers[0].is_alive:
            try:
                _workers[:] = [LiteLLMWorker()]
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
    if not any(each.is_alive for each in _workers):
        new = worker()
        new.send(new.new_number(), "load", {}, ignore)


def is_loaded() -> bool:
    """Whether the worker has imported LiteLLM."""
    return any(each.is_alive and each.is_loaded for each in _workers)


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


def _receive(box: queue.SimpleQueue[Any], target: LiteLLMWorker) -> dict[str, Any] | None:
    """The next answer; None where the worker has died.

    It waits in short steps: Ctrl-C may not end a long wait.
    """
    while True:
        with suppress(queue.Empty):
            item: dict[str, Any] | LMCError | None = box.get(timeout=0.5)
            if isinstance(item, LMCError):
                raise item
            return item
        target.check_start()


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
