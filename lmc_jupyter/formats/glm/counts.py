"""The token counts and the starting time that we add to a GLM chat history which has none: every
`token_count`, and `chat_started`.

One rule: our counts are marked, and removed when the file is read. So a count is never older than
its text, and is never taken for a provider's.

Source: meta.token_count and meta.chat_started of the GLM chat history; see docs/glm.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats.glm.dictionary import MAX_DEPTH, messages_of, to_dict
from lmc_jupyter.limits import BYTES_A_TOKEN, tokens
from lmc_jupyter.lmc import clean

COUNT, BY = "token_count", "token_count_by"
OWN = f"lmc-jupyter: {BYTES_A_TOKEN} bytes a token"
"""Who has counted; the key stands beside a count of ours only."""
START_TIME = "chat_started"
_OF_FIRST = "the time of the first message"
_MEDIA = ("image", "audio")  # what they take depends on the model


def document_of(
    conversation: Conversation, max_depth: int = MAX_DEPTH
) -> tuple[dict[str, Any], list[str]]:
    """As `to_dict`, with a token count in every entry of a user or an assistant, and with
    the time of the first message where the conversation has no time of its beginning."""
    document, losses = to_dict(conversation, max_depth)
    meta = document.get("meta", {})
    first = next(iter(conversation.messages), None)
    if first is not None and isinstance(first.created_at, str) and isinstance(meta, dict):
        lmc = meta.get("lmc", {})
        if START_TIME not in meta and isinstance(lmc, dict):
            keys = {START_TIME: clean(first.created_at), "lmc": {**lmc, START_TIME: _OF_FIRST}}
            document = {**document, "meta": {**meta, **keys}}
    return {**document, "history": [_add_count(each) for each in document["history"]]}, losses


def without_own(document: Any) -> Any:
    """A dictionary that was read, without what `document_of` has put into it."""
    history = document.get("history") if isinstance(document, dict) else None
    if not isinstance(history, list):
        return document
    meta = document.get("meta")
    lmc = meta.get("lmc") if isinstance(meta, dict) else None
    if isinstance(meta, dict) and isinstance(lmc, dict) and lmc.get(START_TIME) == _OF_FIRST:
        meta = {key: value for key, value in meta.items() if key not in (START_TIME, "lmc")}
        if lmc := {key: value for key, value in lmc.items() if key != START_TIME}:
            meta["lmc"] = lmc
        document = {key: value for key, value in document.items() if key != "meta"}
        document |= {"meta": meta} if meta else {}
    return {**document, "history": [_remove_count(each) for each in history]}


def _add_count(entry: Any) -> Any:
    role, body = _body(entry)
    if body is None:
        return entry
    meta = body.get("meta")
    if "meta" in body and not (isinstance(meta, Mapping) and meta and COUNT not in meta):
        return entry
    messages = [each for each in messages_of(entry) if each.role != "computer"]
    if not messages or any(each.type in _MEDIA for each in messages):
        return entry
    count = sum(tokens(str(each.content)) for each in messages)
    return {role: {**body, "meta": {COUNT: count, BY: OWN, **(meta or {})}}}


def _remove_count(entry: Any) -> Any:
    role, body = _body(entry)
    meta = None if body is None else body.get("meta")
    if body is None or not isinstance(meta, dict) or meta.get(BY) != OWN:
        return entry
    rest = {key: value for key, value in meta.items() if key not in (COUNT, BY)}
    before = {key: value for key, value in body.items() if key != "meta"}
    return {role: {**before, "meta": rest} if rest else before}


def _body(entry: Any) -> tuple[str, dict[str, Any] | None]:
    """Who speaks in an entry, and what stands in it."""
    if isinstance(entry, dict) and len(entry) == 1:
        [(role, body)] = entry.items()
        if role in ("user", "assistant") and isinstance(body, dict):
            return role, body
    return "", None
