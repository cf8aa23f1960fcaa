"""A real Jupyter kernel, spoken to as a front end does: raw messages on every channel.

The kernel is that of the Python that runs the tests, and imports the package from the tree.
"""

from __future__ import annotations

import ast
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_event_loop
from started_kernel import StartedKernel

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds: only a failing test waits so long; LiteLLM and R are slow to load
AGAIN = 5.0  # seconds, until somebody who pressed Stop in vain presses again

SUPPORT = """
import threading, queue, sys
from lmc_jupyter.computer import Computer, default_computer
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.kernel import runner
from lmc_jupyter.kernel.display import CellDisplay, publish
from lmc_jupyter.kernel.mailbox import Mailbox
from IPython import get_ipython

python = LivePython()

def blocks(*codes, stop=python.stop):
    '''Run blocks as a turn does: on a worker, while this cell serves; the chunks of each.'''
    said = []
    def work():
        for code in codes:
            chunks = []
            said.append(chunks)
            for chunk in python.run(code):
                chunks.append(chunk)
    try:
        runner.run_blocking(work, stop=stop)
    except KeyboardInterrupt:
        said.append("KeyboardInterrupt")
    return [each if isinstance(each, str) else [c.to_dict() for c in each] for each in said]

def text_of(chunks):
    return "".join(c["content"] for c in chunks if c.get("format") == "output")

def text(*codes):
    return [each if isinstance(each, str) else text_of(each) for each in blocks(*codes)]

def on_stop(stream, ident, message):
    python.stop()
    kernel.session.send(stream, "stop_reply", {"status": "ok"}, message, ident)

kernel = get_ipython().kernel
kernel.control_handlers["stop_request"] = on_stop
"""


class Frontend:
    """A front end of one kernel.

    Parameters
    ----------
    listed : whether its connection file is where those of JupyterLab are
    """

    def __init__(
        self, env: dict[str, str] | None = None, cwd: Path | None = None, listed: bool = False
    ) -> None:
        file = None
        if listed:
            folder = Path(jupyter_runtime_dir())
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"kernel-{uuid.uuid4()}.json"
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        outer = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
        env = {**outer, "PYTHONPATH": path, **(env or {})}
        self._kernel = StartedKernel(env, PATIENCE, cwd, file)
        self.manager, self.client = self._kernel.manager, self._kernel.client
        self.messages: list[dict[str, Any]] = []
        self.replies: dict[str, Any] = {}
        self._news = threading.Condition()
        self._halt = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._check_its_version()

    def _check_its_version(self) -> None:
        """A run on another ipykernel is one: see `.ci/test.py`."""
        wanted = os.environ.get("LMC_TEST_IPYKERNEL")
        if wanted:
            found = self.value("__import__('ipykernel').__version__")
            assert found.startswith(f"{wanted}."), f"the kernel is ipykernel {found}, not {wanted}"

    def _read(self) -> None:
        while not self._halt.is_set():
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            with self._news:
                self.messages.append(message)
                self._news.notify_all()
        ensure_event_loop().close()  # jupyter_client made one for this thread

    def until(self, true: Callable[[], Any], what: str) -> Any:
        """Wait for something that the messages say, or a file."""
        end = time.monotonic() + PATIENCE
        with self._news:
            while not (found := true()):
                left = end - time.monotonic()
                assert left > 0, f"{what} did not come; the last messages: {self.tail()}"
                self._news.wait(min(left, 0.1))  # what a file says comes without a message
        return found

    def tail(self) -> list[Any]:
        return [(m["msg_type"], repr(m["content"])[:300]) for m in self.messages[-12:]]

    def send(self, kind: str, content: dict[str, Any], **header: Any) -> str:
        """A message on the shell channel; returns its id."""
        message = self.client.session.msg(kind, content)
        message["header"].update(header)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def control(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """A request on the control channel, and its reply's content."""
        message = self.client.session.msg(kind, content)
        self.client.control_channel.send(message)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                reply = self.client.control_channel.get_msg(timeout=1)
            except queue.Empty:
                continue
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return {"msg_type": reply["msg_type"], **reply["content"]}
        raise AssertionError(f"no reply to {kind}")

    def start(self, code: str, allow_stdin: bool = True, tags: Sequence[str] = ()) -> str:
        """Send a cell; returns its id at once."""
        if not tags:
            return str(self.client.execute(code, allow_stdin=allow_stdin))
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                   "allow_stdin": allow_stdin, "stop_on_error": True}  # fmt: skip
        metadata = {"tags": list(tags)}  # as JupyterLab sends those of the cell
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def of(self, cell: str) -> list[dict[str, Any]]:
        return [m for m in list(self.messages) if m["parent_header"].get("msg_id") == cell]

    def text(self, cell: str) -> str:
        """What the cell has printed so far."""
        return "".join(m["content"]["text"] for m in self.of(cell) if m["msg_type"] == "stream")

    def shows(self, cell: str, text: str) -> None:
        """Wait until the cell has printed this."""
        self.until(lambda: text in self.text(cell), f"{text!r}")

    def finish(self, cell: str) -> list[dict[str, Any]]:
        """Wait for the end of a cell; returns its messages."""
        reply = self.reply(cell)
        self.until(lambda: self.is_idle(cell), "idle")
        self.status = reply["content"]["status"]
        return self.of(cell)

    def reply(self, cell: str) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while cell not in self.replies:
            assert time.monotonic() < end, f"no reply; the last messages: {self.tail()}"
            try:
                reply = self.client.get_shell_msg(timeout=1)
            except queue.Empty:
                continue
            self.replies[reply["parent_header"].get("msg_id")] = reply
        return dict(self.replies[cell])

    def run(self, code: str, allow_stdin: bool = True) -> list[dict[str, Any]]:
        """Run a cell to its end; an error in it fails the test."""
        messages = self.finish(self.start(code, allow_stdin))
        errors = [m["content"] for m in messages if m["msg_type"] == "error"]
        assert self.status == "ok", errors
        return messages

    def value(self, code: str) -> Any:
        """The value of the last expression, by its repr."""
        messages = self.run(code)
        results = [m for m in messages if m["msg_type"] == "execute_result"]
        return ast.literal_eval(results[-1]["content"]["data"]["text/plain"])

    def blocks(self, *codes: str) -> Any:
        """Run blocks of a turn; the dicts of the chunks of each, then perhaps an interrupt."""
        return self.value(f"blocks(*{codes!r})")

    def told(self, *codes: str) -> Any:
        """Run blocks of a turn; the console text of each, then perhaps an interrupt."""
        return self.value(f"text(*{codes!r})")

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def interrupt_wait(self, is_over: Callable[[], Any]) -> None:
        """Interrupt code in a wait without end, as `time.sleep`, and again until it is over.

        CPython looks for signals before it waits, and loses one that comes in between. It is
        likely to: what the code printed last is sent while the code goes to wait.
        """
        while not is_over():
            self.interrupt()
            with self._news:
                self._news.wait_for(is_over, AGAIN)

    def is_idle(self, cell: str) -> bool:
        """Whether the kernel has said that the cell is over."""
        states = [m["content"] for m in self.of(cell) if m["msg_type"] == "status"]
        return bool(states) and states[-1]["execution_state"] == "idle"

    def restart(self) -> None:
        """Start the kernel anew; return when its messages come in again."""
        self.manager.restart_kernel(now=True)
        end = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < end:  # what it says before our socket has found it is lost
            self.reply(cell := self.start("None"))
            with self._news:
                if self._news.wait_for(lambda asked=cell: self.is_idle(asked), 1.0):
                    return
        raise AssertionError("the kernel that was started anew says nothing")

    def close(self) -> None:
        self._halt.set()
        self._reader.join()
        self._kernel.close()
        ensure_event_loop().close()


def pytest_report_header() -> str:
    """Which ipykernel the kernels of this run have."""
    return f"ipykernel: {metadata.version('ipykernel')}"


@pytest.fixture(scope="module")
def frontend() -> Iterator[Frontend]:
    """A front end with a kernel for the module; every test leaves it idle."""
    it = Frontend()
    try:
        it.run(SUPPORT)
        yield it
    finally:
        it.close()


@pytest.fixture
def make_frontend() -> Iterator[Callable[..., Frontend]]:
    """Starts kernels of a test's own."""
    made: list[Frontend] = []

    def make(**options: Any) -> Frontend:
        made.append(Frontend(**options))
        made[-1].run(SUPPORT)
        return made[-1]

    yield make
    for each in made:
        each.close()
