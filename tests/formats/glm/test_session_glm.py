"""`session.glm`: what a conversation says in the words of the GLM chat history, key by key.

The names in capitals and the examples in quotation marks are those of the specification.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel, code, drive, said
from watcher import Watcher

from lmc_jupyter.computer import Computer
from lmc_jupyter.errors import FormatError, GateError, SessionError
from lmc_jupyter.formats import read
from lmc_jupyter.formats.glm import dictionary
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.session import Session

FILE = Path(__file__).parents[2] / "files" / "glm" / "specification.yaml"
KEY = "sk-" + "abcdefghij" * 3
YES = Decision(run=True)


class Hears(ScriptedModel):
    """A model that keeps what it was told beside the conversation."""

    told = ""

    def with_brief(self, brief: Any, notify: Any) -> Hears:
        self.brief = brief
        return self

    def respond(self, messages: list[Message]) -> Iterator[Chunk]:
        found: Brief = self.brief()
        Hears.told = found.instructions
        return super().respond(messages)


class Words:
    """A python that prints ok."""

    name, aliases = "python", ()

    def run(self, code: str) -> Iterator[Chunk]:
        yield Chunk("computer", "console", "output", "ok\n")

    def close(self) -> None:
        """There is nothing to end."""


@pytest.fixture
def session() -> Iterator[Session]:
    replies = [[said(each)] for each in ("Hello.", "Well.", "Fine.", "Good.")]
    found = Session(Hears(*replies), Computer(), keep=False)
    yield found
    found.close()


def told(session: Session) -> str:
    """What the model is told with the next question, beside its instructions."""
    drive(session.ask("Go on."))
    return Hears.told.partition("The user lets you know this.")[2]


def test_what_is_known_of_the_user_and_the_service_is_told_by_the_person_s_own_word(
    session: Session,
) -> None:
    session.glm.available_user_info = {"preferred_name": "Kim", "gender": "unknown"}
    session.glm.service_info = {"service": "online"}
    assert told(session) == "", "that it is set does not tell it"
    session.glm.for_model = ["available_user_info", "service_info"]
    assert '- available_user_info: {"preferred_name": "Kim", "gender": "unknown"}' in told(session)
    assert '- service_info: {"service": "online"}' in Hears.told
    document = session.glm.to_dict()
    assert document["system"] == {
        "available_user_info": {"preferred_name": "Kim", "gender": "unknown"},
        "service_info": {"service": "online"},
    }
    session.glm.for_model = ()
    assert told(session) == ""


def test_what_a_file_says_is_told_to_no_model_unasked(session: Session) -> None:
    session.glm.for_model = ["available_user_info", "sentiment"]
    sentences = "\n".join(session.load(FILE))
    assert session.glm.for_model == (), "it was said of another conversation"
    assert session.glm.available_user_info["preferred_name"] == "Kim"
    assert told(session) == ""
    assert (
        "current_session().glm.for_model = ['available_user_info', 'service_info'] sends it"
    ) in sentences
    session.glm.for_model = ["available_user_info"]
    assert "Kim" in told(session)
    session.reset()
    assert session.glm.available_user_info is None
    assert told(session) == ""


def test_a_sentiment_and_feedback_in_words_are_set_read_told_and_written(session: Session) -> None:
    drive(session.ask("Hi."))
    asked, answer = (str(each.id) for each in session.messages)
    session.glm.set_sentiment(asked, "curious")
    session.glm.set_feedback(answer, "The answer came late.")
    assert session.glm.sentiment(asked) == "curious"
    assert session.glm.feedback(answer) == "The answer came late."
    session.glm.for_model = ["sentiment", "feedback"]
    assert session.glm.for_prompt().endswith(
        '- sentiment: "curious"\n- feedback: "The answer came late."'
    )
    user, assistant = session.glm.to_dict()["history"]
    assert user["user"]["sentiment"] == "curious"
    assert assistant["assistant"]["feedback"] == "The answer came late."
    session.rate(answer, "up")
    assert session.glm.feedback(answer) == "up"
    session.glm.set_feedback(answer, None)
    assert "feedback" not in session.glm.to_dict()["history"][1]["assistant"]


def test_words_of_feedback_in_a_file_are_read(session: Session) -> None:
    session.load(FILE)
    assert session.glm.feedback(str(session.messages[-1].id)) == "The answer came late."
    first = session.messages[0]
    assert session.glm.sentiment(str(first.id)) == "curious"


def test_a_primary_message_is_told_as_it_was_written(session: Session) -> None:
    written = "Ask me about the weather.\n\n  - of Baden\n  - of Uri\n" + "And more. " * 300
    session.glm.primary_message = written
    document = session.glm.to_dict()
    session.reset()
    assert session.glm.primary_message == ""
    greeting = session.glm.from_dict(document)[0]
    assert greeting == "It greets you:\n" + "\n".join(f"> {each}" for each in written.split("\n"))
    assert session.glm.primary_message == written


def test_what_a_chat_format_means_here_is_told_when_the_file_is_opened(session: Session) -> None:
    sentences = session.load(FILE)
    assert (
        "It names the chat format chatml. That changes nothing, because each model's own format "
        "is used; it is saved again."
    ) in sentences
    assert session.glm.to_dict()["settings"]["chat_format"] == "chatml"


def test_the_session_s_own_model_options_are_in_the_file_and_its_key_and_address_are_not() -> None:
    options: dict[str, Any] = {"temperature": 0.2, "max_tokens": 500, "stop": ["END"]}
    here = Session(
        "openai/x", Computer(), keep=False, api_key=KEY, api_base="http://127.0.0.1:9/v1", **options
    )
    assert here.glm.to_dict()["settings"] == {"model_specific_settings": options}
    here.load(FILE)
    found = here.glm.to_dict()["settings"]["model_specific_settings"]
    assert found["temperature"] == 0.2, "what this session uses"
    assert found["top_p"] == 0.9, "what the file says beside it"
    assert KEY not in json.dumps(here.glm.to_dict())
    here.close()


def test_an_application_s_own_events_are_interactions(session: Session) -> None:
    drive(session.ask("Hi."))
    session.glm.record({"action": "clicked", "target": "show-map", "detail": {"zoom": 7}})
    session.glm.record({"action": "closed", "time": "2023-10-06T12:31:07+02:00"})
    drive(session.ask("And?"))
    history = session.glm.to_dict()["history"]
    assert [next(iter(each)) for each in history] == [
        "user", "assistant", "user_interaction", "user_interaction", "user", "assistant",
    ]  # fmt: skip
    first, second = history[2]["user_interaction"], history[3]["user_interaction"]
    assert (first["action"], first["target"], first["detail"]) == (
        "clicked",
        "show-map",
        {"zoom": 7},
    )
    assert "time" in first
    assert second["time"] == "2023-10-06T12:31:07+02:00"
    for wrong in ("clicked", {"glm": {"entry": 1}}, {"what": object()}):
        with pytest.raises(SessionError):
            session.glm.record(wrong)  # type: ignore[arg-type]


def test_the_dictionary_and_the_bytes_have_a_door(session: Session) -> None:
    document = {
        "history": [{"user": {"content": "What is the weather?"}}],
        "settings": {"atomic_sequences": ("$$", "$$")},
    }
    assert session.glm.from_dict(document) == []
    assert session.limits.atomic_sequences == (("$$", "$$"),)
    assert document["history"] == [{"user": {"content": "What is the weather?"}}], "it is a copy"
    before = session.glm.to_dict()
    data = session.glm.to_bytes()
    session.reset()
    assert session.glm.from_bytes(data) == []
    assert session.glm.to_dict() == before
    there = dictionary.from_dict(session.glm.to_dict()).messages
    assert [each.id for each in there] == [each.id for each in session.messages]
    with pytest.raises(FormatError, match="it needs a list 'history'"):
        session.glm.from_dict({"history": 3})
    assert len(session.messages) == 1, "and it goes on with what it had"


def test_no_key_is_in_the_dictionary_or_told(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    drive(session.ask(f"My key is {KEY}"))
    session.glm.available_user_info = {"name": KEY}
    session.glm.for_model = "available_user_info"
    assert KEY not in str(session.glm.to_dict()) + session.glm.for_prompt()
    assert KEY.encode() not in session.glm.to_bytes()


def test_it_is_on_the_disk_and_there_when_the_conversation_is_opened_again() -> None:
    here = Session(ScriptedModel([said("Hello.")]), Computer(), keep=True)
    drive(here.ask("Hi."))
    here.glm.service_info = "online"
    here.glm.set_sentiment(str(here.messages[0].id), "glad")
    here.glm.record({"action": "clicked"})
    id_, document = here.journal.id, here.glm.to_dict()
    here.close()
    again = Session(ScriptedModel([]), Computer(), keep=True)
    again.conversation.open(id_)
    assert again.glm.service_info == "online"
    found = again.glm.to_dict()
    assert found["system"] == document["system"]
    assert found["history"][0]["user"]["sentiment"] == "glad"
    assert found["history"][-1]["user_interaction"]["action"] == "clicked"
    again.close()


def test_code_of_a_model_changes_nothing_of_it() -> None:
    here = Session(ScriptedModel([code("1")], [said("Well.")]), Computer(Words()), keep=False)
    refused: list[str] = []

    class Tries(Watcher):
        def shown(self, chunk: Chunk) -> None:
            if chunk.content != "ok\n":
                return
            first = str(here.messages[0].id)
            for attempt in (
                lambda: setattr(here.glm, "for_model", ["sentiment"]),
                lambda: setattr(here.glm, "service_info", "x"),
                lambda: setattr(here.glm, "primary_message", "x"),
                lambda: here.glm.record({"action": "run"}),
                lambda: here.glm.set_sentiment(first, "x"),
                lambda: here.glm.from_dict({"history": []}),
            ):
                with pytest.raises(GateError) as error:
                    attempt()
                refused.append(str(error.value))

    here.history.subscribe(Tries())
    drive(here.ask("Go."), YES)
    assert len(refused) == 6
    here.close()


def test_a_message_that_is_not_there_and_a_name_that_is_none_are_a_sentence(
    session: Session,
) -> None:
    with pytest.raises(SessionError, match="no message of the user has the id 'x'"):
        session.glm.set_sentiment("x", "glad")
    with pytest.raises(SessionError, match="not 'mood'"):
        session.glm.for_model = ["mood"]
    with pytest.raises(SessionError, match="a primary_message is a text"):
        session.glm.primary_message = 3  # type: ignore[assignment]
    assert read(FILE).extra["glm"]["system"]["primary_message"]
