"""Both directions of a stream, their round trip, and the guide's JavaScript beside ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import amount
from scripted import (
    assert_stream,
    code,
    line,
    picture,
    printed,
    read_lines,
    said,
    stream_names,
)

from lmc_jupyter import FORMATS, Assembler, Chunk, Message, delimit
from lmc_jupyter.content.bundle import WidgetChunk
from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.lmc import RECIPIENTS, ROLES, confirmation
from lmc_jupyter.stream import partial_suffix

LOOSE = {"content-with-flags"}
"""The streams that are not strict: readers accept them, `delimit` never makes them."""
STOPPED = {name for name in stream_names() if name.startswith("stopped-")}


def assemble(chunks: Iterable[Chunk]) -> list[Message]:
    assembler = Assembler()
    messages = [message for chunk in chunks if (message := assembler.feed(chunk)) is not None]
    if (rest := assembler.flush()) is not None:
        messages.append(rest.marked(partial=True))
    return messages


def flags(chunks: Iterable[Chunk]) -> list[tuple[str, str]]:
    """A stream at a glance: its types, and what each chunk is."""
    return [(c.type, "start" if c.start else "end" if c.end else str(c.content)) for c in chunks]


# Recorded streams --------------------------------------------------------------------------------


def test_there_are_recorded_streams() -> None:
    assert len(stream_names()) >= 11


@pytest.mark.parametrize("name", stream_names())
def test_recorded_stream_gives_its_messages(name: str) -> None:
    chunks = [Chunk.from_dict(each) for each in read_lines(f"{name}.jsonl")]
    expected = read_lines(f"{name}.messages.jsonl")
    assert [message.to_dict() for message in assemble(chunks)] == expected
    if name not in LOOSE:
        assert_stream(chunks, whole=name not in STOPPED)


@pytest.mark.parametrize("name", sorted(set(stream_names()) - LOOSE - STOPPED))
def test_delimit_changes_nothing_in_a_strict_stream(name: str) -> None:
    chunks = [Chunk.from_dict(each) for each in read_lines(f"{name}.jsonl")]
    assert list(delimit(chunks)) == chunks


# delimit -----------------------------------------------------------------------------------------


def test_delimit_puts_one_start_and_one_end_around_each_message() -> None:
    chunks = list(delimit([said("Hel"), said("lo"), code("1"), code("+1"), said("Bye")]))
    assert_stream(chunks)
    assert flags(chunks) == [
        ("message", "start"),
        ("message", "Hel"),
        ("message", "lo"),
        ("message", "end"),
        ("code", "start"),
        ("code", "1"),
        ("code", "+1"),
        ("code", "end"),
        ("message", "start"),
        ("message", "Bye"),
        ("message", "end"),
    ]


def test_delimit_keeps_output_and_active_lines_in_one_console_whose_flags_have_no_format() -> None:
    chunks = list(delimit([line(1), printed("a"), line(2), printed("b"), line(None)]))
    assert_stream(chunks)
    assert chunks[0].to_dict() == {"role": "computer", "type": "console", "start": True}
    assert chunks[-1].to_dict() == {"role": "computer", "type": "console", "end": True}
    assert [c.content for c in chunks[1:-1]] == [1, "a", 2, "b", None]


def test_delimit_keeps_two_images_in_a_row_two() -> None:
    messages = assemble(delimit([picture("AAAA"), picture("BBBB")]))
    assert [message.content for message in messages] == ["AAAA", "BBBB"]


def test_delimit_keeps_a_widget_one_message_with_its_model() -> None:
    def shown(text: str, model_id: str) -> Chunk:
        head = ("computer", "console", "output", text, None)
        return WidgetChunk(*head, start=True, end=True, model_id=model_id)

    chunks = list(delimit([printed("a"), shown("b", "1"), shown("c", "2"), printed("d")]))
    assert_stream(chunks)
    assert [message.content for message in assemble(chunks)] == ["a", "b", "c", "d"]
    widgets = [chunk for chunk in chunks if isinstance(chunk, WidgetChunk)]
    assert [(each.content, each.model_id) for each in widgets] == [("b", "1"), ("c", "2")]
    assert widgets[0].to_dict() == printed("b").to_dict()


def test_delimit_keeps_two_code_blocks_in_a_row_two_by_start_or_by_end() -> None:
    for pieces in (
        [code("1"), code("2", start=True)],
        [code("1", end=True), code("2")],
        [code("1", end=True), code("2", start=True, end=True)],
    ):
        chunks = list(delimit(pieces))
        assert_stream(chunks)
        assert [message.content for message in assemble(chunks)] == ["1", "2"]


def test_delimit_tells_role_format_and_recipient_apart() -> None:
    pieces = [
        code("1", "python"),
        code("ls", "shell"),
        said("a"),
        said("b", recipient="user"),
        Chunk("user", "message", content="c"),
    ]
    chunks = list(delimit(pieces))
    assert_stream(chunks)
    assert [message.content for message in assemble(chunks)] == ["1", "ls", "a", "b", "c"]
    assert assemble(chunks)[3].recipient == "user"


def test_delimit_passes_no_empty_content_on() -> None:
    assert list(delimit([said(""), said(""), printed("")])) == []
    chunks = list(delimit([said("a"), said(""), said("b"), said("", end=True)]))
    assert_stream(chunks)
    assert [chunk.content for chunk in chunks] == [None, "a", "b", None]


def test_delimit_shows_an_empty_block_that_was_opened_on_purpose() -> None:
    chunks = list(delimit([code("", start=True), code("", end=True)]))
    assert flags(chunks) == [("code", "start"), ("code", "end")]


def test_delimit_lets_confirmations_pass_bare_after_the_end() -> None:
    chunks = list(delimit([code("1"), confirmation("python", "1"), line(None)]))
    assert_stream(chunks)
    assert flags(chunks)[2] == ("code", "end")
    assert chunks[3].to_dict() == confirmation("python", "1").to_dict()


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True)])
def test_delimit_takes_the_flags_off_a_confirmation(flags: tuple[bool, bool]) -> None:
    bare = confirmation("r", "1")
    flagged = Chunk("computer", "confirmation", "execution", bare.content, None, *flags)
    assert list(delimit([flagged])) == [bare]


def test_delimit_is_not_a_piece_late() -> None:
    """Each piece is shown before the next one is asked for, but for its end."""
    asked: list[int] = []

    def pieces() -> Iterator[Chunk]:
        for number in range(3):
            asked.append(number)
            yield said(str(number))

    stream = delimit(pieces())
    seen = []
    for chunk in stream:
        seen.append((chunk.content, len(asked)))
    assert seen == [(None, 1), ("0", 1), ("1", 2), ("2", 3), (None, 3)]


def test_delimit_emits_nothing_after_it_is_closed() -> None:
    stream = delimit([said("a"), said("b")])
    next(stream)
    stream.close()
    assert list(stream) == []


# Assembler ---------------------------------------------------------------------------------------


def test_assembler_returns_a_message_at_its_end_and_not_before() -> None:
    assembler = Assembler()
    chunks = list(delimit([said("a"), said("b")]))
    assert [assembler.feed(chunk) for chunk in chunks[:-1]] == [None, None, None]
    assert assembler.open == chunks[0]
    assert assembler.feed(chunks[-1]) == Message("assistant", "message", content="ab")
    assert assembler.open is None
    assert assembler.flush() is None


def test_assembler_knows_the_active_line_only_while_the_console_is_open() -> None:
    assembler = Assembler()
    seen = []
    for chunk in delimit([line(1), printed("a"), line(2), line(None), line(3)]):
        assembler.feed(chunk)
        seen.append(assembler.active_line)
    assert seen == [None, 1, 1, 2, None, 3, None]


def test_flush_gives_what_there_is_and_resets() -> None:
    assembler = Assembler()
    for chunk in list(delimit([code("import os\n"), code("os.")]))[:-1]:
        assembler.feed(chunk)
    assert assembler.flush() == Message("assistant", "code", "python", "import os\nos.")
    assert assembler.flush() is None
    assert assembler.feed(said("x")) == Message("assistant", "message", content="x")


def test_assembler_ignores_a_confirmation_wherever_it_stands() -> None:
    assembler = Assembler()
    assert assembler.feed(confirmation("python", "1")) is None
    assembler.feed(said("a", start=True))
    assert assembler.feed(confirmation("python", "1")) is None
    assert assembler.feed(said("b", end=True)) == Message("assistant", "message", content="ab")


def test_console_whose_start_carries_a_format_is_one_message() -> None:
    """Open Interpreter's own streams put a format on the flags of a console."""
    chunks = [
        Chunk("computer", "console", "output", None, None, start=True),
        line(1),
        printed("a"),
        Chunk("computer", "console", "output", None, None, end=True),
    ]
    assert assemble(chunks) == [Message("computer", "console", "output", "a")]


END = Chunk("assistant", "message", end=True)
BAD: list[tuple[list[Chunk], Chunk, tuple[str, ...]]] = [
    ([], END, ("end of assistant/message", "no message is open")),
    ([], Chunk("computer", "console", end=True), ("end of computer/console", "start one")),
    (
        [],
        Chunk("computer", "console", "active_line", 5, None, end=True),
        ("end of computer/console", "no message is open"),
    ),
    ([said("a", start=True)], said("b", start=True), ("'message' starts", "'message' is open")),
    ([said("a", start=True)], code("1", start=True), ("'code' starts", "'message' is open")),
    ([said("a", start=True)], code("1"), ("assistant/code/python", "assistant/message", "open")),
    ([code("a", start=True)], code("b", "shell"), ("code/shell", "code/python")),
    (
        [said("a", start=True)],
        Chunk("user", "message", end=True),
        ("user/message", "assistant/message"),
    ),
    (
        [said("a", start=True)],
        said("b", recipient="user"),
        ("assistant/message/user", "assistant/message is open"),
    ),
]


@pytest.mark.parametrize(("before", "bad", "words"), BAD)
def test_assembler_refuses_with_a_sentence_and_is_as_it_was(
    before: list[Chunk], bad: Chunk, words: tuple[str, ...]
) -> None:
    assembler, twin = Assembler(), Assembler()
    for chunk in before:
        assembler.feed(chunk)
        twin.feed(chunk)
    with pytest.raises(ProtocolError) as caught:
        assembler.feed(bad)
    for word in words:
        assert word in str(caught.value)
    assert assembler.open == twin.open
    assert assembler.active_line == twin.active_line
    assert assembler.flush() == twin.flush()


def test_a_thousand_chunks_are_joined_once_and_not_copied_at_each() -> None:
    """The parts are kept apart until the end: a long reply costs no more for each chunk."""
    assembler = Assembler()
    assembler.feed(said("", start=True))
    for _ in range(1000):
        assembler.feed(said("x" * 10))
    assert assembler.feed(END) == Message("assistant", "message", content="x" * 10_000)


# Properties --------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WHOLE = {"image", "file", "audio"}


@st.composite
def whole_messages(draw: Callable[[Any], Any]) -> Message:
    type_ = draw(st.sampled_from([each for each in FORMATS if each != "confirmation"]))
    formats = FORMATS[type_].formats
    if type_ == "console":
        format_ = "output"
    elif formats is None:
        format_ = draw(st.sampled_from(["python", "shell", "html", "sql"]))
    else:
        format_ = draw(st.sampled_from([None, *formats]))
    return Message(
        draw(st.sampled_from(ROLES)),
        type_,
        format_,
        draw(TEXT.filter(bool)),
        draw(st.sampled_from([None, *RECIPIENTS])),
    )


@st.composite
def cut(draw: Callable[[Any], Any], messages: list[Message]) -> list[Chunk]:
    """Pieces of these messages, cut anywhere, with active lines in the consoles."""
    pieces: list[Chunk] = []
    for message in messages:
        text = message.content
        points = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
        parts = [text[a:b] for a, b in zip([0, *points], [*points, len(text)], strict=True)]
        for index, part in enumerate(parts):
            if message.type == "console" and draw(st.booleans()):
                number = draw(st.one_of(st.none(), st.integers(0, 99)))
                pieces.append(
                    Chunk(message.role, "console", "active_line", number, message.recipient)
                )
            last = index == len(parts) - 1
            pieces.append(
                Chunk(message.role, message.type, message.format, part, message.recipient, end=last)
            )
    return pieces


@given(st.data(), st.lists(whole_messages(), max_size=6))
def test_any_cut_of_any_messages_gives_them_back(data: Any, messages: list[Message]) -> None:
    chunks = list(delimit(data.draw(cut(messages))))
    assert_stream(chunks)
    assert assemble(chunks) == messages


PIECES = st.lists(
    st.builds(
        lambda head, text, start, end: (
            confirmation("python", text)
            if head == "confirmation"
            else Chunk(*head, text, None, start, end)
        ),
        st.sampled_from(
            [
                ("assistant", "message", None),
                ("assistant", "code", "python"),
                ("assistant", "code", "shell"),
                ("computer", "console", "output"),
                ("computer", "image", "base64.png"),
                "confirmation",
            ]
        ),
        TEXT,
        st.booleans(),
        st.booleans(),
    ),
    max_size=12,
)


@given(PIECES)
def test_delimit_makes_a_strict_stream_of_any_pieces_and_loses_nothing(pieces) -> None:
    chunks = list(delimit(pieces))
    assert_stream(chunks)
    assert list(delimit(chunks)) == chunks, "once delimited, nothing is left to do"
    texts = [p.content for p in pieces if p.type != "confirmation"]
    assert "".join(message.content for message in assemble(chunks)) == "".join(texts)
    assert [c for c in chunks if c.type == "confirmation"] == [
        p for p in pieces if p.type == "confirmation"
    ]


@given(PIECES)
def test_any_chunk_is_taken_or_refused_and_never_breaks_the_assembler(pieces) -> None:
    assembler = Assembler()
    for piece in pieces:
        before = assembler.open
        try:
            assembler.feed(piece)
        except ProtocolError:
            assert assembler.open == before
    assembler.flush()
    assert assembler.feed(said("after")) == Message("assistant", "message", content="after")


# The migration guide's JavaScript ----------------------------------------------------------------


class ProcessChunk:
    """`processChunk` of the migration guide, line by line in Python."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.current = 0

    def __call__(self, chunk: dict[str, Any]) -> None:
        if chunk.get("start"):
            message = {"role": chunk["role"], "type": chunk["type"], "content": ""}
            if chunk.get("format"):
                message["format"] = chunk["format"]
            if chunk.get("recipient"):
                message["recipient"] = chunk["recipient"]
            self.messages.append(message)
            self.current = len(self.messages) - 1
        if chunk.get("format") == "active_line":
            self.messages[self.current]["activeLine"] = chunk["content"]
        elif chunk.get("end") and chunk["type"] == "console":
            self.messages[self.current]["activeLine"] = None
        if chunk.get("content") and chunk.get("format") != "active_line":
            self.messages[self.current]["content"] += chunk["content"]


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the mark of the active line, and the cell of a proposal, which the guide's client
    does not know; a console's start has no format, its text has.
    """
    return [
        {k: value for k, value in message.items() if k not in ("activeLine", "partial", "cell")}
        | ({"format": "output"} if message["type"] == "console" else {})
        for message in messages
    ]


def ours(wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m.to_dict() for m in assemble(Chunk.from_dict(each) for each in wire)]


def in_python(wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
    process = ProcessChunk()
    for chunk in wire:
        process(chunk)
    return process.messages


def in_node(
    streams: list[list[dict[str, Any]]], script: str = "process_chunk.js", *words: str
) -> list[list[dict[str, Any]]]:
    node = shutil.which("node")
    assert node is not None, "node is needed here: `make test` installs it"
    done = subprocess.run(
        [node, str(Path(__file__).with_name(script)), *words],
        input="\n".join(json.dumps(stream) for stream in streams),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return [json.loads(each) for each in done.stdout.split("\n") if each]


def without_confirmations(chunks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The guide's client looks at a confirmation before it calls processChunk, which has none."""
    return [chunk for chunk in chunks if chunk["type"] != "confirmation"]


STRICT = sorted(set(stream_names()) - LOOSE)


@pytest.mark.parametrize("name", STRICT)
def test_guides_javascript_in_python_agrees_on_recorded_streams(name: str) -> None:
    wire = without_confirmations(read_lines(f"{name}.jsonl"))
    assert comparable(in_python(wire)) == comparable(ours(wire))


@given(st.data(), st.lists(whole_messages(), max_size=6))
def test_guides_javascript_in_python_agrees_on_any_stream(data: Any, messages) -> None:
    wire = [chunk.to_dict() for chunk in delimit(data.draw(cut(messages)))]
    assert comparable(in_python(wire)) == comparable(ours(wire))


def test_guides_javascript_in_node_agrees() -> None:
    """Word for word, on every recorded stream and on many others."""
    streams = [without_confirmations(read_lines(f"{name}.jsonl")) for name in STRICT]

    @settings(max_examples=amount(100, 500), database=None, derandomize=True)
    @given(st.data(), st.lists(whole_messages(), max_size=6))
    def collect(data: Any, messages: list[Message]) -> None:
        streams.append([chunk.to_dict() for chunk in delimit(data.draw(cut(messages)))])

    collect()
    assert len(streams) > amount(100, 500)
    for theirs, wire in zip(in_node(streams), streams, strict=True):
        assert comparable(theirs) == comparable(ours(wire))
        assert theirs == in_python(wire), "our port is faithful"


@pytest.fixture(scope="module")
def many_streams() -> list[list[dict[str, Any]]]:
    """Every recorded stream cut between any two of its characters, and many of any messages."""
    streams = [read_lines(f"{name}.jsonl") for name in stream_names()]
    for chunks in list(streams):
        pieces = [split for chunk in chunks for split in cut_at_each_character(chunk)]
        streams.append(pieces)

    @settings(max_examples=amount(200, 10_000), database=None, derandomize=True, deadline=None)
    @given(st.data(), st.lists(whole_messages(), max_size=6))
    def collect(data: Any, messages: list[Message]) -> None:
        streams.append([chunk.to_dict() for chunk in delimit(data.draw(cut(messages)))])

    collect()
    return streams


def cut_at_each_character(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunk in pieces of one character each; what has flags stays whole."""
    text = chunk.get("content")
    if not isinstance(text, str) or not text or chunk.get("start") or chunk.get("end"):
        return [chunk]
    if chunk["type"] in ("confirmation", "widget") or chunk.get("format") == "active_line":
        return [chunk]
    return [{**chunk, "content": character} for character in text]


@pytest.mark.checkout
def test_the_panels_assembler_agrees_word_for_word(many_streams, record_property) -> None:
    theirs = in_node(many_streams, "assemble_in_js.mjs")
    differ = [n for n, wire in enumerate(many_streams) if theirs[n] != ours(wire)]
    assert differ == []
    record_property("figure", f"{len(many_streams):,} streams: 0 differ")


@pytest.mark.checkout
def test_control_a_reader_that_joins_by_type_does_not_agree(many_streams, record_property) -> None:
    theirs = in_node(many_streams, "assemble_in_js.mjs", "naive")
    differ = sum(theirs[n] != ours(wire) for n, wire in enumerate(many_streams))
    assert differ > len(many_streams) / 10
    record_property("figure", f"{differ:,} of {len(many_streams):,} differ")


@pytest.mark.parametrize(
    ("text", "at"),
    [("a <", 2), ("a <thin", 2), ("a <think>", 9), ("$", 0), ("a$$", 2), ("<<t", 1), ("", 0)],
)
def test_the_end_of_a_text_that_may_begin_a_delimiter(text, at):
    assert partial_suffix(text, ("<think>", "$$")) == at
    assert partial_suffix(text.encode(), (b"<think>", b"$$")) == at


def test_a_short_beginning_does_not_count_where_more_is_asked_for():
    assert partial_suffix("a <th", ("<think>",), 4) == 5
    assert partial_suffix("a <thi", ("<think>",), 4) == 2


def test_an_active_line_without_a_message_is_known_and_no_message():
    assembler = Assembler()
    assert assembler.feed(Chunk("computer", "console", "active_line", 3)) is None
    assert assembler.active_line == 3
    assert assembler.flush() is None


def test_a_message_within_another_is_refused_with_what_to_do():
    assembler = Assembler()
    assembler.feed(Chunk("assistant", "code", "python", start=True))
    with pytest.raises(ProtocolError, match=r"end that first$"):
        assembler.feed(Chunk("assistant", "message", content="x"))


def test_the_first_place_where_a_delimiter_may_begin_counts():
    assert partial_suffix("a <<", ("<<<",)) == 2
    assert partial_suffix("$$$", ("$$$$",)) == 0
