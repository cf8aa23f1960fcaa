"""What the panel asks about conversations that are kept, and about files of them.

One rule: it reads what a front end said, has the session do it, and answers in the words of
js/src/protocol.ts; what a file or a journal says comes out as text that is shown, no more.
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
from lmc_jupyter.lmc import clean
from lmc_jupyter.session import Session

MOST = 1_000
"""Conversations of one answer, at most."""
_NAME = 60  # characters of a file's name
_MIMES = {".ipynb": "application/x-ipynb+json", ".yaml": "application/yaml", ".md": "text/markdown"}

Answer = tuple[Any, ...]


def history(session: Session, said: Mapping[str, Any]) -> Answer:
    """The list, newest first (`ConversationEntry` of protocol.ts)."""
    most = said.get("most")
    if not isinstance(most, int) or not 0 < most <= MOST:
        raise LMCError(f"'most' must be a number from 1 to {MOST}, not {most!r:.40}")
    notebook = session.journal.notebook
    found = _conversations(session).list(text(said, "search").strip())
    if said.get("here"):
        found = [each for each in found if notebook and each.notebook == notebook]
    return ([_wire(each, session.journal.id, notebook) for each in found[:most]],)


def open_(session: Session, said: Mapping[str, Any]) -> Answer:
    """Go on with a kept conversation."""
    session.conversation.may_leave()
    return (clean(session.conversation.open(text(said, "conversation"))),)


def fork(session: Session, said: Mapping[str, Any]) -> Answer:
    """Go on with a copy of it."""
    session.conversation.may_leave()
    return (clean(session.conversation.fork(text(said, "conversation"))),)


def rename(session: Session, said: Mapping[str, Any]) -> Answer:
    """Give it another title."""
    session.conversation.rename(text(said, "title").strip(), text(said, "conversation"))
    return (None,)


def delete(session: Session, said: Mapping[str, Any]) -> Answer:
    """Take it away, for good."""
    return (clean(session.conversation.delete(text(said, "conversation"))),)


def rate(session: Session, said: Mapping[str, Any], answer: Callable[[object], str]) -> Answer:
    """Put the person's thumb on an answer.

    Parameters
    ----------
    answer : gives the id of the answer in a record
    """
    ratings: Mapping[object, Rating | None] = {"up": "up", "down": "down", None: None}
    rating = said.get("rating")
    if not isinstance(rating, str | None) or rating not in ratings:
        raise LMCError(f"a rating is 'up', 'down' or null, not {rating!r:.40}")
    session.rate(answer(said.get("at")), ratings[rating])
    return (None,)


def export(session: Session, said: Mapping[str, Any]) -> Answer:
    """This conversation as a file: its name, what it could not carry, and its bytes."""
    wanted = text(said, "format")
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
    return {"name": name, "mime": mime, "lost": [clean(each) for each in lost]}, data


def import_(session: Session, said: Mapping[str, Any]) -> Answer:
    """Go on from the conversation in a file; sentences on what could not be carried over."""
    name = text(said, "name")
    if session.busy:
        raise SessionError(
            "cannot take another conversation while an answer is in progress: stop it first"
        )
    try:
        data = base64.b64decode(text(said, "data"), validate=True)
    except binascii.Error:
        raise FormatError(f"the file {name!r:.120} arrived damaged: open it once more") from None
    conversation = formats.read(data, name=name)
    session.conversation.may_leave()
    session.conversation.take(conversation)
    return ([clean(each) for each in conversation.losses],)


ACTS: Mapping[str, Callable[[Session, Mapping[str, Any]], Answer]] = {
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


def text(said: Mapping[str, Any], key: str) -> str:
    """A text that a front end sent.

    Raises
    ------
    LMCError
        When it is something else.
    """
    value = said.get(key, "")
    if not isinstance(value, str):
        raise LMCError(f"{key!r} must be text, not {type(value).__name__}")
    return clean(value)


def _conversations(session: Session) -> Conversations:
    kept = session.journal.conversations
    if kept is None:
        raise SessionError("this session does not save conversations: there is no list")
    return kept


def _wire(kept: ConversationEntry, current: str, notebook: str) -> dict[str, Any]:
    return {
        "id": kept.id,
        "title": clean(kept.title),
        "notebook": clean(kept.notebook),
        "model": clean(kept.model),
        "changed": kept.changed,
        "messages": kept.messages,
        "current": kept.id == current,
        "here": bool(notebook) and kept.notebook == notebook,
        "held": kept.held,
        "found": clean(kept.found),
    }
