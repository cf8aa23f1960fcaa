"""What everything is measured with: kernels, neighbours and the provider, each a process.

One rule: what is started here is ended here, and nothing of the person's own is read or written.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

HERE = Path(__file__).parent
ROOT = HERE.parent

OPEN_INTERPRETER = "LMC_BENCH_OPEN_INTERPRETER"
"""The variable that names a Python with open-interpreter 0.4.3 in it; else the bench makes one."""


class Kernel:
    """A fresh kernel that gives back the value of an expression as JSON.

    Parameters
    ----------
    **env : more of its environment
    """

    def __init__(self, **env: str) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.folder = tempfile.TemporaryDirectory(prefix="lmc-")
        if os.name == "posix":  # sockets in a folder of our own instead of open ports
            self.manager.transport = "ipc"
            self.manager.ip = str(Path(self.folder.name, "kernel"))
        path = os.pathsep.join(map(str, (ROOT, HERE, ROOT / "tests")))
        env = {**os.environ, "PYTHONPATH": path, **env}
        for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
            env[name] = str(Path(self.folder.name, "data"))  # and not the person's own
        # a folder of a person's, and not this one, whose AGENTS.md is offered when we are loaded
        notebooks = Path(self.folder.name, "notebooks")
        notebooks.mkdir()
        self.manager.start_kernel(env=env, cwd=str(notebooks))
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.folder.cleanup()

    def value(
        self,
        source: str,
        expression: str = "0",
        hear: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> Any:
        """Run the source; the expression's value afterwards.

        Parameters
        ----------
        hear : gets each message that the source sends to its front end
        """
        reply = self.client.execute_interactive(
            source,
            allow_stdin=False,
            output_hook=hear,
            user_expressions={"value": f"__import__('json').dumps({expression})"},
            timeout=900,
        )["content"]
        if reply["status"] != "ok":
            raise RuntimeError("\n".join(reply["traceback"]))
        value = reply["user_expressions"]["value"]
        if value["status"] != "ok":
            raise RuntimeError("\n".join(value["traceback"]))
        # the text form of a str is its repr
        return json.loads(eval(value["data"]["text/plain"], {"__builtins__": {}}))

    def measure(self, call: str, module: str = "measure") -> Any:
        """The figures that this function of a module of ours returns, in a kernel that has us."""
        self.value(f"%load_ext lmc_jupyter\nimport {module}")
        return self.value(f"_figures = {module}.{call}", "_figures")

    def tell(self, comm: str, content: dict[str, Any]) -> None:
        """Say something to a widget, as its front end does."""
        data = {"comm_id": comm, "data": {"method": "custom", "content": content}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", data))

    @property
    def pid(self) -> int:
        """Its process."""
        return int(self.value("import os", "os.getpid()"))


class Lines:
    """A program of ours that is given a line of JSON and answers with one."""

    def __init__(self, *command: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lmc-")
        self._log = Path(self._folder.name, "log")  # of a pipe nobody would read the rest
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._folder.name,
                env={**os.environ, "XDG_DATA_HOME": self._folder.name},
            )

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=10)
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def read(self) -> Any:
        """What it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r}: {self._log.read_text('utf-8')[-2000:]}")
        return json.loads(line)

    def ask(self, **asked: Any) -> Any:
        """What it answers to this."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self.read()


class Peer(Lines):
    """One of the neighbours in `peer.py`, with its library imported and a question answered."""

    def __init__(self, kind: str, base: str, python: str = sys.executable) -> None:
        super().__init__(python, str(HERE / "peer.py"), kind)
        self.ask(base=base, words=10)


@contextmanager
def provider() -> Iterator[str]:
    """The address of a `server.py`, to which the way of its answers is added."""
    with Lines(sys.executable, str(HERE / "server.py")) as server:
        yield server.read()


class Missing(Exception):  # noqa: N818 - it is said in the table
    """A neighbour that cannot be had here: the table says why."""


def open_interpreter(*, install: bool) -> str:
    """A Python with open-interpreter 0.4.3, which pip installs into .cache where none is named.

    Raises
    ------
    Missing
        When it cannot be installed; when none is named and none shall be installed.
    """
    if named := os.environ.get(OPEN_INTERPRETER):
        return named
    folder = ROOT / ".cache" / "open-interpreter-0.4.3"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / ".done"
    if not install:
        raise Missing(f"{OPEN_INTERPRETER} does not name a Python that has it")
    if not done.exists():
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [*pip, "open-interpreter==0.4.3", "setuptools<81"],
        ):
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode:
                said = [
                    each for each in made.stderr.splitlines() if each.upper().startswith("ERROR")
                ]
                why = " ".join(said)[-200:] or f"{command} ended with {made.returncode}"
                raise Missing(f"it cannot be installed here: {why}")
        done.touch()
    return str(python)
