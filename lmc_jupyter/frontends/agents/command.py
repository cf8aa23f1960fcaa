"""The command `lmc-jupyter`: `lmc-jupyter mcp` is what an agent's configuration names.

One rule: standard output belongs to the protocol; what a person reads goes to standard error.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib.metadata import version


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="lmc-jupyter", description="Language models and agents in your live Jupyter kernel."
    )
    parser.add_argument(
        "--version", action="version", version=f"lmc-jupyter {version('lmc-jupyter')}"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    mcp = commands.add_parser(
        "mcp",
        help="serve your open notebooks to an agent, by MCP over standard input and output",
        description="Serve the notebooks that you have open to an agent such as Claude Code. You "
        "see each block of code that it brings, and decide whether it runs.",
    )
    mcp.add_argument(
        "--wait",
        type=_seconds,
        default=55.0,
        metavar="SECONDS",
        help="how long a block waits for you (default: 55; most agents give a call 60 seconds)",
    )
    options = parser.parse_args(arguments)
    gc.disable()  # a tenth of the start would go into looking through what is imported and stays
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it looks through all packages
    try:
        from pydantic import BaseModel

        # of the SDK's 550 models a session uses few: each is built at its first use
        BaseModel.model_config["defer_build"] = True
        from lmc_jupyter.frontends.agents.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "pydantic"):
            raise
        sys.stderr.write(
            'The official MCP SDK is not installed here: run `pip install "lmc-jupyter[mcp]"`.\n'
        )
        return 1
    finally:
        gc.enable()
    make_server(options.wait).run("stdio")
    return 0


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 1 <= seconds <= 3_600:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 3600 seconds")
    return seconds
