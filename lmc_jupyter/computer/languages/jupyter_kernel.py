"""One Jupyter kernel beside ours: its process, its connection, and a block in it.

One rule: everything here happens on one event loop, on a thread that all such kernels share, so
each socket has one reader. Other threads come in by `loop()` and `wait_for`.

Kernels differ, as we measured: some report idle before their last output, some wait for an answer
although `allow_stdin` forbids a question, some leave the output of their programs on their own
stdout. Protocol: "Messaging in Jupyter" 5.x.

Why one file: all of it is the state of one connection; the language on top of it is
`subkernel.py`. Why not jupyter_client's `execute_interactive`: it returns at the first "idle",
which some kernels send before their output, it waits for an answer to a question on this thread,
and it does not read the kernel's stdout.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import shutil
import sys
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
"""Seconds that a kernel may take for its first answer; Julia compiles itself."""
_LOOK_SECONDS = 0.5
"""Seconds between two checks, during a wait, that the kernel is alive."""
_QUIET_SECONDS = 1.0
"""Seconds of silence that end the wait for a message."""
_DRAIN_SECONDS = 0.05
"""Seconds of silence that end the output of a kernel which goes on after it has reported idle."""
_MOST_DRAIN_SECONDS = 2.0
"""The longest wait for that, in seconds: a job that the code has left may print for ever."""
_STEP_SECONDS = 0.02
"""Seconds between two checks for the end of a block that was interrupted."""
_END_SECONDS = 10.0
"""Seconds that the end of the interpreter waits for that of its kernels."""
_BY_FILE = frozenset({"python", "r", "bash"})
"""Languages whose kernels use socket files in our folder, which nobody else can open. Others use
ports: kernels in Java and Deno do not know such files, or wait for ever."""
_FIRST = {"r": Path(__file__).with_name("drivers") / "irkernel.R"}
"""Language -> a file of code for its kernels before their first block; the file says why."""


class BlockMessages(Protocol):
    """Takes the messages of a block in a kernel, on the loop."""

    def hear(self, kind: str, content: Mapping[str, Any]) -> None:
        """Take one message of the iopub channel, but no status."""
        ...

    def text(self, text: str) -> None:
        """Take text of programs that the code has started."""
        ...

    def ask(self, content: Mapping[str, Any]) -> None:
        """Take a question of the code; the answer goes to `Kernel.answer`."""
        ...


class KernelEndedError(Exception):
    """The kernel's process has ended; the text goes on after "the kernel"."""


async def start_kernel(name: str) -> KernelProcess:
    """A new kernel that answers, by socket files where that works, else by ports."""
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
        kernel = KernelProcess(name, transport)
        try:
            await kernel.start()
            if first := _FIRST.get(canonical(spec.language or "")):
                await kernel.prepare(first.read_text(encoding="utf-8"))
            return kernel
        except KernelEndedError as error:
            await kernel.end()
            problem = error
        except BaseException:
            await kernel.end()
            raise
    raise ComputerError(f"the Jupyter kernel {name!r} {problem}; nothing was run")


class KernelProcess:
    """One kernel process and the connection to it. Its methods run on the loop."""

    def __init__(self, name: str, transport: str) -> None:
        self.name, self._transport = name, transport
        self.process = os.getpid()
        self._directory = tempfile.mkdtemp(prefix="lmc-kernel-")
        reaper.watch_directory(self._directory)
        self._manager: Any = None
        self._client: Any = None
        self._leader: int | None = None
        self._pipes: list[int] = []
        self._last_words = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._readers: list[asyncio.Task[None]] = []
        self._waits: dict[tuple[str, str], asyncio.Future[Mapping[str, Any]]] = {}
        self._block: BlockMessages | None = None
        self._hurries = False
        """The block was stopped: only its end is waited for."""
        self._early: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=1000)
        """Messages between two blocks, of jobs that the code has left running."""
        self._count = 0
        self._running = ""
        self._has_ended = False
        self._kill_reason = ""
        self.trouble = ""
        """What went wrong in `prepare`; the kernel runs blocks all the same."""

    async def start(self) -> None:
        """Start it and wait until it answers.

        Raises
        ------
        KernelEndedError
            When it ends before it answers, or does not answer.
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
        self._leader = getattr(manager.provisioner, "pid", None)  # a remote kernel has none
        if self._leader is not None:
            reaper.watch(self._leader)
        self._client = client = manager.client()
        client.start_channels(hb=False)  # its process tells whether it is alive
        try:
            await client.wait_for_ready(timeout=START_SECONDS)
        except RuntimeError as error:
            if await manager.is_alive():
                raise KernelEndedError(f"did not answer in {START_SECONDS:.0f} seconds") from error
            raise KernelEndedError(f"ended while it started{self._last_line()}") from error
        self._readers = [
            asyncio.ensure_future(self._read(channel, take))
            for channel, take in (
                (client.iopub_channel, self._iopub),
                (client.shell_channel, self._shell),
                (client.stdin_channel, self._stdin),
            )
        ]

    async def prepare(self, code: str) -> None:
        """Run code of ours before the first block; `trouble` then says what went wrong.

        Raises
        ------
        KernelEndedError
        """
        log = _Log()
        await self.run(code, log, ours=True)
        self.trouble = "".join(log.lines).strip()

    async def lives(self) -> bool:
        """Whether its process is alive."""
        return not self._has_ended and bool(await self._manager.is_alive())

    async def run(
        self, code: str, block: BlockMessages, *, ours: bool = False
    ) -> Mapping[str, Any]:
        """Run a block and wait for all of its output; return the kernel's reply.

        Code of ours gets no number and no place in the history.

        Raises
        ------
        KernelEndedError
        """
        self._block, self._hurries = block, False
        try:
            while self._early:
                block.hear(*self._early.popleft())
            # `stop_on_error`: some kernels drop a block right behind one with an error
            request = self._client.execute(
                code, store_history=not ours, allow_stdin=True, stop_on_error=False
            )
            self._running = request
            reply, idle = self._expect("reply", request), self._expect("idle", request)
            await self._until(reply, idle, first=True)
            await self._unless_quiet(reply, idle)
            if reply.done():
                self._running = ""  # there is nothing to interrupt any more
            if not (reply.done() and _leaves(reply.result())):
                await self._barrier()
            if self._pipes:
                while self._read_pipe(self._pipes[0], self._hear_stdout):
                    await asyncio.sleep(0)
            if not reply.done():  # an interrupt hit the kernel itself, or it has a fault
                return {"status": "lost", "evalue": self._last_line()}
            return reply.result()
        finally:
            self._block, self._running = None, ""
            self._waits.clear()

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
                self._kill_reason = "did not answer to Stop and was ended"
                self._kill()
                return
            if not request or self._running != request:
                # its reply is there, and the kernel is busy with something else; an interrupt would
                # hit that, as it would before the kernel is busy with the block
                await asyncio.sleep(_STEP_SECONDS)
                continue
            await self._manager.interrupt_kernel()
            again = clock() + patience.again
            while self._running == request and clock() < again:
                await asyncio.sleep(_STEP_SECONDS)

    def answer(self, text: str) -> None:
        """Give the code the answer to its question."""
        if not self._has_ended:
            self._client.input(text)

    async def end(self) -> None:
        """End it and all its processes, and remove its files."""
        if self._has_ended:
            return
        self._has_ended = True
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
        if self._leader is not None:
            reaper.forget(self._leader)
        for fd in self._pipes:
            asyncio.get_running_loop().remove_reader(fd)
            os.close(fd)
        self._pipes.clear()
        shutil.rmtree(self._directory, ignore_errors=True)
        reaper.forget_directory(self._directory)

    def _kill(self) -> None:
        if self._leader is not None:
            sessions.end(self._leader)

    def _pipe(self, hear: Callable[[bytes], None]) -> int | None:
        """The kernel's end of a new pipe to the loop; None where the loop cannot read pipes."""
        if sys.platform == "win32":
            return None
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        loop = asyncio.get_running_loop()
        self._pipes.append(ours)
        loop.add_reader(ours, self._read_pipe, ours, hear)
        return theirs

    def _read_pipe(self, fd: int, hear: Callable[[bytes], None]) -> bool:
        """Read once from the pipe; whether there was data."""
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
        """Take the output of programs that the code has started: IRkernel leaves it there."""
        text = self._decoder.decode(data)
        if self._block is not None:
            self._block.text(text)

    def _hear_stderr(self, data: bytes) -> None:
        """Keep the last 2,000 bytes of the kernel's own log: they tell why it did not start."""
        self._last_words = (self._last_words + data)[-2000:]

    def _last_line(self) -> str:
        lines = terminal.plain(self._last_words.decode(errors="replace")).strip().splitlines()
        return f": {lines[-1].strip()[:300]}" if lines else ""

    # Messages -------------------------------------------------------------------------------------

    async def _read(self, channel: Any, take: Any) -> None:
        while True:
            message = await channel.get_msg()
            self._count += 1
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
            self._resolve(content.get("execution_state", ""), parent, content)
        elif self._block is not None:  # whatever its parent: late output may name the next block's
            self._block.hear(kind, content)
        else:
            self._early.append((kind, content))

    def _shell(self, kind: str, parent: str, message: Mapping[str, Any]) -> None:
        if kind.endswith("_reply"):
            self._resolve("reply", parent, message["content"])

    def _stdin(self, kind: str, _: str, message: Mapping[str, Any]) -> None:
        if kind == "input_request":
            if self._block is None:
                self.answer("")
            else:
                self._block.ask(message["content"])

    def _expect(self, what: str, request: str) -> asyncio.Future[Mapping[str, Any]]:
        key = what, request
        if key not in self._waits:
            self._waits[key] = asyncio.get_running_loop().create_future()
        return self._waits[key]

    def _resolve(self, what: str, request: str, content: Mapping[str, Any]) -> None:
        if request == self._running or (what, request) in self._waits:
            future = self._expect(what, request)
            if not future.done():
                future.set_result(content)

    async def _until(self, *futures: asyncio.Future[Any], first: bool = False) -> None:
        """Wait for all of these, or for the first one."""
        when = asyncio.FIRST_COMPLETED if first else asyncio.ALL_COMPLETED
        done: set[asyncio.Future[Any]] = set()
        while len(done) < (1 if first else len(futures)):
            done, _ = await asyncio.wait(futures, timeout=_LOOK_SECONDS, return_when=when)
            if done:
                continue
            if not await self.lives():
                raise KernelEndedError(self._kill_reason or f"has ended{self._last_line()}")
            for reader in self._readers:
                if reader.done() and not reader.cancelled():
                    raise KernelEndedError(f"sent what cannot be read ({reader.exception()})")

    async def _unless_quiet(self, *futures: asyncio.Future[Any]) -> None:
        """Wait for these as long as messages come."""
        count = -1
        while count != self._count:
            count = self._count
            _, rest = await asyncio.wait(futures, timeout=_QUIET_SECONDS)
            if not rest:
                return

    async def _barrier(self) -> None:
        """Send another request: all messages before its answer belong to the block."""
        count = self._count
        request = self._client.kernel_info()
        reply, idle = self._expect("reply", request), self._expect("idle", request)
        await self._until(reply)
        await self._unless_quiet(idle)
        if self._count - count <= 3:  # busy, reply, idle
            return
        count, clock = -1, asyncio.get_running_loop().time
        end = clock() + _MOST_DRAIN_SECONDS
        while count != self._count and clock() < end and not self._hurries:
            count = self._count
            await asyncio.sleep(_DRAIN_SECONDS)


class _Log:
    """Collects the errors of code of ours; without one it is silent."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def hear(self, kind: str, content: Mapping[str, Any]) -> None:
        if kind == "error":
            self.lines.append(f"{content.get('evalue') or content.get('ename') or kind}\n")

    def text(self, text: str) -> None:
        """Ignore text of other programs: our code starts none."""

    def ask(self, content: Mapping[str, Any]) -> None:
        self.lines.append(f"it asks {content.get('prompt', '')!r}\n")


def _leaves(reply: Mapping[str, Any]) -> bool:
    return any(each.get("source") == "ask_exit" for each in reply.get("payload") or ())


# The loop -----------------------------------------------------------------------------------------


_kernels: set[KernelProcess] = set()


async def _end_all() -> None:
    """End all kernels, as the interpreter ends. The reaper ends those that this cannot."""
    ours = [kernel for kernel in _kernels if kernel.process == os.getpid()]
    await asyncio.gather(*(kernel.end() for kernel in ours), return_exceptions=True)


# a SelectorEventLoop is the only one that works with zmq's sockets everywhere
loop = LoopThread("lmc sub-kernels", _end_all, _END_SECONDS, asyncio.SelectorEventLoop)
"""The loop of all sub-kernels; its thread starts with the first block."""


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine on the loop; return its result to any other thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop()).result()
