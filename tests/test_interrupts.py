"""delay_interrupt: a Ctrl-C comes when the block is over, and only once."""

from __future__ import annotations

import signal
import threading

import pytest

from lmc_jupyter.interrupts import delay_interrupt


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def hold(done: list[str], error: Exception | None = None) -> None:
    with delay_interrupt():
        with delay_interrupt():
            press()
            press()
            done.append("inner")
        done.append("outer")
        if error is not None:
            raise error
    done.append("behind")


def test_a_ctrl_c_inside_comes_once_behind_the_outermost_block() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        hold(done)
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with delay_interrupt():
        done.append("the next is free of it")
    assert len(done) == 3


def test_the_error_of_the_block_is_told_beside_it() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        hold([], ValueError("mine"))
    assert isinstance(caught.value.__context__, ValueError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handler_that_was_there_is_the_one_that_is_called() -> None:
    pressed = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        with delay_interrupt():
            press()
            assert pressed == []
        assert pressed == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_a_ctrl_c_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with delay_interrupt():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_on_another_thread_nothing_is_held_back() -> None:
    inside, handlers = threading.Event(), []

    def work() -> None:
        with delay_interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))
            inside.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(30)
    thread.join(30)
    assert handlers == [signal.default_int_handler]
