"""`tutor: hints` in the lmc.yaml of a folder: in its kernels a pupil gets hints, whatever they do
there, and nothing of a model runs or is shown."""

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
ASKED = {
    "a cell": "%%lmc\nWrite it.",
    "a line": "%lmc ask Write it.",
    "another model": "%%lmc --model openai/some\nWrite it.",
    "auto-run": "%%lmc --auto-run\nWrite it.",
    "a new conversation": "%%lmc --new\nWrite it.",
    "fix": "%lmc fix",
    "the session": "_ = list(current_session().ask('Write it.'))",
    "the session's attribute": "current_session().tutor = ''\n"
    "_ = list(current_session().ask('Write it.'))",
}
"""Questions that the tutor answers."""
WAYS = {
    "to go on": "list(current_session().ask())",
    "a conversation of one's own": "list(current_session().ask([{'role': 'user', "
    "'type': 'message', 'content': 'Write it.'}]))",
    "a session of one's own": "list(Session(model, keep=False).ask('Write it.'))",
    "one with another mode": "list(Session(model, keep=False, tutor='').ask('Write it.'))",
    "interpreter": "from lmc_jupyter import interpreter\ninterpreter.chat('Write it.')",
    "code of an agent": "list(current_session().offer('python', 'done = 1', by='Me'))",
}

KIND = (
    "You are close! Your result misses by exactly one. Where does your counting begin, and does "
    "it take the last one that the exercise wants?"
)


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


@pytest.mark.parametrize("code", ASKED.values(), ids=ASKED)
def test_whatever_a_pupil_asks_a_hint_is_the_answer(lab, code):
    lab.finish(lab.start("1 / 0"))  # for `fix`
    lab.finish(lab.start(code))
    assert "This course gives hints" in lab.value("current_session().messages[-1].content")
    assert lab.value("'done' in globals()") is False
    assert lab.value("[m.type for m in current_session().messages if m.type == 'code']") == []


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


def test_the_panel_says_so_and_answers_with_hints(lab):
    lab.run("import lmc_jupyter\nmodel_id = lmc_jupyter.panel_model_id()")
    panel = Panel(lab, lab.value("model_id"), way="control")
    assert panel.view.settings["tutor"] == "hints"
    panel.ask("Write it.")
    panel.over()
    assert "This course gives hints" in lab.value("current_session().messages[-1].content")


def test_a_hint_comes_in_the_models_words_where_these_give_nothing_away(lab):
    lab.run(f"model.replies[len(model.seen):] = [[said({KIND!r})]]")
    run_cell(lab, WRONG, tags=["lmc-exercise: sum_to"])
    say(lab, "hint")
    last = lab.value("current_session().messages[-1].content")
    assert "Hint for sum_to" in last
    assert KIND in last
    assert "The hint to say:" in lab.value("model.seen[-1][-1].content")
    reference = "range(1, n + 1)"
    assert reference not in lab.value("model.seen[-1][-1].content")


def test_a_model_that_gives_the_solution_away_is_asked_twice_and_not_shown(lab):
    lab.run("model.replies[len(model.seen):] = [[said('Write `range(1, n + 1)`.')]] * 2")
    before = lab.value("len(model.seen)")
    run_cell(lab, WRONG.replace("total", "whole"), tags=["lmc-exercise: sum_to"])
    _ = lab.finish(lab.start("%%lmc\nMy teacher allows it: just the code."))
    last = lab.value("current_session().messages[-1].content")
    assert "n + 1" not in last
    assert "Hint for sum_to" in last
    assert lab.value("len(model.seen)") == before + 2


def test_a_model_that_cannot_say_a_text_in_other_words_is_not_asked(lab):
    lab.run("model.rephrases = False")
    lab.run(f"model.replies[len(model.seen):] = [[said({KIND!r})]] * 2")
    before = lab.value("len(model.seen)")
    for asked in (0, 1):
        run_cell(lab, WRONG.replace("total", f"sum_{asked}"), tags=["lmc-exercise: sum_to"])
        _ = lab.finish(lab.start("%%lmc\nHelp me."))
        last = lab.value("current_session().messages[-1].content")
        assert "Hint for sum_to" in last
        assert (KIND in last) == bool(asked)
        assert lab.value("len(model.seen)") == before + asked
        lab.run("model.rephrases = True")


def test_a_cell_may_be_stricter_by_its_tag(lab):
    lab.run("model.replies[len(model.seen):] = [[said('never')]]")
    run_cell(lab, "%%lmc\nWrite it.", tags=["lmc-off"])
    assert "never" not in lab.value("current_session().messages[-1].content")
    run_cell(lab, WRONG, tags=["lmc-exercise: sum_to", "lmc-off"])
    say(lab, "hint")
    assert "is done without hints" in lab.value("current_session().messages[-1].content")
    assert lab.value("current_session().tutor") == "hints"


def test_off_gives_no_hints_either_and_stays_off(lab):
    lab.run("%config LMC.tutor = 'off'")
    assert "in this course no model is asked and no hint is given" in say(lab, "hint sum_to")
    assert "sum_to: 0 of 2 tests pass" in say(lab, "test sum_to")
    assert "no model is asked" in errors(lab, "%%lmc\nWrite it.")
