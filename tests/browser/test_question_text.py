"""The text of a `%%lmc` cell is a question, and drawn as one: in JupyterLab and Notebook 7."""

from __future__ import annotations

import pytest
from conftest import Notebook
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

QUESTION = "%%lmc\nWhich of them is in df and for whom, on 2024-05-01? I won't ask twice."
PYTHON = "flag = 1 if True else 2"


def write_into(notebook: Notebook, index: int, source: str) -> None:
    notebook.page.evaluate(
        "([i, source]) => window.jupyterapp.shell.currentWidget.content.widgets[i]"
        ".model.sharedModel.setSource(source)",
        [index, source],
    )


def coloured(notebook: Notebook, index: int):
    """The words of a cell's editor that have a colour of their own."""
    return notebook.cell(index).locator(".cm-line span[class]:not(.cm-matchingBracket)")


def check(notebook: Notebook) -> None:
    expect(coloured(notebook, 1).first).to_be_visible()
    expect(coloured(notebook, 0)).to_have_count(0)
    write_into(notebook, 1, QUESTION)
    expect(coloured(notebook, 1)).to_have_count(0)
    write_into(notebook, 1, PYTHON)
    expect(coloured(notebook, 1).first).to_be_visible()
    notebook.command("notebook:insert-cell-below")
    expect(notebook.cell(2)).to_be_visible()
    write_into(notebook, 1, QUESTION)  # the new cell is the second
    expect(notebook.cell(1)).to_contain_text("for whom")
    expect(coloured(notebook, 1)).to_have_count(0)


def test_a_question_is_not_coloured_as_python_in_jupyterlab(lab, open_notebook):
    notebook = open_notebook(lab.write("question.ipynb", QUESTION, PYTHON))
    check(notebook)
    notebook.page.evaluate(  # the language is said anew
        "() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()"
    )
    notebook.wait_for_queue()
    expect(coloured(notebook, 0)).to_have_count(0)


def test_a_question_is_not_coloured_as_python_in_notebook_7(notebook7, open_in_notebook7):
    check(open_in_notebook7(notebook7.write("question.ipynb", QUESTION, PYTHON)))
