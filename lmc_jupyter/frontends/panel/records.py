"""The list that the panel shows: a record for each message, and notes of ours between them.

One rule: what is sent of a change and the change itself go together, so that the snapshot of the
list equals what the events before it add up to. Records are numbered from 0 in the order of their
beginning, here and in the front end; a message becomes part of the record in which it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any, get_args

from lmc_jupyter.content import remarks
from lmc_jupyter.content.bundle import WidgetChunk
from lmc_jupyter.content.error_text import fails, without_stop
from lmc_jupyter.context.parts import of_question, text_of
from lmc_jupyter.context.question import about_of, describe, unseen_of
from lmc_jupyter.context.references import split
from lmc_jupyter.conversation import BlockRecord, Rating, events
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.conversation.records import is_empty_result
from lmc_jupyter.conversation.writer import RESTART_NOTICE
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.ledger import unseen_wire
from lmc_jupyter.frontends.panel.wire import event_wire, fate_marks
from lmc_jupyter.lmc import (
    EDITED,
    FEEDBACK,
    FIGURE_OF,
    RECEIPTS,
    SECONDS,
    TAKEN,
    TAKINGS,
    WAS,
    Chunk,
    Message,
    cell_of,
    is_partial,
)
from lmc_jupyter.stream import Assembler
from lmc_jupyter.turn.receipts import receipts_of

CONSOLE_HEAD = CONSOLE_TAIL = 32_000
"""Characters of a long console that a snapshot holds; `text` gives all of it."""

_RATINGS, _FATES = get_args(Rating), get_args(events.Fate)


@dataclass(eq=False)
class Record:
    """A line of the list: a message, or a note of ours; a remark in the conversation is both."""

    head: Message | Chunk | None = None
    """The message; while it is being written its first chunk, and the assembler has its text."""
    whole: bool = False
    """Whether the message stands in the conversation."""
    marks: dict[str, Any] = field(default_factory=dict)
    note: dict[str, Any] | None = None
    names: Names | None = None

    @classmethod
    def of(cls, message: Message) -> Record:
        """The record of a message that nobody saw being written, as what code prints is."""
        record = cls()
        record.take(message)
        text = message.content if record.is_of("computer", "console") else None
        if text == RESTART_NOTICE or (isinstance(text, str) and _is_remark(message)):
            record.note = {"note": remarks.for_person(text), "level": "info"}
        return record

    def take(self, message: Message) -> None:
        """This is the message, as the conversation has it."""
        self.head, self.whole = message, True
        if is_partial(message):
            self.marks["partial"] = True
        if about := about_of(message):
            self.marks["about"] = about
        if message.extra.get(EDITED):
            self.marks.setdefault("fate", "edited")
        if message.extra.get(FEEDBACK) in _RATINGS:
            self.marks["feedback"] = message.extra[FEEDBACK]
        if message.extra.get(TAKEN) in TAKINGS:
            self.marks["taken"] = message.extra[TAKEN]
        if values := split(message)[1]:
            self.marks["values"] = values.strip()
        if parts := of_question(message):
            self.marks["sent"] = {
                "line": describe(parts),
                "text": text_of(parts),
                "unseen": unseen_wire(unseen_of(message)),
            }
        if isinstance(cell := message.extra.get(FIGURE_OF), str):
            self.marks["figure"] = cell

    def is_of(self, role: str, type_: str) -> bool:
        return self.head is not None and (self.head.role, self.head.type) == (role, type_)

    @property
    def is_block(self) -> bool:
        """Whether it is code that a model wrote to be run."""
        is_proposal = self.head is not None and self.head.recipient == "user"
        return self.is_of("assistant", "code") and not is_proposal

    @property
    def id(self) -> str | None:
        """The message's; None while it is being written."""
        return self.head.id if isinstance(self.head, Message) else None

    @property
    def is_page(self) -> bool:
        """Whether it is shown in the front end's sandbox."""
        head = self.head
        if head is None or head.recipient == "assistant":
            return False
        return self.is_of("computer", "code") and head.format in ("html", "javascript")

    def wire(self, text: str) -> dict[str, Any]:
        """As the front end reads it (`Record` of protocol.ts)."""
        if self.note is not None:
            return self.note
        head = self.head
        assert head is not None, "a record without a head is a note"
        made = head.created_at if isinstance(head, Message) else None
        optional: dict[str, str | int | None] = {
            "format": "output" if head.type == "console" else head.format,
            "recipient": head.recipient,
            "cell": cell_of(head),
            "id": self.id,
            "created_at": None if made is None else str(made),
        }
        wire: dict[str, Any] = {"role": head.role, "type": head.type}
        wire |= {key: value for key, value in optional.items() if value is not None}
        if isinstance(head, Message) and WAS in head.extra:
            wire[WAS] = True
        record = {"message": wire, **self.marks}
        if head.type == "console" and len(text) > CONSOLE_HEAD + CONSOLE_TAIL:
            record["cut"] = len(text) - CONSOLE_HEAD - CONSOLE_TAIL
            record["tail"] = text[-CONSOLE_TAIL:]
            text = text[:CONSOLE_HEAD]
        if isinstance(head, Message) and "values" in self.marks:
            text, _ = split(head)  # the person's own words; what stands below them is folded
        wire["content"] = text
        return record


class Records:
    """The records of one session. Whoever reads or changes them holds the lock of the batch.

    Parameters
    ----------
    batch : takes the events
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._records: list[Record] = []
        self._places: list[Record | None] = []  # of each message; None: it is not shown
        self._notes: list[Record] = []  # they wait for the end of the message that is written
        self._open: Record | None = None
        self._assembler = Assembler()

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def get(self, at: object) -> Record | None:
        """The record of this number; None where there is none."""
        return self._records[at] if isinstance(at, int) and 0 <= at < len(self._records) else None

    def text(self, record: Record) -> str:
        """The content of a record as far as it is written, where it is text; else ""."""
        unfinished = record is self._open and not record.whole
        message = self._assembler.so_far() if unfinished else record.head
        text = message.content if message is not None and isinstance(message.content, str) else ""
        is_stopped = "partial" in record.marks and record.is_of("computer", "console")
        return without_stop(text) if is_stopped else text

    def has_failed(self, at: int) -> bool:
        """Whether the output behind the code in this record says that it failed."""
        head = self._records[at].head
        outputs = [each for each in self._records[at + 1 :] if each.is_of("computer", "console")]
        return head is not None and any(fails(self.text(each), head.format) for each in outputs)

    @property
    def code_at(self) -> int:
        """The number of the last block of code that a model wrote; -1 without."""
        return self.last(lambda record: record.is_block)

    def last(self, matches: Callable[[Record], bool]) -> int:
        """The number of the last record that matches; -1 where none does."""
        numbers = reversed(range(len(self._records)))
        return next((at for at in numbers if matches(self._records[at])), -1)

    def snapshot(self) -> dict[str, Any]:
        """What a `Snapshot` of protocol.ts says beside the records."""
        return {"open": self._open is not None, "line": self._assembler.active_line}

    def before(self, number: int, count: int) -> dict[str, Any]:
        """So many records before this number, and those to the beginning of their question."""
        first = max(number - count, 0)
        while first > 0 and not self._begins_a_question(first):
            first -= 1
        records = [self._wire(record) for record in self._records[first:number]]
        return {"first": first, "records": records}

    def _begins_a_question(self, at: int) -> bool:
        """Whether its words stand here, or what is attached to it, which comes before them."""
        heads = [record.head for record in self._records[at - 1 : at + 1]]
        return [head is not None and head.role == "user" for head in heads] == [False, True]

    # Messages -------------------------------------------------------------------------------------

    def show(self, messages: Sequence[Message], blocks: Iterable[BlockRecord]) -> None:
        """Show these, and what became of their code, in place of all; nothing is sent."""
        known = {each.message: each for each in blocks if each.fate in _FATES}
        self._records, self._places = [], []
        self.close()
        block = None
        for message, after in zip_longest(messages, islice(messages, 1, None)):
            record = Record.of(message) if _is_shown(message) else None
            self._places.append(record)
            if record is None:
                continue
            self._records.append(record)
            if message.role != "computer":
                block = record if record.is_block else None
                if block is not None and (about := known.get(message.id or "")):
                    block.marks |= fate_marks(about.fate, about.seconds or None)
            elif block is not None and is_partial(message):
                block.marks |= fate_marks("stopped", message.extra.get(SECONDS))
            if after is None or after.type != "console":
                continue
            if record.is_page:
                record.marks["page"] = "heard"  # what it said stands there
            elif record.is_block:
                if _is_remark(after) and str(after.content).startswith(remarks.NOT_RUN):
                    record.marks["fate"] = "not run"
                elif not is_partial(after) and fails(str(after.content), message.format):
                    record.marks["failed"] = True
        for record, receipts in zip(self._places, self._receipts(messages), strict=True):
            if record is not None and receipts:
                record.marks["receipts"] = receipts

    def append(self, at: int, message: Message) -> None:
        """A whole message stands at this place of the conversation."""
        if at == len(self._places):  # else it was there when we began to watch
            self._places.append(self._place(message))

    def rewrite(self, at: int, message: Message) -> None:
        """Another message stands at this place of the conversation."""
        record = self._places[at]
        if record is None:
            self._places[at] = self._place(message)
            return
        before = self.text(record)
        record.take(message)
        if (text := self.text(record)) != before:
            number = self._records.index(record)
            self._batch.add(event_wire(events.Rewritten, {"at": number, "content": text}))

    def cut(self, length: int) -> None:
        """The messages of the conversation from this place on are gone."""
        gone = [each for each in self._places[length:] if each is not None]
        del self._places[length:]
        if gone:
            self._cut(gone[0])

    def change_keys(self, at: int, message: Message, keys: Mapping[str, Any]) -> None:
        """The message at this place of the conversation has these keys beside the protocol's."""
        record = self._places[at]
        if record is not None:
            record.head = message
            marks: dict[str, Any] = {}
            if FEEDBACK in keys:
                marks["feedback"] = keys[FEEDBACK] if keys[FEEDBACK] in _RATINGS else None
            if keys.get(TAKEN) in TAKINGS:
                marks["taken"] = keys[TAKEN]
            if RECEIPTS in keys:
                marks["receipts"] = next(self._receipts([message]))
            if marks:
                self.mark(events.Marked, self._records.index(record), **marks)

    def _receipts(self, messages: Iterable[Message]) -> Iterator[dict[str, int | None]]:
        """Of each message: each number of its closing words -> the number of the record in which
        it stands: -1 for one that is not shown, None where it stands in none.
        """
        numbers = {record.id: at for at, record in enumerate(self._records)}
        for message in messages:
            found = receipts_of(message).items()
            yield {text: None if id is None else numbers.get(id, -1) for text, id in found}

    def grow(self, chunk: Chunk, page_mark: Callable[[str], str]) -> bool:
        """The next chunk of a message; False where that began before we watched.

        Parameters
        ----------
        page_mark : what to mark a page with that shows this; "" for no mark
        """
        if chunk.start:
            self._open = Record(chunk)
            self._assembler = Assembler()
            self._records.append(self._open)
        record = self._open
        if record is None:
            return False
        at = len(self._records) - 1
        if isinstance(chunk, WidgetChunk):
            self.mark(events.Marked, at, widget=chunk.model_id)
        if chunk.end and record.is_page and (mark := page_mark(self.text(record))):
            self.mark(events.Marked, at, page=mark)  # first: it is drawn at its end
        if (message := self._assembler.feed(chunk)) is not None and not record.whole:
            record.head = message
        self._batch.add_chunk(chunk)
        if chunk.end:
            self.close()
            self._show_notes()
        return True

    def close(self) -> None:
        """No message is being written."""
        self._open, self._assembler = None, Assembler()

    def end(self) -> None:
        """No message is being written; one of which nothing has come is gone."""
        if self._open is not None and not self._open.whole:
            self._cut(self._open)
        self.close()
        self._show_notes()

    # What stands beside messages ------------------------------------------------------------------

    def note(self, text: str, level: str) -> None:
        """A line of ours; it waits for the end of a message that is being written."""
        self._notes.append(Record(note={"note": text, "level": level}))
        self._show_notes()

    def mark(self, event: type[events.Event], at: int, **marks: Any) -> None:
        """Set these marks on a record, and send them as this event."""
        if 0 <= at < len(self._records):
            self._records[at].marks.update(marks)
            self._batch.add(event_wire(event, {"at": at, **marks}))

    def add(self, record: Record) -> None:
        """Put a record at the end."""
        self._records.append(record)
        self._batch.add(event_wire(events.Appended, self._wire(record)))

    def _wire(self, record: Record) -> dict[str, Any]:
        return record.wire(self.text(record))

    def _place(self, message: Message) -> Record | None:
        """The record of a message that is whole: the one in which it was written, or a new one."""
        if not _is_shown(message) or is_empty_result(message):
            return None
        record = self._open
        if message.type == "console" and message.content == "" and self._records:
            last = self._records[-1]  # code that put nothing out
            record = last if last.is_of("computer", "console") and not last.whole else None
        if record is None or self.text(record) != message.content:
            record = Record.of(message)
            self.add(record)
            return record
        record.take(message)
        if record.marks.get("partial"):  # it was stopped, and no end of it comes
            self.close()
            at = self._records.index(record)
            self.mark(events.Marked, at, partial=True)
            if (text := self.text(record)) != message.content:
                self._batch.add(event_wire(events.Rewritten, {"at": at, "content": text}))
            self._show_notes()
        return record

    def _cut(self, record: Record) -> None:
        at = self._records.index(record)
        del self._records[at:]
        self.close()
        self._batch.add(event_wire(events.Cut, at))

    def _show_notes(self) -> None:
        if self._open is None:
            for record in self._notes:
                self.add(record)
            self._notes.clear()


def _is_remark(message: Message) -> bool:
    """Whether it is a remark of the loop; what code has printed has a time, or was stopped."""
    has_run = is_partial(message) or SECONDS in message.extra
    return not has_run and remarks.is_remark(str(message.content))


def _is_shown(message: Message) -> bool:
    return message.type != "confirmation" and message.format != "active_line"
