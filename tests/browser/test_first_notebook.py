"""The first notebook as a newcomer meets it: the embedded model, a real browser, a real press."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from panel_page import press
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.local_model]

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-first-conversation.ipynb"


def test_the_first_question_gets_its_number_and_its_figure(lab, open_notebook, page):
    shutil.copy(NOTEBOOK, lab.root / NOTEBOOK.name)
    notebook = open_notebook(NOTEBOOK.name)
    page.locator(".jp-NotebookPanel .jp-MarkdownCell h1").first.wait_for()
    notebook.run_code(0)
    notebook.wait_done(0)
    notebook.run_code(1)
    cell = notebook.cell(1)
    cell.locator("[data-proposal][data-ready]").wait_for(timeout=300_000)
    expect(cell).to_contain_text("small local model")
    press(cell.locator("[data-proposal]"), "Run")
    notebook.wait_done(1, timeout=300_000)  # the model answers once more
    outputs = notebook.outputs(1)
    printed = "".join(o["text"] for o in outputs if o["output_type"] == "stream")
    assert "9222500" in printed
    assert any("image/png" in o.get("data", {}) for o in outputs)
    expect(cell).to_contain_text("Done")
    expect(cell).to_contain_text("you ran this")
