"""Every notebook of the project runs, answered by its recording, each block let run by a person."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

pytestmark = pytest.mark.kernel

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(notebook: Path) -> list[tuple[str, list[dict[str, Any]]]]:
    """Run the notebook's code cells; (source, iopub messages) of each."""
    recording = ROOT / "notebooks" / "recordings" / f"{notebook.stem}.jsonl"
    manager = KernelManager()
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, display_name="t", language="python")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LMC_MODEL": f"replay/{recording}"}
    manager.start_kernel(env=env, cwd=str(notebook.parent))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        cells = []
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            source, shown = "".join(cell["source"]), []
            client.execute_interactive(
                source,
                allow_stdin=True,
                timeout=60,
                output_hook=shown.append,
                stdin_hook=lambda _: client.input("y"),
            )
            cells.append((source, shown))
        return cells
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def text(shown: list[dict[str, Any]]) -> str:
    return "".join(m["content"]["text"] for m in shown if m["msg_type"] == "stream")


def plain(shown: list[dict[str, Any]]) -> str:
    data = [m["content"]["data"] for m in shown if "data" in m["content"]]
    return "\n".join(str(bundle.get("text/plain", "")) for bundle in data)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_every_question_is_answered(notebook):
    for source, shown in executed(notebook):
        errors = [m["content"] for m in shown if m["msg_type"] == "error"]
        assert not errors, f"{source!r}: {errors}"
        if source.startswith("%%lmc"):
            assert "Done" in plain(shown)
            assert "recording of" in plain(shown)


def test_the_first_conversation_finds_its_number_draws_its_figure_and_shares_its_variables():
    cells = dict(executed(ROOT / "notebooks" / "01-first-conversation.ipynb"))
    first = next(shown for source, shown in cells.items() if "2380*3875" in source)
    assert "9222500" in text(first)
    pictures = [m for m in first if "image/png" in m["content"].get("data", {})]
    assert pictures
    assert "385" in plain(cells["sum(squares)"])


def test_notebooks_are_kept_without_outputs():
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs"), notebook.name
            assert cell.get("execution_count") is None
