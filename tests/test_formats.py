"""The table is complete: whoever adds a row to FORMATS is told here what else there is to do."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from scripted import read_lines, stream_names

from lmc_jupyter import FORMATS, Chunk, Message, Session
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.lmc import LANGUAGES
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import to_chat
from lmc_jupyter.stream import delimit

DOCS = Path(__file__).parents[1] / "docs"
JS = Path(__file__).parents[1] / "js" / "src"
OF_THE_MOMENT = {("console", "active_line"), ("confirmation", "execution")}


def rows() -> list[tuple[str, str | None]]:
    """Every type with each of its formats; code with the languages of the seed documents."""
    return [
        (type_, format_)
        for type_, row in FORMATS.items()
        for format_ in (
            *(tuple(LANGUAGES) if row.formats is None else row.formats),
            *([None] if row.implied else []),
        )
    ]


def recorded() -> set[tuple[str, str | None]]:
    return {
        (each["type"], each.get("format"))
        for name in stream_names()
        for each in read_lines(f"{name}.jsonl")
        if "content" in each
    }


def example(type_: str, format_: str | None) -> dict[str, Any]:
    """A message of this row, taken from the recorded streams."""
    for name in stream_names():
        for each in read_lines(f"{name}.messages.jsonl"):
            if (each["type"], each.get("format")) == (type_, format_):
                return each
    raise AssertionError(f"no recorded stream gives a message of {type_}/{format_}")


@pytest.mark.parametrize(("type_", "format_"), rows())
def test_row_has_a_recorded_stream(type_: str, format_: str | None) -> None:
    assert (type_, format_) in recorded(), (
        f"add a stream with {type_}/{format_} to tests/streams, and the messages that it gives"
    )


@pytest.mark.parametrize(("type_", "format_"), [row for row in rows() if row not in OF_THE_MOMENT])
@pytest.mark.parametrize("tools", [True, False])
def test_row_reaches_the_model(
    type_: str, format_: str | None, tools: bool, tmp_path: Path
) -> None:
    """As text, as a picture, or as a sentence that says what it was; never as nothing."""
    message = Message.from_dict(example(type_, format_)).stamped()
    ask = Message("user", "message", content="What is it?").stamped()
    chat = to_chat([ask, message], Brief(), tools=tools, vision=True, hears=True, root=tmp_path)
    alone = to_chat([ask], Brief(), tools=tools, vision=True, hears=True, root=tmp_path)
    assert len(str(chat)) > len(str(alone)), f"{type_}/{format_} is lost on the way to the model"


@pytest.mark.parametrize(("type_", "format_"), [row for row in rows() if row not in OF_THE_MOMENT])
def test_row_is_shown_in_a_terminal(type_: str, format_: str | None) -> None:
    message, out = Message.from_dict(example(type_, format_)), io.StringIO()
    session = Session(model="replay/none")
    TextView(session, out, None)
    if message.content == "":
        message = Message(message.role, type_, format_, "x")
    piece = Chunk(message.role, message.type, message.format, message.content)
    for chunk in delimit([piece]):
        session.history.grow(chunk)
    assert out.getvalue().strip(), f"{type_}/{format_} is not shown in a terminal"


def protocol_table() -> list[tuple[str, str, str]]:
    """The rows of the table in docs/protocol.md: type, format, usual roles."""
    text = (DOCS / "protocol.md").read_text("utf-8")
    found = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|", text, re.M)
    return [(type_, formats.strip(), roles.strip()) for type_, formats, roles in found]


def formats_in_words(type_: str) -> str:
    formats = FORMATS[type_].formats
    if formats is None:
        return "any language: " + ", ".join(f"`{each}`" for each in LANGUAGES) + ", …"
    said = ", ".join(f"`{each}`" for each in formats)
    return f"{said}, or left out" if FORMATS[type_].implied else said


def test_each_type_has_a_renderer_in_the_panel_with_the_same_formats() -> None:
    registry = (JS / "render" / "index.ts").read_text("utf-8")
    table = registry[registry.index("RENDERERS:") : registry.index("]);")]
    drawn = set(re.findall(r'\["(\w+)", \w+\]', table))
    assert set(FORMATS) - drawn == set(), "add a renderer to js/src/render and a line to its table"
    vocabulary = (JS / "lmc.ts").read_text("utf-8")
    for type_, row in FORMATS.items():
        found = re.search(rf"^  {type_}: (null|\[[^]]*\])", vocabulary, re.MULTILINE)
        assert found, f"add {type_} to js/src/lmc.ts"
        formats = None if found[1] == "null" else tuple(re.findall(r'"([^"]+)"', found[1]))
        assert formats == row.formats, f"{type_} has other formats in js/src/lmc.ts"


def test_table_of_the_documentation_is_formats() -> None:
    expected = [
        (type_, formats_in_words(type_), ", ".join(row.roles)) for type_, row in FORMATS.items()
    ]
    assert protocol_table() == expected
