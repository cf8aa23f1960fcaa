"""The client of our tools, for the conformance suite: `python conformance_client.py URL`.

One rule: it does what code in a notebook does, and prints what it got: it has the server in an
mcp.json, and calls each of its tools as a function.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lmc_jupyter.computer.tools.config import read
from lmc_jupyter.computer.tools.namespace import the_tools
from lmc_jupyter.computer.tools.servers import servers

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
PATIENCE = 240.0  # seconds

if __name__ == "__main__":
    configs, mistakes = read(
        json.dumps({"mcpServers": {"suite": {"url": sys.argv[1]}}}).encode(), Path("mcp.json")
    )
    assert not mistakes, mistakes
    servers.use(configs)
    servers.wait(PATIENCE)
    (server,) = servers.current()
    assert server.state == "ready", server.why
    for tool in server.tools:
        function = getattr(the_tools().suite, tool.identifier)
        print(tool.path, function(**ARGUMENTS.get(tool.name, {})))  # noqa: T201
    servers.close()
