"""LMC JSON: the seed documents' own messages byte for byte, and whatever Open Interpreter wrote."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from lmc_jupyter import Session, formats
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.disk import calls
from lmc_jupyter.errors import FormatError, ProtocolError
from lmc_jupyter.formats import lmc_json
from lmc_jupyter.formats.foreign import read_messages
from lmc_jupyter.lmc import Message

LMC_MESSAGES = r"""
{"role": "user", "type": "message", "content": "What's 2380*3875?"}
{"role": "assistant", "type": "code", "format": "python", "content": "2380*3875"}
{"role": "computer", "type": "console", "format": "output", "content": "9222500"}
{"role": "assistant", "type": "message", "content": "The result of multiplying 2380 by 3875 is 9222500."}
""".strip().split("\n")  # noqa: E501 - "LMC Messages", the first example, to the letter

GUIDE = r"""
{"role": "user", "type": "message", "content": "Please create a plot from this data and display it as an image and then as HTML."}
{"role": "user", "type": "image", "format": "path", "content": "path/to/image.png"}
{"role": "user", "type": "file", "content": "/path/to/file.pdf"}
{"role": "assistant", "type": "message", "content": "Processing your request to generate a plot."}
{"role": "assistant", "type": "code", "format": "python", "content": "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\ndisplay_as_html(plot)"}
{"role": "computer", "type": "image", "format": "base64.png", "content": "base64"}
{"role": "computer", "type": "code", "format": "html", "content": "<html>Plot in HTML format</html>"}
{"role": "computer", "type": "console", "format": "output", "content": "{HTML errors}"}
{"role": "assistant", "type": "message", "content": "Plot generated successfully."}
""".strip().split("\n")  # noqa: E501 - "0.2.0 Migration Guide", New Static Messages Structure

CONFIRMATION = (
    '{"role": "computer", "type": "confirmation", "format": "execution", "content": '
    '{"type": "code", "format": "python", "content": "display_as_html(plot)"}}'
)
ACTIVE_LINE = '{"role": "computer", "type": "console", "format": "active_line", "content": "1"}'


@pytest.mark.parametrize("lines", [LMC_MESSAGES, GUIDE, [CONFIRMATION]])
def test_the_seeds_examples_byte_for_byte(lines: list[str]) -> None:
    data = ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    found = lmc_json.read(data)
    assert found.losses == []
    assert [each.to_dict() for each in found.messages] == [ast.literal_eval(line) for line in lines]
    written, lost = lmc_json.write(found)
    assert written == data
    assert lost == []


@pytest.mark.parametrize("lines", [LMC_MESSAGES, GUIDE])
def test_json_lines_are_read_too(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    assert lmc_json.read(data).messages == lmc_json.read(f"[{','.join(lines)}]".encode()).messages


def test_a_file_that_begins_with_a_mark_or_blanks_is_read_too() -> None:
    for mark in (b"\xef\xbb\xbf", b" \t\r\n"):
        for lines in (LMC_MESSAGES, LMC_MESSAGES[:1]):
            data = mark + "\n".join(lines).encode()
            assert len(lmc_json.read(data).messages) == len(lines)


def test_characters_are_written_as_they_are_and_numbers_that_are_none_not_at_all() -> None:
    message = Message("user", "message", content="naïve 😀")
    assert "naïve 😀" in lmc_json.line(message)
    with pytest.raises(ValueError, match="JSON"):
        lmc_json.line(message.marked(price=float("nan")))


def test_what_could_not_be_kept_is_said_of_lists_and_of_lines_and_when_it_is_written() -> None:
    message = '{"role": "user", "type": "message", "content": "\\ud800"}'
    for text in (f"[{message}]", message, f"{message}\n{message}"):
        [loss] = lmc_json.read(text.encode()).losses
        assert "lone surrogates" in loss
    strange = Message("user", "message", content="x", extra={"mine": {1, 2}})
    data, losses = lmc_json.write(Conversation([strange]))
    assert json.loads(data)[0]["content"] == "x"
    assert any("cannot hold were saved as text: message 1." in loss for loss in losses)


OLD = [  # what Open Interpreter wrote -> what it is here
    ({"role": "user", "message": "Hi"}, [{"role": "user", "type": "message", "content": "Hi"}]),
    (
        {"role": "assistant", "message": "So:", "code": "1", "language": "python", "output": "1\n"},
        [
            {"role": "assistant", "type": "message", "content": "So:"},
            {"role": "assistant", "type": "code", "format": "python", "content": "1"},
            {"role": "computer", "type": "console", "format": "output", "content": "1\n"},
        ],
    ),
    (
        {"role": "computer", "type": "console", "content": "text"},
        [{"role": "computer", "type": "console", "content": "text"}],
    ),
    (
        {"role": "computer", "type": "console", "content": 3},
        [{"role": "computer", "type": "console", "format": "active_line", "content": 3}],
    ),
    (
        json.loads(ACTIVE_LINE),
        [{"role": "computer", "type": "console", "format": "active_line", "content": 1}],
    ),
    (
        {"role": "computer", "type": "console", "format": "active_line", "content": ""},
        [
            {
                "role": "computer",
                "type": "console",
                "format": "active_line",
                "content": None,
                "was": {"content": ""},
            }
        ],
    ),
    (
        {"role": "user", "type": "image", "content": "a/b.png", "note": None},
        [{"role": "user", "type": "image", "format": "path", "content": "a/b.png", "note": None}],
    ),
    (
        {"role": "user", "type": "image", "content": "iVBORw0KGgo="},
        [{"role": "user", "type": "image", "content": "iVBORw0KGgo="}],
    ),
    (
        {"role": "user", "type": "image", "format": "base64.jpg", "content": "/9j/"},
        [
            {
                "role": "user",
                "type": "image",
                "format": "base64.jpeg",
                "content": "/9j/",
                "was": {"format": "base64.jpg"},
            }
        ],
    ),
    (
        {"role": "computer", "type": "image", "format": "description", "content": "A cat."},
        [
            {
                "role": "computer",
                "type": "message",
                "content": "A cat.",
                "was": {"type": "image", "format": "description"},
            }
        ],
    ),
    (
        {
            "role": "computer",
            "type": "confirmation",
            "format": "execution",
            "content": {"code": "1", "language": "python"},
        },
        [
            {
                "role": "computer",
                "type": "confirmation",
                "format": "execution",
                "content": {"type": "code", "format": "python", "content": "1"},
            }
        ],
    ),
    (
        {"role": "server", "type": "error", "content": "boom", "id": "x"},
        [
            {
                "role": "computer",
                "type": "message",
                "content": "boom",
                "recipient": "user",
                "id": "x",
                "was": {"role": "server", "type": "error"},
            }
        ],
    ),
    (
        {"role": "server", "type": "status", "content": "complete"},
        [
            {
                "role": "computer",
                "type": "message",
                "content": "complete",
                "recipient": "user",
                "was": {"role": "server", "type": "status"},
            }
        ],
    ),
    (
        {"role": "user", "type": "command", "content": "stop"},
        [
            {
                "role": "user",
                "type": "message",
                "content": "stop",
                "recipient": "user",
                "was": {"role": "user", "type": "command"},
            }
        ],
    ),
    (
        {"role": "assistant", "type": "review", "format": "safe", "content": "fine"},
        [
            {
                "role": "assistant",
                "type": "message",
                "content": "fine",
                "recipient": "user",
                "was": {"role": "assistant", "type": "review", "format": "safe"},
            }
        ],
    ),
]
NAMED = ("description", "error", "status", "command", "review")


@pytest.mark.parametrize(("old", "new"), OLD, ids=lambda each: str(each)[:60])
def test_what_open_interpreter_wrote_opens_and_can_be_assigned(old: dict, new: list) -> None:
    found = lmc_json.read(json.dumps([old]).encode())
    assert [each.to_dict() for each in found.messages] == new
    is_named = old.get("type") in NAMED or old.get("format") in NAMED
    assert bool(found.losses) == is_named
    session = Session(model="replay/none", keep=False)
    session.messages = [old]
    assert [each.content for each in session.messages] == [each["content"] for each in new]
    assert session.conversation.notice == " ".join(found.losses)


UNKNOWN = [
    ({"role": "user", "type": "song", "content": "la"}, "la"),
    ({"role": "nobody", "type": "message", "content": "x"}, "x"),
    ({"role": "user", "type": "message", "content": {"deep": 1}}, '{\n "deep": 1\n}'),
    ({"anything": True}, '{\n "anything": true\n}'),
    ({"role": "user", "type": "image", "format": "base64.webp", "content": "AAAA"}, "AAAA"),
]


@pytest.mark.parametrize(("odd", "text"), UNKNOWN)
def test_what_nobody_wrote_is_readable_in_a_file_and_refused_in_code(odd: dict, text: str) -> None:
    found = lmc_json.read(json.dumps([odd]).encode())
    [message] = found.messages
    assert (message.content, message.recipient) == (text, "user")
    assert len(found.losses) == 1
    assert found.losses[0].startswith("Message 1 (")
    with pytest.raises(ProtocolError):
        read_messages([odd], [])


def test_ids_are_made_unique() -> None:
    same = {"role": "user", "type": "message", "content": "x", "id": "1"}
    found = lmc_json.read(json.dumps([same, same, {**same, "id": ["a"]}]).encode())
    assert [each.id for each in found.messages] == ["1", None, None]
    assert found.losses == [
        "2 messages had an id that another message has, or that is not text: each gets a new one."
    ]


@pytest.mark.parametrize("bad", ["7", '"x"', "[7]", '["x"]', "[[]]", '{"role": 1}'])
def test_what_is_no_list_of_messages_is_a_sentence(bad: str) -> None:
    if bad.startswith("{"):
        assert len(lmc_json.read(bad.encode()).losses) == 1
        return
    with pytest.raises(FormatError):
        lmc_json.read(bad.encode())


def test_a_large_conversation_is_one_message_in_a_line() -> None:
    said = [Message("user", "message", content=f"{n}\n").stamped() for n in range(500)]
    data, lost = lmc_json.write(Conversation(said))
    assert lost == []
    assert len(data.splitlines()) == 502
    assert lmc_json.read(data).messages == said


# By name, by ending, by content -------------------------------------------------------------------


def test_the_ending_says_the_format(tmp_path: Path) -> None:
    said = Conversation([Message("user", "message", content="Hello?")])
    for name, begins in {
        "a.json": b"[\n{",
        "a.openai.json": b'[{"role"',
        "a.ipynb": b'{\n "cells"',
        "a.md": b"**You:**",
    }.items():
        formats.write(said, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    for name in ("a.json", "a.openai.json", "a.ipynb"):
        assert formats.read(tmp_path / name).messages[0].content == "Hello?"
        assert formats.read((tmp_path / name).read_bytes()).messages[0].content == "Hello?"
    with pytest.raises(FormatError, match="cannot be opened"):
        formats.read(tmp_path / "a.md")
    with pytest.raises(FormatError, match="end it in") as refused:
        formats.write(said, tmp_path / "a.docx")
    assert ".ipynb" in str(refused.value)
    assert ".chat" not in str(refused.value), "it is only read"
    with pytest.raises(FormatError, match="there is no format 'word'"):
        formats.write(said, tmp_path / "a.docx", "word")
    with pytest.raises(FormatError, match="only read"):
        formats.write(said, tmp_path / "a.chat")
    assert not (tmp_path / "a.docx").exists()


def test_nothing_is_written_over_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    formats.write(Conversation(), path)
    with pytest.raises(FormatError, match="exists already"):
        formats.write(Conversation([Message("user", "message", content="x")]), path)
    assert path.read_bytes() == b"[]\n"
    formats.write(Conversation([Message("user", "message", content="x")]), path, replace=True)
    assert len(formats.read(path).messages) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"], "nothing is left over"


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("mine")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(calls, "sync", full, raising=False)
    with pytest.raises(OSError, match="No space"):
        formats.write(Conversation(), path, replace=True)
    assert path.read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


CONTENT = {
    "lmc": b'[{"role": "user", "type": "message", "content": "x"}]',
    "lmc of 0.1": b'[{"role": "user", "message": "x"}]',
    "lmc lines": b'{"role": "user", "type": "message", "content": "x"}\n'
    b'{"role": "user", "type": "message", "content": "y"}',
    "openai": b'[{"role": "user", "content": "x"}]',
    "openai request": b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}',
    "chat": b'{"messages": [{"id": "1", "body": "x", "sender": "me"}], "users": {}}',
    "notebook": b'{"cells": [{"cell_type": "markdown", "metadata": {}, "source": "x"}],'
    b' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "glm": b'{"history": [{"user": {"content": "x"}}]}',
    "glm list": b'[{"role": "user", "content": "x", "meta": {}}]',
}


@pytest.mark.parametrize("name", CONTENT)
def test_a_json_file_is_known_by_what_is_in_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(CONTENT[name])
    assert formats.read(path).messages[0].content == "x"


@pytest.mark.parametrize("data", [b"hello", b"%PDF-1.4", b"\x00\x01"])
def test_bytes_of_no_kind_are_a_sentence(data: bytes) -> None:
    with pytest.raises(FormatError, match="name its format") as refused:
        formats.read(data)
    assert "markdown" not in str(refused.value), "which nobody can read back"


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_said_to_be_empty(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^'talk\.json' is empty"):
        formats.read(data, name="talk.json")
