"""A talk with strict providers: no request is refused, and each begins with the one before."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from model_server import ModelServer, Refusal, Request, Turn, call, text
from scripted import ScriptedModel, drive, question, said
from strict_wires import Anthropic, DeepSeek, Gemini, Responses, Step, Wire, without_marks

from lmc_jupyter.errors import CallError, ModelError
from lmc_jupyter.gate import Decision
from lmc_jupyter.models.litellm import LiteLLMModel, catalogue
from lmc_jupyter.models.litellm.worker import lookups
from lmc_jupyter.models.openai import Sent, execute_tool
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
    talk(
        model_server, wire, "anthropic/claude-sonnet-4-5", api_base=model_server.root, tools=True,
        thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2048,
    )  # fmt: skip
    assert wire.refusals == []
    assert wire.count >= 30
    everything = json.dumps(wire.bodies[-1])
    assert "s1==" in everything
    assert "not now" in everything


def test_the_cache_of_claude_is_asked_for_at_the_beginning_and_the_end(
    shell: Any, model_server: ModelServer
) -> None:
    wire = Anthropic(STEPS, is_append_only=True)
    session = talk(
        model_server, wire, "anthropic/claude-sonnet-4-5", api_base=model_server.root, tools=True
    )
    body = wire.bodies[1]
    mark = {"type": "ephemeral"}
    assert body["system"][-1]["cache_control"] == mark
    assert body["messages"][-1]["content"][-1]["cache_control"] == mark
    assert json.dumps(body).count("cache_control") == 2
    assert session.turns[0].requests[0].cached_tokens == 4


def test_another_model_and_a_restart_between_change_nothing_for_claude(
    shell: Any, model_server: ModelServer
) -> None:
    wire = Anthropic(STEPS * 2, is_append_only=True)
    claude: dict[str, Any] = {
        "api_base": model_server.root, "tools": True, "api_key": "none",
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048,
    }  # fmt: skip
    model_server.answer = wire.answer
    session = Session("anthropic/claude-sonnet-4-5", **claude)
    drive(session.ask("First?"), Decision(True), Decision(True))
    session.choose_model(ScriptedModel([said("From another.")]))
    drive(session.ask("What does another say?"))
    session.choose_model("anthropic/claude-sonnet-4-5", **claude)
    drive(session.ask("Second?"), Decision(True), Decision(True))
    id_ = session.journal.id
    session.close()
    before = without_marks(wire.bodies[-1]["messages"])
    again = Session("anthropic/claude-sonnet-4-5", **claude)
    again.conversation.open(id_)
    drive(again.ask("Third?"), Decision(True), Decision(True))
    assert wire.refusals == []
    after = json.dumps(without_marks(wire.bodies[-1]["messages"]))
    assert "From another." in after
    assert after.startswith(json.dumps(before)[:-1])
    again.close()


def test_a_server_that_wants_its_reasoning_back_gets_it(
    shell: Any, model_server: ModelServer
) -> None:
    wire = DeepSeek(STEPS * 2)
    talk(model_server, wire, "openai/deepseek-v4", api_base=model_server.base, tools=True)
    assert wire.refusals == []
    assert wire.count >= 30


def test_gemini_gets_its_signatures_back(shell: Any, model_server: ModelServer) -> None:
    wire = Gemini(STEPS * 2)
    talk(model_server, wire, "gemini/gemini-3-pro-preview", api_base=model_server.root, tools=True)
    assert wire.refusals == []
    assert wire.count >= 30
    parts = [part for content in wire.bodies[-1]["contents"] for part in content["parts"]]
    signatures = {part["thoughtSignature"] for part in parts if "thoughtSignature" in part}
    # those of the words too; not of the answer that was asked for again, and not the last one
    assert signatures == {each["thoughtSignature"] for each in wire.replies[:-1]} - {
        each["thoughtSignature"] for each in wire.replies[21:24]
    }


def test_gemini_refuses_a_talk_without_its_signatures(
    shell: Any, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sent, "keep", lambda *_: None)  # what goes is made of the LMC messages
    wire = Gemini(STEPS)
    model_server.answer = wire.answer
    session = Session(
        "gemini/gemini-3-pro-preview", keep=False, api_key="none", api_base=model_server.root,
        tools=True,
    )  # fmt: skip
    with pytest.raises(ModelError, match="Corrupted thought signature"):
        drive(session.ask("First?"), Decision(True), Decision(True))
    parts = wire.bodies[-1]["contents"][1]["parts"]  # LiteLLM put a placeholder in its place
    assert [part["thoughtSignature"] in Gemini.DUMMIES for part in parts[-1:]] == [True]


def test_openai_gets_its_reasoning_back(shell: Any, model_server: ModelServer) -> None:
    wire = Responses(STEPS * 2)
    session = talk(
        model_server, wire, "openai/responses/gpt-5.4", api_base=model_server.base, tools=True
    )
    assert wire.refusals == []
    assert wire.count >= 30
    thoughts = [each for each in wire.bodies[-1]["input"] if each["type"] == "reasoning"]
    # not of the answer that was asked for again, and not the last one
    assert thoughts == [reply[0] for reply in (*wire.replies[:21], *wire.replies[24:-1])]
    first = session.turns[0].requests[0]
    assert '"store": false' in first.body
    assert first.cached_tokens == 4
    assert first.cost  # by the price of the name without its prefix


def test_openai_refuses_a_talk_without_its_reasoning(
    shell: Any, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sent, "keep", lambda *_: None)
    wire = Responses(STEPS)
    model_server.answer = wire.answer
    session = Session(
        "openai/responses/gpt-5.4", keep=False, api_key="none", api_base=model_server.base,
        tools=True,
    )  # fmt: skip
    with pytest.raises(ModelError, match="No function call call00001 was made"):
        drive(session.ask("First?"), Decision(True), Decision(True))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda body: body.pop("store"), "Store must be set to false"),
        (lambda body: body.update(previous_response_id="resp_1"), "no previous response"),
        (lambda body: body.pop("include"), "without their encrypted content"),
        (lambda body: body["input"].pop(2), "without its required 'reasoning' item: 'rs_1'"),
        (lambda body: body["input"][2].update(encrypted_content="e"), "could not be verified"),
        (lambda body: body["input"][-1].update(call_id="call_y"), "No tool call found"),
        (lambda body: body["input"].pop(), "No tool output found for function call call_x1"),
    ],
)
def test_what_openai_refuses(
    shell: Any, model_server: ModelServer, change: Callable[[dict[str, Any]], Any], why: str
) -> None:
    wire = Responses(STEPS)
    model_server.answer = wire.answer
    session = Session(
        "openai/responses/gpt-5.4", keep=False, api_key="none", api_base=model_server.base,
        tools=True,
    )  # fmt: skip
    drive(session.ask("First?"), Decision(True), Decision(False))
    body = wire.bodies[1]
    assert wire.refuse(body) == ""
    change(body)
    assert why in wire.refuse(body)


@pytest.mark.long  # LiteLLM is imported here
@pytest.mark.parametrize(
    ("model", "base", "expected"),
    [
        ("openai/responses/m", "http://127.0.0.1/v1", True),
        ("xai/responses/grok-4.5", None, True),
        ("gpt-5.1-codex", None, True),
        ("openai/gpt-5.4", None, True),
        ("openai/gpt-5.4", "http://127.0.0.1/v1", False),
        ("gpt-4o", None, False),
        ("anthropic/claude-sonnet-4-5", None, False),
        ("nobody/nothing", None, False),
    ],
)
def test_who_is_asked_by_the_responses_interface(
    model: str, base: str | None, expected: bool
) -> None:
    assert (
        lookups.goes_by_responses(model, {"tools": [execute_tool({"python": ()})]}, base)
        is expected
    )


def test_a_prefix_changes_nothing_of_what_is_known_of_a_model() -> None:
    facts = catalogue.facts("openai/responses/gpt-5.4")
    assert facts == catalogue.facts("openai/gpt-5.4")
    assert "function_calling" in facts.abilities


@pytest.mark.parametrize(
    ("model", "path"),
    [("openai/gpt-5.1-codex", "/v1/responses"), ("openai/gpt-5.4", "/v1/chat/completions")],
)
def test_an_own_address_is_asked_as_the_list_of_models_says(
    model_server: ModelServer, model: str, path: str
) -> None:
    model_server.answer = lambda request: Refusal(400, "no")
    answer = LiteLLMModel(model, api_base=model_server.base, api_key="k").respond([question()])
    with pytest.raises(ModelError):
        list(answer)
    assert model_server.requests[-1].path == path


def test_nine_tenths_of_a_talk_can_come_from_a_cache(shell: Any, model_server: ModelServer) -> None:
    """By characters of what each request has of the one before, without a question asked again."""
    wire = DeepSeek(STEPS)
    model_server.answer = wire.answer
    session = Session(
        "openai/m",
        api_base=model_server.base,
        api_key="none",
        tools=True,
        keep=False,
        auto_run=True,
    )
    for number in range(10):
        drive(session.ask(f"Question {number}?"))
    texts = [json.dumps([each["tools"], each["messages"]])[:-2] for each in wire.bodies]
    same = sum(len(before) for before, now in pairwise(texts) if now.startswith(before))
    assert len(texts) == 30
    assert same / sum(map(len, texts)) > 0.9


# Wrong calls --------------------------------------------------------------------------------------

RIGHT = json.dumps({"language": "python", "code": "print(6 * 7)"})
WRONG = {
    "an unknown function": call("view_figure", '{"number": 9}'),
    "no JSON": call("execute", '{"language": "python", "code": print(1)}'),
    "no code": call("execute", '{"language": "python"}'),
    "no language": call("execute", '{"code": "print(6 * 7)"}'),
    "broken off": call("execute", '{"language": "python", "code": "print(1'),
    "a number": call("execute", '{"language": "python", "code": 42}'),
    "two texts": call("execute", '{"language": "python", "source": "a", "script": "b"}'),
    "a list": call("execute", '["python", "print(1)"]'),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_call_is_mended_by_the_model_without_the_person(
    shell: Any, model_server: ModelServer, kind: str
) -> None:
    def answer(request: Request) -> Turn:
        last = request.body["messages"][-1]
        if last["role"] == "user" and last["content"].endswith("What is 6 * 7?"):
            return Turn(text("I compute."), WRONG[kind])
        if "so nothing was run" in last["content"]:
            assert last["role"] == "tool"
            assert 'execute({"language": "python", "code": "print(1)"})' in last["content"]
            return Turn(call("execute", RIGHT))
        assert "42" in last["content"]
        return Turn(text("It is 42."))

    model_server.answer = answer
    session = Session(
        "openai/m", api_base=model_server.base, api_key="none", tools=True, keep=False,
        auto_run=True,
    )  # fmt: skip
    drive(session.ask("What is 6 * 7?"))
    assert session.messages[-1].content == "It is 42."
    (told,) = [each for each in session.messages if each.recipient == "assistant"]
    assert "nothing was run" in told.content


def test_after_three_wrong_calls_in_a_row_the_person_reads_why(
    shell: Any, model_server: ModelServer
) -> None:
    model_server.answer = lambda request: Turn(WRONG["an unknown function"])
    session = Session(
        "openai/m", api_base=model_server.base, api_key="none", tools=True, keep=False
    )
    with pytest.raises(CallError, match="'view_figure'"):
        drive(session.ask("Show it."))
    assert len(model_server.requests) == 3


@pytest.mark.parametrize(
    "part",
    [call("execute", '{"language": "python", "source": "print(6 * 7)"}'), call("python", RIGHT)],
)
def test_a_call_whose_meaning_is_plain_runs_and_the_model_reads_the_form(
    shell: Any, model_server: ModelServer, part: Any
) -> None:
    model_server.turns = [Turn(part), Turn(text("Done."))]
    session = Session(
        "openai/m", api_base=model_server.base, api_key="none", tools=True, keep=False,
        auto_run=True,
    )  # fmt: skip
    drive(session.ask("What is 6 * 7?"))
    told = model_server.requests[-1].body["messages"][-1]["content"]
    assert "another form" in told
    assert "42" in told
