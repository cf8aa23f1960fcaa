"""Blocks of the live python: one at a time in the process."""

from __future__ import annotations

import sys
import threading

from lmc_jupyter.computer.languages import python_block
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.computer.languages.python_block import PythonBlock, _TurnLock


def test_of_two_blocks_that_find_the_turn_free_at_once_the_second_one_waits(monkeypatch):
    looked, settled, first_is_in = threading.Event(), threading.Event(), threading.Event()
    counts = []

    def turn(when_in):
        with _TurnLock(PythonBlock(LivePython(), "1")):
            counts.append(len(python_block._blocks))
            when_in()

    def first_in():
        first_is_in.set()
        assert settled.wait(30)

    def second_in():
        settled.set()
        assert first_is_in.wait(30)

    second = threading.Thread(target=turn, args=(second_in,))

    class Free(threading.Condition):
        """The first one that lets go of the lock waits there until the second one has looked."""

        def __exit__(self, *error):
            super().__exit__(*error)
            if threading.current_thread() is second:
                looked.set()
            elif not second.ident:
                second.start()
                assert looked.wait(30)

        def wait(self, timeout=None):
            looked.set()
            settled.set()
            return super().wait(timeout)

    monkeypatch.setattr(_TurnLock, "_free", Free())
    turn(first_in)
    second.join(30)
    assert counts == [1, 1]


def test_blocks_that_begin_at_any_line_of_a_stop_do_not_get_in_its_way(monkeypatch):
    python, stopped = LivePython(), []
    monkeypatch.setattr(PythonBlock, "stop", lambda block: stopped.append(block))
    pieces = [python.run("1")]

    def trace(*_):
        pieces.append(python.run("2"))
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        python.stop()
    finally:
        sys.settrace(usual)
    assert len(pieces) > len(stopped)  # some began too late for it
    assert "1" in [block.code for block in stopped]
