"""A gigabyte of output: its beginning and its end are there, the middle is counted, and the memory
of the process that reads it hardly grows."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from lmc_jupyter.computer.languages.shell import Shell

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name != "posix", reason="bash is not registered on Windows"),
]
LINE = "0123456789" * 10 + "\n"
LINES = 10_000_000
WRITES = f"echo first; yes {LINE.strip()} | head -n {LINES}; echo last"


class Watch:
    """The most memory that this process has while the block runs, beyond what it had before."""

    def __enter__(self) -> Watch:
        self._process = psutil.Process()
        self.before = self.most = self._process.memory_info().rss
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.most = max(self.most, self._process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.most = max(self.most, self._process.memory_info().rss)

    @property
    def grown(self) -> float:
        return (self.most - self.before) / 1e6


def write() -> dict[str, float | bool]:
    """A block that puts out a gigabyte."""
    shell = Shell()
    list(shell.run("true"))  # what the first block imports is no output
    begun = time.perf_counter()
    with Watch() as watch:
        text = "".join(piece.content for piece in shell.run(WRITES))
    seconds = time.perf_counter() - begun
    shell.close()
    is_whole = text.startswith(f"first\n{LINE}") and text.endswith(f"{LINE}last\n")
    return {"grown": watch.grown, "seconds": seconds, "whole": is_whole, "length": len(text)}


def only_read() -> dict[str, float]:
    """The same block at a terminal that a loop reads, and nothing else: how fast the system is."""
    import tty  # Windows has none

    ours, theirs = os.openpty()
    tty.setraw(theirs)  # lines end as they are written, as at ours
    begun = time.perf_counter()
    with subprocess.Popen(["bash", "-c", WRITES], stdout=theirs, stdin=subprocess.DEVNULL):
        os.close(theirs)
        with contextlib.suppress(OSError):  # Linux ends a terminal by an error
            while os.read(ours, 65536):
                pass
    os.close(ours)
    return {"seconds": time.perf_counter() - begun}


def keep() -> dict[str, float]:
    """What keeps all of a tenth of it."""
    kept = []
    with Watch() as watch:
        for _ in range(LINES // 10):
            kept.append(str(time.monotonic_ns()) + LINE)
    return {"grown": watch.grown}


def alone(part: str) -> dict[str, float]:
    """What a part says in a process of its own: where others have freed memory nothing grows."""
    done = subprocess.run([sys.executable, __file__, part], stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def test_a_gigabyte_of_a_program_is_bounded(record_property):
    found = alone("write")
    assert found["whole"]
    assert found["length"] < 2_000_000
    assert found["grown"] < 64
    megabytes = LINES * len(LINE) / 1e6
    bare = megabytes / alone("only_read")["seconds"]
    record_property(
        "figure",
        f"{megabytes:,.0f} MB: {found['grown']:.0f} MB more memory, "
        f"{megabytes / found['seconds']:.0f} MB/s, first and last lines whole; "
        f"a loop that only reads such a terminal: {bare:.0f} MB/s",
    )
    if found["grown"] > 32 or megabytes / found["seconds"] < 100:
        record_property("falls short", "the bar is 32 MB of memory and 100 MB/s")


def test_control_what_keeps_all_of_a_tenth_of_it_grows():
    assert alone("keep")["grown"] > 64


RUNS = {"write": write, "only_read": only_read, "keep": keep}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(RUNS[sys.argv[1]]()))
