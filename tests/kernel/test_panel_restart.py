"""The panel's conversation outlives its kernel: a restart, and a kernel that died."""

from __future__ import annotations

import re
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
from lmc_jupyter import current_session
from scripted import ScriptedModel, code, said
session = current_session()
"""


def begun(lab: Any) -> Panel:
    lab.run(SET_UP)
    return Panel(lab, lab.value("model_id"))


def started_again(lab: Any) -> Panel:
    lab.restart()
    return begun(lab)


def test_a_restart_keeps_the_conversation_and_says_that_variables_are_gone(make_frontend):
    lab = make_frontend()
    panel = begun(lab)
    assert panel.texts() == []
    lab.run("session.choose_model(ScriptedModel([said('First.')]))")
    panel.ask("One?")
    panel.over()
    before = panel.texts()
    assert before == ["One?", "First."]
    [turn] = panel.view.turns
    panel = started_again(lab)
    assert panel.texts()[:2] == before
    turn["seconds"] = pytest.approx(turn["seconds"], abs=0.011)  # it is kept by thousandths
    assert [{**each, "id": ""} for each in panel.view.turns] == [{**turn, "id": ""}]
    assert "your variables are gone" in panel.texts()[2]
    assert panel.texts()[3].startswith("Model changed from ScriptedModel to Qwen")
    lab.run("session.choose_model(ScriptedModel([said('Second.')]))")
    panel.ask("Two?")
    panel.over()
    panel = started_again(lab)
    kept = [text for text in panel.texts() if not re.search("restarted|Model changed", text)]
    assert kept == ["One?", "First.", "Two?", "Second."]
    lab.run("session.reset()")
    assert started_again(lab).texts() == []


def test_control_where_nothing_was_written_a_restart_shows_nothing(make_frontend, record_property):
    lab = make_frontend()
    panel = begun(lab)
    lab.run("session.choose_model(ScriptedModel([said('First.')]))")
    panel.ask("One?")
    panel.over()
    before = panel.texts()
    lab.run(
        "from lmc_jupyter.conversation.conversations import Conversations\n"
        "Conversations().path(session.journal.id).unlink()"
    )
    kept = [text for text in started_again(lab).texts() if text in before]
    assert kept == []
    record_property("figure", f"without its file {len(kept)} of {len(before)} messages are shown")


def test_after_a_restart_it_is_still_said_who_let_each_block_run_and_how_long(make_frontend):
    lab = make_frontend()
    panel = begun(lab)
    blocks = ["x = 1", "y = x", "z = y"]
    replies = ", ".join(f"[code({each!r}, end=True)]" for each in blocks)
    lab.run(f"session.choose_model(ScriptedModel({replies}, [said('Done.')]))")
    lab.run("session.configure(ask='changes')")
    panel.ask("Go.")
    panel.over()
    lab.run("session.configure(ask='always')")
    lab.run("session.choose_model(ScriptedModel([code('w = 1', end=True)], [said('Done.')]))")
    panel.ask("More.")
    panel.decide(panel.question())
    panel.over()

    def fates(panel: Panel) -> list[tuple[str, float]]:
        messages = [each for each in panel.view.records if "message" in each]
        blocks = [each for each in messages if each["message"]["type"] == "code"]
        return [(each["fate"], each["seconds"]) for each in blocks]

    before = fates(panel)
    assert [fate for fate, _ in before] == ["ran unasked"] * 3 + ["ran"]
    assert all(seconds > 0 for _, seconds in before)
    assert fates(started_again(lab)) == before


@pytest.mark.long
def test_code_that_ends_the_kernel_is_kept_and_not_asked_again(make_frontend):
    lab = make_frontend()
    panel = begun(lab)
    deadly = "import os; os._exit(1)"
    lab.run(f"session.choose_model(ScriptedModel([said('I leave.'), code({deadly!r})]))")
    panel.ask("Go.")
    question = panel.question()
    panel.way = "comm"  # there will be nobody to reply
    panel.decide(question)
    lab.manager.provisioner.process.wait()
    panel = started_again(lab)
    assert panel.texts()[:3] == ["Go.", "I leave.", deadly]
    assert "restarted" in panel.texts()[-1]
    assert lab.value("session.pending is None") is True
    assert panel.view.ask is None
