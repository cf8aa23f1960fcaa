"""R: by IRkernel where it is installed for Jupyter, else R itself with a small driver of ours.

One rule: the driver needs nothing but R; `availability` says which of the two runs.

`drivers/driver.R` is the other side, and says how a block is evaluated. IRkernel by itself shows
the output of a loop when the loop has ended: `drivers/irkernel.R` shows it as it comes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.lookups import which
from lmc_jupyter.computer.process.engine import ForeignBlock, Patience, Pieces
from lmc_jupyter.computer.process.framed import DRIVERS, FramedLanguage, FramedProgram
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk

if TYPE_CHECKING:
    from lmc_jupyter.computer.languages.subkernel import SubKernel

_GET = "there is no R: install it from https://www.r-project.org or by your system's packages"
_WINDOWS = "R itself is not run on Windows yet: install IRkernel, or use it in WSL"


class R:
    """R, by IRkernel or by R itself.

    Parameters
    ----------
    kernel : bool, optional
        True: only by IRkernel; False: only by R itself; None: by IRkernel where Jupyter has it.
        The one that runs the first block runs the others too, until `close`.
    patience : how long a stopped block of R itself may take to end
    """

    name = "r"
    aliases = LANGUAGES["r"]
    hint = "keeps its variables; plots are shown"

    def __init__(self, kernel: bool | None = None, patience: Patience | None = None) -> None:
        self._wants_kernel = kernel
        self._plain = PlainR(patience)
        self._kernel: SubKernel | None = None
        self._current: PlainR | SubKernel | None = None
        self.screen: Screen | None = None
        """The front end's screen: IRkernel asks the person by it."""

    def availability(self) -> Availability:
        """Whether there is an IRkernel or an R."""
        if isinstance(self._engine(), PlainR):
            return self._plain.availability()
        state = self._by_kernel().availability()
        return Availability(f"R by IRkernel, {state.how}" if state else "IRkernel", state.missing)

    def run(self, code: str) -> Pieces:
        """Run a block by IRkernel or by R itself; see `BlockLanguage.run`."""
        engine = self._engine()
        if self._kernel is not None:
            self._kernel.screen = self.screen
        if isinstance(engine, PlainR) or self._current is not None or self._wants_kernel:
            self._current = engine
            return engine.run(code)
        return self._first(engine, engine.run(code), code)

    def _first(self, kernel: SubKernel, of_kernel: Pieces, code: str) -> Pieces:
        """Run the first block by IRkernel; where that does not start, by R itself."""
        has_output = False
        try:
            with contextlib.closing(of_kernel) as pieces:
                for piece in pieces:
                    has_output, self._current = True, kernel
                    yield piece
            self._current = kernel
        except ComputerError as error:
            if has_output or not self._plain.availability():
                raise
            self._current = self._plain
            note = f"[IRkernel cannot be used ({error}); this is R itself]\n"
            yield Chunk("computer", "console", "output", note)
            yield from self._plain.run(code)

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        self._plain.stop()
        if self._kernel is not None:
            self._kernel.stop()

    def close(self) -> None:
        """End R and all its processes. The next block starts a new one."""
        self._plain.close()
        if self._kernel is not None:
            self._kernel.close()
        self._current = None

    def _engine(self) -> PlainR | SubKernel:
        if self._current is not None:
            return self._current
        if self._wants_kernel is False:
            return self._plain
        kernel = self._by_kernel()
        return kernel if self._wants_kernel or kernel.availability() else self._plain

    def _by_kernel(self) -> SubKernel:
        if self._kernel is None:
            from lmc_jupyter.computer.languages.subkernel import SubKernel

            self._kernel = SubKernel("", self.name, self.aliases)
        return self._kernel


class PlainR(FramedLanguage):
    """R itself. It keeps variables and the directory; every page of a plot is a PNG."""

    name = "r"
    aliases = LANGUAGES["r"]
    title = "R"

    def _block(self, code: str, word: str = "run") -> ForeignBlock:
        if "\0" in code:
            raise ComputerError("R code cannot hold a NUL character: nothing was run")
        return super()._block(code, word)

    def availability(self) -> Availability:
        """Whether there is an R."""
        if os.name != "posix":
            return Availability("R", _WINDOWS)
        return Availability("R", "" if which("R") else _GET)

    def _command(self) -> list[str]:
        state = self.availability()
        program = which("R")
        if not state or program is None:
            raise ComputerError(state.missing)
        quiet = ["--no-echo", "--no-save", "--no-restore", "--no-readline"]
        return [program, *quiet, f"--file={DRIVERS / 'driver.R'}", "--args"]

    def _environment(self) -> dict[str, str]:
        """The environment, with a UTF-8 locale: in others R writes é as <U+00E9>."""
        environment = super()._environment()
        names = ("LC_ALL", "LC_CTYPE", "LANG")
        locale = next((environment[name] for name in names if environment.get(name)), "")
        if "utf" not in locale.lower():
            environment.pop("LC_ALL", None)
            environment["LC_CTYPE"] = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
        return environment

    def _ask_to_end(self, program: FramedProgram, number: int) -> None:
        if folder := program.about.get(
            "folder"
        ):  # R itself does not listen while it waits for a program
            with contextlib.suppress(OSError):  # the code may have removed it
                (Path(folder) / f"stop-{number}").touch()
        program.interrupt()
        program.order("ask", number)
