"""An MCP server for the tests, by the official SDK: over its pipes, or with a port over HTTP."""

import asyncio
import io
import os
import sys
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver import Context, Image, MCPServer
from PIL import Image as Pillow

server = MCPServer("demo")


@server.tool()
def add(first: int, second: int = 2) -> dict[str, int]:
    """Add two numbers.

    More words on it.
    """
    return {"sum": first + second}


@server.tool(name="say-hello")
def hello(name: str, manner: Literal["short", "long"] = "short") -> str:
    """Greet somebody."""
    return f"Hello, {name}!" if manner == "short" else f"A very good day to you, {name}."


@server.tool(structured_output=False)
def words() -> list[str]:
    """Several texts."""
    return ["one", "two"]


@server.tool()
def picture() -> Image:
    """A red picture."""
    out = io.BytesIO()
    Pillow.new("RGB", (4, 3), "red").save(out, "PNG")
    return Image(data=out.getvalue(), format="png")


@server.tool()
async def slow(context: Context, file: str = "") -> str:
    """Waits until it is cancelled, and writes that down."""
    try:
        await context.report_progress(1, 10, "waiting")
        await asyncio.sleep(300)
    except asyncio.CancelledError:
        Path(file).write_text("cancelled")
        raise
    return "done"


@server.tool()
def fail() -> str:
    """Fails with escapes in its words."""
    from mcp.server.mcpserver.exceptions import ToolError

    raise ToolError(f"no\x1b[31m good\u202e {os.environ.get('DEMO_TOKEN', '')}")


@server.tool()
def die() -> str:
    """Ends the server."""
    sys.stderr.write(f"good bye {os.environ.get('DEMO_TOKEN', '')}\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def pid() -> int:
    """The id of the process."""
    return os.getpid()


@server.tool()
def variables() -> list[str]:
    """The names of the variables of its environment."""
    return sorted(os.environ)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
