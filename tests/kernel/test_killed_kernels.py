"""Real kernels that are killed in the middle of a turn lose nothing that anybody was shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lmc_jupyter

KILLING = Path(__file__).parents[1] / "conversation" / "killing_kernels.py"
MEMORY = "/dev/shm"  # SIGKILL leaves the system's memory alone: the disk makes it slower only

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        not (hasattr(os, "fork") and hasattr(signal, "SIGKILL")),
        reason="not run: kernels that are killed, where processes have no forks",
    ),
    pytest.mark.long,
]


def killed(kills: int, seed: int, *more: str) -> dict[str, Any]:
    """What came of so many kills in a turn; 2,000 take a quarter of an hour."""
    env = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    env["PYTHONPATH"] = str(Path(lmc_jupyter.__file__).parents[1])
    if Path(MEMORY).is_dir():
        env["TMPDIR"] = MEMORY
    command = [sys.executable, str(KILLING), str(kills), str(seed), *more]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    wanted = os.environ.get("LMC_TEST_IPYKERNEL")
    assert not wanted or found["ipykernel"].startswith(f"{wanted}.")
    return found


def test_kernels_that_are_killed_at_any_instant_of_a_turn_lose_nothing_that_was_shown():
    found = killed(20, 1)
    assert found["missing"] == []
    assert found["in_turn"] == 20
    assert len(found["at"]) > 4, found["at"]
    assert found["said"] > 150
    assert found["shown"] > 20


def test_a_writer_that_keeps_lines_to_itself_does_lose_them_with_the_kernel():
    assert killed(5, 3, "lazy")["lost"] > 0
