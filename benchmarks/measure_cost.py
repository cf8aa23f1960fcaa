"""What `cost.py` measures, as it is run inside a real kernel: by the public names alone.

One rule: nothing of the package is replaced or listened to, so what is measured is what a person
gets, whoever does the work behind it.
"""

from __future__ import annotations

import gc
import itertools
import threading
import time
from typing import Any

import psutil
from IPython.core.getipython import get_ipython

from lmc_jupyter import ChatPanel, current_session, get_model

QUESTION = "Go on."
LABEL = "openai/bench"


def choose(base: str, words: int, **options: Any) -> None:
    """The kernel's session goes on with the provider's model, which says so many words."""
    options = {"api_base": base, "api_key": "none", "max_tokens": words, **options}
    current_session().choose_model(LABEL, **options)


def own_memory() -> int:
    """Bytes that would be free if this process ended."""
    gc.collect()
    return int(psutil.Process().memory_full_info().uss)


def answer(question: str = QUESTION) -> dict[str, Any]:
    """One question without a view, in a conversation of its own; as `peer.answer` says."""
    session = current_session()
    session.reset()
    gc.collect()
    begun, cpu, first, pieces = time.monotonic(), time.process_time(), 0.0, []
    for chunk in session.ask(question):
        if chunk.content and chunk.role == "assistant":
            first = first or time.monotonic() - begun
            pieces.append(str(chunk.content))
    wall = time.monotonic() - begun
    return {
        "begun": begun,
        "first": first,
        "wall": wall,
        "cpu": time.process_time() - cpu,
        "text": "".join(pieces),
        "pieces": len(pieces),
    }


def cell(options: str = "") -> dict[str, Any]:
    """The same in a `%%lmc` cell."""
    gc.collect()
    begun, cpu = time.monotonic(), time.process_time()
    shell = get_ipython()
    assert shell is not None
    shell.run_cell_magic("lmc", f"--new {options}", QUESTION)
    wall = time.monotonic() - begun
    text = "".join(each.content for each in current_session().messages if each.role == "assistant")
    return {"begun": begun, "wall": wall, "cpu": time.process_time() - cpu, "text": text}


class PanelTurns:
    """A panel whose questions come as a front end's do."""

    def __init__(self) -> None:
        self.panel = ChatPanel()
        self.session = current_session()
        self.session.history.subscribe(self._hear)
        self.grown, self.over = threading.Event(), threading.Event()

    def _hear(self, event: object) -> None:
        name = type(event).__name__
        if name == "Grown":
            self.grown.set()
        elif name == "Ended":
            self.over.set()

    def begin(self) -> None:
        """Nothing of an earlier question counts any more."""
        self.session.reset()
        self.grown.clear()
        self.over.clear()
        gc.collect()

    def wait(self, event: threading.Event) -> None:
        """Wait as a cell that does nothing."""
        if not event.wait(120):
            raise TimeoutError("the panel's answer neither began nor ended")


def busy(seconds: float) -> float:
    """How many steps a second a loop of plain Python does."""
    begun = time.perf_counter()
    for steps in itertools.count(1):
        sum(number * number for number in range(1_000))
        if (took := time.perf_counter() - begun) >= seconds:
            return steps / took
    raise AssertionError


def spin(until: threading.Event) -> None:
    """Keep one core busy."""
    while not until.is_set():
        sum(number * number for number in range(1_000))


# The embedded model ------------------------------------------------------------------------------


def embedded(question: str) -> dict[str, Any]:
    """One question to the embedded model up to its first code, and what it was sent for that."""
    session = current_session()
    session.reset()
    session.choose_model(get_model("local"))
    begun = time.monotonic()
    reply = session.ask(question)
    code = ""
    for chunk in reply:
        if chunk.type == "code" and chunk.content:
            code = str(chunk.content)
            break
    took = time.monotonic() - begun
    body = session.turns[-1].requests[0].body
    reply.close()
    return {"seconds": took, "code": code, "body": body}


def embedded_rate(question: str, *, beside_a_cell: bool) -> float:
    """Pieces a second of a text of the embedded model, alone or while a cell computes."""
    session = current_session()
    session.reset()
    session.choose_model(get_model("local"))
    times: list[float] = []
    over = threading.Event()

    def read() -> None:
        try:
            times.extend(time.monotonic() for chunk in session.ask(question) if chunk.content)
        finally:
            over.set()

    thread = threading.Thread(target=read)
    thread.start()
    if beside_a_cell:
        spin(over)
    thread.join()
    if len(times) < 2:
        raise RuntimeError(f"the embedded model said only {len(times)} pieces to {question!r}")
    return (len(times) - 1) / (times[-1] - times[0])
