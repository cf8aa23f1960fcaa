"""The engine: a block always ends, by one ladder, and blocks take turns."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from lmc_jupyter.computer.process import engine
from lmc_jupyter.computer.process.engine import ForeignBlock, Patience, Turns
from lmc_jupyter.errors import ComputerError

QUICK = Patience(again=0.01, polite=0.03)


class Deaf(ForeignBlock):
    """A block that ends only at one step of the ladder."""

    def __init__(self, ends_at, patience=QUICK):
        super().__init__(patience)
        self.ends_at, self.asked, self.over = ends_at, [], threading.Event()

    def work(self):
        self.outbox.text("on\n")
        self.over.wait()

    def asks(self, step):
        if not self.over.is_set():  # else its thread comes to its end, perhaps later than the next
            self.asked.append(step)
        if step == self.ends_at:
            self.over.set()

    def interrupt(self):
        self.asks("interrupt")

    def terminate(self):
        self.asks("terminate")

    def kill(self):
        self.asks("kill")

    def abandon(self):
        self.asks("abandon")


STEPS = ["interrupt", "terminate", "kill", "abandon"]


@pytest.mark.parametrize("count", range(1, 5))
def test_a_stop_asks_more_and_more_firmly_until_the_block_has_ended(count):
    turns, block = Turns(), Deaf(STEPS[count - 1])
    pieces = turns.run(block)
    next(pieces)
    turns.stop()
    with pytest.raises(KeyboardInterrupt):
        list(pieces)
    assert list(dict.fromkeys(block.asked)) == STEPS[:count]


def test_a_stop_between_the_call_and_the_first_piece_runs_nothing():
    turns, block = Turns(), Deaf("interrupt")
    pieces = turns.run(block)
    turns.stop()
    with pytest.raises(KeyboardInterrupt):
        next(pieces)
    assert block.asked == []
    assert block.end_flag.is_set()


def test_a_language_that_ends_just_before_a_block_begins_runs_nothing(monkeypatch):
    class Late(Deaf):
        def pieces(self):
            turns.end()
            yield from super().pieces()

    threads = []
    begin = SimpleNamespace(start_new_thread=lambda *work: threads.append(work))
    monkeypatch.setattr(engine, "_thread", begin)
    turns, block = Turns(), Late("interrupt")
    with pytest.raises(KeyboardInterrupt):
        next(turns.run(block))
    assert threads == []


def test_a_block_that_waits_for_its_turn_is_stopped_too():
    turns, first, second = Turns(), Deaf("interrupt"), Deaf("interrupt")
    reader = turns.run(first)
    next(reader)
    told = []

    def wait():
        try:
            list(turns.run(second))
        except KeyboardInterrupt:
            told.append("second")

    waiter = threading.Thread(target=wait)
    waiter.start()
    while second.thread != waiter.ident:  # it has not asked for its turn yet
        threading.Event().wait(0.001)
    turns.stop()
    with pytest.raises(KeyboardInterrupt):
        list(reader)
    waiter.join()
    assert told == ["second"]
    assert second.asked == []


def test_a_block_that_cannot_be_run_says_so_and_the_next_one_runs():
    class Broken(Deaf):
        def work(self):
            raise ComputerError("there is nothing to run")

    turns = Turns()
    with pytest.raises(ComputerError, match="nothing to run"):
        list(turns.run(Broken("interrupt")))
    assert next(turns.run(Deaf("interrupt"))).content == "on\n"
