"""What is attached: images as LMC has them, other files in a private folder, or a sentence."""

from __future__ import annotations

import base64
import io
import sys

import pytest

from lmc_jupyter.errors import LMCError
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import to_chat
from lmc_jupyter.views.attachments import MAX_BYTES, messages_of

PNG = b"\x89PNG\r\n\x1a\n rest"
JPEG = b"\xff\xd8\xff rest"


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
        ([attached("x.webp", b"nonsense", "image/webp")], "x.webp"),
    ],
)
def test_what_cannot_be_taken_is_said_and_nothing_is_kept(tmp_path, attachments, sentence):
    with pytest.raises(LMCError, match=sentence):
        messages_of(attachments, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_images_need_pillow_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(LMCError, match="install Pillow"):
        messages_of([attached("x.gif", b"GIF89a", "image/gif")], tmp_path)


def test_other_images_become_png_where_pillow_is(tmp_path):
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new("RGB", (3, 2), "red").save(out, "BMP")
    [message] = messages_of([attached("x.bmp", out.getvalue(), "image/bmp")], tmp_path)
    assert message.format == "base64.png"
    assert image.open(io.BytesIO(base64.b64decode(message.content))).size == (3, 2)


def test_an_svg_is_text(tmp_path):
    [message] = messages_of([attached("x.svg", b"<svg/>", "image/svg+xml")], tmp_path)
    assert message.type == "file"
