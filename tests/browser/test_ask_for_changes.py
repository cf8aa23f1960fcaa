"""`ask = "changes"` as a person has it in JupyterLab: chosen in the panel's menu, said by a banner;
what only reads runs, what changes something waits, and what was not seen waits while it runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from panel_page import SETUP, Panel, press
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.long]

TALK = """
import pandas as pd
sales = pd.DataFrame({'city': ['Oslo', 'Bergen'], 'price': [2, 3]})
script([said('First the mean.'), code("means = sales.groupby('city').price.mean()", end=True)],
       [said('Now a column.'), code("sales['vat'] = sales.price * 0.25", end=True)],
       [said('Done.')])
"""
UNSEEN = """
from lmc_jupyter.computer import effects
from lmc_jupyter.content.effect import Effect
effects.find_effects = lambda *_: (Effect('reads', ''),)
write = "with open('out.csv', 'w') as file:\\n    file.write('1')"
script([said('I look.'), code(write, end=True)], [said('It was not allowed.')])
"""


def look(page, name: str) -> None:
    """A picture for whoever wants to see it: LMC_TEST_PICTURES names a folder."""
    if folder := os.environ.get("LMC_TEST_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_only_what_changes_something_waits_and_what_was_not_seen_waits_too(pages, lab):
    page = pages.page()
    chat = pages.open(page, "changes.ipynb")
    chat.do(TALK)
    chat.ask("What is the mean price by city? Then add the VAT.")
    only = chat.card.get_by_role("button", name="Ask only for changes")
    expect(only).to_be_enabled()
    look(page, "ask-card")
    only.click()
    expect(chat.panel).to_contain_text("Code that only reads and makes new names runs")
    expect(chat.card).to_contain_text("sales['vat']")
    chat.button("More actions").click()
    expect(page.get_by_role("menuitemcheckbox", name="Only for changes")).to_be_checked()
    look(page, "ask-menu")
    page.keyboard.press("Escape")
    expect(chat.record("code", "assistant").first).to_contain_text("ran without asking")
    expect(chat.card).to_contain_text("changes your sales")
    look(page, "ask-changes")
    chat.press("Run")
    chat.state("done")
    chat.do(UNSEEN)
    chat.ask("Look.")
    question = page.get_by_role("group", name="This code wants to do more")
    expect(question).to_contain_text("Now it wants to write out.csv.")
    stop = question.get_by_role("button", name="Stop here")
    expect(stop).to_be_enabled()
    look(page, "ask-unseen")
    assert not (lab.root / "out.csv").exists()
    stop.click()
    chat.state("done")
    assert not (lab.root / "out.csv").exists()
    expect(chat.record("console").last).to_contain_text("which was not allowed")
    expect(chat.record("console").last).not_to_contain_text("audit.py")
    look(page, "ask-stopped")
    pages.end(page)


def test_in_notebook_7_a_cell_and_the_panel_ask_for_changes_too(notebook7, open_in_notebook7):
    talk = TALK + "%config LMC.ask = 'changes'"
    notebook = open_in_notebook7(notebook7.write("seven.ipynb", SETUP + talk, "%%lmc\nGo."))
    page = notebook.page
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
    card = notebook.cell(1).locator("[data-proposal]")
    card.wait_for()
    expect(card).to_contain_text("changes your sales")
    expect(notebook.cell(1)).to_contain_text("ran without asking")
    look(page, "seven-cell")
    press(card, "Don't run")
    notebook.wait_done(1)
    page.evaluate("() => window.jupyterapp.commands.execute('lmc:toggle', {go: true})")
    chat = Panel(page, notebook)
    expect(chat.panel).to_contain_text("Code that only reads and makes new names runs")
    chat.do(UNSEEN)
    chat.ask("Look.")
    question = page.get_by_role("group", name="This code wants to do more")
    stop = question.get_by_role("button", name="Stop here")
    expect(stop).to_be_enabled()
    look(page, "seven-panel")
    stop.click()
    chat.state("done")
    assert not (notebook7.root / "out.csv").exists()
