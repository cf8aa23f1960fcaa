"""The embedded model in a real kernel, with a stand-in for its native runtime."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from panel_view import Panel

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests" / "models" / "stand_in"

pytestmark = pytest.mark.kernel


@pytest.fixture
def lab(make_frontend, tmp_path) -> Any:
    """A kernel whose embedded model computes 2380*3875."""
    weights = tmp_path / "own.gguf"
    weights.write_text(json.dumps({"replies": ["print(2380 * 3875)", "not asked for"]}))
    path = os.pathsep.join([str(ROOT), str(STAND_IN)])
    own = {"LMC_MODEL": "", "LMC_LOCAL_MODEL": str(weights), "XDG_DATA_HOME": str(tmp_path)}
    frontend = make_frontend(env={"PYTHONPATH": path, **own})
    frontend.run("%load_ext lmc_jupyter")
    return frontend


def test_it_loads_while_the_person_still_writes_in_the_panel(lab):
    panel = Panel(lab, lab.value("__import__('lmc_jupyter').panel_model_id()"))
    lab.run("from lmc_jupyter.models.local import process")
    assert lab.value("len(process._workers)") == 0
    panel.tell({"kind": "focus"})
    panel.tell({"kind": "focus"})
    panel.value("names", prefix="x")  # it is answered behind the others
    [first] = lab.value("[worker.pid for worker in process._workers.values()]")
    panel.ask("What is 2380*3875?")
    panel.decide(panel.question())
    panel.over()
    assert panel.texts()[-1] == "The result is 9222500."
    assert lab.value("[worker.pid for worker in process._workers.values()]") == [first]


LOADED = "sorted({name.partition('.')[0] for name in __import__('sys').modules})"


def test_a_whole_turn_brings_no_library_of_providers_into_the_kernel(lab):
    cell = lab.start("%%lmc --auto-run\nWhat is 2380*3875?")
    lab.finish(cell)
    assert "9222500" in lab.text(cell)
    assert "The result is 9222500." in str(lab.of(cell))
    for command in ("", "tokens", "cost", "model"):
        lab.run(f"%lmc {command}")
    assert not {"litellm", "openai", "httpx", "aiohttp", "tiktoken"} & {*lab.value(LOADED)}
