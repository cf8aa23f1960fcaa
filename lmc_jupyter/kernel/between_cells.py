"""The main thread between the cells: where the code of a turn runs that no cell waits for.

One rule: such code runs as a cell does. It is a message of our own type in the queue of the shell
channel: the kernel handles it in its turn, alone, in the context of its cells, and sends busy and
idle for it. Its error fails no cell, and it can be cancelled while it waits.
"""

from __future__ import annotations

import contextvars
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from lmc_jupyter.errors import ComputerError
from lmc_jupyter.kernel import runner
from lmc_jupyter.kernel.keyboard import Ask, Keyboard
from lmc_jupyter.kernel.requests import RUN, Requests

_apart: contextvars.ContextVar[bool] = contextvars.ContextVar("lmc_between_cells", default=False)


@contextmanager
def between_cells() -> Iterator[None]:
    """Within it, on this thread, code of a turn runs between the cells and is shown by us alone.

    For a thread that nothing on the main thread waits for: a cell that waited for it would wait
    for ever.
    """
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def is_between_cells() -> bool:
    """Whether this is the thread of such a turn."""
    return _apart.get() and threading.current_thread() is not threading.main_thread()


def schedule(
    kernel: Any, job: Callable[[], None], on_interrupt: Callable[[], None], ask: Ask | None = None
) -> Future[None]:
    """Run a job on the main thread when its turn comes; until then its future can be cancelled.

    Parameters
    ----------
    kernel : an ipykernel
    on_interrupt : called for a SIGINT that the job does not take itself; within a signal, so it may
        do hardly anything
    ask : asks the person what the code asks on its keyboard; None where nobody can be asked

    Raises
    ------
    ComputerError
        When this kernel has no queue that we know.
    """
    deliver = _way_in(kernel)
    future: Future[None] = Future()
    header = {**kernel.session.msg_header(RUN), "msg_id": f"lmc-{uuid.uuid4().hex}"}

    def run() -> None:
        if future.set_running_or_notify_cancel():
            runner.resolve(future, run_typed)

    def run_typed() -> None:
        with Keyboard(kernel, ask):
            runner.run_one(job, on_interrupt)

    def end() -> None:
        """An interrupt that came before our handler, or at its first line, has ended it there."""
        _jobs.pop(header["msg_id"], None)
        if not future.done() and (future.running() or future.set_running_or_notify_cancel()):
            future.set_exception(KeyboardInterrupt())

    _jobs[header["msg_id"]] = run
    Requests.of(kernel).on_end[header["msg_id"]] = end
    kernel.shell_handlers[RUN] = _on_run
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": {}}
    deliver(message)
    return future


def after_cells(kernel: Any, job: Callable[[], None]) -> None:
    """Do a short job on the main thread once the cells that wait now have run.

    It goes twice through the queue: ipykernel 6 reads what front ends have sent after the first.
    """

    def again() -> None:
        schedule(kernel, job, on_interrupt=lambda: None)

    schedule(kernel, again, on_interrupt=lambda: None)  # it is over at once: nothing to interrupt


_jobs: dict[str, Callable[[], None]] = {}


def _on_run(_stream: object, _ident: object, message: dict[str, Any]) -> None:
    """The kernel's handler of our messages; one that somebody else has sent says nothing to us."""
    run = _jobs.pop(message["header"]["msg_id"], None)
    if run is not None:
        run()


def _way_in(kernel: Any) -> Callable[[dict[str, Any]], None]:
    """Puts a message at the end of the shell channel's queue, as if a front end had sent it."""
    thread = getattr(kernel, "shell_channel_thread", None)
    if thread is not None and hasattr(kernel, "shell_channel_thread_main"):  # ipykernel 7
        loop, take = thread.io_loop, kernel.shell_channel_thread_main
    elif hasattr(kernel, "schedule_dispatch") and hasattr(kernel, "dispatch_shell"):  # 6
        loop, dispatch, handle = kernel.io_loop, kernel.schedule_dispatch, kernel.dispatch_shell

        def take(frames: Any) -> None:
            dispatch(handle, frames)
    else:
        kind = type(kernel)
        raise ComputerError(
            f"this kernel ({kind.__module__}.{kind.__name__}) has no queue that code of the panel "
            "could wait in: ask in a cell, under %%lmc, or use ipykernel 6.29 or newer"
        )

    def deliver(message: dict[str, Any]) -> None:
        import zmq

        frames = [zmq.Frame(part) for part in kernel.session.serialize(message)]
        loop.add_callback(take, frames)

    return deliver


class Payloads:
    """The payloads of code that runs in no cell: `len?` asks its cell to open a pager.

    Without this class, they would come with the reply to the next cell of the person.
    """

    def __init__(self, shell: Any) -> None:
        self._of: Any = getattr(shell, "payload_manager", None)
        self._before = self._read()

    def take(self) -> list[dict[str, Any]]:
        """Remove the payloads of the code, and return them as mime bundles."""
        payloads = self._read()
        for payload in self._before:
            self._of.write_payload(payload, single=False)
        return [_bundle(payload) for payload in payloads]

    def look(self) -> list[dict[str, Any]]:
        """The mime bundles that a pager of the cell around the code will show; they stay there."""
        payloads = self._read()
        for payload in (*self._before, *payloads):
            self._of.write_payload(payload, single=False)
        return [_bundle(payload) for payload in payloads if payload.get("source") == "page"]

    def _read(self) -> list[dict[str, Any]]:
        if self._of is None:
            return []
        payloads = list(self._of.read_payload())
        if payloads:
            self._of.clear_payload()
        return payloads


def _bundle(payload: dict[str, Any]) -> dict[str, Any]:
    data = payload.get("data")
    if payload.get("source") == "page" and isinstance(data, dict):
        return data
    text = f"({payload.get('source')} is for cells: it has no effect on code of the chat panel)"
    return {"text/plain": text}
