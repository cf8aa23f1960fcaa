"""A proposed cell in a real JupyterLab: its three buttons, and what the model reads of a press."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from panel_page import Panel
from playwright.sync_api import Locator, expect
from test_accessible import themes

pytestmark = pytest.mark.browser

CELLS = "window.jupyterapp.shell.currentWidget.content.widgets"
OLD, NEW = "rate = 3\nhalf = rate / 0", "rate = 3\nhalf = rate / 2"


def source(chat: Panel, at: int) -> str:
    return str(chat.page.evaluate(f"at => {CELLS}[at].model.sharedModel.getSource()", at))


def number(chat: Panel, at: int) -> int:
    return int(chat.page.evaluate(f"at => {CELLS}[at].model.executionCount", at))


def propose(chat: Panel, cell: object, code: str = NEW) -> Locator:
    """The card of a proposal for this cell, once the answer is over."""
    more = f"'user', start=True, end=True, cell={cell}"
    chat.do(
        "from lmc_jupyter import Chunk\n"
        f"model = script([said('So:'), Chunk('assistant', 'code', 'python', {code!r}, {more})],"
        " [said('It is yours.')], [said('Thanks.')])"
    )
    chat.ask("Write it again.")
    chat.state("done")
    assert chat.value("current_session().pending is None")
    return chat.record("code").last


def news(chat: Panel) -> str:
    """What the next request says of the press."""
    chat.ask("And now?")
    chat.state("done")
    return "\n".join(chat.value("[str(each.content) for each in model.seen[-1][-2:]]"))


def origin(chat: Panel, at: int) -> dict[str, Any]:
    """What the cell says of where its text came from; its digest is that of the text."""
    found = chat.page.evaluate(f"at => {CELLS}[at].model.getMetadata('lmc') ?? null", at)
    assert found.pop("sha256") == hashlib.sha256(source(chat, at).encode()).hexdigest()
    assert found.pop("turn") in chat.value("[each.id for each in current_session().turns]")
    return found


SHOWN = {"model": "ScriptedModel", "decision": "shown", "edited": False}


def test_insert_below_makes_a_cell_and_runs_nothing(chat: Panel) -> None:
    before = chat.page.evaluate(f"() => {CELLS}.length")
    card = propose(chat, None)
    expect(card).to_contain_text("Proposal for a cell")
    expect(card.get_by_role("button", name="Replace")).to_have_count(0)
    themes(chat, ".lmc-offers")
    card.get_by_role("button", name="Insert below").click()
    expect(card).to_contain_text("inserted as a cell")
    assert chat.page.evaluate(f"() => {CELLS}.length") == before + 1
    at = chat.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex")
    assert source(chat, at) == NEW
    assert origin(chat, at) == SHOWN
    assert chat.page.evaluate(f"at => {CELLS}[at].model.executionCount", at) is None
    assert "a new cell: they inserted it as a new cell" in news(chat)
    assert chat.value("'half' in globals()") is False


def test_replace_shows_the_difference_and_one_undo_brings_the_old_text_back(chat: Panel) -> None:
    at = chat.run(OLD)
    chat.notebook.wait_done(at)
    n = number(chat, at)
    card = propose(chat, n)
    expect(card).to_contain_text(f"Proposal for In [{n}]")
    card.get_by_role("button", name=f"Replace cell {n}…").click()
    dialog = chat.page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Replace cell {n}?")
    expect(dialog.locator(".lmc-diff")).to_contain_text("half = rate / 2")
    dialog.get_by_role("button", name="Replace", exact=True).click()
    expect(card).to_contain_text("cell replaced")
    assert source(chat, at) == NEW
    assert origin(chat, at) == SHOWN
    chat.page.keyboard.press("Control+z")
    expect(chat.notebook.cell(at).locator(".cm-content")).to_contain_text("rate / 0")
    assert f"In [{n}]: they put it in the place of the cell." in news(chat)


def test_replace_and_run_runs_the_cell_of_the_person(chat: Panel) -> None:
    at = chat.run(OLD)
    chat.notebook.wait_done(at)
    n = number(chat, at)
    card = propose(chat, n)
    card.get_by_role("button", name="Replace and run…").click()
    dialog = chat.page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Replace", exact=True)).to_have_count(0)
    dialog.get_by_role("button", name="Replace and run").click()
    expect(card).to_contain_text("cell replaced and run")
    chat.page.wait_for_function(f"([at, n]) => {CELLS}[at].model.executionCount > n", arg=[at, n])
    chat.notebook.wait_done(at)
    assert source(chat, at) == NEW
    assert chat.value("half") == 1.5
    assert "and ran the cell" in news(chat)


def test_a_cell_that_has_run_again_since_is_still_found(chat: Panel) -> None:
    at = chat.run("first = 1")
    chat.notebook.wait_done(at)
    n = number(chat, at)
    chat.notebook.run(at)
    chat.page.wait_for_function(f"([at, n]) => {CELLS}[at].model.executionCount > n", arg=[at, n])
    card = propose(chat, n, "first = 2")
    card.get_by_role("button", name=f"Replace cell {n}…").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Replace", exact=True).click()
    expect(card).to_contain_text("cell replaced")
    assert source(chat, at) == "first = 2"


def test_for_a_cell_that_is_not_there_the_code_is_copied(chat: Panel) -> None:
    card = propose(chat, 9_999)
    card.get_by_role("button", name="Replace cell 9999…").click()
    chat.noticed("the code was copied instead")
    assert chat.page.evaluate("() => navigator.clipboard.readText()") == NEW


def test_fix_is_answered_by_a_proposal_that_replaces_the_cell(chat: Panel) -> None:
    at = chat.run(OLD)
    chat.notebook.wait_done(at)
    n = number(chat, at)
    chat.do(
        "from lmc_jupyter import Chunk\n"
        f"model = script([Chunk('assistant', 'code', 'python', {NEW!r}, 'user', end=True)],"
        " [said('By zero.')])"
    )
    chat.notebook.cell(at).get_by_role("button", name="Fix", exact=True).click()
    chat.state("done")
    card = chat.record("code").last
    card.get_by_role("button", name=f"Replace cell {n}…").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Replace", exact=True).click()
    expect(card).to_contain_text("cell replaced")
    assert source(chat, at) == NEW


# In the output of a cell --------------------------------------------------------------------------


def test_below_a_cell_that_asked_the_same_buttons_put_it_into_the_notebook(chat: Panel) -> None:
    chat.page.evaluate(  # all of it is to be in sight
        "() => { const { sharedModel } = window.jupyterapp.shell.currentWidget.content.model;"
        " sharedModel.deleteCellRange(0, sharedModel.cells.length - 1); }"
    )
    at = chat.run(OLD)
    chat.notebook.wait_done(at)
    n = number(chat, at)
    more = f"'user', start=True, end=True, cell={n}"
    chat.do(
        "from lmc_jupyter import Chunk\n"
        f"model = script([said('So:'), Chunk('assistant', 'code', 'python', {NEW!r}, {more})],"
        " [said('It is yours.')], [said('Thanks.')])"
    )
    asked = chat.run("%%lmc\nWrite it again.")
    chat.notebook.wait_done(asked)
    output = chat.notebook.cell(asked)
    expect(output).to_contain_text(f"python, proposed for In [{n}], not run here")
    output.get_by_role("button", name="Insert below").scroll_into_view_if_needed()
    themes(chat, ".lmc-proposal-row")
    output.get_by_role("button", name=f"Replace cell {n}…").click()
    dialog = chat.page.get_by_role("dialog")
    expect(dialog.locator(".lmc-diff")).to_contain_text("half = rate / 2")
    dialog.get_by_role("button", name="Replace", exact=True).click()
    expect(chat.record("code").last).to_contain_text("cell replaced")
    assert source(chat, at) == NEW
    output.get_by_role("button", name="Insert below").click()
    expect(chat.record("code").last).to_contain_text("inserted as a cell")
    assert source(chat, asked + 1) == NEW
    assert "they inserted it as a new cell" in news(chat)
    chat.run("%lmc reset")
    output.get_by_role("button", name="Insert below").click()
    chat.noticed("no longer in the conversation")
