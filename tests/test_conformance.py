"""The published conformance suite of MCP, where it applies: the client of our tools over HTTP, and
the server of `lmc-jupyter mcp`, which the SDK serves over HTTP here.

Its other scenarios want a server with tools, prompts and resources of the suite's own, or OAuth and
elicitation, which our client does not do.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from lmc_jupyter.frontends.agents.server import make_server

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.long,
]  # it waits for processes: in the half that waits

ROOT = Path(__file__).parents[1]
SUITE = ROOT / ".cache" / "servers" / "node_modules" / "@modelcontextprotocol" / "conformance"
PATIENCE = 60
OLDEST_NODE = 22


@pytest.fixture(scope="module")
def node() -> str:
    """A Node.js that the suite runs on."""
    assert (SUITE / "package.json").exists(), "`make test-long` installs the suite"
    node = shutil.which("node")
    assert node is not None, "`make test-long` puts Node.js on the path"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    if int(said.stdout.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip("not run: the conformance suite of MCP (it needs Node.js 22 or newer)")
    return node


@pytest.fixture
def conform(node, tmp_path) -> Callable[..., dict[str, str]]:
    """Runs a scenario; what it says of each check, without those that only inform."""

    def run(*words: str) -> dict[str, str]:
        done = subprocess.run(
            [node, str(SUITE / "dist" / "index.js"), *words, "-o", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        (file,) = tmp_path.rglob("checks.json")
        checks: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", said), said
        return {each["id"]: each["status"] for each in checks if each["status"] != "INFO"}

    return run


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The server of agents, over HTTP."""
    app = make_server(5.0).streamable_http_app()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.mark.parametrize(
    ("scenario", "checks"),
    [
        ("initialize", ["mcp-client-initialization"]),
        ("tools_call", ["tool-add-numbers"]),
        (
            "sse-retry",
            [
                "client-sse-graceful-reconnect",
                "client-sse-last-event-id",
                "client-sse-retry-timing",
            ],
        ),
    ],
)
def test_the_client_of_our_tools_conforms(conform, scenario, checks):
    client = f'"{sys.executable}" "{Path(__file__).with_name("conformance_client.py")}"'
    found = conform("client", "--command", client, "--scenario", scenario)
    assert found == dict.fromkeys(checks, "SUCCESS")


@pytest.mark.parametrize(
    ("scenario", "checks"),
    [
        ("server-initialize", ["server-initialize"]),
        ("ping", ["ping"]),
        ("tools-list", ["tools-list"]),
        (
            "server-sse-multiple-streams",
            ["server-accepts-multiple-post-streams", "server-sse-streams-functional"],
        ),
    ],
)
def test_the_server_of_agents_conforms(conform, address, scenario, checks):
    found = conform("server", "--url", address, "--scenario", scenario)
    assert found == dict.fromkeys(checks, "SUCCESS")
