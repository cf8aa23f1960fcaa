"""The answers of a session, without one: one at a time, told before shown, none after a stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from scripted import (
    EchoComputer,
    Endless,
    PreparedComputer,
    ScriptedModel,
    code,
    drive,
    printed,
    question,
    said,
)
from watcher import Watcher

from lmc_jupyter.agent import respond
from lmc_jupyter.conversation.history import History
from lmc_jupyter.errors import ModelError, SessionError
from lmc_jupyter.gate import Decision, Gate
from lmc_jupyter.models.spending import CostError, Spending
from lmc_jupyter.turn.answering import Answers
from lmc_jupyter.turn.turns import Turn

YES = Decision(run=True)


class Told(Watcher):
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.chunks: list[Any] = []
        self.errors: list[BaseException | None] = []

    def shown(self, chunk: Any) -> None:
        self.chunks.append(chunk)

    def ended(self, turn: Turn, error: BaseException | None) -> None:
        self.errors.append(error)


class Held:
    """Answers, and what they are made of."""

    def __init__(self, **limits: float) -> None:
        self.messages = History()
        self.gate, self.told = Gate(), Told()
        self.messages.subscribe(self.told)
        self.answers = Answers(self.messages, self.gate, Spending(**limits), lambda: None, bool)
        self.computer = EchoComputer()
        self.before: Callable[[], None] = list

    def ask(self, model: Any) -> Any:
        asked = question().stamped()
        self.messages.append(asked)
        self.answers.ready()

        def begin(turn: Turn) -> Any:
            return respond(
                self.messages,
                self.answers.record_model(model, turn),
                self.answers.until_stopped(self.computer, lambda: self.before()),
                gate=self.gate,
            )

        return self.answers.give(Turn("cell", "m", [asked], asked.id), begin)


def test_one_answer_at_a_time_and_nothing_else_meanwhile() -> None:
    it = Held()
    first, second = it.ask(ScriptedModel([said("Hello.")])), it.ask(ScriptedModel())
    next(first)
    assert it.answers.busy
    assert not it.answers.wait(0)
    with pytest.raises(SessionError, match="still in progress"):
        next(second)
    with (
        pytest.raises(SessionError, match="cannot undo while an answer is in progress"),
        it.answers.idle("undo"),
    ):
        pytest.fail("an answer is being given")
    first.close()
    assert it.answers.wait(0)
    with it.answers.idle("undo"):
        assert it.answers.busy
    assert not it.answers.busy


def test_whoever_watches_is_told_before_it_is_shown() -> None:
    it = Held()
    shown = []
    for chunk in it.ask(ScriptedModel([said("Hello."), said(" And?")])):
        assert it.told.chunks[-1] is chunk
        shown.append(chunk)
    assert it.told.chunks == shown
    assert it.told.errors == [None]


def test_after_a_stop_no_code_begins_whoever_has_said_yes() -> None:
    it = Held()
    it.before = it.answers.stop  # in the moment in which the code is to begin
    reply = it.ask(ScriptedModel([code("1")]))
    drive(reply, YES)
    assert it.computer.ran == [], "what was begun is closed before its first line"
    assert it.answers.stopped
    assert not it.answers.busy
    assert it.told.errors == [None]
    it.before = list
    drive(it.ask(ScriptedModel([code("2")], [said("Ok.")])), YES)
    assert [ran for _, ran in it.computer.ran] == ["2"]


def test_a_stop_ends_a_model_that_would_go_on_for_ever() -> None:
    it = Held()
    for at, _ in enumerate(it.ask(Endless())):
        if at == 3:
            it.answers.stop()
    assert it.answers.stopped
    assert it.told.errors == [None]


def test_what_ends_an_answer_is_told_and_the_next_one_can_begin() -> None:
    it = Held()
    with pytest.raises(ModelError, match="gone"):
        drive(it.ask(ScriptedModel([said("So"), ModelError("gone")])))
    assert [str(error) for error in it.told.errors] == ["gone"]
    drive(it.ask(ScriptedModel([said("Ok.")])))
    assert it.messages[-1].content == "Ok."


def test_only_messages_of_the_answer_that_is_given_are_its_own() -> None:
    it = Held()
    drive(it.ask(ScriptedModel([said("One.")])))
    assert not it.answers.is_giving(1), "it is over"
    second = it.ask(ScriptedModel([said("Two.")]))
    next(second)
    assert [it.answers.is_giving(at) for at in range(4)] == [False, False, True, True]
    second.close()


def test_a_turn_goes_with_its_question() -> None:
    it = Held()
    for text in ("One.", "Two."):
        drive(it.ask(ScriptedModel([said(text)])))
    first, second = it.answers.turns
    it.answers.forget()
    assert it.answers.turns == [first, second]
    it.messages.cut(2)
    it.answers.forget()
    assert it.answers.turns == [first]


def test_a_model_that_does_not_tell_what_it_sends_is_not_asked_where_there_is_a_limit() -> None:
    it = Held(turn=1.0)
    with pytest.raises(CostError, match="cannot be counted"):
        drive(it.ask(ScriptedModel([said("Hello.")])))
    assert not it.answers.busy


def test_no_key_is_in_what_code_puts_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_TOKEN", "correct horse battery")
    computer = PreparedComputer(printed("It is correct horse battery."))
    pieces = Held().answers.until_stopped(computer, list).run("python", "1")
    told = "".join(str(each.content) for each in pieces)
    assert "correct" not in told
    assert told.startswith("It is ")
