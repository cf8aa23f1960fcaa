"""The shell: each block by a bash of its own, which goes on from the state of the one before.

One rule: what a block leaves behind is text. As its bash ends, however it ends, it writes down its
variables, functions, options, aliases and folder; we keep that text in memory, and the bash of the
next block reads it. What cannot be written down is not kept: see docs/languages.md.
"""

from __future__ import annotations

from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.lookups import which
from lmc_jupyter.computer.process.engine import Patience, Pieces
from lmc_jupyter.computer.process.program import Programs, Step
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES

NOT_KEPT = (
    "[what the block before has changed in variables, functions, options and folder is lost: its "
    "bash was killed, became another program by exec, or left by an EXIT trap of its own]"
)
_WHOLE = b"\n# whole\n"
"""The end of a state that has been written to its end."""
_AROUND = Path(__file__).parent / "drivers" / "around.bash"


class Shell:
    """bash. Windows has none: there this language is not registered.

    Parameters
    ----------
    patience : with a block that is to end
    """

    name = "shell"
    aliases = LANGUAGES["shell"]
    hint = "bash that keeps its folder, variables and functions"

    def __init__(self, patience: Patience | None = None) -> None:
        self._programs = Programs(patience, one_at_a_time=True)
        self._state = b""
        self._lost = False

    def availability(self) -> Availability:
        """Whether there is a bash on the PATH."""
        missing = "" if which("bash") else "there is no bash on the PATH: install it"
        return Availability("bash", missing)

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes, then its status when it is not 0.

        From this call on `stop` reaches it.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            When there is no bash, or the code holds a NUL character.
        """
        if "\0" in code:
            raise ComputerError("shell code cannot hold a NUL character: nothing was run")
        if not self.availability():
            raise ComputerError("bash is not on the PATH: install it, or write python instead")
        return self._programs.run(lambda place: self._steps(code, place), self._read)

    def _steps(self, code: str, place: Path) -> list[Step]:
        if self._state:
            (place / "before").write_bytes(self._state)
        (place / "bash").write_bytes(f"{code}\n".encode("utf-8", "surrogateescape"))
        said = NOT_KEPT if self._lost else ""
        flags = ["--norc", "--noprofile", "-c", '. "$1"', "bash"]
        return [Step(["bash", *flags, str(_AROUND), str(place), said])]

    def _read(self, place: Path) -> None:
        """Take the state that a block has left; there is none before anything of it has run."""
        written = place / "after"
        if written.exists():
            state = written.read_bytes()
            self._lost = not state.endswith(_WHOLE)
            self._state = self._state if self._lost else state

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        self._programs.stop()

    def close(self) -> None:
        """End what runs and what blocks have left; the next block begins without a state."""
        self._programs.close()
        self._state, self._lost = b"", False
