"""The reply parser: recorded replies of many models, cut in every way."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import CUTS
from sampling import amount

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import LANGUAGES, Chunk
from lmc_jupyter.models.reply import Reply
from lmc_jupyter.stream import Assembler, delimit

REPLIES = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent.parent / "replies").glob("*.json"))
}

Run = tuple[str, Any, str]
"""What is cut: a kind, what each piece carries, the text in one."""


def runs(deltas: list[dict[str, Any]]) -> list[Run]:
    """The deltas with neighbours of one kind joined: cutting these gives every other cut."""
    joined: list[Run] = []
    for delta in deltas:
        ((kind, value),) = delta.items()  # one key a delta: a second one would be lost
        head, text = (tuple(value[:3]), value[3]) if kind == "tool" else (None, value)
        last = joined[-1] if joined else None
        same = last is not None and last[0] == kind
        if same and kind == "tool":
            same = head[0] == last[1][0] and head[1] in (None, last[1][1])
        if same:
            joined[-1] = (kind, last[1], last[2] + text)
        else:
            joined.append((kind, head, text))
    return joined


def feed(reply: Reply, kind: str, head: Any, text: str, *, first: bool) -> Iterator[Chunk]:
    if kind == "tool":
        index, id_, name = head
        return reply.tool(index, id_ if first else None, name if first else None, text)
    return reply.text(text) if kind == "text" else reply.reasoning(text)


def pieces(cut: Iterable[tuple[str, Any, list[str]]], *, whole: bool = True) -> Iterator[Chunk]:
    reply = Reply(LANGUAGES)
    for kind, head, texts in cut:
        for number, text in enumerate(texts or [""]):
            yield from feed(reply, kind, head, text, first=number == 0)
    if whole:
        yield from reply.end()
    else:
        yield from reply.cut()
        raise ModelError("the connection broke")


def read(stream: Iterator[Chunk]) -> tuple[list[list[Any]], str, Any]:
    """The whole messages, the error, and what was left unfinished."""
    assembler, messages, error = Assembler(), [], ""
    try:
        for chunk in delimit(stream):
            message = assembler.feed(chunk)
            if message is not None:
                head = [message.type, message.format, message.recipient, message.content]
                messages.append([*head, *message.extra.values()])  # the cell of a proposal
    except ModelError as problem:
        error = str(problem)
    rest = assembler.flush()
    return messages, error, None if rest is None else (rest.type, rest.content)


def uncut(name: str) -> list[tuple[str, Any, list[str]]]:
    return [(kind, head, [text]) for kind, head, text in runs(REPLIES[name]["deltas"])]


@pytest.mark.parametrize("name", REPLIES)
def test_a_recorded_reply_gives_its_messages(name: str) -> None:
    reply, recorded = Reply(LANGUAGES), REPLIES[name]

    def stream() -> Iterator[Chunk]:
        for delta in recorded["deltas"]:
            ((kind, value),) = delta.items()
            yield from reply.tool(*value) if kind == "tool" else getattr(reply, kind)(value)
        yield from reply.end()

    messages, error, _ = read(stream())
    assert messages == recorded["messages"]
    assert (recorded["error"] or "") in error
    assert bool(recorded["error"]) == bool(error), error


@pytest.mark.parametrize("cut", CUTS)
def test_a_vendors_way_of_cutting_makes_no_difference(cut: str) -> None:
    for name, recorded in REPLIES.items():
        expected = read(pieces(uncut(name)))
        parts = [(kind, head, CUTS[cut](text)) for kind, head, text in runs(recorded["deltas"])]
        assert read(pieces(parts)) == expected, name
        assert expected[0] == recorded["messages"]


def every_place(after: int) -> list[tuple[str, int, int]]:
    """Each place where a recorded reply can be cut: its name, the number of the run, the letter."""
    return [
        (name, number, at)
        for name, recorded in REPLIES.items()
        for number, (_, _, text) in enumerate(runs(recorded["deltas"]))
        for at in range(len(text) + after)
    ]


def test_any_two_pieces_make_no_difference() -> None:
    whole = {name: uncut(name) for name in REPLIES}
    expected = {name: read(pieces(parts)) for name, parts in whole.items()}
    for name, number, at in every_place(after=1):
        parts = whole[name].copy()
        kind, head, [text] = parts[number]
        parts[number] = (kind, head, [text[:at], text[at:]])
        assert read(pieces(parts)) == expected[name], (name, number, at)


@given(st.sampled_from(sorted(REPLIES)), st.data())
def test_any_cut_makes_no_difference(name: str, data: st.DataObject) -> None:
    parts = []
    for kind, head, text in runs(REPLIES[name]["deltas"]):
        ats = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
        bounds = [0, *sorted(ats), len(text)]
        cut = [text[a:b] for a, b in pairwise(bounds)]
        parts.append((kind, head, cut))
    assert read(pieces(parts)) == read(pieces(uncut(name)))


FENCE_LIKE = st.lists(
    st.sampled_from(
        [
            "```",
            "`",
            "~~~",
            "````",
            "python",
            "x=1",
            "text",
            "<think>",
            "</think>",
            "<",
            "th",
            "{r}",
            "markdown",
            "é😀",
            "c++",
            "bash\n",
            "```python\n",
            "```\n",
            "\n",
            "\r\n",
            "\r",
            " ",
            "   ",
            "    ",
            "\t",
        ]
    ),
    max_size=25,
)


@given(FENCE_LIKE)
@settings(max_examples=amount(100, 500))
def test_any_text_reads_the_same_whole_and_letter_by_letter(words: list[str]) -> None:
    text = "".join(words)
    expected = read(pieces([("text", None, [text])]))
    assert read(pieces([("text", None, list(text))])) == expected
    assert read(pieces([("text", None, words)])) == expected


def test_a_reply_cut_anywhere_offers_nothing_that_the_whole_one_does_not() -> None:
    whole = {name: uncut(name) for name in REPLIES}
    code = {
        name: [each for each in read(pieces(parts))[0] if each[0] == "code"]
        for name, parts in whole.items()
    }
    for name, number, at in every_place(after=0):
        kind, head, [text] = whole[name][number]
        parts = [*whole[name][:number], (kind, head, [text[:at]])]
        messages, error, _ = read(pieces(parts, whole=False))
        offered = [each for each in messages if each[0] == "code"]
        assert error, (name, number, at)
        assert offered == code[name][: len(offered)], (name, number, at)


TEXTS = {
    name: "".join(delta["text"] for delta in recorded["deltas"])
    for name, recorded in REPLIES.items()
    if all("text" in each for each in recorded["deltas"])
}


def test_nothing_of_a_text_is_lost_when_it_is_cut() -> None:
    every = [(name, text, at) for name, text in TEXTS.items() for at in range(len(text))]
    for name, text, at in every:
        messages, _, rest = read(pieces([("text", None, [text[:at]])], whole=False))
        kept = "".join(each[3] for each in messages) + (rest[1] if rest else "")
        words = "".join(text[:at].split())
        assert len("".join(kept.split())) >= len(words) - _marks(text[:at]), (name, at)


def _marks(text: str) -> int:
    """The letters that are fences, language words and tags."""
    lines = [line.strip() for line in text.splitlines()]
    return sum(len(line) for line in lines if line[:3] in ("```", "~~~")) + text.count("think>") * 8


def test_code_streams_as_soon_as_its_fence_is_open() -> None:
    reply = Reply(LANGUAGES)
    assert list(reply.text("```py")) == []
    assert list(reply.text("thon\n")) == []
    assert [piece.content for piece in reply.text("x = 1")] == ["x = 1"]
    assert [piece.content for piece in reply.text("\ny = ")] == ["\ny = "]
    assert list(reply.text("\n```\n"))[-1].end is True


def test_text_is_not_held_back() -> None:
    reply = Reply(LANGUAGES)
    assert [piece.content for piece in reply.text("One")] == ["One"]
    assert [piece.content for piece in reply.text(" two\nth")] == [" two\nth"]
    assert [piece.content for piece in reply.text("ree `")] == ["ree `"]


def test_a_character_that_was_cut_in_two_is_one_and_half_of_one_is_marked() -> None:
    for say in ("text", "reasoning"):
        reply = Reply(LANGUAGES)
        cut = ["a\ud83d", "\ude00b", "\ud83d", "c", "\ude00", "\ud83d"]
        said = [piece.content for text in cut for piece in getattr(reply, say)(text)]
        said += [piece.content for piece in reply.end()]
        assert "".join(text for text in said if text) == "a\U0001f600b\ufffdc\ufffd"


UNITS = [
    *(("text", unit) for unit in ("word ", "\n", "`", " ", "~~~\n", "```markdown\n")),
    *(("text", unit) for unit in ("```python\nx\n```\n", "<think></think>\n", "\r")),
    *(("tool", unit) for unit in ("a", "\\n", "\\ud83d")),
]


@pytest.mark.parametrize(("kind", "unit"), UNITS)
def test_the_work_grows_with_the_reply_and_not_with_its_square(kind: str, unit: str) -> None:
    """Counted in lines run, which no load of the machine changes."""
    small, large = (_lines_run(kind, unit, count) for count in (1000, 4000))
    assert large < small * 5


def _lines_run(kind: str, unit: str, count: int) -> int:
    lines = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    texts = list(unit * (count // len(unit)))
    if kind == "tool":
        texts = ['{"language": "python", "code": "', *texts]
    reply = Reply(LANGUAGES)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for text in texts:
            list(reply.tool(0, "c", "execute", text) if kind == "tool" else reply.text(text))
        list(reply.cut())
    finally:
        sys.settrace(before)
    return lines
