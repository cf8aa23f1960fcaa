"""A part of the context is one function: the model is told what it returns, anew for each reply."""

from __future__ import annotations

import json

import pytest
from scripted import ScriptedModel, drive, said

from lmc_jupyter import Session
from lmc_jupyter.context import parts
from lmc_jupyter.context.parts import Material, part
from lmc_jupyter.models.replay import record


@pytest.fixture(autouse=True)
def own_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PARTS", [*parts.PARTS])


def test_a_part_that_one_function_adds_is_in_what_the_model_gets(tmp_path) -> None:
    @part
    def questions(material: Material) -> str:
        return f"Question number {sum(each.role == 'user' for each in material.messages)}."

    model = record(ScriptedModel([said("One.")], [said("Two.")]), tmp_path / "answers.jsonl")
    drive(Session(model, keep=False).ask("First?"))
    session = Session(f"replay/{tmp_path / 'answers.jsonl'}", keep=False)
    for number in (1, 2):
        drive(session.ask("First?"))
        body = json.dumps(json.loads(session.turns[-1].requests[0].body)["messages"])
        assert f"Question number {number}." in body


def test_the_parts_stand_in_their_order_and_an_empty_one_leaves_no_line() -> None:
    part(lambda _: "")
    part(lambda _: "Last.")
    session = Session("replay/none", keep=False, system_message="Be brief.")
    assert session.brief().instructions == "Be brief.\nLast."
    session.custom_instructions = "In French."
    assert session.brief().instructions == "Be brief.\nIn French.\nLast."


def test_a_part_gets_the_functions_and_no_key_of_theirs() -> None:
    seen = []

    @part
    def look(material: Material) -> str:
        seen.append((sorted(material.functions or {}), material.redact("a my-long-secret-key b")))
        return ""

    def area(width: float) -> float:
        """The area."""
        return width**2

    session = Session("replay/none", keep=False, api_key="my-long-secret-key")
    session.functions = [area]
    session.brief()
    [(names, text)] = seen
    assert names == ["area"]
    assert "my-long-secret-key" not in text
