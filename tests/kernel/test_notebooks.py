"""Every notebook of the project runs, answered by its recording, in front of a learner.

What the learner does at an exercise stands in its cell's metadata. `lmc_person` is what is done
at a `%%lmc` cell: "run" (the default), "stop", {"edit": WHAT IS ADDED} or {"decline": REASON}, or
a list of these; a question beyond them gets a yes. `lmc_panel` has the `clicks` in the chat panel
after a cell, of the same form, and the words `until` which the cell shows then. `lmc_writes` is
what the learner writes in place of the cell; `lmc_page` is what the console of its page says in the
learner's browser; `lmc_error` is the error of code in it that is meant to fail at the first try.
Who skips the exercises leaves out the questions, and runs the other cells as they are.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from panel_view import Panel
from test_cell_magic import Person

from lmc_jupyter.models.replay import ReplayModel

pytestmark = [pytest.mark.kernel, pytest.mark.long]

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_BYTES = 200_000
SMALL = "Qwen2.5-Coder 0.5B, a small local model"
BY_HAND = "answers written by hand, not by a model"


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text("utf-8"))["cells"]
    return cells


def is_exercise(cell: dict[str, Any]) -> bool:
    return bool({"lmc_person", "lmc_writes", "lmc_panel"} & set(cell["metadata"]))


TAUGHT = [path for path in NOTEBOOKS if any(is_exercise(cell) for cell in cells_of(path))]


class Learner(Person):
    """A person whose browser also shows pages, and says what their console said.

    It is slow: what became of a page without a console, such as a table, it says too late.
    """

    def __init__(self, frontend: Any) -> None:
        super().__init__(frontend)
        self.console: list[str] = []
        self._pages: set[str] = set()

    def look(self) -> None:
        before = self.at
        super().look()
        for message in self.frontend.messages[before : self.at]:
            content = message["content"]
            if message["msg_type"] == "comm_open":
                if content["data"].get("state", {}).get("kind") == "page":
                    self._pages.add(content["comm_id"])
            elif message["msg_type"] == "comm_msg" and content["comm_id"] in self._pages:
                self._show(content["comm_id"], content["data"].get("content", {}))

    def _show(self, comm_id: str, content: dict[str, Any]) -> None:
        if content.get("kind") == "page" and self.console:
            page = {"lines": self.console, "text": "", "width": 600, "height": 200}
            self.tell(comm_id, {"kind": "page", "page": page})


def executed(
    notebook: Path, folder: Path, make_frontend: Any, skips: bool = False
) -> list[tuple[str, list[Any]]]:
    """Run the notebook's code cells in a copy of its folder; (source, iopub messages) of each."""
    there = shutil.copytree(notebook.parent, folder / "notebooks")
    recording = there / "recordings" / f"{notebook.stem}.jsonl"
    frontend = make_frontend(env={"LMC_MODEL": f"replay/{recording}"}, listed=True)
    frontend.run(f"import os; os.chdir({str(there)!r})")
    person, cells = Learner(frontend), []
    for cell in cells_of(notebook):
        if cell["cell_type"] != "code":
            continue
        source, does = "".join(cell["source"]), cell["metadata"]
        if skips and is_exercise(cell) and source.startswith("%%lmc"):
            continue
        if not skips:
            source = does.get("lmc_writes", source)
        person.console = does.get("lmc_page", [])
        begun = frontend.start(source, tags=does.get("tags", ()))
        if source.startswith("%%lmc"):
            sit_before(frontend, person, begun, does.get("lmc_person", "run"))
        frontend.finish(begun)
        if "lmc_panel" in does and not skips:
            sit_beside(frontend, begun, **does["lmc_panel"])
        cells.append((source, begun))
    return [(source, frontend.of(begun)) for source, begun in cells]


def sit_before(frontend: Any, person: Learner, cell: str, does: Any) -> None:
    """Answer the questions of a `%%lmc` cell until it is over."""

    decisions = list(does) if isinstance(does, list) else [does]

    def over() -> bool:
        states = [m["content"] for m in frontend.of(cell) if m["msg_type"] == "status"]
        return bool(states) and states[-1]["execution_state"] == "idle"

    while person.until(lambda: person.waits() or over(), "a question, or the end"):
        if not person.waits():
            return
        question, now = person.question(), decisions.pop(0) if decisions else "run"
        if isinstance(now, dict) and "edit" in now:
            person.click(question, code=question["code"] + now["edit"])
        elif isinstance(now, dict):
            person.click(question, "decline", reason=now["decline"])
        else:
            person.click(question)
        if now == "stop":
            frontend.until(lambda: frontend.text(cell), "a first line of output")
            person.stop()


def sit_beside(frontend: Any, cell: str, clicks: list[Any], until: str) -> None:
    """Click in the chat panel, at each question in turn, until the cell shows these words."""

    def panels() -> list[str]:
        opened = [m["content"] for m in frontend.messages if m["msg_type"] == "comm_open"]
        states = [(each["comm_id"], each["data"].get("state", {})) for each in opened]
        return [comm_id for comm_id, state in states if state.get("kind") == "panel"]

    panel, answered = Panel(frontend, frontend.until(panels, "the panel")[-1]), []
    for click in clicks:
        question = panel.question(*answered)
        answered.append(question["proposal"])
        if click == "run":
            panel.decide(question)
        else:
            panel.decide(question, "decline", reason=click["decline"])
    frontend.until(lambda: until in plain(frontend.of(cell)), until)


def text(shown: list[dict[str, Any]]) -> str:
    return "".join(m["content"]["text"] for m in shown if m["msg_type"] == "stream")


def plain(shown: list[dict[str, Any]]) -> str:
    data = [m["content"]["data"] for m in shown if "data" in m["content"]]
    return "\n".join(str(bundle.get("text/plain", "")) for bundle in data)


def rich(shown: list[dict[str, Any]]) -> str:
    """The HTML that stands there at the end: an update takes the place of what it updates."""
    data = {}
    for at, content in enumerate(m["content"] for m in shown if "data" in m["content"]):
        data[content.get("transient", {}).get("display_id", at)] = content["data"]
    return "\n".join(str(bundle.get("text/html", "")) for bundle in data.values())


def checked(cells: list[tuple[str, list[Any]]]) -> dict[str, str]:
    """What each check said, by its cell."""
    return {source: verdict(text(shown)) for source, shown in cells if "check(" in source}


def verdict(printed: str) -> str:
    """The last words of a check, whatever the cell printed before them."""
    at = max(printed.rfind("✓"), printed.rfind("✗"))
    return " ".join(printed[at:].split()) if at >= 0 else f"no verdict: {printed}"


def assert_every_cell_ran(notebook: Path, cells: list[tuple[str, list[Any]]]) -> None:
    meant = {
        "".join(cell["source"]): cell["metadata"]["lmc_error"]
        for cell in cells_of(notebook)
        if "lmc_error" in cell["metadata"]
    }
    for source, shown in cells:
        errors = [m["content"] for m in shown if m["msg_type"] == "error"]
        if "Stopped" in plain(shown):  # what the person wanted is no failure
            assert not errors, f"{source!r}: {errors}"
        elif source in meant:
            assert [error["ename"] for error in errors] == [meant[source]]
        else:
            assert not errors, f"{source!r}: {errors}"
        if source.startswith("%%lmc"):
            assert "Done" in plain(shown) or "Stopped" in plain(shown)
            assert "recording of" in plain(shown)
            assert "did not finish loading" not in rich(shown), source
            for failure in ("The computer failed", "this computer has no", "cannot run here"):
                assert failure not in plain(shown), f"{source}: {plain(shown)}"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_who_does_the_exercises_passes_every_check(
    notebook, tmp_path, make_frontend
):
    cells = executed(notebook, tmp_path, make_frontend)
    assert_every_cell_ran(notebook, cells)
    for source, said in checked(cells).items():
        assert said.startswith("✓"), f"{source}: {said}"


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem)
def test_who_skips_the_exercises_is_told_what_is_missing(notebook, tmp_path, make_frontend):
    cells = executed(notebook, tmp_path, make_frontend, skips=True)
    assert_every_cell_ran(notebook, cells)
    checks = checked(cells)
    assert len(checks) >= 4
    for source, said in checks.items():
        assert said.startswith("✗"), f"{source}: {said}"
        assert "cannot be checked" not in said, f"{source}: {said}"


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


def test_who_was_a_wrong_computer_corrects_the_cell_and_passes(tmp_path, make_frontend):
    """The natural mistake of exercise 4, twice, and then the right answer in the same cell."""
    notebook = ROOT / "notebooks" / "04-lmc-messages.ipynb"
    there = shutil.copytree(notebook.parent, tmp_path / "notebooks")
    frontend = make_frontend(listed=True)
    frontend.run(f"import os; os.chdir({str(there)!r})")
    verdicts = []
    for cell in cells_of(notebook):
        source = "".join(cell["source"])
        right = cell["metadata"].get("lmc_writes", source)
        if cell["cell_type"] != "code":
            continue
        if "# messages.append" not in source:
            frontend.run(right)
            continue
        assert '"56\\n"' in right
        for typed in (source, right.replace("56", "57"), right.replace("56", "58"), right):
            frontend.run(typed)
            begun = frontend.start('check("computer", agent=agent)')
            frontend.finish(begun)
            verdicts.append(verdict(frontend.text(begun)))
    for said, words in zip(verdicts, ("waits for its computer", "'57", "'58", "✓"), strict=True):
        assert words in said, verdicts


def test_the_notebooks_follow_one_another_as_the_first_one_lists_them():
    folder = ROOT / "notebooks"
    listed = links("".join(cells_of(NOTEBOOKS[0])[-1]["source"]).split("Next:")[0])
    order, at = [], NOTEBOOKS[0].name
    while at not in order:
        order.append(at)
        words = "\n".join("".join(each["source"]) for each in cells_of(folder / at))
        following = words.rpartition("Next: [")[2]
        at = links("[" + following)[0] if words.count("Next: [") else at
    assert order[1:] == listed
    assert sorted(order) == [path.name for path in NOTEBOOKS]
    assert order.index("09-what-the-model-sees.ipynb") < order.index("04-lmc-messages.ipynb")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_kept_without_outputs(notebook):
    assert notebook.stat().st_size < MAX_BYTES
    for cell in cells_of(notebook):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_pictures_and_pages_that_a_notebook_names_are_there(notebook):
    words = "\n".join("".join(cell["source"]) for cell in cells_of(notebook))
    for link in links(words):
        assert (notebook.parent / link).exists(), link


def links(markdown: str) -> list[str]:
    """The targets of its links that are files."""
    targets = [part.split(")")[0] for part in markdown.split("](")[1:]]
    return [each for each in targets if each and "://" not in each and each[0] != "#"]


@pytest.mark.parametrize(
    "recording", sorted((ROOT / "notebooks" / "recordings").glob("*.jsonl")), ids=lambda p: p.stem
)
def test_a_recording_says_who_answered(recording):
    label = ReplayModel(recording).label
    by_hand = recording.stem.endswith("-by-hand")
    assert label == f"recording of {BY_HAND if by_hand else SMALL}"
    notebook = ROOT / "notebooks" / f"{recording.stem.removesuffix('-by-hand')}.ipynb"
    if by_hand:  # and the learner is told before
        words = notebook.read_text("utf-8")
        assert "written by hand" in words
        assert f"%lmc model replay/recordings/{recording.name}" in words
