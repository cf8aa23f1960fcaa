"""The conversations on disk: listed, searched, found, read, copied, renamed, deleted.

One rule: the files are the truth, and whatever lies in the folder never raises out of `list`.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import platformdirs

from lmc_jupyter.content import shorten
from lmc_jupyter.conversation import Conversation, journal, records
from lmc_jupyter.conversation.disk import calls
from lmc_jupyter.conversation.journal import Journal, LockedError
from lmc_jupyter.errors import SessionError

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_HALF = re.compile(rf"\.({_ID.pattern})\.jsonl\.\d+")  # see `disk.write_whole`
_TITLE = 60  # characters
_AROUND = 60  # characters on each side of what was found


@dataclass(frozen=True)
class ConversationEntry:
    """A conversation of the list.

    Parameters
    ----------
    id : its name in the folder
    title : what the person called it, else its first question's first line
    notebook : the notebook's path; "" for none
    model : the one that was used last
    began, changed : ISO 8601, UTC
    messages : how many there are
    held : whether it is being written by now: here or in another kernel
    found : of a search: the text around the first place that was found; "" otherwise
    """

    id: str
    title: str
    notebook: str = ""
    model: str = ""
    began: str = ""
    changed: str = ""
    messages: int = 0
    held: bool = False
    found: str = ""


class Conversations:
    """Every conversation in a folder; by default the person's own.

    Parameters
    ----------
    folder : where they lie; default: the user's data directory
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder if folder is not None else default_folder())
        self._known: dict[str, tuple[tuple[int, int], ConversationEntry]] = {}
        """By id: the size and the time of the file, and what stands in it."""

    def __repr__(self) -> str:
        return f"<conversations in {self.folder}>"

    def list(self, search: str = "") -> list[ConversationEntry]:
        """The conversations, the one that changed last first; with `search`, those that contain it.

        What cannot be read is left out. A file that is as it was the last time is not read again.
        """
        result: list[tuple[int, ConversationEntry]] = []
        try:
            with os.scandir(self.folder) as scan:
                files = {entry.name: entry.stat(follow_symlinks=False) for entry in scan}
        except OSError:
            return []  # there is no such folder yet, as a rule
        for name, status in files.items():
            if (half := _HALF.fullmatch(name)) and not journal.is_locked(self.path(half[1])):
                with suppress(OSError):  # its kernel was killed while it made the file
                    calls.unlink(self.folder / name)
            id_, is_one = name.removesuffix(".jsonl"), name.endswith(".jsonl")
            if not is_one or not _ID.fullmatch(id_) or not stat.S_ISREG(status.st_mode):
                continue
            entry = self._look(id_, status, search)
            if entry is not None:
                when = datetime.fromtimestamp(status.st_mtime, timezone.utc).isoformat()
                held = f"{id_}.lock" in files and journal.is_locked(self.folder / name)
                result.append((status.st_mtime_ns, replace(entry, changed=when, held=held)))
        result.sort(key=lambda each: each[0], reverse=True)
        return [entry for _, entry in result]

    def _look(self, id_: str, status: os.stat_result, search: str) -> ConversationEntry | None:
        """The entry of a file; None where it is no conversation, or has nothing of the search."""
        sign = status.st_size, status.st_mtime_ns
        known, entry = self._known.get(id_, (None, None))
        if known == sign and not search:
            return entry
        try:
            data = journal.read_bytes(self.path(id_))
        except (OSError, SessionError):
            return None
        head, messages = _scan(data)
        if not head:
            return None
        entry = _entry(id_, head, messages)
        self._known[id_] = sign, entry
        if not search:
            return entry
        found = _search(messages, search)
        is_named = search.casefold() in f"{entry.title} {entry.notebook}".casefold()
        return replace(entry, found=found) if found or is_named else None

    def find(self, word: str) -> ConversationEntry:
        """The conversation that a person means.

        Parameters
        ----------
        word : its number in the list (from 1), its id or the beginning of that, or its title

        Raises
        ------
        SessionError
            When there is none, or several.
        """
        word, there = word.strip(), self.list()
        if not there:
            raise SessionError("no conversation is saved yet")
        if word.isdecimal() and len(word) < 6 and 0 < int(word) <= len(there):
            return there[int(word) - 1]
        for fits in (
            [entry for entry in there if entry.id == word],
            [entry for entry in there if entry.title == word],
            [entry for entry in there if word and entry.id.startswith(word)],
            [entry for entry in there if word and entry.title.casefold() == word.casefold()],
            [entry for entry in there if word and word.casefold() in entry.title.casefold()],
        ):
            if len(fits) == 1:
                return fits[0]
            if fits:
                some = ", ".join(f"{entry.id} ({one_line(entry.title)})" for entry in fits[:4])
                raise SessionError(
                    f"{len(fits)} conversations match {word!r}: choose one by its id: {some}"
                )
        raise SessionError(
            f"there is no conversation {word!r}: give its number in the list, its id or its title"
        )

    def read(self, id: str) -> Conversation:
        """A conversation as it is now, whoever writes it; its `losses` say what could not be read.

        Raises
        ------
        SessionError
            When there is no such conversation, or it cannot be read at all.
        """
        path = self.path(id)
        try:
            fold, _, tail = journal.read(path)
            part = journal.read_part(path, fold)
        except OSError as error:
            raise _unreadable(path, error) from None
        if part is not None:
            records.add_part(fold.messages, part)
        if sentence := journal.describe_damage(fold, tail):
            fold.conversation.losses.append(sentence)
        return fold.conversation

    def open(self, id: str) -> tuple[Journal, records.Fold]:
        """Go on with a conversation, see `Journal.of`.

        Raises
        ------
        LockedError
            While another kernel writes it.
        DamagedError
            When it cannot be read to its end.
        SessionError
            When there is no such conversation, or it cannot be read at all.
        """
        path = self.path(id)
        try:
            return Journal.of(path)
        except OSError as error:
            raise _unreadable(path, error) from None

    def fork(self, id: str, title: str = "") -> str:
        """Make a copy, and return its id.

        Raises
        ------
        SessionError
            When it cannot be read, or the copy not be written.
        """
        conversation = self.read(id)
        title = title or copy_of(display_title(conversation))
        head = new_head(replace(conversation, title=title), new_id(self.folder))
        try:
            copy = Journal.new(self.folder, [*records.whole(conversation, head)])
            try:
                copy.sync()
            finally:
                copy.close()
        except OSError as error:
            raise SessionError(f"the copy cannot be written: {error}") from None
        return str(head["id"])

    def rename(self, id: str, title: str) -> None:
        """Give it another title.

        Raises
        ------
        SessionError
            For an empty title; when there is no such conversation, it is damaged, or another kernel
            writes it.
        """
        title = one_line(title)
        if not title:
            raise SessionError("the title is empty: write what the conversation is about")
        writer, _ = self.open(id)
        try:
            writer.append([{"kind": "title", "title": title}])
            writer.sync()
        except OSError as error:
            raise SessionError(f"the title cannot be written: {error}") from None
        finally:
            writer.close()

    def delete(self, id: str) -> None:
        """Delete it, with all files beside it.

        Raises
        ------
        SessionError
            When there is no such conversation, or another kernel writes it.
        """
        path = self.path(id)
        try:
            if stat.S_ISDIR(os.lstat(path).st_mode):
                raise SessionError(f"{path} is a directory: it holds no conversation")
            lock = calls.lock(path.with_suffix(".lock"))
            if lock is None:
                raise LockedError("another kernel uses this conversation: delete it there")
            calls.unlink(path)
            journal.remove_beside(path)
            journal.unlock(path, lock)
        except OSError as error:
            raise _unreadable(path, error) from None

    def path(self, id: str) -> Path:
        """The file of a conversation.

        Raises
        ------
        SessionError
            For what is no id.
        """
        if not isinstance(id, str) or not _ID.fullmatch(id):
            raise SessionError(f"{id!r:.60} is not the id of a conversation: `list` gives the ids")
        return self.folder / f"{id}.jsonl"


def default_folder() -> Path:
    """Where the person's conversations lie."""
    return platformdirs.user_data_path("lmc-jupyter") / "conversations"


def new_id(folder: Path) -> str:
    """An id that no conversation of the folder has."""
    while (folder / f"{(id_ := secrets.token_hex(6))}.jsonl").exists():
        pass
    return id_


def new_head(conversation: Conversation, id_: str) -> dict[str, Any]:
    """The head of a new file for this conversation."""
    return {
        "id": id_,
        "began": conversation.began or datetime.now(timezone.utc).isoformat(),
        "notebook": conversation.notebook,
        "model": conversation.model,
        "title": conversation.title,
    }


def display_title(conversation: Conversation) -> str:
    """The title of a conversation, else the one that `title_of` makes of its messages."""
    return conversation.title or title_of(conversation.messages)


def title_of(messages: Iterable[Any]) -> str:
    """The first line of the first question."""
    for message in messages:
        if message.role == "user" and message.type == "message":
            return one_line(message.content)
    return ""


def one_line(text: str) -> str:
    """The first line that says something, not too long; no control character is in it."""
    line = next((each for each in text.splitlines() if each.strip()), "")
    line = " ".join("".join(each for each in word if _is_shown(each)) for word in line.split())
    return shorten.line(line, _TITLE)


def _is_shown(char: str) -> bool:
    """Whether it may stand in a list: a title may come from a file of anybody's."""
    return char.isprintable() or char in "\u200c\u200d"  # joiners are part of words


def copy_of(title: str) -> str:
    """The title of a copy."""
    return f"{title} (copy)" if title and not title.endswith("(copy)") else title


_KIND = re.compile(rb'\{(?:"n":\d+,)?"kind":"([a-z]+)"(?:,"at":(\d{1,15}))?')
_QUESTION = re.compile(_KIND.pattern + rb',"message":\{"role":"user","type":"message"')


def _scan(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The head of a file, with the title and the model that it has in the end, and the lines of
    its messages: most are never parsed, which takes the longest."""
    head: dict[str, Any] = {}
    messages: list[bytes] = []
    for body, _ in records.lines(data):
        start = _KIND.match(body)
        if start is None:
            break
        kind, at = start[1], start[2]
        if kind == b"message":
            messages.append(body)
        elif kind == b"instead" and at is not None and int(at) < len(messages):
            messages[int(at)] = body
        elif kind in (b"head", b"back", b"title", b"turn"):
            record = records.value(body)
            if not isinstance(record, dict):
                break
            if kind == b"head":
                head = record
            elif kind == b"back" and isinstance(record.get("to"), int):
                del messages[max(record["to"], 0) :]
            elif kind == b"title":
                head["title"] = record.get("title", "")
            elif kind == b"turn" and record.get("where") != "agent":
                head["model"] = record.get("model") or head.get("model", "")
    return head, messages


def _entry(id_: str, head: Mapping[str, Any], messages: Sequence[bytes]) -> ConversationEntry:
    title, notebook, model, began = (
        str(head.get(key, "")) for key in ("title", "notebook", "model", "began")
    )
    if not one_line(title):
        title = next((_content(body) for body in messages if _QUESTION.match(body)), "")
    return ConversationEntry(id_, one_line(title), notebook, model, began, messages=len(messages))


def _search(messages: Iterable[bytes], search: str) -> str:
    """The text around the first place where a message holds this; "" when none does."""
    pattern = json.dumps(search, ensure_ascii=False)[1:-1].casefold()
    for body in messages:
        if pattern in body.decode("utf-8", "replace").casefold():
            around = _around(_content(body), search.casefold())
            if around:
                return around
    return ""


def _content(body: bytes) -> str:
    """The text of a message; "" for an image or a sound."""
    record = records.value(body)
    message = record.get("message") if isinstance(record, dict) else None
    if not isinstance(message, dict) or message.get("type") in ("image", "audio"):
        return ""
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _around(text: str, search: str) -> str:
    """The line around the first place of it in a text; "" where it has none."""
    at = text.casefold().find(search)
    if at < 0:
        return ""
    start, end = max(0, at - _AROUND), at + len(search) + _AROUND
    line = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"


def _unreadable(path: Path, error: OSError) -> SessionError:
    if isinstance(error, FileNotFoundError):
        return SessionError(f"there is no conversation {path.stem!r} any more")
    return SessionError(f"the conversation {path.stem!r} cannot be used: {error}")
