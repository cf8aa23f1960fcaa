"""Numbered events: no gaps, joined where they may be, and a flood that costs no more."""

from __future__ import annotations

import threading
import tracemalloc

import pytest
from scripted import line, printed, said

from lmc_jupyter.frontends.panel import batch as batch_module
from lmc_jupyter.frontends.panel.batch import (
    CONSOLE_BEGINNING,
    CONSOLE_END,
    CONSOLE_RATE,
    REPEATED,
    Batch,
)
from lmc_jupyter.lmc import Chunk

START = Chunk("computer", "console", start=True)
END = Chunk("computer", "console", end=True)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def batch_of(clock: Clock | None = None) -> tuple[Batch, list[dict]]:
    sent: list[dict] = []
    return Batch(sent.append, clock or Clock()), sent


def contents(sent: list[dict]) -> str:
    return "".join(
        event["grown"]["content"]
        for message in sent
        for event in message["events"]
        if isinstance(event.get("grown", {}).get("content"), str)
    )


def test_contents_of_one_message_travel_as_one_chunk():
    batch, sent = batch_of()
    with batch.lock:
        batch.add_chunk(Chunk("assistant", "message", start=True))
        for word in ("a", "b", "c"):
            batch.add_chunk(said(word))
        batch.add_chunk(Chunk("assistant", "message", end=True))
    batch.flush()
    assert [event["grown"].get("content") for event in sent[0]["events"]] == [None, "abc", None]


def test_numbers_have_no_gaps_and_nothing_is_sent_where_nothing_is():
    batch, sent = batch_of()
    batch.flush()
    for text in ("a", "b"):
        with batch.lock:
            batch.add({"cut": 0})
            batch.add_chunk(said(text))
        batch.flush()
    assert [message["seq"] for message in sent] == [0, 2]


def test_of_states_in_a_row_the_last_one_is_told():
    batch, sent = batch_of()
    with batch.lock:
        for state in ("thinking", "writing", "running"):
            batch.add({"state": {"state": state}})
    batch.flush()
    assert sent[0]["events"] == [{"state": {"state": "running"}}]


def test_lines_in_a_row_are_told_by_the_last_one_after_what_was_printed():
    batch, sent = batch_of()
    with batch.lock:
        for each in (line(1), printed("a"), line(2), printed("b"), line(None)):
            batch.add_chunk(each)
    batch.flush()
    assert [event["grown"]["content"] for event in sent[0]["events"]] == ["ab", None]


def test_a_flood_is_counted_and_its_end_always_arrives():
    clock = Clock()
    batch, sent = batch_of(clock)
    whole, out = 0, ""
    with batch.lock:
        batch.add_chunk(START)
    for second in range(250):
        text = "".join(f"{second} {n}\n" for n in range(6_000))
        with batch.lock:
            batch.add_chunk(printed(text))
        whole += len(text)
        clock.now += 0.04
        batch.flush()
    with batch.lock:
        batch.add_chunk(printed("the end\n"))
        batch.add_chunk(END)
    batch.flush()
    out = contents(sent)
    cut = sum(event.get("skipped", 0) for message in sent for event in message["events"])
    assert out.endswith("the end\n")
    assert cut + len(out) == whole + len("the end\n")
    assert len(out) <= CONSOLE_RATE * (1 + 10) + 250 * CONSOLE_END
    assert all(part == "" or part[0].isdigit() or part[0] == "t" for part in out.split("\n"))


def test_a_console_that_waits_long_to_be_sent_takes_no_more_room():
    batch, sent = batch_of()
    with batch.lock:
        batch.add_chunk(START)
        for _ in range(100):
            batch.add_chunk(printed("x" * 100_000))
        assert sum(map(len, batch._pending[-1]._parts)) < 5 * CONSOLE_RATE
    batch.flush()
    event = sent[0]["events"][2]
    assert event["skipped"] + len(contents(sent)) == 10_000_000


def test_of_a_flood_the_beginning_and_the_end_are_sent_however_it_comes():
    text = "".join(f"{number:08}\n" for number in range(300_000))
    for size in (1, 1_000, len(text)):
        batch, sent = batch_of()
        with batch.lock:
            batch.add_chunk(START)
        pieces = [text[at : at + size] for at in range(0, 2_000_000 if size > 1 else 70_000, size)]
        for number, piece in enumerate(pieces):
            with batch.lock:
                batch.add_chunk(printed(piece))
            if number % 1_000 == 999:
                batch.flush()
        batch.flush()
        whole, told = "".join(pieces), contents(sent)
        cut = sum(event.get("skipped", 0) for message in sent for event in message["events"])
        assert cut + len(told) == len(whole)
        assert told.startswith(whole[:CONSOLE_BEGINNING])
        assert told.endswith(whole[-CONSOLE_END // 2 :])


def test_words_are_never_cut():
    batch, sent = batch_of()
    with batch.lock:
        batch.add_chunk(said("x" * 1_000_000))
    batch.flush()
    assert contents(sent) == "x" * 1_000_000


def test_what_was_missed_is_sent_again_as_long_as_it_is_kept():
    batch, sent = batch_of()
    for number in range(5):
        with batch.lock:
            batch.add({"cut": number})
            batch.add({"cut": number})
        batch.flush()
    sent.clear()
    assert batch.repeat(batch.epoch, 3) is True
    assert sent == [
        {"kind": "events", "epoch": batch.epoch, "seq": 3,
         "events": [{"cut": number} for number in (1, 2, 2, 3, 3, 4, 4)]}
    ]  # fmt: skip
    assert batch.repeat(batch.epoch, 10) is True
    assert sent[-1]["events"] == []
    for wrong in (("another", 3), (batch.epoch, 11), (batch.epoch, "3"), (batch.epoch, -1)):
        assert batch.repeat(*wrong) is False
    with batch.lock:
        batch.add_chunk(said("x" * REPEATED))
        batch.add_chunk(Chunk("assistant", "code", "python", "y"))
    batch.flush()
    with batch.lock:
        batch.add_chunk(said("x" * REPEATED))
    batch.flush()
    assert batch.repeat(batch.epoch, 3) is False


def test_a_snapshot_comes_after_the_events_that_it_holds():
    batch, sent = batch_of()
    with batch.lock:
        batch.add({"cut": 0})
    batch.snapshot(lambda: {"records": []})
    assert [message["kind"] for message in sent] == ["events", "snapshot"]
    assert sent[1]["seq"] == 1


def test_the_thread_sends_what_comes_and_what_is_left_at_the_end():
    came = threading.Event()
    sent: list[dict] = []

    def take(message: dict) -> None:
        sent.append(message)
        came.set()

    batch = Batch(take)
    batch.start()
    with batch.lock:
        batch.add({"cut": 0})
    assert came.wait(30)
    with batch.lock:
        batch.add({"cut": 1})
    batch.close()
    assert [event for message in sent for event in message["events"]] == [{"cut": 0}, {"cut": 1}]


def test_what_cannot_be_sent_does_not_end_the_thread_and_everything_is_told_again():
    told = threading.Event()
    sent: list[dict] = []

    def take(message: dict) -> None:
        if any("bad" in event for event in message["events"]):
            raise ValueError("it is no JSON")
        sent.append(message)
        told.set()

    batch = Batch(take)
    before = batch.epoch
    with batch.lock:
        batch.add({"cut": 0})
        batch.add({"bad": 1})
    with pytest.warns(RuntimeWarning, match="2 events.*it is no JSON"):
        batch.flush()
    assert batch.epoch != before
    assert batch.repeat(before, 0) is False
    assert batch.repeat(batch.epoch, 0) is False
    batch.start()
    with batch.lock:
        batch.add({"cut": 1})
    assert told.wait(30)
    batch.close()
    assert [(each["seq"], each["epoch"]) for each in sent] == [(2, batch.epoch)]


def test_a_picture_in_one_chunk_weighs_what_is_in_it():
    batch, _ = batch_of()
    data = "A" * REPEATED
    with batch.lock:
        batch.add_chunk(Chunk("computer", "image", "base64.png", data, start=True, end=True))
    batch.flush()
    assert not batch.repeat(batch.epoch, 0)
    assert batch.repeat(batch.epoch, 1)


def test_a_whole_conversation_weighs_what_is_in_it():
    batch, _ = batch_of()
    with batch.lock:
        batch.add(
            {"replaced": [{"message": {"content": "x" * REPEATED}}, {"note": "n", "level": "info"}]}
        )
    batch.flush()
    assert not batch.repeat(batch.epoch, 0)
    assert batch.repeat(batch.epoch, 1)


MINUTE = 60 * 200
"""Pieces that come in the minute in which a tab stands still."""
ROOM = 16_000_000
"""Bytes, the bar of R14."""


def bytes_for_a_still_tab() -> int:
    """What a batch keeps of a minute of pieces of 2,000 characters, of which nobody takes any."""
    batch = Batch(lambda message: None, Clock())
    tracemalloc.start()
    try:
        for n in range(MINUTE):
            with batch.lock:
                batch.add_chunk(said(f"{n:2000}"))
            if n % 8 == 7:  # 25 times a second
                batch.flush()
        grown = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return grown


def test_a_minute_of_long_pieces_that_a_still_tab_misses_takes_little_room(record_property):
    grown = bytes_for_a_still_tab()
    assert grown < ROOM
    record_property(
        "figure", f"{MINUTE:,} pieces of 2,000 characters: {grown / 1e6:.1f} MB wait for it"
    )


def test_control_all_that_a_still_tab_misses_is_over_the_bar(monkeypatch, record_property):
    monkeypatch.setattr(batch_module, "REPEATED", float("inf"))
    grown = bytes_for_a_still_tab()
    assert grown > ROOM
    record_property("figure", f"all of it kept: {grown / 1e6:.1f} MB")
