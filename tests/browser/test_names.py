"""The names that code changed: chips in the panel and in a cell's record, and Restore."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

MADE = """
import pandas as pd
df = pd.DataFrame({'city': ['Berlin', 'Paris'], 'people': [3.7, 2.1]})
rate, cities, old = 1.1, ['Berlin'], 'gone soon'
"""
CODE = """
df['people'] *= rate
cities.append('Rome')
rate = 2.0
total = df['people'].sum()
del old
total
"""


def picture(chat, name: str) -> None:
    """A picture of the panel, where somebody wants to look at it: LMC_TEST_PICTURES."""
    if folder := os.environ.get("LMC_TEST_PICTURES"):
        chat.root.screenshot(path=Path(folder) / f"{name}.png")


def run(chat, code: str) -> None:
    """An answer whose code the person lets run."""
    chat.do(MADE)
    chat.do(f"script([said('I update it.'), code({code!r}, end=True)], [said('Done.')])")
    chat.ask("Raise the numbers by the rate.")
    chat.press("Run")
    chat.state("done")


def names(chat):
    return chat.panel.get_by_role("group", name="What this code did to your variables")


def test_what_code_changed_is_seen_below_it_and_restored(chat):
    run(chat, CODE)
    expect(names(chat).locator(".lmc-change")).to_have_count(5)
    assert names(chat).locator(".lmc-change").all_text_contents() == [
        "+new: total", "~changed: df", "~changed: rate", "~changed: cities",
        "\N{MINUS SIGN}removed: old",
    ]  # fmt: skip
    restore = names(chat).get_by_role("button", name="Restore the variables")
    assert "other programs are not restored" in restore.get_attribute("title")
    picture(chat, "names")
    restore.click()
    expect(names(chat)).to_have_text("Restored: these variables are as they were before this code.")
    chat.noticed("Restored df, cities, rate and old.")
    chat.noticed("Files, the network and other programs were not restored.")
    assert chat.value("(df['people'].tolist(), rate, cities, old, 'total' in globals())") == (
        [3.7, 2.1], 1.1, ["Berlin"], "gone soon", False,
    )  # fmt: skip
    told = chat.record("console").last.locator("details")
    told.locator("summary").click()  # it is for the model
    expect(told).to_contain_text("The user restored the notebook")
    picture(chat, "names-restored")


def test_while_a_cell_runs_it_says_so_and_can_be_pressed_again(chat):
    run(chat, "rate = 3.0")
    chat.do("go = threading.Event()")
    at = chat.run("print('begun'); go.wait(60)")
    expect(chat.notebook.cell(at).locator(".jp-OutputArea")).to_contain_text("begun")
    restore = names(chat).get_by_role("button", name="Restore the variables")
    restore.click()
    expect(chat.notice).to_contain_text("a cell is running")
    expect(restore).to_be_enabled()
    chat.page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()"""
    )
    chat.notebook.wait_done(at)
    restore.click()
    expect(names(chat)).to_contain_text("Restored")
    assert chat.value("rate") == 1.1


def test_a_cell_keeps_a_line_of_them(chat):
    chat.do(MADE)
    chat.do(f"script([code({CODE!r}, end=True)], [said('Done.')])")
    at = chat.run("%%lmc --auto-run\nRaise the numbers by the rate.")
    chat.notebook.wait_done(at)
    line = chat.notebook.cell(at).locator(".lmc-names")
    expect(line.locator("code")).to_have_text(["+ total", "~ df", "~ rate", "~ cities", "- old"])
    assert "%lmc restore" in line.get_attribute("title")
    if folder := os.environ.get("LMC_TEST_PICTURES"):
        chat.notebook.cell(at).screenshot(path=Path(folder) / "names-cell.png")
    back = chat.run("%lmc restore")
    expect(chat.notebook.cell(back)).to_contain_text("Removed the variable total.")
    assert chat.value("rate") == 1.1
