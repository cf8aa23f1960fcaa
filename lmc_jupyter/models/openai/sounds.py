"""Recordings: their bytes, their transcripts, and a remark where a model takes no sound.

One rule: a transcript is part of a request (`Recording`), and never of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from lmc_jupyter.content.chat import decode_base64, is_wav
from lmc_jupyter.lmc import Chunk, Message, clean
from lmc_jupyter.models.budget import question
from lmc_jupyter.models.openai.files import LONGEST_PATH, Roots, length_of_sound, read

MAX_SOUND = 20_000_000
"""Bytes of a recording: about ten minutes at 16 kHz."""


@dataclass(frozen=True)
class Recording(Message):
    """A recording with its transcript, as part of a request; "" where there is none."""

    transcript: str = ""

    @classmethod
    def of(cls, message: Message, transcript: str) -> Recording:
        """This recording, with its transcript."""
        return cls(
            **{each.name: getattr(message, each.name) for each in fields(message)},
            transcript=transcript,
        )


def is_recording(message: Message) -> bool:
    """Whether it is sound that a model would get."""
    return message.type == "audio" and message.role != "assistant" and message.recipient != "user"


def in_words(messages: Sequence[Message]) -> list[Message]:
    """The conversation for a model that reads text only: recordings of the user become text."""
    return [
        Message("user", "message", content=each.transcript)
        if isinstance(each, Recording) and each.transcript and each.role == "user"
        else each
        for each in messages
    ]


def unheard(messages: Sequence[Message], model: str) -> Iterator[Chunk]:
    """A remark for the person, where the model cannot hear the recording of the last question."""
    first, end = question(messages)
    last_question = messages[first:end] if end == len(messages) else ()
    if any(is_recording(each) and not isinstance(each, Recording) for each in last_question):
        yield remark(
            f"The recording was not transcribed: {model} takes no sound, and no transcription "
            'model is chosen: choose one (`%config LMC.transcription_model = "whisper-1"`), '
            "choose a model that takes sound, or type the question."
        )


def remark(sentence: str) -> Chunk:
    """A sentence for the person alone; no model gets it."""
    return Chunk("assistant", "console", "output", f"{sentence}\n", "user", end=True)


def wav_of(message: Message, roots: Roots) -> bytes | str:
    """The bytes of a recording, or a sentence that says why they cannot be sent."""
    content = clean(message.content) if isinstance(message.content, str) else ""
    data: bytes | str = decode_base64(content)
    if not is_wav(data) and len(content) < LONGEST_PATH:
        data = read(content, roots, MAX_SOUND)
    if isinstance(data, str):
        return data
    if not is_wav(data):
        return f"{sender(message)} audio, but it is not a wav file."
    if len(data) > MAX_SOUND:
        return f"{sender(message)} {length_of_sound(data)}, too long to be heard."
    return data


def sender(message: Message) -> str:
    """The beginning of a sentence on what somebody sent."""
    return "The user sent" if message.role == "user" else "The computer showed"
