"""Chats of jupyter-ai, as jupyterlab-chat 0.25 writes them (`YChat.get()`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import jupyter_ai

CHAT: dict[str, Any] = {
    "messages": [
        {
            "id": "m1", "type": "msg", "body": "@Jupyternaut Sort this:\n```python\nx\n```",
            "sender": "u1", "time": 1763762400.5, "mentions": ["bot"], "attachments": ["a1"],
        },
        {
            "id": "m2", "type": "msg", "body": "```python\nsorted(x)\n```", "sender": "bot",
            "time": 1763762401.0, "raw_time": False, "edited": True, "metadata": {"k": 1},
        },
        {"id": "m3", "type": "msg", "body": "", "sender": "u1", "time": 1.0, "deleted": True},
        {"id": "m4", "type": "msg", "body": "Thanks!", "sender": "u2", "time": 1763762402},
        {
            "id": "m5", "type": "msg", "body": "", "sender": "bot", "time": 1763762403,
            "mime_model": {"data": {"text/plain": "a plot", "image/png": "AAAA"}},
        },
    ],
    "users": {
        "u1": {"username": "u1", "name": "Ada", "display_name": "Ada L."},
        "u2": {"username": "u2", "name": "Bob", "display_name": "Bob"},
        "bot": {"username": "bot", "display_name": "Jupyternaut", "bot": True},
    },
    "attachments": {"a1": {"type": "file", "value": "data/x.csv"}},
    "metadata": {"id": "c1"},
}  # fmt: skip


def read(chat: Any) -> Any:
    return jupyter_ai.read(json.dumps(chat).encode())


def test_a_chat_is_read_and_what_is_lost_is_named() -> None:
    found = read(CHAT)
    assert [(each.role, each.type, each.content, each.id) for each in found.messages] == [
        ("user", "message", "@Jupyternaut Sort this:\n```python\nx\n```", "m1"),
        ("assistant", "message", "```python\nsorted(x)\n```", "m2"),
        ("user", "message", "Thanks!", "m4"),
        ("assistant", "message", "a plot", "m5"),
    ]
    assert found.messages[0].created_at == "2025-11-21T22:00:00.500000+00:00"
    assert found.messages[1].extra == {
        "sender": "Jupyternaut", "metadata": {"k": 1}, "edited": True
    }  # fmt: skip
    assert found.losses == [
        "Message 1 had 'data/x.csv' attached: it is not in the chat.",
        "Message 5 has a display of its own (text/plain, image/png): only its text is read.",
        "Deleted in the chat, and not read: message 3.",
        "2 people wrote in it (Ada L., Bob): all of them are the user here.",
    ]


def test_senders_of_older_chats() -> None:
    chat = {"messages": [
        {"body": "Hi", "sender": {"username": "ada"}, "time": "2024-01-01"},
        {"body": "Hello", "sender": "jupyter-ai-personas::jupyter_ai::JupyternautPersona"},
        {"body": {"odd": 1}, "sender": 7, "time": 1e300},
    ]}  # fmt: skip
    assert [each.role for each in read(chat).messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize("bad", [[], {}, {"messages": 7}, {"messages": [7]}])
def test_what_is_no_chat_is_a_sentence(bad: Any) -> None:
    with pytest.raises(FormatError, match="chat"):
        read(bad)


def test_odd_tables_do_no_harm() -> None:
    chat = {"messages": [{"body": "x", "sender": "u", "attachments": [7, {}]}], "users": [],
            "attachments": 7, "metadata": "x"}  # fmt: skip
    assert read(chat).messages[0].content == "x"
