"""A JupyterLab page with our panel open beside a notebook, as the tests of the panel drive it.

One rule: what a person does is done by mouse and keys; what a test must know or prepare it asks
the kernel for, over the page's own connection, as a cell without a trace would.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Locator, Page, TimeoutError

SETUP = """
%load_ext lmc_jupyter
import threading, time
from pathlib import Path
from scripted import Endless, Held, ScriptedModel, Waiting, code, picture, printed, said
from lmc_jupyter import current_session
def choose(model):
    current_session().choose_model(model)
    return model
def script(*replies):
    return choose(ScriptedModel(*replies))
"""

PATIENT = """
from lmc_jupyter.computer.languages import html
from lmc_jupyter.frontends.cell import asking
html.WAIT_SECONDS = asking.HELLO_SECONDS = 60.0
"""
"""On a busy machine a page that is waited for takes its time, and so does a cell's hello."""

EXECUTE = """async ([code, value]) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const asked = { code, silent: false, store_history: false, stop_on_error: false,
                  user_expressions: value ? { value } : {} };
  return (await kernel.requestExecute(asked).done).content;
}"""


HEARD = """id => {
  const cards = [...document.querySelectorAll(`[data-proposal="${id}"]`)]
    .filter(card => card.checkVisibility());
  if (!cards.length || cards.some(card => card.textContent.includes('Sent…'))) return 'heard';
  return cards.some(card => card.dataset.ready) && 'again';
}"""


def press(card: Locator, name: str) -> None:
    """Press a button of a question as a person does: again, if it was not taken.

    A question takes no press while it moves, and a page with other work moves late.
    """
    page = card.page
    ready = card.and_(page.locator("[data-ready]"))
    ready.wait_for()
    proposal = ready.get_attribute("data-proposal")
    this = card.and_(page.locator(f'[data-proposal="{proposal}"][data-ready]'))
    while True:
        this.get_by_role("button", name=name, exact=True).click()
        page.evaluate("() => new Promise(done => setTimeout(done))")  # it is drawn
        if name in ("Edit", "Undo edit"):
            if bool(card.get_by_label("The code, to edit").count()) == (name == "Edit"):
                return
        elif page.wait_for_function(HEARD, arg=proposal).json_value() == "heard":
            return


RGB = """(element, property) => {
  const pixel = document.createElement('canvas').getContext('2d');
  pixel.fillStyle = getComputedStyle(element)[property];
  pixel.fillRect(0, 0, 1, 1);
  return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""


def hue(element: Locator, property: str = "color") -> str:
    """Which colour an element has in the theme of now: "red", "orange", "grey" or another."""
    red, green, blue = element.evaluate(RGB, property)
    if max(red, green, blue) - min(red, green, blue) < 24:
        return "grey"
    if red <= max(green, blue) + 50:
        return f"rgb({red} {green} {blue})"
    return "orange" if green > blue + 50 else "red"


KEEP_NOTICES = """() => {
  window.noticed ??= [];
  new MutationObserver(() => {
    for (const notice of document.querySelectorAll('.lmc-notice'))
      window.noticed.push(notice.textContent);
  }).observe(document.querySelector('#lmc-sidebar'),
             { childList: true, subtree: true, characterData: true });
}"""
"""What a notice says goes after some seconds, and a test may look late."""


IN_ITS_PLACE = """() => {
  const front = window.jupyterapp?.shell.currentWidget;
  const kernel = front?.sessionContext?.session?.kernel;
  return {
    sidebar: document.querySelector('#lmc-sidebar')?.textContent,
    dialog: document.querySelector('.jp-Dialog')?.textContent,
    front: front?.title.label,
    kernel: [kernel?.status, kernel?.connectionStatus],
  };
}"""
"""What a page shows that has no panel."""


class Panel:
    """The panel that is shown in the sidebar, its notebook and its kernel."""

    def __init__(self, page: Page, notebook: Any) -> None:
        self.page, self.notebook = page, notebook
        self.root = page.locator("#lmc-sidebar")
        self.panel = self.root.locator(".lmc-panel:visible")
        self.composer = self.panel.get_by_label("Your message", exact=True)
        self.card = self.panel.locator("[data-proposal]")
        self.log = self.panel.get_by_role("log")
        self.notice = self.panel.locator(".lmc-notice")

    # The kernel -----------------------------------------------------------------------------------

    def do(self, code: str) -> None:
        """Run this in the kernel, on its main thread, and wait for it."""
        self._execute(code, "")

    def value(self, expression: str) -> Any:
        """What a Python literal in the kernel is."""
        said = self._execute("", expression)["user_expressions"]["value"]
        assert said["status"] == "ok", said
        return ast.literal_eval(said["data"]["text/plain"])

    def _execute(self, code: str, value: str) -> dict[str, Any]:
        while (content := self.page.evaluate(EXECUTE, [code, value]))["status"] == "aborted":
            pass  # a cell has just failed, and what waited behind it did not run
        assert content["status"] == "ok", "\n".join(content.get("traceback", [str(content)]))
        return content

    def reset(self) -> None:
        """Begin a new conversation, once the answer of the test before is over."""
        for _ in range(600):  # in short steps: the end of an answer may need the main thread
            if self.value("current_session().wait(0.1)"):
                break
        self.do("current_session().reset()")
        self.state("idle")

    def messages(self) -> list[dict[str, Any]]:
        """The conversation as the kernel has it."""
        return self.value("[m.to_dict() for m in current_session().messages]")

    def cell(self, source: str) -> int:
        """A new code cell at the end of the notebook; its number."""
        return self.page.evaluate(
            """async source => {
              const notebook = window.jupyterapp.shell.currentWidget.content;
              notebook.activeCellIndex = notebook.widgets.length - 1;
              await window.jupyterapp.commands.execute('notebook:insert-cell-below');
              notebook.activeCell.model.sharedModel.setSource(source);
              return notebook.widgets.length - 1;
            }""",
            source,
        )

    def run(self, source: str) -> int:
        """Put this into a new cell and run it as a person does; not waited for."""
        at = self.cell(source)
        self.notebook.run(at)
        return at

    # The person -----------------------------------------------------------------------------------

    def ask(self, text: str = "Go.") -> None:
        self.sent()
        self.composer.fill(text)
        self.composer.press("Enter")

    def sent(self) -> None:
        """Wait until the kernel has heard the message before: until then the next is not sent."""
        self.composer.and_(self.page.locator(":not([data-sending])")).wait_for()

    def button(self, name: str) -> Locator:
        return self.panel.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        """A button of the question, once it takes a press."""
        press(self.card, name)

    # What is shown --------------------------------------------------------------------------------

    def record(self, type_: str, role: str = "") -> Locator:
        """Records of this type, in their order."""
        of = f'[data-role="{role}"]' if role else ""
        return self.panel.locator(f'article[data-type="{type_}"]{of}')

    def state(self, state: str) -> None:
        """Wait until this is what is going on: the word is there, and no other."""
        self.page.locator(f'#lmc-sidebar .lmc-panel[data-state="{state}"]:visible').wait_for()

    def noticed(self, words: str) -> None:
        """Wait until a notice has said this, which may be gone again."""
        self.page.wait_for_function(
            "words => window.noticed.some(one => one.includes(words))", arg=words
        )

    def shown(self) -> list[dict[str, str]]:
        """The records, once all of them are drawn: role, type, text.

        Of what is far out of sight there is no layout, and so no `innerText`.
        """
        self.panel.locator("article:empty").first.wait_for(state="detached")
        return self.panel.evaluate(
            "panel => [...panel.querySelectorAll('article')].map(one => ({"
            "role: one.dataset.role ?? 'note', type: one.dataset.type ?? 'note', "
            "text: one.textContent}))"
        )


def show(page: Page, notebook: Any) -> Panel:
    """Open the sidebar where it is not open, and wait for the notebook's panel."""
    page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('lmc:toggle')")
    page.evaluate(
        "() => window.jupyterapp.restored.then("
        "() => window.jupyterapp.shell.activateById('lmc-sidebar'))"
    )
    try:
        page.locator("#lmc-sidebar .lmc-panel[data-ready]:visible").wait_for()
    except TimeoutError as error:
        raise AssertionError(f"no panel came: {page.evaluate(IN_ITS_PLACE)}") from error
    page.evaluate(KEEP_NOTICES)
    return Panel(page, notebook)


IS_AS_BEFORE = """() => 'jupyterapp' in window && !('axe' in window)
  && !document.querySelector('.jp-Dialog')
  && performance.getEntriesByType('navigation')[0].type !== 'reload'"""
"""Whether a page shows JupyterLab that asks nothing, was loaded once (what a reload restores may
come late), and nobody looked at it in all themes, which leaves a style."""

CLEAR = """() => {
  const { shell } = window.jupyterapp;
  for (const widget of [...shell.widgets('main')]) widget.dispose();
  shell.collapseRight();
  localStorage.clear();
  sessionStorage.clear();
}"""


class SparePages:
    """Pages that tests are done with, for others to take; none in whose time a test failed.

    Parameters
    ----------
    failures : how many tests have failed so far
    """

    def __init__(self, chromium: Browser, failures: Callable[[], int]) -> None:
        self._chromium, self._failures = chromium, failures
        self._taken: dict[Page, int] = {}
        self._spare: list[Page] = []

    def new(self, width: int) -> Page:
        """A page with an empty profile."""
        context = self._chromium.new_context(
            viewport={"width": width, "height": 1000},
            permissions=["clipboard-read", "clipboard-write"],
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        return page

    def take(self, width: int) -> Page:
        """A page with nothing open in it."""
        page = self._spare.pop() if self._spare else self.new(width)
        page.set_viewport_size({"width": width, "height": 1000})
        self._taken[page] = self._failures()
        return page

    def give(self, page: Page) -> None:
        """Close what is open in this page, and keep it for the next test."""
        if self._taken.pop(page) == self._failures() and page.evaluate(IS_AS_BEFORE):
            page.evaluate(CLEAR)
            self._spare.append(page)
        else:
            page.context.close()


class Shared:
    """One page and one notebook for the tests of a module; new ones after a test that failed.

    Parameters
    ----------
    visit : opens the notebook of a name in a page
    """

    def __init__(
        self, spare: SparePages, lab: Any, visit: Callable[[Page, Any, str], Any], name: str
    ) -> None:
        self._spare, self._lab, self.visit, self._name = spare, lab, visit, name
        self._failed = 0
        self._panel: Panel | None = None

    def panel(self, failed: int) -> Panel:
        """The panel with an empty conversation; `failed` is how many tests have failed so far."""
        if self._panel is not None and failed == self._failed:
            self._panel.reset()
            self._panel.composer.fill("")
            return self._panel
        self.close()
        self._failed = failed
        page = self.page()
        self._panel = self.open(page, self._name)
        return self._panel

    def page(self) -> Page:
        """A page with nothing open in it."""
        return self._spare.take(1400)

    def open(self, page: Page, name: str, *cells: str) -> Panel:
        """The panel of a new notebook in this page, with what tests use in its kernel."""
        name = self._lab.write(name, *cells)
        panel = show(page, self.visit(page, self._lab, name))
        panel.do(SETUP)
        return panel

    def end(self, *pages: Page) -> None:
        """Give these pages back, and end the kernels of all notebooks but the module's own."""
        for page in pages:
            self._spare.give(page)
        for session in self._lab.api("GET", "sessions"):
            if self._panel is None or session["path"] != self._name:
                self._lab.api("DELETE", f"sessions/{session['id']}")

    def close(self) -> None:
        """Give the module's page back, and end all kernels."""
        pages = [] if self._panel is None else [self._panel.page]
        self._panel = None
        self.end(*pages)
