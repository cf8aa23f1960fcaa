"""The official inspector's command line drives `lmc-jupyter mcp` against a real kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernel.conftest import PATIENCE, Frontend
from panel_view import Panel

pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.checkout]

ROOT = Path(__file__).parents[2]
INSPECTOR = ROOT / ".cache" / "servers" / "node_modules" / "@modelcontextprotocol" / "inspector-cli"
COMMAND = (
    "from lmc_jupyter.frontends import command; from lmc_jupyter.frontends.agents import kernels; "
    "kernels.HELLO_SECONDS = 60.0; raise SystemExit(command.main())"
)
GIVEN = ("PYTHONPATH", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "JUPYTER_RUNTIME_DIR")


class Inspection:
    """One call of the inspector, which ends when it has the answer."""

    def __init__(self, method: str, *arguments: str) -> None:
        environment = {name: os.environ[name] for name in GIVEN if name in os.environ}
        path = [str(ROOT), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        words = [word for pair in environment.items() for word in ("-e", "=".join(pair))]
        self._process = subprocess.Popen(
            ["node", "cli.js", "--cli", *words, "--", sys.executable, "-c", COMMAND, "mcp",
             "--method", method, *arguments],
            cwd=INSPECTOR / "build",  # it finds its package.json from there only
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )  # fmt: skip

    def answer(self) -> Any:
        out, errors = self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == 0, errors
        return json.loads(out)


def call(tool: str, **arguments: str) -> Inspection:
    words = [word for pair in arguments.items() for word in ("--tool-arg", "=".join(pair))]
    return Inspection("tools/call", "--tool-name", tool, *words)


@pytest.fixture(scope="module")
def lab() -> Iterator[Frontend]:
    assert (INSPECTOR / "package.json").exists(), "`make test` installs the inspector"
    it = Frontend(env={"JPY_SESSION_NAME": "/home/ada/whales.ipynb"}, listed=True)
    try:
        it.run("%load_ext lmc_jupyter\nimport lmc_jupyter")
        yield it
    finally:
        it.close()


@pytest.fixture
def panel(lab) -> Panel:
    return Panel(lab, lab.value("lmc_jupyter.panel_model_id()"))


def test_the_tools_are_listed_and_described():
    tools = {each["name"]: each for each in Inspection("tools/list").answer()["tools"]}
    assert set(tools) == {
        "list_notebooks", "run_code", "list_variables", "inspect_variable", "read_cells",
        "add_cell", "stop",
    }  # fmt: skip
    assert tools["run_code"]["inputSchema"]["required"] == ["code"]
    assert tools["run_code"]["annotations"]["destructiveHint"] is True
    for each in tools.values():
        assert each["description"]
        assert "\n " not in each["description"], "the source's indentation is no part of it"


def test_the_notebooks_are_listed(lab):
    (found,) = call("list_notebooks").answer()["structuredContent"]["notebooks"]
    assert (found["name"], found["open"]) == ("whales.ipynb", True)


def test_a_block_runs_after_a_click(lab, panel):
    lab.run("whales = ['Ada', 'Bo']")
    begun = call("run_code", code="count = len(whales)\nprint(count, 'whales')")
    question = panel.question()
    assert question["code"] == "count = len(whales)\nprint(count, 'whales')"
    assert "count" not in lab.value("sorted(globals())"), "nothing runs before the click"
    panel.decide(question)
    answer = begun.answer()
    assert answer["isError"] is False
    assert "2 whales" in answer["content"][0]["text"]
    assert answer["structuredContent"]["names"]["new"] == ["count"]
    assert lab.value("count") == 2


def test_a_block_that_is_declined_does_not_run_and_the_reason_is_told(lab, panel):
    begun = call("run_code", code="whales.clear()")
    panel.decide(panel.question(), "decline", reason="count them first")
    answer = begun.answer()
    assert answer["isError"] is True
    assert "count them first" in answer["content"][0]["text"]
    assert answer["structuredContent"]["ran"] is False
    assert lab.value("whales") == ["Ada", "Bo"]
