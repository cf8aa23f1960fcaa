"""What a model said to itself stands in no export unless somebody asks for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter import formats
from lmc_jupyter.conversation import Action, Conversation, OwnCell
from lmc_jupyter.formats import notebook
from lmc_jupyter.lmc import Message, is_thought


def thought(text: str) -> Message:
    return Message("assistant", "message", None, text, "user")


TALK = [
    Message("user", "message", content="How many?"),
    thought("Let me count the sheep."),
    Message("assistant", "code", "python", "print(6 * 7)"),
    Message("computer", "console", "output", "42\n"),
    thought("Forty-two, <img src=x> it is."),
    Message("assistant", "message", content="There are 42."),
]
WRITTEN = sorted(
    name for name, each in formats.formats().items() if hasattr(each, "write") and name != "lmc"
)


def talk() -> Conversation:
    """With a press of Run behind the code, and a cell of the person's before the second thought."""
    events = [Action(2, {"action": "stop"}), Action(3, {"action": "run"})]
    return Conversation(list(TALK), events=events, cells=[OwnCell(4, "y = 1")])


@pytest.mark.parametrize("name", WRITTEN)
def test_thoughts_stand_in_no_export_unless_asked_for(name: str, tmp_path: Path) -> None:
    path = tmp_path / "talk"
    losses = formats.write(talk(), path, name)
    assert b"sheep" not in path.read_bytes()
    assert b"Forty-two" not in path.read_bytes()
    assert [each for each in losses if "thoughts are left out (2 messages)" in each], losses
    losses = formats.write(talk(), path, name, replace=True, thoughts=True)
    assert b"sheep" in path.read_bytes()
    assert not [each for each in losses if "left out" in each]


def test_the_format_that_goes_on_as_it_was_has_them_always(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    assert not [each for each in formats.write(talk(), path) if "left out" in each]
    assert formats.read(path).messages == TALK


def test_what_stands_behind_a_thought_stays_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "talk.ipynb"
    formats.write(talk(), path)
    back = formats.read(path)
    assert back.messages == [each for each in TALK if not is_thought(each)]
    assert [(each.at, each.data["action"]) for each in back.events] == [(1, "stop"), (2, "run")]


@pytest.mark.parametrize("name", ["notebook", "openai", "glm-yaml", "glm-json", "glm-protobuf"])
def test_a_thought_that_is_asked_for_is_read_back_as_one(name: str, tmp_path: Path) -> None:
    path = tmp_path / "talk"
    formats.write(talk(), path, name, thoughts=True)
    back = formats.read(path, name).messages
    assert [(each.content, is_thought(each)) for each in back] == [
        (each.content, is_thought(each)) for each in TALK
    ]


def test_a_reader_of_the_file_tells_a_thought_from_the_answer(tmp_path: Path) -> None:
    formats.write(talk(), tmp_path / "talk.markdown", thoughts=True)
    text = (tmp_path / "talk.markdown").read_text()
    assert "<details>\n<summary>Thoughts</summary>\n\nLet me count the sheep.\n\n</details>" in text
    formats.write(talk(), tmp_path / "talk.ipynb", thoughts=True)
    sources = [each["source"] for each in cells(tmp_path / "talk.ipynb")]
    assert "> **Thoughts:**\n>\n> Let me count the sheep." in sources
    assert "There are 42." in sources
    formats.write(talk(), tmp_path / "talk.openai.json", thoughts=True)
    _, call, _, answer = json.loads((tmp_path / "talk.openai.json").read_bytes())
    assert (call["content"], call["reasoning_content"]) == ("", "Let me count the sheep.")
    assert "print" in call["tool_calls"][0]["function"]["arguments"]
    assert (answer["content"], answer["reasoning_content"]) == (TALK[-1].content, TALK[4].content)


def cells(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_bytes())["cells"]
    return [{**each, "source": "".join(each["source"])} for each in found]


def test_a_thought_whose_cell_was_edited_or_has_no_metadata_is_one_still() -> None:
    document = json.loads(notebook.write(Conversation([TALK[0], TALK[1]]))[0])
    document["cells"][-1]["source"] = "> **Thoughts:**\n>\n> Let me count the goats."
    for metadata in (document["cells"][-1]["metadata"], {}):
        document["cells"][-1]["metadata"] = metadata
        back = notebook.read(json.dumps(document).encode()).messages[-1]
        assert (back.content, is_thought(back)) == ("Let me count the goats.", True)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("openai", [{"role": "assistant", "content": [{"type": "video", "url": "v.mp4"}]}]),
        ("lmc", [{"role": "assistant", "type": "review", "content": "Safe: v.mp4"}]),
    ],
)
def test_what_no_model_can_read_of_a_foreign_file_is_no_thought(
    name: str, data: list[Any], tmp_path: Path
) -> None:
    given = formats.read(json.dumps(data).encode(), name)
    losses = formats.write(given, tmp_path / "talk.markdown")
    assert "v.mp4" in (tmp_path / "talk.markdown").read_text()
    assert not [each for each in losses if "left out" in each]


@pytest.mark.parametrize("thoughts", [False, True])
@pytest.mark.parametrize("name", [*WRITTEN, "lmc"])
def test_what_went_to_a_provider_and_came_from_it_stands_in_no_file(
    name: str, thoughts: bool, tmp_path: Path
) -> None:
    block = {"type": "thinking", "thinking": "of wolves", "signature": "signed-wolves"}
    reply = {"role": "assistant", "content": "42", "thinking_blocks": [block]}
    sent = [{"to": "m", "reply": reply}, {"to": "m", "chat": [{"content": "the wolves"}]}]
    path = tmp_path / "talk"
    formats.write(replace(talk(), sent=sent), path, name, thoughts=thoughts)
    assert path.stat().st_size
    assert b"wolves" not in path.read_bytes()
