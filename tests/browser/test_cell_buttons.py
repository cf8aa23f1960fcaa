"""%%lmc in a real JupyterLab, answered by a scripted model, pressed by a real mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SETUP = """
%load_ext lmc_jupyter
from scripted import ScriptedModel, code, said
from lmc_jupyter import current_session
def script(*replies):
    current_session().choose_model(ScriptedModel(*replies))
x = 21
"""


def ask_card(cell):
    return cell.locator("[data-proposal][data-ready]")


def test_run_is_pressed_while_the_cell_is_busy_and_the_next_cell_waits(lab, open_notebook):
    name = lab.write(
        "run.ipynb",
        SETUP + "script([said('Let me see.'), code('y = x * 2\\nprint(y)', end=True)], [said('It is **42**.')])",
        "%%lmc\nWhat is {x} times two?",
        "print('after', y)",
    )
    notebook = open_notebook(name)
    notebook.command("notebook:run-all-cells")
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    expect(cell).to_contain_text("Waiting for you")
    assert notebook.outputs(2) == []
    cell.get_by_role("button", name="Run", exact=True).click()
    notebook.wait_done(2)
    expect(cell).to_contain_text("you ran this")
    expect(cell.locator("strong")).to_have_text("42")
    expect(notebook.cell(2)).to_contain_text("after 42")
    kinds = [set(output.get("data", {})) for output in notebook.outputs(1)]
    assert not any("application/vnd.jupyter.widget-view+json" in kind for kind in kinds)
