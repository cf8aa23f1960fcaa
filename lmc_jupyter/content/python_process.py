"""A Python process of ours that speaks lines over its pipes: a worker beside the kernel.

One rule: it is isolated. It imports this installation and the folders of packages that this Python
has, and nothing from the notebook's folder; of the environment it begins with what it is given.
"""

from __future__ import annotations

import json
import os
import queue
import site
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

_PIECE = 1 << 20

_PACKAGE = str(Path(__file__).parents[2])
"""The folder of this installation."""


def program(module: str) -> str:
    """The program that calls `main(**options)` of a module of ours."""
    return f"""
import json, sys
options = json.loads(sys.argv[1])
sys.path.insert(0, options.pop("package"))
import lmc_jupyter
del sys.path[0]
sys.path += [each for each in options.pop("path") if each not in sys.path]
from {module} import main
main(**options)
"""


class PythonProcess:
    """The process.

    Parameters
    ----------
    program : see `program`
    environment : the variables that it begins with
    **options : of its `main`, which gets `parent` beside them, the id of this process
    """

    def __init__(self, program: str, environment: Mapping[str, str], **options: object) -> None:
        self._end_reason = ""
        self._log: deque[str] = deque(maxlen=20)
        self._log_ended = threading.Event()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        options |= {"package": _PACKAGE, "path": _path(), "parent": os.getpid()}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", program, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # the interrupt meant for the person's code does not reach it
            env=dict(environment),
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    def listen(
        self, hear: Callable[[dict[str, Any]], None], ended: Callable[[], None], name: str
    ) -> None:
        """Serve its pipes, on three threads of this name.

        Parameters
        ----------
        hear : takes each line that it writes, a JSON object
        ended : called when it has ended and nothing more comes
        """
        self._hear, self._ended = hear, ended
        into, out, log = self.process.stdin, self.process.stdout, self.process.stderr
        assert into is not None
        assert out is not None
        assert log is not None
        for run, pipe in ((self._write, into), (self._read, out), (self._note, log)):
            threading.Thread(target=run, args=(pipe,), daemon=True, name=name).start()

    def write(self, line: bytes | None) -> None:
        """Write a line soon; None ends its input. It never waits."""
        self._lines.put(line)

    def end(self, why: str = "") -> None:
        """End the process at once.

        Parameters
        ----------
        why : what `why` says of it then
        """
        self._end_reason = self._end_reason or why
        with suppress(ProcessLookupError):
            self.process.kill()

    def why(self) -> str:
        """Why we have ended it, or the last line of its log, which may have keys, or its status."""
        if self._end_reason:
            return self._end_reason
        self._log_ended.wait(5.0)  # the log ends a moment after the answers
        line = " ".join(self._log[-1].split()) if self._log else ""
        return line or f"it ended without a word, with the status {self.process.poll()}"

    def _write(self, pipe: IO[bytes]) -> None:
        """Write the lines of the queue, until the process reads no more."""
        with suppress(OSError), closing(pipe):
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(pipe.fileno(), rest) :]

    def _read(self, pipe: IO[bytes]) -> None:
        """Have each line heard, until the end; a line that is no JSON ends the process."""
        rest: list[bytes] = []
        try:
            with closing(pipe):
                while piece := os.read(pipe.fileno(), _PIECE):
                    first, *others = piece.split(b"\n")
                    rest.append(first)
                    for each in others:
                        self._hear(json.loads(b"".join(rest)))
                        rest = [each]
        except ValueError:
            self.end("it wrote a line that is no answer")
        self.process.wait()
        self.write(None)
        self._ended()

    def _note(self, pipe: IO[bytes]) -> None:
        """Store the last lines of its log."""
        with pipe:
            for line in pipe:
                if line.strip():
                    self._log.append(line[-2_000:].decode("utf-8", "replace"))
        self._log_ended.set()


def _path() -> list[str]:
    """The folders of packages that an isolated Python lacks: those of PYTHONPATH, of the person's
    own packages and of ours, without that of the notebook."""
    own = [_PACKAGE, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    if site.ENABLE_USER_SITE:
        own.append(site.getusersitepackages())
    here = current_folder()
    return [each for each in sys.path if each in own and Path(each).is_absolute() and each != here]


def current_folder() -> str:
    """The working directory; "" where it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 - a string, at each request
    except OSError:
        return ""
