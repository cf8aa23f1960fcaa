"""What is attached: images as LMC has them, other files in a private folder, or a sentence."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.panel.attachments import MAX_BYTES, messages_of
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import to_chat


def packed(format_: str, width: int = 3, height: int = 2) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 90).convert("RGB").save(out, format_)
    return out.getvalue()


PNG, JPEG = packed("PNG"), packed("JPEG")
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt "


def attached(name: str, data: bytes, mime: str = "") -> dict:
    return {"name": name, "mime": mime, "data": base64.b64encode(data).decode()}


def test_an_image_is_known_by_its_bytes_and_not_by_its_name(tmp_path):
    found = messages_of([attached("a.txt", PNG), attached("b", JPEG, "image/png")], tmp_path)
    assert [(m.type, m.format) for m in found] == [
        ("image", "base64.png"),
        ("image", "base64.jpeg"),
    ]
    assert base64.b64decode(found[0].content) == PNG
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("data.csv", "data.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\x\\a b.txt", "a b.txt"),
        ("a\nb\x1b[31m.txt", "ab[31m.txt"),
        ("..", "attachment"),
        ("", "attachment"),
        ("x" * 300 + ".csv", "x" * 80 + ".csv"),
    ],
)
def test_a_file_keeps_the_part_of_its_name_that_is_one(tmp_path, name, kept):
    [message] = messages_of([attached(name, b"1,2")], tmp_path)
    assert message.type == "file"
    assert message.content == str(tmp_path / kept)
    assert (tmp_path / kept).read_bytes() == b"1,2"


def test_two_files_of_one_name_are_two(tmp_path):
    found = messages_of([attached("a.csv", b"1"), attached("a.csv", b"2")], tmp_path)
    assert [m.content for m in found] == [str(tmp_path / "a.csv"), str(tmp_path / "a-2.csv")]


def test_the_model_may_read_what_is_attached_and_nothing_beside_it(tmp_path):
    inside = tmp_path / "private"
    inside.mkdir()
    (tmp_path / "outside.txt").write_text("not for you")
    [message] = messages_of([attached("a.txt", b"remember the milk")], inside)
    brief = Brief(folders=(inside,))
    chat = to_chat([message], brief, tools=True, vision=False, root=tmp_path / "elsewhere")
    assert "remember the milk" in str(chat)
    [beside] = messages_of([attached("a.txt", b"x")], tmp_path)
    outside = type(message)("user", "file", "path", str(tmp_path / "outside.txt"))
    chat = to_chat([outside, beside], brief, tools=True, vision=False, root=tmp_path / "elsewhere")
    assert "not for you" not in str(chat)


@pytest.mark.parametrize(
    ("attachments", "sentence"),
    [
        ([attached("a", b"x")] * 6, "at most 5"),
        ([attached("big", bytes(MAX_BYTES + 1))], "at most 10 MB"),
        ([{"name": "big", "data": "A" * 20_000_000}], "15.0 MB"),
        ([attached("none", b"")], "'none' is empty"),
        ([{"name": "x", "data": "%%%"}], "'x' is not base64"),
        ([{"name": "x"}], "without its data"),
        ([7], "it is 7"),
        ("abc", "must be a list"),
        ([attached("x.webp", b"nonsense", "image/webp")], "'x.webp' says that it is image/webp"),
        ([attached("x.png", PNG[:40], "image/png")], "'x.png' begins as a png image"),
        ([attached("x.wav", b"nonsense", "audio/wav")], "'x.wav' is not a wav"),
        ([attached("a.csv", b"1,2"), attached("x.png", PNG[:40])], "broken or cut off"),
    ],
)
def test_what_cannot_be_taken_is_said_and_nothing_is_kept(tmp_path, attachments, sentence):
    with pytest.raises(LMCError, match=sentence):
        messages_of(attachments, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["gif", "webp", "bmp", "tiff"])
def test_other_images_become_png(tmp_path, kind):
    [message] = messages_of([attached("x", packed(kind.upper()), f"image/{kind}")], tmp_path)
    assert message.format == "base64.png"
    assert Image.open(io.BytesIO(base64.b64decode(message.content))).size == (3, 2)


def test_a_large_image_is_scaled_before_it_is_kept(tmp_path):
    large = packed("PNG", 2000, 1500)
    assert 2_000_000 < len(large) < MAX_BYTES
    [message] = messages_of([attached("x.png", large, "image/png")], tmp_path)
    assert message.format == "base64.jpeg"
    assert Image.open(io.BytesIO(base64.b64decode(message.content))).size == (1568, 1176)


@pytest.mark.parametrize("mime", ["audio/wav", "audio/x-wav", "audio/webm"])
def test_a_recording_is_audio(tmp_path, mime):
    [message] = messages_of([attached("recording.wav", WAV, mime)], tmp_path)
    assert (message.type, message.format) == ("audio", "wav")
    assert base64.b64decode(message.content) == WAV
    assert list(tmp_path.iterdir()) == []


def test_another_sound_is_a_file_for_the_code(tmp_path):
    [message] = messages_of([attached("song.mp3", b"ID3\0rest", "audio/mpeg")], tmp_path)
    assert message.type == "file"
    chat = to_chat([message], Brief(folders=(tmp_path,)), tools=True, vision=False, hears=True)
    assert "an mp3 sound, 8 bytes" in str(chat)


def test_an_svg_is_text(tmp_path):
    [message] = messages_of([attached("x.svg", b"<svg/>", "image/svg+xml")], tmp_path)
    assert message.type == "file"
