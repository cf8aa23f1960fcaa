"""Keeps a session's conversation on disk while it is held.

One rule: it is told before anybody is shown anything, writes it down, and never ends a turn: when
the disk refuses, the conversation goes on in memory, `problem` says why, and the next time that
something is to be kept it is tried again.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, TypeVar

from lmc_jupyter.conversation import Conversation, Event
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.history import records
from lmc_jupyter.history.conversations import (
    Conversations,
    Kept,
    called,
    copy_of,
    new_head,
    new_id,
    one_line,
    title_of,
)
from lmc_jupyter.history.journal import Changed, Held, Journal, is_held
from lmc_jupyter.history.of_kernel import OfKernel
from lmc_jupyter.history.scrub import Scrub, is_text
from lmc_jupyter.kernel.frontend import connection_file, current_shell, kernel_of, notebook_path
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.turns import Turn, Watcher

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _kept(method: _Method) -> _Method:
    """What goes wrong in this method with the disk becomes the problem, or ends it."""

    @functools.wraps(method)
    def safe(self: Keeper, *arguments: Any) -> Any:
        with self._lock:
            try:
                method(self, *arguments)
            except Exception as error:  # noqa: BLE001 - no turn ends because of the disk
                self._fail(error)

    return safe  # type: ignore[return-value]


class Keeper(Watcher):
    """The keeper of one session.

    Parameters
    ----------
    messages : the session's own list
    conversations : where to; None keeps nothing
    secrets : what the session holds that must never be written
    say : is told when the problem changes
    """

    def __init__(
        self,
        messages: list[Message],
        conversations: Conversations | None,
        secrets: Callable[[], Iterable[Secret]],
        say: Callable[[str], None],
    ) -> None:
        self.conversations = conversations
        self.problem = ""
        """A sentence while the conversation cannot be written; "" when all is well."""
        self._said = ""
        self.events: list[Event] = []
        self.about = Conversation()
        """What is known of the conversation beside its messages: title, notebook, extra, ..."""
        self.cost: float | None = None
        """US dollars of the turns of this conversation, as far as it is known; None: nothing is."""
        self.kernel: OfKernel | None = None
        """Where the kernel that comes after this one looks; None outside of one."""
        self._messages, self._secrets, self._say = messages, secrets, say
        self._journal: Journal | None = None
        self._written: list[Message] = []  # what the journal holds, the very same objects
        self._events_written = 0
        self._extra_written = False
        self._later: list[dict[str, Any]] = []  # records that wait for the next sync
        self._written_at: tuple[int, list[dict[str, Any]]] = 0, []
        # the number that follows these records of `_later` in the file, once they are in it
        self._pieces: Callable[[str], str] | None = None  # takes keys out of what streams
        self._turn: Turn | None = None
        self._unsure = False
        self._asleep = False  # a copy that is not written before something is added
        self._id = ""
        self._lock = threading.RLock()

    @property
    def id(self) -> str:
        """The id of the file; "" while nothing is written."""
        return "" if self._journal is None else self._journal.path.stem

    @property
    def notebook(self) -> str:
        """The path of this kernel's notebook; "" where there is none."""
        return notebook_path()

    @property
    def title(self) -> str:
        """What the conversation is called in the list; "" for a new one."""
        return self.about.title or title_of(self._messages)

    def conversation(self) -> Conversation:
        """The conversation as a value, by what is known of it here."""
        first = self._messages[0].created_at if self._messages else None
        now = datetime.now(timezone.utc).isoformat()
        return replace(
            self.about,
            messages=list(self._messages),
            events=list(self.events),
            title=self.title,
            began=self.about.began or (now if first is None else str(first)),
            notebook=self.about.notebook or self.notebook,
            lost=[],
        )

    def news(self) -> str:
        """`problem`, said once for each: "" where nothing has changed since the last call."""
        before, self._said = self._said, self.problem
        return self._said if self._said != before else ""

    def there(self) -> Conversations:
        """The conversations that are kept.

        Raises
        ------
        SessionError
            For a session that keeps none.
        """
        if self.conversations is None:
            raise SessionError("this session does not save conversations: make it with keep=True")
        return self.conversations

    def earlier(self) -> Kept | None:
        """The last conversation of this notebook, while none has begun here; None without."""
        if self.conversations is None or not self.notebook or self._messages:
            return None
        there = self.conversations.list()
        return next((each for each in there if each.notebook == self.notebook), None)

    # What the session tells -----------------------------------------------------------------------

    @_kept
    def asked(self) -> None:
        self._asleep = False
        self._step(whole=True)
        self._sync()

    def began(self, turn: Turn) -> None:
        self._turn = turn
        self.about = replace(self.about, model=turn.model)

    @_kept
    def shown(self, chunk: Chunk) -> None:
        if self.problem and not (chunk.end and chunk.role == "computer"):
            return  # it is tried again where it would be synced
        if chunk.start:
            before = len(self._written)
            self._step()
            if not self._is_there(chunk, before):
                self._begin(chunk)
        if chunk.content is not None and chunk.format != "active_line" and self._pieces:
            text = self._pieces(chunk.content)
            if text and self._journal is not None:
                self._journal.piece(text)
        if chunk.end:
            self._pieces = None
            self._step()
            if chunk.role == "computer":
                self._sync()

    @_kept
    def waits(self, proposal: Proposal) -> None:
        if proposal.verdict != "allow":
            self._step()
            self._sync()

    @_kept
    def answered(self, proposal: Proposal, decision: Decision | None) -> None:
        if proposal.verdict == "allow" or decision is None:
            return  # nobody was asked, or nobody answered
        edited = decision.run and decision.code not in (None, proposal.code)
        action = "edit" if edited else "run" if decision.run else "decline"
        data: dict[str, Any] = {"action": action}
        if self._messages:
            data["message"] = self._messages[-1].id
        if decision.reason:
            data["reason"] = decision.reason
        self._happened(data)
        self._step()
        if not decision.run:  # else as soon as it begins
            self._sync()

    @_kept
    def running(self) -> None:
        """A block of code is about to run; that stands in the messages."""
        self._step()
        self._sync()

    def stopping(self) -> None:
        if self._turn is not None:  # on any thread, perhaps in the middle of a writing: no lock
            self._happened({"action": "stop"})

    @_kept
    def ended(self, turn: Turn, error: BaseException | None) -> None:  # noqa: ARG002
        self._pieces, self._turn = None, None
        self._later.append(
            {
                "kind": "turn",
                "at": len(self._messages),
                "where": turn.where,
                "model": turn.model,
                "seconds": round(turn.seconds, 3),
                "prompt_tokens": turn.prompt_tokens,
                "completion_tokens": turn.completion_tokens,
                "cost": turn.cost,
            }
        )
        if turn.cost is not None:
            self.cost = (self.cost or 0.0) + turn.cost
        self._step(whole=True)
        if self._journal is not None:
            self._journal.over()
        self._sync()

    @_kept
    def changed(self) -> None:
        self.events[:] = [each for each in self.events if each.at <= len(self._messages)]
        self._events_written = min(self._events_written, len(self.events))
        self._step(whole=True)
        self._sync()

    # What the session asks for --------------------------------------------------------------------

    def leave(self, *, delete: bool = False, for_now: bool = False) -> None:
        """The session goes on with another conversation, which is none yet.

        With `for_now` another one follows at once: until that is there, the kernel that comes
        after this one finds the one before, if there is something in it.
        """
        with self._lock:
            empty = delete or not self._written
            journal, self._journal = self._journal, None
            self._forget()
            self.about = Conversation()
            self.cost = None
            self.events.clear()
            if journal is not None:
                with suppress(OSError):  # it is only tidied
                    (journal.remove if empty else journal.close)()
            if not for_now or (empty and journal is not None):
                self._point("")

    def open(self, id: str) -> tuple[list[Message], str]:
        """Leave, and take up a conversation that is kept: its messages, and what to say of it.

        Raises
        ------
        SessionError
            When it cannot be read. The session keeps what it has.
        """
        with self._lock:
            kept = self.there()
            if id == self.id:
                return list(self._messages), ""
            try:
                journal, folded, said = kept.open(id)
            except SessionError:
                conversation = kept.read(id)
                self.leave()
                self.take(replace(conversation, title=copy_of(called(conversation))))
                self._asleep = True
                held = is_held(kept.path(id))
                why = "another kernel uses the original" if held else "the original is read-only"
                said = f"This is a copy, because {why}."
                return list(conversation.messages), " ".join([said, *conversation.lost])
            self.leave(for_now=True)
            self._adopt(journal, folded)
            return folded.messages, said

    def take(self, conversation: Conversation) -> None:
        """What is known of the conversation that begins; its file is made with its messages."""
        title = one_line(conversation.title)
        self.about = replace(conversation, messages=(), events=(), lost=[], title=title)
        self.events[:] = conversation.events

    def describe(self, extra: Mapping[str, Any]) -> None:
        """Know this of the conversation too, beside its messages."""
        with self._lock:
            self.about = replace(self.about, extra={**self.about.extra, **extra})
            self._extra_written = False
            self._save()

    def record(self, data: dict[str, Any]) -> None:
        """The person did this, beside the messages."""
        with self._lock:
            self._happened(data)
            self._save()

    def rename(self, title: str) -> None:
        """Give this conversation a title."""
        self._asleep = False
        self.about = replace(self.about, title=one_line(title))
        if self._journal is not None:
            self._later.append({"kind": "title", "title": self.about.title})
            self._save()

    def mark(self, message: Message, keys: Mapping[str, Any]) -> None:
        """The message, which is in its place in the list already, has got these keys."""
        with self._lock:
            self._asleep = False
            at = records.place(self._written, message.id or "")
            if at is not None:
                self._later.append({"kind": "mark", "id": message.id, "set": dict(keys)})
                self._written[at] = message
                self._save()

    @_kept
    def _save(self) -> None:
        self._step()
        self._sync()

    def delete(self) -> None:
        """Take away the file of this conversation; the session has left it."""
        self.leave(delete=True)

    def pick_up(self) -> tuple[list[Message], str]:
        """What the kernel before this one held, after a restart, once; see `open`.

        Raises
        ------
        SessionError
            When it cannot be read.
        """
        file = connection_file(kernel_of(current_shell()))
        if file is None or self.conversations is None:
            return [], ""  # no Jupyter server would start it again under its name
        self.kernel, again = OfKernel(file), file in _files
        _files.add(file)
        if again or self._messages:
            return [], ""  # the extension was loaded again
        self.kernel.tidy()
        id_ = self.kernel.id
        if not id_ or not self.conversations.path(id_).exists():
            return [], ""  # none, or it was deleted
        return self.open(id_)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            journal, self._journal = self._journal, None
            if journal is not None:
                with suppress(OSError):
                    (journal.remove if not self._written else journal.close)()
            self._forget()
            self.conversations = None

    # Writing; the lock is held --------------------------------------------------------------------

    def _step(self, *, whole: bool = False) -> None:
        """Bring the journal in step with the messages.

        Between two of these an answer adds messages, and replaces the last one: no more is
        looked at, unless the whole is asked for.
        """
        if self.conversations is None:
            self._later.clear()
            return
        if self._journal is None:
            if self._messages and not self._asleep:
                self._make()
            return
        if self._unsure:
            self._again()
        written, messages = self._written, self._messages
        same = len(written)
        if whole or len(messages) < same - 1:
            if self._differ():
                pairs = zip(written, messages, strict=False)
                same = next((i for i, (a, b) in enumerate(pairs) if a is not b and a != b), same)
                same = min(same, len(messages))
        elif same and (len(messages) < same or messages[same - 1] is not written[same - 1]):
            same -= 1
        new, gone = messages[same:], len(written) - same
        rest: list[dict[str, Any]]
        rest = [{"kind": "message", "message": each.to_dict()} for each in new]
        if gone == 1 and new:  # the last one is another by now
            rest[0] = {"kind": "instead", "at": same, "message": new[0].to_dict()}
        elif gone:
            rest.insert(0, {"kind": "back", "to": same})
            self.events[:] = [each for each in self.events if each.at <= same]
            self._events_written = min(self._events_written, len(self.events))
        events = self.events[self._events_written :]
        rest += ({"kind": "event", "at": each.at, "data": dict(each.data)} for each in events)
        if self.about.extra and not self._extra_written:
            rest.append({"kind": "extra", "extra": self.about.extra})
        later = list(self._later)
        rest += later
        if not rest:
            return
        self._written_at = self._journal.n + len(rest), later
        self._unsure = True
        try:
            self._journal.append([*map(self._scrub(), rest)])
        except OSError:
            self._unsure = False  # it is as it was
            raise
        written[same:] = new
        self._events_written += len(events)
        self._extra_written = True
        del self._later[: len(later)]
        self._unsure = False

    def _differ(self) -> bool:
        """Whether the messages do not begin as the file does.

        Lists of one length are compared by their objects' addresses; a part of a list would be
        a copy of it first, which looks every message up.
        """
        written, end = self._written, len(self._written)
        self._unsure = True  # a Ctrl-C in between leaves it too long
        written += self._messages[end:]
        differ = written != self._messages
        del written[end:]
        self._unsure = False
        return differ

    def _make(self) -> None:
        """The file, with the first message."""
        kept = self.there()
        about = replace(
            self.about,
            messages=list(self._messages),
            events=list(self.events),
            notebook=notebook_path(),  # and not what a file says, which may be any
        )
        scrub = self._scrub()
        self._id = self._id or new_id(kept.folder)  # the same one when it is tried again
        head = scrub({**new_head(about, self._id), "kernel": self._kernel_name()})
        if self.cost is not None:  # without the turns that are written below
            head["cost"] = self.cost - sum(each.get("cost") or 0.0 for each in self._later)
        later = list(self._later)
        rest = [*records.whole(about, {})][1:]
        self._written_at = 1 + len(rest) + len(later), later
        self._unsure = True  # until it is known here what is in it
        try:
            self._journal = Journal.new(kept.folder, head, [*map(scrub, [*rest, *later])])
        except Held:  # a try that was broken off has its lock still
            self._id = ""
            raise
        self._point(self.id)
        self._written[:] = about.messages
        self._events_written, self._extra_written = len(about.events), True
        del self._later[: len(later)]
        self.about = replace(self.about, began=head["began"])
        self._unsure = False

    def _again(self) -> None:
        """Something broke off in the middle: what is in the file is looked at."""
        if self._journal is None:
            return
        folded, _ = self._journal.settle()
        scrub = self._scrub()
        same = 0
        for there, here in zip(folded.messages, self._messages, strict=False):
            if there.to_dict() != scrub.message(here.to_dict()):
                break
            same += 1
        self._point(self.id)
        following, later = self._written_at
        done = {id(each) for each in later[: max(0, folded.n - (following - len(later)))]}
        self._later = [record for record in self._later if id(record) not in done]
        self._written[:] = [*self._messages[:same], *folded.messages[same:]]
        self._events_written = min(len(folded.events), len(self.events))
        self._unsure = False

    def _sync(self) -> None:
        if self._journal is None:
            return
        try:
            self._journal.sync()
        except Changed:  # it was taken away, or written by somebody: it is begun anew
            journal, self._journal = self._journal, None
            journal.close()
            self._forget()
            self._make()
        self._well()

    def _is_there(self, chunk: Chunk, before: int) -> bool:
        """Whether the message that begins was whole before it was shown, as the loop's own are."""
        last = self._written[-1] if len(self._written) > before else None
        return (
            last is not None
            and last.content != ""
            and (last.role, last.type) == (chunk.role, chunk.type)
        )

    def _begin(self, chunk: Chunk) -> None:
        self._pieces = None
        if self._journal is None:
            return
        format_ = "output" if chunk.type == "console" else chunk.format
        head = Message(chunk.role, chunk.type, format_, "", chunk.recipient).stamped()
        self._journal.begin(head)
        self._pieces = self._scrub().stream().feed if is_text(chunk.type, chunk.format) else str

    def _adopt(self, journal: Journal, folded: records.Fold) -> None:
        self._forget()
        self._written[:] = folded.messages
        self.events[:] = folded.events
        self._events_written, self._extra_written = len(folded.events), True
        self.about = replace(folded.conversation(), messages=(), events=())
        self.cost = folded.cost
        # together: no Ctrl-C is to leave other messages with this file
        self._messages[:], self._journal = folded.messages, journal
        self._point(self.id)

    def _scrub(self) -> Scrub:
        """Takes keys out; made anew, for code may have set one."""
        return Scrub(self._secrets())

    def _happened(self, data: dict[str, Any]) -> None:
        now = datetime.now(timezone.utc).isoformat()
        self.events.append(Event(len(self._messages), {"time": now, **data}))

    def _forget(self) -> None:
        self._asleep, self._id = False, ""
        self._written, self._later, self._pieces = [], [], None
        self._written_at = 0, []
        self._events_written, self._extra_written, self._unsure = 0, False, False

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

    def _well(self) -> None:
        self._set_problem("")

    def _set_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._say(problem)


_files: set[str] = set()
"""Connection files whose conversations this process has taken up."""

RESTARTED = "The kernel was restarted: your variables are gone, the conversation is still here."
