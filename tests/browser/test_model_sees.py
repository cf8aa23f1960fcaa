"""What a model sees of a notebook in JupyterLab: a server answers from what it got, and alone.

Each question needs another part: a cell, an output, a figure, an error, Markdown, a changed name;
and what is kept back is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import ModelServer, Request, Turn, text
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)

CELLS = [
    ("code", "# SEEN-source\nx = 1"),
    ("code", "%%lmc\nWhat is in my cell?"),
    ("code", "print('SEEN-' + 'output')"),
    ("code", "%%lmc\nWhat did it print?"),
    (
        "code",
        "import base64\nfrom IPython.display import Image, display\n"
        f"display(Image(base64.b64decode({PNG!r}), format='png'))",
    ),
    ("code", "%%lmc\nWhat is on the figure?"),
    ("code", "raise ValueError('SEEN-' + 'error')"),
    ("code", "%%lmc\nWhy does it fail?"),
    ("markdown", "We look for **SEEN-markdown**, by species."),
    ("code", "%%lmc\nDo what I wrote above."),
    ("code", "made_of_late = 5"),
    ("code", "%%lmc --cells none\nWhich name is new?"),
    ("code", "print('SEEN-' + 'secret')"),
    ("code", "%%lmc --cells none\nWhat did you not see?"),
    ("code", "%%lmc\nAnd now?"),
]
SEEN = {
    "%%lmc\nWhat is in my cell?": "SEEN-source",
    "%%lmc\nWhat did it print?": "SEEN-output",
    "%%lmc\nWhat is on the figure?": "image_url",
    "%%lmc\nWhy does it fail?": "SEEN-error",
    "%%lmc\nDo what I wrote above.": "SEEN-markdown",
    "%%lmc --cells none\nWhich name is new?": "name",
    "%%lmc --cells none\nWhat did you not see?": "name",
    "%%lmc\nAnd now?": "name",  # what was kept back goes with no later question either
}
"""What the server says that it got with a question."""


def answer(request: Request) -> Turn:
    """What the last question took along: the words SEEN-…, its images, and whether a name."""
    questions = [each for each in request.body["messages"] if each["role"] == "user"]
    content = questions[-1]["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    words = re.findall(r"SEEN-\w+", " ".join(part.get("text", "") for part in parts))
    words += [part["type"] for part in parts if part["type"] != "text"]
    if "made_of_late" in json.dumps(request.body["messages"]):
        words.append("name")
    return Turn(text(f"I see: {', '.join(words) or 'nothing'}."))


@pytest.fixture
def seeing(model_server: ModelServer) -> Iterator[ModelServer]:
    model_server.answer = answer
    yield model_server
    model_server.answer = None


def write(server: Any, base: str) -> str:
    """The notebook with these cells; the first one chooses the model of this server."""
    set_up = (
        "%load_ext lmc_jupyter\nfrom lmc_jupyter import current_session\n"
        f"current_session().choose_model('openai/some', api_base={base!r}, api_key='k', "
        "tools=True, vision=True)"
    )
    cells = [
        {"cell_type": kind, "id": f"c{at}", "metadata": {}, "source": source,
         **({"outputs": [], "execution_count": None} if kind == "code" else {})}
        for at, (kind, source) in enumerate([("code", set_up), *CELLS])
    ]  # fmt: skip
    name: str = server.write("sees.ipynb")
    notebook = json.loads((server.root / name).read_text())
    (server.root / name).write_text(json.dumps({**notebook, "cells": cells}))
    return name


def run_all(notebook: Any) -> None:
    """Run each cell; the answer to a question says what the server got with it."""
    for at, (kind, source) in enumerate([("code", ""), *CELLS]):
        if kind != "code":
            continue
        notebook.run(at)
        code_at = [kind for kind, _ in CELLS[: max(0, at - 1)]].count("code") + bool(at)
        notebook.wait_done(code_at)
        notebook.wait_for_queue()
        if source in SEEN:
            expect(notebook.cell(code_at)).to_contain_text(f"I see: {SEEN[source]}.")


def test_each_question_takes_along_what_it_needs(pages, lab, seeing):
    page = pages.page()
    notebook = pages.visit(page, lab, write(lab, seeing.base))
    run_all(notebook)
    output = notebook.cell(4)
    output.locator("summary", has_text="Sent with the question: 1 cell").click()
    expect(output.locator("details")).to_contain_text("SEEN-output")
    pages.end(page)


def test_markdown_that_is_not_saved_goes_along_as_it_stands(pages, lab, seeing):
    page = pages.page()
    notebook = pages.visit(page, lab, write(lab, seeing.base))
    page.evaluate(
        """() => {
          const { widgets } = window.jupyterapp.shell.currentWidget.content;
          const cell = widgets.find(({ model }) => model.type === 'markdown');
          cell.model.sharedModel.setSource('Look for SEEN-unsaved.');
        }"""
    )
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(10)
    notebook.wait_done(9)
    expect(notebook.cell(9)).to_contain_text("I see: SEEN-unsaved.")
    pages.end(page)


def test_and_so_it_does_in_notebook_7(notebook7, open_in_notebook7, seeing):
    run_all(open_in_notebook7(write(notebook7, seeing.base)))
