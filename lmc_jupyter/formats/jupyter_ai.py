"""Chats of jupyter-ai (`.chat` files of jupyterlab-chat), read.

One rule: what a bot wrote is text of an assistant; code in it was never run by us and stays text.

Source: jupyterlab-chat 0.25, `YChat.get()`: messages, users, attachments, metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_json
from lmc_jupyter.formats.foreign import as_json, at_most, unique
from lmc_jupyter.formats.losses import message_numbers
from lmc_jupyter.lmc import EDITED, Message, Role

NAME = "jupyter-ai"
EXTENSIONS = (".chat",)

_READ = {"id", "type", "body", "sender", "time", "raw_time", "deleted", "edited", "mentions"}
_BOTS = ("jupyternaut", "jupyter_ai")


def read(data: bytes) -> Conversation:
    """The messages that people and bots sent, oldest first.

    Raises
    ------
    FormatError
        When it is no such chat.
    """
    losses: list[str] = []
    chat = strict_json.loads(data, losses)
    if not isinstance(chat, dict) or not isinstance(chat.get("messages"), list):
        raise FormatError("it is not a chat of jupyter-ai: it has no list of 'messages'")
    return _ChatFileReader(chat, losses).conversation()


class _ChatFileReader:
    def __init__(self, chat: Mapping[str, Any], losses: list[str]) -> None:
        self.chat, self.losses = chat, losses
        self.users = _mapping(chat.get("users"))
        self.attachments = _mapping(chat.get("attachments"))
        self.people: dict[str, None] = {}

    def conversation(self) -> Conversation:
        entries, deletions = [], []
        for number, entry in enumerate(at_most(self.chat["messages"]), 1):
            if not isinstance(entry, dict):
                raise FormatError(f"message {number} of the chat is no object but {entry!r:.40}")
            if entry.get("deleted"):
                deletions.append(number)
            else:
                entries.append(self.message(number, entry))
        if deletions:
            self.losses.append(f"Deleted in the chat, and not read: {message_numbers(deletions)}.")
        if len(self.people) > 1:
            names = ", ".join(f"{name:.40}" for name in list(self.people)[:10])
            self.losses.append(
                f"{len(self.people)} people wrote in it ({names}): all of them are the user here."
            )
        metadata = _mapping(self.chat.get("metadata"))
        title = metadata.get("name") or metadata.get("title")
        messages = unique(entries, self.losses)
        return Conversation(
            messages,
            title=title if isinstance(title, str) else "",
            began=str(messages[0].created_at or "") if messages else "",
            losses=self.losses,
        )

    def message(self, number: int, entry: Mapping[str, Any]) -> Message:
        role, name = self.sender(entry.get("sender"))
        body = entry.get("body")
        extra = {key: each for key, each in entry.items() if key not in _READ and each is not None}
        self.add_attachments(number, extra.get("attachments"))
        bundle = _mapping(_mapping(extra.pop("mime_model", None)).get("data"))
        if bundle:
            kinds = ", ".join(f"{kind:.60}" for kind in bundle)
            self.losses.append(
                f"Message {number} has a display of its own ({kinds}): only its text is read."
            )
            body = body or bundle.get("text/markdown") or bundle.get("text/plain")
        if name:
            extra["sender"] = name
        if entry.get("edited"):
            extra[EDITED] = True
        text = body if isinstance(body, str) else as_json(body)
        id_ = entry.get("id")
        return Message(
            role,
            "message",
            content=text,
            id=id_ if isinstance(id_, str) else None,
            created_at=_time(entry.get("time")),
            extra=extra,
        )

    def sender(self, sender: Any) -> tuple[Role, str]:
        """The role, and the name as people read it."""
        user = sender if isinstance(sender, dict) else _mapping(self.users.get(sender))
        word = str(user.get("username") or (sender if isinstance(sender, str) else ""))
        name = str(user.get("display_name") or user.get("name") or word)
        if user.get("bot") or any(bot in word.lower() for bot in _BOTS):
            return "assistant", name
        self.people[name] = None
        return "user", name

    def add_attachments(self, number: int, names: Any) -> None:
        for each in names if isinstance(names, list) else ():
            attachment = self.attachments.get(each) if isinstance(each, str) else each
            what = _mapping(attachment).get("value") or each
            self.losses.append(
                f"Message {number} had {what!r:.120} attached: it is not in the chat."
            )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _time(value: Any) -> Any:
    """Seconds since 1970 as ISO 8601."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value if isinstance(value, str) else None
    try:
        return datetime.fromtimestamp(value, timezone.utc).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
