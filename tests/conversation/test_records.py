"""Each kind of line of a journal, what it does to the conversation, and which lines say nothing."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

import pytest

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.conversation import (
    Action,
    BlockRecord,
    Conversation,
    RequestRecord,
    TurnRecord,
    records,
)
from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.lmc import PARTIAL, Message

HEAD = {"kind": "head", "version": records.VERSION, "id": "i"}
FIRST = Message("user", "message", None, "First?", id="a", extra={"mine": 1})
CODE = Message("assistant", "code", "python", "print(1)", id="b")
EMPTY = Message("computer", "console", "output", "", id="c", extra={PARTIAL: True})
BLOCK = {"kind": "block", "message": "b", "time": "now", "fate": "ran", "allowed": "clicked"}
NAMES = {"kind": "names", "new": ["x"], "changed": ["y"], "removed": ["z"], "breach": "wrote"}
READ = {"kind": "read", "files": [{"path": "/a", "size": 3, "sha256": "f0"}]}
TURN = {
    "kind": "turn", "where": "cell", "model": "m", "seconds": 1.5, "said": ["a"], "anchor": "b",
    "requests": [[7, 2, 0.5, 1, 4, 6]], "left_out": "The first.", "cost": 0.5,
}  # fmt: skip
FAR = 1 << 53


def message_line(message: Message) -> dict:
    return {"kind": "message", "message": message.to_dict()}


def folded(*lines: dict) -> records.Fold:
    """What these lines behind a head give; each of them says something."""
    data = b"".join(map(records.line, [HEAD, *lines]))
    fold, good = records.fold(data)
    assert good == len(data), f"line {fold.n} says nothing"
    assert fold.n == 1 + len(lines)
    return fold


# Lines and values ---------------------------------------------------------------------------------


class Rude:
    def __str__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({"a": [1, "é"]}, '{"a":[1,"é"]}\n'.encode()),
        ({"a": "\ud83d", "b": "é"}, b'{"a":"\\ud83d","b":"\\u00e9"}\n'),
        ({"a": PurePosixPath("/x")}, b'{"a":"/x"}\n'),
        ({"a": "\ud83d", "b": PurePosixPath("/x")}, b'{"a":"\\ud83d","b":"/x"}\n'),
    ],
)
def test_a_line_is_short_json_in_utf_8(record, line):
    assert records.line(record) == line
    (body, end), *more = records.lines(line)
    assert (end, more) == (len(line), [])
    assert json.loads(body) == records.value(body)


def test_an_object_whose_text_fails_is_a_sentence_that_names_its_class():
    text = json.loads(records.line({"a": Rude()}))["a"]
    assert "Rude" in text
    assert "ValueError" in text
    assert text == records.as_text(Rude())


def test_lines_are_whole_and_those_of_version_1_lose_their_sums():
    older = b'{"crc":123,"rec":{"b":2}}\n'
    data = b'{"a":1}\n' + older + b'{"c":3}\n{"half":'
    bodies = [(b'{"a":1}', 8), (b'{"b":2}', 34), (b'{"c":3}', 42)]
    assert [*records.lines(data)] == bodies
    assert [*records.lines(b"")] == []


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"1 2"])
def test_what_cannot_be_read_has_no_value(body):
    assert records.value(body) is None


def test_half_a_surrogate_pair_is_a_value():
    assert records.value('{"a":"\ud83d"}'.encode("utf-8", "surrogatepass")) == {"a": "\ud83d"}


# What each kind does ------------------------------------------------------------------------------


def test_a_head_says_what_the_conversation_is():
    head = {**HEAD, "title": "T", "model": "m", "began": "b", "notebook": "n.ipynb", "cost": 2}
    fold, good = records.fold(records.line(head))
    found = fold.conversation
    assert good == len(records.line(head))
    assert (found.title, found.model, found.began, found.notebook) == ("T", "m", "b", "n.ipynb")
    assert (fold.cost, fold.n, fold.last_change) == (2.0, 1, 0)
    short = folded().conversation
    assert (short.title, short.model, short.began, short.notebook) == ("", "", "", "")
    assert records.Fold().take({**HEAD, "version": 1}), "an older version is read"


def test_messages_come_change_and_go():
    lines = [message_line(each) for each in (FIRST, CODE, EMPTY)]
    fold = folded(*lines)
    assert fold.messages == [FIRST, CODE, EMPTY]
    assert fold.conversation.messages is fold.messages
    assert fold.last_change == 3
    instead = {"kind": "instead", "at": 1, "message": FIRST.to_dict()}
    fold = folded(*lines, instead, {"kind": "title", "title": "T"})
    assert fold.messages == [FIRST, FIRST, EMPTY]
    assert (fold.last_change, fold.conversation.title) == (4, "T")
    fold = folded(*lines, {"kind": "back", "to": 3})
    assert (fold.messages, fold.last_change) == ([FIRST, CODE, EMPTY], 4)
    assert folded(*lines, {"kind": "back", "to": 0}).messages == []


def test_what_a_person_did_goes_with_the_messages_before_it():
    events = [{"kind": "event", "at": at, "data": {"action": f"{at}"}} for at in (0, 1, 2)]
    lines = [message_line(FIRST), message_line(CODE), *events]
    fold = folded(*lines)
    assert fold.events == [Action(at, {"action": f"{at}"}) for at in (0, 1, 2)]
    assert fold.conversation.events is fold.events
    assert [each.at for each in folded(*lines, {"kind": "back", "to": 1}).events] == [0, 1]


def test_keys_are_marked_and_taken_away_on_the_last_message_with_the_id():
    lines = [message_line(FIRST), message_line(CODE)]
    mark = {"kind": "mark", "id": "a", "set": {"feedback": "up", "mine": None}}
    fold = folded(*lines, mark)
    assert fold.messages[0].extra == {"feedback": "up"}
    assert fold.messages[0].content == "First?"
    assert fold.last_change == 2, "the list is the same"
    assert folded(*lines, {**mark, "id": "gone"}).messages == [FIRST, CODE]
    assert records.place([FIRST, CODE, FIRST], "a") == 2
    assert records.place([FIRST, CODE], "a") == 0
    assert records.place([FIRST], "b") is None


def test_a_turn_says_what_it_took_and_which_model_is_used():
    fold = folded(TURN, {"kind": "turn", "model": "m2", "cost": 0.25}, {"kind": "turn"})
    request = RequestRecord(7, 2, 0.5, 1.0, 4, 6)
    assert fold.turns == [TurnRecord("cell", "m", 1.5, ("a",), "b", (request,), "The first.")]
    assert fold.conversation.turns is fold.turns
    assert (fold.cost, fold.conversation.model) == (0.75, "m2")
    agent = {**TURN, "where": "agent", "model": "Claude Code"}
    assert folded(TURN, agent).conversation.model == "m", "an agent is no model"
    nothing = {**TURN, "anchor": None, "requests": [[None, None, None, 0]], "said": []}
    [turn] = folded(nothing).turns
    assert (turn.anchor, turn.said, turn.requests) == (
        None, (), (RequestRecord(None, None, None, 0.0, None, None),)
    )  # fmt: skip


@pytest.mark.parametrize("cost", [None, True, -0.1, FAR, float("nan"), float("inf"), "1"])
def test_a_price_that_is_none_is_not_counted(cost):
    assert folded({"kind": "turn", "cost": cost}).cost is None
    assert folded({"kind": "turn", "cost": 0}, {"kind": "turn", "cost": cost}).cost == 0.0


def test_what_became_of_blocks_is_said_of_the_last_one():
    fold = folded(BLOCK, NAMES, {**BLOCK, "fate": "stopped", "seconds": 2.5}, READ)
    assert fold.conversation.blocks is fold.blocks
    first, last = fold.blocks
    named = {"new": ("x",), "changed": ("y",), "removed": ("z",), "breach": "wrote"}
    assert first == BlockRecord("b", "now", "ran", "clicked", **named)
    read = (FileRead("/a", 3, "f0"),)
    assert last == BlockRecord("b", "now", "stopped", "clicked", seconds=2.5, read=read)
    [both] = folded(BLOCK, NAMES, READ).blocks
    assert (both.new, both.read) == (("x",), (FileRead("/a", 3, "f0"),))


def test_what_went_to_a_model_and_what_other_formats_said_is_kept():
    fold = folded(
        {"kind": "sent", "data": {"a": 1}}, {"kind": "extra", "extra": {"glm": {"b": 2}}},
        {"kind": "extra", "extra": {"lmc": {}}},
    )  # fmt: skip
    assert fold.sent == [{"a": 1}]
    assert fold.conversation.sent is fold.sent
    assert fold.conversation.extra == {"lmc": {}}


# Lines that say nothing ---------------------------------------------------------------------------

MESSAGE = message_line(FIRST)
NOTHING = {
    "no dict": [5],
    "no kind": [{}],
    "kind that is no text": [{"kind": ["a"]}],
    "unknown kind": [{"kind": "robot"}],
    "second head": [HEAD],
    "message without content": [{"kind": "message", "message": {"role": "user"}}],
    "message with an id that is no text": [message_line(FIRST) | {"message": {
        **FIRST.to_dict(), "id": 5}}],
    "place behind the end": [MESSAGE, {**MESSAGE, "kind": "instead", "at": 1}],
    "place that is no number": [MESSAGE, {**MESSAGE, "kind": "instead", "at": True}],
    "place before the beginning": [MESSAGE, {**MESSAGE, "kind": "instead", "at": -1}],
    "back further than the end": [MESSAGE, {"kind": "back", "to": 2}],
    "back to nowhere": [MESSAGE, {"kind": "back", "to": 0.0}],
    "mark of no text": [MESSAGE, {"kind": "mark", "id": 5, "set": {}}],
    "mark that is a list": [MESSAGE, {"kind": "mark", "id": "a", "set": [1]}],
    "mark that changes the role": [MESSAGE, {"kind": "mark", "id": "a", "set": {"role": "robot"}}],
    "mark that changes the text": [MESSAGE, {"kind": "mark", "id": "a", "set": {"content": 5}}],
    "event without data": [{"kind": "event", "at": 0}],
    "event far away": [{"kind": "event", "at": FAR, "data": {}}],
    "event with a list": [{"kind": "event", "at": 0, "data": [1]}],
    "title that is no text": [{"kind": "title", "title": None}],
    "turn with a model that is no text": [{"kind": "turn", "model": 5}],
    "turn without a place": [{key: value for key, value in TURN.items() if key != "where"}],
    "turn that took nothing": [{**TURN, "seconds": None}],
    "turn that took yes": [{**TURN, "seconds": True}],
    "turn that took for ever": [{**TURN, "seconds": FAR}],
    "turn that took infinity": [{**TURN, "seconds": float("inf")}],
    "turn with an anchor that is no text": [{**TURN, "anchor": 5}],
    "request with too little": [{**TURN, "requests": [[1, 2, 3]]}],
    "request with one more": [{**TURN, "requests": [[1, 2, 3, 4, 5]]}],
    "request with minus tokens": [{**TURN, "requests": [[-1, 2, 3, 4]]}],
    "request with half a token": [{**TURN, "requests": [[1, 2.5, 3, 4]]}],
    "request with a price that is no number": [{**TURN, "requests": [[1, 2, "3", 4]]}],
    "request with a cache that is no number": [{**TURN, "requests": [[1, 2, 3, 4, "5", 6]]}],
    "request with an estimate that is no number": [{**TURN, "requests": [[1, 2, 3, 4, 5, "6"]]}],
    "block without a fate": [{key: value for key, value in BLOCK.items() if key != "fate"}],
    "block with a number": [{**BLOCK, "allowed": 5}],
    "block that took less than nothing": [{**BLOCK, "seconds": -1}],
    "names of no block": [NAMES],
    "names that are numbers": [BLOCK, {**NAMES, "new": [1]}],
    "names without a breach": [BLOCK, {key: NAMES[key] for key in ("kind", "new", "changed")}],
    "files of no block": [READ],
    "file without a sum": [BLOCK, {"kind": "read", "files": [{"path": "/a", "size": 3}]}],
    **{
        f"file of {size} bytes": [
            BLOCK, {"kind": "read", "files": [{"path": "/a", "size": size, "sha256": "f0"}]}
        ]
        for size in (float("inf"), float("nan"), -1, 1.5, "5", True, FAR)
    },
    "sent that is no dict": [{"kind": "sent", "data": 5}],
    "extra that is no dict": [{"kind": "extra", "extra": "x"}],
}  # fmt: skip


@pytest.mark.parametrize("lines", NOTHING.values(), ids=NOTHING)
def test_a_line_that_says_nothing_changes_nothing_and_is_the_end(lines):
    *good, bad = lines
    before = folded(*good)
    data = b"".join(map(records.line, [HEAD, *good, bad, {"kind": "title", "title": "behind"}]))
    fold, length = records.fold(data)
    assert data[:length] == b"".join(map(records.line, [HEAD, *good]))
    assert (fold.n, fold.last_change, fold.cost) == (before.n, before.last_change, before.cost)
    assert fold.conversation == before.conversation


@pytest.mark.parametrize(
    "head", [{"version": 0}, {"version": 3}, {"id": 5}, {"title": 5}, {"kind": "message"}]
)
def test_a_file_begins_with_a_head(head):
    fold, good = records.fold(records.line({**HEAD, **head}))
    assert (fold.n, good) == (0, 0)


def test_an_id_that_is_no_text_is_named():
    with pytest.raises(ProtocolError, match=r"'id'.*\{'a': 1\}"):
        records.message({**FIRST.to_dict(), "id": {"a": 1}})


# The unfinished message ---------------------------------------------------------------------------


def part(fold: records.Fold, *lines: object) -> Message | None:
    return records.part(b"".join(map(records.line, lines)), fold)


def test_an_unfinished_message_has_the_pieces_up_to_the_first_that_is_no_text():
    fold = folded(message_line(FIRST))
    head = records.part_head(2, CODE)
    assert head == {"n": 2, "head": {"role": "assistant", "type": "code", "format": "python",
                                     "id": "b"}}  # fmt: skip
    found = part(fold, head, "x = ", "1", 5, "2")
    assert found == Message("assistant", "code", "python", "x = 1", id="b", extra={PARTIAL: True})
    assert part(fold, head) is None, "of which nothing has come"
    assert part(fold, records.part_head(1, CODE), "x") is None, "it stands in the messages"
    for wrong in ([], {}, {"n": 2}, {"n": 2, "head": 5}, {"n": "2", "head": head["head"]},
                  {"n": 2, "head": {"role": "robot"}}):  # fmt: skip
        assert part(fold, wrong, "x") is None
    assert part(fold) is None


def test_output_takes_the_place_of_the_empty_one_and_all_else_comes_behind():
    output = Message("computer", "console", "output", "1")
    for last, more, result in (
        (EMPTY, output, [output]),
        (EMPTY, CODE, [EMPTY, CODE]),
        (output, output, [output, output]),
    ):
        messages = [last]
        records.add_part(messages, more)
        assert messages == result
    nothing: list[Message] = []
    records.add_part(nothing, output)
    assert nothing == [output]


def test_what_stands_for_output_is_empty_and_unfinished():
    assert records.is_empty_result(EMPTY)
    for other in (
        Message("computer", "console", "output", ""),
        EMPTY.marked(**{PARTIAL: False}),
        Message("computer", "console", "output", "1", extra={PARTIAL: True}),
        Message("assistant", "code", "python", "", extra={PARTIAL: True}),
    ):
        assert not records.is_empty_result(other)


# A whole conversation -----------------------------------------------------------------------------


def test_the_records_of_a_conversation_give_it_back():
    events = [Action(at, {"action": f"{n}"}) for n, at in enumerate((3, 0, 1, 1))]
    conversation = Conversation(
        [FIRST, CODE, EMPTY], events=events, extra={"glm": {"a": 1}}, sent=[{"b": 2}, {"c": 3}]
    )
    lines = [*records.whole(conversation, {"id": "i", "title": "T"})]
    kinds = [each["kind"] for each in lines]
    assert kinds == [
        "head", "event", "message", "event", "event", "message", "message", "event",
        "extra", "sent", "sent",
    ]  # fmt: skip
    assert lines[0] == {"kind": "head", "version": records.VERSION, "id": "i", "title": "T"}
    fold, _ = records.fold(b"".join(map(records.line, lines)))
    assert fold.n == len(lines)
    assert fold.conversation.title == "T"
    assert fold.messages == [FIRST, CODE, EMPTY]
    assert fold.events == [events[1], events[2], events[3], events[0]]
    assert fold.conversation.extra == {"glm": {"a": 1}}
    assert fold.sent == [{"b": 2}, {"c": 3}]
    assert [each["kind"] for each in records.whole(Conversation(), {"id": "i"})] == ["head"]
    early = Conversation([FIRST, CODE], events=[Action(0, {})])
    kinds = [each["kind"] for each in records.whole(early, {"id": "i"})]
    assert kinds == ["head", "event", "message", "message"]
