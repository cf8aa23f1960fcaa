"""A request as a person reads it: every form, with real line breaks, and nothing left out."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lmc_jupyter.models.outline import outline
from lmc_jupyter.models.request import Request

CODE = "for i in range(3):\n    print(i)"
PIXELS = "iVBORw0KGgo" * 50
OPENAI = {
    "model": "strong-1",
    "temperature": 0.2,
    "messages": [
        {"role": "system", "content": "Be brief.\nNames: df"},
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {
                "name": "run_code",
                "arguments": json.dumps({"language": "python", "code": CODE})}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "0\n1\n2"},
        {"role": "user", "content": [
            {"type": "text", "text": "And this?\nLook."},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}]},
    ],
}  # fmt: skip
ANTHROPIC = {
    "model": "strong-1",
    "temperature": 0.2,
    "system": [{"type": "text", "text": "Be brief.\nNames: df",
                "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "call_1", "name": "run_code",
             "input": {"language": "python", "code": CODE}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "0\n1\n2"}]},
        {"role": "user", "content": [
            {"type": "text", "text": "And this?\nLook."},
            {"type": "image", "source": {"type": "base64", "data": PIXELS}}]},
    ],
}  # fmt: skip
GEMINI = {
    "temperature": 0.2,
    "model": "strong-1",
    "system_instruction": {"parts": [{"text": "Be brief.\nNames: df"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Count."}]},
        {"role": "model", "parts": [
            {"function_call": {"name": "run_code", "args": {"language": "python", "code": CODE}}}]},
        {"role": "user", "parts": [{"function_response": {"response": {"content": "0\n1\n2"}}}]},
        {"role": "user", "parts": [
            {"text": "And this?\nLook."},
            {"inline_data": {"mime_type": "image/png", "data": PIXELS}}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("body", [OPENAI, ANTHROPIC, GEMINI])
def test_every_form_is_read_role_by_role_with_its_line_breaks_and_the_question_last(
    body: dict[str, Any],
) -> None:
    said = outline(body)
    roles = [role for role, _ in said]
    assert roles[:2] == ["settings", "system"]
    assert "temperature: 0.2" in said[0][1]
    assert "Be brief.\nNames: df" in re.sub(r"\n +", "\n", said[1][1])
    whole = "\n".join(text for _, text in said)
    assert "run_code" in whole
    assert re.search(r"for i in range\(3\):\n +print\(i\)", whole)
    assert re.search(r"0\n *1\n *2", whole)
    assert said[-1][0] == "user"
    assert "And this?\nLook." in said[-1][1]
    assert re.search(r"\[.*550 characters of data\]", said[-1][1])
    assert PIXELS not in whole
    assert "\\n" not in whole


def test_words_are_never_taken_for_data() -> None:
    text = "no-blank/" * 10_000
    assert outline({"messages": [{"role": "user", "content": f"{text} end"}]}) == [
        ("user", f"{text} end")
    ]


def test_no_key_stands_in_it_and_none_is_left_of_a_request_that_is_no_longer_in_memory() -> None:
    request = Request("m", {"user": {"password": "sk-123456789"}, "messages": []})
    assert "sk-123456789" not in str(request.outline())
    assert "redacted" in str(request.outline())
    request.drop_body()
    assert request.outline() == []


def test_a_request_that_was_written_anew_says_why_before_all_else() -> None:
    request = Request("m", {"messages": [{"role": "user", "content": "Hi."}]})
    assert request.outline() == [("user", "Hi.")]
    request.renewal = "another model answers"
    assert request.outline() == [("written anew", "another model answers"), ("user", "Hi.")]
