"""A session's conversation goes to a file and comes back; nothing in a file does anything."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from scripted import ScriptedModel, said

from lmc_jupyter import Message, Session
from lmc_jupyter.computer import Computer
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError, SessionError

KEY = "sk-" + "abcdefghij" * 3


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Session(ScriptedModel([said("Hello.")]), Computer(), api_key=KEY, keep=False)
    yield found
    found.close()


def talk() -> list[Message]:
    return [
        Message("user", "message", content="6*7?").stamped(),
        Message("assistant", "code", "python", "6*7").stamped(),
        Message("computer", "console", "output", "42").stamped(),
    ]


@pytest.mark.parametrize("name", ["a.json", "a.ipynb", "a.jsonl", "a.yaml"])
def test_it_comes_back_as_it_was(session: Session, name: str) -> None:
    session.messages = talk()
    before = list(session.messages)
    assert session.save(name) == [], "nobody gave it a title, and its time is that of its messages"
    session.reset()
    assert session.load(name) == []
    assert session.messages == before
    assert session.pending is None


@pytest.mark.parametrize("name", ["a.json", "a.ipynb", "a.jsonl", "a.yaml", "a.glm.json", "a.pb"])
def test_a_format_that_is_implied_stays_as_it_was_written(session: Session, name: str) -> None:
    session.messages = [
        {"role": "user", "type": "message", "format": "text", "content": "Read it, please."},
        {"role": "user", "type": "file", "format": "path", "content": "/path/to/file.pdf"},
        {"role": "user", "type": "file", "content": "/path/to/file.pdf"},
        {"role": "assistant", "type": "message", "content": "I did."},
    ]
    session.save(name)
    session.reset()
    assert session.load(name) == []
    assert [each.format for each in session.messages] == ["text", "path", None, None]


def test_what_the_file_does_not_hold_is_said(session: Session) -> None:
    session.messages = talk()
    lost = session.save("a.openai.json")
    assert "The id is not in the file: 3 messages (1, 2, 3)." in lost
    session.reset()
    session.load("a.openai.json")
    assert [each.content for each in session.messages] == ["6*7?", "6*7", "42"]
    assert all(each.id and each.created_at for each in session.messages)


def test_a_file_that_is_there_stays(session: Session) -> None:
    Path("a.json").write_text("mine")
    with pytest.raises(FormatError, match="exists already"):
        session.save("a.json")
    assert Path("a.json").read_text() == "mine"
    session.save("a.json", replace=True)
    assert json.loads(Path("a.json").read_text()) == []


@pytest.mark.parametrize("name", ["a.json", "a.ipynb", "a.openai.json", "a.md", "a.yaml"])
def test_no_key_is_in_any_file(session: Session, name: str, monkeypatch) -> None:
    monkeypatch.setenv("MY_OWN_TOKEN", "correct horse battery")
    session.conversation.take(
        Conversation(
            [
                Message("user", "message", content=f"It is {KEY}").stamped(),
                Message("assistant", "code", "python", "print(k)").stamped(),
                Message("computer", "console", "output", "correct horse battery\n").stamped(),
                Message("user", "message", content="x", extra={"deep": [{"k": KEY}]}).stamped(),
            ],
            title=f"about {KEY}",
            extra={"notes": {"key": KEY}},
        )
    )
    lost = session.save(name)
    written = Path(name).read_text()
    assert KEY not in written
    assert "correct horse battery" not in written
    assert "Keys were removed from 3 messages." in lost
    assert KEY in session.messages[0].content, "the conversation itself is as it was"


def test_a_bad_file_leaves_the_conversation_as_it_was(session: Session) -> None:
    session.messages = talk()
    before = list(session.messages)
    Path("bad.json").write_text("[7]")
    with pytest.raises(FormatError):
        session.load("bad.json")
    with pytest.raises(FileNotFoundError):
        session.load("nobody.json")
    assert session.messages == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["a named pipe", "a folder", "a device", "a socket"])
def test_what_is_no_file_is_refused_at_once(session: Session, tmp_path, kind: str) -> None:
    path = tmp_path / "a.json"
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "a named pipe":
            os.mkfifo(path)  # to open it waits for a writer
        elif kind == "a folder":
            path.mkdir()
        elif kind == "a socket":
            listening.bind("a.json")  # a whole path may be too long for one
        else:
            path = Path("/dev/zero")  # without an end
        with pytest.raises(FormatError, match=f"is {kind}"):
            session.load(path, "lmc")
    assert session.messages == []


def test_code_at_the_end_of_a_file_waits_and_a_confirmation_in_it_is_the_past(tmp_path) -> None:
    ran: list[str] = []

    class Python:
        name, aliases = "python", ()

        def run(self, code: str):
            ran.append(code)
            yield from ()

        def close(self) -> None:
            """It holds nothing."""

    computer = Computer()
    computer.register(Python())
    session = Session(ScriptedModel([said("Done.")]), computer, keep=False)
    path = tmp_path / "a.json"
    waits = [
        {"role": "user", "type": "message", "content": "Go."},
        {"role": "computer", "type": "confirmation", "format": "execution",
         "content": {"code": "rm()", "language": "python"}},
        {"role": "assistant", "type": "code", "format": "python", "content": "rm()"},
    ]  # fmt: skip
    path.write_text(json.dumps(waits))
    session.load(path)
    assert ran == []
    assert session.pending is not None
    reply = session.ask()
    assert next(reply).type == "confirmation"
    reply.close()
    assert ran == []
    session.close()


def test_it_is_not_loaded_into_an_answer(session: Session, tmp_path) -> None:
    session.save("a.json")
    reply = session.ask("Hi")
    next(reply)
    with pytest.raises(SessionError, match="while an answer"):
        session.load("a.json")
    reply.close()
