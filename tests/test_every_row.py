"""Every row of the protocol's table, with every role and recipient: from the wire to the model.

One rule: what is expected is said here in words of its own, not read from our code: what a
person must be able to see of a row, and what a model must be able to read. The examples of the
seed documents stand here as they stand there.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripted import ScriptedModel
from strict_provider import assert_acceptable

from lmc_jupyter import Chunk, Message, Session
from lmc_jupyter.computer import Computer
from lmc_jupyter.conversation.events import Began
from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.frontends.cell.cell import CellView
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.lmc import FORMATS, LANGUAGES, ROLES, is_proposal
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import Abilities, Recording, Sent, to_chat
from lmc_jupyter.stream import Assembler, delimit
from lmc_jupyter.turn.turns import Turn


def packed(format_: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (6, 4), "red").save(out, format_)
    return out.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG, JPEG = b64(packed("PNG")), b64(packed("JPEG"))
WAV = b64(b"RIFF\x24\x7d\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0")


@dataclass(frozen=True)
class Row:
    """A type and a format with an example, and what is to be seen and read of it."""

    type: str
    format: str | None
    content: Any
    person: str
    """What a cell shows of it."""
    terminal: str
    model: str
    """What the model reads of it, from whomever; for code, images and sound see `expected`."""

    @property
    def id(self) -> str:
        return f"{self.type}-{self.format}"


def of_code(language: str, code: str) -> Row:
    return Row("code", language, code, code, code, code)


WAITS = {"type": "code", "format": "python", "content": "1"}
ROWS = [
    Row("message", None, "What's 2*3?", "What's 2*3?", "What's 2*3?", "2*3"),
    Row("message", "text", "What's 2*3?", "What's 2*3?", "What's 2*3?", "2*3"),
    Row("console", "output", "9222500\n", "9222500", "9222500", "9222500"),
    Row("console", None, "9222500\n", "9222500", "9222500", "9222500"),
    Row("console", "active_line", 3, "", "", ""),
    Row("console", "active_line", None, "", "", ""),
    Row("image", "base64", PNG, f"data:image/png;base64,{PNG}", "[image]", ""),
    Row("image", None, PNG, f"data:image/png;base64,{PNG}", "[image]", ""),
    Row("image", "base64.png", PNG, f"data:image/png;base64,{PNG}", "[image]", ""),
    Row("image", "base64.jpeg", JPEG, f"data:image/jpeg;base64,{JPEG}", "[image]", ""),
    Row("image", "path", "plot.png", "image: plot.png", "[image: plot.png]", "plot.png"),
    Row("code", "html", "<p>Tea</p>", "Tea", "<p>Tea</p>", "Tea"),
    of_code("javascript", "answer"),
    of_code("python", "answer"),
    of_code("r", "answer"),
    of_code("applescript", "answer"),
    of_code("shell", "answer"),
    of_code("ruby", "answer"),
    Row("file", "path", "notes.txt", "file: notes.txt", "[file: notes.txt]", "notes.txt"),
    Row("file", None, "notes.txt", "file: notes.txt", "[file: notes.txt]", "notes.txt"),
    Row("confirmation", "execution", WAITS, "", "", ""),
    Row("audio", "wav", WAV, "audio: wav, 0 kB", "[audio]", ""),
    Row("audio", None, WAV, "audio: wav, 0 kB", "[audio]", ""),
]  # fmt: skip
RECIPIENTS = (None, "user", "assistant")
WAYS = [*itertools.product(ROLES, RECIPIENTS)]
"""Who says it, and to whom: each test goes through them all."""
every_row = pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row.id}{at}" for at, row in enumerate(ROWS)]
)


def of_the_moment(row: Row) -> bool:
    return row.type == "confirmation" or row.format == "active_line"


def wire(row: Row, role: str, recipient: str | None) -> dict[str, Any]:
    found = {"role": role, "type": row.type, "content": row.content}
    if row.format is not None:
        found["format"] = row.format
    if recipient is not None:
        found["recipient"] = recipient
    return found


def message(row: Row, role: str, recipient: str | None) -> Message:
    return Message.from_dict(wire(row, role, recipient)).stamped()


def chunks(row: Row, role: Any, recipient: Any) -> list[Chunk]:
    piece = Chunk(role, row.type, row.format, row.content, recipient)
    return [*delimit([piece])]


def test_every_row_is_here():
    """Whoever adds a type, a format or a language is told that it is missing."""
    here = {(row.type, row.format) for row in ROWS}
    for type_, row in FORMATS.items():
        for format_ in tuple(LANGUAGES) if row.formats is None else row.formats or (None,):
            assert (type_, format_) in here


# Accepted, stored, loaded -------------------------------------------------------------------------


@every_row
def test_it_is_accepted_and_comes_back_as_it_was(row):
    for way in WAYS:
        sent = wire(row, *way)
        assert Message.from_dict(sent).to_dict() == sent
        assert Message.from_dict(json.loads(json.dumps(sent))).to_dict() == sent
        piece = Chunk.from_dict(sent)
        assert piece.to_dict() == sent
        assert Chunk.from_dict({**sent, "start": True, "end": True}).content == piece.content


@every_row
def test_it_streams_as_one_message(row):
    for role, recipient in WAYS:
        assembler = Assembler()
        whole = [m for c in chunks(row, role, recipient) if (m := assembler.feed(c)) is not None]
        assert assembler.flush() is None
        if of_the_moment(row):
            assert all(each.content in ("", None) for each in whole)
            continue
        (found,) = whole
        assert (found.role, found.type, found.recipient) == (role, row.type, recipient)
        assert found.content == row.content


@every_row
def test_it_is_kept_on_disk_and_in_a_session(row):
    for way in WAYS:
        sent = message(row, *way)
        session = Session(model=ScriptedModel())
        session.messages = [sent.to_dict()]
        assert [each.to_dict() for each in session.messages] == [sent.to_dict()]
        assert session.journal.conversations.read(session.journal.id).messages == session.messages


# Shown --------------------------------------------------------------------------------------------


class Page:
    """A cell's output."""

    shows_updates = True
    repeats_updates = False

    def __init__(self) -> None:
        self.bundles: dict[str, dict[str, Any]] = {}

    def show(self, data, display_id):
        self.bundles[display_id] = data

    update = show

    def flush(self): ...

    @property
    def cards(self) -> str:
        return "".join(b.get("text/html", "") for b in self.bundles.values()).replace("&#x27;", "'")


def begin_answer(session: Session) -> None:
    """What is in the conversation before an answer begins is no part of the answer's view."""
    session.history.tell(Began(Turn("cell", "nobody", [], None)))


def cell(row: Row, role: str, recipient: str | None) -> str:
    page = Page()
    session = Session(ScriptedModel(), Computer())
    view = CellView(session, page)
    begin_answer(session)
    for chunk in chunks(row, role, recipient):
        session.history.grow(chunk)
    view.close()
    return page.cards


@every_row
def test_a_cell_shows_it(row):
    for role, recipient in WAYS:
        shown = cell(row, role, recipient)
        if of_the_moment(row):
            assert row.person == ""
            continue
        assert row.person in shown, (role, recipient)
        if recipient == "assistant" and (row.type != "message" or role == "computer"):
            assert "For the model" in shown, f"what is only for the model is folded away ({role})"
        if role == "assistant" and row.type == "message" and recipient == "user":
            assert "Thoughts" in shown


@every_row
def test_a_terminal_shows_it(row):
    for role, recipient in WAYS:
        out = io.StringIO()
        session = Session(ScriptedModel(), Computer())
        view = TextView(session, out, None)
        begin_answer(session)
        for chunk in chunks(row, role, recipient):
            session.history.grow(chunk)
        view.close()
        if recipient == "assistant":
            assert out.getvalue() == "", role
        else:
            # of what the computer shows there are words only, as the person sees them elsewhere
            is_read = role == "computer" and row.format == "html"
            assert (row.person if is_read else row.terminal) in out.getvalue(), (role, recipient)
            assert not is_read or row.terminal not in out.getvalue(), (role, recipient)


@every_row
def test_the_panel_has_it(row):
    for way in WAYS:
        session = Session(ScriptedModel(), Computer())
        sent = message(row, *way)
        session.messages = [sent]
        mirror = Mirror(session, Batch(lambda _: None), lambda: {"model": "m", "auto_run": False})
        records = mirror.snapshot()["records"]
        mirror.close()
        if of_the_moment(row):
            assert records == []
            continue
        (record,) = records
        wanted = sent.to_dict()
        if row.type == "console":
            wanted["format"] = "output"
        assert record["message"] == wanted


# Told to the model --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plot.png").write_bytes(base64.b64decode(PNG))
    (tmp_path / "notes.txt").write_text("remember the milk")
    return tmp_path


ASKED = Message("user", "message", content="Go.").stamped()
RAN = Message("assistant", "code", "python", "show()").stamped()
ABILITIES = [*itertools.product([True, False], repeat=4)]


def chat(*messages: Message, folder: Path, tools: bool, vision: bool, hears: bool, **more: Any):
    found = to_chat(
        messages, Brief(), tools=tools, vision=vision, hears=hears, root=folder,
        nonce=lambda _: "N", **more,
    )  # fmt: skip
    assert_acceptable(found)
    sent = Sent()
    for end in range(len(messages) + 1):
        takes = Abilities(tools, vision, hears)
        assert_acceptable(sent.request(messages[:end], Brief(folders=(folder,)), takes))
    return found


def expected(row: Row, role: str, vision: bool, hears: bool, transcript: bool) -> str:
    """What the model must be able to read; images and sound by their data, or in a sentence."""
    if row.type == "image":
        if role == "assistant":
            return "(An image was shown"
        kind = "jpeg" if row.format == "base64.jpeg" else "png"
        return f"data:image/{kind};base64," if vision else f"{kind}, 6 x 4 pixels); you cannot see"
    if row.type == "audio":
        if role == "assistant":
            return "(Audio was shown"
        if hears:
            return f"'input_audio': {{'data': '{WAV}', 'format': 'wav'}}"
        return "Plot the prices" if transcript else "1.0 seconds of sound; you cannot hear it"
    if row.type == "file":
        return "(A file was shown" if role == "assistant" else "remember the milk"
    return row.model


@pytest.mark.parametrize("after_code", [False, True])
@every_row
def test_it_reaches_the_model_or_does_not(row, after_code, folder):
    before = [ASKED, RAN] if after_code else [ASKED]
    for (role, recipient), able in itertools.product(WAYS, ABILITIES):
        tools, vision, hears, transcript = able
        sent = message(row, role, recipient)
        abilities = {"tools": tools, "vision": vision, "hears": hears, "folder": folder}
        is_sound = transcript and sent.type == "audio" and sent.role != "assistant"
        given = Recording.of(sent, "Plot the prices") if is_sound else sent
        found = str(chat(*before, given, **abilities))
        if of_the_moment(row):
            assert found == str(chat(*before, **abilities))
        elif is_proposal(sent):  # the model wrote it, and knows that nothing ran
            assert "propose_cell" in found if tools else " cell=new\\n" in found
        elif recipient == "user":
            for word in (row.model, row.person, PNG, WAV, "milk", "prices", "An image"):
                assert not word or word == "answer" or word not in found
            nothing = message(replace(ROWS[1], content=""), "computer", "user")
            same = [*before, nothing] if after_code and role == "computer" else before
            assert found == str(chat(*same, **abilities)), "it reached the model in some other way"
        else:
            wanted = expected(row, role, vision, hears, transcript)
            assert wanted in found.replace('\\"', '"'), (role, recipient, able)


def test_a_computers_output_stands_between_delimiters_and_a_users_does_not(folder):
    abilities = {"tools": True, "vision": False, "hears": False, "folder": folder}
    for row in ROWS:
        if of_the_moment(row):
            continue
        told = str(chat(ASKED, message(row, "computer", None), **abilities))
        assert "<output-N of the computer>" in told
        assert "<output-" not in str(chat(message(row, "user", None), **abilities)[-1])


# The seed documents -------------------------------------------------------------------------------

LMC_MESSAGES = [
    {"role": "user", "type": "message", "content": "What's 2380*3875?"},
    {"role": "assistant", "type": "code", "format": "python", "content": "2380*3875"},
    {"role": "computer", "type": "console", "format": "output", "content": "9222500"},
    {
        "role": "assistant",
        "type": "message",
        "content": "The result of multiplying 2380 by 3875 is 9222500.",
    },
]
"""The document "LMC Messages", its first example."""

CODE = "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\ndisplay_as_html(plot)"
GUIDE = [
    {
        "role": "user",
        "type": "message",
        "content": "Please create a plot from this data and display it as an image and then as "
        "HTML.",
    },
    {"role": "user", "type": "image", "format": "path", "content": "path/to/image.png"},
    {"role": "user", "type": "file", "content": "/path/to/file.pdf"},
    {
        "role": "assistant",
        "type": "message",
        "content": "Processing your request to generate a plot.",
    },
    {"role": "assistant", "type": "code", "format": "python", "content": CODE},
    {"role": "computer", "type": "image", "format": "base64.png", "content": "base64"},
    {
        "role": "computer",
        "type": "code",
        "format": "html",
        "content": "<html>Plot in HTML format</html>",
    },
    {"role": "computer", "type": "console", "format": "output", "content": "{HTML errors}"},
    {"role": "assistant", "type": "message", "content": "Plot generated successfully."},
]
"""The "0.2.0 Migration Guide", New Static Messages Structure."""

STREAM: list[dict[str, Any]] = [
    {"role": "assistant", "type": "message", "start": True},
    {"role": "assistant", "type": "message", "content": "Pro"},
    {"role": "assistant", "type": "message", "content": "cessing"},
    {"role": "assistant", "type": "message", "content": "your request"},
    {"role": "assistant", "type": "message", "content": "to generate a plot."},
    {"role": "assistant", "type": "message", "end": True},
    {"role": "assistant", "type": "code", "format": "python", "start": True},
    {
        "role": "assistant",
        "type": "code",
        "format": "python",
        "content": "plot = create_plot_from_data",
    },
    {
        "role": "assistant",
        "type": "code",
        "format": "python",
        "content": "('data')\ndisplay_as_image(plot)",
    },
    {
        "role": "assistant",
        "type": "code",
        "format": "python",
        "content": "\ndisplay_as_html(plot)",
    },
    {"role": "assistant", "type": "code", "format": "python", "end": True},
    {
        "role": "computer",
        "type": "confirmation",
        "format": "execution",
        "content": {"type": "code", "format": "python", "content": CODE},
    },
    {"role": "computer", "type": "console", "start": True},
    {
        "role": "computer",
        "type": "console",
        "format": "output",
        "content": "a printed statement",
    },
    {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
    {"role": "computer", "type": "console", "format": "active_line", "content": "2"},
    {"role": "computer", "type": "console", "format": "active_line", "content": "3"},
    {
        "role": "computer",
        "type": "console",
        "format": "output",
        "content": "another printed statement",
    },
    {"role": "computer", "type": "console", "end": True},
]
"""The same guide, New Streaming Structure."""


@pytest.mark.parametrize("talk", [LMC_MESSAGES, GUIDE], ids=["lmc messages", "migration guide"])
def test_the_conversations_of_the_seeds(talk, tmp_path):
    session = Session(ScriptedModel(), Computer())
    session.messages = talk
    kept = [each.to_dict() for each in session.messages]
    assert [{k: v for k, v in m.items() if k not in ("id", "created_at")} for m in kept] == talk
    assert session.journal.conversations.read(session.journal.id).messages == session.messages
    for tools, vision in itertools.product([True, False], repeat=2):
        found = to_chat(session.messages, Brief(), tools=tools, vision=vision, root=tmp_path)
        assert_acceptable(found)
        roles = [each["role"] for each in found if each["role"] != "system"]
        assert roles == ["user", "assistant", "tool" if tools else "user", "assistant"]


def test_what_the_model_reads_of_the_guides_conversation(tmp_path):
    said = [Message.from_dict(each) for each in GUIDE]
    found = str(to_chat(said, Brief(), tools=True, vision=True, root=tmp_path))
    for word in (
        "display it as an image and then as HTML",
        "'path/to/image.png' cannot be read",
        "'/path/to/file.pdf' cannot be read",
        "Processing your request",
        "create_plot_from_data",
        "its data are not base64",
        "Plot in HTML format",
        "{HTML errors}",
        "Plot generated successfully.",
    ):
        assert word in found


def test_the_stream_of_the_guide():
    assembler, whole, marks = Assembler(), [], []
    for each in STREAM:
        chunk = Chunk.from_dict(each)
        made = assembler.feed(chunk)
        if made is not None:
            whole.append(made)
        if chunk.format == "active_line":
            marks.append(chunk.content)
    assert assembler.flush() is None
    spoken = [(m.role, m.type, m.format, m.content) for m in whole if m.type != "confirmation"]
    assert spoken == [
        ("assistant", "message", None, "Processingyour requestto generate a plot."),
        ("assistant", "code", "python", CODE),
        ("computer", "console", "output", "a printed statementanother printed statement"),
    ]
    assert marks == [1, 2, 3]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "code", "format": "python", "content": CODE},
        {"code": CODE, "language": "python"},
    ],
)
def test_both_shapes_of_a_confirmation_are_one(content):
    chunk = Chunk.from_dict(
        {"role": "computer", "type": "confirmation", "format": "execution", "content": content}
    )
    assert chunk.content == {"type": "code", "format": "python", "content": CODE}


# Refused ------------------------------------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    ({"role": "system", "type": "message", "content": "x"}, "unknown role 'system'"),
    ({"role": None, "type": "message", "content": "x"}, "unknown role None"),
    ({"role": ["user"], "type": "message", "content": "x"}, "unknown role"),
    ({"type": "message", "content": "x"}, "key 'role' is missing"),
    ({"role": "user", "content": "x"}, "key 'type' is missing"),
    ({"role": "user", "type": "video", "content": "x"}, "unknown type 'video'"),
    ({"role": "user", "type": 7, "content": "x"}, "unknown type 7"),
    ({"role": "user", "type": "message"}, "no content|neither content nor a flag"),
    ({"role": "user", "type": "message", "content": 3}, "must be a str, not int"),
    ({"role": "user", "type": "message", "content": ["x"]}, "must be a str, not list"),
    ({"role": "user", "type": "message", "format": "html", "content": "x"}, "must be one of text"),
    ({"role": "user", "type": "image", "format": "gif", "content": "x"}, "no format 'gif'"),
    ({"role": "user", "type": "image", "format": "", "content": "x"}, "key 'format' is ''"),
    ({"role": "user", "type": "image", "format": 3, "content": "x"}, "key 'format' is 3"),
    ({"role": "user", "type": "image", "content": b"x"}, "must be a str, not bytes"),
    ({"role": "user", "type": "audio", "format": "mp3", "content": "x"}, "no format 'mp3'"),
    ({"role": "user", "type": "file", "format": "pdf", "content": "x"}, "no format 'pdf'"),
    ({"role": "user", "type": "file", "content": {}}, "must be a str, not dict"),
    (
        {"role": "computer", "type": "console", "format": "error", "content": "x"},
        "no format 'error'",
    ),
    (
        {"role": "computer", "type": "console", "format": "active_line", "content": "one"},
        "active_line must be a line number",
    ),
    (
        {"role": "computer", "type": "console", "format": "active_line", "content": True},
        "active_line must be a line number",
    ),
    (
        {"role": "computer", "type": "console", "format": "active_line", "content": 1.5},
        "active_line must be a line number",
    ),
    ({"role": "assistant", "type": "code", "format": 3, "content": "x"}, "key 'format' is 3"),
    ({"role": "assistant", "type": "code", "format": "r", "content": 3}, "must be a str, not int"),
    (
        {"role": "computer", "type": "confirmation", "format": "execution", "content": "run"},
        "content of a confirmation",
    ),
    (
        {
            "role": "computer",
            "type": "confirmation",
            "format": "execution",
            "content": {"code": "x", "language": 3},
        },
        "content of a confirmation",
    ),
    (
        {"role": "computer", "type": "confirmation", "format": "yes", "content": {}},
        "no format 'yes'",
    ),
    ({"role": "user", "type": "message", "content": "x", "recipient": "computer"}, "recipient"),
    ({"role": "user", "type": "message", "content": "x", "recipient": ""}, "recipient"),
    ("What's 2380*3875?", "must be a dict, not str"),
    (None, "must be a dict, not NoneType"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG)
def test_a_wrong_one_is_refused_with_a_sentence(wrong, sentence):
    for read in (Message.from_dict, Chunk.from_dict):
        with pytest.raises(ProtocolError, match=sentence):
            read(wrong)
    session = Session(ScriptedModel(), Computer())
    session.messages = LMC_MESSAGES
    with pytest.raises(ProtocolError, match=sentence):
        session.messages = [*LMC_MESSAGES, wrong]
    assert len(session.messages) == len(LMC_MESSAGES), "the conversation is as it was"


@pytest.mark.parametrize("flag", ["start", "end"])
@pytest.mark.parametrize("value", ["yes", 1, 0, []])
def test_a_flag_is_true_or_left_out(flag, value):
    with pytest.raises(ProtocolError, match=f"key '{flag}' is"):
        Chunk.from_dict({"role": "user", "type": "message", flag: value})
