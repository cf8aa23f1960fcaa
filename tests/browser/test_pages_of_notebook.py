"""The pages of the notebook on images and HTML, in a real browser.

The kernel tests of the notebooks have no browser; what they say in its place stands in the
cells' metadata (`lmc_page`), and is held against a real one here.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from panel_page import press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "05-images-and-html.ipynb"

WRITE = """([index, source]) => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === 'code')[index].model.sharedModel.setSource(source)"""


def test_a_page_lives_in_the_cell_and_what_it_may_not_do_is_said(lab, open_notebook, page):
    cells = [
        c for c in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if c["cell_type"] == "code"
    ]
    sources = ["".join(cell["source"]) for cell in cells]
    shutil.copytree(NOTEBOOK.parent, lab.root / "lessons", dirs_exist_ok=True)
    notebook = open_notebook(f"lessons/{NOTEBOOK.name}")

    def at(words: str) -> int:
        return next(i for i, source in enumerate(sources) if words in source)

    def run(index: int) -> None:
        notebook.run_code(index)
        notebook.wait_done(index)

    run(at("%load_ext"))
    run(at("%lmc model"))
    for index in (at("with a clock"), at("picture of a cat")):
        notebook.run_code(index)
        cell = notebook.cell(index)
        cell.locator("[data-proposal][data-ready]").wait_for()
        cell.locator(".lmc-card-code").hover()
        page.mouse.wheel(0, 100_000)  # to the end of the code: before that there is no Run
        press(cell.locator("[data-proposal]"), "Run")
        notebook.wait_done(index)
        expect(cell).to_contain_text("Done")
        shown = [str(o.get("data", {}).get("text/plain", "")) for o in notebook.outputs(index)]
        assert "\n".join(cells[index]["metadata"]["lmc_page"]) in [each.strip() for each in shown]
        expect(cell.locator("iframe").first).to_be_visible()
    answer = at("address =")
    page.evaluate(WRITE, [answer, cells[answer]["metadata"]["lmc_writes"]])
    run(answer)
    run(at('check("blocked"'))
    expect(notebook.cell(at('check("blocked"'))).to_contain_text("✓")
