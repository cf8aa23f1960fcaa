"""Processes that are killed with SIGKILL in the middle of a turn lose nothing that was shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killing_calls import STEPS
from sampling import SEED, amount

import lmc_jupyter

HERE = Path(__file__).parent
MEMORY = "/dev/shm"  # SIGKILL leaves the system's memory alone: the disk makes it slower only

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here"),
    pytest.mark.long,
]


def begun(script: str, *arguments: object) -> subprocess.Popen:
    env = {**os.environ, "PYTHONPATH": str(Path(lmc_jupyter.__file__).parents[1])}
    if Path(MEMORY).is_dir():
        env["TMPDIR"] = MEMORY
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


def found(process: subprocess.Popen) -> dict:
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out)


@pytest.mark.timeout(amount(600, 3600))
def test_kills_in_the_middle_of_a_turn_lose_nothing_that_was_shown(record_property):
    """Two thousand in a long run: most of what can go wrong shows in the first hundred."""
    each = amount(75, 1000)
    with begun("killing.py", each, SEED) as first, begun("killing.py", each, SEED + 1) as second:
        results = [found(process) for process in (first, second)]
    for result in results:
        assert result["missing"] == []
    assert sum(result["kills"] for result in results) == 2 * each
    assert sum(result["in_turn"] for result in results) > each
    assert sum(result["said"] for result in results) > 10 * each
    kills, said = (sum(result[name] for result in results) for name in ("kills", "said"))
    record_property("figure", f"{kills:,} kills, {said:,} pieces shown before them: 0 lost")


def test_a_writer_that_keeps_lines_to_itself_does_lose_them(record_property):
    with begun("killing.py", 30, 3, "lazy") as process:
        lost = found(process)["lost"]
    assert lost > 0
    record_property("figure", f"{lost} lost in 30 kills")


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_call_of_the_disk_the_next_kernel_goes_on_and_every_journal_opens(step):
    with begun("killing_calls.py", step) as process:
        result = found(process)
    assert result["wrong"] == []
    assert result["killed"] > 2
