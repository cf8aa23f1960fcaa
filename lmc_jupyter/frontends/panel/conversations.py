"""Requests of the panel about conversations: those on the disk, files of them, and ratings.

One rule: each function reads a front end's request, has the session do it, and answers in the
words of js/src/protocol.ts; what a file or a journal says comes out as text that is shown, no more.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lmc_jupyter import formats
from lmc_jupyter.conversation import Rating
from lmc_jupyter.conversation.conversations import ConversationEntry, Conversations
from lmc_jupyter.errors import FormatError, LMCError, SessionError
from lmc_jupyter.frontends.panel.wire import text
from lmc_jupyter.session import Session

MOST = 1_000
"""Conversations of one list, at most."""
_NAME = 60  # characters of a file's name
_MIMES = {".ipynb": "application/x-ipynb+json", ".yaml": "application/yaml", ".md": "text/markdown"}

Answer = tuple[Any, ...]
"""The value that answers a request, and the buffers that go with it."""


def history(session: Session, content: Mapping[str, Any]) -> Answer:
    """The list, this notebook's own first, each part newest first (`ConversationEntry`)."""
    most = content.get("most")
    if not isinstance(most, int) or not 0 < most <= MOST:
        raise LMCError(f"'most' must be a number from 1 to {MOST}, not {most!r:.40}")
    notebook = session.journal.notebook
    found = _conversations(session).list(text(content, "search").strip())
    here = [each for each in found if notebook and each.notebook == notebook]
    found = here if content.get("here") else [*here, *(each for each in found if each not in here)]
    return ([_wire(each, session.journal.id, notebook) for each in found[:most]],)


def open_(session: Session, content: Mapping[str, Any]) -> Answer:
    """Go on with a conversation of the list."""
    session.conversation.may_leave()
    return (session.conversation.open(text(content, "conversation")),)


def fork(session: Session, content: Mapping[str, Any]) -> Answer:
    """Go on with a copy of it."""
    session.conversation.may_leave()
    return (session.conversation.fork(text(content, "conversation")),)


def rename(session: Session, content: Mapping[str, Any]) -> Answer:
    """Give it another title."""
    session.conversation.rename(text(content, "title").strip(), text(content, "conversation"))
    return (None,)


def delete(session: Session, content: Mapping[str, Any]) -> Answer:
    """Take it away, for good."""
    return (session.conversation.delete(text(content, "conversation")),)


def rate(session: Session, message_id: str, rating: object) -> None:
    """Put the person's thumb on this answer."""
    ratings: Mapping[object, Rating | None] = {"up": "up", "down": "down", None: None}
    if not isinstance(rating, str | None) or rating not in ratings:
        raise LMCError(f"a rating is 'up', 'down' or null, not {rating!r:.40}")
    session.rate(message_id, ratings[rating])


def export(session: Session, content: Mapping[str, Any]) -> Answer:
    """This conversation as a file: its name, what it could not carry, and its bytes."""
    wanted = text(content, "format")
    known = formats.formats().get(wanted)
    if known is None:
        raise FormatError(f"there is no format {wanted!r:.60} here to save as")
    if not session.messages:
        raise SessionError("the conversation is empty: ask a question first")
    ending: str = known.EXTENSIONS[0]
    with tempfile.TemporaryDirectory(prefix="lmc-") as folder:
        path = Path(folder) / f"conversation{ending}"
        lost = session.save(path, wanted)  # which takes keys out
        data = path.read_bytes()
    mime = _MIMES.get(ending) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    name = f"{file_name(session.journal.title)}{ending}"
    return {"name": name, "mime": mime, "lost": list(lost)}, data


def import_(session: Session, content: Mapping[str, Any]) -> Answer:
    """Go on from the conversation in a file; sentences on what could not be carried over."""
    name = text(content, "name")
    if session.busy:
        raise SessionError(
            "cannot take another conversation while an answer is in progress: stop it first"
        )
    try:
        data = base64.b64decode(text(content, "data"), validate=True)
    except binascii.Error:
        raise FormatError(f"the file {name!r:.120} arrived damaged: open it once more") from None
    conversation = formats.read(data, name=name)
    session.conversation.may_leave()
    session.conversation.take(conversation)
    return (list(conversation.losses),)


ANSWERS: Mapping[str, Callable[[Session, Mapping[str, Any]], Answer]] = {
    "history": history,
    "open": open_,
    "fork": fork,
    "rename": rename,
    "delete": delete,
    "export": export,
    "import": import_,
}


def file_name(title: str) -> str:
    """A name for a file, of words that every system takes; without an ending."""
    words = re.sub(r"[^\w]+", "-", title, flags=re.UNICODE).strip("-_")
    return words[:_NAME].strip("-_").lower() or "conversation"


def _conversations(session: Session) -> Conversations:
    conversations = session.journal.conversations
    if conversations is None:
        raise SessionError("this session does not save conversations: there is no list")
    return conversations


def _wire(entry: ConversationEntry, current: str, notebook: str) -> dict[str, Any]:
    return {
        "id": entry.id,
        "title": entry.title,
        "notebook": entry.notebook,
        "model": entry.model,
        "changed": entry.changed,
        "messages": entry.messages,
        "current": entry.id == current,
        "here": bool(notebook) and entry.notebook == notebook,
        "held": entry.held,
        "found": entry.found,
    }
