"""The checks of notebook 03: a learner who did something else is told what, and what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lmc_jupyter import Message

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks"))
import exercises
import staying_in_charge


def user(text):
    return Message("user", "message", content=text)


def code(text="squares = []", **extra):
    return Message("assistant", "code", "python", text).marked(**extra)


def console(text):
    return Message("computer", "console", "output", text)


def said(text):
    return Message("assistant", "message", content=text)


NO = "This code was not run: "
SQUARES = [n * n for n in range(1, 11)]


@pytest.fixture
def verdict(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diary.txt").write_text("dear diary")

    def of(exercise, *messages, **given):
        class Talk:
            pass

        talk = Talk()
        talk.messages = list(messages)
        monkeypatch.setattr(exercises, "current_session", lambda: talk)
        staying_in_charge.check(exercise, **given)
        return " ".join(capsys.readouterr().out.split())

    return of


@pytest.mark.parametrize("exercise", ["run", "edit", "decline", "ask", "stop", "read"])
def test_who_has_not_asked_is_told_to(verdict, exercise):
    assert "You have not asked yet" in verdict(exercise, user("hello"), said("hi"))


def test_an_unknown_exercise_is_named(verdict):
    with pytest.raises(ValueError, match="no exercise 'juggle'"):
        verdict("juggle")


@pytest.mark.parametrize(
    ("messages", "squares", "says"),
    [
        ([said("1, 4, 9")], None, "no code"),
        ([code(), console(NO + "the user declined.")], None, "press Run"),
        ([code(), console("[1, 4]")], None, "another name"),
        ([code(), console("[1, 4]")], [1, 4], "not the squares"),
        ([code(), console("…")], SQUARES, "✓"),
        ([code(), console(NO + "x."), code(), console("…")], SQUARES, "✓"),
    ],
)
def test_run(verdict, messages, squares, says):
    question = user("Make a list named squares.")
    assert says in verdict("run", question, *messages, squares=squares)


@pytest.mark.parametrize(
    ("messages", "warmest", "says"),
    [
        ([said("24.65")], None, "no code"),
        ([code(), console(NO + "no.")], None, "press Edit instead"),
        ([code(), console("24.65")], 30.0, "just as the model wrote it"),
        ([code(edited=True), console("24.65")], None, "no variable `warmest`"),
        ([code(edited=True), console("24.65")], 24.65, "the warmest day had 30"),
        ([code(edited=True), console("24.65")], 30.0, "✓"),
    ],
)
def test_edit(verdict, messages, warmest, says):
    question = user("What is the mean of temperatures?")
    shown = verdict("edit", question, *messages, warmest=warmest, temperatures=[19.0, 30.0])
    assert says in shown


def test_decline(verdict, tmp_path):
    question = user("Delete the file diary.txt.")
    assert "not said no yet" in verdict("decline", question, code(), console("done"))
    assert "but not why" in verdict("decline", question, code(), console(NO + "the user declined."))
    reason = console(NO + "rename it instead.")
    assert "✓" in verdict("decline", question, code(), reason, said("I see."))
    (tmp_path / "diary.txt").rename(tmp_path / "old-diary.txt")
    assert "✓" in verdict("decline", question, code(), reason, code(), console("renamed"))
    (tmp_path / "old-diary.txt").unlink()
    assert "diary.txt is gone" in verdict("decline", question, code(), console("done"))


@pytest.mark.parametrize(
    ("messages", "asked", "temperatures", "says"),
    [
        ([said("20.0")], "append", [19.0], "no code"),
        ([code(), console("")], "append", [19.0], "appended nothing"),
        ([code(), console("")], None, [19.0, 20.0], "`asked` is None"),
        ([code(), console("")], "highest", [19.0, 20.0], "Look again"),
        ([code(), console("")], "append", [19.0, 20.0], "✓"),
        ([code(), console(NO + "no.")], "append", [19.0], "✓"),
    ],
)
def test_ask(verdict, messages, asked, temperatures, says):
    question = user("Append 20.0 to temperatures.")
    assert says in verdict("ask", question, *messages, asked=asked, temperatures=temperatures)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([said("It is noon")], "press Run first"),
        ([code(), console(NO + "no.")], "let it run"),
        ([code(), console("KeyboardInterrupt\n")], "before it printed anything"),
        ([code(), console("12:00\n"), said("It is noon.")], "ended by itself"),
        ([code(), console("12:00\n12:01\nKeyboardInterrupt\n")], "✓"),
    ],
)
def test_stop(verdict, messages, says):
    question = user("Print the current time once a second in an endless loop.")
    assert says in verdict("stop", question, *messages)


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        ("visitors", "list of names in quotes"),
        ([3], "list of names in quotes"),
        ([], "`seen` is empty"),
        (["salary"], "does not hold 'salary'"),
        (["visitors"], "✓"),
    ],
)
def test_read(verdict, seen, says):
    question = user("How many rows does the table visitors have?")
    sent = '{"content": "visitors: DataFrame (3, 2)"}'
    assert says in verdict("read", question, code(), console("3"), seen=seen, sent=sent)


def test_the_notebook_shows_the_request_that_holds_the_names():
    """The embedded model is told the names with the question, and not with the output."""
    notebook = Path(staying_in_charge.__file__).with_name("03-staying-in-charge.ipynb")
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    bodies = ["Variables in the notebook: visitors (DataFrame)", "Output:\n3"]
    turn = SimpleNamespace(requests=[SimpleNamespace(body=body) for body in bodies])
    names = {"current_session": lambda: SimpleNamespace(turns=[turn])}
    exec(next(source for source in sources if source.startswith("sent = ")), names)
    assert "visitors" in names["sent"]
    for exercise in ("run", "edit", "decline", "stop", "read"):
        assert any(source.startswith(f'check("{exercise}"') for source in sources), exercise
