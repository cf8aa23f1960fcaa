"""Processes that are killed with SIGKILL in the middle of a turn lose nothing that was shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lmc_jupyter

KILLING = Path(__file__).with_name("killing.py")
MEMORY = "/dev/shm"  # SIGKILL leaves the system's memory alone: the disk makes it slower only

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")


def begun(kills: int, seed: int, *more: str, folder: str | None = None) -> subprocess.Popen:
    env = {**os.environ, "PYTHONPATH": str(Path(lmc_jupyter.__file__).parents[1])}
    if folder is not None and Path(folder).is_dir():
        env["TMPDIR"] = folder
    command = [sys.executable, str(KILLING), str(kills), str(seed), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


def found(process: subprocess.Popen) -> dict:
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out)


def test_two_thousand_kills_in_the_middle_of_a_turn_lose_nothing_that_was_shown():
    with begun(1100, 1, folder=MEMORY) as first, begun(900, 2, folder=MEMORY) as second:
        results = [found(each) for each in (first, second)]
    for result in results:
        assert result["missing"] == []
    assert sum(result["kills"] for result in results) == 2000
    assert sum(result["in_turn"] for result in results) > 1000
    assert sum(result["said"] for result in results) > 10_000


def test_a_writer_that_keeps_lines_to_itself_does_lose_them():
    with begun(30, 3, "lazy", folder=MEMORY) as process:
        assert found(process)["lost"] > 0
