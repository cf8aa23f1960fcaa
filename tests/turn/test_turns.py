"""Turns and who watches them: everything is heard, and a watcher that fails changes nothing."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from scripted import ScriptedModel, Waiting, assert_valid, code, drive, kinds, line, printed, said
from watcher import Watcher

from lmc_jupyter.computer import Computer
from lmc_jupyter.errors import ModelError, SessionError
from lmc_jupyter.gate import Decision
from lmc_jupyter.keys import Secret
from lmc_jupyter.models.request import NO_BODY, Request
from lmc_jupyter.session import Session
from lmc_jupyter.turn.turns import KEPT_TURNS

IMAGE = {"role": "user", "type": "image", "format": "base64.png", "content": "AAAA"}


class Words:
    name, aliases = "python", ()

    def run(self, code: str) -> Any:
        yield from (line(1), printed("42\n"))

    def close(self) -> None: ...


class Ear(Watcher):
    """Writes down what it hears, in short."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def asked(self) -> None:
        self.heard.append("asked")

    def began(self, turn: Any) -> None:
        self.heard.append("began")

    def shown(self, chunk: Any) -> None:
        if chunk.content is not None:
            self.heard.append(chunk.content)

    def waits(self, proposal: Any) -> None:
        self.heard.append(("waits", proposal.code))

    def answered(self, proposal: Any, decision: Any) -> None:
        self.heard.append(("answered", decision and decision.run))

    def became(self, fate: Any, seconds: float, code: Any) -> None:
        self.heard.append((fate, code))

    def ended(self, turn: Any, error: Any) -> None:
        self.heard.append(("ended", type(error).__name__))

    def changed(self) -> None:
        self.heard.append("changed")

    def configured(self) -> None:
        self.heard.append("configured")

    def stopping(self) -> None:
        self.heard.append("stopping")


def session_of(*replies: Any, **options: Any) -> Session:
    model = options.pop("model", None) or ScriptedModel(*replies)
    return Session(model=model, computer=Computer(Words()), **options)


def test_a_watcher_hears_a_whole_turn_in_order():
    session, ear = session_of([said("Hi."), code("x", end=True)], [said("Bye.")]), Ear()
    end = session.history.subscribe(ear)
    drive(session.ask("Go."), Decision(True, "y"))
    assert ear.heard == [
        "asked", "began", "Hi.", "x", ("waits", "x"), ("answered", True), ("running", "y"),
        1, "42\n", ("edited", "y"), "Bye.", ("ended", "NoneType"),
    ]  # fmt: skip
    end()
    drive(session.ask("Again."))
    assert ear.heard[-1] == ("ended", "NoneType")
    assert ear.heard.count("began") == 1


def test_the_time_of_a_block_counts_from_the_yes(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("lmc_jupyter.turn.turns.time.monotonic", lambda: now[0])

    class Silent(Words):
        def run(self, code: str) -> Any:
            now[0] += 7.0  # a program that puts nothing out before its end
            yield printed("42\n")

    class Clock(Watcher):
        took = 0.0

        def became(self, fate: Any, seconds: float, code: Any) -> None:
            self.took = seconds

    clock = Clock()
    session = Session(
        model=ScriptedModel([code("x", end=True)]), computer=Computer(Silent()), auto_run=True
    )
    session.history.subscribe(clock)
    drive(session.ask("Go."))
    assert clock.took == 7.0


def test_a_watcher_hears_what_else_changes():
    session, ear = session_of([said("Hi.")]), Ear()
    session.history.subscribe(ear)
    session.auto_run = True
    session.choose_model(ScriptedModel())
    session.choose_options(temperature=0.2)
    session.choose(session.choice)
    session.messages = []
    session.reset()
    session.undo()
    session.stop()
    assert ear.heard == ["configured"] * 4 + ["changed"] * 3 + ["stopping"]


@pytest.mark.parametrize(
    ("error", "heard"), [(ModelError("no"), "ModelError"), (KeyError("x"), "ModelError")]
)
def test_a_watcher_hears_what_ended_the_answer(error, heard):
    session, ear = session_of([said("Half"), error]), Ear()
    session.history.subscribe(ear)
    with pytest.raises(ModelError):
        drive(session.ask("Go."))
    assert ear.heard[-1] == ("ended", heard)
    assert not session.busy


def test_closing_at_the_question_is_heard_as_not_run():
    session, ear = session_of([code("x", end=True)]), Ear()
    session.history.subscribe(ear)
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    reply.close()
    assert ear.heard[-2:] == [("not run", None), ("ended", "GeneratorExit")]


def test_code_that_policy_denies_is_heard_as_not_run_without_a_question():
    session, ear = session_of([code("x", end=True)], [said("ok")], deny=["python"]), Ear()
    session.history.subscribe(ear)
    drive(session.ask("Go."))
    assert ("not run", None) in ear.heard
    assert not [each for each in ear.heard if each[0] == "waits"]


def test_a_failing_watcher_is_dropped_and_the_turn_goes_on():
    class Broken(Watcher):
        def shown(self, chunk: Any) -> None:
            raise ValueError("my fault")

    session, ear = session_of([said("Hi.")]), Ear()
    session.history.subscribe(Broken())
    session.history.subscribe(ear)
    with pytest.warns(RuntimeWarning, match="Broken stopped watching.*Grown.*my fault"):
        drive(session.ask("Go."))
    assert session.messages[-1].content == "Hi."
    assert ear.heard[-1] == ("ended", "NoneType")


# What a turn keeps --------------------------------------------------------------------------------


class Counted(ScriptedModel):
    """Tells of a request per reply."""

    name = "counted"

    def with_record(self, record: Any) -> Counted:
        self.record = record
        return self

    def respond(self, messages: Any) -> Any:
        request = Request("counted", {"messages": [m.to_dict() for m in messages], "api_key": "k"})
        self.record(request)
        yield from super().respond(messages)
        request.end(10, 5, 0.25)


def test_a_turn_adds_up_its_requests():
    session = session_of(model=Counted([code("x", end=True)], [said("ok")]), auto_run=True)
    drive(session.ask("Go.", where="panel"))
    [turn] = session.turns
    assert (turn.where, turn.model, turn.over) == ("panel", "counted", True)
    assert (turn.prompt_tokens, turn.completion_tokens, turn.cost) == (20, 10, 0.5)
    assert turn.seconds > 0
    assert "42" in turn.requests[1].body
    assert "api_key" not in turn.requests[0].body


class Clock:
    """Stands still, but for what it is told."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_of_a_turn_is_that_of_its_work_and_not_of_the_persons_thinking(monkeypatch):
    monkeypatch.setattr("lmc_jupyter.turn.turns.time", clock := Clock())
    session = session_of(model=ScriptedModel([code("x", end=True)], [said("ok")]))
    reply, answer = session.ask("Go."), None
    seconds = []
    try:
        while True:
            chunk = reply.send(answer)
            clock.now += 1
            answer = None
            if chunk.type == "confirmation":
                clock.now += 3_600
                seconds.append(session.turns[-1].seconds)
                answer = Decision(True)
    except StopIteration:
        pass
    work = clock.now - 3_601
    assert session.turns[-1].seconds == work
    assert 0 < seconds[0] < work


def test_a_turn_that_ends_while_the_person_thinks_counts_none_of_it(monkeypatch):
    monkeypatch.setattr("lmc_jupyter.turn.turns.time", clock := Clock())
    session = session_of(model=ScriptedModel([code("x", end=True)], [said("ok")]))
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        clock.now += 1
    work = clock.now
    clock.now += 3_600
    reply.close()
    assert session.turns[-1].seconds == work


def test_bodies_are_kept_for_the_last_turns_only_and_counts_for_all():
    session = session_of(model=Counted())
    for _ in range(KEPT_TURNS + 2):
        drive(session.ask("Go."))
    bodies = [turn.requests[0].body for turn in session.turns]
    assert bodies[:2] == [NO_BODY, NO_BODY]
    assert NO_BODY not in bodies[2:]
    assert session.turns[0].prompt_tokens == 10


def test_turns_go_with_their_questions():
    session = session_of()
    for text in "123":
        drive(session.ask(text))
    session.undo()
    assert [turn.said[0].content for turn in session.turns] == ["1", "2"]
    session.messages = session.messages[:1]
    assert len(session.turns) == 1
    session.reset()
    assert session.turns == []


# Attachments, retry, edit -------------------------------------------------------------------------


def test_attachments_go_in_before_the_question_and_out_with_it():
    session = session_of([said("I see.")])
    drive(session.ask("What is it?", attachments=[IMAGE]))
    assert kinds(session.messages)[:2] == [
        ("user", "image", "AAAA"),
        ("user", "message", "What is it?"),
    ]
    assert len(session.undo()) == 3
    assert session.messages == []


def test_retry_asks_the_same_with_all_that_was_attached():
    model = ScriptedModel([said("One.")], [said("Two.")], [said("Three.")])
    session = session_of(model=model)
    drive(session.ask("What?", attachments=[IMAGE]))
    drive(session.ask("More."))
    old = session.turns[0]
    drive(session.retry(old))
    assert [m.content for m in session.messages] == ["AAAA", "What?", "Three."]
    assert [m.content for m in model.seen[2]] == ["AAAA", "What?"]
    assert old not in session.turns
    assert_valid(session.messages)
    with pytest.raises(SessionError, match="no longer in the conversation"):
        session.retry(old)


def test_an_edit_takes_the_place_of_the_question():
    session = session_of([said("One.")], [said("Two.")])
    drive(session.ask("Wat?", attachments=[IMAGE]))
    drive(session.edit(session.turns[0], "What?"))
    assert [m.content for m in session.messages] == ["AAAA", "What?", "Two."]
    with pytest.raises(SessionError, match="empty"):
        session.edit(session.turns[0], " ")


def test_retry_is_refused_while_an_answer_is_given_and_changes_nothing():
    session = session_of([said("One.")], [said("Two.")])
    drive(session.ask("1"))
    reply = session.ask("2")
    next(reply)
    before = list(session.messages)
    with pytest.raises(SessionError, match="stop it first"):
        session.retry(session.turns[0])
    assert session.messages == before
    reply.close()


def test_retry_of_what_had_no_question_says_what_to_do():
    session = session_of([said("Half"), ModelError("broke")], [said("whole.")])
    with pytest.raises(ModelError):
        drive(session.ask("Go."))
    drive(session.ask())
    with pytest.raises(SessionError, match="retry that question"):
        session.retry(session.turns[-1])


def test_a_stop_is_told_to_whoever_waits():
    model, ear = Waiting(said("Half")), Ear()
    session = session_of(model=model)
    session.history.subscribe(ear)
    model.on_silent = session.stop
    drive(session.ask("Go."))
    assert "stopping" in ear.heard
    assert ear.heard[-1] == ("ended", "NoneType")
    assert session.stopped


def test_a_key_is_not_shown_by_a_session():
    session = Session("openai/x", api_key="sk-very-secret-0123456789")
    assert "very-secret" not in repr(vars(session))
    session.choose_model("openai/y", api_key="sk-other-secret-0123456789")
    assert "other-secret" not in repr(vars(session))
    assert isinstance(session.choice.options["api_key"], Secret)
    assert session.model._key.reveal() == "sk-other-secret-0123456789"


def test_the_private_folder_goes_with_the_session():
    session = session_of()
    folder = session.files.folder
    (folder / "x").write_text("x")
    assert folder.stat().st_mode & 0o077 == 0
    assert session.brief().folders == (folder,)
    del session
    gc.collect()
    assert not folder.exists()
