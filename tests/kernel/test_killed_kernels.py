"""Real kernels that are killed in the middle of a turn lose nothing that anybody was shown."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from panel_view import Panel
from sampling import SEED, amount
from test_panel_restart import begun, started_again

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


# In the panel -------------------------------------------------------------------------------------

TALKING = r"""
import time
class Talking:
    'Talks without end, or writes code that prints without end.'
    def __init__(self, writes): self.writes = writes
    def respond(self, messages):
        yield said("Well. ", end=self.writes)
        if self.writes:
            yield code(CODE, end=True)
        for number in range(10**6):
            time.sleep(0.005)
            yield said(f"{number} ")
CODE = '''with open("runs", "a") as file: file.write("x")
import time
for number in range(10**6):
    print(number, end=" ", flush=True)
    time.sleep(0.005)'''
"""


def wait_for_text(panel: Panel, role: str, length: int) -> None:
    """Wait until the last message is this role's, and has so many characters."""

    def is_there() -> bool:
        last = panel.view.records[-1].get("message", {})
        return last.get("role") == role and len(last["content"]) >= length

    panel.until(is_there, f"{length} characters of {role}")


def test_after_kills_in_mid_answer_all_that_was_shown_is_there_and_nothing_runs_again(
    make_frontend, tmp_path, record_property
):
    moments, kills, lengths = random.Random(SEED), amount(4, 100), []
    lab = make_frontend(cwd=tmp_path)
    panel = begun(lab)
    for number in range(kills):
        writes = number % 2 == 1
        lab.run(f"{TALKING}\nsession.choose_model(Talking({writes}))\nsession.reset()")
        panel.ask(f"Question {number}?")
        if writes:
            panel.decide(panel.question())
        wait_for_text(panel, "computer" if writes else "assistant", moments.randint(10, 300))
        before = panel.texts()
        panel = started_again(lab)  # SIGKILL, and a new kernel
        after = panel.texts()[: len(before)]
        assert after[:-1] == before[:-1]
        assert after[-1].startswith(before[-1])
        assert lab.value("(session.pending is None, session.busy)") == (True, False)
        lengths.append(len(before[-1]))
    assert len((tmp_path / "runs").read_text()) == kills // 2
    record_property(
        "figure",
        f"{kills} kills in mid-answer, after up to {max(lengths)} characters: all shown again, "
        "0 runs",
    )
