"""The mirror: whatever happens and whatever gets lost, the panel shows the conversation."""

from __future__ import annotations

import gc
import linecache
import signal
import sys
from collections.abc import Generator
from contextlib import suppress
from functools import partial
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel_view import Records
from scripted import ScriptedModel, assert_valid, code, drive, line, picture, printed, said

from lmc_jupyter.computer import Computer
from lmc_jupyter.content.bundle import WidgetChunk
from lmc_jupyter.content.remarks import for_person
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.writer import RESTART_NOTICE
from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.frontends.panel import mirror
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.panel.records import CONSOLE_HEAD, CONSOLE_TAIL, Record
from lmc_jupyter.frontends.panel.records import Records as PanelRecords
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import WAS, Chunk, Message
from lmc_jupyter.session import Session
from lmc_jupyter.turn.questions import as_question, note

PICTURE = [printed("before\n"), picture(), picture("AAAA"), printed("after\n"), line(2)]
LINES = [line(1), printed("a"), line(2), printed("b")]
PAGE = [Chunk("computer", "code", "html", "<b>x</b>", end=True)]
WIDGETS = [
    printed("before\n"),
    *(
        WidgetChunk("computer", "console", "output", f"{of}\n", start=True, end=True, model_id=of)
        for of in ("one", "two")
    ),
    printed("after\n"),
]
OUTPUTS = [[printed("42\n")], [], [line(1)], PICTURE, LINES, PAGE, WIDGETS]


class Outputs:
    """A language whose code is the number of what it puts out."""

    name, aliases = "python", ()

    def run(self, code: str) -> Generator[Chunk, None, None]:
        yield from OUTPUTS[int(code.strip("# ")) % len(OUTPUTS)]

    def close(self) -> None: ...


class Shown:
    """A session, its mirror, and a front end that may lose batches."""

    def __init__(self, *replies: Any, auto_run: bool = False) -> None:
        self.model = ScriptedModel(*replies)
        self.session = Session(model=self.model, computer=Computer(Outputs()), auto_run=auto_run)
        self.view, self.lost = Records(), False
        self.batch = Batch(self._take)
        self.mirror = Mirror(self.session, self.batch, lambda: {"model": "m", "auto_run": False})
        self.sync()

    def _take(self, message: dict[str, Any]) -> None:
        if not self.lost:
            self.view.take(message)

    def flush(self, *, lost: bool = False) -> None:
        self.lost = lost
        self.batch.flush()
        self.lost = False

    def sync(self) -> None:
        self.begin_sync()
        while self.view.first:
            before = self.view.first
            self.ask_earlier()
            assert self.view.first < before

    def begin_sync(self) -> None:
        """What was missed; of a snapshot only the newest records."""
        if not self.batch.repeat(self.view.epoch, self.view.next):
            self.batch.snapshot(self.mirror.snapshot)

    def ask_earlier(self) -> None:
        self.batch.snapshot(partial(self.mirror.earlier, self.view.first), "earlier")

    def texts(self) -> list[str]:
        self.sync()
        return [
            each["note"] if "note" in each else each["message"]["content"]
            for each in self.view.records
        ]

    def fates(self) -> list[str]:
        return [r["fate"] for r in self.view.records if "fate" in r]

    def check(self) -> None:
        """The front end shows the conversation, and what a new one would be shown."""
        self.sync()
        said = [
            (m.role, m.type, for_person(m.content), bool(m.extra.get("partial")))
            for m in self.session.messages
            if m.content
        ]
        shown = [
            ("computer", "console", r["note"], False) if "note" in r else
            (r["message"]["role"], r["message"]["type"], r["message"]["content"],
             r.get("partial", False))
            for r in self.view.records
            if r.get("level") != "error" and ("note" in r or r["message"]["content"])
        ]  # fmt: skip
        assert shown == said
        fresh = Records()
        with self.batch.lock:
            snapshot = self.mirror.snapshot()
            fresh.take({"kind": "snapshot", "epoch": "e", "seq": 1, **snapshot})
            while fresh.first:
                earlier = self.mirror.earlier(fresh.first)
                fresh.take({"kind": "earlier", "epoch": "e", "seq": 1, **earlier})
        assert [_bare(r) for r in self.view.records] == [_bare(r) for r in fresh.records]
        assert self.view.turns == fresh.turns
        assert [turn["id"] for turn in fresh.turns] == [turn.id for turn in self.session.turns]
        assert (self.view.ask, self.view.open) == (fresh.ask, fresh.open)
        assert self.view.state["state"] == fresh.state["state"]


def _bare(record: dict[str, Any]) -> dict[str, Any]:
    """Without what only a stored message has."""
    if "message" not in record:
        return record
    message = {
        key: value
        for key, value in record["message"].items()
        if key not in ("id", "created_at", "format")
    }
    return {**record, "message": message}


texts = st.text("ab \n😀\u202e", min_size=1, max_size=8)
pieces = st.one_of(
    texts.map(said),
    st.integers(0, 5).map(lambda n: code(str(n), start=True, end=True)),
    st.integers(0, 5).map(lambda n: code(f"{n} # \u202e", start=True, end=True)),
    st.just(ModelError("the line broke")),
)
answers = st.sampled_from(
    [None, Decision(True), Decision(True, "3"), Decision(False), Decision(False, reason="no")]
)
steps = st.one_of(
    st.tuples(st.just("ask"), texts, st.lists(answers, max_size=4)),
    st.tuples(st.just("some"), texts, st.integers(0, 9)),
    st.tuples(st.just("attach"), texts, st.lists(answers, max_size=2)),
    st.tuples(st.sampled_from(["retry", "edit"]), st.integers(0, 4), st.lists(answers, max_size=2)),
    st.tuples(st.sampled_from(
        ["undo", "reset", "flush", "lose", "sync", "earlier", "resume", "assign"]
    )),
)  # fmt: skip


@given(
    st.lists(st.lists(pieces, max_size=4), max_size=12),
    st.lists(steps, max_size=10),
    st.booleans(),
    st.sampled_from([1, 3, mirror.NEWEST]),
)
def test_whatever_happens_and_is_lost_the_front_end_shows_the_conversation(
    replies, doing, auto_run, newest
):
    with mock.patch.multiple(mirror, NEWEST=newest, EARLIER=newest):
        it = Shown(*replies, auto_run=auto_run)
        for what, *more in doing:
            try:
                _do(it, what, *more)
            except LMCError:
                it.flush()
        it.check()
    assert_valid(it.session.messages)


def _do(it: Shown, what: str, *more: Any) -> None:
    session = it.session
    image = {"role": "user", "type": "image", "format": "base64.png", "content": "AAAA"}
    if what == "ask":
        text = more[0] if more[0].strip() else "x"
        drive(session.ask(text), *more[1])
    elif what == "attach":
        drive(session.ask(f"x{more[0]}", attachments=[image]), *more[1])
    elif what == "some":  # a reply that is closed in the middle
        reply = session.ask("x")
        for _, _ in zip(range(more[1]), reply, strict=False):
            it.flush(lost=len(more[0]) % 2 == 0)
        reply.close()
    elif what in ("retry", "edit"):
        turns = session.turns
        if turns:
            turn = turns[more[0] % len(turns)]
            again = session.retry(turn) if what == "retry" else session.edit(turn, "other")
            drive(again, *more[1])
    elif what == "resume":
        drive(session.ask())
    elif what == "assign":
        session.messages = session.messages[: len(session.messages) // 2]
    elif what in ("undo", "reset"):
        getattr(session, what)()
    elif what in ("flush", "lose"):
        it.flush(lost=what == "lose")
    elif what == "earlier":
        it.ask_earlier()
    else:
        it.begin_sync()


# One by one ---------------------------------------------------------------------------------------


def test_of_a_long_conversation_the_newest_records_come_first_from_a_question_on(monkeypatch):
    monkeypatch.setattr(mirror, "NEWEST", 3)
    monkeypatch.setattr(mirror, "EARLIER", 4)
    it = Shown()
    image = Message("user", "image", "base64.png", "AAAA")
    messages = [
        message
        for turn in range(4)
        for message in (
            image,
            Message("user", "message", None, f"question {turn}"),
            Message("assistant", "message", None, f"answer {turn}"),
        )
    ]
    it.session.conversation.take(Conversation(messages=messages))
    it.flush()
    assert (it.view.first, len(it.view.records)) == (9, 12)
    firsts = []
    while it.view.first:
        it.ask_earlier()
        firsts.append(it.view.first)
    assert firsts == [3, 0]
    assert it.texts() == [message.content for message in it.session.messages]
    assert it.mirror.snapshot()["first"] == 9
    for nonsense in (-1, 13, "7", None):
        assert it.mirror.earlier(nonsense)["first"] == 6, "it is as if all are before it"


def test_one_long_turn_is_not_cut(monkeypatch):
    monkeypatch.setattr(mirror, "NEWEST", 1)
    it = Shown(*([code("0", end=True)] for _ in range(3)), [said("ok")], auto_run=True)
    drive(it.session.ask("Go."))
    assert it.mirror.snapshot()["first"] == 0


def test_a_turn_that_goes_on_from_a_result_without_output_is_shown():
    it = Shown([code("0", start=True, end=True)], [said("Done.")], auto_run=True)
    reply = it.session.ask("x")
    for chunk in reply:
        if chunk.type == "console":
            break
    reply.close()
    drive(it.session.ask())
    it.check()


def test_a_turn_as_it_is_told():
    it = Shown([said("Hi."), code("0", end=True)], [said("Done.")])
    reply = it.session.ask("Go.")
    states = []
    answer = None
    while True:
        try:
            chunk = reply.send(answer)
        except StopIteration:
            break
        it.flush()
        states.append(it.view.state["state"])
        answer = Decision(True) if chunk.type == "confirmation" else None
    it.flush()
    states.append(it.view.state["state"])
    assert list(dict.fromkeys(states)) == ["thinking", "writing", "waiting", "running", "done"]
    assert it.fates() == ["ran"]
    assert it.texts() == ["Go.", "Hi.", "0", "42\n", "Done."]
    [turn] = it.view.turns
    assert (turn["at"], turn["where"], turn["over"], turn["requests"]) == (0, "cell", True, 0)


@pytest.mark.parametrize(
    ("answer", "fate"),
    [(Decision(True), "ran"), (Decision(True, "2"), "edited"), (Decision(False), "not run"),
     (None, "not run")],
)  # fmt: skip
def test_the_fate_of_a_block(answer, fate):
    it = Shown([code("0", end=True)], [said("ok")])
    drive(it.session.ask("Go."), answer)
    it.flush()
    assert it.fates() == [fate]
    it.check()


def test_a_declined_block_is_not_run_also_in_a_panel_that_comes_later():
    it = Shown([code("0", end=True)], [code("1", end=True)], [said("ok")])
    reply = it.session.ask("Go.")
    answers = iter([Decision(False), Decision(True)])
    answer = None
    with suppress(StopIteration):
        while True:
            chunk = reply.send(answer)
            answer = next(answers) if chunk.type == "confirmation" else None
    it.mirror.close()
    it.mirror = Mirror(it.session, it.batch, dict)  # as after a restart of the kernel
    it.view = Records()
    it.sync()
    assert it.fates() == ["not run", "ran"]
    assert it.view.records[2] == {"note": "Not run: you declined it.", "level": "info"}


def test_the_limit_of_replies_is_a_notice_and_nothing_that_code_has_printed():
    it = Shown([code("0", end=True)])
    it.session.max_turns = 1
    drive(it.session.ask("Go."), Decision(True))
    it.check()
    text = it.session.messages[-1].content
    assert text.startswith("Stopped after 1 replies and 1 blocks")
    assert it.view.records[-1] == {"note": text, "level": "info"}


def test_a_program_that_prints_such_a_sentence_has_printed_it():
    text = "This code was not run: the user declined."
    OUTPUTS.append([printed(text)])
    try:
        it = Shown([code(str(len(OUTPUTS) - 1), end=True)], [said("ok")])
        drive(it.session.ask("Go."), Decision(True))
    finally:
        OUTPUTS.pop()
    it.sync()
    assert it.view.records[2]["message"]["content"] == text
    it.session.history.mark(2, {"seconds": 7.0})
    batch = Batch((later := Records()).take)
    batch.snapshot(Mirror(it.session, batch, dict).snapshot)  # as after a restart of the kernel
    assert later.records[2]["message"]["content"] == text
    assert later.records[1]["fate"] == "ran"


def test_what_became_of_code_is_not_made_up_where_no_journal_says_it():
    it = Shown([code("0", end=True)], [code("1", end=True)], [said("ok")], auto_run=True)
    drive(it.session.ask("Go."))
    here = Records()
    batch = Batch(here.take)
    batch.snapshot(Mirror(it.session, batch, dict).snapshot)
    codes = [each for each in here.records if each.get("message", {}).get("type") == "code"]
    assert [each["fate"] for each in codes] == ["ran unasked"] * 2
    later = Session(model=ScriptedModel())
    later.messages = it.session.messages  # as from a file of somebody
    there = Records()
    batch = Batch(there.take)
    batch.snapshot(Mirror(later, batch, dict).snapshot)
    codes = [each for each in there.records if each.get("message", {}).get("type") == "code"]
    assert len(codes) == 2
    assert all("fate" not in each for each in codes)


def test_that_the_kernel_was_restarted_is_a_notice_and_nothing_that_code_has_printed():
    it = Shown([said("One.")])
    drive(it.session.ask("Go."))
    it.session.history.append(note(RESTART_NOTICE))
    it.flush()
    live = it.view.records
    it.mirror.close()
    it.mirror = Mirror(it.session, it.batch, dict)  # as after the next restart
    it.view = Records()
    it.sync()
    assert live[2:] == it.view.records[2:] == [{"note": RESTART_NOTICE, "level": "info"}]


def test_what_policy_allows_ran_unasked_and_what_it_denies_did_not():
    it = Shown([code("0", end=True)], [code("1", end=True)], [said("ok")], auto_run=True)
    reply = it.session.ask("Go.")
    for chunk in reply:
        if chunk.end and chunk.role == "computer":
            it.session.deny = ("python",)
            break
    drive(reply)
    it.flush()
    assert it.fates() == ["ran unasked", "not run"]


def test_a_panel_that_comes_in_the_middle_of_an_answer_has_all_of_it_in_the_end():
    it = Shown([said("a"), said("b"), code("0", end=True)], [said("c")], auto_run=True)
    reply = it.session.ask("Go.")
    next(reply)
    next(reply)
    late = Records()
    batch = Batch(late.take)
    mirror = Mirror(it.session, batch, dict)
    batch.snapshot(mirror.snapshot)
    assert late.state["state"] == "thinking"
    drive(reply)
    batch.flush()
    assert [r["message"]["content"] for r in late.records] == ["Go.", "ab", "0", "42\n", "c"]


def test_a_panel_that_comes_after_a_failure_says_what_it_was():
    session = Session(model=ScriptedModel([ModelError("there is no key for x")]))
    with suppress(ModelError):
        drive(session.ask("Go."))
    late = Records()
    batch = Batch(late.take)
    mirror = Mirror(session, batch, dict)
    batch.snapshot(mirror.snapshot)
    assert late.records[-1]["level"] == "error"
    assert "no key for x" in late.records[-1]["note"]


def test_the_line_that_runs_is_in_a_snapshot():
    it = Shown([code("4", end=True)], [said("ok")], auto_run=True)
    reply = it.session.ask("Go.")
    for chunk in reply:
        if chunk.format == "active_line" and chunk.content == 2:
            break
    fresh = Records()
    it._take = fresh.take
    it.batch._send = fresh.take
    it.batch.snapshot(it.mirror.snapshot)
    assert fresh.line == 2
    assert fresh.open
    reply.close()
    it.batch.flush()
    assert fresh.state["state"] == "stopped"
    assert fresh.records[1]["fate"] == "stopped"


def test_output_of_stopped_code_does_not_say_so_again_and_a_later_panel_knows_it():
    stop = "It was at line 3.\nKeyboardInterrupt\n"
    OUTPUTS.append([printed("begun\n"), printed(stop)])
    try:
        it = Shown([code(str(len(OUTPUTS) - 1), end=True)], auto_run=True)
        reply = it.session.ask("Go.")
        for chunk in reply:
            if chunk.content == stop:
                break
        reply.close()
    finally:
        OUTPUTS.pop()
    it.sync()
    assert it.session.messages[-1].content == f"begun\n{stop}"
    assert it.texts()[-1] == "begun\n"
    fresh, later = Records(), Records()
    it.batch._send = fresh.take
    it.batch.snapshot(it.mirror.snapshot)
    assert [_bare(each) for each in fresh.records] == [_bare(each) for each in it.view.records]
    batch = Batch(later.take)
    batch.snapshot(Mirror(it.session, batch, dict).snapshot)  # as after a restart of the kernel
    assert later.records[-1]["message"]["content"] == "begun\n"
    assert later.records[-2]["fate"] == "stopped"
    assert "failed" not in later.records[-2]
    assert later.records[-2]["seconds"] == it.session.messages[-1].extra["seconds"]


def test_the_values_of_names_in_a_question_are_apart_from_the_persons_words():
    question = as_question("What is in @df, \U0001f600?", {"df": "   n\n0  \U0001f600"}.get)
    wire = Record.of(question).wire(question.content)
    assert wire["message"]["content"] == "What is in @df, \U0001f600?"
    assert wire["values"].startswith("The values of these variables")
    assert "0  \U0001f600" in wire["values"]
    plain = as_question("Why?", {}.get)
    assert "values" not in Record.of(plain).wire(plain.content)


def test_a_long_console_of_a_snapshot_has_its_head_and_its_tail():
    it = Shown()
    text = "".join(f"{n}\n" for n in range(20_000))
    it.session.messages = [{"role": "computer", "type": "console", "format": "output",
                            "content": text}]  # fmt: skip
    it.batch._sent.clear()
    it.view.next = -1
    it.sync()
    [record] = it.view.records
    assert record["message"]["content"] == text[:CONSOLE_HEAD]
    assert record["tail"] == text[-CONSOLE_TAIL:]
    assert record["cut"] == len(text) - CONSOLE_HEAD - CONSOLE_TAIL
    assert it.mirror.whole_text(0) == text
    for wrong in (1, -1, None, "0"):
        with pytest.raises(LMCError, match="no message number"):
            it.mirror.whole_text(wrong)


def test_what_goes_on_the_wire_is_plain_data_whatever_a_stored_message_carries():
    it = Shown()
    hello = {"role": "user", "type": "message", "content": "x"}
    it.session.messages = [{**hello, "created_at": object(), "anything": object()}]
    with it.batch.lock:
        [record] = it.mirror.snapshot()["records"]
    assert set(record["message"]) == {"role", "type", "content", "id", "created_at"}
    assert all(isinstance(value, str) for value in record["message"].values())


def test_notes_of_the_model_are_sentences_beside_the_state():
    it = Shown()
    it.mirror.show_progress("loading LiteLLM")
    assert it.texts() == []
    assert it.view.state["note"] == "Loading LiteLLM…"
    it.mirror.show_progress("")
    it.sync()
    assert it.view.state["note"] == ""


# HTML that is shown -------------------------------------------------------------------------------


def page_marks(shown):
    shown.sync()
    messages = [r for r in shown.view.records if "message" in r]
    return [r.get("page") for r in messages if r["message"].get("format") == "html"]


def test_a_page_that_is_waited_for_is_marked_before_it_is_whole():
    shown = Shown([code("5", end=True)], [said("ok")], auto_run=True)
    marked: list[Any] = []
    with shown.mirror.driving(lambda text: text == "<b>x</b>"):
        for chunk in shown.session.ask("Go.", where="panel"):
            if (chunk.role, chunk.type, chunk.end) == ("computer", "code", True):
                marked.append(page_marks(shown))
                at = len(shown.view.records) - 1
                assert shown.mirror.page(at) == "<b>x</b>"
                shown.mirror.page_heard(at)
                assert shown.mirror.page(0) is None
                assert shown.mirror.page("1") is None
    assert marked == [["awaited"]]
    assert page_marks(shown) == ["heard"]
    shown.check()


def test_a_page_that_was_not_heard_is_waited_for_no_longer():
    shown = Shown([code("5", end=True)], [said("ok")], auto_run=True)
    with shown.mirror.driving(lambda _: True):
        drive(shown.session.ask("Go.", where="panel"))
    assert page_marks(shown) == [None]
    shown.check()


def test_what_a_page_in_a_cell_said_stands_there_or_behind_it():
    shown = Shown([code("5", end=True)], [said("ok")], auto_run=True)
    drive(shown.session.ask("Go."))
    assert page_marks(shown) == ["heard"]
    messages = [
        {"role": "computer", "type": "code", "format": "html", "content": "1"},
        {"role": "computer", "type": "console", "format": "output", "content": "error"},
        {"role": "computer", "type": "code", "format": "html", "content": "2"},
    ]
    shown.session.messages = messages
    assert page_marks(shown) == ["heard", None]
    shown.check()


def test_a_widget_is_a_mark_on_its_text_and_nothing_of_the_conversation():
    shown = Shown([code("6", end=True)], [said("ok")], auto_run=True)
    drive(shown.session.ask("Go."))
    shown.check()
    fresh = Records()
    fresh.take({"kind": "snapshot", "epoch": "e", "seq": 0, **shown.mirror.snapshot()})
    for view in (shown.view, fresh):
        consoles = [r for r in view.records if r["message"]["type"] == "console"]
        assert [(r["message"]["content"], r.get("widget")) for r in consoles] == [
            ("before\n", None),
            ("one\n", "one"),
            ("two\n", "two"),
            ("after\n", None),
        ]
    assert not any("widget" in str(m.to_dict()) for m in shown.session.messages)
    shown.session.messages = [m.to_dict() for m in shown.session.messages]  # as from a file
    shown.check()
    shown.session.undo()
    shown.check()


# Another conversation -----------------------------------------------------------------------------

OTHER = [
    {"role": "user", "type": "message", "content": "Another?"},
    {"role": "assistant", "type": "message", "content": "Yes.", "id": "a1"},
]


def test_another_conversation_comes_in_one_event_and_nothing_of_before_stays():
    shown = Shown([said("One.")], [said("Two.")])
    drive(shown.session.ask("First?"))
    shown.mirror.note("A note.")
    shown.flush()
    told: list[Any] = []
    take = shown.view.take

    def hear(message: dict[str, Any]) -> None:
        told.extend(message["events"])
        take(message)

    shown.view.take = hear  # type: ignore[method-assign]
    shown.session.messages = OTHER
    shown.flush()
    assert [next(iter(event)) for event in told] == ["replaced", "state"]
    assert [r["message"]["content"] for r in shown.view.records] == ["Another?", "Yes."]
    assert shown.view.turns == []
    drive(shown.session.ask("And now?"))
    assert shown.texts() == ["Another?", "Yes.", "And now?", "Two."]
    assert [turn["at"] for turn in shown.view.turns] == [2]


def test_who_missed_that_gets_it_too():
    shown = Shown([said("One.")])
    drive(shown.session.ask("First?"))
    shown.flush(lost=True)
    shown.session.messages = OTHER
    shown.flush(lost=True)
    assert shown.texts() == ["Another?", "Yes."]


def test_what_is_taken_back_at_the_end_is_not_another_conversation():
    shown = Shown([said("One.")], [said("Two.")])
    drive(shown.session.ask("First?"))
    drive(shown.session.ask("Second?"))
    shown.flush()
    first = shown.view.records[0]
    shown.session.undo()
    assert shown.texts() == ["First?", "One."]
    assert shown.view.records[0] is first


# Thumbs -------------------------------------------------------------------------------------------


def test_a_thumb_is_marked_and_can_be_taken_back():
    shown = Shown([said("One.")])
    drive(shown.session.ask("First?"))
    answer = shown.session.messages[1]
    assert shown.mirror.answer_id(1) == answer.id
    shown.flush()
    for feedback in ("up", "down", None):
        shown.session.rate(answer.id, feedback)
        shown.flush()
        assert shown.view.records[1]["feedback"] == feedback
    assert "feedback" not in shown.view.records[0]


def test_a_thumb_that_is_kept_is_shown_and_anything_else_is_not():
    shown = Shown()
    shown.session.messages = [
        OTHER[0],
        {**OTHER[1], "feedback": "up"},
        {**OTHER[1], "id": "a2", "feedback": "<b>"},
    ]
    shown.texts()
    assert [r.get("feedback") for r in shown.view.records] == [None, "up", None]


@pytest.mark.parametrize("at", [0, 7, -1, None, "1"])
def test_what_is_no_answer_is_not_rated(at):
    shown = Shown([said("One.")])
    drive(shown.session.ask("First?"))
    with pytest.raises(LMCError, match="no answer that can be rated"):
        shown.mirror.answer_id(at)


def test_the_title_is_told_with_the_first_question():
    shown = Shown([said("One.")])
    shown.mirror._settings = lambda: {"title": shown.session.journal.title}
    drive(shown.session.ask("First?"))
    shown.flush()
    assert shown.view.settings == {"title": "First?"}


def test_a_ctrl_c_in_the_midst_of_an_event_leaves_the_panel_in_step():
    for number in range(0, 700, 7):
        shown, left = Shown([said("One "), code("0")], [said("Two")], [said("Three")]), [number]

        def trace(frame: Any, event: str, _: Any, left: list[int] = left) -> Any:
            if frame.f_code.co_filename != MIRROR:
                return None
            text = linecache.getline(MIRROR, frame.f_lineno).lstrip()
            if event == "line" and not text.startswith("with "):
                left[0] -= 1
                if left[0] < 0:
                    sys.settrace(None)
                    signal.raise_signal(signal.SIGINT)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with suppress(KeyboardInterrupt):
                drive(shown.session.ask("First?"), Decision(True))
        finally:
            sys.settrace(before)
        drive(shown.session.ask("Last?"), Decision(True))
        texts = [for_person(m.content) for m in shown.session.messages if m.content]
        assert [each for each in shown.texts() if each] == texts, number


MIRROR = sys.modules[Mirror.__module__].__file__ or ""


def test_what_a_reader_of_a_file_changed_is_marked_so_that_no_view_takes_it_for_a_thought():
    refusal = Message("assistant", "message", None, "No.", "user", extra={WAS: {"type": "refusal"}})
    assert Record.of(refusal).wire("No.")["message"]["was"] is True
    thought = Message("assistant", "message", None, "Hm.", "user")
    assert "was" not in Record.of(thought).wire("Hm.")["message"]


def calls_to_show(count: int) -> int:
    """How many calls of Python it takes to show so many messages."""
    words = [Message("user", "message", content=f"{n}", id=f"m{n}") for n in range(count)]
    records, calls = PanelRecords(Batch(lambda _: None)), 0

    def note_call(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    gc.disable()  # what it calls would be counted
    sys.setprofile(note_call)
    try:
        records.show(words, [])
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def test_a_conversation_of_twice_the_length_takes_twice_the_work_to_show():
    assert calls_to_show(400) < 2.1 * calls_to_show(200)
