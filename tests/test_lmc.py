"""The vocabulary: every row of the table, every refusal, the seed documents' own examples."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter import FORMATS, Chunk, LMCError, Message
from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.lmc import LANGUAGES, RECIPIENTS, ROLES, canonical, confirmation

# The seed documents, word for word ---------------------------------------------------------------

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
"""The example of "LMC Messages"."""

PLOT = "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\ndisplay_as_html(plot)"
STATIC = [
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
    {"role": "assistant", "type": "code", "format": "python", "content": PLOT},
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
"""The example of the migration guide's "New Static Messages Structure"."""

STREAM = [
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
        "content": {
            "type": "code",
            "format": "python",
            "content": "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\n"
            "display_as_html(plot)",
        },
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
"""The example of the migration guide's "New Streaming Structure"."""

TABLE = [
    ("message", None, ("user", "assistant")),
    ("message", "text", ("user", "assistant")),  # guide: "implied format: text"
    ("console", "active_line", ("computer",)),
    ("console", "output", ("computer",)),
    ("image", "base64", ("user", "computer")),
    ("image", "base64.png", ("user", "computer")),
    ("image", "base64.jpeg", ("user", "computer")),
    ("image", "path", ("user", "computer")),
    ("code", "html", ("assistant", "computer")),
    ("code", "javascript", ("assistant", "computer")),
    ("code", "python", ("assistant",)),
    ("code", "r", ("assistant",)),
    ("code", "applescript", ("assistant",)),
    ("code", "shell", ("assistant",)),
    ("file", None, ("user",)),
    ("file", "path", ("user",)),
    ("confirmation", "execution", ("computer",)),
    ("audio", "wav", ("user",)),
]
"""Type, format and common roles of both seeds' tables, the rows of ours with them."""


def content_of(type_: str, format_: str | None) -> Any:
    if type_ == "confirmation":
        return {"type": "code", "format": "python", "content": "1+1"}
    return 3 if format_ == "active_line" else "some content"


@pytest.mark.parametrize("wire", LMC_MESSAGES + STATIC)
def test_seed_messages_come_back_word_for_word(wire: dict[str, Any]) -> None:
    assert Message.from_dict(wire).to_dict() == wire
    assert list(Message.from_dict(wire).to_dict()) == list(wire), "the keys keep their order"
    assert Chunk.from_dict(wire).to_dict() == wire


@pytest.mark.parametrize("wire", STREAM)
def test_seed_chunks_come_back_word_for_word(wire: dict[str, Any]) -> None:
    expected = dict(wire)
    if wire.get("format") == "active_line":
        expected["content"] = int(wire["content"])  # accept a digit string, emit an int
    assert Chunk.from_dict(wire).to_dict() == expected


def test_confirmation_accepts_the_shape_of_the_guides_types_and_emits_that_of_its_example() -> None:
    head = {"role": "computer", "type": "confirmation", "format": "execution"}
    wire = {**head, "content": {"code": "1+1", "language": "python"}}
    expected = {**head, "content": {"type": "code", "format": "python", "content": "1+1"}}
    assert Chunk.from_dict(wire).to_dict() == expected
    assert Message.from_dict(wire).to_dict() == expected
    assert confirmation("python", "1+1").to_dict() == expected


# The table ---------------------------------------------------------------------------------------


def test_table_is_that_of_the_seed_documents() -> None:
    for type_, format_, roles in TABLE:
        row = FORMATS[type_]
        assert row.formats is None or format_ is None or format_ in row.formats
        assert set(roles) <= set(row.roles), (type_, format_)
        if type_ == "code":
            assert format_ in LANGUAGES
    assert set(FORMATS) == {type_ for type_, _, _ in TABLE}
    for type_, row in FORMATS.items():
        for format_ in row.formats or ():
            assert (type_, format_) in {(each[0], each[1]) for each in TABLE}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("type_", "format_", "roles"), TABLE)
def test_any_role_may_produce_any_row(
    type_: str, format_: str | None, roles: tuple[str, ...], role: str
) -> None:
    wire = {"role": role, "type": type_, "content": content_of(type_, format_)}
    if format_ is not None:
        wire["format"] = format_
    assert Message.from_dict(wire).to_dict() == wire
    assert Chunk.from_dict(wire).to_dict() == wire
    for flag in ("start", "end"):
        bare = {key: value for key, value in wire.items() if key != "content"} | {flag: True}
        assert Chunk.from_dict(bare).to_dict() == bare
        both = wire | {flag: True}
        assert Chunk.from_dict(both).to_dict() == both


@pytest.mark.parametrize("recipient", RECIPIENTS)
def test_recipient_is_kept(recipient: str) -> None:
    wire = {"role": "computer", "type": "message", "content": "x", "recipient": recipient}
    assert Message.from_dict(wire).to_dict() == wire
    assert Chunk.from_dict(wire).to_dict() == wire


@pytest.mark.parametrize("language", ["sql", "julia", "C++", "lua"])
def test_code_is_open_to_any_other_language(language: str) -> None:
    wire = {"role": "assistant", "type": "code", "format": language, "content": "x"}
    assert Message.from_dict(wire).to_dict() == wire


@pytest.mark.parametrize(("given_line", "kept"), [("0", 0), ("12", 12), (7, 7), ("007", 7)])
def test_active_line_takes_ints_and_digit_strings_and_gives_ints(
    given_line: Any, kept: int
) -> None:
    chunk = Chunk("computer", "console", "active_line", given_line)
    assert chunk.content == kept
    assert type(chunk.content) is int


def test_active_line_none_ends_it_and_stays_on_the_wire() -> None:
    wire = {"role": "computer", "type": "console", "format": "active_line", "content": None}
    assert Chunk.from_dict(wire).to_dict() == wire
    assert Message.from_dict(wire).to_dict() == wire, "a stored one opens without harm"


# Refusals ----------------------------------------------------------------------------------------

GOOD = {"role": "assistant", "type": "message", "content": "x"}
CONSOLE = {"role": "computer", "type": "console", "format": "active_line"}
CONFIRM = {"role": "computer", "type": "confirmation", "format": "execution"}
REFUSED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (GOOD | {"role": "system"}, ("role", "'system'", "assistant")),
    (GOOD | {"role": None}, ("role", "None", "assistant")),
    (GOOD | {"role": ["user"]}, ("role", "['user']")),
    (GOOD | {"role": "User"}, ("role", "'User'")),
    (GOOD | {"type": "video"}, ("type", "'video'", "image")),
    (GOOD | {"type": None}, ("type", "None")),
    (GOOD | {"type": {"a": 1}}, ("type", "{'a': 1}")),
    (GOOD | {"format": "markdown"}, ("format", "'markdown'", "'message'", "text")),
    (GOOD | {"format": ""}, ("format", "''")),
    (GOOD | {"format": 3}, ("format", "3")),
    (GOOD | {"type": "console", "format": "error"}, ("format", "'error'", "output, active_line")),
    (GOOD | {"type": "image", "format": "base64.gif"}, ("format", "'base64.gif'", "base64.png")),
    (GOOD | {"type": "file", "format": "text"}, ("format", "'text'", "path")),
    (GOOD | {"type": "audio", "format": "mp3"}, ("format", "'mp3'", "wav")),
    (GOOD | {"type": "confirmation", "format": "x"}, ("format", "'x'", "execution")),
    (GOOD | {"recipient": "computer"}, ("recipient", "'computer'")),
    (GOOD | {"recipient": ""}, ("recipient", "''")),
    (GOOD | {"content": 3}, ("content", "3", "int", "'message'")),
    (GOOD | {"content": ["x"]}, ("content", "['x']", "list")),
    (GOOD | {"content": b"x"}, ("content", "b'x'", "bytes")),
    (GOOD | {"content": {"x": 1}}, ("content", "{'x': 1}", "dict")),
    (CONSOLE | {"content": "one"}, ("active_line", "'one'")),
    (CONSOLE | {"content": "-1"}, ("active_line", "'-1'")),
    (CONSOLE | {"content": ""}, ("active_line", "''")),
    (CONSOLE | {"content": "²"}, ("active_line", "'²'")),
    (CONSOLE | {"content": "٣"}, ("active_line", "'٣'")),
    (CONSOLE | {"content": "9" * 5000}, ("active_line", "'999")),
    (CONSOLE | {"content": True}, ("active_line", "True")),
    (CONSOLE | {"content": 1.0}, ("active_line", "1.0")),
    (CONFIRM | {"content": "1+1"}, ("confirmation", "'1+1'", "content")),
    (CONFIRM | {"content": {}}, ("confirmation", "{}")),
    (CONFIRM | {"content": {"code": "1", "language": 3}}, ("confirmation", "3")),
    (CONFIRM | {"content": {"code": 1, "language": "r"}}, ("confirmation", "1")),
    (CONFIRM | {"content": {"code": "1"}}, ("confirmation", "{'code': '1'}")),
    (
        CONFIRM | {"content": {"type": "x", "format": "python", "content": "1"}},
        ("confirmation", "'x'"),
    ),
    (
        CONFIRM | {"content": {"type": "code", "format": "r", "content": "1", "approved": True}},
        ("confirmation", "code"),
    ),
]


@pytest.mark.parametrize("read", [Chunk.from_dict, Message.from_dict])
@pytest.mark.parametrize(("wire", "words"), REFUSED)
def test_refusal_says_which_key_and_value(
    wire: dict[str, Any], words: tuple[str, ...], read
) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(wire)
    for word in words:
        assert word in str(caught.value)
    assert isinstance(caught.value, LMCError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("flag", ["start", "end"])
@pytest.mark.parametrize("value", [1, "true", 0, [], "no"])
def test_flag_must_be_a_boolean(flag: str, value: Any) -> None:
    with pytest.raises(ProtocolError, match=f"'{flag}' is") as caught:
        Chunk.from_dict(GOOD | {flag: value})
    assert repr(value) in str(caught.value)


def test_false_and_null_flags_are_as_good_as_none() -> None:
    chunk = Chunk.from_dict(GOOD | {"start": False, "end": None})
    assert chunk.to_dict() == GOOD


@pytest.mark.parametrize("key", ["role", "type"])
@pytest.mark.parametrize("read", [Chunk.from_dict, Message.from_dict])
def test_missing_key_is_named(read, key: str) -> None:
    wire = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(ProtocolError, match=f"'{key}' is missing"):
        read(wire)


@pytest.mark.parametrize("data", ["text", 3, None, ["role"], b"{}"])
@pytest.mark.parametrize("read", [Chunk.from_dict, Message.from_dict])
def test_only_a_dict_is_a_message(read, data: Any) -> None:
    with pytest.raises(ProtocolError, match="must be a dict") as caught:
        read(data)
    assert type(data).__name__ in str(caught.value)


def test_message_and_chunk_want_content() -> None:
    bare = {"role": "user", "type": "message"}
    with pytest.raises(ProtocolError, match="'message' has no content: give it 'content'"):
        Message.from_dict(bare)
    with pytest.raises(ProtocolError, match="'message' has no content: give it 'content'"):
        Message.from_dict(bare | {"content": None})
    with pytest.raises(ProtocolError, match="neither content nor a flag"):
        Chunk.from_dict(bare)


def test_a_very_long_value_does_not_make_a_very_long_sentence() -> None:
    with pytest.raises(ProtocolError) as caught:
        Message.from_dict(GOOD | {"content": ["x" * 100_000]})
    assert len(str(caught.value)) < 300


# Values ------------------------------------------------------------------------------------------


def test_unknown_keys_are_kept_by_a_message_and_ignored_by_a_chunk() -> None:
    wire = GOOD | {"id": "1", "created_at": 12.5, "feedback": {"stars": 5}, "x": None}
    assert Message.from_dict(wire).to_dict() == wire
    assert Chunk.from_dict(wire).to_dict() == GOOD


def test_values_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Chunk.from_dict(GOOD).content = "y"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Message.from_dict(GOOD).content = "y"  # type: ignore[misc]


def test_stamped_gives_id_and_time_once_and_keeps_what_is_there() -> None:
    message = Message.from_dict(GOOD).stamped()
    assert message.id
    assert message.created_at.endswith("+00:00")
    assert message.stamped() is message
    named = Message.from_dict(GOOD | {"id": "mine"}).stamped()
    assert named.id == "mine"
    assert named.created_at is not None
    dated = Message.from_dict(GOOD | {"created_at": 0}).stamped()
    assert dated.created_at == 0


def test_marked_adds_to_the_extra_keys() -> None:
    message = Message.from_dict(GOOD | {"a": 1}).marked(partial=True)
    assert message.to_dict() == GOOD | {"a": 1, "partial": True}


@pytest.mark.parametrize(("name", "aliases"), LANGUAGES.items())
def test_canonical_gives_one_name_to_each_language(name: str, aliases: tuple[str, ...]) -> None:
    for word in (name, *aliases):
        assert canonical(word) == canonical(word.upper()) == canonical(f" {word}\t") == name
    assert canonical("Rust") == "rust"


TEXT = st.text(st.characters())


@given(
    role=st.sampled_from(ROLES),
    row=st.sampled_from(TABLE),
    text=TEXT,
    recipient=st.sampled_from([None, *RECIPIENTS]),
    extra=st.dictionaries(
        TEXT.filter(
            lambda key: key not in {"role", "type", "format", "content", "recipient", "id"}
        ).filter(lambda key: key not in {"created_at", "start", "end"}),
        st.one_of(st.none(), st.booleans(), st.integers(), TEXT, st.lists(TEXT)),
    ),
)
def test_any_message_survives_json(role, row, text, recipient, extra) -> None:
    type_, format_, _ = row
    content = content_of(type_, format_)
    wire = {"role": role, "type": type_, "content": text if isinstance(content, str) else content}
    wire |= {"format": format_} if format_ else {}
    wire |= {"recipient": recipient} if recipient else {}
    message = Message.from_dict(wire | extra)
    assert message.to_dict() == wire | extra
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message
    chunk = Chunk.from_dict(wire)
    assert Chunk.from_dict(json.loads(json.dumps(chunk.to_dict()))) == chunk


ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["role", "type", "format", "content", "recipient", "start", "end", "id"]),
        st.one_of(
            st.sampled_from([*ROLES, *FORMATS, "output", "active_line", "execution", "path"]), ANY
        ),
    )
)
def test_whatever_comes_is_read_or_refused_with_a_protocol_error(wire: dict[str, Any]) -> None:
    for read in (Chunk.from_dict, Message.from_dict):
        try:
            value = read(wire)
        except ProtocolError:
            continue
        assert read(value.to_dict()) == value


def test_an_error_s_sentence_brings_no_escapes_to_the_terminal() -> None:
    error = LMCError("the server said \x1b]0;title\x07\x1b[2Jno\nand that is all")
    assert error._render_traceback_() == [
        "LMCError: the server said ]0;title[2Jno\nand that is all"
    ]
