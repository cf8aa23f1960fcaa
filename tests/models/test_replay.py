"""Recordings: played word for word, found by the question, made from a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted import ScriptedModel, code, said

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import get_model
from lmc_jupyter.models.replay import ReplayModel, record


def user(text: str) -> Message:
    return Message("user", "message", content=text)


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def words(pieces: object) -> list[str]:
    return [piece.content for piece in pieces if piece.content]  # type: ignore[attr-defined]


END = {"reply": "end"}
SUM = [said("I add. "), code("1 + 1", start=True), Chunk("assistant", "code", "python", end=True)]
PLOT = [code("plot()", start=True), Chunk("assistant", "code", "python", end=True)]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(
        tmp_path / "r.jsonl",
        {"recording": "some-model"},
        {"question": "What is 1 + 1?"},
        *[piece.to_dict() for piece in SUM],
        END,
        said("Two.").to_dict(),
        END,
        {"question": "Plot it."},
        *[piece.to_dict() for piece in PLOT],
        END,
        said("A line.").to_dict(),
        END,
        {"question": "Plot it."},
        said("Again?").to_dict(),
        END,
    )


def test_the_pieces_are_those_of_the_recording(recording: Path) -> None:
    model = get_model(f"replay/{recording}")
    assert list(model.respond([user("What is 1 + 1?")])) == SUM


def test_it_says_that_it_is_a_recording(recording: Path) -> None:
    assert ReplayModel(recording).label == "recording of some-model"


def test_the_next_reply_is_read_from_the_conversation(recording: Path) -> None:
    model = ReplayModel(recording)
    messages = [
        user("What is 1 + 1?"),
        Message("assistant", "message", content="I add."),
        Message("assistant", "code", "python", "1 + 1"),
        Message("computer", "console", "output", "2"),
    ]
    assert words(model.respond(messages)) == ["Two."]
    assert words(model.respond(messages)) == ["Two."]  # it keeps no count of its own
    messages += [Message("assistant", "message", content="Two.")]
    assert words(model.respond([*messages, user("Plot  it. ")])) == ["plot()"]


def test_a_question_that_comes_twice_may_have_two_answers(recording: Path) -> None:
    model = ReplayModel(recording)
    asked = [user("Plot it."), Message("assistant", "code", "python", "plot()")]
    assert words(model.respond([*asked, user("Plot it.")])) == ["Again?"]
    assert words(model.respond([*asked, *asked, user("Plot it.")])) == ["Again?"]
    assert words(model.respond([user("Plot it.")])) == ["plot()"]


def test_a_question_that_is_not_there_is_refused(recording: Path) -> None:
    with pytest.raises(ModelError, match=r"no answer to 'Who\?'.*'Plot it\.'.*%lmc model"):
        list(ReplayModel(recording).respond([user("Who?")]))


def test_a_conversation_that_goes_on_after_the_recording_is_refused(recording: Path) -> None:
    messages = [user("What is 1 + 1?"), *[Message("assistant", "message", content="x")] * 3]
    with pytest.raises(ModelError, match="ends here: it has 2 replies"):
        list(ReplayModel(recording).respond(messages))


def test_replies_without_a_question_answer_any(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", said("Yes.").to_dict(), END)
    assert words(ReplayModel(path).respond([user("Who?")])) == ["Yes."]


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        (["{nonsense"], "line 1 of the recording"),
        (['{"role": "user", "type": "message", "content": "x"}'], "only hold assistant"),
        (['{"role": "assistant", "type": "nothing", "content": "x"}'], "unknown type"),
        (["[]"], "line 1"),
        (['{"role": "assistant", "type": "message", "content": "x"}'], "has no end"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, lines: list[str], match: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ModelError, match=match):
        ReplayModel(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        ReplayModel(tmp_path / "none.jsonl")


def test_what_a_model_says_is_recorded_and_played(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    model = record(ScriptedModel(SUM, [said("Two.")]), path)
    messages = [user("What is\n1 + 1?")]
    assert list(model.respond(messages)) == SUM
    messages += [
        Message("assistant", "message", content="I add."),
        Message("assistant", "code", "python", "1 + 1"),
        Message("computer", "console", "output", "2"),
    ]
    assert words(model.respond(messages)) == ["Two."]
    played = ReplayModel(path)
    assert played.label == "recording of ScriptedModel"
    assert list(played.respond(messages[:1])) == SUM
    assert words(played.respond(messages)) == ["Two."]


def test_a_reply_that_is_not_whole_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    model = record(ScriptedModel([said("I"), ModelError("the connection broke")]), path)
    with pytest.raises(ModelError, match="the connection broke"):
        list(model.respond([user("Hi.")]))
    stopped = record(ScriptedModel([said("I"), said("You")]), path).respond([user("Hi.")])
    next(stopped)
    stopped.close()
    assert not path.exists()


def test_options_of_models_in_general_are_no_concern_of_a_recording(recording: Path) -> None:
    assert get_model(f"replay/{recording}", temperature=0, api_base="http://x").label
