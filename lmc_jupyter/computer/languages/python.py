"""The live python: code runs in the person's own namespace, by their own IPython shell.

One rule: a block runs on the main thread where that is possible. While a cell of ours serves the
main thread, a worker sends the block there and reads its pieces as they come. A turn outside of any
cell (`between_cells`) does the same, and the kernel runs the block when its turn among the cells
comes; there our pieces alone show it. Anywhere else the block runs on the thread that reads it
(`python_greenlet.py`).
"""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any
from weakref import ref

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.python_block import PythonBlock
from lmc_jupyter.computer.languages.python_greenlet import READ_SECONDS, OnReadersThread
from lmc_jupyter.computer.languages.python_uses import uses
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.computer.tools import PATH, path_of
from lmc_jupyter.content.effect import OF_NAMES, Effect
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.kernel import runner
from lmc_jupyter.kernel.between_cells import is_between_cells, schedule
from lmc_jupyter.kernel.cells import history
from lmc_jupyter.kernel.changes import Changes, MadeNames, RecentChanges
from lmc_jupyter.kernel.engines import LIBRARIES, engines
from lmc_jupyter.kernel.frontend import current_shell, kernel_of
from lmc_jupyter.kernel.namespace import is_imported, own_names, summary
from lmc_jupyter.kernel.own_shell import own_shell
from lmc_jupyter.kernel.values import value_of
from lmc_jupyter.lmc import LANGUAGES, Chunk

WAIT_SECONDS = 0.1
"""Seconds after which a block that has not begun is reported as waiting."""
FREE_SECONDS = 2.0
"""Seconds that `restore` waits for a cell to end."""

Pieces = Generator[Chunk, None, None]

_HERE = Availability(f"Python {platform.python_version()}, in this kernel")


class LivePython:
    """Python in the namespace of an IPython shell.

    Parameters
    ----------
    shell : an IPython shell
        Default: the running one, else one that is made at the first block and works in the
        namespace of `__main__`.
    """

    name = "python"
    aliases = LANGUAGES["python"]

    def __init__(self, shell: Any | None = None) -> None:
        self._shell = shell
        self.screen: Screen | None = None
        """The screen that asks the person, where no cell can; the computer sets it."""
        self._open: set[ref[PythonBlock]] = set()  # what nobody reads is gone with its generator
        self.on_clear: Callable[[bool], None] | None = None
        """Called, on the code's thread, after the code has cleared the cell's output."""
        self.on_traceback: Callable[[str], None] | None = None
        """Called with a long traceback of which the cell has shown the short form."""
        self._scheduled: PythonBlock | None = None
        """The block that the kernel is to begin between the cells."""
        self.on_wait: Callable[[bool], None] | None = None
        """Called, on the reader's thread, with True when a block begins to wait for the end of a
        cell of the user's, and with False at the end of that wait."""
        self.quiet = False
        """Whether our pieces alone show the output of a block, and no cell or terminal."""
        self._changes: Changes | None = None
        self._recent = RecentChanges()
        self.made = MadeNames()
        """The names that blocks have made: they are not the person's own."""

    @property
    def native(self) -> bool:
        """Whether the kernel or terminal shows the output of this thread's blocks."""
        return not (self.quiet or is_between_cells())

    @property
    def waits_for_cell(self) -> bool:
        """Whether a block waits until the cells before it have ended."""
        block = self._scheduled
        return block is not None and not block.begin_flag.is_set()

    @property
    def shell(self) -> Any:
        """The IPython shell, made at first use where there is none."""
        if self._shell is None:
            self._shell = current_shell() or own_shell()
        return self._shell

    def run(self, code: str) -> Pieces:
        """Run a block; yield its pieces as they come, in exact order.

        It begins with the first piece, unless `stop` was called after this call. Closing the
        generator throws a KeyboardInterrupt into the code and returns when the code has ended.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when the code was interrupted.
        ComputerError
            When the generator is read on another thread than the one that began it.
        """
        return self._begin(PythonBlock(self, code))

    def run_promised(self, code: str) -> Pieces:
        """As `run`; before something happens beyond reading and new names, the person is asked."""
        return self._begin(PythonBlock(self, code, is_promised=True))

    def _begin(self, block: PythonBlock) -> Pieces:
        self._open.add(ref(block, self._open.discard))
        return self._run(block)

    def _run(self, block: PythonBlock) -> Pieces:
        try:
            kernel = kernel_of(self.shell) if is_between_cells() else None
            if kernel is not None:
                yield from self._between_cells(block, kernel)
            elif (job := runner.post(block.body)) is not None:
                block.mute(threading.get_ident())  # the reader's own prints are not the code's
                yield from self._read(block, job)
            else:
                yield from OnReadersThread(block).pieces()
        finally:
            self._open.discard(ref(block))
        if block.is_interrupted:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        for reference in list(self._open):  # in one step: another thread may add one
            block = reference()
            if block is not None:
                block.stop()

    def close(self) -> None:
        """Stop. The namespace is the person's and stays; the values for `restore` are dropped."""
        self.stop()
        self._changes = None
        self._recent.clear()

    def changes(self) -> Changes | None:
        """The changes of the last block to the names, once; None for none."""
        changes, self._changes = self._changes, None
        return changes

    def keep(self, changes: Changes) -> None:
        """Store the changes of a block that has ended."""
        self._changes = changes or None
        if changes:
            self._recent.add(changes)

    def restore(self, names: Changes) -> str:
        """Restore the names as they were before a block: on the main thread of a kernel.

        Returns
        -------
        Sentences on what was restored, and what was not.

        Raises
        ------
        ComputerError
            When their values are no longer in memory, or a cell runs on the main thread.
        """
        if not names.restorable:
            raise ComputerError(
                "these variables cannot be restored: they were restored already, or their earlier "
                "values are no longer in memory"
            )
        shell = self.shell
        kernel = kernel_of(shell)
        if kernel is None or threading.current_thread() is threading.main_thread():
            return names.restore(shell.user_ns)
        sentences: list[str] = []
        job = schedule(kernel, lambda: sentences.append(names.restore(shell.user_ns)), lambda: None)
        if not wait([job], FREE_SECONDS).done and job.cancel():
            raise ComputerError(
                "a cell is running, and may be using these names: restore them when it has ended"
            )
        job.result()
        return sentences[0]

    def names(
        self,
        values: bool = False,
        mentions: Collection[str] = (),
        loops: Collection[str] = (),
    ) -> str:
        """A line per variable, engines first; see `lmc_jupyter.kernel.namespace.summary`.

        Of too many those of the question stay, then the person's, then a model's; what was
        imported and variables of loops go first.
        """
        shell = self._shell or current_shell()
        if shell is None:
            return ""
        made = self.made.names(shell.user_ns)

        def rank(name: str, value: Any) -> int:
            if name in mentions:
                return 3
            if name in loops or is_imported(value):
                return 0
            return 1 if name in made else 2

        first = {} if LIBRARIES.isdisjoint(sys.modules) else engines(shell.user_ns)
        return summary(shell, first=first, values=values, rank=rank)

    def value(self, name: str) -> str | None:
        """The value of a variable, see `lmc_jupyter.kernel.values.value_of`; None without one."""
        shell = self._shell or current_shell()
        return None if shell is None else value_of(shell, name)

    def cells(self) -> list[tuple[str, str]]:
        """(source, text of its traceback or "") of every cell so far."""
        shell = self._shell or current_shell()
        return [] if shell is None else history(shell)

    def put(self, functions: Mapping[str, Any], *, hide: bool = False) -> None:
        """Put these functions into the namespace; an error where a name is in use.

        Parameters
        ----------
        hide : whether `%who` and a model do not count them among the person's variables
        """
        namespace = self.shell.user_ns
        for name, function in functions.items():
            if namespace.get(name, function) is not function:
                raise ComputerError(
                    f"something else is called {name!r} in the notebook: give the function another "
                    f"name, such as {{'my_{name}': {name}}}"
                )
        namespace.update(functions)
        if hide:
            self.shell.user_ns_hidden.update(functions)

    def availability(self) -> Availability:
        """It is always available."""
        return _HERE

    def uses(self, code: str) -> Collection[str]:
        """The other languages in it: `!ls`, `%%bash`, `os.system` are shell."""
        return uses(code, self._shell or current_shell())

    def effects(self, code: str) -> tuple[Effect, ...]:
        """What the code will do to the person's names, files and network."""
        from lmc_jupyter.computer.effects import find_effects  # at the first code that is shown

        shell = self._shell or current_shell()
        if shell is None:
            return find_effects("python", code)
        tools = {name: each for name, each in shell.user_ns.items() if path_of(each) == PATH}
        made = self.made.names(shell.user_ns)
        return tuple(
            replace(each, is_theirs=False) if each.kind in OF_NAMES and each.name in made else each
            for each in find_effects("python", code, {**own_names(shell), **tools}, shell)
        )

    def _between_cells(self, block: PythonBlock, kernel: Any) -> Pieces:
        """The pieces of a block that the kernel runs when the cells before it have ended."""
        block.mute(threading.get_ident())
        block.show = False
        self._scheduled = block
        ask = None if self.screen is None else block.ask
        job = schedule(kernel, block.body, block.press, ask)
        job.add_done_callback(lambda _: block.end())
        try:
            self._wait_until_it_begins(block)
            if block.interrupts.stopped and job.cancel():
                block.is_interrupted = True
                return
        except BaseException:
            job.cancel()
            raise
        finally:
            self._scheduled = None
            if job.cancelled():
                block.interrupts.ended.set()
        yield from self._read(block, job)

    def _wait_until_it_begins(self, block: PythonBlock) -> None:
        if block.begin_flag.wait(WAIT_SECONDS):
            return
        if self.on_wait is not None:
            self.on_wait(True)
        try:
            block.begin_flag.wait()
        finally:
            if self.on_wait is not None:
                self.on_wait(False)

    def _read(self, block: PythonBlock, future: Future[None]) -> Pieces:
        """The pieces of a block that another thread runs."""
        try:
            while not block.end_flag.is_set():
                block.outbox.wait()
                if block.is_pressed:
                    block.stop()
                yield from block.outbox.take(whole_lines=True)
                block.end_flag.wait(READ_SECONDS)
            yield from block.outbox.take()
            future.result()
        finally:
            if not future.done():
                block.stop()
                future.exception()  # waits for its end: the next block starts clean
