"""Writes a session's conversation to disk: a reader of its events.

One rule: it gets each event before any view does, writes the record of the event, and never ends a
turn: when the disk refuses, the conversation goes on in memory, `problem` says why, and the next
event retries the missing records. The disk has a question before the model is asked.

Why not one `append` for each event: a full disk would lose its record, and a kill would leave half
of the messages that replace others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from lmc_jupyter.conversation import Action, BlockRecord, Conversation, RequestRecord, records
from lmc_jupyter.conversation.conversations import (
    ConversationEntry,
    Conversations,
    copy_of,
    display_title,
    new_head,
    new_id,
    one_line,
    title_of,
)
from lmc_jupyter.conversation.events import (
    Acted,
    Answered,
    Appended,
    Asked,
    Became,
    Began,
    Changed,
    Cut,
    Described,
    Ended,
    Event,
    Exchanged,
    FilesRead,
    Grown,
    Marked,
    NamesChanged,
    Renamed,
    Replaced,
    Rewritten,
    Runs,
    Saved,
    Stopping,
    TurnLike,
    Waits,
)
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.journal import AlteredError, DamagedError, Journal, LockedError
from lmc_jupyter.conversation.of_kernel import OfKernel
from lmc_jupyter.conversation.records import is_empty_result
from lmc_jupyter.conversation.scrub import Scrub, is_text
from lmc_jupyter.errors import SessionError
from lmc_jupyter.interrupts import delay_interrupt
from lmc_jupyter.kernel.frontend import connection_file, current_shell, kernel_of, notebook_path
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import CELL, Chunk, Message


class JournalWriter:
    """The writer of one session.

    Parameters
    ----------
    history : the session's conversation
    conversations : the folder of the files; None writes nothing
    secrets : the keys of the session, which no file may contain
    """

    def __init__(
        self,
        history: History,
        conversations: Conversations | None,
        secrets: Callable[[], Iterable[Secret]],
    ) -> None:
        self.conversations = conversations
        self.problem = ""
        """A sentence while the conversation cannot be written; "" when all is well."""
        self._last_news = ""
        self.kernel: OfKernel | None = None
        """The note for the next kernel of this notebook; None outside of a kernel."""
        self.about = Conversation()
        """The conversation without its messages: title, notebook, extra, ..."""
        self.cost: float | None = None
        """US dollars of this conversation's turns, as far as known; None where nothing is known."""
        self._history, self._secrets = history, secrets
        self._actions: list[Action] = []
        self._block: dict[str, Any] = {}  # the last one that was proposed, and who allowed it
        self._journal: Journal | None = None
        self._missing: list[dict[str, Any]] = []  # records that the file does not have yet
        self._length = 0  # of the messages in the file and among the missing records
        self._waits = False  # whether it is a copy without a file, before its first change
        self._answers = False  # whether an answer is in progress
        self._pieces: Callable[[str], str] | None = None  # removes keys from the stream
        self._id = ""
        self._lock = threading.RLock()
        history.subscribe(self.hear)

    @property
    def actions(self) -> list[Action]:
        """The actions of the person beside the messages, oldest first."""
        return self._actions[:]

    @property
    def id(self) -> str:
        """The id of the file; "" while there is none."""
        return "" if self._journal is None else self._journal.path.stem

    @property
    def notebook(self) -> str:
        """The path of this kernel's notebook; "" where there is none."""
        return notebook_path()

    @property
    def title(self) -> str:
        """The title of the conversation in the list; "" for a new one."""
        return self.about.title or title_of(self._history[:])

    def conversation(self) -> Conversation:
        """The conversation as a value, with its messages."""
        messages = self._history[:]
        first = messages[0].created_at if messages else None
        now = datetime.now(timezone.utc).isoformat()
        return replace(
            self.about,
            messages=messages,
            events=self.actions,
            title=self.title,
            began=self.about.began or (now if first is None else str(first)),
            notebook=self.about.notebook or self.notebook,
            losses=[],
        )

    def news(self) -> str:
        """`problem`, once: "" where it has not changed since the last call."""
        before, self._last_news = self._last_news, self.problem
        return self._last_news if self._last_news != before else ""

    def there(self) -> Conversations:
        """The conversations on disk.

        Raises
        ------
        SessionError
            For a session that writes none.
        """
        if self.conversations is None:
            raise SessionError("this session does not save conversations: make it with keep=True")
        return self.conversations

    def earlier(self) -> ConversationEntry | None:
        """The last conversation of this notebook, while none has begun here; None without."""
        if self.conversations is None or not self.notebook or len(self._history):
            return None
        there = self.conversations.list()
        return next((each for each in there if each.notebook == self.notebook), None)

    # Other conversations --------------------------------------------------------------------------

    def open(self, id: str) -> tuple[Replaced | None, str]:
        """(the event that opens this conversation, a sentence for the person or "").

        The event is None where this conversation is open here already.

        Raises
        ------
        SessionError
            When it cannot be read.
        """
        with self._lock:
            there = self.there()
            if id == self.id:
                return None, ""
            try:
                journal, fold = there.open(id)
            except SessionError as error:
                conversation = there.read(id)
                copy = replace(conversation, title=copy_of(display_title(conversation)))
                note = f"This is a copy, because {_why_a_copy(error)}."
                return Replaced(copy, written=False), " ".join([note, *conversation.losses])
            return Replaced(fold.conversation, file=journal, cost=fold.cost), ""

    def pick_up(self) -> tuple[Replaced | None, str]:
        """After a restart, once, the conversation of the kernel before this one; see `open`.

        Raises
        ------
        SessionError
            When it cannot be read.
        """
        file = connection_file(kernel_of(current_shell()))
        if file is None or self.conversations is None:
            return None, ""  # there is no Jupyter server that could restart it
        self.kernel, again = OfKernel(file), file in _files
        _files.add(file)
        if again or len(self._history):
            return None, ""  # the extension was loaded again
        self.kernel.tidy()
        id_ = self.kernel.id
        if not id_ or not self.conversations.path(id_).exists():
            return None, ""  # the kernel before had none, or it was deleted
        return self.open(id_)

    def retry(self) -> None:
        """Retry to write the missing records."""
        with delay_interrupt():
            self._try(self._write, self._sync)

    def close(self) -> None:
        """Close the file."""
        with delay_interrupt(), self._lock:
            self._leave()
            self.conversations, self._pieces = None, None

    # Events ---------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """Take an event and write its record."""
        if isinstance(event, (Saved, Stopping)):
            return
        if isinstance(event, Grown):
            if not self.problem:  # else the whole message is written at its end
                self._try(lambda: self._stream(event.chunk))
            return
        if isinstance(event, Replaced) and self._missing:
            self._try(self._write)  # the last try: another conversation begins
        self._try(lambda: self._follow(event))

    def _try(self, *steps: Callable[[], None]) -> None:
        """Run these steps; an error of the disk becomes the problem, and ends no turn."""
        with self._lock:
            try:
                for step in steps:
                    step()
            except Exception as error:  # noqa: BLE001 - no turn ends because of the disk
                self._fail(error)

    def _follow(self, event: Event) -> None:
        self._take(event)
        if isinstance(event, (Appended, Cut)) and self._history.more:
            return  # one write for all that follow, so that a kill leaves all or none
        self._write()
        if isinstance(event, Ended):  # its messages are written
            self._pieces = None
            if self._journal is not None:
                self._journal.end_message()
        if _is_synced(event, answers=self._answers):
            self._sync()

    def _take(self, event: Event) -> None:
        """Change the state by the event, and note its record."""
        at = len(self._history)
        match event:
            case Appended(place, message):
                self._length, self._waits = place + 1, False
                self._add("message", message=message.to_dict())
            case Rewritten(place, message):
                self._add("instead", at=place, message=message.to_dict())
            case Cut(length):
                self._length = length
                self._actions = [each for each in self._actions if each.at <= length]
                self._add("back", to=length)
            case Marked(_, message, keys):
                self._waits = False
                self._add("mark", id=message.id, set=dict(keys))
            case Acted(data, place):
                self._act(at if place is None else place, data)
            case Answered():
                last = self._history.last
                self._block = {"message": last.id if last else "", "allowed": _how(event)}
                if data := _describe_decision(event):
                    self._act(at, data if last is None else {**data, "message": last.id})
            case Became("ran" | "ran unasked" | "edited" | "stopped" | "not run" as fate, seconds):
                if block := self._block:
                    block = {**block, "fate": fate, "time": _now(), "seconds": round(seconds, 3)}
                    known = [*self.about.blocks, BlockRecord(**block)]
                    self.about = replace(self.about, blocks=known)
                    self._add("block", **block)
            case NamesChanged(names) if self._block:
                by_kind = {"new": names.new, "changed": names.changed, "removed": names.removed}
                self._add("names", **by_kind, breach=names.breach)
            case FilesRead(files) if self._block:
                self._add("read", files=[each._asdict() for each in files])
            case Renamed(title):
                self._waits = False
                self.about = replace(self.about, title=one_line(title))
                self._add("title", title=self.about.title)
            case Described(extra):
                self.about = replace(self.about, extra={**self.about.extra, **extra})
                self._add("extra", extra=self.about.extra)
            case Exchanged(data):
                self.about = replace(self.about, sent=[*self.about.sent, data])
                self._add("sent", data=dict(data))
            case Began(turn):
                self._answers = True
                if turn.where != "agent":  # an agent's turn has no model
                    self.about = replace(self.about, model=turn.model)
            case Ended(turn):
                self._answers = False
                if turn.cost is not None:
                    self.cost = (self.cost or 0.0) + turn.cost
                self._add("turn", at=at, **_describe_turn(turn))
            case Replaced():
                self._replace(event)

    def _add(self, kind: str, **record: Any) -> None:
        if self._journal is not None:  # else the new file has it from its beginning
            self._missing.append({"kind": kind, **record})

    def _act(self, at: int, data: Mapping[str, Any]) -> None:
        """Note an action of the person, after the message number `at`."""
        action = Action(at, {"time": _now(), **data})
        self._actions.append(action)
        self._add("event", at=at, data=dict(action.data))

    def _replace(self, event: Replaced) -> None:
        """Another conversation begins."""
        conversation = event.conversation
        self._leave(keep=event.keep)
        title = one_line(conversation.title)
        self.about = replace(conversation, messages=(), events=(), losses=[], title=title)
        self._actions, self.cost = list(conversation.events), event.cost
        self._length, self._journal = len(conversation.messages), event.file
        self._waits, self._answers = not event.written, False
        self._pieces, self._id, self._block = None, "", {}
        if event.file is not None or not conversation.messages:
            self._remember_for_restart(self.id)

    def _leave(self, *, keep: bool = True) -> None:
        """Close the file; one that is not to be kept, or has no message, is removed."""
        journal, self._journal, self._missing = self._journal, None, []
        if journal is not None:
            with suppress(OSError):  # this only tidies up
                (journal.close if keep and self._length else journal.remove)()

    # Writing; the lock is held --------------------------------------------------------------------

    def _write(self) -> None:
        """Write the missing records; the whole conversation where there is no file."""
        if self.conversations is None:
            return
        if self._journal is None:
            if self._length and not self._waits:
                self._make()
        elif self._missing:
            self._journal.append([*map(self._scrub(), self._missing)])
            self._missing = []

    def _make(self) -> Journal:
        """Make the file, with the whole conversation."""
        folder = self.there().folder
        about = replace(
            self.about,
            messages=self._history[: self._length],
            events=self._actions,
            notebook=notebook_path(),  # and not that of an opened file, which may be any
        )
        self._id = self._id or new_id(folder)  # the same id at each try
        head = {**new_head(about, self._id), "kernel": self._kernel_name()}
        if self.cost is not None:
            head["cost"] = self.cost
        journal = Journal.new(folder, [*map(self._scrub(), records.whole(about, head))])
        self._journal, self.about = journal, replace(self.about, began=head["began"])
        self._remember_for_restart(self.id)
        return journal

    def _sync(self) -> None:
        if self._journal is None:
            return
        try:
            self._journal.sync()
        except AlteredError:  # the file is gone, or another program has written it: make a new one
            self._journal.close()
            self._journal, self._missing, self._pieces, self._id = None, [], None, ""
            self._make().sync()
        self._set_problem("")

    def _stream(self, chunk: Chunk) -> None:
        """Write a piece of the unfinished message to the file beside."""
        journal = self._journal
        if journal is None:
            return
        if chunk.start:
            format_ = "output" if chunk.type == "console" else chunk.format
            extra = {} if chunk.cell is None else {CELL: chunk.cell}
            head = Message(chunk.role, chunk.type, format_, "", chunk.recipient, extra=extra)
            self._pieces = None
            journal.begin_message(head.stamped())
            self._pieces = self._scrub().stream().feed if is_text(chunk.type, chunk.format) else str
        if chunk.content is not None and chunk.format != "active_line" and self._pieces:
            journal.write_piece(self._pieces(chunk.content))
        if chunk.end:
            self._pieces = None

    def _scrub(self) -> Scrub:
        """A new redactor for records, since code may have set a key."""
        return Scrub(self._secrets())

    def _kernel_name(self) -> str:
        return "" if self.kernel is None else self.kernel.name

    def _remember_for_restart(self, id_: str) -> None:
        if self.kernel is not None:
            with suppress(OSError):  # the list still has the conversation
                self.kernel.id = id_

    def _fail(self, error: Exception) -> None:
        self._pieces = None
        where = "" if self.conversations is None else f" in {self.conversations.folder}"
        why = str(error) if isinstance(error, (OSError, SessionError)) else repr(error)
        self._set_problem(
            f"This conversation is not being saved{where}: {why.rstrip('.')}. "
            "It stays in memory, and every step tries again to save it."
        )

    def _set_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._history.tell_now(Saved(problem))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


def _how(event: Answered) -> str:
    """Who let the code run; see `BlockRecord.allowed`."""
    proposal, decision = event.proposal, event.decision
    if proposal.verdict == "allow" and (decision is None or decision.run):
        return "harmless" if proposal.is_promised else "rule"
    if decision is None or not decision.run:
        return ""
    return "clicked" if decision.asked else "covered"


def _describe_decision(event: Answered) -> dict[str, Any]:
    """The person's decision, as its record has it; {} where there was no question or no answer."""
    proposal, decision = event.proposal, event.decision
    if proposal.verdict == "allow" or decision is None:
        return {}
    is_edit = decision.run and decision.code not in (None, proposal.code)
    data: dict[str, Any] = {"action": "edit" if is_edit else "run" if decision.run else "decline"}
    return {**data, "reason": decision.reason} if decision.reason else data


def _describe_turn(turn: TurnLike) -> dict[str, Any]:
    """Time, tokens and cost of a turn, as its record has them; see `TurnRecord`."""
    return {
        "where": turn.where,
        "model": turn.model,
        "seconds": round(turn.seconds, 3),
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "cost": turn.cost,
        "said": [each.id for each in turn.said],
        "anchor": turn.anchor,
        "requests": [
            RequestRecord(
                each.prompt_tokens,
                each.completion_tokens,
                each.cost,
                round(each.seconds, 3),
                each.cached_tokens,
                each.estimate,
            )
            for each in turn.requests
        ],
        "left_out": turn.left_out,
    }


def _why_a_copy(error: SessionError) -> str:
    match error:
        case LockedError():
            return "another kernel uses the original"
        case DamagedError():
            return "the original is damaged"
        case _:
            return "the original is read-only"


def _is_synced(event: Event, *, answers: bool) -> bool:
    """Whether the disk must have this event before anything else happens.

    For messages of the person, the event behind them is synced (`Asked`, `Changed`).
    """
    match event:
        case Appended(_, message) | Rewritten(_, message):
            return answers and message.role == "computer" and not is_empty_result(message)
        case Waits(proposal):
            return proposal.verdict != "allow"
        case Answered():
            data = _describe_decision(event)
            return data.get("action") == "decline"  # others are synced when the code begins
        case Asked() | Runs() | Ended() | Changed() | Marked() | Acted() | Described() | Renamed():
            return True
        case _:
            return False


_files: set[str] = set()
"""Connection files whose conversations this process has opened."""

RESTART_NOTICE = (
    "The kernel was restarted: your variables are gone, the conversation is still here."
)
