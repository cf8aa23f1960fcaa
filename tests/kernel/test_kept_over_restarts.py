"""Conversations outlive real kernels: without a panel, of one notebook, of an older version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

SET_UP = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
%load_ext lmc_jupyter
from lmc_jupyter import current_session
from scripted import ScriptedModel, code, said
session = current_session()
texts = lambda: [each.content for each in session.messages]
"""


def begun(lab: Any) -> Any:
    lab.run(SET_UP)
    return lab


def test_a_restart_goes_on_in_cells_too(make_frontend):
    lab = begun(make_frontend())
    assert lab.value("texts()") == []
    lab.run("session.choose_model(ScriptedModel([said('First.')]))")
    lab.run("%%lmc\nOne?")
    before = lab.value("session.journal.id")
    lab.restart()
    begun(lab)
    assert lab.value("texts()[:2]") == ["One?", "First."]
    assert "your variables are gone" in lab.value("texts()[2]")
    assert lab.value("session.journal.id") == before
    lab.run("%reload_ext lmc_jupyter\nsession = current_session()")
    assert lab.value("texts()") == []  # nobody restarted anything


@pytest.mark.long
def test_a_restart_goes_on_with_a_conversation_whose_only_question_was_undone(make_frontend):
    lab = begun(make_frontend())
    lab.run("session.choose_model(ScriptedModel([said('First.')]))")
    lab.run("%%lmc\nOne?")
    lab.run("session.conversation.rename('Mine'); session.undo()")
    before = lab.value("session.journal.id")
    lab.restart()
    begun(lab)
    assert lab.value("texts()") == []
    assert lab.value("[session.journal.id, session.journal.title]") == [before, "Mine"]


@pytest.mark.long
def test_another_days_kernel_of_the_notebook_is_offered_its_conversation(make_frontend):
    env = {"JPY_SESSION_NAME": "work/Ünter such.ipynb"}
    lab = begun(make_frontend(env=env))
    lab.run("session.choose_model(ScriptedModel([said('First.')]))")
    lab.run("%%lmc\nOne?")
    id_ = lab.value("session.journal.id")
    lab.close()
    other = begun(make_frontend(env=env))
    assert other.value("texts()") == []
    assert other.value("session.journal.notebook") == env["JPY_SESSION_NAME"]
    assert other.value("session.journal.earlier().id") == id_
    other.shows(other.start("%lmc"), f"%lmc open {id_}")
    other.run(f"%lmc open {id_}")
    assert other.value("texts()") == ["One?", "First."]
    assert other.value("session.journal.earlier() is None") is True


@pytest.mark.long
def test_after_a_restart_an_export_has_the_cells_that_its_code_needs(make_frontend, tmp_path):
    path = tmp_path / "mine.ipynb"
    lab = begun(make_frontend(env=of_own(tmp_path, str(path))))
    lab.run("unsent = 20")
    lab.run(
        "session.configure(context='none')\nblocks = [code('print(unsent)'), code('print(sent)')]"
    )
    lab.run(
        "session.choose_model(ScriptedModel([blocks[0]], [said('20.')], [blocks[1]], [said('1.')]))"
    )
    lab.run("%%lmc --auto-run\nGo.")
    lab.run("session.configure(context='notebook')")
    lab.run("sent = 1\nprint('a line')")
    lab.run("%%lmc --auto-run\nGo on.")
    lab.restart()
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 2}
    saved = [cell | {"source": "unsent = 20"}, cell | {"source": "sent = 'another'"}]
    path.write_text(
        json.dumps({"cells": saved, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    begun(lab)
    lab.run(f"remarks = session.save({str(tmp_path / 'talk.ipynb')!r})")
    assert not [each for each in lab.value("remarks") if "does not run alone" in each]
    cells = json.loads((tmp_path / "talk.ipynb").read_text())["cells"]
    codes = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    assert codes == ["unsent = 20", "print(unsent)", "sent = 1\nprint('a line')", "print(sent)"]


def of_own(tmp_path: Path, notebook: str) -> dict[str, str]:
    """The environment of a notebook's kernel, in a data directory of the test's own."""
    none = dict.fromkeys(("LMC_MODEL", "LMC_API_KEY", "LMC_API_BASE"), "")
    return {"JPY_SESSION_NAME": notebook, "XDG_DATA_HOME": str(tmp_path), **none}


def test_a_notebook_remembers_its_model_over_a_restart_and_not_its_key(make_frontend, tmp_path):
    lab = begun(make_frontend(env=of_own(tmp_path, "work/a.ipynb")))
    lab.run("%lmc model anthropic/claude-sonnet-5")
    lab.run("from lmc_jupyter import keys; keys.hold('ANTHROPIC_API_KEY', 'sk-gone-123456')")
    lab.restart()
    loaded = lab.start(SET_UP)
    lab.finish(loaded)
    assert "Model: anthropic/claude-sonnet-5 (remembered for this notebook)" in lab.text(loaded)
    assert lab.value("session.choice.spec") == "anthropic/claude-sonnet-5"
    lab.run("__import__('os').environ.pop('ANTHROPIC_API_KEY', None)")
    asked = lab.start("%%lmc\nWho are you?")
    lab.finish(asked)
    assert "there is no API key for anthropic/claude-sonnet-5" in str(lab.of(asked))
    assert b"sk-gone" not in b"".join(
        each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()
    )


@pytest.mark.long
def test_a_model_that_is_kept_answers_in_other_notebooks_that_have_no_other(
    make_frontend, tmp_path
):
    lab = begun(make_frontend(env=of_own(tmp_path, "work/a.ipynb")))
    lab.run("%lmc model openai/kept --api-base http://127.0.0.1:9/v1 --keep")
    lab.run("%lmc model openai/of-a")
    lab.restart()
    begun(lab)
    assert lab.value("(session.choice.spec, session.choice.api_base)") == ("openai/of-a", None)
    lab.close()
    other = make_frontend(env=of_own(tmp_path, "work/b.ipynb"))
    loaded = other.start(SET_UP)
    other.finish(loaded)
    assert "Model: openai/kept (remembered for all notebooks)" in other.text(loaded)
    where = ("openai/kept", "http://127.0.0.1:9/v1")
    assert other.value("(session.choice.spec, session.choice.api_base)") == where


@pytest.mark.long
def test_the_settings_of_a_notebooks_model_stay_with_it_over_a_restart(make_frontend, tmp_path):
    lab = begun(make_frontend(env=of_own(tmp_path, "work/a.ipynb")))
    lab.run("%config LMC.tools = False")
    lab.run("%lmc model openai/mine --api-base http://127.0.0.1:9/v1")
    lab.run("%lmc config vision True")
    lab.run("%lmc config options {'context_window': 128000, 'api_key': 'sk-gone-1234567890'}")
    lab.restart()
    begun(lab)
    lab.run("from lmc_jupyter.frontends.config.settings import LMC; mine = LMC.instance()")
    assert lab.value("(session.choice.spec, mine.vision, mine.tools, mine.options)") == (
        "openai/mine", True, False, {"context_window": 128000},
    )  # fmt: skip
    assert lab.value("session.choice.options['vision']") is True
    (saved,) = (each for each in tmp_path.rglob("models/*.json"))
    assert "sk-gone" not in saved.read_text()
    lab.run("%lmc config vision None")
    lab.restart()
    begun(lab)
    lab.run("from lmc_jupyter.frontends.config.settings import LMC; mine = LMC.instance()")
    assert lab.value("(mine.vision, mine.tools)") == (None, False)


def test_the_notebook_that_vs_code_names(make_frontend):
    lab = begun(make_frontend())
    assert lab.value("session.journal.notebook") == ""
    lab.run("__vsc_ipynb_file__ = '/home/me/a.ipynb'")
    assert lab.value("session.journal.notebook") == "/home/me/a.ipynb"
