"""More than 40 well-known libraries load, compute and plot under `ask = "changes"` without a
question, each in a process and a home of its own, as on a machine that has never seen it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from libraries import LIBRARIES

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("LMC_TEST_LIBRARIES") or ROOT / ".venv-libraries" / "bin" / "python")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="its environment is made by make"),
]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.timeout(300)
@pytest.mark.checkout
def test_a_library_asks_nothing_and_leaves_nothing_in_the_folder(name, tmp_path):
    assert PYTHON.exists(), f"{PYTHON} is missing: `make test-long` makes it"
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [str(PYTHON), str(Path(__file__).with_name("libraries.py")), name],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["questions"], result["breach"], result["error"]) == ([], "", "")
    assert list(folder.iterdir()) == []


def test_they_are_more_than_forty():
    assert len(LIBRARIES) > 40
