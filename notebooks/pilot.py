"""A tiny agent outside the notebook: a program of its own, as Claude Code and others are.

One rule: it knows the notebook by the tools of `lmc-jupyter mcp` alone, and prints what they say.

`python pilot.py KERNEL` visits the notebook with this kernel. It has no model: what it wants is
written below.
"""

from __future__ import annotations

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation

NAME = "Pilot"
BLOCKS = [
    'deepest = max(ships, key=ships.get)\nprint(deepest, "needs", ships[deepest], "m of water")',
    "del ships[deepest]",
]
"""The code that it brings: first something useful, then something bold."""
WAIT_SECONDS = 600
"""How long a block waits for its person."""

COMMAND = "from lmc_jupyter.frontends.command import main; raise SystemExit(main())"
"""The command `lmc-jupyter`, also where it is not on the path."""


def say(text: str) -> None:
    """Print it at once."""
    print(text, flush=True)  # noqa: T201 - it is a program


def text_of(result: CallToolResult) -> str:
    """What a tool has said."""
    return "\n".join(each.text for each in result.content if each.type == "text")


async def look_and_bring(client: Client, kernel: str) -> None:
    """Look around, then bring each block and print what became of it."""
    names = await client.call_tool("list_variables", {"notebook": kernel})
    if names.is_error:
        say(f"I am not let in: {text_of(names)}")
        return
    seen = [line for line in text_of(names).splitlines() if "ships" in line]
    say("\n".join(["I may read the names of your variables, such as", *seen]))
    for number, code in enumerate(BLOCKS, 1):
        say(f"I bring block {number}, and wait for you.")
        result = await client.call_tool("run_code", {"notebook": kernel, "code": code})
        say("\n".join(f"    {line}" for line in text_of(result).splitlines()))


async def visit(kernel: str) -> None:
    """Go there, and go again."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", COMMAND, "mcp", "--wait", str(WAIT_SECONDS)],
        env=dict(os.environ),
    )
    about = Implementation(name=NAME.lower(), title=NAME, version="1")
    async with Client(server, client_info=about) as client:
        await look_and_bring(client, kernel)
    say(f"{NAME} goes.")


if __name__ == "__main__":
    asyncio.run(visit(sys.argv[1]))
