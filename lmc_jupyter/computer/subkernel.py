"""A kernel of another language: one that Jupyter knows, run beside ours.

One rule: everything that touches the kernel happens on one event loop, on a thread that all
sub-kernels share; whoever reads the pieces only reads an `Outbox`. So the sockets have one
reader, and a block can be run, stopped and closed from any thread.

Kernels differ, and what is done about it was measured: some say that they are idle before their
output is out, some never send a result, some wait for an answer although told not to ask, some
report an error in their reply alone. Protocol: "Messaging in Jupyter" 5.x.
"""

from __future__ import annotations

import asyncio
import atexit
import codecs
import contextlib
import os
import re
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lmc_jupyter.computer import Availability, processes, reaper
from lmc_jupyter.computer.bundle import pieces
from lmc_jupyter.computer.outbox import Outbox
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical

Pieces = Generator[Chunk, None, None]
T = TypeVar("T")

START_SECONDS = 120.0
"""How long a kernel may take to answer for the first time; Julia compiles itself."""
AGAIN_SECONDS = 1.0
"""A block that goes on after an interrupt is interrupted again, for so long…"""
GRACE_SECONDS = 5.0
"""…and then its kernel is ended."""
READ_SECONDS = 0.02
"""Output that comes faster than this is joined to one piece."""
MAX_ERROR = 4_000
"""Characters of an error with its traceback."""
UPDATES = 10
"""Updates of one display that are kept as they come; of more, the last one."""

_LOOK_SECONDS = 0.5
"""How often a kernel that is waited for is looked at: it may have died."""
_QUIET_SECONDS = 1.0
"""A message that is due and has not come in such a silence is not waited for any more."""
_DRAIN_SECONDS = 0.05
"""The silence that ends the output of a kernel which goes on after it has said that it is idle."""
_BY_FILE = frozenset({"python", "r", "bash"})
"""Languages whose kernels talk through a file of ours, which nobody else can open. Others use
ports: kernels in Java and Deno do not know such files, or wait for ever."""
_OVERSTRUCK = re.compile(".\x08")
_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)")
_PLAIN_TAGS = frozenset(
    {"b", "br", "code", "dd", "details", "dl", "dt", "em", "i", "li", "ol", "p", "pre", "span"}
    | {"strong", "style", "summary", "time", "ul"}
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")


# Which kernels there are --------------------------------------------------------------------------

_found: tuple[object, dict[str, str]] | None = None


def kernelspecs() -> dict[str, str]:
    """Language (its one name, see `canonical`) -> the kernelspec that runs it.

    Of several of one language the first by name. It is looked up once, and again when something
    was added or removed.
    """
    from jupyter_core.paths import jupyter_path

    global _found
    directories = jupyter_path("kernels")
    stamp = tuple((each, _changed(each)) for each in directories)
    if _found is None or _found[0] != stamp:
        from jupyter_client.kernelspec import KernelSpecManager

        specs = KernelSpecManager(ensure_native_kernel=False).get_all_specs()
        found: dict[str, str] = {}
        for name in sorted(specs):
            found.setdefault(canonical(str(specs[name]["spec"].get("language", ""))), name)
        found.pop("", None)
        _found = stamp, found
    return dict(_found[1])


def kernelspec_for(language: str) -> str | None:
    """The name of a kernelspec of that language; None where there is none. Cheap, see there."""
    return kernelspecs().get(canonical(language))


def _changed(directory: str) -> int:
    try:
        return Path(directory).stat().st_mtime_ns
    except OSError:
        return 0


# The language -------------------------------------------------------------------------------------


class SubKernel:
    """Runs code in a Jupyter kernel of another language and keeps its state.

    Parameters
    ----------
    kernel : name of a kernelspec, as `jupyter kernelspec list` shows it
        "" is the one of that language, looked for when it is needed.
    language : the word for code of that language
    aliases : other words for it
    """

    def __init__(self, kernel: str, language: str, aliases: tuple[str, ...] = ()) -> None:
        self.kernel, self.name = kernel, language
        self.aliases = tuple(aliases) or LANGUAGES.get(language, ())
        self.screen: Screen | None = None
        self._kernel: _Kernel | None = None
        self._said = ""
        """What became of the kernel before; the next block begins with it."""
        self._turn = threading.Condition(threading.RLock())
        self._block: _Block | None = None

    def availability(self) -> Availability:
        """The kernelspec by which it runs; nothing is started."""
        name = self.kernel or kernelspec_for(self.name)
        if name is None:
            return Availability(
                "a Jupyter kernel",
                f"there is no Jupyter kernel for {self.name}: install one, so that "
                "`jupyter kernelspec list` shows it",
            )
        return Availability(f"the Jupyter kernel {name!r}")

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes.

        The first block starts the kernel.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When there is no such kernel or it does not start: nothing was run.
        """
        block = self._begin(code)
        try:
            yield from block.pieces()
        finally:
            self._finish(block)
        if block.failed is not None:
            raise block.failed
        if block.stopped:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        block = self._block
        if block is not None:
            block.stop()

    def close(self) -> None:
        """End the kernel and all that it started. The next block starts a new one."""
        block = self._block
        if block is not None:
            block.stopped = True
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            _await(kernel.end())
        if block is not None and block.thread != threading.get_ident():
            block.stop()
            block.ended.wait()
        self._said = ""

    def _begin(self, code: str) -> _Block:
        """Wait for the turn; a block that this thread has begun to read and left is ended."""
        with self._turn:
            while (left := self._block) is not None:
                if left.thread != threading.get_ident():
                    self._turn.wait()
                else:
                    self._finish(left)
            self._block = block = _Block(self, code)
            return block

    def _finish(self, block: _Block) -> None:
        """See to it that the block has ended."""
        with self._turn:
            if self._block is not block:
                return
            if not block.ended.is_set():
                block.stop()
                block.ended.wait()
            self._block = None
            self._turn.notify_all()

    # On the loop ----------------------------------------------------------------------------------

    async def _ready(self, block: _Block) -> _Kernel:
        """The kernel, started where there is none."""
        if self._kernel is not None and not await self._kernel.lives():
            await self._kernel.end()
            self._kernel = None
            self._said = self._said or self._lost("had ended")
        if self._kernel is None:
            name = self.kernel or kernelspec_for(self.name)
            if name is None:
                raise ComputerError(f"{self.availability().missing}: nothing was run")
            self._kernel = await _started(name)
        if self._said:
            block.outbox.line(self._said)
            self._said = ""
        return self._kernel

    async def _let_go(self, kernel: _Kernel) -> None:
        await kernel.end()
        if self._kernel is kernel:
            self._kernel = None

    def _lost(self, what: str) -> str:
        return (
            f"[the {self.name} kernel before {what}: its state is lost; this is a new one, "
            "without its variables]"
        )


class _Block:
    """One block: what runs it on the loop, and what is read of it elsewhere."""

    def __init__(self, owner: SubKernel, code: str) -> None:
        self.owner, self.code = owner, code
        self.thread = threading.get_ident()
        self.outbox = Outbox()
        self.questions: deque[tuple[str, bool]] = deque()
        self.stopped = False
        self.failed: ComputerError | None = None
        self.ended = threading.Event()
        self.kernel: _Kernel | None = None
        self.shown_error = False
        self._images: set[int] = set()
        self._updates: dict[str, int] = {}
        self._held: dict[str, Mapping[str, Any]] = {}
        self._task: asyncio.Task[None] | None = None
        self._stopper: asyncio.Task[None] | None = None

    # On the reader's thread -----------------------------------------------------------------------

    def pieces(self) -> Pieces:
        _loop().call_soon_threadsafe(self._start)
        while not self.ended.is_set():
            self.outbox.wait()
            yield from self.outbox.take()
            while self.questions:
                self._answer(*self.questions.popleft())
            self.ended.wait(READ_SECONDS)
        yield from self.outbox.take()

    def stop(self) -> None:
        """Have it end; from any thread, returns at once."""
        self.stopped = True
        with contextlib.suppress(RuntimeError):  # the loop has ended with the interpreter
            _loop().call_soon_threadsafe(self._halt)

    def _answer(self, prompt: str, password: bool) -> None:
        """Ask the person what the code asks; nobody there is an empty answer."""
        said, screen = "", self.owner.screen
        if screen is None:
            self.outbox.line(f"{prompt}\n[nobody can be asked here: the answer was empty]")
        else:
            try:
                said = screen.ask(prompt, password)
                self.outbox.line(prompt)
            except KeyboardInterrupt:
                self.stop()
                return
            except ComputerError as error:
                self.outbox.line(f"{prompt}\n[{error}; the answer was empty]")
        kernel = self.kernel
        if kernel is not None:
            _loop().call_soon_threadsafe(kernel.answer, said)

    # On the loop ----------------------------------------------------------------------------------

    def _start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        try:
            if not self.stopped:
                self.kernel = await self.owner._ready(self)
            if self.kernel is not None and not self.stopped:
                await self._in(self.kernel)
        except ComputerError as error:
            self.failed = error
        except asyncio.CancelledError:  # stopped while the kernel started
            pass
        except Exception as error:  # noqa: BLE001 - the reader must hear of it, whatever it is
            self.failed = ComputerError(
                f"the {self.owner.name} kernel could not run this: {type(error).__name__}: {error}"
            )
        finally:
            for bundle in self._held.values():
                self._show(bundle)
            self.outbox.finish()
            self.ended.set()
            self.outbox.ring()

    async def _in(self, kernel: _Kernel) -> None:
        try:
            reply = await kernel.run(self.code, self)
        except _EndedError as end:
            await self.owner._let_go(kernel)
            if not (self.stopped and self._stopper is None):  # `close` says nothing
                self.outbox.line(
                    f"[the {self.owner.name} kernel {end}: its state is lost; "
                    "the next block starts a new one]"
                )
            return
        if reply.get("status") == "error" and not self.shown_error:
            self.error(reply)
        elif reply.get("status") in ("aborted", "abort") and not self.stopped:
            self.outbox.line("[the kernel has dropped this block without running it]")
        leaves = False
        for payload in reply.get("payload") or ():
            leaves |= payload.get("source") == "ask_exit"
            if isinstance(payload.get("data"), Mapping):  # a page of help, for a pager
                plain = _OVERSTRUCK.sub("", str(payload["data"].get("text/plain") or ""))
                self._show({**payload["data"], "text/plain": plain})
            elif payload.get("source") == "set_next_input":
                self.outbox.line(str(payload.get("text", "")))
        if leaves:
            await self.owner._let_go(kernel)
            self.outbox.line(
                f"[the {self.owner.name} kernel has ended; the next block starts a new one]"
            )

    def _halt(self) -> None:
        """Interrupt it, or its start."""
        if self.ended.is_set() or self._stopper is not None:
            return
        if self.kernel is None:
            if self._task is not None:
                self._task.cancel()
        else:
            self._stopper = asyncio.ensure_future(self.kernel.interrupt(self.ended))

    # What the kernel tells ------------------------------------------------------------------------

    def hear(self, kind: str, content: Mapping[str, Any]) -> None:
        """Take one message of the kernel's iopub channel."""
        if kind == "stream":
            self.outbox.text(str(content.get("text", "")))
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self._display(content, update=kind == "update_display_data")
        elif kind == "error":
            self.error(content)

    def error(self, content: Mapping[str, Any]) -> None:
        self.shown_error = True
        self.outbox.line(_error(content))

    def ask(self, content: Mapping[str, Any]) -> None:
        self.questions.append((str(content.get("prompt", "")), bool(content.get("password"))))
        self.outbox.ring()

    def _display(self, content: Mapping[str, Any], update: bool) -> None:
        data = content.get("data") or {}
        shown_as = (content.get("transient") or {}).get("display_id")
        if update and shown_as is not None:
            count = self._updates[shown_as] = self._updates.get(shown_as, 0) + 1
            if count > UPDATES:
                self._held.pop(shown_as, None)  # so that the order is that of the last update
                self._held[shown_as] = data
                return
        self._show(data)

    def _show(self, bundle: Mapping[str, Any]) -> None:
        if _says_no_more(str(bundle.get("text/html") or ""), bundle):
            bundle = {mime: data for mime, data in bundle.items() if mime != "text/html"}
        for piece in pieces(bundle):
            if piece.type == "console" and piece.recipient is None:
                self.outbox.line(piece.content)
                continue
            if piece.type == "image":
                mark = hash(piece.content)
                if mark in self._images:
                    continue
                self._images.add(mark)
            self.outbox.put(piece)


def _says_no_more(html: str, bundle: Mapping[str, Any]) -> bool:
    """Whether the HTML is but the plain text again: IRkernel makes some of every number."""
    if not html or not bundle.get("text/plain"):
        return False
    return {tag.lower() for tag in _TAG.findall(html)} <= _PLAIN_TAGS


def _error(content: Mapping[str, Any]) -> str:
    """An error as text: its traceback where there is one, without colours, bounded."""
    name, value = str(content.get("ename") or ""), str(content.get("evalue") or "")
    if name == "KeyboardInterrupt":
        return name
    short = f"{name}: {value}" if name and value and name.upper() != "ERROR" else value or name
    lines = _ESCAPES.sub("", "\n".join(str(line) for line in content.get("traceback") or ()))
    text = "\n".join(line.rstrip() for line in lines.split("\n") if line.strip("- \t")).strip()
    if value.strip() not in text:
        text = f"{text}\n{short}".strip()
    text = text or short or "the code ended with an error that says nothing of itself"
    if len(text) > MAX_ERROR:
        cut = len(text) - MAX_ERROR
        text = f"{text[: MAX_ERROR // 4]}\n… {cut:,} characters …\n{text[-3 * MAX_ERROR // 4 :]}"
    return text


# The kernel, on the loop --------------------------------------------------------------------------


class _EndedError(Exception):
    """The kernel's process is gone; the message says how, after "the kernel"."""


async def _started(name: str) -> _Kernel:
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
        kernel = _Kernel(name, transport)
        try:
            await kernel.start()
            return kernel
        except _EndedError as error:
            await kernel.end()
            failed = error
        except BaseException:
            await kernel.end()
            raise
    raise ComputerError(f"the Jupyter kernel {name!r} {failed}; nothing was run")


class _Kernel:
    """One kernel process and the connection to it. Its methods run on the loop."""

    def __init__(self, name: str, transport: str) -> None:
        self.name, self._transport = name, transport
        self._directory = tempfile.mkdtemp(prefix="lmc-kernel-")
        self._manager: Any = None
        self._client: Any = None
        self._leader: int | None = None
        self._pipes: list[int] = []
        self._last_words = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._readers: list[asyncio.Task[None]] = []
        self._awaited: dict[tuple[str, str], asyncio.Future[Mapping[str, Any]]] = {}
        self._block: _Block | None = None
        self._early: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=1000)
        """What came between two blocks, from jobs that the code has left running."""
        self._heard = 0
        self._running = ""
        self._ended = False
        self._killed = ""

    async def start(self) -> None:
        """Start it and wait until it answers.

        Raises
        ------
        _EndedError
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
        manager.context.setsockopt(zmq.RCVHWM, 0)  # a flood is bounded by the outbox, not dropped
        stdout, stderr = self._pipe(self._hear_stdout), self._pipe(self._hear_stderr)
        try:
            await manager.start_kernel(
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=subprocess.DEVNULL if stderr is None else stderr,
                cwd=str(Path.cwd()),
            )
        except OSError as error:
            raise _EndedError(f"could not be started ({error})") from error
        finally:
            for fd in (stdout, stderr):
                if fd is not None:
                    os.close(fd)
        self._leader = getattr(manager.provisioner, "pid", None)
        if self._leader is not None and os.name == "posix":
            reaper.watch(self._leader)
        self._client = client = manager.client()
        client.start_channels(hb=False)  # whether it lives is asked of its process
        try:
            await client.wait_for_ready(timeout=START_SECONDS)
        except RuntimeError as error:
            if await manager.is_alive():
                raise _EndedError(f"did not answer in {START_SECONDS:.0f} seconds") from error
            raise _EndedError(f"ended while it started{self._last_said()}") from error
        self._readers = [
            asyncio.ensure_future(self._read(channel, take))
            for channel, take in (
                (client.iopub_channel, self._iopub),
                (client.shell_channel, self._shell),
                (client.stdin_channel, self._stdin),
            )
        ]

    async def lives(self) -> bool:
        """Whether its process is there."""
        return not self._ended and bool(await self._manager.is_alive())

    async def run(self, code: str, block: _Block) -> Mapping[str, Any]:
        """Run a block and wait until all that it shows has come; gives the kernel's reply.

        Raises
        ------
        _EndedError
        """
        self._block = block
        try:
            while self._early:
                block.hear(*self._early.popleft())
            # else a block right behind one with an error is dropped by some
            request = self._client.execute(code, allow_stdin=True, stop_on_error=False)
            self._running = request
            reply, idle = self._expect("reply", request), self._expect("idle", request)
            await self._until(reply, idle, first=True)
            await self._unless_quiet(reply, idle)
            if not (reply.done() and _leaves(reply.result())):
                await self._barrier()
            if self._pipes:
                while self._read_pipe(self._pipes[0], self._hear_stdout):
                    await asyncio.sleep(0)
            if not reply.done():  # an interrupt that fell between its lines
                return {"status": "aborted"}
            return reply.result()
        finally:
            self._block, self._running = None, ""
            self._awaited.clear()

    async def interrupt(self, ended: threading.Event) -> None:
        """Interrupt the block until it has ended; if it does not, end the kernel."""
        loop = asyncio.get_running_loop()
        request = self._running
        if request:  # before it is busy with it, an interrupt is nobody's
            busy = self._expect("busy", request)
            await asyncio.wait([busy], timeout=AGAIN_SECONDS)
        end = loop.time() + GRACE_SECONDS
        while request and self._running == request and not ended.is_set():
            if loop.time() >= end:
                self._killed = "did not answer to Stop and was ended"
                self._kill()
                return
            await self._manager.interrupt_kernel()
            again = loop.time() + AGAIN_SECONDS
            while self._running == request and loop.time() < again:
                await asyncio.sleep(READ_SECONDS)

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

    def _kill(self) -> None:
        if self._leader is not None:
            processes.end(self._leader)

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
            self._block.outbox.text(text)

    def _hear_stderr(self, data: bytes) -> None:
        """Its own words, for a server's log; the last of them tell why it did not start."""
        self._last_words = (self._last_words + data)[-2000:]

    def _last_said(self) -> str:
        lines = _ESCAPES.sub("", self._last_words.decode(errors="replace")).strip().splitlines()
        return f": {lines[-1].strip()[:300]}" if lines else ""

    # Messages -------------------------------------------------------------------------------------

    async def _read(self, channel: Any, take: Any) -> None:
        while True:
            message = await channel.get_msg()
            self._heard += 1
            take(message["msg_type"], (message["parent_header"] or {}).get("msg_id"), message)

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
            if not done and not await self.lives():
                raise _EndedError(self._killed or f"has ended{self._last_said()}")

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
        heard = -1
        while heard != self._heard:
            heard = self._heard
            await asyncio.sleep(_DRAIN_SECONDS)


def _leaves(reply: Mapping[str, Any]) -> bool:
    return any(each.get("source") == "ask_exit" for each in reply.get("payload") or ())


# The loop -----------------------------------------------------------------------------------------

_kernels: set[_Kernel] = set()
_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def _loop() -> asyncio.AbstractEventLoop:
    """The loop that all sub-kernels live on; its thread is started at the first block."""
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():
            _kernels.clear()  # in a forked child: they are the parent's
            loop = asyncio.SelectorEventLoop()  # the only one that takes zmq's sockets everywhere
            thread = threading.Thread(target=loop.run_forever, name="lmc sub-kernels", daemon=True)
            thread.start()
            _running = os.getpid(), loop
            atexit.register(_end_all)
        return _running[1]


def _await(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of what is done on the loop, for any other thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()


def _end_all() -> None:
    """The interpreter ends: so do the kernels."""
    global _running
    if _running is None or _running[0] != os.getpid():
        return
    loop = _running[1]
    for kernel in list(_kernels):
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(kernel.end(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
