"""A cell proposed, nothing run: from a model with tools and one without, to the person and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from model_server import ModelServer, Turn, call, text
from scripted import EchoComputer, ScriptedModel, assert_valid, drive, said

from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Chunk, Message, is_proposal
from lmc_jupyter.session import Session

DOUBLE = "def double(x):\n    return 2 * x"


def proposed(code: str = DOUBLE, cell: int | None = None) -> Chunk:
    return Chunk("assistant", "code", "python", code, "user", start=True, end=True, cell=cell)


def propose(cell: object, source: str = DOUBLE) -> Any:
    return call("propose_cell", json.dumps({"cell": cell, "source": source}))


def served(server: ModelServer, computer: EchoComputer, **options: Any) -> Session:
    base = {"api_base": server.base, "api_key": "sk-x"}
    return Session(model="openai/some-model", computer=computer, keep=False, **base, **options)


def test_a_model_with_tools_proposes_a_cell_and_goes_on_without_anything_run(
    model_server: ModelServer,
) -> None:
    model_server.turns = [
        Turn(text("So:"), propose("7")),
        Turn(text("It doubles.")),
        Turn(text("You took it.")),
    ]
    computer = EchoComputer()
    session = served(model_server, computer, auto_run=True)
    chunks = drive(session.ask("Write cell 7 again."))
    assert not [each for each in chunks if each.type == "confirmation"]
    assert computer.ran == []
    assert session.pending is None
    [proposal] = filter(is_proposal, session.messages)
    assert (proposal.content, proposal.recipient, proposal.extra["cell"]) == (DOUBLE, "user", 7)
    assert session.messages[-1].content == "It doubles."
    names = [each["function"]["name"] for each in model_server.requests[0].body["tools"]]
    assert names == ["execute", "propose_cell"]
    result = model_server.requests[1].body["messages"][-1]
    assert result["role"] == "tool"
    assert "nothing has run" in result["content"]

    assert proposal.id is not None
    session.take_proposal(proposal.id, "replaced")
    assert session.messages[session.history.place(proposal.id) or 0].extra["taken"] == "replaced"
    drive(session.ask("And now?"))
    first, second, third = (each.body["messages"] for each in model_server.requests[:3])
    assert third[: len(second)] == second
    assert second[: len(first)] == first
    news = json.dumps(third[len(second) :])
    assert "proposal for In [7]: they put it in the place of the cell" in news
    assert "output-" not in news
    assert_valid(session.messages)


def test_a_model_without_tools_proposes_by_the_cell_in_its_fence(
    model_server: ModelServer,
) -> None:
    model_server.turns = [
        Turn(text(f"```python cell=7\n{DOUBLE}\n```\nor\n```python cell=new\n1\n```\nChoose.")),
        Turn(text("Good.")),
    ]
    computer = EchoComputer()
    session = served(model_server, computer, tools=False, auto_run=True)
    drive(session.ask("Write cell 7 again."))
    assert computer.ran == []
    assert session.pending is None
    found = filter(is_proposal, session.messages)
    assert [(each.content, each.extra.get("cell")) for each in found] == [(DOUBLE, 7), ("1", None)]
    assert len(model_server.requests) == 1, "its words stand behind the proposals"
    drive(session.ask("Thank you."))
    history = json.dumps(model_server.requests[1].body["messages"])
    assert "```python cell=7" in history
    assert "```python cell=new" in history
    assert "nothing has run" in history


def test_a_proposal_that_the_person_takes_during_the_answer_is_told_with_the_next_request() -> None:
    session: Session

    def take() -> str:
        [proposal] = filter(is_proposal, session.messages)
        session.take_proposal(proposal.id or "", "inserted")
        return ""

    model = ScriptedModel([proposed(), said("And")], [said("Seen.")])
    session = Session(model=model, computer=EchoComputer(), keep=False)
    reply = session.ask("Write a function.")
    for chunk in reply:
        if chunk.content == "And":
            take()
    assert not [each for each in session.messages if "they inserted it" in str(each.content)]
    drive(session.ask("Go on."))
    contents = [str(each.content) for each in session.messages]
    told = next(at for at, each in enumerate(contents) if "they inserted it" in each)
    assert contents[told + 1] == "Go on."


def test_an_answer_ends_with_a_proposal_that_is_only_repeated() -> None:
    model = ScriptedModel(*[[proposed()]] * 5)
    session = Session(model=model, computer=EchoComputer(), keep=False)
    drive(session.ask("Write a function."))
    assert len(model.seen) == 2


def test_a_proposal_beside_a_block_leaves_the_block_to_the_person() -> None:
    run = Chunk("assistant", "code", "python", "1", start=True, end=True)
    session = Session(
        model=ScriptedModel([proposed(), run], [said("Done.")]), computer=EchoComputer(), keep=False
    )
    asked = [
        each for each in drive(session.ask("Go."), Decision(True)) if each.type == "confirmation"
    ]
    assert [each.content["content"] for each in asked] == ["1"]


def test_what_is_no_proposal_cannot_be_taken() -> None:
    session = Session(model=ScriptedModel([said("Hi.")]), computer=EchoComputer(), keep=False)
    drive(session.ask("Hello."))
    with pytest.raises(SessionError, match="no longer in the conversation"):
        session.take_proposal(session.messages[-1].id or "", "inserted")
    session.messages = [Message("assistant", "code", "python", "1", "user")]
    with pytest.raises(SessionError, match="'eaten'"):
        session.take_proposal(session.messages[-1].id or "", "eaten")
