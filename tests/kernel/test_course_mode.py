"""`tutor: hints` in the lmc.yaml of a folder: no model answers in its kernels, whatever a pupil
does there, and `%lmc hint` does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from panel_view import Panel
from test_context import run as run_cell
from test_tutor import COURSE, WRONG, say

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

TESTS = Path(__file__).parents[1]
NO = "this course gives hints and no answers"
SET_UP = f"""
import sys, os
os.chdir(FOLDER)
sys.path.insert(0, {str(TESTS)!r})
%load_ext lmc_jupyter
from lmc_jupyter import current_session, Session
from scripted import ScriptedModel, code, said
model = ScriptedModel([code("done = 1")], [said("ok")])
current_session().choose_model(model)
"""
WAYS = {
    "a cell": "%%lmc\nWrite it.",
    "a line": "%lmc ask Write it.",
    "another model": "%%lmc --model openai/some\nWrite it.",
    "auto-run": "%%lmc --auto-run\nWrite it.",
    "a new conversation": "%%lmc --new\nWrite it.",
    "fix": "%lmc fix",
    "the session": "list(current_session().ask('Write it.'))",
    "a session of one's own": "list(Session(model, keep=False).ask('Write it.'))",
    "one with another mode": "list(Session(model, keep=False, tutor='').ask('Write it.'))",
    "the session's attribute": "current_session().tutor = ''\n"
    "list(current_session().ask('Write it.'))",
    "interpreter": "from lmc_jupyter import interpreter\ninterpreter.chat('Write it.')",
    "code of an agent": "list(current_session().offer('python', 'done = 1', by='Me'))",
}


@pytest.fixture(scope="module")
def lab(frontend, tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("course")
    shutil.copy(COURSE / "exercises.yaml", folder)
    (folder / "lmc.yaml").write_text("tutor: hints\n")
    frontend.run(SET_UP.replace("FOLDER", repr(str(folder))))
    return frontend


def errors(lab: Any, code: str) -> str:
    """What the cell ended with."""
    messages = lab.finish(lab.start(code))
    return " ".join(
        str(each["content"].get("evalue", "")) + str(each["content"].get("text", ""))
        for each in messages
        if each["msg_type"] in ("error", "stream")
    )


@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS)
def test_no_way_within_the_kernel_reaches_a_model(lab, code):
    lab.finish(lab.start("1 / 0"))  # for `fix`
    assert NO in errors(lab, code)
    assert lab.value("len(model.seen)") == 0
    assert lab.value("'done' in globals()") is False


@pytest.mark.parametrize("word", ["''", "None", "'all'"])
def test_the_setting_is_not_made_looser(lab, word):
    assert "Nothing was changed." in errors(lab, f"%config LMC.tutor = {word}")
    assert lab.value("current_session().tutor") == "hints"


def test_the_panel_says_so_and_answers_nothing(lab):
    lab.run("import lmc_jupyter\nmodel_id = lmc_jupyter.panel_model_id()")
    panel = Panel(lab, lab.value("model_id"), way="control")
    assert panel.view.settings["tutor"] == "hints"
    assert NO in panel.refused("ask", text="Write it.")


def test_hints_are_given(lab):
    run_cell(lab, WRONG, tags=["lmc-exercise: sum_to"])
    assert "Hint for sum_to" in say(lab, "hint")


def test_off_gives_no_hints_either_and_stays_off(lab):
    lab.run("%config LMC.tutor = 'off'")
    assert "in this course no model is asked and no hint is given" in say(lab, "hint sum_to")
    assert "sum_to: 0 of 2 tests pass" in say(lab, "test sum_to")
    assert "no model is asked" in errors(lab, "%%lmc\nWrite it.")
