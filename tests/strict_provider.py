"""What the strictest provider asks of a conversation, in words that are not our code's."""

from __future__ import annotations

import itertools
import json
from typing import Any


def assert_acceptable(messages: list[dict[str, Any]]) -> None:
    """What the strictest provider asks for."""
    waiting: list[str] = []
    seen: set[str] = set()
    for each in messages:
        role, content = each["role"], each.get("content")
        assert role in ("system", "user", "assistant", "tool")
        if role == "tool":
            assert each["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == [], "a call is not answered right behind it"
        calls = each.get("tool_calls", [])
        for call in calls:
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
        assert content or calls, each
        if isinstance(content, list):
            assert role == "user"
            assert all(part["type"] != "text" or part["text"].strip() for part in content)
        elif content is not None:
            assert content.strip()
            content.encode()
    assert waiting == []
    pairs = itertools.pairwise(messages)
    assert not any(a["role"] == b["role"] == "user" for a, b in pairs), "two users in a row"
