"""Clicks that reach Python while a cell is busy, by whichever way comes first.

One rule: a receiver gets each click once, on the thread on which it came, and every other message
goes where it would go without us, in the same order.

Ways (measured on ipykernel 6.17 to 7.4): a message type of our own on the control channel; a
tap on the thread that reads the shell channel (ipykernel 7) or on the shell stream (6), which a
pump serves while the main thread is busy; and the plain comm, which works when nothing runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from lmc_jupyter.kernel import runner
from lmc_jupyter.kernel.display import publish
from lmc_jupyter.kernel.frontend import parent_of
from lmc_jupyter.kernel.requests import Requests

REQUEST, REPLY = "lmc_request", "lmc_reply"
_MAX_IDS = 10_000
_SWAP_SECONDS = 5.0
_BUSY_AGAIN_SECONDS = 0.05

Receive = Callable[[dict[str, Any]], None]

_mailboxes: WeakKeyDictionary[Any, Mailbox] = WeakKeyDictionary()
_making = threading.RLock()
"""Locked while one is made, and while it patches the kernel."""


class Mailbox:
    """Takes in the custom messages of our own widgets.

    Parameters
    ----------
    kernel : an ipykernel; it is touched at the first `open`. Two mailboxes of one kernel would
        take each other's messages: `Mailbox.of` has one for each
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._receivers: dict[str, Receive] = {}
        self._twice: dict[str, Collection[str]] = {}
        self._ids: set[tuple[str, object]] = set()
        self._order: deque[tuple[str, object]] = deque()
        self._lock = threading.Lock()
        self.has_received = False
        """Whether a front end has ever sent one of our messages to this kernel."""
        self.has_page = False
        """Whether JupyterLab with our extension has ever spoken to this kernel."""
        self._cell: dict[str, Any] = {}
        self._undo: list[Callable[[], None]] = []
        self._backlog: list[Any] = []
        self._pumping = threading.Lock()
        self._busy_again: Callable[[], None] = lambda: None
        self._is_ours_that_runs: Callable[[], bool] = lambda: False
        self.poll: Callable[[float], None] | None = self._poll if self._must_poll() else None
        """Takes our messages out of the shell channel, waiting so many seconds for them, and
        adds the others to the backlog. None where clicks need no polling (ipykernel 7).

        Only while the main thread is in a run of ours, and on one thread at a time.
        """

    @classmethod
    def of(cls, kernel: Any) -> Mailbox:
        """The mailbox of this kernel, made at the first call."""
        with _making:
            if kernel not in _mailboxes:
                _mailboxes[kernel] = cls(kernel)
            return _mailboxes[kernel]

    def open(self, comm_id: str, receive: Receive, twice: Collection[str] = ()) -> None:
        """From now on give each message to this comm to `receive`, once per `content["id"]`.

        Parameters
        ----------
        receive : called on any thread; must not block
        twice : kinds of messages that may come twice without harm, and often. Their ids are not
            remembered: a comm may bring a message hours after the control channel, when a cell
            has ended, and what must happen once has to be known until then
        """
        with _making:
            if not self._undo:
                self._install()
        self._cell = parent_of(self._kernel)
        with self._lock:
            self._receivers[comm_id] = receive
            self._twice[comm_id] = tuple(twice)

    def close(self, comm_id: str) -> None:
        """Forget this comm; what still comes for it goes its usual way."""
        with self._lock:
            self._receivers.pop(comm_id, None)
            self._twice.pop(comm_id, None)
            self._ids = {key for key in self._ids if key[0] != comm_id}
            self._order = deque(key for key in self._order if key[0] != comm_id)

    def deliver(self, comm_id: str, content: dict[str, Any]) -> bool:
        """Give one message to its receiver, unless it was given already.

        Returns
        -------
        Whether this mailbox knows the comm.
        """
        with self._lock:
            receive = self._receivers.get(comm_id)
            if receive is None:
                return False
            self.has_received = True
            again = self._twice[comm_id]
            is_repeat = content.get("kind") not in again and not self._is_new(
                comm_id, content.get("id")
            )
        if not is_repeat:
            receive(content)
        self._acknowledge(comm_id, content)
        return True

    def _is_new(self, comm_id: str, message_id: object) -> bool:
        if not isinstance(message_id, str):
            return True  # nothing to know it by
        key = comm_id, message_id
        if key in self._ids:
            return False
        self._ids.add(key)
        self._order.append(key)
        if len(self._order) > _MAX_IDS:
            self._ids.discard(self._order.popleft())
        return True

    def _acknowledge(self, comm_id: str, content: dict[str, Any]) -> None:
        """Tell the front end, on the comm, that the message has come."""
        if "id" in content:
            data = {"method": "custom", "content": {"kind": "ack", "of": content["id"]}}
            self._publish(self._cell, "comm_msg", {"comm_id": comm_id, "data": data})

    # Patches of the kernel ------------------------------------------------------------------------

    def _install(self) -> None:
        requests = Requests.of(self._kernel)
        self._undo.append(requests.forget)
        self._busy_again = requests.say_busy_again
        self._is_ours_that_runs = requests.is_ours_that_runs
        if self.poll is not None:
            self._undo.append(lambda: runner.unwatch(self))
            runner.watch(self)
        handlers = getattr(self._kernel, "control_handlers", None)
        if isinstance(handlers, dict):
            handlers[REQUEST] = self._on_control
            self._undo.append(lambda: handlers.pop(REQUEST, None))
        if getattr(self._kernel, "shell_channel_thread", None) is not None:
            self._tap_thread()
        elif self._has_queue():
            self._tap_queue()

    def uninstall(self) -> None:
        """Take back everything that was put into the kernel; open comms are forgotten."""
        self.release()
        while self._undo:
            self._undo.pop()()
        with self._lock:
            self._receivers.clear()
            self._twice.clear()

    def _on_control(self, stream: Any, ident: Any, message: dict[str, Any]) -> None:
        """Our own message type, on the thread of the control channel."""
        content = message["content"]
        inner = content.get("content")
        is_delivered = isinstance(inner, dict) and self.deliver(str(content.get("comm_id")), inner)
        status = {"status": "ok"} if is_delivered else _unknown(content.get("comm_id"))
        self._kernel.session.send(stream, REPLY, status, message, ident)
        # the kernel says idle when we return, and front ends take it for that of what runs
        asyncio.get_running_loop().call_later(_BUSY_AGAIN_SECONDS, self._busy_again)

    def _tap_thread(self) -> None:
        """ipykernel 7: read the shell channel before its messages are handed out."""
        kernel = self._kernel
        usual = kernel.shell_channel_thread_main

        async def tap(frames: Any) -> None:
            message = self._peek(frames)
            if message is not None:
                self._take(message)
            elif not await self._answer_first(frames):
                await usual(frames)

        self._swap(tap)
        self._undo.append(lambda: self._swap(usual))

    async def _answer_first(self, frames: Any) -> bool:
        """Whether this was a front end's first question, answered here while our code runs.

        A page that is loaded anew asks them before anything else, and waits: behind code that
        waits for the person, who cannot answer it before the page is there.
        """
        kernel = self._kernel
        if not self._is_ours_that_runs():
            return False
        try:
            idents, parts = kernel.session.feed_identities(frames, copy=False)
            message = kernel.session.deserialize(parts, content=False, copy=False)
            message["content"] = kernel.session.unpack(message["content"])
            if message["header"].get("subshell_id") is not None or not _is_first(message):
                return False
            answer = kernel.shell_handlers[message["header"]["msg_type"]]
        except Exception:  # noqa: BLE001 - the kernel says what is wrong with it
            return False
        self._status("busy", message)
        try:
            context = contextvars.copy_context()
            if hasattr(kernel, "_shell_parent"):  # what answers is told whom
                context.run(kernel._shell_parent.set, message)
            answering = context.run(answer, kernel.shell_stream, idents, message)
            if inspect.isawaitable(answering):
                await answering
        finally:
            self._status("idle", message)
            self._busy_again()
        return True

    def _swap(self, receiver: Any) -> None:
        stream, ready = self._kernel.shell_stream, threading.Event()

        def swap() -> None:
            stream.on_recv(receiver, copy=False)
            ready.set()

        thread = self._kernel.shell_channel_thread
        if threading.current_thread() is thread:
            swap()
        else:
            thread.io_loop.add_callback(swap)
            ready.wait(_SWAP_SECONDS)

    def _has_queue(self) -> bool:
        names = ("schedule_dispatch", "dispatch_shell", "shell_stream", "io_loop")
        return all(getattr(self._kernel, name, None) is not None for name in names)

    def _tap_queue(self) -> None:
        """ipykernel 6: messages that the event loop reads; while it is busy, `poll` reads them."""
        kernel = self._kernel
        usual = partial(kernel.schedule_dispatch, kernel.dispatch_shell)

        def tap(frames: Any) -> None:
            message = self._peek(frames)
            if message is None and self._backlog:
                self._backlog.append(frames)  # behind those that came before it
            elif message is None:
                usual(frames)
            else:
                self._take(message)

        kernel.shell_stream.on_recv(tap, copy=False)
        self._undo.append(lambda: kernel.shell_stream.on_recv(usual, copy=False))

    # Polling, on ipykernel 6 ----------------------------------------------------------------------

    def _must_poll(self) -> bool:
        return getattr(self._kernel, "shell_channel_thread", None) is None and self._has_queue()

    def _poll(self, seconds: float) -> None:
        import zmq

        with self._pumping:
            socket = self._kernel.shell_stream.socket
            if not socket.poll(int(seconds * 1000)):
                return
            while True:
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    return
                message = self._peek(frames)
                if message is None:
                    self._backlog.append(frames)
                else:
                    self._take(message)

    def release(self) -> None:
        """Give the kernel the messages of the backlog, in order; on the main thread, at the end."""
        backlog, self._backlog = self._backlog, []
        kernel = self._kernel
        for frames in backlog:
            kernel.schedule_dispatch(kernel.dispatch_shell, frames)
        if self.poll is not None and self._undo:
            import zmq

            # reading the socket ourselves has used up the event that tells the loop to read it
            kernel.io_loop.add_callback(lambda: kernel.shell_stream.flush(zmq.POLLIN))

    # One message ----------------------------------------------------------------------------------

    def _peek(self, frames: Any) -> dict[str, Any] | None:
        """The message, if it is a custom one to a comm of ours; else it stays untouched."""
        if not self._receivers:
            return None
        session = self._kernel.session
        try:
            _, parts = session.feed_identities(frames, copy=False)
            message = session.deserialize(parts, content=False, copy=False)  # keeps the signature
            if message["header"]["msg_type"] != "comm_msg":
                return None
            content = session.unpack(message["content"])
            data = content.get("data", {})
            ours = content.get("comm_id") in self._receivers and data.get("method") == "custom"
        except Exception:  # noqa: BLE001 - not for us; the kernel says what is wrong with it
            return None
        if not ours or not isinstance(data.get("content"), dict):
            return None
        return {**message, "content": content}

    def _take(self, message: dict[str, Any]) -> None:
        self._status("busy", message)
        try:
            content = message["content"]
            self.deliver(content["comm_id"], content["data"]["content"])
        finally:
            self._status("idle", message)
            self._busy_again()

    def _status(self, state: str, parent: dict[str, Any]) -> None:
        self._publish(parent, "status", {"execution_state": state})

    def _publish(self, parent: dict[str, Any], kind: str, content: dict[str, Any]) -> None:
        publish(self._kernel, parent, kind, content)


def _is_first(message: dict[str, Any]) -> bool:
    """Whether a front end asks this before it shows any widget: who the kernel is, and theirs."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind in ("kernel_info_request", "comm_info_request"):
        return True
    if kind == "comm_open":
        return bool(content.get("target_name") == "jupyter.widget.control")
    method = (content.get("data") or {}).get("method")
    return kind == "comm_msg" and method in ("request_state", "request_states")


def _unknown(comm_id: object) -> dict[str, str]:
    return {
        "status": "error",
        "ename": "KeyError",
        "evalue": f"no answer waits for the widget {comm_id!r}: the cell has ended",
    }
