"""The lines of a journal, and the conversation that they give.

One rule: a line counts only when it is whole and says something that LMC allows; what comes behind
the first that does not is not read.

A line is a record in JSON, `{"kind":...}`. Kinds: head, message, instead (of the message `at`),
back (the messages from `to` on are gone), mark (keys of the message `id`; null takes one away),
event, title, turn, block (what became of code), names (what the block before did to them), read
(the files that it opened), extra, sent (to a model, or by it, in its provider's form).
In version 1 a line was `{"crc":N,"rec":record}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.conversation import Action, BlockRecord, Conversation, RequestRecord, TurnRecord
from lmc_jupyter.errors import ProtocolError
from lmc_jupyter.lmc import MESSAGE_KEYS, PARTIAL, Message, is_partial

VERSION = 2
_OLDER = re.compile(rb'\{"crc":\d+,"rec":')
"""The beginning of a line of version 1."""
_FAR = 1 << 53


def line(record: Any) -> bytes:
    """The line of a record.

    Raises
    ------
    TypeError, ValueError, RecursionError
        When it holds what JSON cannot: `scrub` leaves nothing of that in a record.
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=as_text)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair
        text = json.dumps(record, separators=(",", ":"), default=as_text)
        return f"{text}\n".encode()


def as_text(value: Any) -> str:
    """The text of an object of any class."""
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - the border to code of others
        return f"(not saved: the text of a {type(value).__name__} fails: {type(error).__name__})"


def lines(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The JSON of each whole line, and where the line ends."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        older = _OLDER.match(data, start)
        body = data[start:end] if older is None else data[older.end() : end - 1]
        start = end + 1
        yield body, start


def value(body: bytes) -> Any:
    """The value of a line's JSON; None for what cannot be read."""
    try:  # `json.loads` would first find out the encoding, which takes a third of the time
        return _DECODER.decode(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None


_DECODER = json.JSONDecoder()


class Fold:
    """The conversation that the records so far give."""

    def __init__(self) -> None:
        self.n = 0
        """How many records there were."""
        self.last_change = 0
        """The number of the last one that changed the list of messages; the head has 0."""
        self.messages: list[Message] = []
        self.events: list[Action] = []
        self.sent: list[Mapping[str, Any]] = []
        self.turns: list[TurnRecord] = []
        self.blocks: list[BlockRecord] = []
        self.conversation = Conversation(
            self.messages,
            events=self.events,
            sent=self.sent,
            turns=self.turns,
            blocks=self.blocks,
        )
        """All of it; these lists are its own."""
        self.cost: float | None = None
        """US dollars of all turns, undone ones too; None where no price was known."""

    def take(self, record: Any) -> bool:
        """Take the next record; returns whether it is a good one."""
        kind = record.get("kind") if isinstance(record, dict) else None
        take = _KINDS.get(kind) if isinstance(kind, str) else None
        if take is None or (self.n == 0) != (kind == "head"):
            return False
        try:
            take(self, record)
        except (LookupError, TypeError, ValueError, ProtocolError):
            return False
        self.n += 1
        return True

    def _head(self, record: dict[str, Any]) -> None:
        if record["version"] not in (1, VERSION):
            raise ValueError
        _text(record["id"])
        for key in ("title", "model", "began", "notebook"):
            setattr(self.conversation, key, _text(record.get(key, "")))
        self._add_cost(record)

    def _add_cost(self, record: dict[str, Any]) -> None:
        cost = record.get("cost")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < _FAR:
            self.cost = (self.cost or 0.0) + cost

    def _message(self, record: dict[str, Any]) -> None:
        self.messages.append(message(record["message"]))
        self.last_change = self.n

    def _instead(self, record: dict[str, Any]) -> None:
        at = _count(record["at"])
        if at >= len(self.messages):
            raise ValueError
        self.messages[at] = message(record["message"])
        self.last_change = self.n

    def _back(self, record: dict[str, Any]) -> None:
        to = _count(record["to"])
        if to > len(self.messages):
            raise ValueError
        del self.messages[to:]
        self.events[:] = [each for each in self.events if each.at <= to]
        self.last_change = self.n

    def _mark(self, record: dict[str, Any]) -> None:
        id_, keys = _text(record["id"]), record["set"]
        if not MESSAGE_KEYS.isdisjoint(keys):
            raise ValueError
        at = place(self.messages, id_)
        if at is not None:
            self.messages[at] = with_keys(self.messages[at], keys)

    def _event(self, record: dict[str, Any]) -> None:
        self.events.append(Action(_count(record["at"]), {**record["data"]}))

    def _title(self, record: dict[str, Any]) -> None:
        self.conversation.title = _text(record["title"])

    def _turn(self, record: dict[str, Any]) -> None:
        if "said" in record:  # older versions wrote no ids
            self.turns.append(_read_turn(record))
        model = _text(record.get("model", ""))
        if model and record.get("where") != "agent":  # whose name is no model's
            self.conversation.model = model
        self._add_cost(record)

    def _block(self, record: dict[str, Any]) -> None:
        message, time, fate, allowed = map(
            _text, (record[key] for key in ("message", "time", "fate", "allowed"))
        )
        seconds = _amount(record.get("seconds", 0))  # older files do not have them
        self.blocks.append(BlockRecord(message, time, fate, allowed, seconds=seconds))

    def _names(self, record: dict[str, Any]) -> None:
        """What the last block did to the names."""
        new, changed, removed = (
            tuple(map(_text, record[key])) for key in ("new", "changed", "removed")
        )
        last, breach = self.blocks[-1], _text(record["breach"])
        self.blocks[-1] = last._replace(new=new, changed=changed, removed=removed, breach=breach)

    def _read(self, record: dict[str, Any]) -> None:
        """The files that the last block has read."""
        files = tuple(
            FileRead(_text(each["path"]), _count(each["size"]), _text(each["sha256"]))
            for each in record["files"]
        )
        self.blocks[-1] = self.blocks[-1]._replace(read=files)

    def _sent(self, record: dict[str, Any]) -> None:
        self.sent.append({**record["data"]})

    def _extra(self, record: dict[str, Any]) -> None:
        self.conversation.extra = {**record["extra"]}


_KINDS: dict[str, Callable[[Fold, dict[str, Any]], None]] = {
    "head": Fold._head,
    "message": Fold._message,
    "instead": Fold._instead,
    "back": Fold._back,
    "mark": Fold._mark,
    "event": Fold._event,
    "title": Fold._title,
    "turn": Fold._turn,
    "block": Fold._block,
    "names": Fold._names,
    "read": Fold._read,
    "extra": Fold._extra,
    "sent": Fold._sent,
}


def fold(data: bytes) -> tuple[Fold, int]:
    """The fold of these bytes up to the first bad line, and the number of good bytes."""
    state, good = Fold(), 0
    for body, end in lines(data):
        if not state.take(value(body)):
            break
        good = end
    return state, good


def message(data: Any) -> Message:
    """A stored message.

    Raises
    ------
    ProtocolError
        For one that LMC does not allow.
    """
    read = Message.from_dict(data)
    if not (read.id is None or isinstance(read.id, str)):
        raise ProtocolError(f"key 'id' is {read.id!r:.60}: it must be text or left out")
    return read


def with_keys(message: Message, keys: Mapping[str, Any]) -> Message:
    """The same message with these keys beside the protocol's; None takes one away."""
    extra = {key: value for key, value in {**message.extra, **keys}.items() if value is not None}
    return replace(message, extra=extra)


def place(messages: Sequence[Message], id_: str) -> int | None:
    """Where the message with this id is, looked for from the end; None when it is not there."""
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i].id == id_), None)


def part_head(n: int, message: Message) -> dict[str, Any]:
    """The first line of a part: a message begins, when there are `n` records."""
    wire = message.to_dict()
    del wire["content"]
    return {"n": n, "head": wire}


def part(data: bytes, state: Fold) -> Message | None:
    """The message that was being written when the records ended; None when there was none.

    The first line is a `part_head`, each other one a piece of text. A part that began before the
    last change of the messages is in them already.
    """
    read = (value(body) for body, _ in lines(data))
    head = next(read, None)
    if not isinstance(head, dict) or not isinstance(head.get("head"), dict):
        return None
    n = head.get("n")
    if not isinstance(n, int) or n <= state.last_change:
        return None
    pieces = takewhile(lambda each: isinstance(each, str), read)
    try:
        result = message({**head["head"], "content": "".join(pieces)})
    except ProtocolError:
        return None
    return result.marked(**{PARTIAL: True}) if result.content else None


def add_part(messages: list[Message], message: Message) -> None:
    """Put a part at the end; output takes the place of the empty one that stood for it."""
    last = messages[-1] if messages else None
    if last is not None and is_empty_result(last) and message.role == "computer":
        messages[-1] = message
    else:
        messages.append(message)


def is_empty_result(message: Message) -> bool:
    """Whether this stands for the output of code that has begun and has no output yet."""
    return message.type == "console" and message.content == "" and is_partial(message)


def whole(conversation: Conversation, head: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The records that give this conversation, under this head."""
    yield {"kind": "head", "version": VERSION, **head}
    events = sorted(conversation.events, key=lambda each: each.at)
    at = 0
    for count, message in enumerate(conversation.messages):
        while at < len(events) and events[at].at <= count:
            yield {"kind": "event", "at": events[at].at, "data": dict(events[at].data)}
            at += 1
        yield {"kind": "message", "message": message.to_dict()}
    for event in events[at:]:
        yield {"kind": "event", "at": event.at, "data": dict(event.data)}
    if conversation.extra:
        yield {"kind": "extra", "extra": conversation.extra}
    for data in conversation.sent:
        yield {"kind": "sent", "data": dict(data)}


def _read_turn(record: dict[str, Any]) -> TurnRecord:
    anchor = record["anchor"]
    return TurnRecord(
        _text(record["where"]),
        _text(record["model"]),
        _amount(record["seconds"]),
        tuple(map(_text, record["said"])),
        None if anchor is None else _text(anchor),
        tuple(map(_read_request, record["requests"])),
        _text(record["left_out"]),
    )


def _read_request(value: Any) -> RequestRecord:
    sent, received, cost, seconds, *rest = value
    cached, estimate = rest or (None, None)  # older files do not have them
    return RequestRecord(
        None if sent is None else _count(sent),
        None if received is None else _count(received),
        None if cost is None else _amount(cost),
        _amount(seconds),
        None if cached is None else _count(cached),
        None if estimate is None else _count(estimate),
    )


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _FAR:
        raise TypeError
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _FAR:
        raise TypeError
    return value
