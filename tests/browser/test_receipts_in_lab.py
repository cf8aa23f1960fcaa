"""Numbers of closing words that stand in no output are underlined; the others lead to theirs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from panel_page import PATIENT
from playwright.sync_api import expect
from test_accessible import themes

pytestmark = pytest.mark.browser

CODE = "import statistics\nprices = [3.5, 2.0, 7.25, 1.0]\nprint('mean', statistics.mean(prices))"
WORDS = (
    "The mean of the 4 prices is **3.44**; half of them are below **2.95**.\\n\\n"
    "| what | value |\\n| --- | --- |\\n| mean | 3.4375 |\\n| largest | 9.25 |"
)
SCRIPT = f"{PATIENT}\nscript([code({CODE!r}, end=True)], [said('{WORDS}')])"
ASK = "What is the mean of my 4 prices?"


def picture(page, name):
    """A screenshot for whoever asked for them."""
    if folder := os.environ.get("LMC_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_in_the_panel_by_mouse_and_by_keyboard(chat):
    chat.do(SCRIPT)
    chat.ask(ASK)
    chat.press("Run")
    chat.state("done")
    answer = chat.record("message", "assistant").last
    expect(answer.locator("u.lmc-missing")).to_have_text(["2.95", "9.25", "Underlined"])
    expect(answer).to_contain_text("Underlined: not found in any output")
    numbers = answer.locator("button.lmc-number")
    expect(numbers).to_have_text(["4", "3.44", "3.4375"])
    picture(chat.page, "panel-receipts")
    numbers.nth(1).click()
    output = chat.record("console", "computer").last
    expect(output).to_be_focused()
    numbers.nth(0).focus()
    chat.page.keyboard.press("Enter")
    expect(chat.record("message", "user").last).to_be_focused()
    themes(chat, "#lmc-sidebar")
    chat.page.reload()
    answer = chat.record("message", "assistant").last
    expect(answer.locator("u.lmc-missing")).to_have_text(["2.95", "9.25", "Underlined"])


def test_in_a_cell(chat):
    chat.do(SCRIPT)
    at = chat.run(f"%%lmc --auto-run\n{ASK}")
    chat.notebook.wait_done(at)
    cell = chat.notebook.cell(at)
    expect(cell.locator("u.lmc-missing")).to_have_text(["2.95", "9.25", "Underlined"])
    cell.scroll_into_view_if_needed()
    picture(chat.page, "cell-receipts")


def test_it_can_be_turned_off(chat):
    chat.do(SCRIPT)
    chat.do("get_ipython().run_line_magic('config', 'LMC.receipts = False')")
    chat.ask(ASK)
    chat.press("Run")
    chat.state("done")
    expect(chat.record("message", "assistant").last).to_contain_text("9.25")
    expect(chat.log.locator("u, button.lmc-number")).to_have_count(0)
