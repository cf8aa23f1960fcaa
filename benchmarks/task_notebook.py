"""A notebook of a task: a fresh process that runs cells and tells what a person would see.

One rule: each notebook is a process and a folder of its own, so no task can help another.
"""

from __future__ import annotations

import ast
import contextlib
import io
import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from model_tasks import Seen

from lmc_jupyter.lmc import Chunk

CELL_SECONDS = 30
"""A cell that runs longer has failed."""


class Notebook:
    """A computer (`run` yields pieces) that also keeps what was seen in all."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["pandas", "matplotlib.pyplot"])
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._folder.name), daemon=True
        )
        self._process.start()
        theirs.close()
        self.seen = Seen()
        self.errors: list[str] = []

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._folder.cleanup()

    def cell(self, code: str) -> dict[str, Any]:
        """Run a cell: its `text`, `error`, `figures`, `files`."""
        self._pipe.send(("run", code))
        if not self._pipe.poll(CELL_SECONDS):
            self._process.kill()
            return {
                "text": "",
                "error": "TimeoutError: it ran too long",
                "figures": [],
                "files": {},
            }
        try:
            result: dict[str, Any] = self._pipe.recv()
        except EOFError:
            return {
                "text": "",
                "error": "SystemExit: the process ended",
                "figures": [],
                "files": {},
            }
        return result

    def names(self) -> str:
        """What a model is told of the variables, made as for a real notebook."""
        self._pipe.send(("names", ""))
        return str(self._pipe.recv())

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """The computer's side of the loop; what an error printed is not counted as an answer."""
        result: dict[str, Any]
        result = self.cell(code) if language == "python" else {"error": f"no {language} here"}
        if result["error"]:
            self.errors.append(result["error"])
            yield Chunk("computer", "console", "output", result.get("text", "") + result["error"])
            return
        self.seen.text += result["text"] + "\n"
        self.seen.figures += result["figures"]
        self.seen.files = result["files"]
        if result["text"]:
            yield Chunk("computer", "console", "output", result["text"])
        for _ in result["figures"]:
            yield Chunk("computer", "image", "base64.png", "aGVsbG8=", end=True)


def _serve(pipe: Any, folder: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    os.chdir(folder)
    sys.stdin = io.StringIO()
    from lmc_jupyter.kernel.namespace import summary

    namespace: dict[str, Any] = {"__name__": "__main__", "display": print}
    while True:
        try:
            what, code = pipe.recv()
        except EOFError:
            return
        if what == "names":
            pipe.send(summary(SimpleNamespace(user_ns=namespace)))
            continue
        out, error = io.StringIO(), ""
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            try:
                _execute(code, namespace)
            except SystemExit:
                error = ""
            except BaseException:  # noqa: BLE001 - as a kernel does
                error = traceback.format_exc(limit=-1)
        files = {
            path.name: path.read_text(errors="replace")
            for path in Path(folder).iterdir()
            if path.is_file()
        }
        pipe.send({"text": out.getvalue(), "error": error, "figures": _figures(), "files": files})


def _execute(code: str, namespace: dict[str, Any]) -> None:
    """Run a cell as a notebook does: the value of a last expression is shown."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, "<cell>", "exec"), namespace)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
        if value is not None and not code.rstrip().endswith(";"):
            print(repr(value))


def _figures() -> list[dict[str, Any]]:
    """The data of the open figures, which are closed, as the inline backend does."""
    from matplotlib import patches
    from matplotlib import pyplot as plt

    found = []
    axes: Any
    for number in plt.get_fignums():
        figure: dict[str, Any] = {"lines": [], "bars": [], "points": [], "wedges": 0}
        for axes in plt.figure(number).axes:
            figure["lines"] += [
                [[float(v) for v in line.get_xdata()], [float(v) for v in line.get_ydata()]]
                for line in axes.lines
                if len(line.get_xdata())
                and all(isinstance(v, (int, float)) or hasattr(v, "item") for v in line.get_xdata())
            ]
            for patch in axes.patches:
                if isinstance(patch, patches.Rectangle):
                    figure["bars"].append(float(patch.get_height()))
                elif isinstance(patch, patches.Wedge):
                    figure["wedges"] += 1
            for points in axes.collections:
                figure["points"] += [[float(x), float(y)] for x, y in points.get_offsets()]
        found.append(figure)
    plt.close("all")
    return found
