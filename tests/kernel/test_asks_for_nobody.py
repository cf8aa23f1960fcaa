"""`ask = "changes"` where a notebook runs by itself, as by papermill or nbconvert: nobody can be
asked, so what is outside of the promise stops the block with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.kernel, pytest.mark.long]

SET_UP = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
%load_ext lmc_jupyter
%config LMC.ask = "changes"
from lmc_jupyter import current_session
from lmc_jupyter.computer import effects
from scripted import ScriptedModel, code, said
look = effects.find_effects
mine = [1]
def scripted(*codes):
    current_session().reset()
    current_session().choose_model(ScriptedModel(*[[code(each)] for each in codes], [said("ok")]))
"""
BLIND = "effects.find_effects = lambda *_: look('python', '1')\n"


def by_nbclient(notebook: Any, folder: Path) -> Any:
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    return notebook


def by_papermill(notebook: Any, folder: Path) -> Any:
    given, made = folder.parent / "given.ipynb", folder.parent / "made.ipynb"
    nbformat.write(notebook, given)
    papermill.execute_notebook(
        str(given), str(made), kernel_name="python3", cwd=str(folder), progress_bar=False
    )
    return nbformat.read(made, 4)


@pytest.mark.parametrize("execute", [by_nbclient, by_papermill])
def test_what_only_reads_runs_and_all_else_is_stopped_with_a_sentence(
    tmp_path: Path, execute: Callable[[Any, Path], Any]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    cells = [
        SET_UP,
        "scripted('new = 6 * 7', 'mine.append(2)')",
        "%%lmc\nGo.",
        BLIND + "scripted(\"open('out', 'w').close()\")",
        "%%lmc\nGo.",
        "print(new, mine)",
    ]
    given = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    notebook = execute(given, folder)

    def shown(at: int) -> str:
        return str([dict(each) for each in notebook.cells[at].outputs])

    assert "".join(each.text for each in notebook.cells[5].outputs) == "42 [1]\n"
    assert "nobody" in shown(2)
    assert "which was not allowed" in shown(4)
    assert [path.name for path in folder.iterdir()] == []
