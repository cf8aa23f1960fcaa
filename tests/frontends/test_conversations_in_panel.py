"""What the panel asks about kept conversations and files is done by the session's own acts."""

from __future__ import annotations

import base64
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from scripted import EchoComputer, ScriptedModel, drive, said

from lmc_jupyter import formats
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.errors import FormatError, LMCError, SessionError
from lmc_jupyter.frontends.panel import conversations
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session that keeps its conversations in a folder of the test's own."""
    folder = tmp_path / "conversations"
    monkeypatch.setattr("lmc_jupyter.conversation.conversations.default_folder", lambda: folder)
    return Session(model=ScriptedModel(*[[said(f"Answer {n}.")] for n in range(9)]),
                   computer=EchoComputer())  # fmt: skip


def act(session: Session, kind: str, **content: Any) -> Any:
    return conversations.ANSWERS[kind](session, content)[0]


def listed(session: Session, search: str = "", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = act(session, "history", search=search, most=50, **more)
    return found


def asked(session: Session, *questions: str) -> None:
    for question in questions:
        drive(session.ask(question))


def contents(session: Session) -> list[Any]:
    return [message.content for message in session.messages]


def test_the_list_has_what_the_protocol_names_and_marks_the_current_one(session):
    asked(session, "One?")
    session.reset()
    asked(session, "Two?", "Two more?")
    two, one = listed(session)
    assert set(two) == {
        *("id", "title", "notebook", "model", "changed", "messages"),
        *("current", "here", "held", "found"),
    }
    assert (two["title"], two["messages"], two["current"]) == ("Two?", 4, True)
    assert (one["title"], one["messages"], one["current"], one["held"]) == ("One?", 2, False, False)
    assert [each["title"] for each in listed(session, "answer 0")] == ["One?"]
    assert "Answer 0." in listed(session, "answer 0")[0]["found"]
    assert len(act(session, "history", search="", most=1)) == 1


def test_only_those_of_this_notebook(session, monkeypatch):
    monkeypatch.setattr("lmc_jupyter.conversation.writer.notebook_path", lambda: "work/one.ipynb")
    asked(session, "In one?")
    session.reset()
    monkeypatch.setattr("lmc_jupyter.conversation.writer.notebook_path", lambda: "work/two.ipynb")
    asked(session, "In two?")
    assert [(each["title"], each["here"]) for each in listed(session)] == [
        ("In two?", True),
        ("In one?", False),
    ]
    assert [each["title"] for each in listed(session, here=True)] == ["In two?"]
    monkeypatch.setattr("lmc_jupyter.conversation.writer.notebook_path", lambda: "")
    assert listed(session, here=True) == []


def test_those_of_this_notebook_come_first_however_old(session, monkeypatch):
    def ask_in(notebook: str, question: str) -> None:
        monkeypatch.setattr("lmc_jupyter.conversation.writer.notebook_path", lambda: notebook)
        asked(session, question)
        session.reset()

    ask_in("one.ipynb", "Old, here?")
    ask_in("two.ipynb", "New, elsewhere?")
    ask_in("one.ipynb", "New, here?")
    ask_in("two.ipynb", "Newest, elsewhere?")
    monkeypatch.setattr("lmc_jupyter.conversation.writer.notebook_path", lambda: "one.ipynb")
    assert [(each["title"], each["here"]) for each in listed(session)] == [
        ("New, here?", True),
        ("Old, here?", True),
        ("Newest, elsewhere?", False),
        ("New, elsewhere?", False),
    ]


def test_opened_copied_renamed_and_deleted(session):
    asked(session, "One?")
    session.reset()
    asked(session, "Two?")
    one = next(each["id"] for each in listed(session) if each["title"] == "One?")
    assert isinstance(act(session, "open", conversation=one), str)
    assert contents(session) == ["One?", "Answer 0."]
    assert act(session, "rename", conversation=one, title="  Renamed ") is None
    assert session.journal.title == "Renamed"
    assert isinstance(act(session, "fork", conversation=one), str)
    asked(session, "And the copy?")
    by_title = {each["title"]: each for each in listed(session)}
    assert {title: each["messages"] for title, each in by_title.items()} == {
        "Renamed (copy)": 4,
        "Renamed": 2,
        "Two?": 2,
    }
    assert by_title["Renamed (copy)"]["current"]
    act(session, "delete", conversation=one)
    assert "Renamed" not in {each["title"] for each in listed(session)}
    assert len(session.messages) == 4
    act(session, "delete", conversation=by_title["Renamed (copy)"]["id"])
    assert session.messages == []


@pytest.mark.parametrize("kind", ["open", "fork", "rename", "delete"])
@pytest.mark.parametrize("conversation", ["", "../x", "nobody", 7, None])
def test_what_is_no_conversation_is_refused_with_a_sentence(session, kind, conversation):
    asked(session, "One?")
    with pytest.raises(LMCError, match="conversation"):
        act(session, kind, conversation=conversation, title="x")
    assert contents(session) == ["One?", "Answer 0."]


@pytest.mark.parametrize("most", [0, -1, conversations.MOST + 1, "5", None, 2.5])
def test_the_length_of_a_list_is_a_number_in_bounds(session, most):
    with pytest.raises(LMCError, match="'most' must be a number"):
        act(session, "history", search="", most=most)


def test_without_a_history_it_is_said(session):
    quiet = Session(model=ScriptedModel(), computer=EchoComputer(), keep=False)
    with pytest.raises(SessionError, match="does not save conversations"):
        listed(quiet)


def test_while_an_answer_is_given_it_cannot_be_changed_for_another(session):
    asked(session, "One?")
    one = session.journal.id
    data = base64.b64encode(b"[]").decode()
    reply = session.ask("Two?")
    next(reply)
    for kind, more in (
        ("open", {"conversation": one}),
        ("fork", {"conversation": one}),
        ("import", {"name": "x.json", "data": data}),
    ):
        with pytest.raises(SessionError, match="while an answer is in progress"):
            act(session, kind, **more)
    reply.close()


# Thumbs -------------------------------------------------------------------------------------------


def test_a_thumb_goes_to_the_answer_of_its_record_and_is_kept(session):
    mirror = Mirror(session, Batch(lambda _: None), dict)
    asked(session, "One?")

    def rate(at: object, rating: object) -> None:
        conversations.rate(session, mirror.answer_id(at), rating)

    rate(1, "down")
    assert session.messages[1].extra["feedback"] == "down"
    assert mirror.snapshot()["records"][1]["feedback"] == "down"
    read = Conversations().read(session.journal.id)
    assert read.messages[1].extra["feedback"] == "down"
    rate(1, None)
    assert "feedback" not in session.messages[1].extra
    assert mirror.snapshot()["records"][1]["feedback"] is None
    for wrong in ("sideways", 1, [], {}):
        with pytest.raises(LMCError, match="a rating is"):
            rate(1, wrong)
    with pytest.raises(LMCError, match="no answer that can be rated"):
        rate(0, "up")


# Files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["notebook", "markdown", "lmc", "glm-yaml", "openai"])
def test_it_is_saved_as_every_format_of_the_menu(session, format_):
    asked(session, "What is Über?")
    answer, data = conversations.export(session, {"format": format_})
    module = formats.formats()[format_]
    assert answer["name"] == f"what-is-über{module.EXTENSIONS[0]}"
    assert answer["mime"].count("/") == 1
    assert all(isinstance(each, str) for each in answer["lost"])
    assert b"Answer 0." in data
    if hasattr(module, "read"):
        assert formats.read(data, format_).messages[1].content == "Answer 0."


@pytest.mark.parametrize("format_", ["notebook", "markdown", "lmc", "glm-yaml", "openai"])
def test_no_key_and_no_path_of_this_machine_is_saved(session, format_, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/secret-project/penguins.ipynb")
    key = "sk-proj-" + "Kq7" * 12
    asked(session, f"Is {key} a good key?")
    answer, data = conversations.export(session, {"format": format_})
    assert key.encode() not in data
    assert "Keys were removed from 1 message." in answer["lost"]
    assert b"secret-project" not in data


def test_what_cannot_be_saved_is_said(session):
    with pytest.raises(SessionError, match="the conversation is empty"):
        act(session, "export", format="lmc")
    asked(session, "One?")
    with pytest.raises(FormatError, match="no format 'exe'"):
        act(session, "export", format="exe")


def bring(session: Session, data: bytes, name: str) -> list[str]:
    content = {"name": name, "data": base64.b64encode(data).decode()}
    lost: list[str] = conversations.import_(session, content)[0]
    return lost


def test_a_file_takes_the_place_of_the_conversation_which_stays_in_the_list(session):
    asked(session, "One?")
    file = [
        {"role": "user", "type": "message", "content": "From a file?"},
        {"role": "assistant", "type": "code", "format": "python", "content": "1/0"},
    ]
    assert bring(session, json.dumps(file).encode(), "old.json") == []
    assert contents(session) == ["From a file?", "1/0"]
    assert session.gate.pending is None
    assert not session.auto_run
    titles = {each["title"] for each in listed(session)}
    assert "One?" in titles


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<html>", "page.json"),
        (b"", "empty.json"),
        (b"\x00\xff" * 50, "noise.bin"),
        (b"[" * 100_000, "deep.json"),
        (b"- !!python/object/apply:os.system ['true']", "bad.yaml"),
    ],
)
def test_a_bad_file_is_a_sentence_and_nothing_is_lost(session, data, name):
    asked(session, "One?")
    gc.collect()  # what earlier tests left must not be finalized where no call is possible any more
    with pytest.raises(FormatError):
        bring(session, data, name)
    assert contents(session) == ["One?", "Answer 0."]


def test_bytes_that_arrive_damaged_are_said(session):
    with pytest.raises(FormatError, match="arrived damaged"):
        act(session, "import", name="x.json", data="not base64!")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Why? Because/of\\this: x", "why-because-of-this-x"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "conversation"),
        ("???", "conversation"),
        ("x" * 200, "x" * 60),
        ("日本語 の 題", "日本語-の-題"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_takes(title, name):
    assert conversations.file_name(title) == name
