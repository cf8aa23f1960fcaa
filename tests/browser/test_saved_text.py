"""Saved conversations that are opened in JupyterLab, untrusted: they ask nobody for anything."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hostile_markdown import names, shapes
from playwright.sync_api import expect

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats import markdown, notebook
from lmc_jupyter.lmc import Message

pytestmark = pytest.mark.browser


class Collector(ThreadingHTTPServer):
    """It writes down what it is asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: set[str] = set()
        self.at = f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.add(self.path)
        self.send_error(404)

    def log_message(self, *_):
        """Nothing on the test's output."""


@pytest.fixture
def collector():
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


OPEN = """([path, factory]) => {
  window.jupyterapp.commands.execute('docmanager:open', {
    path, factory, kernelPreference: { shouldStart: false, canStart: false } });
}"""
SHOWN = """path => {
  const panel = [...window.jupyterapp.shell.widgets('main')].find(
    each => each.context?.path === path);
  if (!panel?.context.isReady) return false;
  const { content } = panel;
  if (!content.widgets) return !!content.node.querySelector('.jp-RenderedMarkdown');
  const texts = content.widgets.filter(cell => cell.model.type === 'markdown');
  for (const cell of texts) cell.inViewport = true;
  return texts.length > 0 && texts.every(cell => cell.node.querySelector('.jp-RenderedMarkdown'));
}"""


def asked_for(collector, page, lab, files: dict[str, bytes]) -> set[str]:
    """What JupyterLab asks for while it shows these files, the last of which asks for `/last`."""
    collector.asked = set()
    for name, data in {**files, "last.md": f"$x$ ![x]({collector.at}/last)".encode()}.items():
        (lab.root / name).write_bytes(data)
        is_text = name.endswith(".md")
        page.evaluate(OPEN, [name, "Markdown Preview" if is_text else "Notebook"])
        page.wait_for_function(SHOWN, arg=name)
    expect(page.locator("mjx-container:visible")).to_have_count(1)  # mathematics comes later
    last = page.locator("img[src$='/last']")
    expect(last).to_have_count(1)
    expect(last).to_have_js_property("complete", True)  # it was asked for
    page.evaluate("() => window.jupyterapp.commands.execute('application:close-all')")
    return collector.asked


def raw(texts: list[str]) -> bytes:
    """A notebook of these texts as they are."""
    cells = [
        {"cell_type": "markdown", "id": f"c{number}", "metadata": {}, "source": text}
        for number, text in enumerate(texts)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def test_what_is_saved_asks_for_nothing_when_it_is_opened(
    own_page, lab, collector, record_property
):
    page = own_page
    texts = shapes(collector.at)
    hostile = [*texts, *names(collector.at)]
    page.goto(f"{lab.url}/lab?token={lab.token}&reset")
    page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)")
    control = asked_for(collector, page, lab, {"raw.ipynb": raw(hostile)})
    assert len(control) > 40, "as they are they ask for little: the test is blind"

    def conversation(texts: list[str]) -> Conversation:
        found = []
        for at, text in enumerate(texts):
            found += [Message(role, "message", content=text) for role in ("user", "assistant")]
            if at % 4:  # the other places have the same functions: see test_safe_markdown.py
                continue
            found += [
                Message("assistant", "code", text, text),
                Message("computer", "console", "output", f"This code was not run: {text}"),
                Message("user", "file", "path", text),
                Message("computer", "code", "html", f"<table><td>{text}</td></table>"),
            ]
        return Conversation(found, title=texts[0], model=texts[-1], began=texts[-1])

    files = {}
    for number in range(5):
        given = conversation(hostile[number::5])
        files[f"{number}.md"] = markdown.write(given)[0]
        files[f"{number}.ipynb"] = notebook.write(given)[0]
    assert asked_for(collector, page, lab, files) == {"/last"}
    record_property(
        "figure",
        f"{len(hostile)} texts in {len(files)} files: 0 requests; as they are, JupyterLab makes "
        f"{len(control) - 1}",
    )
