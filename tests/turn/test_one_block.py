"""Code of an agent is a turn of the session without a question, which always asks."""

from __future__ import annotations

import pytest
from scripted import EchoComputer, ScriptedModel, assert_valid, said

from lmc_jupyter import Decision, Session
from lmc_jupyter.errors import SessionError


def make(**options) -> Session:
    return Session(ScriptedModel([said("Hello.")]), EchoComputer(), keep=False, **options)


def drive(session: Session, decision: Decision | None = None) -> list[str]:
    """Offer a block, and give this answer; the types of the chunks."""
    reply, answer, types = session.offer("python", "x = 1", by="Claude Code"), None, []
    try:
        while True:
            chunk = reply.send(answer)
            types.append(chunk.type)
            answer = decision if chunk.type == "confirmation" else None
    except StopIteration:
        return types


def contents(session: Session) -> list[str]:
    assert_valid(session.messages)
    return [each.content for each in session.messages]


@pytest.mark.parametrize("auto_run", [False, True])
def test_it_asks_whatever_auto_run_says_and_nobody_is_no(auto_run):
    session = make(auto_run=auto_run)
    assert "confirmation" in drive(session)
    assert contents(session) == [
        "Claude Code, an agent outside this notebook, runs code here.",
        "x = 1",
        "This code was not run: nobody answered.",
    ]


def test_the_questions_that_wait_are_not_put_into_it():
    session = make()
    session.queue.add("And then?")
    drive(session)
    assert [each.text for each in session.queue.entries] == ["And then?"]


def test_code_that_waits_for_its_answer_is_not_offered_as_the_agent_s():
    session = make()
    session.messages = [
        {"role": "user", "type": "message", "content": "Go."},
        {"role": "assistant", "type": "code", "format": "python", "content": "danger()"},
    ]
    drive(session)
    assert contents(session)[2] == "This code was not run: other code came in between."
    assert session.turns[-1].where == "agent"


def test_a_limit_of_cost_does_not_forbid_it_because_it_asks_no_model():
    session = make(max_cost=0.0)
    assert "confirmation" in drive(session)


def test_it_waits_for_no_other_answer():
    session = make()
    reply = session.ask("And?")
    next(reply)
    with pytest.raises(SessionError, match="while an answer is in progress"):
        session.offer("python", "x = 1", by="Claude Code")
    reply.close()


def test_the_conversation_is_saved_and_read_again(tmp_path):
    session = make()
    drive(session)
    for name in ("talk.ipynb", "talk.json"):
        session.save(tmp_path / name)
    other = make()
    other.load(tmp_path / "talk.json")
    assert contents(other) == contents(session)
