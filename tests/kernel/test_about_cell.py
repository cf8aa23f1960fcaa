"""Fix, Explain and Ask at a cell, as a front end asks a real kernel for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from panel_view import Panel

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

SET_UP = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import lmc_jupyter
model_id = lmc_jupyter.panel_model_id()
from scripted import ScriptedModel, said
session = lmc_jupyter.current_session()
session.choose_model(ScriptedModel(*[[said('Seen.')] for _ in range(9)]))
"""
FAILS = "rate = 3\nrate / 0"


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def panel(lab):
    yield Panel(lab, lab.value("model_id"))
    lab.run("assert session.wait(60); session.reset()")


def run(lab: Any, source: str, id: str) -> int:
    """Run a cell as JupyterLab sends it; its number."""
    content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}}
    content |= {"allow_stdin": True, "stop_on_error": False}
    message = lab.client.session.msg("execute_request", content, metadata={"cellId": id})
    lab.client.shell_channel.send(message)
    lab.finish(str(message["header"]["msg_id"]))
    return int(lab.value("len(In) - 2"))


def shown(id: str, number: int | None, source: str = FAILS, **more: Any) -> dict[str, Any]:
    error = "ZeroDivisionError: division by zero" if number else ""
    return {"id": id, "number": number, "source": source, "error": error, "hidden": False, **more}


def asked(panel: Panel, wish: str, cell: dict[str, Any]) -> tuple[str, str]:
    """What the panel shows as the question, and which cell it says that it is about."""
    panel.begin(wish, cell=cell)
    panel.over()
    record = next(each for each in panel.view.records if each["message"]["role"] == "user")
    return record["message"]["content"], record.get("about", "")


def test_a_cell_that_ran_is_pointed_at_and_its_record_goes_along(lab, panel):
    number = run(lab, FAILS, "one")
    question = asked(panel, "fix", shown("one", number))
    assert question == (f"Fix @cell {number}, which failed: write the whole cell again.", "one")
    parts = lab.value("session.messages[0].extra['context']['parts']")
    (part,) = [each for each in parts if each["title"] == f"In [{number}]"]
    assert "ZeroDivisionError" in part["content"]


def test_explain_asks_why_and_no_more(lab, panel):
    number = run(lab, FAILS, "two")
    question = asked(panel, "explain", shown("two", number))
    assert question == (f"Explain why @cell {number} failed.", "two")


def test_of_a_cell_of_an_ended_kernel_the_text_goes_without_keys(lab, panel):
    number = run(lab, "other = 1", "three")
    lab.run("import os; os.environ['SOME_API_KEY'] = 'hunter2-battery-staple'")
    cell = shown("gone", number, "connect('hunter2-battery-staple', n=1)")
    text, about = asked(panel, "fix", cell)
    assert text.startswith("Fix this cell, which failed: write the whole cell again.\n\n```python")
    assert text.endswith("```\nZeroDivisionError: division by zero\n```")
    assert "hunter2" not in text
    assert about == "gone"


def test_a_question_that_points_at_one_cell_by_hand_is_about_it_and_at_two_about_none(lab, panel):
    first, second = run(lab, "a = 1", "four"), run(lab, "b = 2", "five")
    panel.ask(f"Why @cell {first}?")
    panel.over()
    panel.ask(f"And @cell {first} or @cell {second}?")
    panel.over()
    users = [each for each in panel.view.records if each["message"]["role"] == "user"]
    assert [each.get("about") for each in users] == ["four", None]


def test_the_command_fix_is_about_the_cell_that_failed_too(lab, panel):
    run(lab, FAILS, "failed")
    run(lab, "fine = 1", "fine")
    assert panel.value("command", line="fix") == ""
    panel.over()
    (question, *_) = panel.view.records
    assert question["message"]["content"].startswith("This cell failed.")
    assert question["about"] == "failed"


def test_a_reference_points_at_the_run_of_the_text_that_is_shown(lab, panel):
    number = run(lab, "rate = 4", "six")
    assert panel.value("point", cell=shown("six", number, "rate = 4")) == f"@cell {number} "
    edited = panel.value("point", cell=shown("six", number, "rate = 5", error=""))
    assert edited == "\n\n```python\nrate = 5\n```"
    fresh = panel.value("point", cell=shown("seven", None, "rate = 6"))
    assert fresh == "\n\n```python\nrate = 6\n```"


@pytest.mark.parametrize("kind", ["fix", "explain", "point"])
def test_a_cell_with_the_tag_is_refused_and_so_is_none(lab, panel, kind):
    hidden = shown("eight", 1, "canary", hidden=True)
    assert "tag lmc-hide" in panel.refused(kind, cell=hidden)
    assert "names no cell" in panel.refused(kind, cell=None)
    assert "must be text" in panel.refused(kind, cell=shown("nine", 1, source=7))  # type: ignore[arg-type]
    assert lab.value("session.messages") == []
