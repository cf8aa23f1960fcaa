"""The page of a pupil's work, and the one that a teacher makes of several."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lmc_jupyter.frontends.command import main
from lmc_jupyter.tutor.course import report
from lmc_jupyter.tutor.course.report import Submission
from lmc_jupyter.tutor.exercises import ExerciseError

HOUR = "2026-11-28T10:{:02}:00+00:00"


def attempt(minute: int, passed: bool, test: str = "sum_to(4) == 10") -> dict[str, object]:
    tests = [2 if passed else 1, 2]
    return {"action": "attempt", "exercise": "sum_to", "time": HOUR.format(minute),
            "passed": passed, "test": "" if passed else test, "tests": tests}  # fmt: skip


def hint(minute: int, level: int, expected: str = "") -> dict[str, object]:
    return {"action": "hint", "exercise": "sum_to", "time": HOUR.format(minute), "level": level,
            "kind": "off by one", "line": 3, "expected": expected}  # fmt: skip


def asked(minute: int, text: str) -> dict[str, object]:
    return {"action": "question", "exercise": "sum_to", "time": HOUR.format(minute), "text": text}


ADA = Submission(
    "pupil-ada", "lists.ipynb", HOUR.format(40),
    (attempt(0, False), attempt(9, False), attempt(12, True)),
    (hint(1, 1), hint(5, 2, "ten & <b>")),
    (asked(6, "Just the code, please"), asked(7, "Why is it wrong?")),
)  # fmt: skip
BOB = Submission(
    "pupil-bob", "lists.ipynb", HOUR.format(41), (attempt(2, False, "sum_to(0) == 0"),)
)
EVE = Submission("pupil-eve", "lists.ipynb", HOUR.format(42))


def rows(page: str) -> list[list[str]]:
    """The rows of all tables, as text."""
    found = re.findall(r"<tr>(.*?)</tr>", page)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", each) for each in found]


def test_a_pupils_page_is_read_back_as_it_was(tmp_path):
    page = tmp_path / "page.html"
    report.write(page, report.of_pupil(ADA))
    assert report.read(page) == ADA
    text = page.read_text("utf-8")
    assert "This is all that your teacher gets" in text
    assert "<b>pupil-ada</b>" in text
    assert "http" not in text


def test_what_a_pupil_wrote_is_shown_as_text_and_ends_no_script():
    work = replace(ADA, questions=(asked(6, "</script><script>alert(1)</script>"),))
    page = report.of_pupil(work)
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert(1)" in page


def test_the_page_of_a_class_counts_each_exercise(tmp_path, capsys):
    files = []
    for work in (ADA, BOB, EVE, replace(ADA, made=HOUR.format(10), attempts=())):
        files.append(tmp_path / f"{len(files)}.html")
        report.write(files[-1], report.of_pupil(work))
    to = tmp_path / "class.html"
    assert main(["course", "report", *map(str, files), "--to", str(to)]) == 0
    page = to.read_text("utf-8")
    assert "3 pupils, 3 notebooks" in page  # the later page of a pupil counts
    found = rows(page)
    assert ["sum_to", "2", "1", "2", "12", "1", "1", "0", "0"] in found
    assert ["sum_to(4) == 10", "1"] in found
    assert ["sum_to(0) == 0", "1"] in found
    assert ["off by one", "2"] in found
    assert ["pupil-ada", "3", "12", "2", "1"] in found
    assert ["pupil-bob", "1", "not yet", "0", "0"] in found
    assert ["asked for the solution", "Just the code, please"] in found
    assert ["asked about an error", "Why is it wrong?"] in found
    assert ["other", "ten &amp; &lt;b&gt;"] in found
    assert "<script" not in page
    assert main(["course", "report", *map(str, files), "--to", str(to)]) == 1
    assert "--replace" in capsys.readouterr().err


def test_nothing_done_is_said():
    assert "No exercise was tried yet." in report.of_pupil(EVE)


@pytest.mark.parametrize(
    "text",
    ["", "<html></html>", '<script type="application/json" id="lmc-submission">[]</script>',
     '<script type="application/json" id="lmc-submission">{"attempts": [3]}</script>',
     report.of_pupil(ADA).replace("T10:", "T99:")],
    ids=["empty", "a page", "a list", "a number", "no time"],
)  # fmt: skip
def test_what_is_no_page_of_ours_is_refused(tmp_path: Path, text: str, capsys):
    path = tmp_path / "page.html"
    path.write_text(text)
    with pytest.raises(ExerciseError, match="no page that `%lmc report` made"):
        report.read(path)
    assert main(["course", "report", str(path), "--to", str(tmp_path / "out.html")]) == 1
    assert not (tmp_path / "out.html").exists()
