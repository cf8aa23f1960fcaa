"""The way into the panel, out of it and to Run by keys; what a bare @ offers; how wide it opens."""

from __future__ import annotations

import pytest
from panel_page import show
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

IN_CELL = """() => document.activeElement.closest('.jp-Notebook .jp-Cell.jp-mod-active') !== null
  || document.activeElement.matches('.jp-Notebook')"""
WIDTH = "() => document.querySelector('#lmc-sidebar').getBoundingClientRect().width"


def test_a_bare_at_offers_the_words_and_the_variables(chat):
    chat.do("bare_frame = [1, 2, 3]")
    chat.composer.press_sequentially("@")
    options = chat.panel.get_by_role("option")
    for at, word in enumerate(("cell", "output", "above", "selection")):
        expect(options.nth(at)).to_contain_text(word)
    expect(options.filter(has_text="bare_frame")).to_be_visible()


def test_escape_in_an_empty_field_and_the_keys_that_led_in_lead_to_the_active_cell(chat):
    chat.composer.focus()
    chat.composer.press_sequentially("half a thought")
    chat.page.keyboard.press("Escape")
    expect(chat.composer).to_be_focused()  # with a text in it nobody is sent away
    chat.composer.fill("")
    chat.page.keyboard.press("Escape")
    chat.page.wait_for_function(IN_CELL)
    chat.composer.focus()
    chat.page.keyboard.press("Control+Alt+l")
    chat.page.wait_for_function(IN_CELL)
    expect(chat.composer).to_be_visible()
    chat.page.keyboard.press("Control+Alt+l")  # and in again: the panel is not hidden
    expect(chat.composer).to_be_focused()


def test_from_the_question_one_tab_leads_to_run(chat):
    chat.do("script([code('x = 1', end=True)], [said('ok')])")
    chat.ask()
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    chat.card.focus()
    chat.page.keyboard.press("Tab")
    expect(chat.card.get_by_role("button", name="Run", exact=True)).to_be_focused()
    chat.page.keyboard.press("Enter")
    chat.state("done")


@pytest.mark.parametrize("way", ["the keys", "Fix", "Explain", "Ask", "once more"])
def test_it_opens_as_wide_as_code_needs_whichever_way(own_page, lab, pages, way):
    own_page.add_init_script("localStorage.setItem('lmc:widened', 'yes')")  # an older version's
    notebook = pages.visit(own_page, lab, lab.write("wide.ipynb", "%load_ext lmc_jupyter\n1 / 0"))
    own_page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('lmc:toggle')")
    if way in ("Fix", "Explain"):
        notebook.run(0)
        own_page.get_by_role("button", name=way, exact=True).click()
    elif way == "Ask":
        notebook.cell(0).click()
        own_page.get_by_role("button", name="Ask the model about this cell").click()
    elif way == "the keys":
        own_page.keyboard.press("Control+Alt+l")
    else:
        show(own_page, notebook)
        notebook.command("lmc:toggle")
        own_page.locator("#lmc-sidebar").wait_for(state="hidden")
        notebook.command("lmc:toggle")
    own_page.locator("#lmc-sidebar .lmc-panel[data-ready]:visible").wait_for()
    assert own_page.evaluate(WIDTH) >= 399


def test_it_opens_as_wide_in_notebook_7(open_in_notebook7, notebook7):
    notebook = open_in_notebook7(notebook7.write("wide.ipynb", "%load_ext lmc_jupyter"))
    show(notebook.page, notebook)
    assert notebook.page.evaluate(WIDTH) >= 399
