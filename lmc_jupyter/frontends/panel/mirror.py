"""The conversation as the panel shows it: records in order, kept in step with a session.

One rule: it hears events, and tells on, and never asks the session to do anything. What it tells
has the name of the event that it heard (`name_of`). Records are numbered from 0 in the order of
their beginning, here and in the front end; a message becomes part of the record in which it was
written.

Why it is not simpler: whoever reloads the page gets a snapshot, which must equal what the events
up to its number add up to. So it folds what it tells: one assembler for the message that is being
written, the messages themselves for all others, and beside each what became of it.
It is one file of over 400 lines because an event changes records, turns and state together, under
one lock; what a record is stands in `record.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from typing import Any, NoReturn

from lmc_jupyter.content.bundle import WidgetChunk
from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.events import Fate, Turn
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.conversation.records import is_empty_result
from lmc_jupyter.errors import LMCError, Stopped
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.record import RATINGS, Record
from lmc_jupyter.frontends.panel.wire import names_wire, turn_wire
from lmc_jupyter.frontends.question import question
from lmc_jupyter.frontends.states import is_over
from lmc_jupyter.gate import Proposal
from lmc_jupyter.lmc import Chunk, Message, clean
from lmc_jupyter.session import Session
from lmc_jupyter.stream import Assembler


def name_of(event: type[events.Event]) -> str:
    """The name of an event on the wire (`Event` of protocol.ts): "names_changed"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event.__name__).lower()


class Mirror:
    """What the panel shows of one session.

    Parameters
    ----------
    session : whose conversation it is; it is watched until `close`
    batch : takes the events
    settings : gives `Settings` of protocol.ts
    """

    def __init__(
        self, session: Session, batch: Batch, settings: Callable[[], dict[str, Any]]
    ) -> None:
        self._session, self._batch, self._settings = session, batch, settings
        self._records: list[Record] = []
        self._places: list[Record | None] = []  # of each message; None: it is not shown
        self._turns: list[tuple[Turn, int]] = []
        self._notes: list[Record] = []  # they wait for the end of the message that is written
        self._open: Record | None = None
        self._assembler = Assembler()
        self._ask: dict[str, Any] | None = None
        self._input: dict[str, Any] | None = None
        self._state, self._note = "idle", ""
        self._mine = False  # whether the panel drives the answer that is being given
        self._followed: events.Event | None = None  # the last one
        self._broken = False  # whether it was broken off
        self._turn: Turn | None = None
        self._awaited: Callable[[str], bool] | None = None  # while the panel drives an answer
        self._configured = settings()
        with batch.lock:
            self._unwatch = session.history.subscribe(self)
            self._show_all(session.messages)
            for turn in session.turns:
                self._send_turn(turn)
            if session.busy and session.turns:  # its next message is the first that is heard
                self._turn, self._state = session.turns[-1], "thinking"

    def __call__(self, event: events.Event) -> None:
        """Follow an event; where a Ctrl-C broke off the one before, all is shown anew first."""
        if isinstance(event, events.Stopping):  # beside the order, on any thread, as the next
            return
        if isinstance(event, events.Saved):
            self._configure()
            return
        if event is self._followed:
            return  # it is told again, because a Ctrl-C came right after it
        if self._broken:  # what of the event is shown already stays
            with self._batch.lock:
                self._replace(self._session.messages)
                for turn in self._session.turns:
                    self._send_turn(turn)
        self._broken = True
        self._follow(event)
        self._followed = event
        self._broken = False

    def close(self) -> None:
        """Watch no longer."""
        self._unwatch()

    # What the front end asks for ------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """All of it; the lock of the batch is held."""
        return {
            "records": [self._wire(record) for record in self._records],
            "open": self._open is not None,
            "line": self._assembler.active_line,
            "ask": self._ask,
            "input": self._input,
            "state": self._state_wire(),
            "turns": [turn_wire(turn, at) for turn, at in self._turns],
            "settings": self._configured,
        }

    def whole_text(self, at: object) -> str:
        """The whole text of a record.

        Raises
        ------
        LMCError
            When there is no such record.
        """
        with self._batch.lock:
            record = self._record(at)
            if record is None:
                raise LMCError(f"there is no message number {at!r} in the panel any more")
            return clean(self._text(record))

    def answer_id(self, at: object) -> str:
        """The id of the answer in a record.

        Raises
        ------
        LMCError
            When there is no such answer, or it is not whole yet.
        """
        with self._batch.lock:
            record = self._record(at)
            if (
                record is None
                or record.head is None
                or record.head.role != "assistant"
                or record.id is None
            ):
                raise LMCError(
                    f"message number {at!r} is no answer that can be rated: wait until it is whole"
                )
            return record.id

    def page(self, at: object) -> str | None:
        """What the page in this record shows; None when there is no such page."""
        with self._batch.lock:
            record = self._record(at)
            return self._text(record) if record is not None and record.is_page else None

    def page_heard(self, at: int) -> None:
        """It was heard what became of the page in this record."""
        with self._batch.lock:
            self._mark(events.Marked, at, page="heard")

    def names(self, at: object) -> Names:
        """What the block of a record did to the names.

        Raises
        ------
        LMCError
            When there is no such block, or it was restored.
        """
        with self._batch.lock:
            record = self._record(at)
        if record is None or record.names is None:
            raise LMCError(f"there are no names to restore at message number {at!r} any more")
        return record.names

    def turn(self, turn_id: object) -> Turn:
        """The turn of this id.

        Raises
        ------
        LMCError
            When there is none.
        """
        with self._batch.lock:
            for turn, _ in self._turns:
                if turn.id == turn_id:
                    return turn
        raise LMCError("this question is no longer in the conversation")

    @property
    def over(self) -> bool:
        """Whether no answer is being given, as far as the panel was told."""
        return is_over(self._state)

    # What the panel tells -------------------------------------------------------------------------

    def ask(self, proposal: Proposal) -> None:
        """A question is open in the panel."""
        with self._batch.lock:
            self._ask = question(proposal, self._code_at())
            self._wait_at(self._ask["at"])
            self._send(events.Waits, self._ask)

    def unask(self) -> None:
        """It is answered, or nobody will answer it any more."""
        with self._batch.lock:
            if self._ask is not None:
                self._send(events.Answered, self._ask["proposal"])
                self._ask = None

    def input(self, wanted: dict[str, Any] | None) -> None:
        """The running code asks the person for a line (`Input` of protocol.ts); None: no more."""
        with self._batch.lock:
            if wanted != self._input:
                self._input = wanted
                self._batch.add({"input": wanted})
                self._enter(self._state)

    def show_progress(self, text: str) -> None:
        """Say beside the state what takes time, in an answer or without one; "" when it is over."""
        with self._batch.lock:
            self._enter(self._state, text)

    def note(self, text: str, level: str = "info") -> None:
        """A line of ours in the list; it waits for the end of a message that is being written."""
        with self._batch.lock:
            self._notes.append(Record(note={"note": clean(text), "level": level}))
            self._note_now()

    @contextmanager
    def driving(self, awaited: Callable[[str], bool]) -> Iterator[None]:
        """While it is held, the panel drives the answer to what is asked there.

        Parameters
        ----------
        awaited : whether somebody waits for the report of a page that shows this
        """
        self._awaited = awaited
        try:
            yield
        finally:
            self._awaited = None

    # Events of the session ------------------------------------------------------------------------

    def _follow(self, event: events.Event) -> None:
        with self._batch.lock:
            match event:
                case events.Began(turn):
                    self._begin(turn)
                case events.Grown(chunk):
                    self._grow(chunk)
                case events.Appended(at, message):
                    if at == len(self._places):  # else it was there when we began to watch
                        self._places.append(self._place(message))
                case events.Rewritten(at, message):
                    self._rewrite(at, message)
                case events.Cut(length):
                    gone = [each for each in self._places[length:] if each is not None]
                    del self._places[length:]
                    if gone:
                        self._cut(self._records.index(gone[0]))
                case events.Marked(at, message, keys):
                    self._mark_message(at, message, keys)
                case events.Replaced(conversation):
                    self._notes = []
                    self._replace(conversation.messages)
                case events.Noted(text):
                    self.show_progress(text)
                case events.Waits(proposal):
                    if proposal.verdict != "allow" and not self._mine:
                        self._wait_at(self._code_at())
                case events.Answered(proposal, decision):
                    runs = proposal.verdict == "allow" if decision is None else decision.run
                    if runs:  # it may have to wait for a cell, and the gate may still refuse it
                        self._become("running")
                case events.Became(fate, seconds):
                    self._become(fate, seconds)
                case events.NamesChanged(names):
                    self._change_names(names)
                case events.NamesRestored(names):
                    for at, record in enumerate(self._records):
                        if record.names is names:
                            record.names = None
                            self._mark(events.NamesRestored, at, names=None)
                case events.Ended(turn, error):
                    self._end(turn, error)
                case events.Changed():
                    for turn in self._session.turns:
                        if all(known is not turn for known, _ in self._turns):
                            self._send_turn(turn)
                    self._enter("idle")
                case events.Asked() | events.Renamed() | events.Configured() | events.Saved():
                    pass  # the settings say it
                case events.Runs() | events.Acted() | events.Described() | events.Stopping():
                    pass
                case _:
                    _never(event)
        if isinstance(event, _CONFIGURING):
            self._configure()

    def _begin(self, turn: Turn) -> None:
        self._turn = turn
        self._close()
        self._mine = self._awaited is not None and turn.where == "panel"
        self._send_turn(turn)
        self._enter("thinking")

    def _grow(self, chunk: Chunk) -> None:
        if chunk.start:
            self._open = Record(chunk)
            self._assembler = Assembler()
            self._records.append(self._open)
        record = self._open
        if record is None:
            return  # it began before we watched
        at = len(self._records) - 1
        if isinstance(chunk, WidgetChunk):
            self._mark(events.Marked, at, widget=chunk.model_id)
        if chunk.end and record.is_page and (mark := self._of_page(record)):
            self._mark(events.Marked, at, page=mark)  # first: it is drawn at its end
        if (message := self._assembler.feed(chunk)) is not None and not record.whole:
            record.head = message
        self._batch.add_chunk(chunk)
        if chunk.end:
            self._close()
            self._note_now()
        if chunk.role == "assistant":
            if chunk.end:
                self._enter("thinking")
            elif self._state != "writing" and chunk.content is not None:
                self._enter("writing")

    def _rewrite(self, at: int, message: Message) -> None:
        record = self._places[at]
        if record is None:
            self._places[at] = self._place(message)
        else:
            before = self._text(record)
            record.take(message)
            if (text := self._text(record)) != before:
                at = self._records.index(record)
                self._send(events.Rewritten, {"at": at, "content": clean(text)})

    def _mark_message(self, at: int, message: Message, keys: Mapping[str, Any]) -> None:
        record = self._places[at]
        if record is not None:
            record.head = message
            if "feedback" in keys:
                rating = keys["feedback"] if keys["feedback"] in RATINGS else None
                self._mark(events.Marked, self._records.index(record), feedback=rating)

    def _become(self, fate: Fate, seconds: float = 0.0) -> None:
        at = self._code_at()
        if at >= 0:
            took = {"seconds": round(seconds, 3)} if seconds else {}
            self._mark(events.Became, at, fate=fate, **took)
            self._enter("running" if fate == "running" else "thinking")

    def _change_names(self, names: Names) -> None:
        at = self._code_at()
        if at >= 0:
            self._records[at].names = names
            self._mark(events.NamesChanged, at, names=names_wire(names))
        for at, record in enumerate(self._records):  # older values may have been let go
            known = record.marks.get("names")
            if record.names and known and known["restorable"] != record.names.restorable:
                self._mark(events.NamesChanged, at, names=names_wire(record.names))

    def _end(self, turn: Turn, error: BaseException | None) -> None:
        self.unask()
        for at, record in enumerate(self._records):
            if record.marks.get("page") == "awaited":
                self._mark(events.Marked, at, page=None)
        if self._open is not None and not self._open.whole:  # nothing has come of it
            self._cut(self._records.index(self._open))
        self._close()
        self._note_now()
        stopped = self._session.stopped or isinstance(
            error, (GeneratorExit, KeyboardInterrupt, Stopped)
        )
        if isinstance(error, Exception) and not stopped:
            self.note(str(error) if isinstance(error, LMCError) else repr(error), "error")
        self._send_turn(turn)
        failed = error is not None and not stopped
        self._enter("stopped" if stopped else "failed" if failed else "done")
        self._turn = None

    def _configure(self) -> None:
        """Send the settings, if they are others; they are asked for without the lock."""
        settings = self._settings()
        with self._batch.lock:
            if settings != self._configured:
                self._configured = settings
                self._send(events.Configured, settings)

    # Records; the lock is held --------------------------------------------------------------------

    def _send(self, event: type[events.Event], value: Any) -> None:
        self._batch.add({name_of(event): value})

    def _record(self, at: object) -> Record | None:
        if isinstance(at, int) and 0 <= at < len(self._records):
            return self._records[at]
        return None

    def _text(self, record: Record) -> str:
        unfinished = record is self._open and not record.whole
        message = self._assembler.so_far() if unfinished else record.head
        return message.content if message is not None and isinstance(message.content, str) else ""

    def _wire(self, record: Record) -> dict[str, Any]:
        return record.wire(self._text(record))

    def _replace(self, messages: Sequence[Message]) -> None:
        self._turns = []
        self._show_all(messages)
        self._send(events.Replaced, [self._wire(record) for record in self._records])

    def _show_all(self, messages: Sequence[Message]) -> None:
        """Show these in place of all that is there."""
        self._records, self._places = [], []
        self._close()
        for message, after in zip_longest(messages, islice(messages, 1, None)):
            record = Record.of(message) if _is_shown(message) else None
            self._places.append(record)
            if record is None:
                continue
            self._records.append(record)
            if record.is_page and after is not None and after.type == "console":
                record.marks["page"] = "heard"  # what it said stands there

    def _place(self, message: Message) -> Record | None:
        """The record of a message that is whole: the one in which it was written, or a new one."""
        if not _is_shown(message) or is_empty_result(message):
            return None
        record = self._open
        if message.type == "console" and message.content == "" and self._records:
            last = self._records[-1]  # code that put nothing out
            record = last if last.is_of("computer", "console") and not last.whole else None
        if record is None or self._text(record) != message.content:
            record = Record.of(message)
            self._add(record)
            return record
        record.take(message)
        if record.marks.get("partial"):  # it was stopped, and no end of it comes
            self._close()
            self._mark(events.Marked, self._records.index(record), partial=True)
            self._note_now()
        return record

    def _close(self) -> None:
        """No message is being written."""
        self._open, self._assembler = None, Assembler()

    def _note_now(self) -> None:
        if self._open is None:
            for record in self._notes:
                self._add(record)
            self._notes.clear()

    def _add(self, record: Record) -> None:
        self._records.append(record)
        self._send(events.Appended, self._wire(record))

    def _cut(self, at: int) -> None:
        del self._records[at:]
        self._close()
        self._turns = [each for each in self._turns if each[1] < at]
        self._send(events.Cut, at)

    def _mark(self, event: type[events.Event], at: int, **marks: Any) -> None:
        if 0 <= at < len(self._records):
            self._records[at].marks.update(marks)
            self._send(event, {"at": at, **marks})

    def _wait_at(self, at: int) -> None:
        self._mark(events.Became, at, fate="waits")
        self._enter("waiting")

    def _of_page(self, record: Record) -> str:
        """Whether the panel is to report what becomes of this page; "" where it is just shown."""
        if self._turn is not None and not self._mine:
            return "heard"  # in the cell
        return "awaited" if self._awaited is not None and self._awaited(self._text(record)) else ""

    def _code_at(self) -> int:
        """The last block of code that a model wrote; -1 without."""
        return self._last(lambda record: record.is_of("assistant", "code"))

    def _last(self, matches: Callable[[Record], bool]) -> int:
        """The number of the last record that matches; -1 where none does."""
        numbers = reversed(range(len(self._records)))
        return next((at for at in numbers if matches(self._records[at])), -1)

    def _send_turn(self, turn: Turn) -> None:
        """Tell how it is with a turn; a new one begins at its question."""
        at = next((at for known, at in self._turns if known is turn), None)
        if at is None:
            wanted = _question_id(turn)
            at = self._last(lambda record: record.whole and record.id == wanted)
            if at < 0:
                return  # its question was taken away
            self._turns.append((turn, at))
        self._send(events.Ended if turn.over else events.Began, turn_wire(turn, at))

    def _enter(self, state: str, note: str = "") -> None:
        if self._input is not None and not is_over(state):
            note = note or "waiting for your input"
        if (state, note) != (self._state, self._note):
            self._state, self._note = state, note
            self._batch.add({"state": self._state_wire()})

    def _state_wire(self) -> dict[str, Any]:
        turn = self._turn
        return {
            "state": self._state,
            "note": _sentence(self._note),
            "elapsed": round(turn.seconds, 2) if turn is not None else 0.0,
            "where": "panel" if turn is None or self._mine else "cell",
        }


_CONFIGURING = (  # the first question is a title, and another conversation has another
    events.Asked | events.Changed | events.Configured | events.Renamed
)


def _never(event: NoReturn) -> NoReturn:
    """No event is left out: mypy checks it."""
    raise AssertionError(f"{event!r} is no event")


def _is_shown(message: Message) -> bool:
    return message.type != "confirmation" and message.format != "active_line"


def _question_id(turn: Turn) -> str | None:
    words = [message.id for message in turn.said if message.type == "message"]
    return words[-1] if words else turn.said[-1].id if turn.said else turn.anchor


def _sentence(note: str) -> str:
    note = clean(note).strip()
    if not note:
        return ""
    return f"{note[0].upper()}{note[1:]}{'' if note[-1] in '.…!?' else '…'}"
