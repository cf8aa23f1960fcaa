"""Commands for the conversations that are saved.

One rule: a number means the conversation that had it in the list which the person saw; the list
itself moves with each answer and each deletion.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from lmc_jupyter.content import shorten
from lmc_jupyter.conversation.conversations import ConversationEntry, Conversations
from lmc_jupyter.frontends.magic.commands.table import (
    Candidate,
    Invocation,
    Prefix,
    WrongCommand,
    columns,
    command,
)
from lmc_jupyter.session import Session

MOST_SHOWN = 50
"""Conversations in a list; the others are found by a search."""


def describe(session: Session) -> str:
    """The conversation of a session as a person reads it: its title and its length."""
    count = len(session.messages)
    length = f"{count} message{'' if count == 1 else 's'}"
    return f"{session.journal.title} ({length})" if session.journal.title else length


def saved_conversations(prefix: Prefix) -> Iterable[Candidate]:
    """The saved conversations, by their numbers and titles."""
    commands = prefix.commands
    conversations = commands.session.journal.conversations
    entries = conversations.list()[:MOST_SHOWN] if conversations is not None else []
    there = {each.id: each for each in entries}
    numbers = [
        (str(number), there[id].title or "(no title)")
        for number, id in enumerate(commands.list_ids or there, start=1)
        if id in there
    ]
    return [*numbers, *((each.title, "conversation") for each in entries if each.title)]


@command(
    "history",
    "[WORDS]",
    help="list the saved conversations, or those that contain these words",
    rest=True,
)
def history(call: Invocation, words: str | None) -> str:
    everything = _conversations(call).list()
    matches = _conversations(call).list(words) if words else everything
    if not matches:
        return f"No conversation contains {words!r}." if words else "No conversation is saved yet."
    call.commands.list_ids = [each.id for each in everything]
    numbers = {id: number for number, id in enumerate(call.commands.list_ids, start=1)}
    rows = [
        [
            str(numbers.get(each.id, "")),
            _cut(each.title or "(no title)", 40),
            _cut(os.path.basename(each.notebook), 24),  # noqa: PTH119 - not of this machine
            str(each.changed)[:16].replace("T", " "),
            _cut(each.model, 24),
            f"{each.messages:,}",
        ]
        for each in matches[:MOST_SHOWN]
    ]
    head, *lines = columns([["", "title", "notebook", "changed", "model", "messages"], *rows])
    for each, line in zip(matches, lines, strict=False):
        head += f"\n{line}"
        if words and each.found:
            head += f"\n      {_cut(each.found, 90)}"
    if len(matches) > MOST_SHOWN:
        head += f"\n… and {len(matches) - MOST_SHOWN:,} more: `%lmc history WORDS` searches."
    return f"{head}\n`%lmc open` takes a number, a title or the first characters of an id."


@command(
    "open",
    "CONVERSATION",
    help="open a saved conversation by its number, title or id",
    complete={"CONVERSATION": saved_conversations},
    rest=True,
)
def open_saved(call: Invocation, conversation: str) -> str:
    entry = _find(call, conversation)
    call.session.conversation.may_leave()
    return call.session.conversation.open(entry.id)


@command(
    "fork",
    "[CONVERSATION]",
    help="copy this conversation, or another, and continue in the copy",
    complete={"CONVERSATION": saved_conversations},
    rest=True,
)
def fork(call: Invocation, conversation: str | None) -> str:
    if conversation is None:
        return call.session.conversation.fork()
    entry = _find(call, conversation)
    call.session.conversation.may_leave()
    return call.session.conversation.fork(entry.id)


@command("rename", "TITLE", help="give this conversation a title", rest=True)
def rename(call: Invocation, title: str) -> str:
    call.session.conversation.rename(title)
    return f"Conversation: {describe(call.session)}"


@command(
    "delete",
    "CONVERSATION",
    help="delete a conversation permanently, or several by their numbers, or `all` others",
    complete={"CONVERSATION": saved_conversations},
    rest=True,
)
def delete(call: Invocation, conversation: str) -> str:
    words = conversation.split()
    if words[0] == "all" and (len(words) == 1 or (len(words) == 2 and words[1].isdecimal())):
        return _delete_all(call, words[1:])
    if len(words) > 1 and all(word.isdecimal() for word in words):
        entries = {entry.id: entry for entry in [_find(call, word) for word in words]}
        return "\n".join(map(call.session.conversation.delete, entries))
    entry, word = _find(call, conversation), conversation.strip()
    # what is gone for good was named in full, not by a part of its title
    if not word.isdecimal() and word.casefold() not in (entry.title.casefold(), entry.id):
        raise WrongCommand(
            f"{word!r} is a part of {entry.title!r}: to delete it permanently, give its number "
            f"in the list, its whole title, or its id {entry.id}"
        )
    return call.session.conversation.delete(entry.id) or f"Deleted “{entry.title or entry.id}”."


def _delete_all(call: Invocation, words: list[str]) -> str:
    """Delete all conversations but those in use; only where the person has said how many."""
    entries = _conversations(call).list()
    others = [each for each in entries if not each.held and each.id != call.session.journal.id]
    count = len(others)
    if not count:
        return "There is no conversation to delete but those that are open now."
    number = "1 conversation" if count == 1 else f"{count} conversations"
    how = f"`%lmc delete all {count}` deletes {number} permanently"
    if not words:
        but = f", all but the {stays} open now" if (stays := len(entries) - count) else ""
        return f"{how}{but}. Nothing is deleted yet."
    if words != [str(count)]:
        raise WrongCommand(f"there are not {words[0]} to delete, so nothing was deleted: {how}")
    for each in others:
        call.session.conversation.delete(each.id)
    return f"Deleted {number}."


def _find(call: Invocation, which: str) -> ConversationEntry:
    """The conversation that a person means by a number, a title or an id."""
    word, ids = which.strip(), call.commands.list_ids
    if not (word.isdecimal() and len(word) < 6 and 0 < int(word) <= len(ids)):
        return _conversations(call).find(which)
    id = ids[int(word) - 1]
    entry = next((each for each in _conversations(call).list() if each.id == id), None)
    if entry is None:
        raise WrongCommand(
            f"conversation {word} of the list was deleted: `%lmc history` shows the current list"
        )
    return entry


def _conversations(call: Invocation) -> Conversations:
    conversations = call.session.journal.conversations
    if conversations is None:
        raise WrongCommand(
            call.session.journal.problem or "this session does not save conversations"
        )
    return conversations


def _cut(text: str, most: int) -> str:
    return shorten.line(" ".join(text.split()), most)
