"""Runs the teaching notebooks in front of a learner, as their test does, and writes them with their
outputs: for the site.

    python docs/site/run_notebooks.py FOLDER

One rule: what a notebook shows is what its kernel sent. The answers are those of its recording, and
the presses those that its cells name.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.notebooknode import from_dict

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS / "kernel"), str(TESTS)]

from conftest import Frontend  # noqa: E402 - tests/kernel
from test_notebooks import executed  # noqa: E402

WIDGET = "application/vnd.jupyter.widget-view+json"
SHOWN = ("stream", "display_data", "execute_result", "error")


def outputs(messages: list[Any]) -> list[Any]:
    """The outputs of a cell after these messages, as JupyterLab would have saved them."""
    found: list[Any] = []
    displays: dict[str, Any] = {}
    clears = False
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "clear_output":
            clears = bool(content["wait"])
            if not clears:
                found.clear()
        elif kind == "update_display_data":
            if (shown := displays.get(content["transient"]["display_id"])) is not None:
                shown["data"], shown["metadata"] = content["data"], content["metadata"]
        elif kind in SHOWN:
            if clears:
                found.clear()
                clears = False
            _add(found, nbformat.v4.output_from_msg(message))
            if (id_ := content.get("transient", {}).get("display_id")) is not None:
                displays[id_] = found[-1]
    for each in found:
        each.get("data", {}).pop(WIDGET, None)
    return [each for each in found if each["output_type"] in ("stream", "error") or each["data"]]


def _add(found: list[Any], output: Any) -> None:
    last = found[-1] if found else None
    if (
        last is not None
        and output["output_type"] == last["output_type"] == "stream"
        and output["name"] == last["name"]
    ):
        last["text"] += output["text"]
    else:
        found.append(output)


def run(notebook: Path, to: Path) -> None:
    """Write the notebook with the outputs of a run."""
    frontends: list[Frontend] = []

    def make(**options: Any) -> Frontend:
        frontends.append(Frontend(**options))
        return frontends[-1]

    with tempfile.TemporaryDirectory() as folder:
        try:
            ran = executed(notebook, Path(folder), make)
        finally:
            for each in frontends:
                each.close()
    document = nbformat.read(notebook, as_version=4)
    code = [cell for cell in document.cells if cell.cell_type == "code"]
    for number, (cell, (source, messages)) in enumerate(zip(code, ran, strict=True), 1):
        shown = json.loads(json.dumps(outputs(messages)).replace(folder, "…"))
        cell.source, cell.outputs, cell.execution_count = (
            source,
            list(map(from_dict, shown)),
            number,
        )
    document.metadata["language_info"]["pygments_lexer"] = "ipython3"  # it knows magics
    nbformat.write(document, to / notebook.name)


def main() -> None:
    to = Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    os.environ["LMC_TEST_LONG"] = ""
    with tempfile.TemporaryDirectory() as home:
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "IPYTHONDIR"):
            os.environ[name] = home
        for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
            if (to / notebook.name).exists():
                continue  # `make site` begins with an empty folder
            run(notebook, to)
            sys.stdout.write(f"{notebook.name}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
