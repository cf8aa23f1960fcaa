"""Writes a session's conversation to disk: a reader of its events.

One rule: it hears of an event before anybody is shown anything, writes down what the event says,
and never ends a turn: when the disk refuses, the conversation goes on in memory, `problem` says
why, and the next event tries again to write what is missing. The sync of a question goes on while
the model is asked; nothing of the answer is shown before it has ended.

What is known and what is still to be written are one value, which an event replaces in one step: a
Ctrl-C leaves the one before or the one behind it, and an event that was broken off is heard again.

Why one file: what an event does to the state, and in which order state and file change, can only
be read together. Why not one `append` for each event: a full disk would lose its record, a kill
would leave half of what takes the place of other messages, and a Ctrl-C would write a record twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, NamedTuple

from lmc_jupyter.conversation import Action, Conversation, records
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
from lmc_jupyter.conversation.journal import AlteredError, Journal, LockedError, is_locked
from lmc_jupyter.conversation.of_kernel import OfKernel
from lmc_jupyter.conversation.records import is_empty_result
from lmc_jupyter.conversation.scrub import Scrub, is_text
from lmc_jupyter.errors import SessionError
from lmc_jupyter.kernel.frontend import connection_file, current_shell, kernel_of, notebook_path
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Message


class _State(NamedTuple):
    """What the events so far come to.

    Parameters
    ----------
    about : what is known of the conversation beside its messages
    actions : what the person did beside the messages, oldest first
    cost : US dollars of its turns, as far as that is known; None: nothing is
    length : how many messages the file and the queue come to
    journal : the file; None while there is none
    queue : records that are to be written, each with its number in the file
    left : files of other conversations that are to be closed, and whether each stays on the disk
    waits : whether it is a copy that is not written before something is added
    answers : whether an answer is being given
    event : the last event that is in all of these
    """

    about: Conversation
    actions: tuple[Action, ...] = ()
    cost: float | None = None
    length: int = 0
    journal: Journal | None = None
    queue: tuple[tuple[int, dict[str, Any]], ...] = ()
    left: tuple[tuple[Journal, bool], ...] = ()
    waits: bool = False
    answers: bool = False
    event: Event | None = None

    def queued(self, record: dict[str, Any], **changes: Any) -> _State:
        """The state with these changes, and with a record that says so."""
        queue = self.queue
        if self.journal is not None:  # else the whole is written when the file is made
            number = queue[-1][0] + 1 if queue else self.journal.n
            queue = (*queue, (number, record))
        return self._replace(queue=queue, **changes)

    def acted(self, at: int, data: Mapping[str, Any]) -> _State:
        """The state in which the person has done this, when so many messages stood there."""
        action = Action(at, {"time": datetime.now(timezone.utc).isoformat(), **data})
        record = {"kind": "event", "at": at, "data": dict(action.data)}
        return self.queued(record, actions=(*self.actions, action))


class JournalWriter:
    """The writer of one session.

    Parameters
    ----------
    history : the session's conversation
    conversations : where to; None writes nothing
    secrets : what the session holds that must never be written
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
        self._said = ""
        self.kernel: OfKernel | None = None
        """Where the kernel that comes after this one looks; None outside of one."""
        self._history, self._secrets = history, secrets
        self._state = _State(Conversation())
        self._pieces: Callable[[str], str] | None = None  # takes keys out of what streams
        self._piece: tuple[Grown | None, str] = (None, "")  # what streamed last, without keys
        self._id = ""
        self._lock = threading.RLock()
        history.subscribe(self.hear)

    @property
    def about(self) -> Conversation:
        """What is known of the conversation beside its messages: title, notebook, extra, ..."""
        return self._state.about

    @property
    def actions(self) -> list[Action]:
        """What the person did beside the messages, oldest first."""
        return list(self._state.actions)

    @property
    def cost(self) -> float | None:
        """US dollars of the turns of this conversation, as far as it is known; None: nothing is."""
        return self._state.cost

    @property
    def id(self) -> str:
        """The id of the file; "" while nothing is written."""
        journal = self._state.journal
        return "" if journal is None else journal.path.stem

    @property
    def notebook(self) -> str:
        """The path of this kernel's notebook; "" where there is none."""
        return notebook_path()

    @property
    def title(self) -> str:
        """What the conversation is called in the list; "" for a new one."""
        return self.about.title or title_of(self._history[:])

    def conversation(self) -> Conversation:
        """The conversation as a value, by what is known of it here."""
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
        """`problem`, said once for each: "" where nothing has changed since the last call."""
        before, self._said = self._said, self.problem
        return self._said if self._said != before else ""

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
        """A conversation on disk: the event that takes it up, and what to say of it.

        None for the event where it is the one that is open here.

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
                journal, folded, note = there.open(id)
            except SessionError:
                conversation = there.read(id)
                copy = replace(conversation, title=copy_of(display_title(conversation)))
                locked = is_locked(there.path(id))
                why = "another kernel uses the original" if locked else "the original is read-only"
                note = " ".join([f"This is a copy, because {why}.", *conversation.losses])
                return Replaced(copy, written=False), note
            return Replaced(folded.conversation, file=journal, cost=folded.cost), note

    def pick_up(self) -> tuple[Replaced | None, str]:
        """What the kernel before this one had, after a restart, once; see `open`.

        Raises
        ------
        SessionError
            When it cannot be read.
        """
        file = connection_file(kernel_of(current_shell()))
        if file is None or self.conversations is None:
            return None, ""  # no Jupyter server would start it again under its name
        self.kernel, again = OfKernel(file), file in _files
        _files.add(file)
        if again or len(self._history):
            return None, ""  # the extension was loaded again
        self.kernel.tidy()
        id_ = self.kernel.id
        if not id_ or not self.conversations.path(id_).exists():
            return None, ""  # there was none, or it was deleted
        return self.open(id_)

    def retry(self) -> None:
        """Try again to write what is missing."""
        self._try(self._write, self._sync)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            state = self._state
            if state.journal is not None:
                with suppress(OSError):
                    (state.journal.close if state.length else state.journal.remove)()
            self.conversations, self._pieces = None, None
            self._state = state._replace(journal=None, queue=())

    # Events ---------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """Write down what has happened."""
        if isinstance(event, (Saved, Stopping)):
            return
        if self._syncing and not isinstance(event, Began):
            self._try(self._sync)  # of the question: nothing of the answer is shown before its end
        if isinstance(event, Grown):
            if not self.problem:  # else it is tried again when the message is whole
                self._try(lambda: self._stream(event))
            return
        if isinstance(event, Replaced) and self._state.queue:
            self._try(self._write)  # the last try: its records go with it
        known = (lambda: self._take(event), self._let_go, lambda: self._begin(event))
        if isinstance(event, (Appended, Cut)) and self._history.more:
            self._try(*known)  # their records go in one piece: a kill leaves all or none
            return
        self._try(
            *known,
            self._write,
            lambda: self._end(event),
            *([self._sync] if _is_synced(event, answers=self._state.answers) else []),
            *([lambda: self._sync(wait=False)] if isinstance(event, Asked) else []),
        )

    def _try(self, *steps: Callable[[], None]) -> None:
        """Do these; what goes wrong with the disk becomes the problem, and ends no turn."""
        with self._lock:
            try:
                for step in steps:
                    step()
            except Exception as error:  # noqa: BLE001 - no turn ends because of the disk
                self._fail(error)

    def _take(self, event: Event) -> None:
        """Know what the event says, and queue its record."""
        before = self._state
        if event is before.event:  # a Ctrl-C came when this was done
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
                return state.queued(record, length=place + 1, waits=False)
            case Rewritten(place, message):
                record = {"kind": "instead", "at": place, "message": message.to_dict()}
                return state.queued(record)
            case Cut(length):
                actions = tuple(each for each in state.actions if each.at <= length)
                return state.queued({"kind": "back", "to": length}, length=length, actions=actions)
            case Marked(_, message, keys):
                record = {"kind": "mark", "id": message.id, "set": dict(keys)}
                return state.queued(record, waits=False)
            case Acted(data):
                return state.acted(at, data)
            case Answered() if data := _decided(event):
                last = self._history.last
                return state.acted(at, data if last is None else {**data, "message": last.id})
            case Renamed(title):
                about = replace(state.about, title=one_line(title))
                record = {"kind": "title", "title": about.title}
                return state.queued(record, about=about, waits=False)
            case Described(extra):
                about = replace(state.about, extra={**state.about.extra, **extra})
                return state.queued({"kind": "extra", "extra": about.extra}, about=about)
            case Began(turn):
                about = replace(state.about, model=turn.model)
                return state._replace(about=about, answers=True)
            case Ended(turn):
                cost = state.cost if turn.cost is None else (state.cost or 0.0) + turn.cost
                record = {"kind": "turn", "at": at, **_took(turn)}
                return state.queued(record, cost=cost, answers=False)
            case Replaced():
                return self._another(event, state)
            case _:
                return state

    def _another(self, event: Replaced, state: _State) -> _State:
        """The state of another conversation; the file of this one is left."""
        conversation, left = event.conversation, state.left
        if state.journal is not None:
            left = (*left, (state.journal, event.keep and state.length > 0))
        title = one_line(conversation.title)
        about = replace(conversation, messages=(), events=(), losses=[], title=title)
        return _State(
            about=about,
            actions=tuple(conversation.events),
            cost=event.cost,
            length=len(conversation.messages),
            journal=event.file,
            left=left,
            waits=not event.written,
        )

    def _let_go(self) -> None:
        """Close the files of conversations that were left, and remove those without a message."""
        while self._state.left:
            journal, stays = self._state.left[-1]
            with suppress(OSError):  # it is only tidied
                (journal.close if stays else journal.remove)()
            self._state = self._state._replace(left=self._state.left[:-1])

    def _begin(self, event: Event) -> None:
        """Another conversation begins."""
        if isinstance(event, Replaced):
            self._pieces, self._id = None, ""
            if self._state.journal is not None or not event.conversation.messages:
                self._point(self.id)

    def _end(self, event: Event) -> None:
        """An answer is over, and its messages are written: no part of one is needed any more."""
        if isinstance(event, Ended):
            self._pieces = None
            if self._state.journal is not None:
                self._state.journal.over()

    # Writing; the lock is held --------------------------------------------------------------------

    def _write(self) -> None:
        """Write the records that are queued; the whole conversation, where no file is there."""
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
        """The file, with all that is known."""
        there, state = self.there(), self._state
        about = replace(
            state.about,
            messages=self._history[: state.length],
            events=state.actions,
            notebook=notebook_path(),  # and not what a file says, which may be any
        )
        scrub = self._scrub()
        self._id = self._id or new_id(there.folder)  # the same one when it is tried again
        head = scrub({**new_head(about, self._id), "kernel": self._kernel_name()})
        if state.cost is not None:
            head["cost"] = state.cost
        rest = [scrub(record) for record in [*records.whole(about, {})][1:]]
        try:
            journal = Journal.new(there.folder, head, rest, sync=sync)
        except LockedError:  # a try that was broken off has its lock still
            self._id = ""
            raise
        about = replace(state.about, began=head["began"])
        self._state = state._replace(journal=journal, queue=(), about=about)
        self._point(self.id)

    def _sync(self, wait: bool = True) -> None:
        """Have the file on the disk; without `wait` the next event but `Began` waits for that."""
        journal = self._state.journal
        if journal is None:
            return
        try:
            if wait:
                journal.sync()
            else:
                journal.begin_sync()
        except AlteredError:  # it was taken away, or written by somebody: it is begun anew
            self._state = self._state._replace(journal=None, queue=())
            journal.close()
            self._pieces, self._id = None, ""
            self._make(sync=True)
        if not self._syncing:
            self._set_problem("")

    @property
    def _syncing(self) -> bool:
        return self._state.journal is not None and self._state.journal.syncing

    def _stream(self, event: Grown) -> None:
        """Write the message that is being written beside the file, as it comes."""
        journal, chunk = self._state.journal, event.chunk
        if journal is None:
            return
        if chunk.start:
            format_ = "output" if chunk.type == "console" else chunk.format
            head = Message(chunk.role, chunk.type, format_, "", chunk.recipient).stamped()
            self._pieces = None
            journal.begin(head)
            self._pieces = self._scrub().stream().feed if is_text(chunk.type, chunk.format) else str
        if chunk.content is not None and chunk.format != "active_line" and self._pieces:
            if self._piece[0] is not event:  # else a Ctrl-C came when it was redacted
                self._piece = event, self._pieces(chunk.content)
            if self._piece[1]:
                journal.piece(*self._piece)
        if chunk.end:
            self._pieces = None

    def _scrub(self) -> Scrub:
        """Takes keys out; made anew, for code may have set one."""
        return Scrub(self._secrets())

    def _kernel_name(self) -> str:
        return "" if self.kernel is None else self.kernel.name

    def _point(self, id_: str) -> None:
        if self.kernel is not None:
            with suppress(OSError):  # the list has it still
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


def _decided(event: Answered) -> dict[str, Any]:
    """What the person did with a question; nothing where nobody was asked, or nobody answered."""
    proposal, decision = event.proposal, event.decision
    if proposal.verdict == "allow" or decision is None:
        return {}
    edited = decision.run and decision.code not in (None, proposal.code)
    data: dict[str, Any] = {"action": "edit" if edited else "run" if decision.run else "decline"}
    return {**data, "reason": decision.reason} if decision.reason else data


def _took(turn: Turn) -> dict[str, Any]:
    """What a turn took, as its record says it."""
    return {
        "where": turn.where,
        "model": turn.model,
        "seconds": round(turn.seconds, 3),
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "cost": turn.cost,
    }


def _is_synced(event: Event, *, answers: bool) -> bool:
    """Whether what is known has to be on the disk before anything else happens.

    Messages that the person puts there are so with the event behind them (`Asked`, `Changed`).
    """
    match event:
        case Appended(_, message) | Rewritten(_, message):
            return answers and message.role == "computer" and not is_empty_result(message)
        case Waits(proposal):
            return proposal.verdict != "allow"
        case Answered():
            data = _decided(event)
            return data.get("action") == "decline"  # else as soon as it begins
        case Runs() | Ended() | Changed() | Marked() | Acted() | Described() | Renamed():
            return True
        case _:
            return False


_files: set[str] = set()
"""Connection files whose conversations this process has taken up."""

RESTARTED = "The kernel was restarted: your variables are gone, the conversation is still here."
