"""`ask = "changes"` in a live kernel: in the panel and in a cell, what the person is asked and what
runs; and code that does more than could be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from panel_view import Panel

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

TESTS = Path(__file__).parents[1]

SET_UP = f"""
import sys, os
sys.path.insert(0, {str(TESTS)!r})
import lmc_jupyter
%load_ext lmc_jupyter
model_id = lmc_jupyter.panel_model_id()
from lmc_jupyter import current_session
from lmc_jupyter.computer import effects
from lmc_jupyter.content.effect import Effect
from scripted import ScriptedModel, code, said
session = current_session()
look = effects.find_effects

def scripted(*codes):
    session.reset()
    session.choose_model(ScriptedModel(*[[code(each)] for each in codes], [said('ok')]))

def blind(is_blind):
    'The look at code sees nothing in it.'
    nothing = lambda *_: (Effect('reads', ''),)
    effects.find_effects = nothing if is_blind else look
"""


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def out(lab, tmp_path):
    """The file that the code makes, in the kernel's directory."""
    lab.run(f"os.chdir({str(tmp_path)!r})")
    return tmp_path / "out"


@pytest.fixture
def panel(lab):
    lab.run("%config LMC.ask = 'changes'\nblind(False)")
    it = Panel(lab, lab.value("model_id"), way="control")
    yield it
    if it.view.state["state"] not in ("idle", "done", "stopped", "failed"):
        it.tell({"kind": "stop"})
    lab.run("assert session.wait(60); session.reset()\n%config LMC.ask = 'always'")


def begin(lab, panel, *codes):
    lab.run(f"scripted(*{codes!r})")
    panel.ask()


def fates(panel):
    """What became of each block: "ran unasked", …"""
    return [each["fate"] for each in panel.view.records if each.get("fate")]


def console(panel):
    return "".join(
        each["message"]["content"]
        for each in panel.view.records
        if each.get("message", {}).get("type") == "console"
    )


def test_what_makes_new_names_runs_unasked_and_what_changes_one_is_asked_for(lab, panel):
    lab.run("mine = [1]")
    begin(lab, panel, "new = 6 * 7\nprint(new)", "mine.append(2)")
    question = panel.until(lambda: panel.view.ask, "a question")
    assert lab.value("new") == 42
    assert lab.value("mine") == [1]
    assert question["code"] == "mine.append(2)"
    panel.tell({"kind": "decision", "proposal": question["proposal"],
                "digest": question["digest"], "decision": "run"})  # fmt: skip
    panel.over()
    assert lab.value("mine") == [1, 2]
    assert fates(panel) == ["ran unasked", "ran"]
    assert panel.view.settings["asks"] == "changes"


@pytest.mark.parametrize(("word", "is_there"), [("y", True), ("n", False), (None, False)])
def test_what_could_not_be_seen_waits_before_it_happens(lab, panel, out, word, is_there):
    lab.run("blind(True)")
    begin(lab, panel, "with open('out', 'w') as file:\n    file.write('1')\nafter = 1")
    question = panel.until(lambda: panel.view.input, "the question of the code")
    assert "wants to write out" in question["prompt"]
    assert not out.exists()
    assert [word for word, _ in question["choices"]] == ["y", "a", "n"]
    panel.tell({"kind": "input", "input": question["id"], "text": word})
    panel.over()
    assert "wants to write" not in console(panel), "the question is not the code's output"
    assert out.exists() is is_there
    assert ("which was not allowed" in console(panel)) is not is_there


def test_a_name_that_was_changed_unseen_makes_the_next_block_wait(lab, panel):
    lab.run("mine = [1]; blind(True)")
    begin(lab, panel, "mine.append(2)", "other = 1")
    question = panel.until(lambda: panel.view.ask, "a question")
    assert question["warning"] == "while the block before ran unasked, `mine` was changed"
    assert question["code"] == "other = 1"
    panel.tell({"kind": "stop"})
    panel.over("stopped")


def test_a_file_that_native_code_wrote_is_said_on_its_card_and_makes_the_next_block_wait(
    lab, panel, out
):
    lab.run("blind(True)")
    write = "import polars as pl\npl.DataFrame({'a': [1]}).write_csv('out')"
    begin(lab, panel, write, "other = 1")
    question = panel.until(lambda: panel.view.ask, "a question")
    assert out.exists()
    assert question["warning"] == "while the block before ran unasked, `out` was made"
    assert [each["names"]["breach"] for each in panel.view.records if each.get("names")] == [
        "`out` was made"
    ]
    panel.tell({"kind": "stop"})
    panel.over("stopped")


@pytest.mark.parametrize("code", ["new = 6 * 7", "mine.append(2)"])
def test_code_that_waits_is_judged_anew_when_the_person_says_when_they_are_asked(lab, panel, code):
    lab.run("%config LMC.ask = 'always'\nmine = [1]\nnew = 0\ndel new")
    begin(lab, panel, code)
    before = panel.until(lambda: panel.view.ask, "a question")
    lab.run("%config LMC.ask = 'changes'")
    if code.startswith("new"):
        panel.over()
        assert fates(panel) == ["ran unasked"]
        return
    is_new = lambda: panel.view.ask and panel.view.ask["proposal"] != before["proposal"]  # noqa: E731
    panel.until(is_new, "the question again")
    question = panel.view.ask
    assert fates(panel) == ["waits"]
    panel.tell({"kind": "decision", "proposal": question["proposal"],
                "digest": question["digest"], "decision": "run"})  # fmt: skip
    panel.over()
    assert lab.value("mine") == [1, 2]


def test_names_that_the_conversation_made_are_bound_anew_without_a_question(lab, panel):
    lab.run("mine = [1]")
    begin(lab, panel, "own = mine", "own = [2]", "own = mine", "own.append(2)")
    question = panel.until(lambda: panel.view.ask, "a question")
    assert question["code"] == "own.append(2)"
    assert lab.value("mine") == [1]
    panel.tell({"kind": "stop"})
    panel.over("stopped")


def test_in_a_cell_the_same_is_asked_on_the_keyboard(lab, panel, out):
    lab.run("blind(True)")
    lab.run("scripted(\"open('out', 'w').close()\")")
    cell = lab.start("%%lmc\nGo.")
    request = lab.client.get_stdin_msg(timeout=60)
    assert "wants to write out" in request["content"]["prompt"]
    lab.client.input("n")
    lab.finish(cell)
    assert not out.exists()


def test_where_nobody_can_be_asked_it_stops_with_a_sentence(lab, panel, out):
    lab.run("blind(True)")
    lab.run("scripted(\"open('out', 'w').close()\")")
    cell = lab.client.execute("%%lmc\nGo.", allow_stdin=False)
    lab.finish(cell)
    assert not out.exists()
    assert "which was not allowed" in lab.value("session.messages[-2].content")
