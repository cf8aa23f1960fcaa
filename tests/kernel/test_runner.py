"""The main thread serves, the worker works."""

from __future__ import annotations

import contextvars
import os
import signal
import threading
import time

import pytest

from lmc_jupyter.kernel import runner
from lmc_jupyter.kernel.runner import run_blocking, submit

variable = contextvars.ContextVar("variable", default="unset")


def nobody():
    raise AssertionError("nobody asked for a stop")


def test_the_result_of_the_work_is_handed_back():
    assert run_blocking(lambda: threading.current_thread().name, stop=nobody) == "lmc-turn"


def test_what_the_work_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        run_blocking(lambda: 1 / 0, stop=nobody)
    assert not runner.serving()


def test_the_work_has_a_copy_of_the_context():
    variable.set("mine")
    assert run_blocking(variable.get, stop=nobody) == "mine"


def test_jobs_run_on_the_thread_that_serves_and_their_errors_come_back():
    def work():
        assert runner.serving()
        with pytest.raises(ZeroDivisionError):
            submit(lambda: 1 / 0)
        return submit(lambda: (threading.current_thread().name, runner.serving()))

    assert run_blocking(work, stop=nobody) == ("MainThread", False)


def test_a_job_may_itself_serve():
    def inner():
        return run_blocking(lambda: submit(lambda: 5), stop=nobody)

    assert run_blocking(lambda: submit(inner), stop=nobody) == 5


def test_where_nobody_serves_a_job_is_done_at_once():
    assert submit(lambda: threading.current_thread().name) == "MainThread"
    assert runner.post(lambda: 1) is None


def test_a_thread_beside_does_its_job_itself_where_the_cell_ends_just_then(monkeypatch):
    asks, ended, results = threading.Event(), threading.Event(), []

    class Lock:
        """The thread beside gets it when the cell has ended."""

        def __enter__(self):
            if threading.current_thread() is beside:
                asks.set()
                assert ended.wait(30)
            usual.acquire()

        def __exit__(self, *_):
            usual.release()

    def work():
        beside.start()
        assert asks.wait(30)

    beside = threading.Thread(target=lambda: results.append(submit(threading.get_ident)))
    usual = runner._lock
    monkeypatch.setattr(runner, "_lock", Lock())
    run_blocking(work, stop=nobody)
    ended.set()
    beside.join(30)
    assert results == [beside.ident]


def test_an_interrupt_while_waiting_asks_for_a_stop_and_waits_for_the_end():
    stopped, events = threading.Event(), []

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        stopped.wait()
        events.append("ended")
        return "result"

    def stop():
        events.append(threading.current_thread().name)
        stopped.set()

    assert run_blocking(work, stop=stop) == "result"
    assert events == ["MainThread", "ended"]


def test_an_interrupt_as_the_work_ends_asks_for_a_stop_too():
    polled, stops = threading.Event(), []

    def poll(_seconds):
        polled.set()
        while runner._dispatchers[-1].open:
            pass
        with runner._lock:  # now the end of the work is in the inbox
            os.kill(os.getpid(), signal.SIGINT)

    def work():
        assert polled.wait(30)
        return "result"

    assert run_blocking(work, stop=lambda: stops.append(1), poll=poll) == "result"
    assert stops == [1]


def test_an_interrupt_while_the_pump_ends_does_not_meet_the_handler_that_the_job_left():
    began, polled, stops = threading.Event(), threading.Event(), []

    def poll(_seconds):
        if threading.current_thread() is not threading.main_thread():
            assert began.wait(30)  # the pump is known
            polled.set()
            assert runner._dispatchers[-1]._pump._halt.wait(30)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def job():
        began.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert polled.wait(30)

    def work():
        submit(job)
        return "result"

    assert run_blocking(work, stop=lambda: stops.append(1), poll=poll) == "result"
    assert stops == [1]


def test_an_interrupt_of_a_job_is_an_interrupt_of_the_worker():
    began, ended = threading.Event(), threading.Event()

    def job():
        began.set()
        try:
            time.sleep(600)
        finally:
            ended.set()

    def press():
        began.wait()
        while not ended.wait(0.1):  # one signal may come just before the sleep, and not end it
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def work():
        presser = threading.Thread(target=press)
        presser.start()
        try:
            submit(job)
        finally:
            presser.join()  # none comes when the handler is another

    with pytest.raises(KeyboardInterrupt):
        run_blocking(work, stop=lambda: None)


def test_the_handler_of_interrupts_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    run_blocking(lambda: submit(lambda: 1), stop=nobody)
    assert signal.getsignal(signal.SIGINT) is before


def test_polling_goes_on_while_a_job_runs_and_never_on_two_threads_at_once():
    inside, threads, polled = threading.Lock(), set(), threading.Event()

    def poll(seconds):
        assert inside.acquire(blocking=False)
        threads.add(threading.current_thread().name)
        if len(threads) == 2:
            polled.set()
        inside.release()

    def work():
        while "MainThread" not in threads:
            pass
        submit(lambda: polled.wait(60))
        return polled.is_set()

    assert run_blocking(work, stop=nobody, poll=poll) is True
    assert threads == {"MainThread", "lmc-pump"}


def test_one_job_without_a_cell_serves_nobody_and_hears_what_is_pressed():
    pressed, served = [], []

    def job():
        served.append(runner.serving())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    runner.run_one(job, lambda: pressed.append(1))
    assert (pressed, served) == ([1], [False])
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ZeroDivisionError):
        runner.run_one(lambda: 1 / 0, nobody)


def test_one_job_without_a_cell_is_polled_beside_and_released_after():
    class Clicks:
        def __init__(self):
            self.seen, self.log = threading.Event(), []

        def poll(self, seconds):
            self.seen.set()

        def release(self):
            self.log.append("released")

    clicks = Clicks()
    runner.watch(clicks)
    try:
        runner.run_one(lambda: clicks.log.append(clicks.seen.wait(60)), nobody)
    finally:
        runner.unwatch(clicks)
    assert clicks.log == [True, "released"]


def test_a_poll_that_fails_ends_the_work_and_is_said():
    stopped = threading.Event()

    def poll(seconds):
        raise ValueError("no socket")

    with pytest.raises(ValueError, match="no socket"):
        run_blocking(stopped.wait, stop=stopped.set, poll=poll)


def test_a_thread_that_is_not_the_main_one_can_serve_too():
    seen = []

    def serve():
        seen.append(run_blocking(lambda: submit(threading.get_ident), stop=nobody))
        seen.append(threading.get_ident())

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert seen[0] == seen[1]
