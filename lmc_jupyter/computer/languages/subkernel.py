"""A kernel of another language: one that Jupyter knows, run beside ours.

One rule: a block runs on the kernels' loop (see `jupyter_kernel`); the reader of its pieces only
reads an `OutputBuffer`. So any thread can run, stop and close a block.

Kernels differ: some never send a result but display it, some report an error in their reply
alone, some stay alive after the code has quit them.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import Any

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.jupyter_kernel import (
    KernelEndedError,
    KernelProcess,
    loop,
    start_kernel,
    wait_for,
)
from lmc_jupyter.computer.lookups import remember
from lmc_jupyter.computer.process.engine import BlockLanguage, ForeignBlock, Patience
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, canonical

MAX_ERROR = 4_000
"""Characters of an error with its traceback."""

_OVERSTRUCK = re.compile(".\x08")
_RICH_TEXT = ("text/html", "text/markdown", "text/latex")
_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)")
_PLAIN_TAGS = frozenset(
    {"b", "br", "code", "dd", "details", "dl", "dt", "em", "i", "li", "ol", "p", "pre", "span"}
    | {"strong", "style", "summary", "time", "ul"}
)


# Which kernels there are --------------------------------------------------------------------------


@remember
def kernelspecs() -> Mapping[str, str]:
    """Language (its one name, see `canonical`) -> the kernelspec that runs it.

    Of several kernelspecs of one language, the first by name.
    """
    from jupyter_client.kernelspec import KernelSpecManager

    specs = KernelSpecManager(ensure_native_kernel=False).get_all_specs()
    names: dict[str, str] = {}
    for name in sorted(specs):
        names.setdefault(canonical(str(specs[name]["spec"].get("language", ""))), name)
    names.pop("", None)
    return names


def kernelspec_for(language: str) -> str | None:
    """The name of a kernelspec of that language; None where there is none. See `kernelspecs`."""
    return kernelspecs().get(canonical(language))


# The language -------------------------------------------------------------------------------------


class SubKernel(BlockLanguage):
    """Runs code in a Jupyter kernel of another language, which the first block starts.

    Parameters
    ----------
    kernel : name of a kernelspec, as `jupyter kernelspec list` shows it
        "" means the one of that language, searched for at its first use.
    language : the word for code of that language
    aliases : other words for it
    patience : how long a stopped block may take to end; after `polite` seconds we end its kernel
    """

    hint = "a Jupyter kernel that keeps its variables"

    def __init__(
        self,
        kernel: str,
        language: str,
        aliases: tuple[str, ...] = (),
        patience: Patience | None = None,
    ) -> None:
        super().__init__(patience or Patience(again=1.0, polite=5.0))
        self.kernel, self.name = kernel, language
        self.aliases = tuple(aliases) or LANGUAGES.get(language, ())
        self.screen: Screen | None = None
        self._kernel: KernelProcess | None = None
        self._note = ""
        """A sentence on the end of the kernel before; the next block begins with it."""

    def availability(self) -> Availability:
        """Whether there is a kernelspec for it; nothing starts."""
        name = self.kernel or kernelspec_for(self.name)
        if name is None:
            return Availability(
                "a Jupyter kernel",
                f"there is no Jupyter kernel for {self.name}: install one, so that "
                "`jupyter kernelspec list` shows it",
            )
        return Availability(f"the Jupyter kernel {name!r}")

    def _block(self, code: str) -> ForeignBlock:
        return _InKernel(self, code, self._patience)

    def close(self) -> None:
        """End the kernel and all its processes. The next block starts a new one."""
        for block in list(self._turns.blocks):
            assert isinstance(block, _InKernel)
            block.is_closed = True
        self._turns.stop()
        if self._kernel is not None:
            wait_for(self._end())
        self._turns.end()
        self._note = ""

    # On the loop ----------------------------------------------------------------------------------

    async def _ready(self, block: _InKernel) -> KernelProcess:
        """The kernel; a new one where none is alive."""
        if self._kernel is not None and not await self._kernel.lives():
            await self._end()
            self._note = self._note or self._loss_note("had ended")
        if self._kernel is None:
            name = self.kernel or kernelspec_for(self.name)
            if name is None:
                raise ComputerError(f"{self.availability().missing}: nothing was run")
            self._kernel = await start_kernel(name)
            if trouble := self._kernel.trouble:
                note = f"what is printed may come late, and be lost when it is stopped: {trouble}"
                block.outbox.line(f"[{note}]")
        if self._note:
            block.outbox.line(self._note)
            self._note = ""
        return self._kernel

    async def _end(self) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            await kernel.end()

    def _loss_note(self, what: str) -> str:
        return (
            f"[the {self.name} kernel before {what}: its state is lost; this is a new one, "
            "without its variables]"
        )


class _InKernel(ForeignBlock):
    """One block: the loop runs it, another thread reads its output."""

    def __init__(self, owner: SubKernel, code: str, patience: Patience) -> None:
        super().__init__(patience)
        self.owner, self.code, self.patience = owner, code, patience
        self.questions: deque[tuple[str, bool]] = deque()
        self.is_closed = False
        self.kernel: KernelProcess | None = None
        self.has_error = False
        self._task: asyncio.Task[None] | None = None
        self._stopper: asyncio.Task[None] | None = None  # kept, else it may be collected

    # On the reader's thread -----------------------------------------------------------------------

    def attend(self) -> None:
        while self.questions:
            self._answer(*self.questions.popleft())

    def _answer(self, prompt: str, password: bool) -> None:
        """Ask the person the question of the code; without a person the answer is empty."""
        answer, screen = "", self.owner.screen
        if screen is None:
            self.outbox.line(f"{prompt}\n[nobody can be asked here: the answer was empty]")
        else:
            try:
                answer = screen.ask(prompt, password)
                self.outbox.line(prompt if password else f"{prompt}{answer}")
            except EOFError:
                answer = "\x04"  # what Jupyter's front ends send at Ctrl-D
                self.outbox.line(prompt)
            except KeyboardInterrupt:
                self.stop()
                return
            except ComputerError as error:
                self.outbox.line(f"{prompt}\n[{error}; the answer was empty]")
        kernel = self.kernel
        if kernel is not None:
            loop().call_soon_threadsafe(kernel.answer, answer)

    # On threads of its own ------------------------------------------------------------------------

    def work(self) -> None:
        try:
            asyncio.run_coroutine_threadsafe(self._run(), loop()).result()
        except CancelledError:  # it was stopped while its kernel started
            return
        except ComputerError:
            raise
        except Exception as error:
            raise ComputerError(
                f"the {self.owner.name} kernel could not run this: {type(error).__name__}: {error}"
            ) from error
        finally:
            for bundle in self.outbox.last_updates():
                self._show(bundle)

    def interrupt(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended with the interpreter
            loop().call_soon_threadsafe(self._halt)

    # On the loop ----------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        if not self.stop_flag.is_set():
            self.kernel = await self.owner._ready(self)
        if self.kernel is not None and not self.stop_flag.is_set():
            await self._in(self.kernel)

    async def _in(self, kernel: KernelProcess) -> None:
        try:
            reply = await kernel.run(self.code, self)
        except KernelEndedError as end:
            await self.owner._end()
            if not self.is_closed:
                self.outbox.line(
                    f"[the {self.owner.name} kernel {end}: its state is lost; "
                    "the next block starts a new one]"
                )
            return
        if reply.get("status") == "error" and not self.has_error:
            self.error(reply)
        elif reply.get("status") in ("aborted", "abort") and not self.stop_flag.is_set():
            self.outbox.line("[the kernel has dropped this block without running it]")
        elif reply.get("status") == "lost" and not self.stop_flag.is_set():
            self.outbox.line(
                f"[the {self.owner.name} kernel has not answered to this block, which may have run "
                f"in part{reply['evalue']}]"
            )
        leaves = False
        for payload in reply.get("payload") or ():
            leaves |= payload.get("source") == "ask_exit"
            if isinstance(payload.get("data"), Mapping):  # a page of help, for a pager
                plain = _OVERSTRUCK.sub("", str(payload["data"].get("text/plain") or ""))
                self._show({**payload["data"], "text/plain": plain})
            elif payload.get("source") == "set_next_input":
                self.outbox.line(str(payload.get("text", "")))
        if leaves and not self.is_closed:
            await self.owner._end()
            self.outbox.line(
                f"[the {self.owner.name} kernel has ended; the next block starts a new one]"
            )

    def _halt(self) -> None:
        """Interrupt it, or its start; once, for `Kernel.interrupt` repeats by itself."""
        if self.end_flag.is_set() or self._stopper is not None or self._task is None:
            return
        if self.kernel is None:
            self._task.cancel()
        else:
            self._stopper = asyncio.ensure_future(self.kernel.interrupt(self.patience))

    # What the kernel tells ------------------------------------------------------------------------

    def hear(self, kind: str, content: Mapping[str, Any]) -> None:
        """Take one message of the kernel's iopub channel."""
        if kind == "stream":
            self.outbox.text(str(content.get("text", "")))
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self._display(content, update=kind == "update_display_data")
        elif kind == "error":
            self.error(content)

    def text(self, text: str) -> None:
        """Take text of programs that the code has started."""
        self.outbox.text(text)

    def error(self, content: Mapping[str, Any]) -> None:
        self.has_error = True
        self.outbox.line(_error(content))

    def ask(self, content: Mapping[str, Any]) -> None:
        self.questions.append((str(content.get("prompt", "")), bool(content.get("password"))))
        self.outbox.ring()

    def _display(self, content: Mapping[str, Any], update: bool) -> None:
        data = content.get("data") or {}
        display_id = (content.get("transient") or {}).get("display_id")
        if not (update and self.outbox.put_off(data, display_id)):
            self._show(data)

    def _show(self, bundle: Mapping[str, Any]) -> None:
        if _says_no_more(str(bundle.get("text/html") or ""), bundle):
            bundle = {mime: data for mime, data in bundle.items() if mime not in _RICH_TEXT}
        self.outbox.show(bundle)


def _says_no_more(html: str, bundle: Mapping[str, Any]) -> bool:
    """Whether the HTML is but the plain text again, as IRkernel makes of every number."""
    if not html or not bundle.get("text/plain"):
        return False
    return {tag.lower() for tag in _TAG.findall(html)} <= _PLAIN_TAGS


def _error(content: Mapping[str, Any]) -> str:
    """An error as text: its traceback where there is one, without colours, truncated."""
    name, value = str(content.get("ename") or ""), str(content.get("evalue") or "")
    if name == "KeyboardInterrupt":
        return name
    short = f"{name}: {value}" if name and value and name.upper() != "ERROR" else value or name
    lines = terminal.plain("\n".join(str(line) for line in content.get("traceback") or ()))
    text = "\n".join(line.rstrip() for line in lines.split("\n") if line.strip("- \t")).strip()
    text = text.removesuffix("\nTraceback:")  # IRkernel's, of an error outside any function
    if value.strip() not in text:
        text = f"{text}\n{short}".strip()
    text = text or short or "the code ended with an error that says nothing of itself"
    return shorten.middle(text, MAX_ERROR, first=MAX_ERROR // 4)
