"""`%lmc` where people use it: a notebook's kernel, its completion, and papermill."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from panel_view import Panel

from lmc_jupyter.frontends.magic.commands import COMMANDS

pytestmark = pytest.mark.kernel

TESTS = Path(__file__).parents[1]

SET_UP = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
%load_ext lmc_jupyter
from lmc_jupyter import current_session
from scripted import ScriptedModel, code, said
session = current_session()
number = 41
"""


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def offers(lab):
    """What the kernel offers at the end of a text, as a front end would put it in."""

    def complete(text: str) -> list[str]:
        request = lab.send("complete_request", {"code": text, "cursor_pos": len(text)})
        reply = lab.reply(request)["content"]
        assert reply["status"] == "ok"
        start, end = reply["cursor_start"], reply["cursor_end"]
        return [text[:start] + each + text[end:] for each in reply["matches"]]

    return complete


def test_a_kernel_completes_the_commands_and_nothing_else(offers):
    assert sorted(offers("%lmc ")) == sorted(f"%lmc {command.name}" for command in COMMANDS)
    assert offers("%lmc prof") == ["%lmc profile"]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%%lmc --au", ["%%lmc --auto-run", "%%lmc --audio"]),
        ("%%lmc --auto-run --im", ["%%lmc --auto-run --image"]),
        ("%%lmc\nWhat is @numb", ["%%lmc\nWhat is @number"]),
        ("%lmc config max_tu", ["%lmc config max_turns"]),
        ("%lmc ask What is @numb", ["%lmc ask What is @number"]),
        ("1\n%lmc help expl", ["1\n%lmc help explain"]),
    ],
)
def test_a_kernel_completes_words_and_options(offers, text, offered):
    assert offers(text) == offered


@pytest.mark.long
def test_completion_of_python_is_as_it_was(offers):
    assert "session" in offers("sess")
    assert not [each for each in offers("prin") if "lmc" in each]


def test_the_types_that_a_front_end_shows_say_what_each_is(lab):
    request = lab.send("complete_request", {"code": "%lmc re", "cursor_pos": 7})
    reply = lab.reply(request)["content"]
    told = {each["text"]: each["type"] for each in reply["metadata"]["_jupyter_types_experimental"]}
    assert told["retry"] == "ask the last question again"


def test_a_question_mark_at_the_end_of_a_line_is_a_question(lab):
    lab.run("session.reset(); session.choose_model(ScriptedModel([said('It is 41.')]))")
    cell = lab.start("%lmc ask What is @number?")
    lab.finish(cell)
    assert lab.status == "ok"
    asked, answered = lab.value("[each.content for each in session.messages]")
    assert asked.startswith("What is @number?\n\n")
    assert asked.endswith("\nnumber = 41")
    assert answered == "It is 41."


@pytest.fixture
def panel(lab):
    return Panel(lab, lab.value("__import__('lmc_jupyter').panel_model_id()"))


def values_of_first(panel: Panel) -> str:
    """What the panel folds below the first question: the values of its @names."""
    return panel.view.records[0]["values"]


def test_the_panel_puts_values_in_shows_them_and_puts_them_in_anew(lab, panel):
    lab.run("session.reset(); session.choose_model(ScriptedModel([said('A.')], [said('B.')]))")
    panel.ask("What is @number, me@number.com?")
    panel.over()
    assert panel.texts() == ["What is @number, me@number.com?", "A."]
    assert values_of_first(panel).endswith("\nnumber = 41")
    lab.run("number = 42")
    turn = panel.view.turns[0]["id"]
    panel.begin("edit", turn=turn, text=f"And {panel.texts()[0]}")
    panel.over()
    assert panel.texts() == ["And What is @number, me@number.com?", "B."]
    assert values_of_first(panel).endswith("\nnumber = 42")
    lab.run("number = 41")


def test_the_panel_is_told_every_command_but_those_for_cells_with_its_states_and_languages(panel):
    tables = panel.view.tables
    assert [each["name"] for each in tables["commands"]] == [
        each.name for each in COMMANDS if each.name not in ("ask", "check", "panel")
    ]
    told = {each["name"]: each for each in tables["commands"]}
    assert told["config"]["takes"] == "NAME VALUE"
    assert told["undo"] == {
        "name": "undo", "takes": "", "does": "remove the last question and its answer", "also": [],
    }  # fmt: skip
    assert told["reset"]["also"] == ["new", "clear"]
    assert tables["states"]["waiting"] == {"label": "Waiting for your decision", "over": False}
    assert "bash" in tables["languages"]["shell"]


def test_an_unknown_name_in_braces_is_refused_in_the_panel(lab, panel):
    lab.run("session.reset(); session.choose_model(ScriptedModel([said('A.')]))")
    assert "no variable 'nobody'" in panel.refused("ask", text="What is {{nobody}}?")
    assert lab.value("session.messages == []")


def test_a_command_of_the_panel_that_cannot_ask_says_why(lab, panel):
    lab.run("session.reset(); session.choose_model(ScriptedModel([said('A.')]))")
    assert "no variable 'nobody'" in panel.refused("command", line="/ask What is {{nobody}}?")
    assert lab.value("session.messages == []")


def test_commands_of_the_panel_ask_too(lab, panel):
    lab.run("session.reset(); session.choose_model(ScriptedModel([said('A.')], [said('B.')]))")
    panel.value("command", line="/ask What is @number?")
    panel.over()
    assert panel.texts()[-1] == "A."
    assert values_of_first(panel).endswith("\nnumber = 41")
    panel.value("command", line="retry")
    panel.until(lambda: panel.texts()[-1:] == ["B."], "the second answer")
    panel.over()
    lab.run("double = lambda x: 2 * x  # {{nobody}}")
    panel.value("command", line="explain double")
    panel.until(lambda: "No more to say." in panel.texts(), "the answer")
    panel.over()


def test_fix_sends_the_cell_that_failed(lab):
    lab.run("session.reset(); session.choose_model(ScriptedModel([said('Divide by one.')]))")
    lab.finish(lab.start("top = 3\ntop / 0"))
    assert lab.status == "error"
    lab.run("%lmc fix")
    asked = lab.value("session.messages[0].content")
    assert "top = 3\ntop / 0" in asked
    assert "ZeroDivisionError" in asked
    assert "ipykernel" not in asked


def test_help_is_printed(lab):
    cell = lab.start("%lmc help")
    lab.finish(cell)
    for command in COMMANDS:
        if command.name != "state":
            assert f"%lmc {command.name}" in lab.text(cell)


def test_a_key_is_asked_for_unseen_and_never_shown(lab):
    key = "sk-" + "k" * 30
    cell = lab.start("%lmc key SOME_API_KEY", allow_stdin=True)
    request = lab.client.get_stdin_msg(timeout=60)
    assert request["content"] == {"prompt": "SOME_API_KEY: ", "password": True}
    lab.client.input(key)
    messages = lab.finish(cell)
    assert "in memory until this kernel ends" in lab.text(cell)
    assert key not in str(messages)
    shown = lab.value("__import__('lmc_jupyter.keys').keys.look_up('SOME_API_KEY')"
                      ".__repr__()")  # fmt: skip
    assert shown == "<secret>"
    lab.run("%lmc key SOME_API_KEY --forget")


def test_where_nobody_can_be_asked_there_is_no_key(lab):
    cell = lab.start("%lmc key SOME_API_KEY", allow_stdin=False)
    messages = lab.finish(cell)
    assert lab.status == "error"
    assert "put it into the environment" in str(messages)


CELLS = (
    "%load_ext lmc_jupyter",
    "from lmc_jupyter import current_session\nfrom scripted import ScriptedModel, code, said\n"
    "x = 41\ncurrent_session().choose_model(ScriptedModel([code('y = 1')], [said('One.')]))",
    "%lmc ask What is @x?",
    "%lmc",
    "%lmc save talk.json",
    "%lmc key SOME_API_KEY",
)


def test_papermill_runs_commands_and_nothing_unasked(tmp_path, monkeypatch):
    papermill = pytest.importorskip("papermill")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS.parent), str(TESTS), before]))
    monkeypatch.delenv("LMC_MODEL", raising=False)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book.metadata["kernelspec"] = kernel
    nbformat.write(book, tmp_path / "in.ipynb")
    with pytest.raises(papermill.PapermillExecutionError, match="put it into the environment"):
        papermill.execute_notebook(
            str(tmp_path / "in.ipynb"), str(tmp_path / "out.ipynb"),
            progress_bar=False, cwd=str(tmp_path),
        )  # fmt: skip
    done = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    asked, state, saved = [
        str(cell.outputs) for cell in done.cells if cell.source.startswith("%lmc")
    ][:3]
    assert "nobody can be asked here" in asked
    assert "One." in asked
    assert "Conversation: " in state
    assert "Wrote talk.json" in saved
    assert "x = 41" in (tmp_path / "talk.json").read_text("utf-8")
