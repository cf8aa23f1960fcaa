"""A stop looks like a stop, and a failure like one, in the panel and in a cell."""

from __future__ import annotations

import re

import pytest
from panel_page import hue, press
from playwright.sync_api import expect
from test_accessible import STILL

pytestmark = pytest.mark.browser

EDGE = "card => getComputedStyle(card).borderLeftWidth"
SLEEP = "print('begun')\nimport time\ntime.sleep(1000)"


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"])
def themed(request, chat):
    """The panel in a theme; the light one is put back."""

    def use(theme):
        chat.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        chat.page.wait_for_function(
            "theme => document.body.dataset.jpThemeName === theme", arg=theme
        )

    use(request.param)
    yield chat
    use("JupyterLab Light")


def edge(card):
    """(width, colour) of its left edge, once the colour stands still."""
    card.page.wait_for_function(STILL)
    return card.evaluate(EDGE), hue(card, "borderLeftColor")


def test_in_the_panel_failed_code_has_another_edge_and_says_so(themed):
    chat = themed
    chat.do("script([code('1 / 0', end=True)], [code('1 + 1', end=True)], [said('ok')])")
    chat.ask()
    chat.press("Run")
    chat.press("Run")
    chat.state("done")
    failed, good = chat.record("code").nth(0), chat.record("code").nth(1)
    expect(failed).to_contain_text("· failed")
    expect(good).not_to_contain_text("failed")
    assert edge(failed.locator(".lmc-code-card")) == ("3px", "red")
    assert edge(good.locator(".lmc-code-card")) == ("1px", "grey")


def test_in_a_cell_a_stop_is_one_line_and_a_failure_is_marked(themed):
    chat = themed
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
    assert edge(output.locator(".lmc-code.stopped")) == ("3px", "orange")

    chat.do("script([code('1 / 0', end=True)], [said('ok')])")
    at = chat.run("%%lmc\nGo.")
    press(chat.notebook.cell(at).locator("[data-proposal]"), "Run")
    chat.notebook.wait_done(at)
    failed = chat.notebook.cell(at).locator(".lmc-code.failed")
    expect(failed).to_contain_text("· failed")
    assert edge(failed) == ("3px", "red")


def test_in_the_panel_the_head_of_a_block_says_that_it_was_stopped(themed):
    chat = themed
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
    assert edge(chat.record("code").locator(".lmc-code-card")) == ("3px", "orange")
