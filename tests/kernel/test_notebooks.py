"""Every notebook of the project runs, answered by its recording, in front of a person with buttons.

What the person does at a cell stands in its metadata, as `lmc_person`: "run" (the default),
"stop", {"edit": WHAT IS ADDED} or {"decline": REASON}; the second question of a cell gets a yes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_cell_magic import Person

pytestmark = pytest.mark.kernel

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(notebook: Path, folder: Path, make_frontend: Any) -> list[tuple[str, list[Any]]]:
    """Run the notebook's code cells in a copy of its folder; (source, iopub messages) of each."""
    there = shutil.copytree(notebook.parent, folder / "notebooks")
    recording = there / "recordings" / f"{notebook.stem}.jsonl"
    frontend = make_frontend(env={"LMC_MODEL": f"replay/{recording}"})
    frontend.run(f"import os; os.chdir({str(there)!r})")
    person, cells = Person(frontend), []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            begun = frontend.start(source)
            if source.startswith("%%lmc"):
                sit_before(frontend, person, begun, cell["metadata"].get("lmc_person", "run"))
            cells.append((source, frontend.finish(begun)))
    return cells


def sit_before(frontend: Any, person: Person, cell: str, does: Any) -> None:
    """Answer the questions of a `%%lmc` cell until it is over."""

    def over() -> bool:
        states = [m["content"] for m in frontend.of(cell) if m["msg_type"] == "status"]
        return bool(states) and states[-1]["execution_state"] == "idle"

    while person.until(lambda: person.waits() or over(), "a question, or the end"):
        if not person.waits():
            return
        question, now, does = person.question(), does, "run"
        if isinstance(now, dict) and "edit" in now:
            person.click(question, code=question["code"] + now["edit"])
        elif isinstance(now, dict):
            person.click(question, "decline", reason=now["decline"])
        else:
            person.click(question)
        if now == "stop":
            frontend.until(lambda: frontend.text(cell), "a first line of output")
            person.stop()


def text(shown: list[dict[str, Any]]) -> str:
    return "".join(m["content"]["text"] for m in shown if m["msg_type"] == "stream")


def plain(shown: list[dict[str, Any]]) -> str:
    data = [m["content"]["data"] for m in shown if "data" in m["content"]]
    return "\n".join(str(bundle.get("text/plain", "")) for bundle in data)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_every_question_is_answered(notebook, tmp_path, make_frontend):
    for source, shown in executed(notebook, tmp_path, make_frontend):
        errors = [m["content"] for m in shown if m["msg_type"] == "error"]
        if "Stopped" in plain(shown):  # the code's own traceback, as of any cell
            assert [error["ename"] for error in errors] == ["KeyboardInterrupt"]
        else:
            assert not errors, f"{source!r}: {errors}"
        if source.startswith("%%lmc"):
            assert "Done" in plain(shown) or "Stopped" in plain(shown)
            assert "recording of" in plain(shown)


def test_the_first_conversation_finds_its_number_draws_its_figure_and_shares_its_variables(
    tmp_path, make_frontend
):
    notebook = ROOT / "notebooks" / "01-first-conversation.ipynb"
    cells = dict(executed(notebook, tmp_path, make_frontend))
    first = next(shown for source, shown in cells.items() if "2380*3875" in source)
    assert "9222500" in text(first)
    pictures = [m for m in first if "image/png" in m["content"].get("data", {})]
    assert pictures
    assert "385" in plain(cells["sum(squares)"])


def test_who_does_the_exercises_of_staying_in_charge_passes_every_check(tmp_path, make_frontend):
    notebook = ROOT / "notebooks" / "04-staying-in-charge.ipynb"
    cells = executed(notebook, tmp_path, make_frontend)
    checked = {source: text(shown) for source, shown in cells if "check(" in source}
    assert len(checked) == 5
    for source, said in checked.items():
        assert said.startswith("✓"), f"{source}: {said}"


def test_notebooks_are_kept_without_outputs():
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs"), notebook.name
            assert cell.get("execution_count") is None
