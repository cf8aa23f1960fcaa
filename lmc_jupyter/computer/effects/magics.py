"""The effects of IPython's magics and `!` lines.

One rule: a magic that is in no table may do more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmc_jupyter.computer.effects.shell import shell_effects
from lmc_jupyter.computer.effects.tables import words

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.walk import Walk

_SHELLS = {"!", "sx", "system", "bash", "sh", "cmd"}
_METHODS = {"system", "getoutput", "getoutput_assign", "system_raw", "system_piped"}
_PACKAGES = {"pip", "conda", "mamba", "micromamba", "uv"}
_PYTHON = {"time", "capture", "prun", "memit", "mprun", "lprun", "debug"}
_QUIET = words("""
matplotlib who who_ls whos pwd pinfo pinfo2 psource pdoc pdef pfile history hist lsmagic magic
quickref precision autosave dirs ls ll xmode colors page latex markdown svg SVG html HTML
""")
_OPTIONS = re.compile(r"(?:-{1,2}\w+(?:[ =]?\d+)?[ \t]+)*")


def add_shell(walk: Walk, code: str) -> None:
    """The effects of shell code within Python, every program named."""
    for effect in shell_effects(code, every=True):
        walk.add(effect.kind, effect.name, effect.detail)


def shell_object(walk: Walk, method: str, texts: list[str]) -> None:
    """`get_ipython().run_line_magic(…)`: a magic or a `!` line, as IPython has read it."""
    first, second, third, *_ = *texts, "", "", ""
    if method in _METHODS:
        add_shell(walk, first)
    elif method in ("run_line_magic", "run_cell_magic"):
        _read_magic(walk, first, second, third if method == "run_cell_magic" else None)
    else:
        walk.add("unknown", f"get_ipython().{method}()")


def _read_magic(walk: Walk, name: str, line: str, cell: str | None) -> None:
    """Find the effects of `%name line`, or of `%%name line` over a cell."""
    sign = "%" if cell is None else "%%"
    rest = [word for word in line.split() if name != "capture" or not word.startswith("-")]
    if name in _SHELLS:
        add_shell(walk, cell or line)
    elif name in _PACKAGES:
        walk.add("shell", " ".join([name, *rest[:1]]))
    elif name == "script":
        walk.add("shell", rest[0] if rest else "script")
    elif name == "timeit" or name in _PYTHON:
        if name == "capture":
            for word in rest:
                walk.bind_here(word)
        else:
            walk.read_more(_OPTIONS.sub("", line, count=1), apart=name == "timeit")
        walk.read_more(cell or "", apart=name == "timeit")
    elif name in ("writefile", "file"):
        walk.add("writes", rest[-1] if rest else f"{sign}{name}")
    elif name in ("cd", "pushd", "popd"):
        walk.add("unknown", f"%{name}", "changes the folder in which code runs")
    elif name == "reset":
        walk.add("deletes", "", "all your variables")
    elif name == "xdel" and rest:
        walk.unbind(rest[-1])
    elif name not in _QUIET and not (name in ("env", "config") and not line.strip()):
        walk.add("unknown", f"{sign}{name}", "may do more")
