"""What a person says: to models that hear as it is, to others as a transcript, or a sentence."""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import ModelServer, Refusal, Turn, text, tool

from lmc_jupyter import Session
from lmc_jupyter.errors import Stopped
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import get_model
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.litellm import LiteLLMModel
from lmc_jupyter.models.local import LocalModel
from lmc_jupyter.models.openai import Abilities

KEY = "sk-verysecret0123456789abcdef"
OTHER_KEY = "gsk_another0123456789abcdefgh"


def recording(seconds: float = 0.5) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(16_000)
        wav.writeframes(bytes(int(32_000 * seconds)))
    return out.getvalue()


WAV = recording()


def spoken(wav: bytes = WAV) -> Message:
    content = base64.b64encode(wav).decode()
    return Message("user", "audio", "wav", content).stamped()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as it:
        it.turns = [Turn(text("Here."))]
        yield it


def model_at(server: ModelServer, **options: Any) -> Any:
    options = {"api_base": server.base, "api_key": KEY, "hears": False, **options}
    return get_model("openai/some-model", **options)


def answer(model: Any, *messages: Message, notes: list[str] | None = None) -> list[Chunk]:
    told = model.with_brief(Brief, (notes if notes is not None else []).append)
    return [*told.respond(list(messages))]


def asked(server: ModelServer, path: str) -> list[Any]:
    return [each for each in server.requests if each.path.endswith(path)]


def remarks(pieces: list[Chunk]) -> list[str]:
    return [p.content for p in pieces if p.type == "console" and p.recipient == "user"]


def test_a_model_that_hears_gets_the_sound(server: ModelServer) -> None:
    pieces = answer(model_at(server, hears=True), spoken())
    (request,) = server.requests
    (part,) = request.body["messages"][-1]["content"]
    assert part["input_audio"]["format"] == "wav"
    assert base64.b64decode(part["input_audio"]["data"]) == WAV
    assert remarks(pieces) == []


@pytest.mark.parametrize(
    ("name", "hears"),
    [("gemini/gemini-2.5-flash", True), ("gpt-4o", False), ("openai/mine", False)],
)
def test_whether_a_model_hears_is_what_litellm_knows(name: str, hears: bool) -> None:
    model = LiteLLMModel(name, tools=True, vision=True)
    assert model._abilities([spoken()]) == Abilities(True, True, hears)


def test_a_model_that_does_not_hear_gets_a_transcript_and_the_person_sees_it(
    server: ModelServer,
) -> None:
    server.transcripts = ["Plot the prices."]
    notes: list[str] = []
    pieces = answer(model_at(server, transcription_model="openai/whisper-1"), spoken(), notes=notes)
    (heard,) = asked(server, "/audio/transcriptions")
    assert heard.body["file"] == WAV
    assert heard.body["model"] == "whisper-1"
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    (request,) = asked(server, "/chat/completions")
    told = request.body["messages"][-1]["content"]
    assert told == "(The user sent 0.5 seconds of sound; a transcript:)\nPlot the prices."
    assert remarks(pieces) == ["Transcribed by openai/whisper-1: “Plot the prices.”\n"]
    assert "openai/whisper-1 transcribes the recording" in notes
    assert [p.content for p in pieces if p.type == "message" and p.content] != []


def test_what_is_no_recording_goes_to_nobody_and_the_model_is_told(server: ModelServer) -> None:
    pieces = answer(model_at(server, transcription_model="whisper-1"), spoken(b"no wav" * 1_000))
    assert asked(server, "/audio/transcriptions") == []
    assert "not a wav file" in server.requests[-1].body["messages"][-1]["content"]
    assert remarks(pieces) == []


def test_a_recording_is_transcribed_once(server: ModelServer) -> None:
    server.transcripts = ["One.", "Two."]
    model = model_at(server, transcription_model="whisper-1")
    first = spoken()
    for _ in range(3):
        answer(model, first)
    found = answer(model, first, Message("user", "message", content="And?"), spoken(recording(2)))
    assert len(asked(server, "/audio/transcriptions")) == 2
    assert remarks(found) == ["Transcribed by whisper-1: “Two.”\n"]
    assert "One." in str(server.requests[-1].body)


def test_nobody_is_asked_where_nobody_was_chosen_and_both_are_told(server: ModelServer) -> None:
    pieces = answer(model_at(server), spoken())
    assert asked(server, "/audio/transcriptions") == []
    told = server.requests[-1].body["messages"][-1]["content"]
    assert told == "(The user sent 0.5 seconds of sound; you cannot hear it.)"
    (remark,) = remarks(pieces)
    assert "openai/some-model takes no sound" in remark
    assert "LMC.transcription_model" in remark


@pytest.mark.parametrize("heard", [Refusal(401, f"bad key {KEY}"), Refusal(400, "no"), "  "])
def test_a_recording_that_cannot_be_transcribed_is_said_and_tried_again_later(
    server: ModelServer, heard: Any
) -> None:
    server.transcripts = [heard, "At last."]
    model, said = model_at(server, transcription_model="whisper-1"), spoken()
    pieces = answer(model, said)
    (remark,) = remarks(pieces)
    assert remark.startswith("The recording was not transcribed: ")
    assert KEY not in remark
    assert "cannot hear" in server.requests[-1].body["messages"][-1]["content"]
    assert remarks(answer(model, said)) == ["Transcribed by whisper-1: “At last.”\n"]


def test_the_address_and_the_key_stay_with_their_provider(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcription model of another provider gets neither; its key is the environment's."""
    monkeypatch.setenv("GROQ_API_KEY", OTHER_KEY)
    monkeypatch.setenv("GROQ_API_BASE", server.base)
    server.transcripts = ["Yes."]
    answer(model_at(server, transcription_model="groq/whisper-large-v3"), spoken())
    (heard,) = asked(server, "/audio/transcriptions")
    assert heard.headers["authorization"] == f"Bearer {OTHER_KEY}"
    assert KEY not in str(heard.headers)


def test_what_is_sent_is_recorded_without_the_sound(server: ModelServer) -> None:
    server.transcripts = ["Yes."]
    requests: list[Any] = []
    model = model_at(server, transcription_model="whisper-1").with_record(requests.append)
    list(model.respond([spoken()]))
    assert [each.model for each in requests] == ["whisper-1", "openai/some-model"]
    assert '"a wav of 16,044 bytes"' in requests[0].body
    assert all(KEY not in each.body for each in requests)
    assert all(each.seconds > 0 for each in requests)


def test_a_stop_ends_the_waiting_for_a_transcript(server: ModelServer) -> None:
    server.transcripts = ["Yes."]
    model = model_at(server, transcription_model="whisper-1").with_brief(Brief, lambda _: None)
    model.stop()
    with pytest.raises(Stopped):
        list(model.respond([spoken()]))


def test_a_whole_turn_by_voice(server: ModelServer) -> None:
    """The remark is for the person: it stays in the conversation and never reaches the model."""
    server.transcripts = ["What is six times seven?"]
    server.turns = [Turn(tool("python", "6*7")), Turn(text("It is 42."))]
    options = {"api_base": server.base, "api_key": KEY, "tools": True, "vision": False}
    session = Session("openai/some-model", transcription_model="whisper-1", **options)
    list(session.ask(None, attachments=[spoken()]))
    assert [(m.role, m.type, m.recipient) for m in session.messages][:3] == [
        ("user", "audio", None),
        ("assistant", "console", "user"),
        ("assistant", "code", None),
    ]
    chats = asked(server, "/chat/completions")
    assert len(chats) == 2
    assert all("six times seven" in str(each.body["messages"]) for each in chats)
    assert all("Transcribed by" not in str(each.body["messages"]) for each in chats)


# The setting, and the other models ----------------------------------------------------------------


def test_the_setting_reaches_the_model(tmp_path) -> None:
    settings = LMC()
    assert "transcription_model" not in settings.session_arguments()
    settings.transcription_model = "whisper-1"
    assert settings.session_arguments()["transcription_model"] == "whisper-1"
    model: Any = get_model("gpt-4o", transcription_model="whisper-1")
    assert (model.name, model.transcriber) == ("gpt-4o", "whisper-1")
    (tmp_path / "r.jsonl").touch()
    get_model(f"replay/{tmp_path / 'r.jsonl'}", transcription_model="whisper-1")


def test_the_embedded_model_says_that_it_reads_text_only() -> None:
    pieces = answer(get_model("local"), spoken())
    assert "LMC.transcription_model" in remarks(pieces)[0]
    assert "type your question" in pieces[-1].content


def test_the_embedded_model_reads_a_transcript(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.transcripts = ["What is 6*7?"]
    monkeypatch.setenv("OPENAI_BASE_URL", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asks: list[str] = []

    def code(self: Any, turn: Any, *_: Any) -> Iterator[Chunk]:
        asks.append(turn.question)
        yield Chunk("assistant", "code", "python", "6*7")

    monkeypatch.setattr(LocalModel, "_code", code)
    pieces = answer(get_model("local", transcription_model="whisper-1"), spoken())
    assert asks == ["What is 6*7?"]
    assert remarks(pieces) == ["Transcribed by whisper-1: “What is 6*7?”\n"]
