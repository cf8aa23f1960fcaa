"""`%lmc methods` of every teaching notebook, after a learner has been through it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_notebooks import NOTEBOOKS, ROOT, cells_of, executed

PYTHON = Path(os.environ.get("LMC_TEST_LIBRARIES") or ROOT / ".venv-libraries" / "bin" / "python")

pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.checkout]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_cell_and_each_block_is_listed_and_the_crate_is_valid(
    notebook, tmp_path, make_frontend
):
    name = tmp_path / "notebooks" / notebook.name
    frontends: list[Any] = []

    def make(env: dict[str, str], **more: Any) -> Any:
        frontends.append(make_frontend(env={**env, "JPY_SESSION_NAME": str(name)}, **more))
        return frontends[-1]

    executed(notebook, tmp_path, make)
    frontend, folder = frontends[0], tmp_path / "pages"
    folder.mkdir()
    for path in ("methods.markdown", "methods.html", "crate/"):
        frontend.run(f"%lmc methods {folder / path}" + "/" * path.endswith("/"))
    text = (folder / "methods.markdown").read_text("utf-8")
    cells, blocks = text.split("## The code that models and agents wrote")
    listed = [line for line in cells.splitlines() if line.startswith("| ")][2:]
    code = [each for each in cells_of(notebook) if each["cell_type"] == "code"]
    assert len(listed) == len(code)
    asked = any("%%lmc" in "".join(each["source"]) for each in code)
    rows = [line for line in blocks.splitlines() if line.startswith("| ")][2:]
    assert asked == bool(rows)
    page = (folder / "methods.html").read_text("utf-8")
    assert page.count("<article>") == len(listed) + len(rows)
    graph = json.loads((folder / "crate" / "ro-crate-metadata.json").read_text("utf-8"))["@graph"]
    assert sum(each["@type"] == "CreateAction" for each in graph) == len(rows)
    assert PYTHON.exists(), f"{PYTHON} is missing: `make test-long` makes it"
    program = ROOT / "tests" / "formats" / "validate_crate.py"
    done = subprocess.run(
        [PYTHON, program, folder / "crate", tmp_path / "cache"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    if there := os.environ.get("LMC_SCREENSHOTS"):
        shutil.copytree(folder, Path(there) / notebook.stem, dirs_exist_ok=True)
