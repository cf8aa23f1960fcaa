"""`lmc-jupyter mcp` answers `initialize` with little imported: its clients give up on a slow start.

The SDK alone takes nearly all of the time there is; what reaches kernels is imported by a call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kernel  # it starts a program: in the half that waits

OWN = {
    "lmc_jupyter",
    "lmc_jupyter.errors",
    "lmc_jupyter.frontends",
    "lmc_jupyter.frontends.agents",
    "lmc_jupyter.frontends.command",
    "lmc_jupyter.frontends.agents.server",
}
LATER = {"IPython", "PIL", "ipykernel", "jupyter_client", "litellm", "psutil", "traitlets", "zmq"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    },
}


def imported_before(method: dict[str, object], to: Path) -> set[str]:
    """The modules that the server has imported when it answers, as Python itself lists them."""
    command = [sys.executable, "-X", "importtime", "-m", "lmc_jupyter", "mcp"]
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    with (
        to.open("w+") as listed,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=listed,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(method) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.kill()
        server.wait()
        listed.seek(0)
        lines = [line.split("|") for line in listed if line.startswith("import time:")]
    assert answer["result"]["serverInfo"]["name"] == "lmc-jupyter"
    return {line[-1].strip() for line in lines}


def test_what_reaches_kernels_is_not_imported_before_the_first_answer(tmp_path):
    found = imported_before(INITIALIZE, tmp_path / "imports")
    assert "mcp.server.mcpserver" in found  # the list is one
    assert {each for each in found if each.partition(".")[0] == "lmc_jupyter"} == OWN
    assert {each.partition(".")[0] for each in found} & LATER == set()


BUILT = """
from lmc_jupyter.frontends import command
command.main(["mcp"])  # until the end of its standard input
import mcp_types._v2025_11_25 as models
from pydantic import BaseModel
every = [each for each in vars(models).values() if isinstance(each, type)
         and issubclass(each, BaseModel)]
print(len(every), sum(each.__pydantic_complete__ for each in every))
"""


def test_models_of_the_sdk_are_built_at_their_first_use():
    done = subprocess.run(
        [sys.executable, "-c", BUILT], stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    every, built = map(int, done.stdout.split())
    assert every > 100
    assert built < every / 4
