"""The parent's side of the worker: start it, wait until it is ready, start it again, end it.

One rule: no other module knows that there is a process. A worker starts at the first use, belongs
to this process alone, serves all models of the same file, and ends with this process.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from lmc_jupyter.errors import ModelError
from lmc_jupyter.models.brief import Notify

CONTEXT = 4096
"""Tokens of question and answer together; their memory is allocated at the start."""

IDLE_SECONDS = 300
"""Seconds without a question after which the worker frees the weights."""

LOAD_SECONDS = 300.0
"""Seconds after which a load counts as failed."""

MAX_THREADS = 8
"""More threads than this wait for each other's memory."""


@dataclass(frozen=True)
class Endpoint:
    """The address at which a worker answers, and the key that it wants."""

    base: str
    key: str = field(repr=False)


class LocalWorker:
    """One file of weights in a process of its own."""

    def __init__(self, path: Path, title: str) -> None:
        self.path, self.title = path, title
        self._lock = threading.Lock()  # no thread waits for anything while it has this lock
        self._run: _WorkerRun | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process; None when it is not alive."""
        run = self._run
        return run.process.pid if run is not None and run.process.poll() is None else None

    def start(self) -> _WorkerRun:
        """Start the process, if it is not running, and return at once."""
        with self._lock:
            if self._run is None or self._run.process.poll() is not None:
                self._end()
                self._run = _WorkerRun(self.path)
            return self._run

    def ready(self, notify: Notify) -> Endpoint:
        """Wait until it answers, with sentences to `notify`; start it first, where it does not run.

        Raises
        ------
        ModelError
            The runtime is not installed, or the file cannot be loaded.
        """
        run = self.start()
        try:
            return self._await(run, notify)
        except BaseException:
            with self._lock:
                if self._run is run:
                    self._end()
            raise

    def has_ended(self, seconds: float) -> bool:
        """Whether it has ended, or ends within so many seconds.

        The connections of a process that dies end a moment before it does.
        """
        run = self._run
        if run is None:
            return True
        try:
            run.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End the process at once."""
        with self._lock:
            self._end()

    def _await(self, run: _WorkerRun, notify: Notify) -> Endpoint:
        began, last_second = time.monotonic(), -1
        while not run.answer_flag.is_set():
            seconds = time.monotonic() - began
            if seconds > LOAD_SECONDS:
                raise ModelError(
                    f"{self.title} was not ready after {LOAD_SECONDS:.0f} s: {run.why()}"
                )
            if int(seconds) > last_second:
                last_second = int(seconds)
                notify(f"loading {self.title}" + (f", {last_second} s" if last_second else " …"))
            run.answer_flag.wait(0.1)
        if run.endpoint is None:
            raise ModelError(f"{self.title} could not be loaded from {self.path}: {run.why()}")
        return run.endpoint

    def _end(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        run.process.kill()  # it has no state that needs an orderly end
        run.process.wait()
        if run.process.stdin is not None:
            run.process.stdin.close()


class _WorkerRun:
    """A worker's process, from its start to its end."""

    def __init__(self, path: Path) -> None:
        options = {
            "model": str(path),
            "runtime": runtime(),
            "threads": max(1, min(os.cpu_count() or 1, MAX_THREADS)),
            "n_ctx": CONTEXT,
            "idle": IDLE_SECONDS,
        }
        self.answer_flag = threading.Event()
        """Set when it is ready, or has failed."""
        self.endpoint: Endpoint | None = None
        self._error = ""
        self._log: deque[str] = deque(maxlen=20)
        # -I -S: nothing is importable there but the standard library and the runtime, above all
        # not the folder that worker.py lies in. A session of its own: the interrupt meant for
        # the person's code must not reach it.
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                str(Path(__file__).with_name("worker.py")),
                json.dumps(options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            # threads that spin while they wait are 50 times slower beside other work
            env=os.environ | {"OMP_WAIT_POLICY": "passive"},
        )
        log = threading.Thread(target=self._read_log, daemon=True)
        log.start()
        threading.Thread(target=self._read_answer, args=(log,), daemon=True).start()

    def why(self) -> str:
        """The reason why it is not ready, as far as known."""
        lines = [line.strip() for line in list(self._log) if line.strip()]
        return self._error or (lines[-1] if lines else "it ended without a word")

    def _read_answer(self, log: threading.Thread) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            try:
                answer = json.loads(lines.readline() or "{}")
                if "base" in answer:
                    self.endpoint = Endpoint(answer["base"], answer["key"])
                elif "error" in answer:
                    self._error = (
                        f"{answer['error']} Is it a whole .gguf file of an instruct model, and is "
                        "there memory for it?"
                    )
                else:
                    log.join()  # its last words say why
            finally:
                self.answer_flag.set()
            lines.read()  # it prints nothing more

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self._log.extend(lines)


def runtime() -> str:
    """The folder of xllamacpp, which this process never imports."""
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        raise ModelError(
            "the runtime of the embedded model is not installed: run "
            "`%pip install 'lmc-jupyter[local]'`, or choose another model with `%lmc model NAME`"
        )
    return str(Path(spec.origin).parent.parent)


_workers: dict[Path, LocalWorker] = {}
_workers_lock = threading.Lock()


def worker(path: Path, title: str) -> LocalWorker:
    """This process's worker for this file."""
    with _workers_lock:
        if path not in _workers:
            _workers[path] = LocalWorker(path, title)
        return _workers[path]


@atexit.register
def close_all() -> None:
    """End every worker of this process."""
    with _workers_lock:
        workers = list(_workers.values())
        _workers.clear()
    for each in workers:
        each.close()


def _forget() -> None:
    """Forget the workers in a fork: they belong to the parent, and the child must not end them."""
    global _workers_lock
    _workers_lock = threading.Lock()
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
