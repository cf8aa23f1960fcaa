"""Which other languages a block of python runs: `!ls`, `%%bash`, `os.system` are shell,
`share(df, to="r")` is r, and `tools.filesystem.read_file(...)` is tools.

One rule: it only reads the code. It helps a policy to ask, and is no wall: it does not detect code
that hides what it does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lmc_jupyter.computer.languages.python_syntax import parse
from lmc_jupyter.computer.tools import path_of
from lmc_jupyter.lmc import canonical

_SHELL_MAGICS = {
    "!", "sx", "system", "sc", "script", "bash", "sh", "cmd", "alias", "rehashx",
    "pip", "conda", "mamba", "micromamba", "uv",
}  # fmt: skip
_PYTHON_MAGICS = {"time", "timeit", "prun", "capture", "memit", "mprun", "lprun", "debug"}
_PYTHONS = {"python", "python2", "python3", "pypy"}
_WORD = re.compile(r"(?<=\s)\S")
MAX_WORDS = 20
"""Of a magic's line, at each of which its code may begin."""
_HARMLESS = {"writefile", "file", "html", "HTML", "svg", "SVG", "latex", "markdown"}
_CALLS = {
    *("popen", "posix_spawn", "posix_spawnp", "startfile"),
    *("create_subprocess_exec", "create_subprocess_shell"),
    *(f"{how}{which}" for how in ("exec", "spawn")
      for which in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
}  # fmt: skip
"""Functions that start a program, whatever the name of the module: `import os as o`."""
_MODULES = {"subprocess", "pexpect", "pty", "sh"}


def uses(code: str, shell: Any | None) -> frozenset[str]:
    """The other languages in `code`, by their canonical names.

    Parameters
    ----------
    code : may hold magics and `!` lines
    shell : an IPython shell, which knows its own magics and aliases; None for the usual ones
    """
    try:
        tree = parse(code, shell)
    except (SyntaxError, ValueError):
        return frozenset()  # it cannot run either
    aliases = _aliases(shell)
    languages: set[str] = set()
    tools = _tools_names(shell)
    for node in ast.walk(tree):
        if _reaches_tools(node, tools):
            languages.add("tools")
        if isinstance(node, ast.Call):
            languages.update(_of_call(node, shell, aliases))
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and _imports_shell(node):
            languages.add("shell")
    return frozenset(languages - {"python", ""})


def _tools_names(shell: Any | None) -> set[str]:
    """The names in the notebook for tools of MCP servers."""
    names = list(getattr(shell, "user_ns", {}).items())
    return {name for name, value in names if path_of(value) is not None}


def _reaches_tools(node: ast.AST, names: set[str]) -> bool:
    """Whether this names a tool of an MCP server, or the object that has them."""
    if isinstance(node, ast.Name):
        return node.id in names and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute):
        return node.attr == "tools" and getattr(node.value, "id", "") == "lmc_jupyter"
    if isinstance(node, ast.ImportFrom):
        return node.module == "lmc_jupyter" and any(
            each.name in ("tools", "*") for each in node.names
        )
    return False


def _imports_shell(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.module in ("os", "posix", "nt"):
            return any(_starts_process(name) or name == "*" for name in names)
        if any(name in _CALLS for name in names):
            return True
        names = [node.module or ""]
    return any(name.partition(".")[0] in _MODULES for name in names)


def _starts_process(name: str) -> bool:
    """Whether the function of this name in `os` starts a program."""
    return name == "system" or name in _CALLS or name.startswith(("exec", "spawn"))


def _of_call(node: ast.Call, shell: Any | None, aliases: set[str]) -> Iterator[str]:
    words = [arg.value if isinstance(arg, ast.Constant) else None for arg in node.args]
    texts = [word if isinstance(word, str) else "" for word in words]
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == "share":
        to = [word.value for word in node.keywords if word.arg == "to"] or node.args[1:2]
        yield from (_language(word) for word in to)
    elif name == "run" and len(texts) == 2 and _is_computer(node.func):
        yield canonical(texts[0])
    if isinstance(node.func, ast.Name) and node.func.id == "__import__":
        if texts and texts[0].partition(".")[0] in _MODULES:
            yield "shell"
        return
    if not isinstance(node.func, ast.Attribute):
        return
    owner, name = node.func.value, node.func.attr
    if name in _CALLS:
        yield "shell"
    if isinstance(owner, ast.Name):
        starts = {
            "os": _starts_process(name),
            "asyncio": name.startswith("create_subprocess"),
        }
        if starts.get(owner.id, owner.id in _MODULES):
            yield "shell"
    if name in ("system", "getoutput", "getoutput_assign") and _is_shell_call(owner):
        yield "shell"
    elif name == "run_line_magic" and texts:
        yield from _of_line_magic(texts[0], "".join(texts[1:2]), shell, aliases)
    elif name == "run_cell_magic" and texts:
        yield from _of_cell_magic(texts[0], "".join(texts[1:2]), "".join(texts[2:3]), shell)


def _of_line_magic(magic: str, line: str, shell: Any | None, aliases: set[str]) -> Iterator[str]:
    if magic in _SHELL_MAGICS or magic in aliases:
        yield "shell"
    elif magic in _PYTHON_MAGICS:
        yield from _of_code(line, shell)
    elif magic in ("R", "Rpush", "Rpull"):
        yield "r"


def _of_cell_magic(magic: str, line: str, cell: str, shell: Any | None) -> Iterator[str]:
    if magic in _SHELL_MAGICS:
        yield "shell"
    elif magic in _PYTHON_MAGICS:
        yield from _of_code(line, shell)
        yield from uses(cell, shell)
    elif magic in _PYTHONS:
        yield "shell"  # another process, with the person's rights
        yield from uses(cell, shell)
    elif magic not in _HARMLESS:
        yield canonical(magic)  # %%javascript, %%R, %%perl; a policy does not know the others


def _of_code(line: str, shell: Any | None) -> Iterator[str]:
    """Those of the code of a magic, behind options whose end only the magic knows."""
    yield from uses(line, shell)
    if line.lstrip().startswith("-"):
        for word in islice(_WORD.finditer(line), MAX_WORDS):
            yield from uses(line[word.start() :], shell)


def _language(word: ast.expr) -> str:
    """The language that gets a table; "" where the code does not name it as a constant."""
    return canonical(str(word.value)) if isinstance(word, ast.Constant) else ""


def _is_computer(function: ast.expr) -> bool:
    """Whether this is the `run` of a `computer`."""
    owner = getattr(function, "value", None)
    return "computer" in (getattr(owner, "id", ""), getattr(owner, "attr", ""))


def _is_shell_call(owner: ast.expr) -> bool:
    """Whether this is `get_ipython()` or a name such as `ip`."""
    return isinstance(owner, ast.Call) or (isinstance(owner, ast.Name) and owner.id != "platform")


def _aliases(shell: Any | None) -> set[str]:
    manager = getattr(shell, "alias_manager", None)
    return {name for name, _ in manager.aliases} if manager is not None else set()
