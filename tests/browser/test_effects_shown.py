"""What code will do stands on its card before it runs, in a real JupyterLab."""

from __future__ import annotations

import pytest
from panel_page import hue, press
from playwright.sync_api import expect
from test_accessible import themes
from test_cell_buttons import Asked

pytestmark = pytest.mark.browser

SET_UP = "df = {'a': 1}\nfit = 3"
CODE = "df = dict(df)\nbest = max(df)\nopen('out.csv', 'w').close()"
LINE = "overwrites your df (dict, 1 item) · creates best · writes out.csv"


@pytest.mark.day
def test_the_panel_says_it_above_run_and_of_the_edit_while_the_code_is_edited(chat):
    chat.do(SET_UP)
    chat.do(f"session = current_session(); script([code({CODE!r})], [said('Done.')])")
    chat.ask()
    card = chat.panel.locator("[data-proposal]")
    line = card.locator(".lmc-card-effects")
    expect(line).to_have_text(LINE)
    expect(line.locator("strong")).to_have_text("overwrites your df (dict, 1 item)")
    expect(card).to_have_accessible_description(LINE)
    themes(chat, "#lmc-sidebar")
    press(card, "Edit")
    expect(line).to_have_text(LINE)
    editor = card.get_by_label("The code, to edit")
    editor.fill("fit = 4\nbest = 1")
    expect(line).to_have_text("overwrites your fit (int) · creates best")
    expect(card).to_contain_text("2 lines")
    themes(chat, "#lmc-sidebar")
    press(card, "Undo edit")
    expect(line).to_have_text(LINE)
    press(card, "Edit")
    editor.fill("fit = 5")
    editor.press("Control+Enter")
    chat.state("done")
    assert chat.value("(df, fit)") == ({"a": 1}, 5)


def test_a_cell_says_it_above_run_and_keeps_it_of_code_that_did_not_run(chat):
    chat.do(SET_UP)
    asked = Asked(chat, f"script([code({CODE!r}, end=True)], [said('Done.')])")
    line = asked.cell.locator("[data-proposal] .lmc-card-effects")
    expect(line).to_have_text(LINE)
    asked.press("Edit")
    asked.cell.get_by_label("The code, to edit").fill("fit = 4")
    expect(line).to_contain_text("overwrites your fit")
    asked.press("Undo edit")
    asked.press("Don't run")
    asked.done()
    expect(asked.cell.locator(".lmc-effects")).to_have_text(LINE)
    asked.cell.evaluate("cell => cell.querySelector('.jp-OutputArea').id = 'output-of-the-test'")
    themes(chat, "#output-of-the-test")


def test_what_the_conversation_made_is_grey_and_what_is_the_person_s_own_is_red(chat):
    chat.do("ships = {'a': 1, 'b': 2}")
    chat.do(
        "session = current_session(); script([code('fig = [1]')], "
        "[code('fig = [2]; del ships[\"a\"]')], [said('Done.')])"
    )
    chat.ask()
    press(chat.panel.locator("[data-proposal]"), "Run")
    line = chat.panel.locator("[data-proposal] .lmc-card-effects").filter(has_text="ships")
    expect(line).to_have_text(
        "deletes an item of your ships (dict, 2 items) · overwrites fig (list, 1 item)"
    )
    expect(line.locator("strong")).to_have_text("deletes an item of your ships (dict, 2 items)")
    assert hue(line.locator("strong")) == "red"
    assert hue(line) == "grey"
    press(chat.panel.locator("[data-proposal]"), "Don't run")
    chat.state("done")
