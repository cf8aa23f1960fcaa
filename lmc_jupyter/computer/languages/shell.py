"""The shell: each block by a bash of its own, which goes on from the state of the one before.

One rule: the state between two blocks is text. As a bash ends, it writes its variables, functions,
options, aliases and folder to a file; we keep that text in memory, and the bash of the next block
reads it. State that is no text is lost: see docs/languages.md.
"""

from __future__ import annotations

from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.lookups import which
from lmc_jupyter.computer.process.engine import ForeignBlock, Patience
from lmc_jupyter.computer.process.program import ProgramLanguage, Step
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES

NOT_KEPT = (
    "[what the block before has changed in variables, functions, options and folder is lost: its "
    "bash was killed, became another program by exec, or left by an EXIT trap of its own]"
)
_WHOLE = b"\n# whole\n"
"""The end of a state that is whole."""
_AROUND = Path(__file__).parent / "drivers" / "around.bash"


class Shell(ProgramLanguage):
    """bash. Windows has none: there this language is not registered.

    Parameters
    ----------
    patience : how long a stopped block may take to end
    """

    name = "shell"
    aliases = LANGUAGES["shell"]
    hint = "bash; keeps its directory and variables"

    def __init__(self, patience: Patience | None = None) -> None:
        super().__init__(patience, together=False)
        self._state = b""
        self._has_loss = False

    def availability(self) -> Availability:
        """Whether there is a bash on the PATH."""
        get = "there is no bash on the PATH: install it, or write python instead"
        return Availability("bash", "" if which("bash") else get)

    def _block(self, code: str) -> ForeignBlock:
        if "\0" in code:
            raise ComputerError("shell code cannot hold a NUL character: nothing was run")
        return super()._block(code)

    def _steps(self, code: str, directory: Path) -> list[Step]:
        if self._state:
            (directory / "before").write_bytes(self._state)
        (directory / "bash").write_bytes(f"{code}\n".encode("utf-8", "surrogateescape"))
        note = NOT_KEPT if self._has_loss else ""
        flags = ["--norc", "--noprofile", "-c", '. "$1"', "bash"]
        return [Step(["bash", *flags, str(_AROUND), str(directory), note])]

    def _read(self, directory: Path) -> None:
        """Read the state that a block has left; there is none before its code runs."""
        file = directory / "after"
        if file.exists():
            state = file.read_bytes()
            self._has_loss = not state.endswith(_WHOLE)
            self._state = self._state if self._has_loss else state

    def close(self) -> None:
        """End all processes of blocks; the next block begins without a state."""
        super().close()
        self._state, self._has_loss = b"", False
