"""The main thread while a cell of ours is busy: it waits for jobs of the worker, and runs them.

One rule: code runs on the main thread and everything else on the worker. A SIGINT while the
main thread waits is never an exception in our machinery: it asks the worker to stop.
"""

from __future__ import annotations

import contextvars
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from lmc_jupyter.kernel.stop import Interruptible

T = TypeVar("T")

POLL_SECONDS = 0.03
_WAIT_SECONDS = 0.25  # not every system wakes a waiting main thread for a signal

_Job = Callable[[], None]
_dispatchers: list[_Dispatcher] = []
_lock = threading.RLock()
"""Locked while a run begins or ends."""


class Clicks(Protocol):
    """What must be polled while the main thread is busy: see `lmc_jupyter.kernel.mailbox`."""

    poll: Callable[[float], None] | None

    def release(self) -> None: ...


_clicks: list[Clicks] = []


def run_blocking(
    work: Callable[[], T],
    *,
    stop: Callable[[], None],
    poll: Callable[[float], None] | None = None,
) -> T:
    """Do `work` on a worker thread while this one serves the jobs that it submits.

    Parameters
    ----------
    work : gets a copy of this thread's context
    stop : asks the work to end; called here, once per KeyboardInterrupt; must not block
    poll : called with seconds to wait, as long as there is nothing to do, and on a second
        thread while a job runs

    Returns
    -------
    What `work` returned; what it raised is raised here. It has ended in either case.
    """
    dispatcher = _Dispatcher(stop, poll)
    context = contextvars.copy_context()
    future: Future[T] = Future()

    def worker() -> None:
        resolve(future, lambda: context.run(work))
        dispatcher.close()

    with dispatcher.handling_interrupts():
        with _lock:
            _dispatchers.append(dispatcher)
        try:
            threading.Thread(target=worker, name="lmc-turn", daemon=True).start()
            dispatcher.serve()
        finally:
            with _lock:
                _dispatchers.remove(dispatcher)
    if dispatcher.was_pressed():
        stop()
    return future.result()


def run_one(job: _Job, on_interrupt: Callable[[], None]) -> None:
    """Do one job on this thread, with no cell around it, and raise what it raised.

    Parameters
    ----------
    on_interrupt : called, within the signal, for a SIGINT that the job does not take itself
    """
    clicks = _clicks[-1] if _clicks else None
    dispatcher = _Dispatcher(lambda: None, clicks.poll if clicks is not None else None)
    dispatcher.open = False  # it serves nobody else
    dispatcher.on_interrupt = on_interrupt
    with dispatcher.handling_interrupts():
        with _lock:
            _dispatchers.append(dispatcher)
        try:
            dispatcher.run(job)
        finally:
            with _lock:
                _dispatchers.remove(dispatcher)
            if clicks is not None:
                clicks.release()
    if dispatcher.failure is not None:
        raise dispatcher.failure


def watch(clicks: Clicks) -> None:
    """From now on poll these while a job without a cell holds the main thread."""
    _clicks.append(clicks)


def unwatch(clicks: Clicks) -> None:
    """Poll these no longer."""
    _clicks.remove(clicks)


def serving() -> bool:
    """Whether another thread waits for jobs of this one."""
    with _lock:
        return bool(_dispatchers) and _dispatchers[-1].open and not _dispatchers[-1].here()


def post(job: Callable[[], T]) -> Future[T] | None:
    """Hand a job to the thread that serves; its result comes later. None where nobody serves."""
    future: Future[T] = Future()
    with _lock:  # the cell cannot end between the question and the order
        if not serving():
            return None
        _dispatchers[-1].put(lambda: resolve(future, job))
    return future


def resolve(future: Future[T], job: Callable[[], T]) -> None:
    """Do a job; what it returns or raises is returned or raised where its future is waited for."""
    try:
        result = job()
    except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
        future.set_exception(error)
    else:
        future.set_result(result)


def submit(job: Callable[[], T], block: Interruptible | None = None) -> T:
    """Have a job done by the thread that serves, and wait for its result.

    A SIGINT ends the job, and is raised here. Where nobody serves, it is done on this thread.

    Parameters
    ----------
    block : runs the job; `block.stop()` ends it from any thread, as a SIGINT does
    """
    runs = block or Interruptible()
    future = post(lambda: runs.run(job))
    return job() if future is None else future.result()


@contextmanager
def poll_here() -> Iterator[Callable[[], None]]:
    """Within a job that drives an event loop: no second thread polls; call the value instead."""
    dispatcher = _dispatchers[-1] if _dispatchers and _dispatchers[-1].here() else None
    if dispatcher is None:
        yield lambda: None
    else:
        with dispatcher.polling_alone():
            yield lambda: dispatcher.poll(0.0)


class _Dispatcher:
    """A queue of jobs for the thread that created it."""

    def __init__(self, stop: Callable[[], None], poll: Callable[[float], None] | None) -> None:
        self._stop, self._poll = stop, poll
        self._thread = threading.get_ident()
        self.open = True
        self._inbox: queue.SimpleQueue[_Job | str] = queue.SimpleQueue()  # put is safe in a signal
        self.on_interrupt: Callable[[], None] = partial(self._inbox.put, "interrupt")
        self._previous: Any = None
        self._pump: _Pump | None = None
        self.failure: Exception | None = None

    def here(self) -> bool:
        return threading.get_ident() == self._thread

    def put(self, job: _Job) -> None:
        self._inbox.put(job)

    def close(self) -> None:
        with _lock:
            self.open = False
            self._inbox.put("ended")

    def was_pressed(self) -> bool:
        """Whether an interrupt came when the work had just ended; asked after `serve`."""
        return not self._inbox.empty()  # no job comes behind the end

    def serve(self) -> None:
        while True:
            item = self._next()
            if item == "ended":
                break
            if item == "interrupt":
                self._stop()
            elif callable(item):
                self.run(item)
        if self.failure is not None:
            raise self.failure

    def _next(self) -> _Job | str:
        while True:
            try:
                if self._poll is None:
                    return self._inbox.get(timeout=_WAIT_SECONDS)
                return self._inbox.get_nowait()
            except queue.Empty:
                self.poll(POLL_SECONDS)

    def run(self, job: _Job) -> None:
        """Do a job here, and poll beside it."""
        self._pump = _Pump(self.poll) if self._poll is not None else None
        try:
            job()
        finally:
            self._set_handler()  # first, since the pump takes its time to end
            if self._pump is not None:
                self._pump.end()
                self._pump = None

    def poll(self, seconds: float) -> None:
        if self._poll is None:
            return
        try:
            self._poll(seconds)
        except Exception as error:  # noqa: BLE001 - raised once the work has ended
            self.failure, self._poll = error, None
            self._inbox.put("interrupt")

    @contextmanager
    def polling_alone(self) -> Iterator[None]:
        pump, self._pump = self._pump, None
        if pump is not None:
            pump.end()
        try:
            yield
        finally:
            if pump is not None:
                self._pump = _Pump(self.poll)

    @contextmanager
    def handling_interrupts(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread gets signals
            return
        self._previous = signal.default_int_handler
        self._set_handler()
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._previous)

    def _set_handler(self) -> None:
        """Put our handler in place; one that a job has left there is for later."""
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler != self._on_sigint:
                self._previous = handler if handler is not None else signal.default_int_handler
                signal.signal(signal.SIGINT, self._on_sigint)

    def _on_sigint(self, _signum: int, _frame: object) -> None:
        self.on_interrupt()


class _Pump:
    """Polls on a thread of its own while a job holds the main thread."""

    def __init__(self, poll: Callable[[float], None]) -> None:
        self._poll = poll
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._go, name="lmc-pump", daemon=True)
        self._thread.start()

    def _go(self) -> None:
        while not self._halt.wait(0.02):
            self._poll(POLL_SECONDS)

    def end(self) -> None:
        self._halt.set()
        self._thread.join()
