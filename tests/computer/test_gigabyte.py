"""A gigabyte of output: its beginning and its end are there, the middle is counted, and the memory
of the process that reads it hardly grows."""

from __future__ import annotations

import os
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


def test_a_gigabyte_of_a_program_is_bounded(record_property):
    shell = Shell()
    list(shell.run("true"))  # what the first block imports is no output
    begun = time.perf_counter()
    with Watch() as watch:
        text = "".join(piece.content for piece in shell.run(WRITES))
    seconds = time.perf_counter() - begun
    shell.close()
    assert text.startswith(f"first\n{LINE}")
    assert text.endswith(f"{LINE}last\n")
    assert len(text) < 2_000_000
    assert watch.grown < 64
    megabytes = LINES * len(LINE) / 1e6
    record_property(
        "figure",
        f"{megabytes:,.0f} MB: {watch.grown:.0f} MB more memory, {megabytes / seconds:.0f} MB/s, "
        "first and last lines whole",
    )
    if watch.grown > 32 or megabytes / seconds < 100:
        record_property("falls short", "the bar is 32 MB of memory and 100 MB/s")


def test_control_what_keeps_all_of_a_tenth_of_it_grows():
    kept = []
    with Watch() as watch:
        for _ in range(LINES // 10):
            kept.append(str(time.monotonic_ns()) + LINE)
    assert watch.grown > 64
