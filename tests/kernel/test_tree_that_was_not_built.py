"""A source tree whose front end was not built: the extension loads, and one sentence says so."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import lmc_jupyter

pytestmark = [pytest.mark.kernel, pytest.mark.long]

PACKAGE = Path(lmc_jupyter.__file__).parent
SENTENCE = "this is a source tree that was not built. Run `make js` in it"
PREPARE = """
import threading
from lmc_jupyter.frontends.magic import magics
errors = []
threading.excepthook = errors.append
thread = threading.Thread(target=magics._prepare, args=("replay/none", get_ipython()))
thread.start(); thread.join()
"""


def test_the_extension_loads_and_who_opens_the_panel_reads_what_to_do(
    make_frontend: Any, tmp_path: Path
) -> None:
    ignored = shutil.ignore_patterns("static", "labextension", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "lmc_jupyter", ignore=ignored)
    lab = make_frontend(env={"PYTHONPATH": str(tmp_path)})
    assert lab.value("__import__('lmc_jupyter').__file__").startswith(str(tmp_path))
    lab.run("%load_ext lmc_jupyter")
    lab.run(PREPARE)
    assert lab.value("errors") == []
    cell = lab.start("%lmc panel")
    messages = lab.finish(cell)
    errors = [m["content"]["evalue"] for m in messages if m["msg_type"] == "error"]
    assert "".join([lab.text(cell), *errors]).count(SENTENCE) == 1
    lab.run("number = 6 * 7")
    assert lab.value("number") == 42
