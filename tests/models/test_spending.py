"""What requests cost, and the limits: they stop before the call, across sessions and kernels."""

from __future__ import annotations

import json
import os
import stat
import threading
from decimal import Decimal
from typing import Any

import pytest
from model_server import Refusal, Turn, text, tool, wait
from scripted import Machine, printed

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.models import spending
from lmc_jupyter.models.request import Request
from lmc_jupyter.models.spending import CostError, Ledger, Spending, dollars
from lmc_jupyter.session import Session

PRICE = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
USAGE = (100, 10)
COST = 0.1 + 0.1
"""US dollars of a reply with that usage at that price."""


def session(server: Any, **more: Any) -> Session:
    options = {"tools": True, "max_tokens": 20, "context": False, **PRICE, **more}
    made = Session(
        model=options.pop("model", "openai/m"),
        api_base=server.base,
        system_message="Answer.",
        keep=options.pop("keep", False),
        **options,
    )
    made.spending.ledger = Ledger(made.files.folder / "spent")
    return made


def ask(session: Session, words: str = "Go.") -> None:
    for _ in session.ask(words):
        pass


class Today(spending.date):
    """A day that does not end while a test runs."""

    @classmethod
    def today(cls) -> Any:
        return cls(2030, 1, 2)


@pytest.fixture(autouse=True)
def one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "date", Today)


@pytest.fixture
def server(model_server):
    model_server.turns = [Turn(text("Yes."), usage=USAGE)]
    return model_server


# The conversation's cost --------------------------------------------------------------------------


def test_a_conversation_knows_what_it_has_cost(server):
    it = session(server)
    assert it.spending.cost is None
    ask(it)
    assert it.spending.cost == pytest.approx(COST)
    ask(it)
    assert it.spending.cost == pytest.approx(2 * COST)
    it.undo()
    assert it.spending.cost == pytest.approx(2 * COST), "what is undone has been paid for"
    assert it.spending.unknown_costs == 0
    it.reset()
    assert it.spending.cost is None


def test_a_price_that_nobody_knows_is_not_nothing(server):
    it = session(server, input_cost_per_token=None, output_cost_per_token=None)
    ask(it)
    assert it.spending.cost is None
    assert it.spending.unknown_costs == 1
    assert it.turns[-1].cost is None


def test_litellms_own_price_is_used_where_it_has_one(server):
    it = session(
        server, model="openai/gpt-4o", input_cost_per_token=None, output_cost_per_token=None
    )
    ask(it)
    assert it.spending.cost == pytest.approx(100 * 2.5e-6 + 10 * 1e-5)


def test_a_price_of_the_persons_own_is_not_sent(server):
    ask(session(server))
    assert not [key for key in server.requests[0].body if "cost" in key]


def test_what_a_conversation_has_cost_survives_its_reopening(server):
    it = session(server, keep=True)
    ask(it)
    ask(it)
    it.undo()
    id_ = it.journal.id
    it.close()
    again = session(server, keep=True)
    assert again.spending.cost is None
    again.conversation.open(id_)
    assert again.spending.cost == pytest.approx(2 * COST)
    ask(again)
    assert again.spending.cost == pytest.approx(3 * COST)
    again.conversation.fork()
    assert again.spending.cost is None, "a copy has cost nothing yet"
    ask(again)
    copy = again.journal.id
    again.conversation.open(id_)
    assert again.spending.cost == pytest.approx(3 * COST)
    again.conversation.open(copy)
    assert again.spending.cost == pytest.approx(COST)
    again.conversation.open(id_)
    again.conversation.delete(id_)
    assert again.spending.cost is None
    again.close()


# Limits -------------------------------------------------------------------------------------------


def test_a_request_that_might_break_a_limit_is_not_made(server):
    it = session(server, max_cost=0.05)
    with pytest.raises(CostError) as raised:
        ask(it)
    assert server.requests == []
    said = str(raised.value)
    most = it.spending  # the figures are those of this very request
    assert "openai/m may cost up to $" in said
    assert "$0.00 of the $0.0500 for this question (max_cost) are spent: nothing was sent" in said
    assert "max_tokens" in said
    assert it.turns[-1].requests == []
    assert it.messages[-1].content == "Go.", "the question is kept"
    assert it.spending.cost is None
    assert most.ledger.today() == 0
    it.max_cost = 10
    for _ in it.ask(None):
        pass
    assert it.messages[-1].content == "Yes."


def test_between_the_replies_of_one_turn_it_stops_with_what_has_come(server):
    server.turns = [
        Turn(tool("python", "1 + 1"), usage=USAGE),
        Turn(text("It is 2."), usage=USAGE),
    ]
    it = session(server, auto_run=True, computer=Machine(printed("2")))
    ask(it)
    once = it.turns[-1].requests[1].most()
    assert once is not None
    server.requests.clear()
    again = session(server, auto_run=True, computer=Machine(printed("2")), max_cost=once + COST / 2)
    with pytest.raises(CostError, match="for this question"):
        ask(again)
    assert len(server.requests) == 1
    assert [each.type for each in again.messages] == ["message", "code", "console"]
    assert again.spending.cost == pytest.approx(COST)


def test_a_turns_limit_counts_each_question_anew_and_a_sessions_does_not(server):
    it = session(server)
    ask(it)
    most = it.turns[-1].requests[0].most()
    assert most is not None
    room = 2 * most  # later questions are a little longer
    by_turn = session(server, max_cost=room)
    for _ in range(4):
        ask(by_turn)
    by_session = session(server, max_session_cost=room)

    def ask_ten_times() -> None:
        for _ in range(10):
            ask(by_session)

    with pytest.raises(CostError, match="for this conversation"):
        ask_ten_times()
    assert by_session.spending.cost is not None
    assert 0 < by_session.spending.cost <= room
    by_session.reset()
    ask(by_session)


def test_a_model_without_a_price_is_refused_where_a_limit_is_set(server):
    it = session(server, max_day_cost=100, input_cost_per_token=None, output_cost_per_token=None)
    with pytest.raises(CostError, match=r"the price of openai/m is not known.*max_day_cost"):
        ask(it)
    assert server.requests == []


def test_what_is_free_is_never_refused(server):
    it = session(
        server, max_cost=0, free=True, input_cost_per_token=None, output_cost_per_token=None
    )
    ask(it)
    assert it.spending.cost == 0
    assert it.turns[-1].cost == 0
    assert list(it.spending.ledger.folder.glob("*")) == []


class _Bare:
    """A model of somebody's own, which tells nothing of its requests."""

    def respond(self, messages: Any) -> Any:
        yield Chunk("assistant", "message", content="Yes.")


def test_a_model_that_tells_nothing_is_refused_where_a_limit_is_set():
    with pytest.raises(CostError, match="what _Bare costs cannot be counted, and max_cost is set"):
        ask(Session(model=_Bare(), max_cost=1, keep=False))
    free = _Bare()
    free.free = True  # type: ignore[attr-defined]
    ask(Session(model=free, max_cost=1, keep=False))


def test_a_reply_that_broke_off_is_counted_as_far_as_it_came(server):
    going = threading.Event()
    server.turns = [Turn(text("So many words. " * 20), wait(going), text("More."))]
    it = session(server)
    reply = it.ask("Go.")
    seen = 0
    for chunk in reply:
        seen += len(chunk.content or "")
        if seen > 200:
            break
    reply.close()
    going.set()
    assert it.spending.cost is None
    assert it.spending.unknown_costs == 1
    most = it.turns[-1].requests[0].most()
    assert most is not None
    assert 200 * PRICE["output_cost_per_token"] < it.spending.ledger.today()


def test_a_refusal_costs_nothing(server):
    server.turns = [Refusal(401, "no")]
    it = session(server)
    with pytest.raises(ModelError):
        ask(it)
    assert it.spending.ledger.today() == 0
    assert it.spending.unknown_costs == 0


class Several:
    """Like an array: compared with a number it is neither the same nor another."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    __hash__ = None


@pytest.mark.parametrize("value", [-1, "1", True, float("nan"), Decimal("Infinity"), Several()])
def test_a_limit_that_is_no_amount_is_refused(value):
    with pytest.raises(CostError, match="is not an amount"):
        Session(max_cost=value, keep=False)


def test_an_infinite_limit_is_none():
    assert Session(max_cost=float("inf"), keep=False).max_cost is None


# The day ------------------------------------------------------------------------------------------


def sent(most: float | None, model: str = "m") -> Request:
    request = Request(model, {})
    request.most = lambda: most
    return request


def test_the_day_is_one_sum_of_all_sessions(tmp_path):
    one, two = (Spending(day=1.0, ledger=Ledger(tmp_path)) for _ in range(2))
    first = sent(0.6)
    one.record(first)
    with pytest.raises(CostError, match=r"\$0.6000 of the \$1.00 for today \(max_day_cost\)"):
        one.record(sent(0.6))
    first.end(10, 10, 0.5)
    with pytest.raises(CostError, match=r"\$0.5000 of the \$1.00 for today \(max_day_cost\)"):
        two.record(sent(0.6))
    second = sent(0.4)
    two.record(second)
    second.end(10, 10, 0.1)
    assert one.ledger.today() == pytest.approx(0.6), "what was refused is not counted"


def test_a_request_whose_end_tells_no_cost_is_counted_as_the_most_that_it_can_be(tmp_path):
    own = Spending(day=1.0, ledger=Ledger(tmp_path))
    request = sent(0.75)
    request.cost_so_far = lambda: None
    own.record(request)
    assert Ledger(tmp_path).today() == 0
    request.end(10, 10, None)
    assert Ledger(tmp_path).today() == 0.75


@pytest.mark.parametrize("locked", [False, True])
def test_many_at_once_spend_one_request_each_beyond_the_day_at_most(locked, tmp_path, monkeypatch):
    monkeypatch.setattr(spending, "_NEEDS_LOCK", locked)
    granted: list[float] = []

    def spend() -> None:
        own = Spending(day=1.0, ledger=Ledger(tmp_path))
        for _ in range(10):
            request = sent(0.1)
            try:
                own.record(request)
            except CostError:
                continue
            granted.append(0.1)
            request.end(1, 1, 0.1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1.0 - 1e-9 <= sum(granted) <= 1.3 + 1e-9
    assert Ledger(tmp_path).today() == pytest.approx(sum(granted))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_the_file_is_the_persons_own(tmp_path):
    ledger = Ledger(tmp_path / "spent")
    ledger.add(0.5, "m")
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.folder.stat().st_mode) == 0o700


def test_damaged_lines_are_not_counted_and_said(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.add(0.5, "m")
    bad = [
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b'{"model": "m"}',
        b'{"cost": "1"}',
        b'{"cost": -5}',
        b'{"cost": NaN}',
        b'{"cost": true}',
        b"[" * 5_000,
    ]
    with ledger.path.open("ab") as file:
        file.write(b"\n".join(bad) + b"\n")
    ledger.add(0.25, "m")
    other = Ledger(tmp_path)
    assert other.today() == 0.75
    assert other.bad_lines == len(bad)
    notes: list[str] = []
    own = Spending(day=10, ledger=other)
    own.notify = notes.append
    own.record(sent(0.1))
    own.record(sent(0.1))
    assert notes == [f"{len(bad)} damaged lines of {other.path} are not counted."]


def test_a_line_that_was_cut_off_does_not_spoil_the_next(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.add(0.5, "m")
    with ledger.path.open("ab") as file:
        file.write(b'{"co\n')
    ledger.add(0.25, "m")
    assert Ledger(tmp_path).today() == 0.75


def test_where_nothing_can_be_written_this_kernel_is_counted_and_it_says_so(tmp_path):
    blocked = tmp_path / "spent"
    blocked.write_text("a file where the folder should be")
    notes: list[str] = []
    own = Spending(day=1.0, ledger=Ledger(blocked))
    own.notify = notes.append
    request = sent(0.7)
    own.record(request)
    request.end(1, 1, 0.7)
    with pytest.raises(CostError, match=r"\$0.7000 of the \$1.00 for today"):
        own.record(sent(0.5))
    assert notes[0].startswith("The day's sum counts this kernel only: ")
    assert str(blocked) in notes[0]


def test_a_new_day_begins_at_nothing(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path)
    ledger.add(0.5, "m")
    assert ledger.today() == 0.5

    class Tomorrow(Today):
        @classmethod
        def today(cls) -> Any:
            return cls(2999, 1, 1)

    monkeypatch.setattr(spending, "date", Tomorrow)
    assert ledger.today() == 0
    ledger.add(0.25, "m")
    assert json.loads((tmp_path / "2999-01-01.jsonl").read_text())["cost"] == 0.25


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        *((0, "$0.00"), (0.0123, "$0.0123"), (12.5, "$12.50"), (1e4, "$10,000.00")),
        *((0.000021, "$0.000021"), (4e-7, "$0.00000040"), (1e-4, "$0.0001")),
    ],
)
def test_amounts_as_a_person_reads_them(amount, said):
    assert dollars(amount) == said


def test_what_was_spent_is_said_in_sentences(server):
    it = session(server)
    assert str(it.spending) == "This conversation has cost nothing yet."
    ask(it)
    it.max_session_cost = 5
    assert str(it.spending).splitlines() == [
        "This conversation has cost $0.2000.",
        "Today, all sessions together: $0.2000.",
        "The limit for this conversation is $5.00 (max_session_cost).",
    ]
    unknown = session(server, input_cost_per_token=None, output_cost_per_token=None)
    ask(unknown)
    assert str(unknown.spending) == (
        "What this conversation has cost is not known: its model has no known price."
    )
    free = session(server, free=True)
    ask(free)
    assert str(free.spending) == "This conversation has cost $0.00."


def test_a_line_that_is_written_in_part_is_counted_here_and_spoils_no_other(tmp_path, monkeypatch):
    ledger, real = Ledger(tmp_path), os.write

    def half(descriptor: int, data: bytes) -> int:
        return real(descriptor, data[: len(data) // 2] if len(data) > 1 else data)

    monkeypatch.setattr(os, "write", half)
    ledger.add(0.5, "m")
    monkeypatch.undo()
    monkeypatch.setattr(spending, "date", Today)
    assert ledger.today() == 0.5
    assert "only a part of the line was written" in ledger.remarks()
    other = Ledger(tmp_path)
    other.add(0.25, "m")
    assert Ledger(tmp_path).today() == 0.25
    assert ledger.today() == 0.75
