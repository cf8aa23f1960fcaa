"""LiteLLM and a real server on loopback: replies, faults, retries, stopping, keys."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import patched_worker
import pytest
from model_server import (
    CUTS,
    DONE,
    END,
    HEAD,
    STALL,
    Fault,
    ModelServer,
    Refusal,
    Turn,
    call,
    chunked,
    event,
    reasoning,
    text,
    tool,
    wait,
)
from sampling import amount

from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import Offer, request, suggest
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.litellm import LiteLLMModel, NetworkLimits, completion, worker_process
from lmc_jupyter.models.openai import Exchanges
from lmc_jupyter.models.request import Request
from lmc_jupyter.stream import Assembler, delimit

FENCED = "Let me see.\n\n```python\nx = {'a': 1}\nprint(x)\n```\n\nThat was it."
WHOLE = [
    ("message", None, "Let me see."),
    ("code", "python", "x = {'a': 1}\nprint(x)"),
    ("message", None, "That was it."),
]
KEY = "sk-verysecret0123456789abcdef"


def ask(words: str = "Go.") -> list[Message]:
    return [Message("user", "message", content=words)]


def model_at(server: ModelServer, **options: Any) -> LiteLLMModel:
    options = {"api_base": server.base, "api_key": KEY, **options}
    return LiteLLMModel("openai/some-model", **options)


def read(pieces: Iterator[Chunk]) -> tuple[list[tuple[str, str | None, Any]], ModelError | None]:
    """The whole messages of a reply, its unfinished text, and how it failed."""
    assembler, whole = Assembler(), []
    try:
        for chunk in delimit(pieces):
            message = assembler.feed(chunk)
            if message is not None:
                whole.append((message.type, message.format, message.content))
    except ModelError as error:
        rest = assembler.flush()
        if rest is not None and rest.type == "message":
            whole.append((rest.type, rest.format, rest.content))
        return whole, error
    return whole, None


IMPATIENT = """
import asyncio
from lmc_jupyter.models.litellm.worker import call
async def sleep(seconds):
    note(seconds)
    await asyncio.sleep(0)
call._sleep, call._random = sleep, lambda: 1.0
"""


@pytest.fixture(scope="module")
def impatient() -> Iterator[worker_process.LiteLLMWorker]:
    """A worker that does not wait between tries; its jitter is the longest."""
    with patched_worker.patched(IMPATIENT) as worker:
        yield worker


class Pauses:
    """The pauses between tries, which were not waited for."""

    def __init__(self, notes: patched_worker.Notes) -> None:
        self.notes = notes

    def __eq__(self, other: object) -> bool:
        return [float(each) for each in self.notes()] == other

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def no_waiting(
    impatient: worker_process.LiteLLMWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Pauses:
    return Pauses(patched_worker.use(impatient, tmp_path, monkeypatch))


# Replies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
def test_fences_become_code_however_the_server_cuts_them(
    model_server: ModelServer, cut: str
) -> None:
    model_server.turns = [Turn(text(FENCED), cut=cut)]
    assert read(model_at(model_server).respond(ask())) == (WHOLE, None)


@pytest.mark.parametrize("cut", CUTS)
def test_tool_calls_become_code_however_the_server_cuts_them(
    model_server: ModelServer, cut: str
) -> None:
    code = "s = 'é😀\\n'\nprint(s)"
    model_server.turns = [
        Turn(text("Two things."), tool("python", code), tool("bash", "ls"), cut=cut)
    ]
    whole, error = read(model_at(model_server, tools=True).respond(ask()))
    assert error is None
    assert whole == [
        ("message", None, "Two things."),
        ("code", "python", code),
        ("code", "shell", "ls"),
    ]


def test_reasoning_is_for_the_person(model_server: ModelServer) -> None:
    model_server.turns = [Turn(reasoning("Hm, let me think."), text("Four."))]
    pieces = list(model_at(model_server).respond(ask()))
    assert {piece.recipient for piece in pieces if "hink" in piece.content} == {"user"}
    assert "".join(p.content for p in pieces if p.recipient is None) == "Four."


def test_reasoning_by_the_name_that_openrouter_gives_it(model_server: ModelServer) -> None:
    model_server.turns = [Turn(("reasoning", "Hm."), text("Four."))]
    pieces = list(model_at(model_server).respond(ask()))
    assert "".join(p.content for p in pieces if p.recipient is None) == "Four."
    assert "Hm." in "".join(p.content for p in pieces if p.recipient == "user")


def test_a_reply_that_says_a_word_again_and_again_comes_whole(model_server: ModelServer) -> None:
    """LiteLLM ends one after a hundred equal pieces; OpenAI's own stream is read without it."""
    model_server.turns = [Turn(text("again " * 300))]
    pieces = list(model_at(model_server).respond(ask()))
    assert "".join(p.content or "" for p in pieces).split() == ["again"] * 300


def test_a_conversation_comes_back_to_the_server_with_its_calls_answered(
    model_server: ModelServer,
) -> None:
    model_server.turns = [Turn(tool("python", "1 + 1")), Turn(text("Two."))]
    model = model_at(model_server, tools=True)
    messages = ask("What is 1 + 1?")
    assert read(model.respond(messages))[0] == [("code", "python", "1 + 1")]
    messages += [
        Message("assistant", "code", "python", "1 + 1"),
        Message("computer", "console", "output", "2\n"),
    ]
    assert read(model.respond(messages))[0] == [("message", None, "Two.")]
    sent = model_server.requests[-1].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"]


def test_settings_reach_the_provider_as_they_were_set(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("ok"))]
    model = model_at(model_server, temperature=0, max_tokens=77, tools=True)
    question = "explain print({'foo': 'bar'}) {x} \ud800 \U0001f600"
    read(model.with_brief(lambda: Brief("Be {brief}."), lambda _: None).respond(ask(question)))
    body = model_server.requests[0].body
    assert body["temperature"] == 0
    assert body["max_tokens"] == 77
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"][0]["content"].startswith("Be {brief}.\n\nRun code with execute")
    assert body["messages"][1]["content"] == question.replace("\ud800", "\ufffd")
    assert set(body) == {
        "model", "messages", "stream", "stream_options", "temperature", "max_tokens", "tools",
    }  # fmt: skip


def sent_tools(server: ModelServer) -> list[bool]:
    """Of each request, whether tools were in it."""
    return ["tools" in each.body for each in server.requests]


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(400, '"auto" tool choice requires --enable-auto-tool-choice to be set'),  # vLLM
        Refusal(500, "tools param requires --jinja flag"),  # llama.cpp
        Refusal(404, "No endpoints found that support tool use"),
        Refusal(422, "body.tools: Extra inputs are not permitted"),
    ],
    ids=lambda refusal: str(refusal.status),
)
def test_tools_are_tried_at_an_own_address_and_left_out_where_they_are_refused(
    model_server: ModelServer, refusal: Refusal
) -> None:
    model_server.first = [refusal]
    model_server.turns = [Turn(text(FENCED))]
    model = model_at(model_server)
    said: list[str] = []
    told = model.with_brief(Brief, said.append)
    assert read(told.respond(ask())) == (WHOLE, None)
    assert sent_tools(model_server) == [True, False]
    assert "openai/some-model takes no tools there: asking again without them" in said
    assert read(model.with_brief(Brief, said.append).respond(ask("Again."))) == (WHOLE, None)
    assert sent_tools(model_server) == [True, False, False]


def test_tools_that_the_person_wants_are_not_left_out(model_server: ModelServer) -> None:
    model_server.first = [Refusal(400, "this model does not support tools")]
    _, error = read(model_at(model_server, tools=True).respond(ask()))
    assert "does not support tools" in str(error)
    assert sent_tools(model_server) == [True]


def test_tools_of_an_earlier_setting_are_left_out_where_they_are_refused_by_now(
    model_server: ModelServer,
) -> None:
    """A setting that forbids calls leaves the tools in the request; a refusal does not."""
    exchanges = Exchanges()
    before, now = (
        model_at(model_server, tools=tools).with_brief(lambda: Brief(exchanges=exchanges), print)
        for tools in (True, False)
    )
    model_server.turns = [Turn(text(FENCED))]
    talk = ask()
    read(before.respond(talk))
    talk += [Message("assistant", "message", content="Yes."), *ask("Again.")]
    read(now.respond(talk))
    assert sent_tools(model_server) == [True, True]
    model_server.first = [Refusal(400, "this model does not support tools")]
    assert read(now.respond(talk)) == (WHOLE, None)
    assert sent_tools(model_server) == [True, True, True, False]


def test_another_refusal_is_not_asked_again_without_tools(model_server: ModelServer) -> None:
    model_server.first = [Refusal(400, "temperature must be at most 2")]
    _, error = read(model_at(model_server).respond(ask()))
    assert "temperature" in str(error)
    assert sent_tools(model_server) == [True]


def test_after_something_of_the_reply_has_come_it_is_not_asked_again(
    model_server: ModelServer,
) -> None:
    error = b'data: {"error": {"message": "tools failed", "code": 400}}\n\n'
    model_server.turns = [
        Fault(HEAD + chunked(event({"content": "Well, "})) + chunked(error) + END)
    ]
    whole, failed = read(model_at(model_server).respond(ask()))
    assert failed is not None
    assert whole == [("message", None, "Well,")]
    assert sent_tools(model_server) == [True]


def test_a_call_at_an_own_address_is_code(model_server: ModelServer) -> None:
    model_server.turns = [Turn(tool("python", "1 + 1")), Turn(text("It is 2."))]
    model = model_at(model_server)
    assert read(model.respond(ask())) == ([("code", "python", "1 + 1")], None)
    read(model.respond(ask()))
    assert sent_tools(model_server) == [True, True]


def test_where_tools_are_ignored_fences_are_code_and_tools_are_left_out_from_then_on(
    model_server: ModelServer,
) -> None:
    model_server.turns = [Turn(text(FENCED))]
    model = model_at(model_server)
    assert read(model.respond(ask())) == (WHOLE, None)
    assert read(model.respond(ask())) == (WHOLE, None)
    assert sent_tools(model_server) == [True, False]


@pytest.mark.parametrize("known", [None, True])
def test_a_fence_in_the_words_of_a_model_that_has_called_the_tool_is_only_shown(
    model_server: ModelServer, known: bool | None
) -> None:
    model_server.turns = [Turn(tool("python", "1 + 1")), Turn(text(FENCED)), Turn(text(FENCED))]
    model = model_at(model_server, tools=known)
    messages = ask()
    assert read(model.respond(messages))[0] == [("code", "python", "1 + 1")]
    messages += [
        Message("assistant", "code", "python", "1 + 1"),
        Message("computer", "console", "output", "2\n"),
    ]
    for _ in range(2):
        pieces, error = read(model.respond(messages))
        assert error is None
        ((kind, _, words),) = pieces
        assert (kind, words) == ("message", FENCED.strip())
        messages += [
            Message("assistant", "message", content=words),
            Message("user", "message", content="Again?"),
        ]
    assert sent_tools(model_server) == [True, True, True]


def test_a_model_that_has_called_the_tool_keeps_its_tools_in_the_next_conversation(
    model_server: ModelServer,
) -> None:
    model_server.turns = [Turn(tool("python", "1 + 1"))]
    model = model_at(model_server)

    def ask_anew() -> Any:
        conversation = Brief(exchanges=Exchanges(), languages={"python": ()})
        return read(model.with_brief(lambda: conversation, lambda _: None).respond(ask()))

    assert ask_anew()[0] == [("code", "python", "1 + 1")]
    model_server.turns = [Turn(text(FENCED))]
    for _ in range(2):
        ((kind, _, words),), error = ask_anew()
        assert (kind, words, error) == ("message", FENCED.strip(), None)
    assert sent_tools(model_server) == [True, True, True]


def test_a_model_that_litellm_knows_gets_tools(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("ok"))]
    known = LiteLLMModel("openai/gpt-4o-mini", api_base=model_server.base, api_key=KEY)
    read(known.respond(ask()))
    assert model_server.requests[0].body["tools"][0]["function"]["name"] == "execute"


def test_the_environment_gives_the_base_and_the_key(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.turns = [Turn(text("ok"))]
    monkeypatch.setenv("LMC_API_BASE", model_server.base)
    monkeypatch.setenv("LMC_API_KEY", "of-the-environment")
    assert read(LiteLLMModel("openai/x").respond(ask())) == ([("message", None, "ok")], None)
    assert model_server.requests[0].headers["authorization"] == "Bearer of-the-environment"


def test_usage_and_cost_are_of_the_last_reply(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("ok"), usage=(1000, 100))]
    known = LiteLLMModel("openai/gpt-4o-mini", api_base=model_server.base, api_key=KEY)
    told = known.with_brief(Brief, lambda _: None)
    read(told.respond(ask()))
    usage = known.usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (1000, 100)
    assert usage.cost == pytest.approx(1000 * 0.15e-6 + 100 * 0.6e-6)
    assert usage.seconds > 0


def test_the_time_of_a_request_is_without_that_of_its_reader(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = 0
    real = time.monotonic
    clock = SimpleNamespace(monotonic=lambda: real() + 3600 * hours)
    for module in (completion, request):
        monkeypatch.setattr(module, "time", clock, raising=False)
    model_server.turns = [Turn(text("It takes some words."))]
    kept: list[request.Request] = []
    model = model_at(model_server).with_record(kept.append)
    for _ in model.respond(ask()):
        hours += 1  # its code waits for the person
    assert hours > 1
    assert 0 < kept[0].seconds < 3600


OWN_PRICE = {"input_cost_per_token": 1.0, "output_cost_per_token": 10.0}


@pytest.mark.parametrize(
    ("options", "cost"),
    [
        ({}, 200 * 0.15e-6 + 800 * 0.075e-6 + 100 * 0.6e-6),  # by LiteLLM's list
        (OWN_PRICE, 2000.0),
        ({**OWN_PRICE, "cache_read_input_token_cost": 0.1}, 200 + 80 + 1000),
    ],
)
def test_what_came_from_a_cache_is_cheaper(
    model_server: ModelServer, options: dict[str, float], cost: float
) -> None:
    model_server.turns = [Turn(text("ok"), usage=(1000, 100), cached=800)]
    model = LiteLLMModel("openai/gpt-4o-mini", api_base=model_server.base, api_key=KEY, **options)
    sent: list[Request] = []
    read(model.with_record(sent.append).respond(ask()))
    assert sent[0].cost == pytest.approx(cost)
    assert (sent[0].cached_tokens, sent[0].estimate) == (800, None)


def test_what_is_not_counted_is_an_estimate_and_no_cost(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("ok " * 400), usage=None)]
    model = model_at(model_server)
    sent: list[Request] = []
    read(model.with_record(sent.append).respond(ask()))
    assert model.usage is not None
    assert (model.usage.prompt_tokens, model.usage.cost) == (None, None)
    assert (sent[0].prompt_tokens, sent[0].completion_tokens) == (None, None)
    assert sent[0].estimate is not None
    assert 300 < sent[0].estimate < 1_000


def test_what_was_refused_has_no_estimate(model_server: ModelServer) -> None:
    model_server.turns = [Refusal(401, "no")]
    sent: list[Request] = []
    _, error = read(model_at(model_server).with_record(sent.append).respond(ask()))
    assert error
    assert sent[0].estimate is None


# Faults -------------------------------------------------------------------------------------------

FIRST = chunked(event({"role": "assistant", "content": "he"}))
CODE = chunked(event({"content": "\n```python\nx = 1\n"}))
HALF = b'data: {"id":"c","choi'
BROKEN = {
    "the connection is cut within an event": Fault(HEAD + FIRST + chunked(HALF)),
    "the connection is cut between events": Fault(HEAD + FIRST),
    "the connection is reset": Fault(HEAD + FIRST, reset=True),
    "it ends politely without a finish": Fault(HEAD + FIRST + END),
    "it ends politely within an event": Fault(
        HEAD + FIRST + chunked(HALF) + END
    ),
    "it is done without a finish": Fault(HEAD + FIRST + chunked(DONE) + END),
    "it ends within a block of code": Fault(HEAD + FIRST + CODE + END),
    "a block of code stays open": Fault(
        HEAD + FIRST + CODE + chunked(event({}, "stop") + DONE) + END
    ),
    "the limit was reached": Fault(HEAD + FIRST + chunked(event({}, "length") + DONE) + END),
    "the filter stepped in": Fault(
        HEAD + FIRST + chunked(event({}, "content_filter") + DONE) + END
    ),
    "an event is not JSON": Fault(HEAD + FIRST + chunked(b"data: {nonsense}\n\n") + END),
    "an event is an error": Fault(
        HEAD + FIRST + chunked(b'data: {"error": {"message": "overloaded", "code": 529}}\n\n') + END
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
def test_a_reply_that_is_not_whole_is_an_error_and_is_not_asked_for_again(
    model_server: ModelServer, fault: Fault
) -> None:
    model_server.turns = [fault]
    pieces: list[Chunk] = []
    with pytest.raises(ModelError) as caught:
        pieces.extend(model_at(model_server).respond(ask()))
    text_of = "".join(each.content or "" for each in pieces if each.type == "message")
    assert text_of == "" or text_of.startswith("he")
    assert not [each for each in pieces if each.type == "code" and each.end]
    assert len(model_server.requests) == 1
    assert len(str(caught.value)) > 30


ALONE = """
import json, sys
import litellm
taken = []
for base in sys.argv[1:]:
    try:
        pieces = list(litellm.completion(model="openai/m", api_base=base, api_key="k", stream=True,
                                         messages=[{"role": "user", "content": "Go."}]))
        taken.append(pieces[-1].choices[0].finish_reason)
    except Exception as error:
        taken.append(type(error).__name__)
print(json.dumps(taken))
"""


@pytest.mark.long
def test_control_litellm_alone_takes_one_of_them_for_whole(record_property) -> None:
    """Its `finish_reason` is "stop" for what is not whole, such as code whose block stays open."""
    servers = [ModelServer() for _ in BROKEN]
    with ExitStack() as stack:
        for server, fault in zip(servers, BROKEN.values(), strict=True):
            stack.enter_context(server).turns = [fault]
        done = subprocess.run(
            [sys.executable, "-c", ALONE, *(server.base for server in servers)],
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    taken = json.loads(done.stdout.splitlines()[-1])
    stops = sum(each == "stop" for each in taken)
    assert stops, dict(zip(BROKEN, taken, strict=True))
    record_property("figure", f"LiteLLM alone calls {stops} of {len(BROKEN)} broken replies whole")


@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
def test_what_had_come_before_the_fault_is_kept(model_server: ModelServer, fault: Fault) -> None:
    model_server.turns = [fault]
    whole, error = read(model_at(model_server).respond(ask()))
    assert error is not None
    assert whole[0] == ("message", None, "he")


def test_a_page_in_place_of_a_stream_is_an_error(
    model_server: ModelServer, no_waiting: Pauses
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 24\r\n"
    close = b"Connection: close\r\n\r\n"  # else the next try may take this connection as it ends
    model_server.turns = [Fault(head + close + b"<html>proxy error</html>")]
    _, error = read(model_at(model_server).respond(ask()))
    assert "stopped " in str(error)


def test_what_follows_the_end_is_no_part_of_the_reply(model_server: ModelServer) -> None:
    late = chunked(event({}, "stop") + event({"content": "more"}) + event({}, "stop") + DONE)
    model_server.turns = [Fault(HEAD + FIRST + late + END)]
    assert read(model_at(model_server).respond(ask())) == ([("message", None, "he")], None)


def test_a_finish_without_done_and_without_an_end_is_enough(model_server: ModelServer) -> None:
    model_server.turns = [Fault(HEAD + FIRST + chunked(event({}, "stop")), stall=True)]
    assert read(model_at(model_server).respond(ask())) == ([("message", None, "he")], None)


@pytest.mark.parametrize("kind", ["fences", "tools"])
def test_no_cut_of_the_wire_makes_code_that_the_whole_reply_has_not(
    model_server: ModelServer, no_waiting: Pauses, kind: str, record_property: Any
) -> None:
    if kind == "fences":
        deltas = [{"content": piece} for piece in CUTS["4"](FENCED)]
    else:
        arguments = json.dumps({"language": "python", "code": "x = 'é😀'\nprint(x)"})
        function = {"name": "execute", "arguments": ""}
        deltas = [
            {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
        ]
        deltas += [
            {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            for piece in CUTS["4"](arguments)
        ]
    finish = "stop" if kind == "fences" else "tool_calls"
    data = HEAD + b"".join(chunked(event(each)) for each in deltas)
    data += chunked(event({}, finish)) + chunked(DONE) + END
    model = model_at(model_server, tools=kind == "tools", limits=NetworkLimits(tries=1))
    model_server.turns = [Fault(data)]
    expected, error = read(model.respond(ask()))
    assert error is None
    code = [each for each in expected if each[0] == "code"]
    assert code
    finished = data.index(b'"finish_reason": "' + finish.encode())
    cuts = range(len(HEAD), finished, amount(61, 1))
    for cut in cuts:
        model_server.turns = [Fault(data, cut=cut)]
        whole, error = read(model.respond(ask()))
        assert error is not None, cut
        assert [each for each in whole if each[0] == "code"] in ([], code), cut
    record_property("figure", f"{kind}: {len(cuts):,} cuts: 0 blocks that the whole reply has not")


def anthropic_event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def anthropic_delta(**delta: Any) -> bytes:
    return anthropic_event("content_block_delta", index=0, delta=delta)


def gemini_event(text_: str, **more: Any) -> bytes:
    candidate = {"content": {"parts": [{"text": text_}], "role": "model"}, "index": 0, **more}
    return b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\r\n\r\n"


def ollama_line(text_: str, **more: Any) -> bytes:
    message = {"role": "assistant", "content": text_}
    return json.dumps({"model": "x", "message": message, "done": False, **more}).encode() + b"\n"


def response_event(kind: str, **fields: Any) -> bytes:
    return anthropic_event(f"response.{kind}", output_index=0, **fields)


ITEM: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant"}
RESPONSE: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "tools": [], "output": [],
    "parallel_tool_calls": True, "tool_choice": "auto", "status": "in_progress",
}  # fmt: skip
ALL = {**ITEM, "content": [{"type": "output_text", "text": "Hello you.", "annotations": []}]}
SAYS = {"item_id": "msg_1", "content_index": 0}

USAGE = {"input_tokens": 10, "output_tokens": 1}
STARTED = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
OTHERS = {
    "anthropic/claude-sonnet-4-5": [
        anthropic_event("message_start", message={**STARTED, "usage": USAGE}),
        anthropic_event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        anthropic_delta(type="text_delta", text="Hello "),
        anthropic_delta(type="text_delta", text="you."),
        anthropic_event("message_delta", delta={"stop_reason": "end_turn"}, usage=USAGE),
        anthropic_event("message_stop"),
    ],
    "gemini/gemini-2.5-flash": [
        gemini_event("Hello "),
        gemini_event('you."finishReason"'),
        gemini_event("", finishReason="STOP"),
    ],
    "openai/responses/gpt-5.4": [
        response_event("created", response=RESPONSE),
        response_event("output_item.added", item={**ITEM, "content": []}),
        response_event("output_text.delta", **SAYS, delta="Hello "),
        response_event("output_text.delta", **SAYS, delta="you."),
        response_event("completed", response={**RESPONSE, "output": [ALL], "status": "completed"}),
    ],
    "ollama_chat/x": [
        ollama_line("Hello "),
        ollama_line("you."),
        ollama_line("", done=True, done_reason="stop", prompt_eval_count=3, eval_count=2),
    ],
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_end_of_other_providers_is_seen_too(model_server: ModelServer, name: str) -> None:
    events = OTHERS[name]
    model = LiteLLMModel(
        name,
        api_base=f"http://127.0.0.1:{model_server.port}",
        api_key=KEY,
        limits=NetworkLimits(tries=1),
        tools=False,
        vision=False,
    )
    finish = next(i for i, each in enumerate(events) if b"end_turn" in each or b"one_reason" in each
                  or b'"STOP"' in each or b"response.completed" in each)  # fmt: skip
    for count in range(1, len(events) + 1):
        model_server.turns = [Fault(HEAD + b"".join(map(chunked, events[:count])) + END)]
        whole, error = read(model.respond(ask()))
        assert (error is None) == (count > finish), (count, error)
        text_ = "".join(each[2] for each in whole)
        assert "Hello you.".startswith(text_.replace('"finishReason"', ""))
    assert text_.startswith("Hello you.")


@pytest.mark.parametrize("name", OTHERS)
def test_closing_closes_the_connection_of_other_providers(
    model_server: ModelServer, name: str
) -> None:
    model_server.turns = [Fault(HEAD + b"".join(map(chunked, OTHERS[name][:3])), stall=True)]
    base = f"http://127.0.0.1:{model_server.port}"
    reply = LiteLLMModel(name, api_base=base, api_key=KEY, tools=False).respond(ask())
    assert next(reply).content == "Hello"
    reply.close()
    assert model_server.dropped.wait(30)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (call("search", '{"q": "x"}'), "'search' that does not exist"),
        (call("execute", '{"language": "python", "code": prin'), "not valid JSON"),
        (call("execute", '{"language": "python"}'), "without 'code'"),
        (call("execute", '{"language": "python", "code": "1'), "stopped before"),
    ],
)
def test_a_call_that_makes_no_sense_is_an_error(
    model_server: ModelServer, part: tuple[Any, ...], words: str
) -> None:
    model_server.turns = [Turn(text("So:"), part)]
    whole, error = read(model_at(model_server, tools=True).respond(ask()))
    assert words in str(error)
    assert ("message", None, "So:") in whole
    assert not [each for each in whole if each[0] == "code"]


# Errors before the first word ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Refusal(401, "Incorrect API key provided"), ["refused (401)", "Incorrect API key"]),
        (Refusal(403, "not for you"), ["not allowed", "not for you"]),
        (Refusal(404, "The model does not exist"), ["no model openai/some-model", "404"]),
        (Refusal(400, "temperature must be below 2"), ["temperature must be below 2"]),
        (
            Refusal(
                400,
                "This model's maximum context length is 1000 tokens",
                {},
                "context_length_exceeded",
            ),
            ["longer than", "%lmc reset"],
        ),
        (Refusal(429, "slow down", {"Retry-After": "3600"}), ["429", "wait 3600 s", "slow down"]),
        (Refusal(500, "kaput"), ["500", "kaput"]),
    ],
)
def test_each_refusal_is_a_sentence_of_its_own(
    model_server: ModelServer, no_waiting: Pauses, answer: Refusal, words: list[str]
) -> None:
    model_server.turns = [answer]
    whole, error = read(model_at(model_server).respond(ask()))
    assert whole == []
    assert error is not None
    assert [word for word in words if word not in str(error)] == [], str(error)


def test_nobody_there(model_server: ModelServer, no_waiting: Pauses) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        _, error = read(LiteLLMModel("openai/x", api_base=base, api_key=KEY).respond(ask()))
    assert "cannot be reached" in str(error)
    assert "127.0.0.1" in str(error)
    assert no_waiting == []  # a server that is not there is not there a second later either


def test_an_unknown_model_is_named() -> None:
    _, error = read(LiteLLMModel("nonsense").respond(ask()))
    assert "unknown model 'nonsense'" in str(error)
    assert "write it as provider/name" in str(error)


def test_a_model_that_does_not_exist_is_met_with_what_was_meant() -> None:
    _, error = read(LiteLLMModel("gpt5").respond(ask()))
    assert "unknown model 'gpt5': did you mean gpt-5" in str(error)
    assert suggest("openai/gpt5").startswith("did you mean openai/gpt-5")
    assert suggest("anthropic/gpt5") == ""
    assert suggest("openai/gpt-5") == ""
    assert suggest("gpt-5") == ""


def test_a_model_that_a_server_lacks_is_met_with_one_that_it_has(
    model_server: ModelServer, no_waiting: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = Offer("openai/qwen2.5-coder-7b", "a server", {"api_base": model_server.base})
    monkeypatch.setattr("lmc_jupyter.models.find_offers", lambda: [has])
    model_server.turns = [Refusal(404, "no such model")]
    model = LiteLLMModel("openai/qwen2.5-coder-7", api_base=model_server.base, api_key=KEY)
    _, error = read(model.respond(ask()))
    assert f"did you mean openai/qwen2.5-coder-7b --api-base {model_server.base}?" in str(error)


def test_what_was_meant_is_not_looked_up_while_litellm_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_process, "_workers", [])
    assert suggest("gpt5") == ""


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ],
)
def test_no_key_says_which_variable_to_set(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    for each in (variable, "LMC_API_BASE", "LMC_API_KEY"):
        monkeypatch.delenv(each, raising=False)
    _, error = read(LiteLLMModel(name).respond(ask()))
    assert f"set {variable}" in str(error)


# Retries ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_failure_before_the_first_word_is_tried_again(
    model_server: ModelServer, no_waiting: Pauses, status: int
) -> None:
    model_server.first = [Refusal(status), Refusal(status)]
    model_server.turns = [Turn(text("ok"))]
    told: list[str] = []
    model = model_at(model_server).with_brief(Brief, told.append)
    assert read(model.respond(ask())) == ([("message", None, "ok")], None)
    assert no_waiting == [1.0, 2.0]
    assert "trying again" in told[-1]


def test_a_reset_before_the_first_word_is_tried_again(
    model_server: ModelServer, no_waiting: Pauses
) -> None:
    model_server.first = [Fault(b"", reset=True), Fault(b"")]
    model_server.turns = [Turn(text("ok"))]
    assert read(model_at(model_server).respond(ask())) == ([("message", None, "ok")], None)
    assert len(model_server.requests) == 3


def test_four_tries_and_no_more(model_server: ModelServer, no_waiting: Pauses) -> None:
    model_server.turns = [Refusal(503, "overloaded")]
    _, error = read(model_at(model_server).respond(ask()))
    assert "overloaded" in str(error)
    assert len(model_server.requests) == 4
    assert no_waiting == [1.0, 2.0, 4.0]


TRIED = {
    "too many requests": (Refusal(429, "slow down"), 4),
    "too many tokens": (Refusal(429, "rate limit reached", code="rate_limit_exceeded"), 4),
    "the server failed": (Refusal(500, "internal error"), 4),
    "an empty error": (Refusal(500, ""), 4),
    "it comes back within a minute": (Refusal(429, "slow down", {"Retry-After": "60"}), 4),
    "it comes back later": (Refusal(429, "slow down", {"Retry-After": "61"}), 1),
    "a failed server comes back later": (Refusal(500, "down", {"Retry-After": "3600"}), 1),
    "nothing is paid for": (
        Refusal(429, "You exceeded your current quota", code="insufficient_quota"),
        1,
    ),
}
"""What comes of each request, and how many are sent: docs/settings.md."""


@pytest.mark.long
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("what", TRIED)
def test_the_number_of_requests_depends_on_the_answer_alone(
    model_server: ModelServer, no_waiting: Pauses, what: str, tools: bool
) -> None:
    refusal, count = TRIED[what]
    model_server.turns = [refusal]
    model = model_at(model_server, tools=tools)
    for _ in range(2):
        model_server.requests.clear()
        _, error = read(model.respond(ask()))
        assert f"({refusal.status})" in str(error)
        assert len(model_server.requests) == count


def test_the_page_says_how_often_a_request_is_sent() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    usual = NetworkLimits()
    assert f"is sent {usual.tries} times at most" in page
    assert f"in more than {usual.longest_wait:.0f} seconds" in page


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_would_fail_again_is_not_tried_again(
    model_server: ModelServer, no_waiting: Pauses, status: int
) -> None:
    model_server.turns = [Refusal(status)]
    read(model_at(model_server).respond(ask()))
    assert len(model_server.requests) == 1


ALWAYS = """
import sys, litellm
for base in sys.argv[1:]:
    try:
        litellm.completion(
            model="openai/m", api_base=base, api_key="k", num_retries=3,
            messages=[{"role": "user", "content": "Go."}],
        )
    except Exception:
        pass
"""


@pytest.mark.long
def test_control_litellms_own_retries_ask_again_where_nothing_helps(record_property) -> None:
    refusals = [Refusal(status) for status in (400, 401, 403, 404)]
    servers = [ModelServer() for _ in refusals]
    with ExitStack() as stack:
        for server, refusal in zip(servers, refusals, strict=True):
            stack.enter_context(server).turns = [refusal]
        subprocess.run(
            [sys.executable, "-c", ALWAYS, *(server.base for server in servers)],
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    counts = [len(server.requests) for server in servers]
    assert sum(counts) > len(counts)
    record_property(
        "figure", f"LiteLLM's own retries send {sum(counts)} requests for {len(counts)}"
    )


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(timezone.utc) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("header", "expected"),
    [("7", 7), ("0.5", 0.5), ("1000000", None), ("soon", 1.0), ("-3", 0.0), ("nan", 1.0)],
)
def test_retry_after_is_honoured_up_to_a_minute(
    model_server: ModelServer, no_waiting: Pauses, header: str, expected: float | None
) -> None:
    model_server.first = [Refusal(429, headers={"Retry-After": header})]
    model_server.turns = [Turn(text("ok"))]
    _, error = read(model_at(model_server).respond(ask()))
    assert no_waiting == ([] if expected is None else [expected])
    assert (error is None) == (expected is not None)


def test_retry_after_may_be_a_date(model_server: ModelServer, no_waiting: Pauses) -> None:
    model_server.first = [Refusal(429, headers={"Retry-After": in_seconds(30)})]
    model_server.turns = [Turn(text("ok"))]
    read(model_at(model_server).respond(ask()))
    assert no_waiting == [pytest.approx(30, abs=15)]


# Stopping -----------------------------------------------------------------------------------------


def test_closing_the_reply_closes_the_connection(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("one two"), STALL)]
    reply = model_at(model_server).respond(ask())
    assert next(reply).content == "one"
    reply.close()
    assert model_server.dropped.wait(30)


def test_stop_from_another_thread_ends_a_reply_that_waits(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("one"), STALL)]
    model = model_at(model_server)
    told = model.with_brief(Brief, lambda _: None)
    reply = told.respond(ask())
    assert next(reply).content == "one"
    thread = threading.Thread(target=lambda: model_server.asked.wait(30) and told.stop())
    thread.start()
    with pytest.raises(Stopped):
        next(reply)
    thread.join()
    assert model_server.dropped.wait(30)
    with pytest.raises(Stopped):
        next(told.respond(ask()))
    model_server.turns = [Turn(text("fresh"))]
    assert next(model.with_brief(Brief, lambda _: None).respond(ask())).content == "fresh"


def test_stop_wins_over_what_has_come_already(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("one two three"))]
    told = model_at(model_server).with_brief(Brief, lambda _: None)
    reply = told.respond(ask())
    assert next(reply).content == "one"
    told.stop()
    with pytest.raises(Stopped):
        next(reply)


def test_stop_ends_the_pause_between_two_tries(model_server: ModelServer) -> None:
    model_server.turns = [Refusal(429, headers={"Retry-After": "50"})]
    model = model_at(model_server)
    told = model.with_brief(Brief, lambda words: "trying" in words and told.stop())
    with pytest.raises(Stopped):
        next(told.respond(ask()))
    assert len(model_server.requests) == 1


def test_stop_before_any_byte_has_come_closes_the_connection(model_server: ModelServer) -> None:
    model_server.turns = [Fault(b"", stall=True)]
    told = model_at(model_server).with_brief(Brief, lambda _: None)
    thread = threading.Thread(target=lambda: model_server.asked.wait(30) and told.stop())
    thread.start()
    with pytest.raises(Stopped):
        next(told.respond(ask()))
    thread.join()
    assert model_server.dropped.wait(30)


def test_the_interrupt_key_ends_the_waiting(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("one"), STALL)]
    reply = model_at(model_server).respond(ask())
    assert next(reply).content == "one"
    main = threading.main_thread().ident

    def press() -> None:
        while not reply.gi_running:  # until the main thread waits for the next piece
            threading.Event().wait(0.01)
        signal.pthread_kill(main, signal.SIGINT)  # type: ignore[arg-type]

    thread = threading.Thread(target=press)
    with pytest.raises(KeyboardInterrupt):
        interrupted(thread, reply)
    thread.join()
    assert model_server.dropped.wait(30)


def interrupted(thread: threading.Thread, reply: Iterator[Chunk]) -> None:
    thread.start()
    next(reply)


def test_the_reply_goes_on_downloading_while_a_person_decides(model_server: ModelServer) -> None:
    sent = threading.Event()
    block = "```python\n1\n```\n"
    model_server.turns = [Turn(text(block), wait(sent), text(block * 3), cut="all")]
    reply = model_at(model_server).respond(ask())
    first = next(reply)
    assert first.content == "1"
    sent.set()
    while (
        worker_process.worker()._boxes
    ):  # until it has come whole, although nobody takes its pieces
        threading.Event().wait(0.01)
    assert len([each for each in reply if each.end]) == 4


def test_silence_before_and_within_a_reply_has_an_end(model_server: ModelServer) -> None:
    silent, broken_off = NetworkLimits(first_byte=0.2, tries=1), NetworkLimits(idle=2.0, tries=1)
    model_server.turns = [Fault(b"", stall=True)]
    _, error = read(model_at(model_server, limits=silent).respond(ask()))
    assert "did not answer within" in str(error)
    model_server.turns = [Turn(text("one"), STALL)]
    _, error = read(model_at(model_server, limits=broken_off).respond(ask()))
    assert "sent nothing for" in str(error)


# Keys ---------------------------------------------------------------------------------------------


def test_no_key_is_in_the_error_nor_in_any_frame_of_ours(model_server: ModelServer) -> None:
    model_server.turns = [Refusal(401, f"Incorrect API key provided: {KEY}. Bearer {KEY}")]
    with pytest.raises(ModelError, match="refused") as caught:
        list(model_at(model_server).respond(ask()))
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    shown.stack[:] = [frame for frame in shown.stack if "lmc_jupyter" in frame.filename]
    assert shown.stack
    assert KEY not in "".join(shown.format())
    assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_by_a_providers_own_name_is_held_like_any_other(model_server: ModelServer) -> None:
    model_server.turns = [Refusal(401, "no such account: own-secret-word")]
    model = model_at(model_server, extra_secret="own-secret-word", temperature=0)
    assert "own-secret-word" not in repr(vars(model))
    with pytest.raises(ModelError, match="refused") as caught:
        list(model.respond(ask()))
    assert "own-secret-word" not in str(caught.value)
    assert model_server.requests[0].body["extra_secret"] == "own-secret-word"


def test_the_keys_of_the_environment_do_not_go_to_another_server(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model_server.turns = [Turn(text("ok"))]
    model = LiteLLMModel("openai/gpt-4o-mini", api_base=model_server.base)
    assert read(model.respond(ask()))[1] is None
    assert KEY not in json.dumps([each.headers for each in model_server.requests])


def test_a_secret_shows_itself_nowhere() -> None:
    secret = Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {secret:>5} {vars(LiteLLMModel('x', api_key=KEY))}"
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(secret)


# The import ---------------------------------------------------------------------------------------


def test_litellm_is_imported_by_nothing_but_a_call() -> None:
    program = (
        "import sys, lmc_jupyter, lmc_jupyter.models as m, lmc_jupyter.models.litellm as l;"
        "m.get_model('openai/gpt-4o', api_key='x'); m.find_offers({});"
        "print([n for n in ('litellm', 'openai', 'httpx', 'anywidget') if n in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]", run.stderr
