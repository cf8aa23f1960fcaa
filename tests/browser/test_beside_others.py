"""Beside Jupyter AI 3.1, whose server runs the cells and which brings jupyter-collaboration 5, and
beside jupyter-collaboration 5 alone: a cell asks by its buttons, and the panel by its card.

The server is one of those environments, its kernel is that of the tests.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from browser.conftest import ROOT, Lab, Notebook, jupyter, visit
from panel_page import SETUP, press, show
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def write_python3(folder: Path) -> None:
    """The kernel of the tests, under the name of the server's own."""
    (folder / "python3").mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (folder / "python3" / "kernel.json").write_text(json.dumps(spec), "utf-8")


@pytest.fixture(scope="module", params=["jupyter-ai", "collaboration"])
def beside(request, tmp_path_factory):
    """JupyterLab with that beside us."""
    variable = f"LMC_TEST_{request.param.replace('-', '_').upper()}"
    own = ROOT / f".venv-{request.param}" / "bin" / "python"
    python = os.environ.get(variable) or str(own)
    assert Path(python).exists(), f"{python} is missing: `make test-long` makes it"
    folder = tmp_path_factory.mktemp(request.param)
    with jupyter(folder, "jupyterlab", "LabApp", write_python3, python) as server:
        yield server


@pytest.fixture
def page(spare):
    """A page of its own: these servers have other extensions."""
    page = spare.new(1400)
    yield page
    page.context.close()


ANSWERS = """async () => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  for (let attempt = 0; attempt < 5; attempt++) {
    const late = new Promise((resolve) => setTimeout(() => resolve(null), 5_000));
    if (await Promise.race([kernel.requestKernelInfo(), late]) !== null) return attempt;
    await kernel.reconnect();
  }
  return null;
}"""
"""How often it had to connect anew. Jupyter AI's server (jupyter_server_documents 0.3.3) at times
loses every answer of a connection, those to JupyterLab too; then what the person sees is
test_where_the_answer_is_lost_it_says_so_and_tries_by_a_new_connection."""


def visit_connected(page, lab: Lab, name: str) -> Notebook:
    notebook = visit(page, lab, name)
    assert page.evaluate(ANSWERS) is not None, "no connection of five brought an answer"
    return notebook


SCRIPT = (
    "script([said('Let me see.'), code('y = x * 2\\nprint(y)', end=True)],"
    " [code('z = 1', end=True)], [said('It is **42**.')])\nx = 21"
)


def test_a_cell_asks_by_its_buttons_and_shows_each_message_once(page, beside: Lab):
    name = beside.write("cell.ipynb", SETUP + SCRIPT, "%%lmc\nWhat is {x} times two?")
    notebook = visit_connected(page, beside, name)
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
    cell = notebook.cell(1)
    for code in ("print(y)", "z = 1"):
        card = cell.locator("[data-proposal]").filter(has_text=code)
        press(card, "Run")
    notebook.wait_done(1)
    expect(cell.locator("strong")).to_have_text("42")
    for words in ("Let me see.", "you ran this", "Done"):
        count = 2 if words == "you ran this" else 1
        expect(cell.get_by_text(words)).to_have_count(count)
    expect(cell).not_to_contain_text("Thinking")
    expect(cell).not_to_contain_text("Waiting for you")


def test_the_panel_shows_a_turn_and_its_card(page, beside: Lab):
    name = beside.write("panel.ipynb", "1")
    chat = show(page, visit_connected(page, beside, name))
    chat.do(SETUP + SCRIPT)
    chat.ask()
    chat.press("Run")
    chat.state("waiting")
    chat.press("Run")
    chat.state("done")
    assert chat.value("(y, z)") == (42, 1)
