"""The loop on a thread of its own: one a process, closed as the interpreter ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

ENDS = """
import asyncio, sys
from lmc_jupyter.content.loop_thread import LoopThread

async def close():
    print("closing", flush=True)
    if "fails" in sys.argv:
        raise OSError("no")
    if "hangs" in sys.argv:
        await asyncio.Event().wait()

loop = LoopThread("a name", close, 0.2)
assert loop() is loop()

async def name():
    import threading
    return threading.current_thread().name

print(asyncio.run_coroutine_threadsafe(name(), loop()).result())
"""
FORKS = """
import os
before = loop()
child = os.fork()
if not child:
    assert loop() is not before
    print(asyncio.run_coroutine_threadsafe(name(), loop()).result(), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert loop() is before
"""


def ran(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("how", ["", "fails", "hangs"])
def test_it_is_closed_as_the_interpreter_ends_however_that_goes(how: str) -> None:
    assert ran(ENDS, how) == ["a name", "closing"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_fork_starts_its_own_and_closes_nothing_of_its_parent() -> None:
    assert ran(ENDS + FORKS) == ["a name", "a name", "closing"]
