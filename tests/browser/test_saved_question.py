"""Live parts of ours in the outputs of a notebook that is opened again: what was saved stands there
where the page does not find them, and never a sentence about widgets.
"""

from __future__ import annotations

import pytest
from panel_page import SETUP
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

PANEL = "import lmc_jupyter\nlmc_jupyter.ChatPanel()"
SAVE = "() => window.jupyterapp.commands.execute('docmanager:save')"


def reload(page: Page) -> None:
    """Load the page again, with the notebook that was open in it."""
    page.reload()
    page.wait_for_function("() => window.jupyterapp")  # the page's own event may come before it
    page.evaluate("() => window.jupyterapp.restored")
    page.locator(".jp-NotebookPanel .jp-OutputArea-output").first.wait_for()


def ended(cell) -> None:
    """The question of this cell is drawn as it was saved."""
    expect(cell).to_contain_text("Not over when the notebook was saved")
    expect(cell).to_contain_text("I ask.")
    expect(cell.locator("pre:visible")).to_contain_text("1 + 1")
    expect(cell).to_contain_text("not decided when the notebook was saved")
    expect(cell).to_contain_text("To be asked again, run this cell.")
    expect(cell).not_to_contain_text("widget", use_inner_text=True)


def test_a_question_that_waited_is_drawn_as_it_was_saved(pages, lab):
    page = pages.page()
    set_up = SETUP + "script([said('I ask.'), code('1 + 1', end=True)])"
    name = lab.write("waited.ipynb", set_up, "%%lmc\nGo.")
    notebook = pages.visit(page, lab, name)
    notebook.command("notebook:run-all-cells")
    cell = notebook.cell(1)
    cell.locator("[data-proposal][data-ready]").wait_for()
    expect(cell).not_to_contain_text("when the notebook was saved")
    page.evaluate(SAVE)

    reload(page)  # the kernel waits for an answer, and tells this page nothing of its widgets
    ended(cell)

    for session in lab.api("GET", "sessions"):
        if session["path"] == name:
            lab.api("DELETE", f"sessions/{session['id']}")
    page.goto("about:blank")
    ended(pages.visit(page, lab, name).cell(1))
    pages.end(page)


def test_a_panel_in_an_output_is_live_as_long_as_its_kernel_is_there(pages, lab):
    page = pages.page()
    name = lab.write("panel-in-cell.ipynb", f"%load_ext lmc_jupyter\n{PANEL}")
    notebook = pages.visit(page, lab, name)
    notebook.run(0)
    cell = notebook.cell(0)
    expect(cell.locator(".lmc-panel")).to_be_visible()
    page.evaluate(SAVE)

    reload(page)
    expect(cell.locator(".lmc-panel")).to_be_visible()
    expect(cell).not_to_contain_text("run this cell to show it")

    for session in lab.api("GET", "sessions"):
        if session["path"] == name:
            lab.api("DELETE", f"sessions/{session['id']}")
    page.goto("about:blank")
    cell = pages.visit(page, lab, name).cell(0)
    expect(cell).to_contain_text("The chat panel of lmc-jupyter: run this cell to show it.")
    expect(cell).not_to_contain_text("model not found", use_inner_text=True)
    pages.end(page)
