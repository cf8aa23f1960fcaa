"""`%lmc hint` and `%lmc test` in a live kernel: a ladder of steps, a quota, and no model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_context import run as run_cell

from lmc_jupyter.tutor.course import report

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

COURSE = Path(__file__).parents[1] / "tutor" / "course"
WRONG = (
    "def sum_to(n):\n    total = 0\n    for i in range(1, n):\n        total += i\n    return total"
)
RIGHT = WRONG.replace("range(1, n)", "range(1, n + 1)")


@pytest.fixture(scope="module")
def lab(frontend, tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("course")
    shutil.copy(COURSE / "exercises.yaml", folder)
    cells = [{"cell_type": "code", "source": "", "metadata": {"tags": ["lmc-exercise: evens"]},
              "outputs": [], "execution_count": None, "id": "c1"}]  # fmt: skip
    book = folder / "book.ipynb"
    book.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    frontend.run(f"import os\nos.environ['JPY_SESSION_NAME'] = {str(book)!r}")
    frontend.run("%load_ext lmc_jupyter")
    return frontend


def exercise(lab: Any, code: str, id: str) -> None:
    run_cell(lab, code, tags=[f"lmc-exercise: {id}"])


def say(lab: Any, line: str) -> str:
    """What the command prints, or the error's sentence."""
    messages = lab.finish(lab.start(f"%lmc {line}"))
    return str([each["content"] for each in messages if each["msg_type"] != "status"])


def test_a_step_up_comes_only_when_the_cell_has_changed_and_run(lab):
    exercise(lab, WRONG, "sum_to")
    first = say(lab, "hint")
    assert "Hint for sum_to (a question, to find the mistake; 4 of 5 hints left)" in first
    assert "wrong by exactly one" in first
    again = say(lab, "hint sum_to")
    assert "4 of 5 hints left" in again
    assert "wrong by exactly one" in again
    assert "Change the cell and run it for the next one." in again
    exercise(lab, WRONG + "  # a comment is no change", "sum_to")
    assert "4 of 5 hints left" in say(lab, "hint")
    exercise(lab, WRONG.replace("total", "whole"), "sum_to")
    second = say(lab, "hint --expected 'ten for four'")
    assert "(where to look, to find the mistake; 3 of 5 hints left)" in second
    assert "Look at line 3 (for i in range(1, n):)." in second
    exercise(lab, RIGHT, "sum_to")
    assert "(a question, to make it better; 2 of 5 hints left)" in say(lab, "hint")
    events = "[dict(each.data) for each in current_session().journal.conversation().events]"
    lab.run("from lmc_jupyter import current_session")
    hints = [each for each in lab.value(events) if each["action"] == "hint"]
    assert [(each["exercise"], each["level"], each["kind"], each["line"]) for each in hints] == [
        ("sum_to", 1, "off by one", 3), ("sum_to", 2, "off by one", 3), ("sum_to", 1, "passed", 0),
    ]  # fmt: skip
    assert [each["expected"] for each in hints] == ["", "ten for four", ""]


def test_the_quota_is_kept(lab):
    for number in range(5):
        exercise(lab, f"count = {number}", "countdown")
        assert "Hint for countdown" in say(lab, "hint")
    exercise(lab, "count = 9", "countdown")
    assert "you had all 5 hints of this exercise" in say(lab, "hint")
    assert "0 of 0 tests pass" not in say(lab, "test")


def test_the_tests_say_what_fails_in_the_teachers_words(lab):
    exercise(lab, WRONG, "sum_to")
    said = say(lab, "test")
    assert "sum_to: 0 of 2 tests pass. The next one fails:" in said
    assert "the sum from 1 to 1 is 1" in said
    exercise(lab, RIGHT, "sum_to")
    assert "sum_to: all 2 tests pass." in say(lab, "test")
    exercise(lab, "def mean(numbers)\n    return 1", "mean")
    assert "mean: the cell fails in line 1: SyntaxError" in say(lab, "test mean")


def test_an_empty_cell_of_the_saved_notebook_gets_a_plan(lab):
    said = say(lab, "hint evens")
    assert "Hint for evens (a question, to begin; 4 of 5 hints left)" in said


def test_what_is_no_exercise_is_said(lab):
    assert "there is no cell with the tag `lmc-exercise: nothing`" in say(lab, "hint nothing")
    exercise(lab, "x = 1", "unknown")
    assert "exercises.yaml has no exercise 'unknown'" in say(lab, "test")


def test_no_model_was_asked(lab):
    assert lab.value("len(__import__('lmc_jupyter').current_session().turns)") == 0
    assert lab.value("[m for m in __import__('sys').modules if 'litellm.main' in m]") == []


@pytest.mark.parametrize("way", ["restart", "reload", "new", "undo", "another kernel"])
def test_no_way_within_jupyter_gives_hints_back(make_frontend, tmp_path, way):
    shutil.copy(COURSE / "exercises.yaml", tmp_path)
    env = {"JPY_SESSION_NAME": str(tmp_path / "mine.ipynb")}
    lab = make_frontend(env=env)
    lab.run("%load_ext lmc_jupyter")
    exercise(lab, WRONG, "sum_to")
    assert "4 of 5 hints left" in say(lab, "hint")
    match way:
        case "restart":
            lab.restart()
            lab.run("%load_ext lmc_jupyter")
        case "reload":
            lab.run("%reload_ext lmc_jupyter")
        case "new":
            lab.run("%lmc reset")
        case "undo":
            lab.finish(lab.start("%lmc undo"))
        case "another kernel":
            lab.close()
            lab = make_frontend(env=env)
            lab.run("%load_ext lmc_jupyter")
    exercise(lab, WRONG.replace("total", "amount"), "sum_to")
    assert "3 of 5 hints left" in say(lab, "hint")


def test_a_pupils_page_has_what_they_did_here_and_comes_from_nowhere_else(lab, tmp_path):
    text = say(lab, f"report {tmp_path / 'mine.html'} --name Ada")
    assert "as Ada. Read it, and hand it in if you want to: nothing was sent to anybody." in text
    work = report.read(tmp_path / "mine.html")
    assert work.pupil == "Ada"
    assert work.notebook == "book.ipynb"
    assert "sum_to" in work.exercises
    assert [each["level"] for each in work.hints if each["exercise"] == "sum_to"][:2] == [1, 2]
    assert "ten for four" in str(work.hints)
    again = say(lab, f"report {tmp_path / 'two.html'}")
    pseudonym = report.read(tmp_path / "two.html").pupil
    assert pseudonym.startswith("pupil-")
    assert pseudonym in again
