"""A question in a cell comes into sight, or a pill leads there, in JupyterLab and Notebook 7."""

from __future__ import annotations

import pytest
from panel_page import PATIENT, SETUP, press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CODE = "\n".join(f"line_{n} = {n}" for n in range(40))
HELD = f"""
go = threading.Event()
def wait_for_file():
    while not Path("go").exists():
        time.sleep(0.02)
    Path("go").unlink()
    go.set()
threading.Thread(target=wait_for_file, daemon=True).start()
choose(Held(said("I begin.\\n\\n" * 12, end=True), go, code({CODE!r}, end=True)))
"""
TALL = "\n".join(f"# {n}" for n in range(60))
AT = 2
"""The cell that asks; those below it are taller than the window."""
PILL = "A cell waits for your decision"
IN_SIGHT = """selector => {
  const card = document.querySelector(selector);
  if (!card?.dataset.ready || !card.checkVisibility()) return false;
  const box = card.getBoundingClientRect();
  const view = card.closest('.jp-WindowedPanel-outer').getBoundingClientRect();
  return box.top >= view.top - 1 && box.bottom <= view.bottom + 1;
}"""
GO_TO = """at => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = at;
  return content.scrollToItem(at, 'start');
}"""
TOP = """at => Math.round(window.jupyterapp.shell.currentWidget.content.widgets[at]
  .node.getBoundingClientRect().top)"""
"""Where a cell stands: what grows above it may move the end of the scrollbar, and not the cell."""
FULL = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.notebookConfig = { ...content.notebookConfig, windowingMode: 'full' };
}"""


class Late:
    """A notebook whose cell asks for code once `ask` is called, in sight until then."""

    def __init__(self, server, open_it, name: str, mode: str = "") -> None:
        set_up = SETUP + PATIENT + HELD
        self.root = server.root
        self.notebook = open_it(server.write(name, set_up, "0", "%%lmc\nGo.", TALL, TALL, TALL))
        self.page = self.notebook.page
        if mode:
            self.page.evaluate(mode)
        self.notebook.run(0)
        self.notebook.wait_done(0)
        self.notebook.run(AT)
        expect(self.notebook.cell(AT)).to_contain_text("I begin.")
        self.pill = self.page.locator(".lmc-waits")

    def go_to(self, at: int) -> int:
        """Choose a cell and bring it into sight; returns where it then stands."""
        self.page.evaluate(GO_TO, at)
        return self.top(at)

    def top(self, at: int) -> int:
        return self.page.evaluate(TOP, at)

    def ask(self) -> None:
        (self.root / "go").write_text("")

    def is_in_sight(self) -> None:
        self.page.wait_for_function(IN_SIGHT, arg="[data-proposal]")
        expect(self.pill).to_have_count(0)

    def decide(self) -> None:
        press(self.page.locator(".jp-Notebook [data-proposal]"), "Don't run")
        expect(self.pill).to_have_count(0)
        self.notebook.wait_done(AT)


@pytest.mark.parametrize("mode", ["", FULL], ids=["default", "full"])
def test_a_question_of_a_cell_in_sight_comes_into_sight(open_notebook, lab, mode):
    late = Late(lab, open_notebook, "in-sight.ipynb", mode)
    late.ask()
    late.is_in_sight()
    late.decide()


@pytest.mark.parametrize("mode", ["", FULL], ids=["default", "full"])
def test_who_is_elsewhere_stays_there_and_a_pill_leads_to_the_question(open_notebook, lab, mode):
    late = Late(lab, open_notebook, "elsewhere.ipynb", mode)
    top = late.go_to(4)
    late.ask()
    expect(late.pill).to_have_text(f"{PILL} ↑")
    assert abs(late.top(4) - top) < 3
    late.pill.click()
    late.is_in_sight()
    late.decide()


def test_who_writes_in_another_cell_in_sight_is_not_moved(open_notebook, lab):
    late = Late(lab, open_notebook, "writes.ipynb")
    late.notebook.cell(1).locator(".cm-content").click()
    top = late.top(1)
    late.ask()
    expect(late.pill).to_have_text(f"{PILL} ↓")
    assert late.top(1) == top
    late.pill.click()
    late.is_in_sight()
    late.decide()


def test_in_notebook_7_a_pill_leads_to_the_question_too(open_in_notebook7, notebook7):
    late = Late(notebook7, open_in_notebook7, "notebook7.ipynb")
    top = late.go_to(4)
    late.ask()
    expect(late.pill).to_have_text(f"{PILL} ↑")
    assert abs(late.top(4) - top) < 3
    late.pill.click()
    late.is_in_sight()
    late.decide()
