"""The shell on Windows: each block by PowerShell, which every Windows has.

One rule: a block is a process of its own, so only the directory goes on to the next one; the
process writes it to a file as it ends.
"""

from __future__ import annotations

from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.oneshot import find_program
from lmc_jupyter.computer.process.program import ProgramLanguage, Step
from lmc_jupyter.lmc import LANGUAGES

_POWERSHELL = """\
[Console]::OutputEncoding = [Text.Encoding]::UTF8
$OutputEncoding = [Text.Encoding]::UTF8
$LmcDone = $false
try {{
  . '{block}'
  $LmcDone = $?
}} finally {{
  [IO.File]::WriteAllText('{directory}', (Get-Location -PSProvider FileSystem).ProviderPath)
}}
if ($LASTEXITCODE) {{ exit $LASTEXITCODE }}
if (-not $LmcDone) {{ exit 1 }}
"""
_FLAGS = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File")


class WindowsShell(ProgramLanguage):
    """PowerShell; a block keeps the directory of the one before, and not its variables."""

    name = "shell"
    aliases = LANGUAGES["shell"]
    hint = "PowerShell, which keeps its directory"

    def __init__(self) -> None:
        super().__init__()
        self._directory: str | None = None

    def availability(self) -> Availability:
        """Whether there is a PowerShell, and which."""
        program = find_program("pwsh|powershell")
        if program is None:
            return Availability("powershell", "powershell is not on the PATH: repair the PATH")
        return Availability(f"{program}, which keeps its directory and no variables")

    def _steps(self, code: str, directory: Path) -> list[Step]:
        if self._directory is not None and not Path(self._directory).is_dir():
            self._directory = None  # it was removed meanwhile
        shell = find_program("pwsh|powershell") or "powershell"
        return [Step(_write(shell, code, directory), directory=self._directory)]

    def _read(self, directory: Path) -> None:
        file = directory / "directory.txt"
        if file.exists():
            self._directory = file.read_text(encoding="utf-8-sig").strip() or None

    def close(self) -> None:
        """End all processes of blocks; the next block begins in our directory."""
        super().close()
        self._directory = None


def _write(shell: str, code: str, place: Path) -> list[str]:
    """Write the block and the script around it to files; return the argv."""
    block, around = place / "block.ps1", place / "around.ps1"
    paths = {"block": block, "directory": place / "directory.txt"}
    texts = {name: str(path).replace("'", "''") for name, path in paths.items()}
    for file, text in ((block, f"{code}\n"), (around, _POWERSHELL.format(**texts))):
        file.write_text(text, encoding="utf-8-sig")  # else PowerShell reads it in the old code page
    return [shell, *_FLAGS, str(around)]
