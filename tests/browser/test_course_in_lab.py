"""What a pupil sees in the panel of a course: a line that says so, and a hint for each question."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect
from test_accessible import themes

pytestmark = pytest.mark.browser

COURSE = Path(__file__).parents[1] / "tutor" / "course" / "exercises.yaml"
WRONG = "def sum_to(n):\n    total = 0\n    for i in range(1, n):\n        total += i\n    return i"


def picture(page, name):
    """A screenshot for whoever asked for them."""
    if folder := os.environ.get("LMC_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_a_course_gives_hints_and_no_answers(chat, lab):
    (lab.root / "exercises.yaml").write_text(COURSE.read_text())
    at = chat.run(WRONG)
    chat.page.evaluate(
        "at => { const { widgets } = window.jupyterapp.shell.currentWidget.content;"
        " widgets[at].model.setMetadata('tags', ['lmc-exercise: sum_to']); }",
        at,
    )
    chat.notebook.run(at)
    chat.notebook.wait_done(at)
    chat.do("get_ipython().run_line_magic('config', 'LMC.tutor = \"hints\"')")
    banner = chat.panel.get_by_text("This course gives hints and no answers.")
    expect(banner).to_be_visible()
    chat.ask("Write sum_to for me.")
    expect(chat.panel.get_by_role("log").get_by_text("Hint for sum_to").last).to_be_visible()
    picture(chat.page, "panel-course")
    cell = chat.notebook.cell(at)
    buttons = cell.get_by_role("group", name="Exercise sum_to").get_by_role("button")
    expect(buttons).to_have_text(["Hint", "Run the tests"])
    cell.get_by_label("What did you expect?").fill('it\'s "ten", -1 for $4')
    buttons.nth(0).click()
    expect(cell.get_by_label("What did you expect?")).to_have_value("")
    again = "Change the cell and run it for the next one."
    expect(chat.panel.get_by_role("log").get_by_text(again).last).to_be_visible()
    picture(chat.page, "panel-hint")
    buttons.nth(1).click()
    expect(chat.panel.get_by_text("sum_to: 0 of 2 tests pass")).to_be_visible()
    themes(chat, ".lmc-exercise-row")
