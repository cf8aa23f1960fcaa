"""The shell on Windows: each block by PowerShell, or by cmd where there is none.

One rule: a block is a process of its own, so only the directory goes on to the next one; the
process writes it down as it ends, however it ends.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.oneshot import found_program
from lmc_jupyter.computer.process.program import Programs, Step
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk

Pieces = Generator[Chunk, None, None]

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
_CMD = """\
@echo off
chcp 65001 >nul
call "{block}"
set LMC_STATUS=%ERRORLEVEL%
cd >"{directory}"
exit /b %LMC_STATUS%
"""


class WindowsShell:
    """PowerShell or cmd; the directory is kept from block to block, variables are not."""

    name = "shell"
    aliases = LANGUAGES["shell"]
    hint = "PowerShell or cmd, which keeps its directory"

    def __init__(self) -> None:
        self._programs = Programs()
        self._directory: str | None = None

    def availability(self) -> Availability:
        """Which of the two there is."""
        found = found_program("pwsh|powershell|cmd")
        if found is None:
            return Availability(
                "powershell", "neither powershell nor cmd is on the PATH: repair the PATH"
            )
        return Availability(f"{found}, which keeps its directory and no variables")

    def run(self, code: str) -> Pieces:
        """Run a block; yield its output as it comes, then its status when it is not 0.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended it.
        ComputerError
            At the call, when there is neither PowerShell nor cmd.
        """
        shell = found_program("pwsh|powershell|cmd")
        if shell is None:
            raise ComputerError(f"{self.availability().missing}; nothing was run")
        if self._directory is not None and not Path(self._directory).is_dir():
            self._directory = None  # it was removed meanwhile

        def write(place: Path) -> list[Step]:
            return [Step(_written(shell, code, place), directory=self._directory)]

        def read(place: Path) -> None:
            written = place / "directory.txt"
            if written.exists():
                self._directory = written.read_text(encoding="utf-8-sig").strip() or None

        return self._programs.run(write, read)

    def stop(self) -> None:
        """End what runs, from any thread; returns at once."""
        self._programs.stop()

    def close(self) -> None:
        """End what runs and what blocks have left; the next block begins in our directory."""
        self._programs.close()
        self._directory = None


def _written(shell: str, code: str, place: Path) -> list[str]:
    """Write the block and what runs it; gives the argv."""
    names = {"directory": str(place / "directory.txt")}
    if shell == "cmd":
        block, around = place / "block.bat", place / "around.bat"
        _write(block, f"@echo off\n{code}", "utf-8")
        _write(around, _CMD.format(block=block, **names), "utf-8")
        return [shell, "/d", "/c", str(around)]
    block, around = place / "block.ps1", place / "around.ps1"
    _write(block, code, "utf-8-sig")  # else Windows' own one reads it in the old code page
    quoted = {
        name: text.replace("'", "''") for name, text in {"block": str(block), **names}.items()
    }
    _write(around, _POWERSHELL.format(**quoted), "utf-8-sig")
    flags = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File")
    return [shell, *flags, str(around)]


def _write(file: Path, text: str, encoding: str) -> None:
    lines = text.splitlines()
    end = "\r\n" if file.suffix == ".bat" else os.linesep
    file.write_bytes((end.join(lines) + end).encode(encoding))
