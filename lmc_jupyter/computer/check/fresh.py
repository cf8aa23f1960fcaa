"""The program of the process: it runs a notebook in a fresh kernel, and says what became of it.

One rule: it writes lines of JSON to stdout, and nothing else does: the fresh kernel has no part in
its stdout.

The lines: {"kernel": id of its process}, {"cell": number, "of": count} as each cell begins, and
at the end {"seconds": ..., "cells": [fields of CellReport]}, or {"problem": words that follow the
name of the file}.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmc_jupyter.computer.check.judge import CheckedCell, judge
from lmc_jupyter.computer.check.outputs import Outputs
from lmc_jupyter.computer.check.process import last_line
from lmc_jupyter.computer.process import reaper, sessions

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbformat import NotebookNode

_ARGUMENTS = (
    "--HistoryManager.hist_file=:memory:",
    "--LMC.start_worker=False",  # loading our extension starts no process for a model
)

_LOG = "kernel.log"


class _ProblemError(Exception):
    """What stands in the way; the words follow the name of the file."""


def main(path: str, folder: str, timeout: str | None = None) -> None:
    """Run the notebook of this file.

    Parameters
    ----------
    folder : where the connection of the fresh kernel is
    timeout : seconds that a cell may take; None: no limit
    """
    try:
        asyncio.run(_run(Path(path), Path(folder), int(timeout) if timeout else None))
    except _ProblemError as problem:
        _say(problem=str(problem))


async def _run(path: Path, folder: Path, timeout: int | None) -> None:
    start = time.monotonic()
    try:
        from nbclient import NotebookClient
    except ImportError:
        raise _ProblemError("cannot be run: install nbclient, `%pip install nbclient`") from None
    book = _read(path)
    nodes = [
        (place, node)
        for place, node in enumerate(book.cells)
        if node.cell_type == "code" and node.source.strip()
    ]
    if not nodes:
        raise _ProblemError("has no code: there is nothing to run")
    cells = [
        CheckedCell(number, node.source, node.get("execution_count"), Outputs.of(node.outputs))
        for number, (_, node) in enumerate(nodes, 1)
    ]
    manager = await _start_kernel(path.parent, folder)
    pid = getattr(manager.provisioner, "pid", None)
    is_idle = False
    try:
        client = NotebookClient(
            book, km=manager, allow_errors=True, timeout=timeout, iopub_timeout=60
        )
        try:
            async with client.async_setup_kernel():
                is_idle = await _run_cells(client, nodes, cells, timeout)
        except RuntimeError:  # jupyter_client's, of a kernel that does not answer
            why = last_line(folder / _LOG)
            raise _ProblemError(f"cannot be run: the fresh kernel did not start{why}") from None
    finally:
        await manager.shutdown_kernel(now=not is_idle)
        if pid is not None:
            sessions.end(pid)
        await manager.cleanup_resources()
    _say(seconds=time.monotonic() - start, cells=[asdict(each) for each in judge(cells)])


async def _run_cells(
    client: NotebookClient,
    nodes: list[tuple[int, NotebookNode]],
    cells: list[CheckedCell],
    timeout: int | None,
) -> bool:
    """Run the cells one after the other; whether all of them ended by themselves."""
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    ran: list[tuple[CheckedCell, NotebookNode]] = []
    end = ""
    for cell, (place, node) in zip(cells, nodes, strict=True):
        if client.skip_cells_with_tag in node.metadata.get("tags", []):
            cell.reason = f"its tag is {client.skip_cells_with_tag}"
        elif cell.left_out:
            cell.reason = cell.left_out
        elif end:
            cell.reason = end
        else:
            _say(cell=cell.number, of=len(cells))
            node.source = cell.runs
            ran.append((cell, node))
            try:
                await client.async_execute_cell(node, place)
            except CellTimeoutError:
                cell.reason = f"it took longer than {timeout:,} seconds"
            except DeadKernelError:
                cell.reason = "the kernel died in it"
            if cell.reason:
                end = f"cell {cell.number} did not end by itself"
    for cell, node in ran:  # now: a cell may change what one above it has shown
        cell.new = Outputs.of(node.outputs)
        errors = [each for each in node.outputs if each.output_type == "error"]
        cell.traceback = "\n".join(errors[-1].traceback) if errors else ""
    return not end


def _read(path: Path) -> Any:
    """The notebook, in the form of version 4."""
    import nbformat

    try:
        book = nbformat.read(path, as_version=4)
        nbformat.validate(book, relax_add_props=True)  # as Jupyter opens it
    except OSError as error:
        raise _ProblemError(f"cannot be read: {error.strerror}") from None
    except Exception as error:  # noqa: BLE001 - nbformat raises whatever it stumbles upon
        first = str(error).strip().split("\n")[0]
        raise _ProblemError(f"is no notebook: {type(error).__name__}: {first:.200}") from None
    spec, info = (book.metadata.get(name) or {} for name in ("kernelspec", "language_info"))
    language = info.get("name") or spec.get("language") or "python"
    if not language.lower().startswith("python"):
        raise _ProblemError(f"is a notebook of {language:.40}: only those of Python are checked")
    return book


async def _start_kernel(folder: Path, own: Path) -> AsyncKernelManager:
    """A kernel of this Python, whatever the kernels of this machine are called.

    Parameters
    ----------
    folder : of the notebook: its working directory
    own : where its connection file is written, and its sockets are
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name=kernel_name, language="python")

    by_file: dict[str, Any] = {"transport": "ipc", "ip": str(own / "k")}  # which no other can open
    manager = AsyncKernelManager(
        kernel_spec_manager=ThisPython(),
        connection_file=str(own / "kernel.json"),
        **(by_file if os.name == "posix" else {}),
    )
    with (own / _LOG).open("wb") as log:
        await manager.start_kernel(
            extra_arguments=list(_ARGUMENTS),
            cwd=str(folder),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    pid = getattr(manager.provisioner, "pid", None)
    if pid is not None:
        reaper.watch(pid)  # also when this process is killed
        _say(kernel=pid)
    return manager


def _say(**values: Any) -> None:
    sys.stdout.write(f"{json.dumps(values)}\n")
    sys.stdout.flush()
