"""The running kernels of this user that have lmc-jupyter loaded, and requests to them.

One rule: a kernel is found by its connection file in Jupyter's runtime directory and asked on its
control channel, so that it answers while a cell is busy. No port is opened and no file is written.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.session import Session
from jupyter_core.paths import jupyter_runtime_dir

from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.agents.process import Process

MAX_FILES = 200
"""The newest connection files are looked at; those of kernels that were killed stay for ever."""
MAX_BYTES = 100_000
HELLO_SECONDS = 2.0
"""For each kernel, all at once: whoever has not answered by then is not listed."""
SILENT_SECONDS = 60.0
"""So long a kernel without lmc-jupyter is not asked again, unless no other one is meant."""
_LOOK_SECONDS = 1.0
_LINGER_MS = 1_000
_REQUEST = "lmc_agent_request"
_LOOPBACK = ("127.0.0.1", "localhost", "::1", "")
PROGRAM = uuid.uuid4().hex
"""Tells this program from others that speak to the same kernel."""


@dataclass(frozen=True)
class KernelAddress:
    """A kernel that has answered; one that is shut says nothing else of itself.

    Parameters
    ----------
    file : its connection file
    path, name : of its notebook, as Jupyter has it; "" where that is not known
    open : whether its person lets agents in
    busy : whether an answer is being given in it
    context : what models may read of it: "notebook", "names" or "none"
    """

    file: Path
    path: str
    name: str
    pid: int
    open: bool
    busy: bool
    context: str

    @property
    def label(self) -> str:
        """What it is called here."""
        return self.name or self.id

    @property
    def id(self) -> str:
        """A short name of the kernel itself."""
        return self.file.stem[:15]

    async def call(
        self, kind: str, on_state: Callable[[str], Awaitable[None]], **request: Any
    ) -> dict[str, Any]:
        """Ask for something, and wait for the result; a cancelled call is withdrawn there.

        Parameters
        ----------
        on_state : awaited with a few words whenever the kernel says how it stands

        Raises
        ------
        SessionError
            When the kernel ends before it has answered.
        """
        call = uuid.uuid4().hex
        ended = SessionError(
            f"the kernel of {self.label} ended or was restarted before it answered: what the code "
            "had done in it is gone"
        )
        try:
            process = Process(self.pid)
        except LookupError:
            raise ended from None
        async with _channel(self.file) as (send, receive):
            send({"kind": kind, "call": call, "pid": os.getpid(), **request})
            try:
                while True:
                    content = await receive(_LOOK_SECONDS)
                    if content is None:
                        if not process.is_alive:
                            raise ended
                    elif content.get("call") == call and content.get("kind") == "result":
                        return content
                    elif content.get("call") == call and content.get("kind") == "state":
                        await on_state(str(content.get("state")))
            except BaseException:
                send({"kind": "cancel", "call": call})
                raise


class Finder:
    """Finds kernels, and remembers for a while which of them have not answered."""

    def __init__(self) -> None:
        self._silent: dict[Path, float] = {}  # and when it was asked

    async def find(self, wanted: str | None) -> KernelAddress:
        """The kernel of this notebook, see `choose`; those that were silent, as a kernel is whose
        code lets no thread run, are asked once more at last."""
        now = time.monotonic()
        silent = {each for each, at in self._silent.items() if now - at < SILENT_SECONDS}
        try:
            return choose(await self.list(silent), wanted)
        except SessionError:
            if not self._silent:
                raise
        return choose(await self.list(), wanted)

    async def list(self, leave_out: Collection[Path] = ()) -> list[KernelAddress]:
        """The kernels that answer, in the order of their notebooks' paths."""
        files: list[tuple[float, Path]] = []
        for file in Path(jupyter_runtime_dir()).glob("kernel-*.json"):
            with suppress(OSError):  # it has just been deleted
                files.append((file.stat().st_mtime, file))
        newest = [file for _, file in sorted(files, reverse=True)[:MAX_FILES]]
        asked = [file for file in newest if file not in leave_out]
        answers = dict(zip(asked, await asyncio.gather(*map(_greet, asked)), strict=True))
        now = time.monotonic()
        self._silent = {
            each: now if each in answers else self._silent[each]
            for each in newest
            if answers.get(each) is None
        }
        found = [each for each in answers.values() if each is not None]
        return sorted(found, key=lambda each: (each.path, each.id))


def choose(kernels: Sequence[KernelAddress], wanted: str | None) -> KernelAddress:
    """The kernel of this notebook.

    Parameters
    ----------
    wanted : its name, the end of its path, or its kernel's id; None where there is only one

    Raises
    ------
    SessionError
        With the names of those that are there.
    """
    if not kernels:
        raise SessionError(
            "no notebook of this user is open with lmc-jupyter loaded: its person runs "
            "`%load_ext lmc_jupyter` in it, or opens the chat panel"
        )
    names = ", ".join(each.path or each.id for each in kernels)
    found = list(kernels)
    if wanted:
        found = [each for each in kernels if wanted in (each.path, each.name, each.id)]
        found = found or [
            each for each in kernels if each.path.replace("\\", "/").endswith(f"/{wanted}")
        ]
        if not found:
            shut = "" if all(each.open for each in kernels) else ", of which some let no agent in"
            raise SessionError(f"there is no notebook {wanted!r:.200}: there are {names}{shut}")
    if len(found) > 1:
        raise SessionError(f"several notebooks are open, so name one of them: {names}")
    if not found[0].open:
        raise SessionError(
            "the notebook lets no agent in: its person has set "  # it does not say its name
            '`%config LMC.agents = "off"`, and only they can change it'
        )
    return found[0]


async def _greet(file: Path) -> KernelAddress | None:
    """Ask who this is; None where nobody of ours answers."""
    if not await _is_listening(file):
        return None
    call = uuid.uuid4().hex
    async with _channel(file) as (send, receive):
        send({"kind": "hello", "call": call})
        content = await receive(HELLO_SECONDS)
    if content is None or content.get("call") != call:
        return None
    is_open, pid = content.get("open") is True, content.get("pid")
    if not isinstance(pid, int):
        if is_open:
            return None
        pid = 0
    path, name = str(content.get("path") or ""), str(content.get("name") or "")
    return KernelAddress(
        file,
        path,
        name,
        pid,
        is_open,
        content.get("busy") is True,
        str(content.get("context") or "none"),
    )


async def _is_listening(file: Path) -> bool:
    """Whether the connection file names a kernel of this machine, and something listens there."""
    try:
        if file.stat().st_size > MAX_BYTES:
            return False
        about = json.loads(file.read_text("utf-8"))
        ip, port, is_ipc = about["ip"], int(about["control_port"]), about["transport"] == "ipc"
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if is_ipc:
        return True
    if ip not in _LOOPBACK:
        return False
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(ip or None, port), HELLO_SECONDS)
    except (OSError, asyncio.TimeoutError):
        return False
    writer.close()
    return True


Send = Callable[[dict[str, Any]], None]
Receive = Callable[[float], Awaitable["dict[str, Any] | None"]]


@asynccontextmanager
async def _channel(file: Path) -> AsyncIterator[tuple[Send, Receive]]:
    """A control channel of its own: sends a request, receives the next answer within seconds."""
    client = AsyncKernelClient(session=Session())  # each with an identity of its own
    client.load_connection_file(str(file))
    channel = client.control_channel

    def send(content: dict[str, Any]) -> None:
        channel.send(client.session.msg(_REQUEST, {**content, "program": PROGRAM}))

    async def receive(seconds: float) -> dict[str, Any] | None:
        try:
            message = await channel.get_msg(timeout=seconds)
        except queue.Empty:
            return None
        content = message["content"]
        return content if isinstance(content, dict) else None

    try:
        yield send, receive
    finally:
        if channel.socket is not None:
            channel.socket.close(linger=_LINGER_MS)  # a cancel still goes out
            channel.socket = None
