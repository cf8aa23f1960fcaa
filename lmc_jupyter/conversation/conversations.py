"""The conversations that are kept: listed, searched, found, read, copied, renamed, deleted.

One rule: the files are the truth. The index beside them only saves time; an entry that does not
fit its file is made anew, and whatever lies in the folder never raises out of `list`.
"""

from __future__ import annotations

import builtins
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import platformdirs

from lmc_jupyter.content import shorten
from lmc_jupyter.conversation import Conversation, journal, records
from lmc_jupyter.conversation.disk import calls
from lmc_jupyter.conversation.journal import Held, Journal
from lmc_jupyter.errors import SessionError

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_HALF = re.compile(rf"\.({_ID.pattern})\.jsonl\.\d+")  # see `journal.write_whole`
_TITLE = 60  # characters
_AROUND = 60  # characters on each side of what was found
_INDEX = "index.json"
_INDEX_VERSION = 1


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
        given = folder if folder is not None else default_folder()
        self.folder = Path(given)

    def __repr__(self) -> str:
        return f"<conversations in {self.folder}>"

    def list(self, search: str = "") -> list[ConversationEntry]:
        """The conversations, the one that changed last first; with `search`, those that hold it.

        What cannot be read is left out.
        """
        found = []
        for kept, path in self._all():
            if search:
                around = _search(path, search)
                said = f"{kept.title} {kept.notebook}".casefold()
                if around is None and search.casefold() not in said:
                    continue
                kept = replace(kept, found=around or "")
            found.append(replace(kept, held=journal.is_held(path)))
        return found

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
        word, there = word.strip(), [kept for kept, _ in self._all()]
        if not there:
            raise SessionError("no conversation is saved yet")
        if word.isdecimal() and len(word) < 6 and 0 < int(word) <= len(there):
            return self._with_lock(there[int(word) - 1])
        for fits in (
            [kept for kept in there if kept.id == word],
            [kept for kept in there if kept.title == word],
            [kept for kept in there if word and kept.id.startswith(word)],
            [kept for kept in there if word and kept.title.casefold() == word.casefold()],
            [kept for kept in there if word and word.casefold() in kept.title.casefold()],
        ):
            if len(fits) == 1:
                return self._with_lock(fits[0])
            if fits:
                some = ", ".join(f"{kept.id} ({one_line(kept.title)})" for kept in fits[:4])
                raise SessionError(
                    f"{len(fits)} conversations match {word!r}: choose one by its id: {some}"
                )
        raise SessionError(
            f"there is no conversation {word!r}: give its number in the list, its id or its title"
        )

    def read(self, id: str) -> Conversation:
        """A conversation as it is now, whoever writes it; `lost` says what could not be read.

        Raises
        ------
        SessionError
            When there is no such conversation, or it cannot be read at all.
        """
        path = self.path(id)
        try:
            folded, _, tail = journal.read(path)
            found = journal.read_part(path, folded)
        except OSError as error:
            raise _unreadable(path, error) from None
        if found is not None:
            records.add_part(folded.messages, found)
        conversation = folded.conversation()
        if lost := journal.damaged(folded, tail):
            conversation.lost.append(lost)
        return conversation

    def open(self, id: str) -> tuple[Journal, records.Fold, str]:
        """Go on with a conversation, see `Journal.of`.

        Raises
        ------
        Held
            While another kernel writes it.
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
        title = title or copy_of(called(conversation))
        head = new_head(replace(conversation, title=title), new_id(self.folder))
        try:
            Journal.new(self.folder, head, [*records.whole(conversation, {})][1:]).close()
        except OSError as error:
            raise SessionError(f"the copy cannot be written: {error}") from None
        return str(head["id"])

    def rename(self, id: str, title: str) -> None:
        """Give it another title.

        Raises
        ------
        SessionError
            For an empty title; when there is no such conversation, or another kernel writes it.
        """
        title = one_line(title)
        if not title:
            raise SessionError("the title is empty: write what the conversation is about")
        writer, _, _ = self.open(id)
        try:
            writer.append([{"kind": "title", "title": title}])
            writer.sync()
        except OSError as error:
            raise SessionError(f"the title cannot be written: {error}") from None
        finally:
            writer.close()

    def delete(self, id: str) -> None:
        """Take it away, with all that lies beside it.

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
                raise Held("another kernel uses this conversation: delete it there")
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

    # The index ------------------------------------------------------------------------------------

    def _with_lock(self, kept: ConversationEntry) -> ConversationEntry:
        return replace(kept, held=journal.is_held(self.path(kept.id)))

    def _all(self) -> builtins.list[tuple[ConversationEntry, Path]]:
        """All of them, newest first."""
        index, new, changed = self._index(), {}, False
        found: list[tuple[int, ConversationEntry, Path]] = []
        try:
            with os.scandir(self.folder) as scan:
                entries = [*scan]
                there = [
                    (entry.name[: -len(".jsonl")], entry.stat(follow_symlinks=False))
                    for entry in entries
                    if entry.name.endswith(".jsonl") and _ID.fullmatch(entry.name[: -len(".jsonl")])
                ]
        except OSError:
            return []  # there is no such folder yet, as a rule
        for half in filter(None, (_HALF.fullmatch(entry.name) for entry in entries)):
            if not journal.is_held(self.path(half[1])):  # its kernel was killed while it made it
                with suppress(OSError):
                    calls.unlink(self.folder / half[0])
        for name, status in there:
            if not stat.S_ISREG(status.st_mode) or status.st_size > journal.MAX_BYTES:
                continue
            path, sign = self.folder / f"{name}.jsonl", [status.st_size, status.st_mtime_ns]
            kept = _entry(index.get(name), sign, name)
            if kept is None:
                changed = True
                try:
                    kept = _summary(name, journal.read_bytes(path))
                except (OSError, SessionError):
                    continue
            if kept is None:
                continue
            new[name] = {"sign": sign, **asdict(kept)}
            when = datetime.fromtimestamp(status.st_mtime, timezone.utc).isoformat()
            found.append((status.st_mtime_ns, replace(kept, changed=when), path))
        if changed or len(new) < len(index):
            self._write_index(new)
        found.sort(key=lambda each: each[0], reverse=True)
        return [(kept, path) for _, kept, path in found]

    def _index(self) -> dict[str, Any]:
        try:
            read = json.loads(journal.read_bytes(self.folder / _INDEX))
        except (OSError, SessionError, ValueError, RecursionError):
            return {}  # it is made anew
        if not isinstance(read, dict) or read.get("version") != _INDEX_VERSION:
            return {}
        entries = read.get("conversations")
        return entries if isinstance(entries, dict) else {}

    def _write_index(self, entries: Mapping[str, Any]) -> None:
        data = {"version": _INDEX_VERSION, "conversations": entries}
        with suppress(OSError):  # it only saves time
            journal.write_whole(self.folder / _INDEX, json.dumps(data).encode())


def default_folder() -> Path:
    """Where the person's conversations lie."""
    return platformdirs.user_data_path("lmc-jupyter") / "conversations"


def new_id(folder: Path) -> str:
    """An id that no conversation of the folder has."""
    while (folder / f"{(found := secrets.token_hex(6))}.jsonl").exists():
        pass
    return found


def new_head(conversation: Conversation, id_: str) -> dict[str, Any]:
    """The head of a new file for this conversation."""
    return {
        "id": id_,
        "began": conversation.began or datetime.now(timezone.utc).isoformat(),
        "notebook": conversation.notebook,
        "model": conversation.model,
        "title": conversation.title,
    }


def called(conversation: Conversation) -> str:
    """Its title, else what `title_of` makes of its messages."""
    return conversation.title or title_of(conversation.messages)


def title_of(messages: Iterable[Any]) -> str:
    """The first line of the first question."""
    for message in messages:
        if message.role == "user" and message.type == "message":
            return one_line(message.content)
    return ""


def one_line(text: str) -> str:
    """The first line that says something, not too long; no control character is in it."""
    said = next((each for each in text.splitlines() if each.strip()), "")
    said = " ".join("".join(each for each in word if _is_shown(each)) for word in said.split())
    return shorten.line(said, _TITLE)


def _is_shown(char: str) -> bool:
    """Whether it may stand in a list: a title may come from a file of anybody's."""
    return char.isprintable() or char in "\u200c\u200d"  # joiners are part of words


def copy_of(title: str) -> str:
    """The title of a copy."""
    return f"{title} (copy)" if title and not title.endswith("(copy)") else title


def _entry(entry: Any, sign: list[int], name: str) -> ConversationEntry | None:
    """What the index says of a file, if it fits."""
    if not isinstance(entry, dict) or entry.get("sign") != sign or entry.get("id") != name:
        return None
    texts = [entry.get(key) for key in ("title", "notebook", "model", "began")]
    count = entry.get("messages")
    if not all(isinstance(text, str) for text in texts) or not isinstance(count, int):
        return None
    title, notebook, model, began = map(str, texts)
    return ConversationEntry(name, title, notebook, model, began, messages=count)


_KIND = re.compile(rb'\{"n":(\d{1,15}),"kind":"([a-z]+)"')
_AT = re.compile(rb',"at":(\d{1,15}),')
_ASKED = b'"message":{"role":"user","type":"message"'


def _summary(name: str, data: bytes) -> ConversationEntry | None:
    """What the list says of a file, without reading every message; None where it holds none."""
    head: dict[str, Any] | None = None
    title = model = asked = ""
    count = asked_at = 0
    for number, (body, _) in enumerate(records.lines(data)):
        start = _KIND.match(body)
        if start is None or int(start[1]) != number:
            break
        kind = start[2]
        if kind == b"message":
            count += 1
            if not asked and body.startswith(_ASKED, start.end() + 1):
                asked, asked_at = _content(body), count
            continue
        if kind == b"instead" and not body.startswith(b',"at":%d,' % (asked_at - 1), start.end()):
            continue
        record = records.value(body)
        if not isinstance(record, dict):
            break
        if kind == b"head":
            head, title = record, str(record.get("title", ""))
            model = str(record.get("model", ""))
        elif kind == b"back" and isinstance(record.get("to"), int):
            count = min(count, max(record["to"], 0))
            if count < asked_at:
                asked, asked_at = "", 0
        elif kind == b"instead":
            asked = _content(body)
        elif kind == b"title":
            title = str(record.get("title", ""))
        elif kind == b"turn":
            model = str(record.get("model", "")) or model
    if head is None:
        return None
    return ConversationEntry(
        name,
        title=one_line(title) or one_line(asked),
        notebook=str(head.get("notebook", "")),
        model=model,
        began=str(head.get("began", "")),
        messages=count,
    )


def _content(body: bytes) -> str:
    record = records.value(body)
    message = record.get("message") if isinstance(record, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _search(path: Path, search: str) -> str | None:
    """The text around the first place where a message holds this; None when none does."""
    wanted = search.casefold()
    quick = json.dumps(search, ensure_ascii=False)[1:-1].casefold()
    try:
        data = journal.read_bytes(path)
    except (OSError, SessionError):
        return None
    hits: list[tuple[int, str]] = []
    count = 0
    for body, _ in records.lines(data):
        start = _KIND.match(body)
        kind = start[2] if start is not None else b""
        if kind == b"message":
            count += 1
            if quick in body.decode("utf-8", "replace").casefold():
                around = _around(body, wanted)
                if around is not None:
                    hits.append((count, around))
        elif kind == b"instead" and start is not None:
            at = _AT.match(body, start.end())
            hits = [hit for hit in hits if at is None or hit[0] != int(at[1]) + 1]
            if at is not None and (around := _around(body, wanted)) is not None:
                hits.append((int(at[1]) + 1, around))
        elif kind == b"back":
            record = records.value(body)
            to = record.get("to") if isinstance(record, dict) else None
            count = min(count, to) if isinstance(to, int) else count
            hits = [hit for hit in hits if hit[0] <= count]
    return min(hits)[1] if hits else None


def _around(body: bytes, wanted: str) -> str | None:
    record = records.value(body)
    message = record.get("message") if isinstance(record, dict) else None
    if not isinstance(message, dict) or message.get("type") in ("image", "audio"):
        return None
    text = message.get("content")
    if not isinstance(text, str):
        return None
    at = text.casefold().find(wanted)
    if at < 0:
        return None
    start, end = max(0, at - _AROUND), at + len(wanted) + _AROUND
    said = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{said}{'…' if end < len(text) else ''}"


def _unreadable(path: Path, error: OSError) -> SessionError:
    if isinstance(error, FileNotFoundError):
        return SessionError(f"there is no conversation {path.stem!r} any more")
    return SessionError(f"the conversation {path.stem!r} cannot be used: {error}")
