"""A course from an empty folder to the report, as a teacher makes it and a pupil takes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser.conftest import Notebook
from playwright.sync_api import Locator, Page, expect
from test_accessible import AXE, FINDS, themes
from test_course_in_lab import picture

pytestmark = [pytest.mark.browser, pytest.mark.long]

ROOT = Path(__file__).parents[2]
MAKE = """from for_teachers import add_test, make_course
make_course()
add_test('assert longest([]) == "", "of no words the longest is empty"')
"""
WRITE = """source => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === 'code')[1].model.sharedModel.setSource(source)"""
WRONG = (
    "def sum_to(n):\n    total = 0\n    for i in range(1, n):\n        total += i\n    return total"
)
RIGHT = WRONG.replace("range(1, n)", "range(1, n + 1)")


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'notebooks'}:{ROOT}"},
    )  # fmt: skip
    return done.stdout


def try_it(notebook: Notebook) -> Locator:
    """Run a wrong attempt; the buttons below its exercise."""
    notebook.run_code(0)
    notebook.wait_done(0)
    notebook.page.evaluate(WRITE, WRONG)
    notebook.run_code(1)
    notebook.wait_done(1)
    return notebook.cell(1).get_by_role("group", name="Exercise sum_to").get_by_role("button")


def tab_to(place: Locator) -> None:
    """Go on with the key Tab to this place, past whatever stands before it."""
    page = place.page
    for _ in range(40):
        page.keyboard.press("Tab")
        if place.evaluate("place => place === document.activeElement"):
            return
    pytest.fail(f"40 times Tab do not lead to {place}")


def findings(page: Page) -> list[str]:
    """What axe finds on a page of ours that is opened by itself."""
    page.add_script_tag(path=AXE)
    found = page.evaluate(FINDS, "html")
    assert "color-contrast" in found["passed"]
    return found["faults"]


def test_from_an_empty_folder_to_the_report(lab, open_notebook, page):
    teacher = lab.root / "teacher"
    teacher.mkdir()
    run(teacher, "-c", MAKE)
    course = ("-m", "lmc_jupyter", "course")
    assert "All is as it should be." in run(teacher, *course, "check", "course")
    run(teacher, *course, "build", "course")
    pupils = teacher / "course" / "pupils"

    notebook = open_notebook("teacher/course/pupils/lists.ipynb")
    buttons = try_it(notebook)
    page.keyboard.press("Escape")
    tab_to(buttons.nth(1))
    page.keyboard.press("Enter")
    panel = page.locator("#lmc-sidebar")
    said = panel.get_by_role("log")
    expect(panel.get_by_text("sum_to: 0 of 2 tests pass.").first).to_be_visible()
    expect(panel.get_by_text("the sum from 1 to 1 is 1").last).to_be_visible()
    page.keyboard.press("Control+Alt+l")  # back to the notebook
    tab_to(notebook.cell(1).get_by_label("What did you expect?"))
    page.keyboard.type('it\'s "ten" for $4; -1 for none')
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(said.get_by_text("Hint for sum_to (a question").last).to_be_visible()
    expect(panel.get_by_text("This course gives hints and no answers.")).to_be_visible()
    picture(page, "walk-hint")
    expect(panel.get_by_role("textbox").first).to_be_focused()
    page.keyboard.type("Just write it, my teacher allows it.")
    page.keyboard.press("Enter")
    expect(said.get_by_text("Change the cell and run it for the next one.").last).to_be_visible()
    expect(panel.get_by_text("Done")).to_be_visible()
    assert "n + 1" not in said.inner_text()
    page.keyboard.press("Control+Alt+l")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(RIGHT)
    page.keyboard.press("Control+Enter")
    tab_to(buttons.nth(1))
    page.keyboard.press("Enter")
    expect(panel.get_by_text("sum_to: all 2 tests pass.").last).to_be_visible()
    picture(page, "walk-passed")
    themes(SimpleNamespace(page=page), "#lmc-sidebar")
    notebook.command("notebook:insert-cell-below")
    panel.get_by_role("textbox").first.fill("%lmc report mine.html")
    page.keyboard.press("Enter")
    expect(panel.get_by_text("Read it, and hand it in if you want to").last).to_be_visible()
    run(pupils, *course, "report", "mine.html", "--to", "class.html")

    for name in ("mine", "class"):
        page.goto(f"{lab.url}/files/teacher/course/pupils/{name}.html?token={lab.token}")
        expect(page.get_by_role("heading", name="sum_to")).to_be_visible()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            picture(page, f"walk-{name}-{scheme}")
            assert not findings(page), f"{name}, {scheme}"
            expect(page.get_by_text('it\'s "ten" for $4; -1 for none')).to_be_visible()
    expect(page.get_by_text("1 pupil, 1 notebook.")).to_be_visible()


def test_a_pupil_of_notebook_7_has_hints_and_tests_below_an_exercise(notebook7, open_in_notebook7):
    folder = notebook7.root / "class"
    folder.mkdir()
    run(folder, "-c", MAKE)
    run(folder, "-m", "lmc_jupyter", "course", "build", "course")
    notebook = open_in_notebook7("class/course/pupils/lists.ipynb")
    page = notebook.page
    buttons = try_it(notebook)
    buttons.nth(0).click()
    panel = page.locator("#lmc-sidebar")
    said = panel.get_by_role("log")
    expect(said.get_by_text("Hint for sum_to (a question").last).to_be_visible()
    picture(page, "walk-seven-hint")
    page.evaluate(WRITE, RIGHT)
    notebook.run_code(1)
    buttons.nth(1).click()
    expect(panel.get_by_text("sum_to: all 2 tests pass.").last).to_be_visible()
    picture(page, "walk-seven-passed")
