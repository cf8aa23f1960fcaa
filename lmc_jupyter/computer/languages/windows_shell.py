"""The shell on Windows: each block by PowerShell, which every Windows has.

One rule: a block is a process of its own, so only the directory goes on to the next one; the
process writes it down as it ends, however it ends.
"""

from __future__ import annotations

from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.oneshot import found_program
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
    """PowerShell; the directory is kept from block to block, variables are not."""

    name = "shell"
    aliases = LANGUAGES["shell"]
    hint = "PowerShell, which keeps its directory"

    def __init__(self) -> None:
        super().__init__()
        self._directory: str | None = None

    def availability(self) -> Availability:
        """Which PowerShell there is."""
        found = found_program("pwsh|powershell")
        if found is None:
            return Availability("powershell", "powershell is not on the PATH: repair the PATH")
        return Availability(f"{found}, which keeps its directory and no variables")

    def _steps(self, code: str, directory: Path) -> list[Step]:
        if self._directory is not None and not Path(self._directory).is_dir():
            self._directory = None  # it was removed meanwhile
        shell = found_program("pwsh|powershell") or "powershell"
        return [Step(_written(shell, code, directory), directory=self._directory)]

    def _read(self, directory: Path) -> None:
        written = directory / "directory.txt"
        if written.exists():
            self._directory = written.read_text(encoding="utf-8-sig").strip() or None

    def close(self) -> None:
        """End what runs and what blocks have left; the next block begins in our directory."""
        super().close()
        self._directory = None


def _written(shell: str, code: str, place: Path) -> list[str]:
    """Write the block and what runs it; gives the argv."""
    block, around = place / "block.ps1", place / "around.ps1"
    paths = {"block": block, "directory": place / "directory.txt"}
    quoted = {name: str(path).replace("'", "''") for name, path in paths.items()}
    for file, text in ((block, f"{code}\n"), (around, _POWERSHELL.format(**quoted))):
        file.write_text(text, encoding="utf-8-sig")  # else it is read in the old code page
    return [shell, *_FLAGS, str(around)]
