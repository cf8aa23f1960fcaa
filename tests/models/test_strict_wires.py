"""A talk with strict providers: no request is refused, and each begins with the one before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from model_server import ModelServer
from scripted import drive
from strict_wires import Anthropic, DeepSeek, Step, Wire

from lmc_jupyter.gate import Decision
from lmc_jupyter.session import Session

STEPS: list[Step] = [
    step
    for number in range(10)
    for step in (
        ("I begin.", f"a_{number} = {number}"),
        ("I go on.", f"b_{number} = a_{number} + 1"),
        ("Done.", None),
    )
]


def talk(server: ModelServer, wire: Wire, name: str, **options: Any) -> Session:
    """Ten questions, with code that is run, edited and declined."""
    server.answer = wire.answer
    session = Session(name, keep=False, api_key="none", **options)
    for number in range(10):
        answers = [Decision(True), Decision(True)]
        if number == 3:
            answers[0] = Decision(True, code="a_3 = 33")
        if number == 5:
            answers[1] = Decision(False, reason="not now")
        drive(session.ask(f"Question {number}?"), *answers)
        if number == 7:
            drive(session.retry(session.turns[-1]), *answers)
    return session


@pytest.mark.parametrize("is_append_only", [False, True])
def test_claude_gets_its_thoughts_back(
    shell: Any, model_server: ModelServer, is_append_only: bool
) -> None:
    wire = Anthropic(STEPS * 2, is_append_only=is_append_only)
    base = f"http://127.0.0.1:{model_server.port}"
    talk(
        model_server, wire, "anthropic/claude-sonnet-4-5", api_base=base, tools=True,
        thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2048,
    )  # fmt: skip
    assert wire.refusals == []
    assert wire.count >= 30
    everything = json.dumps(wire.bodies[-1])
    assert "s1==" in everything
    assert "not now" in everything


def test_a_server_that_wants_its_reasoning_back_gets_it(
    shell: Any, model_server: ModelServer
) -> None:
    wire = DeepSeek(STEPS * 2)
    talk(model_server, wire, "openai/deepseek-v4", api_base=model_server.base, tools=True)
    assert wire.refusals == []
    assert wire.count >= 30
