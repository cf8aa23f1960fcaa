"""One Jupyter kernel beside ours: its process, its connection, and a block in it.

One rule: everything here happens on one event loop, on a thread that all such kernels share, so
each socket has one reader. Others come in by `loop()` and `wait_for`.

Kernels differ, and what is done about it was measured: some say that they are idle before their
output is out, some wait for an answer although told not to ask, some leave what the programs they
start write on their own stdout. Protocol: "Messaging in Jupyter" 5.x.

Why it is one file: all of it is the state of one connection; the language on top of it is
`subkernel.py`. Why not jupyter_client's `execute_interactive`: it returns at the first "idle",
which some kernels send before their output, it waits for an answer to a question on this thread,
and it reads nothing that programs write on the kernel's stdout.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.content import terminal
from lmc_jupyter.content.loop_thread import LoopThread
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import canonical

T = TypeVar("T")

START_SECONDS = 120.0
"""How long a kernel may take to answer for the first time; Julia compiles itself."""
_LOOK_SECONDS = 0.5
"""How often a kernel that is waited for is looked at: it may have died."""
_QUIET_SECONDS = 1.0
"""A message that is due and has not come in such a silence is not waited for any more."""
_DRAIN_SECONDS = 0.05
"""The silence that ends the output of a kernel which goes on after it has said that it is idle."""
_MOST_DRAIN_SECONDS = 2.0
"""…and how long that is waited for: a job that the code has left may print for ever."""
_STEP_SECONDS = 0.02
"""How soon the end of a block is seen while it is interrupted."""
_END_SECONDS = 10.0
"""How long the end of the interpreter waits for that of its kernels."""
_BY_FILE = frozenset({"python", "r", "bash"})
"""Languages whose kernels talk through a file of ours, which nobody else can open. Others use
ports: kernels in Java and Deno do not know such files, or wait for ever."""
_FIRST = {"r": Path(__file__).with_name("drivers") / "irkernel.R"}
"""Language -> what its kernels are told before their first block; it says itself why."""


class Listener(Protocol):
    """Whoever runs a block in a kernel; called on the loop."""

    def hear(self, kind: str, content: Mapping[str, Any]) -> None:
        """Take one message of the iopub channel but its status."""
        ...

    def text(self, text: str) -> None:
        """Take what programs have written that the code started."""
        ...

    def ask(self, content: Mapping[str, Any]) -> None:
        """The code asks; the answer goes to `Kernel.answer`."""
        ...


class KernelEndedError(Exception):
    """The kernel's process is gone; the message says how, after "the kernel"."""


async def started(name: str) -> Kernel:
    """A kernel that answers, by a file where that works, else by ports."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel:
        raise ComputerError(
            f"there is no Jupyter kernel named {name!r}: `jupyter kernelspec list` shows those "
            "there are; nothing was run"
        ) from None
    by_file = os.name == "posix" and canonical(spec.language or "") in _BY_FILE
    for transport in ("ipc", "tcp") if by_file else ("tcp",):
        kernel = Kernel(name, transport)
        try:
            await kernel.start()
            if first := _FIRST.get(canonical(spec.language or "")):
                await kernel.prepare(first.read_text(encoding="utf-8"))
            return kernel
        except KernelEndedError as error:
            await kernel.end()
            failed = error
        except BaseException:
            await kernel.end()
            raise
    raise ComputerError(f"the Jupyter kernel {name!r} {failed}; nothing was run")


class Kernel:
    """One kernel process and the connection to it. Its methods run on the loop."""

    def __init__(self, name: str, transport: str) -> None:
        self.name, self._transport = name, transport
        self.process = os.getpid()
        self._directory = tempfile.mkdtemp(prefix="lmc-kernel-")
        if os.name == "posix":
            reaper.watch_directory(self._directory)
        self._manager: Any = None
        self._client: Any = None
        self._leader: int | None = None
        self._pipes: list[int] = []
        self._last_words = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._readers: list[asyncio.Task[None]] = []
        self._awaited: dict[tuple[str, str], asyncio.Future[Mapping[str, Any]]] = {}
        self._block: Listener | None = None
        self._hurries = False
        """Somebody has stopped the block: nothing more is waited for than its end."""
        self._early: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=1000)
        """What came between two blocks, from jobs that the code has left running."""
        self._heard = 0
        self._running = ""
        self._ended = False
        self._killed = ""
        self.trouble = ""
        """What went wrong when it was prepared; it runs blocks all the same."""

    async def start(self) -> None:
        """Start it and wait until it answers.

        Raises
        ------
        KernelEndedError
            When it ends before, or does not answer.
        """
        import subprocess

        import zmq
        from jupyter_client.manager import AsyncKernelManager

        _kernels.add(self)
        directory = Path(self._directory)
        self._manager = manager = AsyncKernelManager(
            kernel_name=self.name,
            transport=self._transport,
            connection_file=str(directory / "kernel.json"),
        )
        if self._transport == "ipc":
            manager.ip = str(directory / "k")
        manager.context.setsockopt(zmq.RCVHWM, 0)  # the output buffer bounds a flood
        stdout, stderr = self._pipe(self._hear_stdout), self._pipe(self._hear_stderr)
        try:
            await manager.start_kernel(
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=subprocess.DEVNULL if stderr is None else stderr,
                cwd=str(Path.cwd()),
            )
        except OSError as error:
            raise KernelEndedError(f"could not be started ({error})") from error
        finally:
            for fd in (stdout, stderr):
                if fd is not None:
                    os.close(fd)
        self._leader = getattr(manager.provisioner, "pid", None)  # a far one has none
        if self._leader is not None and os.name == "posix":
            reaper.watch(self._leader)
        self._client = client = manager.client()
        client.start_channels(hb=False)  # whether it lives is asked of its process
        try:
            await client.wait_for_ready(timeout=START_SECONDS)
        except RuntimeError as error:
            if await manager.is_alive():
                raise KernelEndedError(f"did not answer in {START_SECONDS:.0f} seconds") from error
            raise KernelEndedError(f"ended while it started{self._last_said()}") from error
        self._readers = [
            asyncio.ensure_future(self._read(channel, take))
            for channel, take in (
                (client.iopub_channel, self._iopub),
                (client.shell_channel, self._shell),
                (client.stdin_channel, self._stdin),
            )
        ]

    async def prepare(self, code: str) -> None:
        """Run code of ours before the first block; `trouble` tells what is wrong with it.

        Raises
        ------
        KernelEndedError
        """
        told = _Told()
        await self.run(code, told, ours=True)
        self.trouble = "".join(told.said).strip()

    async def lives(self) -> bool:
        """Whether its process is there."""
        return not self._ended and bool(await self._manager.is_alive())

    async def run(self, code: str, block: Listener, *, ours: bool = False) -> Mapping[str, Any]:
        """Run a block and wait until all that it shows has come; gives the kernel's reply.

        Code of ours is in no history, and is no numbered input.

        Raises
        ------
        KernelEndedError
        """
        self._block, self._hurries = block, False
        try:
            while self._early:
                block.hear(*self._early.popleft())
            # else a block right behind one with an error is dropped by some
            request = self._client.execute(
                code, store_history=not ours, allow_stdin=True, stop_on_error=False
            )
            self._running = request
            reply, idle = self._expect("reply", request), self._expect("idle", request)
            await self._until(reply, idle, first=True)
            await self._unless_quiet(reply, idle)
            if reply.done():
                self._running = ""  # an interrupt has nothing to interrupt any more
            if not (reply.done() and _leaves(reply.result())):
                await self._barrier()
            if self._pipes:
                while self._read_pipe(self._pipes[0], self._hear_stdout):
                    await asyncio.sleep(0)
            if not reply.done():  # an interrupt fell between its own lines, or it has a fault
                return {"status": "lost", "evalue": self._last_said()}
            return reply.result()
        finally:
            self._block, self._running = None, ""
            self._awaited.clear()

    async def interrupt(self, patience: Patience) -> None:
        """Interrupt the block that runs until it has ended; if it does not, end the kernel."""
        clock = asyncio.get_running_loop().time
        request, block = self._running, self._block
        if request:
            await asyncio.wait([self._expect("busy", request)], timeout=patience.again)
        end = clock() + patience.polite
        while self._block is block is not None:
            self._hurries = True
            if clock() >= end:
                self._killed = "did not answer to Stop and was ended"
                self._kill()
                return
            if not request or self._running != request:
                # there is its reply: what else the kernel is busy with keeps the block waiting,
                # and an interrupt would be nobody's, as it is before it is busy with the block
                await asyncio.sleep(_STEP_SECONDS)
                continue
            await self._manager.interrupt_kernel()
            again = clock() + patience.again
            while self._running == request and clock() < again:
                await asyncio.sleep(_STEP_SECONDS)

    def answer(self, text: str) -> None:
        """Give the code what it has asked for."""
        if not self._ended:
            self._client.input(text)

    async def end(self) -> None:
        """End it and all that it has started, and take away what it used."""
        if self._ended:
            return
        self._ended = True
        _kernels.discard(self)
        for task in self._readers:
            task.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        if self._client is not None:
            self._client.stop_channels()
        self._kill()
        if self._manager is not None:
            if self._manager.has_kernel:
                await self._manager.shutdown_kernel(now=True)
            self._manager.context.destroy(linger=0)
        if self._leader is not None and os.name == "posix":
            reaper.forget(self._leader)
        for fd in self._pipes:
            asyncio.get_running_loop().remove_reader(fd)
            os.close(fd)
        self._pipes.clear()
        shutil.rmtree(self._directory, ignore_errors=True)
        if os.name == "posix":
            reaper.forget_directory(self._directory)

    def _kill(self) -> None:
        if self._leader is not None:
            sessions.end(self._leader)

    def _pipe(self, hear: Callable[[bytes], None]) -> int | None:
        """The kernel's end of a pipe that is read here; None where the loop cannot read one."""
        if os.name != "posix":
            return None
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        loop = asyncio.get_running_loop()
        self._pipes.append(ours)
        loop.add_reader(ours, self._read_pipe, ours, hear)
        return theirs

    def _read_pipe(self, fd: int, hear: Callable[[bytes], None]) -> bool:
        """Whether there was something."""
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return False
        if data:
            hear(data)
        else:
            asyncio.get_running_loop().remove_reader(fd)
        return bool(data)

    def _hear_stdout(self, data: bytes) -> None:
        """What programs write that the code has started: IRkernel leaves it there."""
        text = self._decoder.decode(data)
        if self._block is not None:
            self._block.text(text)

    def _hear_stderr(self, data: bytes) -> None:
        """Its own words, for a server's log; the last of them tell why it did not start."""
        self._last_words = (self._last_words + data)[-2000:]

    def _last_said(self) -> str:
        lines = terminal.plain(self._last_words.decode(errors="replace")).strip().splitlines()
        return f": {lines[-1].strip()[:300]}" if lines else ""

    # Messages -------------------------------------------------------------------------------------

    async def _read(self, channel: Any, take: Any) -> None:
        while True:
            message = await channel.get_msg()
            self._heard += 1
            parent = (message["parent_header"] or {}).get("msg_id")
            try:
                take(message["msg_type"], parent, message)
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
                if self._block is not None:  # of another shape than Jupyter's
                    why = f"{type(error).__name__}: {error}"
                    self._block.text(f"[the kernel sent what cannot be shown ({why:.200})]\n")

    def _iopub(self, kind: str, parent: str, message: Mapping[str, Any]) -> None:
        content = message["content"]
        if kind == "status":
            self._came(content.get("execution_state", ""), parent, content)
        elif self._block is not None:  # whosever parent: late output may carry the next one's
            self._block.hear(kind, content)
        else:
            self._early.append((kind, content))

    def _shell(self, kind: str, parent: str, message: Mapping[str, Any]) -> None:
        if kind.endswith("_reply"):
            self._came("reply", parent, message["content"])

    def _stdin(self, kind: str, _: str, message: Mapping[str, Any]) -> None:
        if kind == "input_request":
            if self._block is None:
                self.answer("")
            else:
                self._block.ask(message["content"])

    def _expect(self, what: str, request: str) -> asyncio.Future[Mapping[str, Any]]:
        key = what, request
        if key not in self._awaited:
            self._awaited[key] = asyncio.get_running_loop().create_future()
        return self._awaited[key]

    def _came(self, what: str, request: str, content: Mapping[str, Any]) -> None:
        if request == self._running or (what, request) in self._awaited:
            future = self._expect(what, request)
            if not future.done():
                future.set_result(content)

    async def _until(self, *futures: asyncio.Future[Any], first: bool = False) -> None:
        """Wait for these, or the first of them."""
        when = asyncio.FIRST_COMPLETED if first else asyncio.ALL_COMPLETED
        done: set[asyncio.Future[Any]] = set()
        while len(done) < (1 if first else len(futures)):
            done, _ = await asyncio.wait(futures, timeout=_LOOK_SECONDS, return_when=when)
            if done:
                continue
            if not await self.lives():
                raise KernelEndedError(self._killed or f"has ended{self._last_said()}")
            for reader in self._readers:
                if reader.done() and not reader.cancelled():
                    raise KernelEndedError(f"sent what cannot be read ({reader.exception()})")

    async def _unless_quiet(self, *futures: asyncio.Future[Any]) -> None:
        """Wait for these as long as something comes."""
        heard = -1
        while heard != self._heard:
            heard = self._heard
            _, left = await asyncio.wait(futures, timeout=_QUIET_SECONDS)
            if not left:
                return

    async def _barrier(self) -> None:
        """Ask it something else: what comes before the answer belongs to the block."""
        heard = self._heard
        request = self._client.kernel_info()
        reply, idle = self._expect("reply", request), self._expect("idle", request)
        await self._until(reply)
        await self._unless_quiet(idle)
        if self._heard - heard <= 3:  # busy, reply, idle
            return
        heard, clock = -1, asyncio.get_running_loop().time
        end = clock() + _MOST_DRAIN_SECONDS
        while heard != self._heard and clock() < end and not self._hurries:
            heard = self._heard
            await asyncio.sleep(_DRAIN_SECONDS)


class _Told:
    """Hears what code of ours says, which is silent unless something is wrong."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def hear(self, kind: str, content: Mapping[str, Any]) -> None:
        if kind == "error":
            self.said.append(f"{content.get('evalue') or content.get('ename') or kind}\n")

    def text(self, text: str) -> None:
        """Programs of an earlier moment: none of ours are started."""

    def ask(self, content: Mapping[str, Any]) -> None:
        self.said.append(f"it asks {content.get('prompt', '')!r}\n")


def _leaves(reply: Mapping[str, Any]) -> bool:
    return any(each.get("source") == "ask_exit" for each in reply.get("payload") or ())


# The loop -----------------------------------------------------------------------------------------


_kernels: set[Kernel] = set()


async def _end_all() -> None:
    """The interpreter ends: so do its kernels. The reaper ends what this could not."""
    ours = [kernel for kernel in _kernels if kernel.process == os.getpid()]
    await asyncio.gather(*(kernel.end() for kernel in ours), return_exceptions=True)


# a SelectorEventLoop is the only one that takes zmq's sockets everywhere
loop = LoopThread("lmc sub-kernels", _end_all, _END_SECONDS, asyncio.SelectorEventLoop)
"""The loop that all sub-kernels live on; its thread is started at the first block."""


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of what is done on the loop, for any other thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop()).result()
