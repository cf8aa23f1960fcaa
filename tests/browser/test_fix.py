"""Fix, Explain and Ask at a cell of a real JupyterLab, and the way back into the cell."""

from __future__ import annotations

import pytest
from conftest import Notebook
from model_server import Turn, text
from panel_page import Panel, press
from playwright.sync_api import expect
from test_accessible import themes

pytestmark = pytest.mark.browser

CELLS = "window.jupyterapp.shell.currentWidget.content.widgets"


class Failed:
    """A cell that failed, in the notebook of a panel."""

    def __init__(self, chat, source: str = "rate = 3\nrate / 0") -> None:
        self.chat, self.at = chat, chat.run(source)
        self.cell = chat.notebook.cell(self.at)
        self.cell.locator(".lmc-traceback").wait_for()
        chat.notebook.wait_done(self.at)  # what comes before is aborted

    @property
    def number(self) -> int:
        return self.chat.page.evaluate(f"at => {CELLS}[at].model.executionCount", self.at)

    @property
    def source(self) -> str:
        return self.chat.page.evaluate(f"at => {CELLS}[at].model.sharedModel.getSource()", self.at)

    def press(self, name: str) -> None:
        self.cell.get_by_role("button", name=name, exact=True).click()


@pytest.mark.day
@pytest.mark.parametrize(
    ("button", "asked"),
    [
        ("Fix", "Fix @cell {}, which failed: write the whole cell again."),
        ("Explain", "Explain why @cell {} failed."),
    ],
)
def test_a_button_at_a_traceback_asks_in_the_panel_about_that_cell(chat, button, asked):
    chat.do("model = script([said('There is no zero below.')])")
    failed = Failed(chat)
    failed.press(button)
    chat.state("done")
    expect(chat.record("message", "user")).to_contain_text(asked.format(failed.number))
    expect(chat.record("message", "assistant")).to_contain_text("There is no zero below.")
    part = chat.value("current_session().messages[0].extra['context']['parts'][-1]")
    assert part["title"] == f"In [{failed.number}]"
    assert "ZeroDivisionError: division by zero" in part["content"]


def test_the_buttons_begin_where_the_box_of_the_traceback_does(chat):
    failed = Failed(chat)
    box = failed.cell.locator(".jp-OutputArea-output:has(.lmc-traceback-row)").bounding_box()
    fix = failed.cell.get_by_role("button", name="Fix", exact=True).bounding_box()
    assert fix["x"] == box["x"]


def test_it_opens_the_chat_and_loads_the_extension_where_nobody_has_yet(pages, lab, model_server):
    model_server.turns = [Turn(text("There is no zero below."))]
    page = pages.page()
    settings = {"LMC_MODEL": "openai/some", "OPENAI_API_KEY": "none"}
    settings["OPENAI_API_BASE"] = settings["OPENAI_BASE_URL"] = model_server.base
    before = f"import os\nos.environ.update({settings!r})"
    notebook = pages.visit(page, lab, lab.write("fresh.ipynb", before, "rate = 3\nrate / 0"))
    for at in (0, 1):
        notebook.run(at)
        notebook.wait_done(at)
    notebook.cell(1).get_by_role("button", name="Fix", exact=True).click()
    chat = Panel(page, notebook)
    expect(chat.record("message", "assistant")).to_contain_text("There is no zero below.")
    (question,) = [m for m in model_server.requests[-1].body["messages"] if m["role"] == "user"]
    assert "the whole cell again.\n\n```python\nrate = 3" in str(question["content"])
    assert "ZeroDivisionError: division by zero" in str(question["content"])
    pages.end(page)


def test_they_do_not_stand_where_the_person_stopped_the_cell(chat):
    stopped = Failed(chat, "raise KeyboardInterrupt")
    expect(stopped.cell.locator(".lmc-traceback pre")).to_be_visible()
    expect(stopped.cell.locator(".lmc-traceback-row")).to_be_hidden()


def test_a_cell_with_the_tag_goes_to_no_model(chat):
    chat.do("model = script([said('No.')])")
    failed = Failed(chat, "'canary-word' / 0")
    chat.page.evaluate(f"at => {CELLS}[at].model.setMetadata('tags', ['lmc-hide'])", failed.at)
    failed.press("Fix")
    expect(chat.notice).to_contain_text("this cell has the tag lmc-hide")
    assert chat.value("model.seen") == []


def test_while_an_answer_is_given_fix_waits_in_the_queue(chat):
    chat.do("model = script([code('1', end=True)], [said('Fixed.')])")
    failed = Failed(chat)
    chat.ask("Run one.")
    chat.card.wait_for()
    failed.press("Fix")
    expect(chat.panel.get_by_text(f"Fix @cell {failed.number}, which failed")).to_be_visible()
    chat.press("Don't run")
    expect(chat.record("message", "user").last).to_contain_text("write the whole cell again")
    expect(chat.record("message", "assistant").last).to_contain_text("Fixed.")
    chat.state("done")


def test_ask_in_the_toolbar_of_a_cell_points_at_it_in_the_message(chat):
    at = chat.run("rate = 3")
    chat.notebook.wait_done(at)
    chat.composer.fill("what is it?")
    cell = chat.notebook.cell(at)
    cell.click()
    cell.get_by_role("button", name="Ask the model about this cell").click()
    number = chat.page.evaluate(f"at => {CELLS}[at].model.executionCount", at)
    expect(chat.composer).to_have_value(f"@cell {number} what is it?")
    expect(chat.composer).to_be_focused()
    assert chat.messages() == []


def test_ask_at_a_cell_that_did_not_run_takes_its_text(chat):
    chat.cell("rate = 4")
    chat.notebook.command("lmc:ask")
    expect(chat.composer).to_have_value("\n\n```python\nrate = 4\n```")
    expect(chat.composer).to_be_focused()


# Back into the cell -------------------------------------------------------------------------------


def propose(chat, failed: Failed, fixed: str):
    """Fix is asked, the model answers with this code, and the person does not run it."""
    chat.do(f"model = script([said('So:'), code({fixed!r}, end=True)], [said('As you like.')])")
    failed.press("Fix")
    press(chat.card, "Don't run")
    chat.state("done")
    return chat.record("code")


@pytest.mark.day
def test_the_cell_is_replaced_after_its_change_was_seen_and_one_undo_brings_it_back(chat):
    failed = Failed(chat)
    record = propose(chat, failed, "rate = 3\nrate / 2\n")
    record.get_by_role("button", name="Replace the cell with this code").click()
    dialog = chat.page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Replace cell {failed.number}?")
    lines = dialog.locator(".lmc-diff > div")
    assert lines.locator("> :not([aria-hidden])").all_text_contents() == [
        *("", "rate = 3", "removed: ", "rate / 0", "new: ", "rate / 2")
    ]
    assert failed.source == "rate = 3\nrate / 0"
    themes(chat, ".jp-Dialog")
    dialog.get_by_role("button", name="Replace", exact=True).click()
    expect(failed.cell.locator(".cm-content")).to_contain_text("rate / 2")
    assert failed.source == "rate = 3\nrate / 2"
    expect(failed.cell.locator(".cm-content")).to_be_focused()
    chat.page.keyboard.press("Control+z")
    expect(failed.cell.locator(".cm-content")).to_contain_text("rate / 0")
    assert failed.source == "rate = 3\nrate / 0"
    assert chat.value("rate") == 3


def test_code_that_waits_replaces_the_cell_that_was_asked_about_and_runs_there(chat):
    failed = Failed(chat)
    fixed = "rate = 3\nhalf = rate / 2\n"
    chat.do(f"model = script([code({fixed!r}, end=True)], [said('Good.')])")
    failed.press("Fix")
    chat.card.get_by_role("button", name=f"Replace cell {failed.number}…").click()
    dialog = chat.page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Replace cell {failed.number}?")
    dialog.get_by_role("button", name="Replace and run").click()
    chat.state("done")
    assert failed.source == "rate = 3\nhalf = rate / 2"
    chat.page.wait_for_function(
        "at => !window.jupyterapp.shell.currentWidget.content.widgets[at].model.outputs.length",
        arg=failed.at,
    )
    assert chat.value("half") == 1.5
    told = "This code was not run: the user put this code into the cell and ran it there."
    assert chat.value("model.seen[1][-1].content") == told


def test_what_would_not_be_seen_is_marked_and_cancel_replaces_nothing(chat):
    failed = Failed(chat)
    record = propose(chat, failed, "rate / 2  # \u202e")
    record.get_by_role("button", name="Replace the cell with this code").click()
    expect(chat.page.locator(".lmc-diff-hidden")).to_have_text("⟨U+202E⟩")
    themes(chat, ".jp-Dialog")
    chat.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(chat.page.get_by_role("dialog")).to_have_count(0)
    assert failed.source == "rate = 3\nrate / 0"


def test_a_cell_that_is_gone_is_said_and_the_code_is_copied(chat):
    failed = Failed(chat)
    record = propose(chat, failed, "rate / 2")
    chat.page.evaluate(
        "at => window.jupyterapp.shell.currentWidget.content.model.sharedModel.deleteCell(at)",
        failed.at,
    )
    record.get_by_role("button", name="Replace the cell with this code").click()
    chat.noticed("the code was copied instead")
    assert chat.page.evaluate("() => navigator.clipboard.readText()") == "rate / 2"


# Elsewhere ----------------------------------------------------------------------------------------


def test_axe_finds_nothing_in_the_row_of_buttons(chat):
    Failed(chat)
    themes(chat, ".lmc-traceback-row")


def test_the_buttons_are_in_notebook_7_too(notebook7, own_page):
    page = own_page
    source = (
        "from scripted import ScriptedModel, said\nfrom lmc_jupyter import current_session\n"
        "%load_ext lmc_jupyter\n"
        "current_session().choose_model(ScriptedModel([said('There is no zero below.')]))"
    )
    name = notebook7.write("seven-fix.ipynb", source, "1 / 0")
    page.goto(f"{notebook7.url}/notebooks/{name}?token={notebook7.token}")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    page.wait_for_function(
        "() => window.jupyterapp?.commands.hasCommand('lmc:ask') && window.jupyterapp.shell"
        ".currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )
    notebook = Notebook(page)
    for at in (0, 1):
        notebook.run(at)
        notebook.wait_done(at)
    notebook.cell(1).get_by_role("button", name="Fix", exact=True).click()
    chat = Panel(page, notebook)
    expect(chat.record("message", "assistant")).to_contain_text("There is no zero below.")
    expect(chat.record("message", "user")).to_contain_text("Fix @cell 2, which failed")
    for session in notebook7.api("GET", "sessions"):
        notebook7.api("DELETE", f"sessions/{session['id']}")
