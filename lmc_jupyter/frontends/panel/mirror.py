"""What the panel shows of a session: its records, turns, state and open questions.

One rule: it hears events, and sends on, and never asks the session to do anything. What it sends
has the name of the event that it heard (`wire.name_of`).

Why it is not simpler: whoever reloads the page gets a snapshot, which must equal what the events
up to its number add up to. So it folds what it sends, under the one lock of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.events import Fate, TurnLike
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.errors import LMCError, Stopped
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.records import Records
from lmc_jupyter.frontends.panel.wire import event_wire, fate_marks, names_wire, turn_wire
from lmc_jupyter.frontends.question import question
from lmc_jupyter.frontends.states import is_over
from lmc_jupyter.gate import Proposal
from lmc_jupyter.lmc import Chunk, Message, is_proposal
from lmc_jupyter.session import Session

NEWEST, EARLIER = 200, 1_000
"""Records that the front end gets at once: in a snapshot, and of those before, for which it asks.
Those to the beginning of their question come with them."""


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
        self._records = Records(batch)
        self._turns: list[tuple[TurnLike, int]] = []  # and the number of the record of its question
        self._ask: dict[str, Any] | None = None
        self._input: dict[str, Any] | None = None
        self._state, self._note = "idle", ""
        self._mine = False  # whether the panel drives the answer that is being given
        self._turn: TurnLike | None = None
        self._awaited: Callable[[str], bool] | None = None  # while the panel drives an answer
        self._configured = settings()
        with batch.lock:
            self._unwatch = session.history.subscribe(self)
            self._records.show(session.messages, session.journal.about.blocks)
            for turn in session.turns:
                self._send_turn(turn)
            if session.turns and (failure := session.turns[-1].failure):
                self._records.note(failure, "error")
            if session.busy and session.turns:  # its next message is the first that is heard
                self._turn, self._state = session.turns[-1], "thinking"

    def __call__(self, event: events.Event) -> None:
        """Follow an event."""
        if isinstance(event, events.Stopping):  # beside the order, on any thread, as the next
            return
        if isinstance(event, events.Saved):
            self._configure()
            return
        self._follow(event)

    def close(self) -> None:
        """Watch no longer."""
        self._unwatch()

    # What the front end asks for ------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """All of it, but only the newest records; the lock of the batch is held."""
        return {
            **self._records.before(len(self._records), NEWEST),
            **self._records.snapshot(),
            "ask": self._ask,
            "input": self._input,
            "queued": self._queued(),
            "state": self._state_wire(),
            "turns": [turn_wire(turn, at) for turn, at in self._turns],
            "settings": self._configured,
        }

    def earlier(self, before: object) -> dict[str, Any]:
        """The records before this number (`Earlier`); the lock of the batch is held."""
        number = len(self._records)  # fewer than then, where they were cut
        if isinstance(before, int) and 0 <= before < number:
            number = before
        return self._records.before(number, EARLIER)

    def whole_text(self, at: object) -> str:
        """The whole text of a record.

        Raises
        ------
        LMCError
            When there is no such record.
        """
        with self._batch.lock:
            record = self._records.get(at)
            if record is None:
                raise LMCError(f"there is no message number {at!r} in the panel any more")
            return self._records.text(record)

    def answer_id(self, at: object) -> str:
        """The id of the answer in a record.

        Raises
        ------
        LMCError
            When there is no such answer, or it is not whole yet.
        """
        with self._batch.lock:
            record = self._records.get(at)
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

    def place(self, message_id: str) -> int:
        """The number of the record with this message; -1 for none."""
        with self._batch.lock:
            return self._records.last(lambda record: record.id == message_id)

    def proposal_id(self, at: object) -> str:
        """The id of the proposal in a record.

        Raises
        ------
        LMCError
            When there is none, or it is not whole yet.
        """
        with self._batch.lock:
            head = record.head if (record := self._records.get(at)) is not None else None
            if not isinstance(head, Message) or head.id is None or not is_proposal(head):
                raise LMCError(f"message number {at!r} proposes no cell: reload the page")
            return head.id

    def page(self, at: object) -> str | None:
        """What the page in this record shows; None when there is no such page."""
        with self._batch.lock:
            record = self._records.get(at)
            return self._records.text(record) if record is not None and record.is_page else None

    def page_heard(self, at: int) -> None:
        """It was heard what became of the page in this record."""
        with self._batch.lock:
            self._records.mark(events.Marked, at, page="heard")

    def names(self, at: object) -> Names:
        """What the block of a record did to the names.

        Raises
        ------
        LMCError
            When there is no such block, or it was restored.
        """
        with self._batch.lock:
            record = self._records.get(at)
        if record is None or record.names is None:
            raise LMCError(f"there are no names to restore at message number {at!r} any more")
        return record.names

    def turn(self, turn_id: object) -> TurnLike:
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
            self._ask = question(proposal, self._records.code_at)
            self._wait_at(self._ask["at"])
            self._send(events.Waits, self._ask)

    def unask(self) -> None:
        """It is answered, or nobody will answer it any more."""
        with self._batch.lock:
            if self._ask is not None:
                self._send(events.Answered, self._ask["proposal"])
                self._ask = None

    def queue_changed(self) -> None:
        """Show what waits in the queue of the session; from any thread."""
        with self._batch.lock:
            self._batch.add({"queued": self._queued()})

    def _queued(self) -> list[dict[str, str]]:
        """`Queued` of protocol.ts."""
        return [{"id": each.id, "text": each.text} for each in self._session.queue.entries]

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
            self._records.note(text, level)

    def cell_ended(self, number: int) -> None:
        """A cell of the person has ended: what goes with the next question may be another."""
        with self._batch.lock:
            self._batch.add({"cell": number})

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
                    self._records.append(at, message)
                case events.Rewritten(at, message):
                    self._records.rewrite(at, message)
                case events.Cut(length):
                    self._records.cut(length)
                    self._turns = [each for each in self._turns if each[1] < len(self._records)]
                case events.Marked(at, message, keys):
                    self._records.change_keys(at, message, keys)
                case events.Replaced(conversation):
                    self._records = Records(self._batch)  # notes that wait belong to the other one
                    self._turns = []
                    self._records.show(conversation.messages, conversation.blocks)
                    newest = self._records.before(len(self._records), NEWEST)
                    wire = event_wire(events.Replaced, newest["records"])
                    self._batch.add({**wire, "first": newest["first"]})
                case events.Noted(text):
                    self.show_progress(text)
                case events.Waits(proposal):
                    if proposal.verdict != "allow" and not self._mine:
                        self._wait_at(self._records.code_at)
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
                            self._records.mark(events.NamesRestored, at, names=None)
                case events.Ended(turn, error):
                    self._end(turn, error)
                case events.Changed():
                    for turn in self._session.turns:
                        if all(known is not turn for known, _ in self._turns):
                            self._send_turn(turn)
                    self._enter("idle")
                case events.Asked() | events.Renamed() | events.Configured() | events.Saved():
                    pass  # the settings say it
                case (
                    events.Runs()
                    | events.Acted()
                    | events.FilesRead()
                    | events.Described()
                    | events.Exchanged()
                    | events.Stopping()
                ):
                    pass
                case _:
                    _never(event)
        if isinstance(event, _CONFIGURING):
            self._configure()

    def _begin(self, turn: TurnLike) -> None:
        self._turn = turn
        self._records.close()
        self._mine = self._awaited is not None and turn.where != "cell"
        self._send_turn(turn)
        self._enter("thinking")

    def _grow(self, chunk: Chunk) -> None:
        if self._records.grow(chunk, self._page_mark) and chunk.role == "assistant":
            if chunk.end:
                self._enter("thinking")
            elif self._state != "writing" and chunk.content is not None:
                self._enter("writing")

    def _page_mark(self, code: str) -> str:
        """Whether the panel is to report what becomes of this page; "" where it is just shown."""
        if self._turn is not None and not self._mine:
            return "heard"  # in the cell
        return "awaited" if self._awaited is not None and self._awaited(code) else ""

    def _become(self, fate: Fate, seconds: float = 0.0) -> None:
        at = self._records.code_at
        if at >= 0:
            marks = fate_marks(fate, seconds or None)
            if fate in ("ran", "ran unasked", "edited") and self._records.has_failed(at):
                marks["failed"] = True
            self._records.mark(events.Became, at, **marks)
            self._enter("running" if fate == "running" else "thinking")

    def _change_names(self, names: Names) -> None:
        at = self._records.code_at
        code = self._records.get(at)
        if code is not None:
            code.names = names
            self._records.mark(events.NamesChanged, at, names=names_wire(names))
        for at, record in enumerate(self._records):  # older values may have been let go
            known = record.marks.get("names")
            if record.names and known and known["restorable"] != record.names.restorable:
                self._records.mark(events.NamesChanged, at, names=names_wire(record.names))

    def _end(self, turn: TurnLike, error: BaseException | None) -> None:
        self.unask()
        for at, record in enumerate(self._records):
            if record.marks.get("page") == "awaited":
                self._records.mark(events.Marked, at, page=None)
        self._records.end()
        stopped = self._session.stopped or isinstance(
            error, (GeneratorExit, KeyboardInterrupt, Stopped)
        )
        if turn.failure:
            self.note(turn.failure, "error")
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

    # The lock is held -----------------------------------------------------------------------------

    def _send(self, event: type[events.Event], value: Any) -> None:
        self._batch.add(event_wire(event, value))

    def _wait_at(self, at: int) -> None:
        self._records.mark(events.Became, at, fate="waits")
        self._enter("waiting")

    def _send_turn(self, turn: TurnLike) -> None:
        """Tell how it is with a turn; a new one begins at its question."""
        at = next((at for known, at in self._turns if known is turn), None)
        if at is None:
            wanted = _question_id(turn)
            at = self._records.last(lambda record: record.whole and record.id == wanted)
            history = self._session.history
            if at < 0 and (place := history.place(wanted or "")) is not None:
                ids = {each.id for each in history[:place]}  # it is empty and has no record
                at = self._records.last(lambda record: record.whole and record.id in ids)
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
            "where": "panel" if turn is None else turn.where if self._mine else "cell",
        }


_CONFIGURING = (  # the first question is a title, and another conversation has another
    events.Asked | events.Changed | events.Configured | events.Renamed
)


def _never(event: NoReturn) -> NoReturn:
    """No event is left out: mypy checks it."""
    raise AssertionError(f"{event!r} is no event")


def _question_id(turn: TurnLike) -> str | None:
    words = [message.id for message in turn.said if message.type == "message"]
    return words[-1] if words else turn.said[-1].id if turn.said else turn.anchor


def _sentence(note: str) -> str:
    note = note.strip()
    if not note:
        return ""
    return f"{note[0].upper()}{note[1:]}{'' if note[-1] in '.…!?' else '…'}"
