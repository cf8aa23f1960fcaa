"""What changed in the names is said in a line, and nothing of what a list has no room for."""

from __future__ import annotations

import pytest
from scripted import ScriptedModel, drive, said

from lmc_jupyter import Session
from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.context.names import MAX_NAMES, describe_changes, describe_news
from lmc_jupyter.context.parts import of_question


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        ("a: int", "a: int", ""),
        ("", "", ""),
        ("a: int", "a: int\nb: str, 3 characters", "new: b."),
        ("a: list, 3 items", "a: list, 4 items", "changed: a."),
        ("a: int\nb: int", "a: int", "gone: b."),
        ("a: int\nb: int", "b: str\nc: int", "new: c; changed: b; gone: a."),
        ("… and 3 more names\na: int", "… and 4 more names\nb: int", "new: b."),
        ("a: int", "no line of a name", "gone: a."),
    ],
)
def test_changes_are_told_apart(before: str, now: str, says: str) -> None:
    line = describe_changes(before, now)
    assert line == (f"Names since your last reply: {says}" if says else "")


COLUMNS = "int64: flights; float64: mean, median; str: name; bool: is_rare, is_new"
FRAME = f"DataFrame, 9 rows, columns {COLUMNS}"


def test_a_new_frame_with_the_columns_of_another_is_described_by_its_name() -> None:
    before = f"a: {FRAME}\nold: DataFrame, 1 row, columns {COLUMNS}, is_late"
    news = describe_news(before, f"a: {FRAME}\nb: {FRAME}; begins 1, 2\nc: {FRAME}_2\nd: {FRAME}_2")
    assert news.splitlines()[:4] == [
        "New names:",
        "b: DataFrame, 9 rows, columns as in a; begins 1, 2",
        f"c: {FRAME}_2",
        "d: DataFrame, 9 rows, columns as in c",
    ]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"{FRAME}; … 300 more", id="not all columns are named"),
        pytest.param("DataFrame, 3 rows, columns a (int)", id="the name is no shorter"),
        pytest.param("list, 3 items", id="no frame"),
    ],
)
def test_what_no_other_name_says_in_fewer_words_stands_whole(line: str) -> None:
    news = describe_news(f"first: {line}", f"first: {line}\nnew: {line}")
    assert news == f"New names:\nnew: {line}"


def test_a_new_frame_is_not_described_by_a_name_that_is_gone() -> None:
    assert describe_news(f"a: {FRAME}", f"b: {FRAME}").startswith(f"New names:\nb: {FRAME}\n")


def test_many_names_are_counted() -> None:
    now = "\n".join(f"n{number}: int" for number in range(MAX_NAMES + 5))
    assert describe_changes("", now).endswith(f"n{MAX_NAMES - 1} and 5 more.")


def test_a_model_that_reads_no_brief_is_told_what_changed_since_the_last_question() -> None:
    names = ["a: int"]
    session = Session(ScriptedModel([said("One.")], [said("Two.")]), keep=False)
    session.computer.names = lambda *_: "\n".join(names)  # type: ignore[method-assign]
    for question, changes in (("One?", ""), ("Two?", "Names since your last reply: new: b.")):
        drive(session.ask(question, insert=True, cells=CellChoice()))
        assert [part.content for part in of_question(session.messages[-2])] == [changes] * bool(
            changes
        )
        names.append("b: int")
