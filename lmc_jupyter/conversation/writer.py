"""Writes a session's conversation to disk: a reader of its events.

One rule: it gets each event before any view does, writes the record of the event, and never ends a
turn: when the disk refuses, the conversation goes on in memory, `problem` says why, and the next
event retries the missing records. The disk has a question before its model is asked.

The state and the queue of records are one value, which an event replaces in one step: a Ctrl-C
leaves the value before or after the event, and an interrupted event comes again.

Why one file: how an event changes the state, and the order in which state and file change, can only
be read together. Why not one `append` for each event: a full disk would lose its record, a kill
would leave half of the messages that replace others, and a Ctrl-C would write a record twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, NamedTuple

from lmc_jupyter.conversation import Action, Conversation, RequestRecord, records
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
    Began,
    Changed,
    Cut,
    Described,
    Ended,
    Event,
    Exchanged,
    Grown,
    Marked,
    Renamed,
    Replaced,
    Rewritten,
    Runs,
    Saved,
    Stopping,
    Turn,
    Waits,
)
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.journal import (
    AlteredError,
    DamagedError,
    Journal,
    LockedError,
    is_locked,
)
from lmc_jupyter.conversation.of_kernel import OfKernel
from lmc_jupyter.conversation.records import is_empty_result
from lmc_jupyter.conversation.scrub import Scrub, is_text
from lmc_jupyter.errors import SessionError
from lmc_jupyter.kernel.frontend import connection_file, current_shell, kernel_of, notebook_path
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import CELL, Message


class _State(NamedTuple):
    """The state after the events so far.

    Parameters
    ----------
    about : the conversation without its messages: title, notebook, extra, ...
    actions : of the person beside the messages, oldest first
    cost : US dollars of its turns, as far as known; None where nothing is known
    length : the number of messages in the file and the queue
    journal : the file; None while there is none
    queue : records for the file, each with its number there
    old_files : (file of another conversation to close, whether it stays on the disk)
    waits : whether it is a copy without a file before the first change
    answers : whether an answer is in progress
    event : the last event in this state
    """

    about: Conversation
    actions: tuple[Action, ...] = ()
    cost: float | None = None
    length: int = 0
    journal: Journal | None = None
    queue: tuple[tuple[int, dict[str, Any]], ...] = ()
    old_files: tuple[tuple[Journal, bool], ...] = ()
    waits: bool = False
    answers: bool = False
    event: Event | None = None

    def with_record(self, record: dict[str, Any], **changes: Any) -> _State:
        """The state with these changes, and with their record in the queue."""
        queue = self.queue
        if self.journal is not None:  # else the new file has it from its beginning
            number = queue[-1][0] + 1 if queue else self.journal.n
            queue = (*queue, (number, record))
        return self._replace(queue=queue, **changes)

    def with_action(self, at: int, data: Mapping[str, Any]) -> _State:
        """The state with this action of the person, after the message number `at`."""
        action = Action(at, {"time": datetime.now(timezone.utc).isoformat(), **data})
        record = {"kind": "event", "at": at, "data": dict(action.data)}
        return self.with_record(record, actions=(*self.actions, action))


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
        self._history, self._secrets = history, secrets
        self._state = _State(Conversation())
        self._pieces: Callable[[str], str] | None = None  # removes keys from the stream
        self._piece: tuple[Grown | None, str] = (None, "")  # the last piece, without keys
        self._id = ""
        self._lock = threading.RLock()
        history.subscribe(self.hear)

    @property
    def about(self) -> Conversation:
        """The conversation without its messages: title, notebook, extra, ..."""
        return self._state.about

    @property
    def actions(self) -> list[Action]:
        """The actions of the person beside the messages, oldest first."""
        return list(self._state.actions)

    @property
    def cost(self) -> float | None:
        """US dollars of this conversation's turns, as far as known; None where nothing is known."""
        return self._state.cost

    @property
    def id(self) -> str:
        """The id of the file; "" while there is none."""
        journal = self._state.journal
        return "" if journal is None else journal.path.stem

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
                in_use = is_locked(there.path(id))
                why = "another kernel uses the original" if in_use else "the original is read-only"
                if isinstance(error, DamagedError):
                    why = "the original is damaged"
                note = " ".join([f"This is a copy, because {why}.", *conversation.losses])
                return Replaced(copy, written=False), note
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
        self._try(self._write, self._sync)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            state = self._state
            if state.journal is not None:
                with suppress(OSError):
                    (state.journal.close if state.length else state.journal.remove)()
            self.conversations, self._pieces = None, None
            self._state = state._replace(journal=None, queue=())

    # Events ---------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """Take an event and write its record."""
        if isinstance(event, (Saved, Stopping)):
            return
        if isinstance(event, Grown):
            if not self.problem:  # else the whole message is written at its end
                self._try(lambda: self._stream(event))
            return
        if isinstance(event, Replaced) and self._state.queue:
            self._try(self._write)  # the last try: the new state drops its queue
        steps = (lambda: self._take(event), self._let_go, lambda: self._begin(event))
        if isinstance(event, (Appended, Cut)) and self._history.more:
            self._try(
                *steps
            )  # more events follow: one write for all, so that a kill leaves all or none
            return
        self._try(
            *steps,
            self._write,
            lambda: self._end(event),
            *([self._sync] if _is_synced(event, answers=self._state.answers) else []),
        )

    def _try(self, *steps: Callable[[], None]) -> None:
        """Run these steps; an error of the disk becomes the problem, and ends no turn."""
        with self._lock:
            try:
                for step in steps:
                    step()
            except Exception as error:  # noqa: BLE001 - no turn ends because of the disk
                self._fail(error)

    def _take(self, event: Event) -> None:
        """Change the state by the event, and queue its record."""
        before = self._state
        if event is before.event:  # a Ctrl-C came after this was done
            return
        after = self._after(event, before)
        if after is not before:
            self._state = after._replace(event=event)

    def _after(self, event: Event, state: _State) -> _State:
        at = len(self._history)
        record: dict[str, Any]
        match event:
            case Appended(place, message):
                record = {"kind": "message", "message": message.to_dict()}
                return state.with_record(record, length=place + 1, waits=False)
            case Rewritten(place, message):
                record = {"kind": "instead", "at": place, "message": message.to_dict()}
                return state.with_record(record)
            case Cut(length):
                actions = tuple(each for each in state.actions if each.at <= length)
                return state.with_record(
                    {"kind": "back", "to": length}, length=length, actions=actions
                )
            case Marked(_, message, keys):
                record = {"kind": "mark", "id": message.id, "set": dict(keys)}
                return state.with_record(record, waits=False)
            case Acted(data):
                return state.with_action(at, data)
            case Answered() if data := _describe_decision(event):
                last = self._history.last
                return state.with_action(at, data if last is None else {**data, "message": last.id})
            case Renamed(title):
                about = replace(state.about, title=one_line(title))
                record = {"kind": "title", "title": about.title}
                return state.with_record(record, about=about, waits=False)
            case Described(extra):
                about = replace(state.about, extra={**state.about.extra, **extra})
                return state.with_record({"kind": "extra", "extra": about.extra}, about=about)
            case Exchanged(data):
                about = replace(state.about, sent=[*state.about.sent, data])
                return state.with_record({"kind": "sent", "data": dict(data)}, about=about)
            case Began(turn):
                about = state.about
                if turn.where != "agent":  # an agent's turn has no model
                    about = replace(about, model=turn.model)
                return state._replace(about=about, answers=True)
            case Ended(turn):
                cost = state.cost if turn.cost is None else (state.cost or 0.0) + turn.cost
                record = {"kind": "turn", "at": at, **_describe_turn(turn)}
                return state.with_record(record, cost=cost, answers=False)
            case Replaced():
                return self._another(event, state)
            case _:
                return state

    def _another(self, event: Replaced, state: _State) -> _State:
        """The state of another conversation; the file of this one goes to `old_files`."""
        conversation, old_files = event.conversation, state.old_files
        if state.journal is not None:
            old_files = (*old_files, (state.journal, event.keep and state.length > 0))
        title = one_line(conversation.title)
        about = replace(conversation, messages=(), events=(), losses=[], title=title)
        return _State(
            about=about,
            actions=tuple(conversation.events),
            cost=event.cost,
            length=len(conversation.messages),
            journal=event.file,
            old_files=old_files,
            waits=not event.written,
        )

    def _let_go(self) -> None:
        """Close the files of earlier conversations, and remove those without a message."""
        while self._state.old_files:
            journal, stays = self._state.old_files[-1]
            with suppress(OSError):  # this only tidies up
                (journal.close if stays else journal.remove)()
            self._state = self._state._replace(old_files=self._state.old_files[:-1])

    def _begin(self, event: Event) -> None:
        """Begin another conversation, where the event brings one."""
        if isinstance(event, Replaced):
            self._pieces, self._id = None, ""
            if self._state.journal is not None or not event.conversation.messages:
                self._point(self.id)

    def _end(self, event: Event) -> None:
        """End the unfinished message, where the event ends the answer: its messages are written."""
        if isinstance(event, Ended):
            self._pieces = None
            if self._state.journal is not None:
                self._state.journal.end_message()

    # Writing; the lock is held --------------------------------------------------------------------

    def _write(self) -> None:
        """Write the records of the queue; the whole conversation where there is no file."""
        state = self._state
        if self.conversations is None:
            return
        if state.journal is None:
            if state.length and not state.waits:
                self._make()
            return
        missing = [record for number, record in state.queue if number >= state.journal.n]
        if missing:
            state.journal.append([*map(self._scrub(), missing)])
        if state.queue:
            self._state = state._replace(queue=())

    def _make(self, *, sync: bool = False) -> None:
        """Make the file, with the whole conversation."""
        there, state = self.there(), self._state
        about = replace(
            state.about,
            messages=self._history[: state.length],
            events=state.actions,
            notebook=notebook_path(),  # and not that of an opened file, which may be any
        )
        scrub = self._scrub()
        self._id = self._id or new_id(there.folder)  # the same id at each try
        head = scrub({**new_head(about, self._id), "kernel": self._kernel_name()})
        if state.cost is not None:
            head["cost"] = state.cost
        rest = [scrub(record) for record in [*records.whole(about, {})][1:]]
        try:
            journal = Journal.new(there.folder, head, rest, sync=sync)
        except LockedError:  # an interrupted try still has the lock of this id
            self._id = ""
            raise
        about = replace(state.about, began=head["began"])
        self._state = state._replace(journal=journal, queue=(), about=about)
        self._point(self.id)

    def _sync(self) -> None:
        """Wait until the disk has the file."""
        journal = self._state.journal
        if journal is None:
            return
        try:
            journal.sync()
        except AlteredError:  # the file is gone, or another program has written it: make a new one
            self._state = self._state._replace(journal=None, queue=())
            journal.close()
            self._pieces, self._id = None, ""
            self._make(sync=True)
        self._set_problem("")

    def _stream(self, event: Grown) -> None:
        """Write a piece of the unfinished message to the file beside."""
        journal, chunk = self._state.journal, event.chunk
        if journal is None:
            return
        if chunk.start:
            format_ = "output" if chunk.type == "console" else chunk.format
            extra = {} if chunk.cell is None else {CELL: chunk.cell}
            head = Message(chunk.role, chunk.type, format_, "", chunk.recipient, extra=extra)
            head = head.stamped()
            self._pieces = None
            journal.begin_message(head)
            self._pieces = self._scrub().stream().feed if is_text(chunk.type, chunk.format) else str
        if chunk.content is not None and chunk.format != "active_line" and self._pieces:
            if self._piece[0] is not event:  # else a Ctrl-C came after the redaction
                self._piece = event, self._pieces(chunk.content)
            if self._piece[1]:
                journal.write_piece(*self._piece)
        if chunk.end:
            self._pieces = None

    def _scrub(self) -> Scrub:
        """A new redactor for records, since code may have set a key."""
        return Scrub(self._secrets())

    def _kernel_name(self) -> str:
        return "" if self.kernel is None else self.kernel.name

    def _point(self, id_: str) -> None:
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


def _describe_decision(event: Answered) -> dict[str, Any]:
    """The person's decision, as its record has it; {} where there was no question or no answer."""
    proposal, decision = event.proposal, event.decision
    if proposal.verdict == "allow" or decision is None:
        return {}
    is_edit = decision.run and decision.code not in (None, proposal.code)
    data: dict[str, Any] = {"action": "edit" if is_edit else "run" if decision.run else "decline"}
    return {**data, "reason": decision.reason} if decision.reason else data


def _describe_turn(turn: Turn) -> dict[str, Any]:
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
            return (
                data.get("action") == "decline"
            )  # other decisions are synced when the code begins
        case Asked() | Runs() | Ended() | Changed() | Marked() | Acted() | Described() | Renamed():
            return True
        case _:
            return False


_files: set[str] = set()
"""Connection files whose conversations this process has opened."""

RESTART_NOTICE = (
    "The kernel was restarted: your variables are gone, the conversation is still here."
)
