"""The checks of notebook 08: a learner who did something else is told what, and what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter import Message, formats
from lmc_jupyter.conversation import Conversation

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks"))
import save_share_rerun

QUESTION = Message("user", "message", content="A ball falls from 20 metres. Where is it?")
RIGHT = save_share_rerun.RIGHT


@pytest.fixture
def verdict(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def of(exercise: str, *messages: Message, **given: Any) -> str:
        class Talk:
            pass

        talk = Talk()
        talk.messages = list(messages)
        monkeypatch.setattr(save_share_rerun, "current_session", lambda: talk)
        save_share_rerun.check(exercise, **given)
        return " ".join(capsys.readouterr().out.split())

    return of


def test_a_friend_gets_the_question(verdict):
    assert verdict("friend").startswith("✗ There is no file friend.md yet")
    formats.write(Conversation(), "friend.md")
    assert "does not hold the question" in verdict("friend")
    formats.write(Conversation([QUESTION]), "friend.md", replace=True)
    assert verdict("friend").startswith("✓")


@pytest.mark.parametrize(
    ("remembers", "says"),
    [("no", "✓"), ("No ", "✓"), ("yes", "✗ Read the sentences"), ("", "✗ Write"), (7, "✗ Write")],
)
def test_what_a_file_remembers(verdict, remembers, says):
    assert verdict("remembers", remembers=remembers).startswith(says)


def fallen(height: str, printed: str) -> Conversation:
    code = Message("assistant", "code", "python", f"height = {height}\nprint(height)")
    return Conversation([QUESTION, code, Message("computer", "console", "output", printed)])


def test_a_higher_fall(verdict):
    assert "no file higher.ipynb yet" in verdict("higher")
    formats.write(Conversation(), "higher.ipynb")
    assert "is empty" in verdict("higher")
    formats.write(fallen("20.0", "0.00 s:  20.00 m"), "higher.ipynb", replace=True)
    assert "still falls from 20" in verdict("higher")
    formats.write(fallen("45.0", "0.00 s:  20.00 m"), "higher.ipynb", replace=True)
    assert "were not run" in verdict("higher")
    formats.write(fallen("45.0", "0.00 s:  45.00 m"), "higher.ipynb", replace=True)
    assert verdict("higher").startswith("✓")


def test_the_conversation_is_open_again(verdict):
    assert "session.load" in verdict("open")
    assert verdict("open", QUESTION).startswith("✓")


def test_each_for_whom(verdict):
    assert verdict("whom", whom=RIGHT).startswith("✓")
    assert "must be a dictionary" in verdict("whom", whom=7)
    assert "For yourself, tomorrow: write one of" in verdict("whom", whom={})
    for who in RIGHT:
        other = next(name for name in RIGHT.values() if name != RIGHT[who])
        told = verdict("whom", whom={**RIGHT, who: other})
        assert told.startswith("✗")
        assert "For " not in told[:6], "a wrong format is explained"
