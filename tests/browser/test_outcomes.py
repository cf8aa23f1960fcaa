"""A stop looks like a stop, and a failure like one, in the panel and in a cell."""

from __future__ import annotations

import re

import pytest
from panel_page import press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

EDGE = "card => getComputedStyle(card).borderLeftWidth"
SLEEP = "print('begun')\nimport time\ntime.sleep(1000)"


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_in_the_panel_failed_code_has_another_edge_and_says_so(chat, theme):
    chat.page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
    )
    chat.do("script([code('1 / 0', end=True)], [code('1 + 1', end=True)], [said('ok')])")
    chat.ask()
    chat.press("Run")
    chat.press("Run")
    chat.state("done")
    failed, good = chat.record("code").nth(0), chat.record("code").nth(1)
    expect(failed).to_contain_text("failed after")
    expect(good).not_to_contain_text("failed")
    assert failed.locator(".lmc-code-card").evaluate(EDGE) == "3px"
    assert good.locator(".lmc-code-card").evaluate(EDGE) == "1px"
    chat.page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
        "JupyterLab Light",
    )


def test_in_a_cell_a_stop_is_one_line_and_a_failure_is_marked(chat):
    chat.do(f"choose(Held(code({SLEEP!r}, end=True)))")
    at = chat.run("%%lmc\nGo.")
    card = chat.notebook.cell(at).locator("[data-proposal]")
    press(card, "Run")
    output = chat.notebook.cell(at).locator(".jp-Cell-outputArea")
    expect(output).to_contain_text("begun")
    output.get_by_role("button", name="Stop").click()  # there is one
    expect(output).to_contain_text("stopped after")
    chat.notebook.wait_done(at)
    expect(output).not_to_contain_text("Traceback")
    assert len(re.findall(r"\d s\b", output.inner_text())) == 1, "the time is said once"
    assert not [one for one in chat.notebook.outputs(at) if one["output_type"] == "error"]
    assert output.locator(".lmc-code.stopped").evaluate(EDGE) == "3px"

    chat.do("script([code('1 / 0', end=True)], [said('ok')])")
    at = chat.run("%%lmc\nGo.")
    press(chat.notebook.cell(at).locator("[data-proposal]"), "Run")
    chat.notebook.wait_done(at)
    failed = chat.notebook.cell(at).locator(".lmc-code.failed")
    expect(failed).to_contain_text("failed after")
    assert failed.evaluate(EDGE) == "3px"


def test_in_the_panel_the_head_of_a_block_says_that_it_was_stopped(chat):
    chat.do(f"choose(Held(code({SLEEP!r}, end=True)))")
    chat.ask()
    chat.press("Run")
    expect(chat.record("console")).to_contain_text("begun")
    chat.button("Stop").click()
    chat.state("stopped")
    expect(chat.record("code")).to_contain_text("stopped · ")
    expect(chat.record("console").locator("pre")).to_have_text("begun\n")
    expect(chat.log).not_to_contain_text("KeyboardInterrupt")
    expect(chat.log).not_to_contain_text("Stopped here.")
    assert len(re.findall(r"\d s\b", chat.panel.inner_text())) == 1, "the time is said once"
