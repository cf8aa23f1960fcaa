"""A message type that is only a row of FORMATS streams, is shown, is told to the model, is saved.

What makes it more than text in brackets (a renderer, a conversion of its own) is added where
docs/extending.md says; `tests/test_formats.py` names what of that a row of ours lacks.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel, assert_valid, drive, said

from lmc_jupyter import FORMATS, Assembler, Chunk, Message, Session, delimit
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.frontends.cell.cell import CellView
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.frontends.view import play
from lmc_jupyter.lmc import Format
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import to_chat

SONG = "c d e f g"


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "score", Format(("abc",), ("assistant",), "a melody, as text"))


class Page:
    """The outputs of a cell."""

    shows_updates = True
    repeats_updates = False
    html = ""

    def show(self, data: dict[str, Any], display_id: str) -> None:
        self.html += data.get("text/html", "")

    update = show

    def flush(self) -> None:
        """All is shown already."""


def pieces() -> list[Chunk]:
    return [Chunk("assistant", "score", "abc", part) for part in (SONG[:3], SONG[3:])]


def test_it_is_valid_in_its_formats_alone(row: None) -> None:
    assert Chunk.from_dict(pieces()[0].to_dict()) == pieces()[0]
    with pytest.raises(ValueError, match="'score' has no format 'midi': it must be one of abc"):
        Message("assistant", "score", "midi", SONG)


def test_it_streams_and_becomes_one_message(row: None) -> None:
    chunks = list(delimit(pieces()))
    assert [(each.start, each.content, each.end) for each in chunks] == [
        (True, None, False),
        (False, SONG[:3], False),
        (False, SONG[3:], False),
        (False, None, True),
    ]
    assembler = Assembler()
    whole = [message for each in chunks if (message := assembler.feed(each)) is not None]
    assert whole == [Message("assistant", "score", "abc", SONG)]


def test_a_model_answers_with_it_and_is_told_of_it_in_the_next_request(row: None) -> None:
    session = Session(ScriptedModel([*pieces(), said("There.")]), keep=False)
    drive(session.ask("Sing."))
    assert [(each.type, each.content) for each in session.messages[1:]] == [
        ("score", SONG),
        ("message", "There."),
    ]
    assert_valid(session.messages)
    assert "score" in str(to_chat(session.messages, Brief(), tools=True, vision=False))


def test_it_is_shown_in_a_terminal_and_in_a_cell(row: None) -> None:
    session, out, page = Session(ScriptedModel(pieces()), keep=False), io.StringIO(), Page()
    TextView(session, out, None)
    play(session.ask("Sing."), CellView(session, page))
    assert "[score]" in out.getvalue()
    assert SONG in page.html


@pytest.mark.parametrize("ending", [".lmc.json", ".ipynb", ".json"])
def test_it_is_saved_and_read_again(row: None, ending: str, tmp_path: Path) -> None:
    session = Session(ScriptedModel(pieces()))
    drive(session.ask("Sing."))
    assert Conversations().read(session.journal.id).messages == session.messages
    session.save(tmp_path / f"song{ending}")
    again = Session("replay/none", keep=False)
    again.load(tmp_path / f"song{ending}")
    assert [(each.type, each.format, each.content) for each in again.messages] == [
        ("message", None, "Sing."),
        ("score", "abc", SONG),
    ]
