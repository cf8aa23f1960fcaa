"""The buttons of a busy cell and the panel on the oldest ipykernel that is promised."""

from __future__ import annotations

import pytest
from panel_page import SETUP, press, show
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture
def old(pages, lab):
    page = pages.page()
    name = lab.write("old.ipynb", kernel="ipykernel6")
    chat = show(page, pages.visit(page, lab, name))
    chat.do(SETUP)
    assert chat.value("__import__('ipykernel').__version__").startswith("6.29.")
    yield chat
    pages.end(page)


def test_run_and_stop_are_pressed_while_the_cell_is_busy(old):
    old.do(
        "script([code('a = 6 * 7')], "
        '[code(\'print("spin" + "ning", flush=True)\\nwhile True: pass\')])'
    )
    old.run("%%lmc\nGo.")
    cell = old.page.locator(".jp-NotebookPanel .jp-CodeCell").last
    press(cell.locator("[data-proposal]"), "Run all in this turn")
    expect(cell.get_by_text("spinning", exact=True)).to_be_visible()
    cell.get_by_role("button", name="Stop", exact=True).click()
    expect(cell).to_contain_text("Stopped")
    assert old.value("a") == 42


def test_a_turn_of_the_panel_runs_beside_cells_and_stops(old):
    old.do("b = 20")
    old.do("script([said('I add.'), code('c = b + 1')], [code('while True: c += 1')])")
    old.ask()
    old.press("Run")
    old.card.get_by_text("while").wait_for()
    assert old.value("c") == 21
    old.press("Run")
    old.state("running")
    old.button("Stop").click()
    old.state("stopped")
    assert old.value("c > 21") is True
