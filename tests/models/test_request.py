"""What was sent: the body as it went out, without keys, kept once."""

from __future__ import annotations

import json

import pytest

from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.replay import ReplayModel
from lmc_jupyter.models.request import MAX_DATA, Recordable, Request, describe_tokens

KEY = "my-own-key-0123456789"


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def test_no_key_is_in_the_body_wherever_it_stands():
    body = {
        "model": "m",
        "api_key": KEY,
        "extra_headers": {"Authorization": KEY},
        "messages": [user(f"my key is {KEY}")],
        "nested": {"headers": {"x": KEY}, "kept": 1},
        "secret": Secret(KEY),
    }
    shown = Request("m", body, [Secret(KEY)]).body
    assert KEY not in shown
    assert json.loads(shown)["nested"] == {"kept": 1}
    assert "my key is [redacted]" in shown


def test_options_that_hold_a_key_are_not_shown_whatever_the_provider_calls_them():
    body = {
        "aws_secret_access_key": KEY,
        "aws_session_token": KEY,
        "azure_ad_token": KEY,
        "vertex_credentials": {"private_key": KEY},
        "extra_body": {"token": KEY, "user_password": KEY},
        "aws_region_name": "eu-central-1",
        "max_tokens": 100,
        "stream_options": {"include_usage": True},
        "messages": [user("the token of a key")],
    }
    shown = Request("bedrock/m", body).body
    assert KEY not in shown
    read = json.loads(shown)
    assert read["aws_secret_access_key"] == read["vertex_credentials"] == "[redacted]"
    for name in ("aws_region_name", "max_tokens", "stream_options", "messages"):
        assert read[name] == body[name]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((1234, 0, 0), "1,234 tokens (counted)"),
        ((1234, 1000, 0), "1,234 tokens (counted, 1,000 cached)"),
        ((0, 0, 1234), "about 1,200 tokens (estimated)"),
        ((1000, 500, 234), "about 1,200 tokens (estimated)"),  # one figure, of both
        ((0, 0, 0), ""),
    ],
)
def test_tokens_are_one_figure_that_says_where_it_is_from(counts, words):
    assert describe_tokens(*counts) == words


def test_images_are_shown_by_their_beginning_and_text_whole():
    url = "data:image/png;base64," + "A" * 100_000
    part = {"type": "image_url", "image_url": {"url": url}}
    sound = {"type": "input_audio", "input_audio": {"data": "B" * 50_000, "format": "wav"}}
    text = "word " * 50_000
    body = Request("m", {"messages": [user(text), {"role": "user", "content": [part, sound]}]}).body
    assert text in body
    assert "A" * MAX_DATA not in body
    assert f"{len(url) - MAX_DATA:,} characters left out" in body
    assert "B" * 2_001 not in body


def test_what_two_requests_share_is_kept_once():
    first = Request("m", {"messages": [user("1"), user("2")]})
    second = Request("m", {"messages": [user("1"), user("2"), user("3")]})
    second.follows(first)
    mine, others = second._data["messages"], first._data["messages"]
    assert mine[0] is others[0]
    assert mine[1] is others[1]
    third = Request("m", {"messages": [user("1"), user("changed"), user("2")]})
    third.follows(first)
    assert [each["content"] for each in third._data["messages"]] == ["1", "changed", "2"]


def test_the_providers_own_form_takes_the_place_of_ours():
    request = Request("m", {"model": "anthropic/m", "messages": [user("1")], "temperature": 0})
    kept = request._data["messages"]
    request.set_body({"model": "m", "messages": [user("1")], "stream": True, "user": None})
    assert json.loads(request.body) == {"model": "m", "messages": [user("1")], "stream": True}
    assert request._data["messages"] is kept


def test_a_recording_says_that_nothing_was_sent_and_what_would_have_been(tmp_path):
    path = tmp_path / "r.jsonl"
    lines = [{"recording": "m"}, {"role": "assistant", "type": "message", "content": "Hi."},
             {"reply": "end"}]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)))
    model, kept = ReplayModel(path), []
    assert isinstance(model, Recordable)
    told = model.with_brief(lambda: Brief("Be brief.", "df: DataFrame"), lambda _: None)
    told = told.with_record(kept.append)
    assert [
        chunk.content for chunk in told.respond([Message("user", "message", content="Hey")])
    ] == ["Hi."]
    [request] = kept
    assert "Nothing was sent" in request.body
    assert "df: DataFrame" in request.body
    assert "Hey" in request.body
    assert request.prompt_tokens is None
