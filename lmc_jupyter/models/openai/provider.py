"""The message of a reply as its provider sent it, put together from the deltas to go back so.

One rule: nothing of it is renamed or reworded. It goes only to the model and the address it came
from; everybody else reads the LMC messages of the same reply.

What providers want back: https://docs.litellm.ai/docs/reasoning_content, and for Anthropic
https://docs.claude.com/en/docs/build-with-claude/extended-thinking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lmc_jupyter.lmc import clean
from lmc_jupyter.models.values import CallDelta, Delta

THOUGHTS = (
    "thinking_blocks", "reasoning_content", "reasoning", "reasoning_items", "reasoning_details",
    "provider_specific_fields",
)  # fmt: skip
"""The keys of a message that say what the model thought, in plain text or encrypted."""

_TEXTS = frozenset({"thinking", "text", "summary"})
"""Keys of a block of thoughts whose text comes in pieces; all others are whole."""


class ProviderMessage:
    """Joins the deltas of one reply; `build` can be called at any time, also after a stop."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._more: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}
        self._has_ended = False

    def add(self, delta: Delta) -> None:
        """Add what has come."""
        self._has_ended = self._has_ended or bool(delta.finish)
        self._text.append(delta.text)
        if "reasoning" not in delta.more:  # the server's own name for it
            self._reasoning.append(delta.reasoning)
        _merge(self._more, delta.more)
        for call in delta.calls:
            self._add_call(call)

    def _add_call(self, piece: CallDelta) -> None:
        call = self._by_index.get(piece.index)
        if call is None or (piece.id and call["id"] and piece.id != call["id"]):
            call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            self._by_index[piece.index] = call
            self._calls.append(call)
        function = call["function"]
        call["id"] = piece.id or call["id"]
        if piece.name and not function["arguments"] and piece.name != function["name"]:
            function["name"] += piece.name
        function["arguments"] += piece.arguments or ""
        if piece.more:
            _merge(call, piece.more)

    def build(self, *, has_mistake: bool = False) -> dict[str, Any]:
        """The message, with those calls whose arguments are whole JSON, and with no thought that
        was broken off before its signature; {} for calls that ended before their thoughts had come,
        which no provider takes back.

        Parameters
        ----------
        has_mistake : whether calls with other arguments stay, as calls without any, because they
            get an error as their result; a provider takes only JSON back
        """
        message: dict[str, Any] = {"role": "assistant", "content": clean("".join(self._text))}
        if reasoning := "".join(self._reasoning):
            message["reasoning_content"] = clean(reasoning)
        message.update(self._more)
        if message.get("reasoning_items") == []:
            if not self._has_ended:
                return {}
            del message["reasoning_items"]
        blocks = [each for each in message.pop("thinking_blocks", ()) if _is_whole(each)]
        if blocks:
            message["thinking_blocks"] = blocks
        if has_mistake:
            for call in self._calls:
                if not _is_json(call):
                    call["function"]["arguments"] = "{}"
        if calls := [each for each in self._calls if each["id"] and _is_json(each)]:
            message["tool_calls"] = calls
            message["content"] = message["content"] or None
        return message


def without_thoughts(message: Mapping[str, Any]) -> dict[str, Any]:
    """The same message without what the model thought."""
    return {key: value for key, value in message.items() if key not in THOUGHTS}


def _merge(into: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add a piece of what the provider wants back: texts and lists grow, all else is replaced."""
    for key, value in piece.items():
        before = into.get(key)
        if isinstance(value, list) and isinstance(before, list):
            for each in value:
                if not (before and _continues(before[-1], each)):
                    before.append(each)
        elif isinstance(value, Mapping) and isinstance(before, dict):
            _merge(before, value)
        elif key == "reasoning" and isinstance(value, str) and isinstance(before, str):
            into[key] = before + value
        else:
            into[key] = [*value] if isinstance(value, list) else value


def _continues(last: Any, piece: Any) -> bool:
    """Add a piece to the block that it continues; returns whether it does.

    A block of thoughts goes on until its signature; a block with an index while that is the same.
    """
    if not (isinstance(last, dict) and isinstance(piece, Mapping)):
        return False
    if last.get("type") != piece.get("type") or last.get("index") != piece.get("index"):
        return False
    if last.get("type") == "redacted_thinking" or last.get("signature"):
        return False
    if "index" not in piece and piece.get("type") != "thinking":
        return False
    for key, value in piece.items():
        if key in _TEXTS and isinstance(value, str):
            last[key] = (last.get(key) or "") + value
        elif value is not None:
            last[key] = value
    return True


def _is_whole(block: Any) -> bool:
    """Whether a provider takes this block of thoughts back."""
    return isinstance(block, Mapping) and (
        block.get("type") == "redacted_thinking" or bool(block.get("signature"))
    )


def _is_json(call: Mapping[str, Any]) -> bool:
    try:
        return isinstance(json.loads(call["function"]["arguments"], strict=False), dict)
    except ValueError:
        return False
