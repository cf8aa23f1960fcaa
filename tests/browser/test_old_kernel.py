"""The buttons of a busy cell and the panel on the oldest ipykernel that is promised."""

from __future__ import annotations

import pytest
from panel_page import PATIENT, SETUP, press, show
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
    press(cell.locator("[data-proposal]"), "Run everything in this answer")
    expect(cell.get_by_text("spinning", exact=True)).to_be_visible()
    cell.get_by_role("button", name="Stop", exact=True).first.click()
    expect(cell).to_contain_text("Stopped")
    assert old.value("a") == 42


def test_a_turn_of_the_panel_runs_beside_cells_and_stops(old):
    old.do("b = 20")
    old.do(
        "script([said('I add.'), code('c = b + 1')], [code('c += 1; print(c)\\nwhile True: pass')])"
    )
    old.ask()
    old.press("Run")
    old.card.get_by_text("while").wait_for()
    assert old.value("c") == 21
    old.press("Run")
    expect(old.record("console").last).to_contain_text("22")
    old.button("Stop").click()
    old.state("stopped")
    assert old.value("c") == 22


def test_html_of_a_busy_cell_is_shown_and_heard(old):
    old.do(PATIENT)
    old.do("script([code('<b>seen</b><script>no()</script>', 'html', end=True)], [said('ok')])")
    old.run("%%lmc\nGo.")
    cell = old.page.locator(".jp-NotebookPanel .jp-CodeCell").last
    press(cell.locator("[data-proposal]"), "Run")
    page = cell.locator(".lmc-frame").frame_locator("iframe").frame_locator("iframe")
    expect(page.get_by_text("seen")).to_be_visible()
    said = [m["content"] for m in old.messages() if m["type"] == "console"]
    assert said[0] == "error: ReferenceError: no is not defined (line 1)\n"
    assert "seen" in said[1]
