"""The effects of IPython's magics.

One rule: a magic that is not in the tables here may do anything, and that is said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmc_jupyter.computer.effects.shell import shell_effects

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.python import Block

_SHELLS = {"!", "sx", "system", "bash", "sh", "cmd"}
_PACKAGES = {"pip", "conda", "mamba", "micromamba", "uv"}
_PYTHON = {"time", "capture", "prun", "memit", "mprun", "lprun", "debug"}
_HARMLESS = {
    "matplotlib", "who", "who_ls", "whos", "pwd", "pinfo", "pinfo2", "psource", "pdoc", "pdef",
    "pfile", "history", "hist", "lsmagic", "magic", "quickref", "precision", "autosave", "dirs",
    "ls", "ll", "xmode", "colors", "page", "latex", "markdown", "svg", "SVG", "html", "HTML",
}  # fmt: skip
_OPTIONS = re.compile(r"(?:-{1,2}\w+(?:[ =]?\d+)?[ \t]+)*")


def read_magic(block: Block, name: str, line: str, cell: str | None) -> None:
    """Find the effects of `%name line`, or of `%%name line` over a cell."""
    sign = "%" if cell is None else "%%"
    words = line.split()
    if name in _SHELLS:
        for effect in shell_effects(cell or line, every=True):
            block.add(effect.kind, effect.name, effect.detail)
    elif name in _PACKAGES:
        block.add("shell", " ".join([name, *words[:1]]))
    elif name == "script":
        block.add("shell", words[0] if words else "script")
    elif name == "timeit":
        block.read_apart(_OPTIONS.sub("", line, count=1))
        block.read_apart(cell or "")
    elif name in _PYTHON:
        if name == "capture":
            block.bind_here([word for word in words if not word.startswith("-")])
        else:
            block.read_more(_OPTIONS.sub("", line, count=1))
        block.read_more(cell or "")
    elif name in ("writefile", "file"):
        block.add("writes", words[-1] if words else f"{sign}{name}")
    elif name in ("cd", "pushd", "popd"):
        block.add("unknown", f"%{name}", "changes the folder in which code runs")
    elif name == "reset":
        block.add("deletes", "", "all your variables")
    elif name == "xdel" and words:
        block.unbind_here(words[-1])
    elif name not in _HARMLESS and not (name in ("env", "config") and not line.strip()):
        block.add("unknown", f"{sign}{name}", "may do more")
