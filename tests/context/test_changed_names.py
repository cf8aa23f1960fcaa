"""What changed in the names is said in a line, and nothing of what a list has no room for."""

from __future__ import annotations

import pytest
from scripted import ScriptedModel, drive, said

from lmc_jupyter import Session
from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.context.names import MAX_NAMES, describe_changes
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
