"""The line that runs now is looked for by one thread, for every block of the process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from lmc_jupyter.kernel.active_line import ActiveLine

FORKED = """
import os, sys, threading
from lmc_jupyter.kernel.active_line import ActiveLine

def looked():
    seen = threading.Event()
    with ActiveLine(lambda: "", print, 1, seen.set):
        return seen.wait(60)

assert looked()
outer = ActiveLine(lambda: "", print, 1)
outer.__enter__()
child = os.fork()
if not child:
    outer.__exit__()
    os._exit(0 if looked() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Looked:
    """Knows that it was looked at."""

    def __init__(self, line: ActiveLine | None = None) -> None:
        self.seen = threading.Event()
        self.line = line

    def tick(self) -> None:
        self.seen.set()

    def enter(self) -> ActiveLine:
        self.line = ActiveLine(str, lambda _: None, 1, self.tick)
        return self.line


def looks() -> bool:
    looked = Looked()
    with looked.enter():
        return looked.seen.wait(60)


def of_ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lmc-line"]


def test_one_thread_looks_for_all_blocks():
    first, second = Looked(), Looked()
    with first.enter(), second.enter():
        assert first.seen.wait(60)
        assert second.seen.wait(60)
    assert looks()
    assert len(of_ours()) == 1
    assert of_ours()[0].daemon


def test_a_line_is_told_when_it_changes():
    told: list[int] = []
    heard, go_on = threading.Event(), threading.Event()

    def report(line: int) -> None:
        told.append(line)
        heard.set()

    code = compile("\n\nheard.wait(60)\ngo_on.set()", "a block", "exec")
    with ActiveLine(lambda: "a block", report, 1, offset=2):
        exec(code, {"heard": heard, "go_on": go_on})
    assert go_on.is_set()
    assert told == [5]


def test_what_goes_wrong_in_one_block_is_said_and_the_others_go_on(monkeypatch):
    said: list[BaseException | None] = []
    heard = threading.Event()

    def hook(args: threading.ExceptHookArgs) -> None:
        said.append(args.exc_value)
        heard.set()

    monkeypatch.setattr(threading, "excepthook", hook)

    def fail() -> None:
        raise ValueError("a look that fails")

    with ActiveLine(str, lambda _: None, 1, fail):
        assert heard.wait(60)
        assert looks()
    assert [str(error) for error in said] == ["a look that fails"]
    assert looks()


def test_nothing_of_a_block_that_has_ended_is_kept():
    looked, gone = Looked(), threading.Event()
    weakref.finalize(looked, gone.set)
    with looked.enter():
        assert looked.seen.wait(60)
    del looked
    gc.collect()
    while not gone.wait(0.05):  # the thread may be at it just now
        assert looks()
        gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_looks_too():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], check=False, timeout=300, text=True
    )
    assert done.returncode == 0
