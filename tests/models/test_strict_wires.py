"""A talk with strict providers: no request is refused, and each begins with the one before."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import strict_wires
from model_server import ModelServer, Refusal, Request, Turn, call, text
from sampling import sample
from scripted import drive, question
from strict_talk import WIRES, Talk, whole
from strict_wires import proposed

from lmc_jupyter.errors import CallError, ModelError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import is_partial, is_proposal
from lmc_jupyter.models.litellm import LiteLLMModel, access, catalogue
from lmc_jupyter.models.litellm.worker import lookups
from lmc_jupyter.models.openai import Sent, messages, tools_of
from lmc_jupyter.session import Session


@pytest.mark.parametrize("of", sample(WIRES, 2))
def test_nothing_is_refused_and_each_request_begins_with_the_one_before(
    shell: Any, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    def forget() -> None:
        shell.reset(new_session=True)
        monkeypatch.setattr(messages, "_SECRET", b"of another kernel")

    talk = Talk(model_server, of)
    whole(talk, forget)
    wire = talk.wire
    assert wire.refusals == []
    assert len(wire.bodies) == len(talk.reasons) == wire.count == 33
    texts = [*map(wire.text, wire.bodies)]
    for (before, now), reason in zip(pairwise(texts), talk.reasons[1:], strict=True):
        assert now.startswith(before) == (not reason)
    assert [each for each in talk.reasons if each] == ["the conversation was changed"]
    # all that it thought came back: not what was stopped before its words, the answer that was
    # asked for again, and the last words
    last = json.dumps(wire.bodies[-1])
    lost = [at for at, each in enumerate(wire.thoughts) if each and f'"{each}"' not in last]
    assert lost == [at for at in (14, 21, 22, 23, 32) if wire.thoughts[at]]
    assert re.search(r'"(image_url|input_image|inline_data)"|"type": "image"', last)
    for words in ("What it showed follows", "a_3 = 33", "not now", "z = 1", "From another."):
        assert words in last
    # and the ledger has what was sent
    ledger = json.loads(talk.session.turns[-1].requests[-1].body)
    assert wire.text(ledger)[:1_000] == texts[-1][:1_000]


@pytest.mark.parametrize("of", WIRES)
def test_what_is_written_anew_without_its_thoughts_is_refused(
    shell: Any, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.setattr(Sent, "keep", lambda *_: None)
    talk = Talk(model_server, of)
    with pytest.raises(ModelError):
        talk.ask(0)
    assert talk.wire.refusals


@pytest.mark.long
@pytest.mark.parametrize("of", WIRES)
def test_a_reply_that_was_stopped_behind_a_whole_call_is_taken_back(
    shell: Any, model_server: ModelServer, of: str
) -> None:
    talk = Talk(model_server, of)
    talk.ask(0)
    talk.stop_at_the_end(1)
    talk.ask(2)
    assert talk.wire.refusals == []
    assert talk.session.messages[-1].content == "Done."
    texts = [*map(talk.wire.text, talk.wire.bodies)]
    assert all(now.startswith(before) for before, now in pairwise(texts))
    news = texts[4].removeprefix(texts[3])
    assert news.index("a_1 = 1") < news.index("not run") < news.index("Question 2?")
    assert "a_1" not in shell.user_ns


@pytest.mark.parametrize("of", WIRES)
def test_a_call_of_an_unknown_function_is_mended_with_a_strict_provider(
    shell: Any, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    make = strict_wires.call_of

    def call_of(code: str) -> tuple[str, dict[str, Any]]:
        return ("view_figure", {"code": code}) if code == "figure 9" else make(code)

    monkeypatch.setattr(strict_wires, "call_of", call_of)
    talk = Talk(model_server, of)
    talk.ask(0, first="figure 9")
    talk.ask(1)
    assert talk.wire.refusals == []
    assert talk.wire.count == 7
    assert shell.user_ns["b_0"] == 0
    texts = [*map(talk.wire.text, talk.wire.bodies)]
    assert all(now.startswith(before) for before, now in pairwise(texts))
    assert "so nothing was run" in texts[1]


@pytest.mark.parametrize("of", WIRES)
def test_two_calls_in_one_reply_stay_one_reply(
    shell: Any, model_server: ModelServer, of: str
) -> None:
    talk = Talk(model_server, of)
    talk.wire.steps = iter(
        [("Two at once.", ("a_1 = 1", "a_2 = 2")), ("More.", "a_3 = 3"), ("Done.", None)]
    )
    run, decline = Decision(True), Decision(False, reason="not now")
    drive(talk.session.ask("Go."), decline, run, run)
    drive(talk.session.ask("Go on."))
    wire = talk.wire
    assert wire.refusals == []
    assert shell.user_ns.get("a_2") == 2
    assert "a_1" not in shell.user_ns
    texts = [*map(wire.text, wire.bodies)]
    assert len(texts) == 4
    assert all(now.startswith(before) for before, now in pairwise(texts))
    assert texts[-1].count("not now") == 1


@pytest.mark.parametrize("of", WIRES)
def test_a_setting_of_tools_in_between_changes_nothing_that_was_sent(
    shell: Any, model_server: ModelServer, of: str
) -> None:
    talk = Talk(model_server, of)
    talk.ask(0, more=1)
    for number, tools in ((1, False), (2, True)):
        options = {**talk.model, "tools": tools}
        talk.session.choose_model(options.pop("model"), **options)
        talk.ask(number, more=1)  # this provider calls all the same
    assert talk.wire.refusals == []
    assert [*filter(None, talk.reasons)] == []
    assert [shell.user_ns[f"a_{number}"] for number in range(3)] == [0, 1, 2]
    texts = [*map(talk.wire.text, talk.wire.bodies)]
    assert all(now.startswith(before) for before, now in pairwise(texts))
    assert [each.count("From here on") for each in texts] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("of", WIRES)
def test_a_conversation_in_which_another_model_ran_code_is_taken_over(
    shell: Any, model_server: ModelServer, of: str
) -> None:
    talk = Talk(model_server, of)
    talk.ask_another()
    talk.ask(0)
    assert talk.session.messages[-1].content == "Done."
    if of == "DeepSeek":  # we learn from its refusal that it wants a blank for a thought
        assert len(talk.wire.refusals) == 1
        (reason,) = filter(None, talk.reasons)
        assert "wants a thought with each call" in reason
    else:
        assert talk.wire.refusals == []


@pytest.mark.long
@pytest.mark.parametrize("of", WIRES)
def test_nine_tenths_of_a_talk_can_come_from_a_cache(
    shell: Any, model_server: ModelServer, of: str
) -> None:
    """By characters of what each request has of the one before, without a question asked again."""
    talk = Talk(model_server, of)
    for number in range(10):
        talk.ask(number)
    texts = [*map(talk.wire.text, talk.wire.bodies)]
    same = sum(len(before) for before, now in pairwise(texts) if now.startswith(before))
    assert len(texts) == 30
    assert same / sum(map(len, texts)) > 0.9


def test_the_cache_of_claude_is_asked_for_at_the_beginning_and_the_end(
    shell: Any, model_server: ModelServer
) -> None:
    talk = Talk(model_server, "Claude with preserved thinking")
    talk.ask(0)
    body = talk.wire.bodies[1]
    mark = {"type": "ephemeral"}
    assert body["system"][-1]["cache_control"] == mark
    assert body["messages"][-1]["content"][-1]["cache_control"] == mark
    assert json.dumps(body).count("cache_control") == 2
    assert talk.session.turns[0].requests[0].cached_tokens == 4


def test_openai_gets_a_key_of_the_conversation_for_its_cache_and_another_address_none(
    shell: Any, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(model_server, "OpenAI").ask(0, more=1)
    assert "prompt_cache_key" not in model_server.requests[-1].body
    monkeypatch.setitem(access._HOSTS, "openai", ("127.0.0.1",))
    keys = []
    for number in range(2):
        talk = Talk(model_server, "OpenAI")
        talk.ask(number, more=1)
        [key] = {body.get("prompt_cache_key") for body in talk.wire.bodies}
        keys.append(key)
    assert all(keys)
    assert keys[0] != keys[1]


PAIRS = [*zip(WIRES, [*WIRES][2:] + [*WIRES][:2], strict=True)]


@pytest.mark.long
@pytest.mark.parametrize(("of", "other"), PAIRS)
def test_another_model_gets_no_thought_of_the_first_which_gets_its_own_again(
    shell: Any, model_server: ModelServer, of: str, other: str
) -> None:
    talk = Talk(model_server, of)
    talk.ask(0)
    with ModelServer() as second:
        guest = Talk(second, other)
        options = {**guest.model}
        talk.session.choose_model(options.pop("model"), **options)
        guest._script(1)
        drive(talk.session.ask("And you?"), *[Decision(True)] * 3)
        options = {**talk.model}
        talk.session.choose_model(options.pop("model"), **options)
        talk.ask(2)
        theirs, mine = json.dumps(guest.wire.bodies), json.dumps(talk.wire.bodies[-1])
        own, foreign = talk.wire.thoughts, guest.wire.thoughts
    assert "Question 0?" in theirs
    assert "a_1 = 1" in mine
    assert not {*own} & {*foreign}
    assert [each for each in own if json.dumps(each) in theirs] == []
    assert [each for each in foreign if json.dumps(each) in mine] == []
    assert [json.dumps(each) in mine for each in own] == [True] * 5 + [False]
    assert talk.wire.refusals == []


@pytest.mark.parametrize("of", WIRES)
def test_a_proposal_is_a_call_like_any_other_to_a_strict_provider(
    shell: Any, model_server: ModelServer, of: str
) -> None:
    talk = Talk(model_server, of)
    talk.ask(0)
    talk.ask(1, first=proposed("raise SystemExit", 7), more=1)
    [proposal] = filter(is_proposal, talk.session.messages)
    assert proposal.extra["cell"] == 7
    talk.session.take_proposal(proposal.id or "", "replaced")
    talk.ask(2)
    wire = talk.wire
    assert wire.refusals == []
    texts = [*map(wire.text, wire.bodies)]
    assert all(now.startswith(before) for before, now in pairwise(texts))
    assert talk.session.pending is None
    assert "nothing has run" in json.dumps(wire.bodies[4])
    assert "put it in the place of the cell" not in json.dumps(wire.bodies[5])
    assert "put it in the place of the cell" in json.dumps(wire.bodies[6])


# OpenAI's Responses interface ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda body: body.pop("store"), "Store must be set to false"),
        (lambda body: body.update(previous_response_id="resp_1"), "no previous response"),
        (lambda body: body.pop("include"), "without their encrypted content"),
        (lambda body: body["input"].pop(2), "without its required 'reasoning' item: 'rs_1'"),
        (lambda body: body["input"][2].update(encrypted_content="e"), "could not be verified"),
        (lambda body: body["input"][-1].update(call_id="call_y"), "No tool call found"),
        (lambda body: body["input"].pop(), "No tool output found for function call call_x1_0"),
    ],
)
def test_what_openai_refuses(
    shell: Any, model_server: ModelServer, change: Callable[[dict[str, Any]], Any], why: str
) -> None:
    talk = Talk(model_server, "OpenAI")
    talk.ask(0)
    wire = talk.wire
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
    assert lookups.goes_by_responses(model, {"tools": tools_of({"python": ()})}, base) is expected


def test_what_is_known_of_a_model_does_not_hang_on_the_interface(
    shell: Any, model_server: ModelServer
) -> None:
    talk = Talk(model_server, "OpenAI")
    talk.ask(0)
    first = talk.session.turns[0].requests[0]
    assert '"store": false' in first.body
    assert first.cached_tokens == 4
    assert first.cost
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
    words = [each for each in session.messages if each.content == "I compute."]
    assert [is_partial(each) for each in words] == [False], "nobody stopped them"


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
