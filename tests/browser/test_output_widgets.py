"""`interact` and `Output` widgets: the panel and a cell show what JupyterLab shows for the code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from panel_page import PATIENT
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CODE = """\
import ipywidgets, matplotlib.pyplot as plt
%matplotlib inline
def draw(x, y):
    plt.plot([1, x]); plt.show(); print("x is", x)
ipywidgets.interact(draw, x=(1, 9), y=ipywidgets.fixed(1));
"""


def picture(page, name):
    """A screenshot for whoever asked for them."""
    if folder := os.environ.get("LMC_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.day
def test_the_panel_shows_the_live_figure_and_no_dead_one(chat):
    chat.do(f"{PATIENT}\nscript([code({CODE!r}, end=True)], [said('Move it.')])")
    chat.ask()
    chat.press("Run")
    chat.state("done")
    figures = chat.log.locator("img:visible")
    expect(figures).to_have_count(1)
    expect(
        chat.log.locator(".jp-OutputArea img:visible, .widget-output img:visible")
    ).to_have_count(1)
    expect(chat.log.get_by_text("x is 5").locator("visible=true")).to_have_count(1)
    figures.scroll_into_view_if_needed()
    picture(chat.page, "panel-interact")


def test_a_cell_shows_the_code_once_and_the_figure_in_its_widget(chat):
    chat.do(f"{PATIENT}\nscript([code({CODE!r}, end=True)], [said('Move it.')])")
    at = chat.run("%%lmc --auto-run\nDraw it.")
    chat.notebook.wait_done(at)
    cell = chat.notebook.cell(at)
    expect(cell.locator(".widget-output img:visible")).to_have_count(1)
    expect(cell.locator(".lmc-code:visible")).to_have_count(1)
    expect(cell.locator("img:visible")).to_have_count(1)
    cell.scroll_into_view_if_needed()
    picture(chat.page, "cell-interact")
