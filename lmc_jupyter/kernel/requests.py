"""Which request the main thread works on, so that "busy" can be said again for it.

One rule: `running` is exact under `lock`, because it changes where the kernel reports its status.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from lmc_jupyter.kernel.display import publish
from lmc_jupyter.kernel.frontend import parent_of

RUN = "lmc_run"
"""The type of our own requests, see `lmc_jupyter.kernel.between_cells`."""

_instances: WeakKeyDictionary[Any, Requests] = WeakKeyDictionary()
_making = threading.RLock()
"""Locked while they are made: two would patch the kernel twice."""


class Requests:
    """The requests of one kernel; there is one object per kernel, made by `of`."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.lock = threading.RLock()
        """Locked while the kernel says busy or idle, and by those who say it again."""
        self.running: dict[str, Any] | None = None
        """The request that runs on the main thread; None when none does."""
        self.on_end: dict[str, Callable[[], None]] = {}
        """By the `msg_id` of a request of ours: what is called when the kernel is through it."""
        self._last: tuple[Any, dict[str, Any]] = self._now()
        if threading.current_thread() is threading.main_thread() and self._last[1]:
            self.running = self._last[1]
        self._undo: list[Callable[[], None]] = [_send_through_the_stream(kernel)]
        if hasattr(kernel, "_publish_status"):
            self._patch_status()
        if hasattr(kernel, "_shell_parent"):
            self._keep_threads_with_their_cell()

    @classmethod
    def of(cls, kernel: Any) -> Requests:
        """Those of this kernel, noted from the first call on."""
        with _making:
            instance = _instances.get(kernel)
            if instance is None:
                instance = _instances[kernel] = cls(kernel)
            return instance

    def say_busy_again(self) -> None:
        """Front ends take any idle for that of what runs: say that it still runs, if it does."""
        with self.lock:
            if self.running is not None:
                publish(self._kernel, self.running, "status", {"execution_state": "busy"})

    def is_ours_that_runs(self) -> bool:
        """Whether the main thread is at a request of ours."""
        running = self.running
        return running is not None and _is_ours(running)

    def forget(self) -> None:
        """Remove the patches of the kernel."""
        with self.lock:  # the idle of the cell that runs is not noted any more
            self.running = None
            while self._undo:
                self._undo.pop()()
        _instances.pop(self._kernel, None)

    def _now(self) -> tuple[Any, dict[str, Any]]:
        idents = getattr(self._kernel, "_parent_ident", {})
        try:
            ident = idents["shell"]
        except LookupError:  # ipykernel 7.0: a thread without the cell's context
            ident = b""
        return ident, parent_of(self._kernel)

    def _patch_status(self) -> None:
        usual = self._kernel._publish_status

        def replacement(status: str, *args: Any, **options: Any) -> None:
            channel = args[0] if args else options.get("channel", "shell")
            if channel != "shell" or threading.current_thread() is not threading.main_thread():
                usual(status, *args, **options)
                return
            with self.lock:
                usual(status, *args, **options)
                self._note(status)

        self._replace("_publish_status", replacement)

    def _keep_threads_with_their_cell(self) -> None:
        """ipykernel 7 notes a request twice: for its context, and for threads that have none.

        Threads without a context keep the parent of the last cell, so it is set again after each
        request of ours.
        """
        usual = self._kernel.set_parent

        def replacement(ident: Any, parent: dict[str, Any], channel: str = "shell") -> None:
            usual(ident, parent, channel)
            if channel == "shell" and _is_ours(parent):
                contextvars.copy_context().run(usual, *self._last)

        self._replace("set_parent", replacement)

    def _replace(self, name: str, function: Callable[..., Any]) -> None:
        attributes = vars(self._kernel)
        attributes[name] = function

        def undo() -> None:
            if attributes.get(name) is function:
                del attributes[name]

        self._undo.append(undo)

    def _note(self, status: str) -> None:
        now = self._now()
        if status == "busy":
            self.running = now[1]
            if not _is_ours(now[1]):
                self._last = now
        elif status == "idle":
            self.running = None
            if _is_ours(now[1]):
                self._kernel.set_parent(*self._last)
                end = self.on_end.pop(now[1]["header"]["msg_id"], None)
                if end is not None:
                    end()


def _is_ours(request: dict[str, Any]) -> bool:
    header: dict[str, Any] = request.get("header") or {}
    return header.get("msg_type") == RUN


def _send_through_the_stream(kernel: Any) -> Callable[[], None]:
    """Patch the kernel, if it needs it; returns a function that removes the patch.

    ipykernel 7.0 to 7.3 sends replies on the very socket that a stream of its event loop reads.
    Sending uses up the event that tells the loop of a request which came at that moment, and that
    request and all that follow are read no more; a panel makes it likely, since its messages come
    while cells run. ipykernel 7.4 sends through the stream, and so does this. Where that version's
    own way is not found exactly, nothing is touched.
    """
    thread: Any = getattr(kernel, "shell_channel_thread", None)
    manager = getattr(thread, "manager", None)
    pair = getattr(manager, "_main_to_shell_channel", None)
    usual = getattr(manager, "_send_on_shell_channel", None)
    stream = getattr(pair, "to_stream", None)
    if stream is None or usual is None or not hasattr(manager, "_shell_socket"):
        return lambda: None

    def use(receiver: Callable[[Any], None]) -> None:
        thread.io_loop.add_callback(lambda: stream.on_recv(receiver, copy=False))

    attributes, send = vars(manager), kernel.shell_stream.send_multipart
    attributes["_send_on_shell_channel"] = send  # for subshells that are yet to come
    use(send)

    def undo() -> None:
        attributes.pop("_send_on_shell_channel", None)
        use(usual)

    return undo
