"""The command `lmc-jupyter`: `lmc-jupyter mcp` is what an agent's configuration names, and
`lmc-jupyter course` is for teachers.

One rule: standard output belongs to the protocol of `mcp`; what a person reads of it goes to
standard error. Nothing is imported for a command that was not given.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


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
    _add_course(commands)
    options = parser.parse_args(arguments)
    return _serve(options.wait) if options.command == "mcp" else _course(options)


def _serve(wait: float) -> int:
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
    make_server(wait).run("stdio")
    return 0


def _add_course(commands: Any) -> None:
    course = commands.add_parser(
        "course",
        help="make, check and evaluate a course with hints",
        description="A course of notebooks with exercises: see docs/teaching.md.",
    )
    steps = course.add_subparsers(dest="step", required=True)
    build = steps.add_parser("build", help="write the folder that the pupils get")
    build.add_argument("folder", type=Path, help="with your notebooks, and exercises.yaml")
    build.add_argument("--to", type=Path, help="the folder to write (default: FOLDER/pupils)")
    build.add_argument("--replace", action="store_true", help="overwrite a folder that is there")
    check = steps.add_parser("check", help="run references and mistakes, and show the hints")
    check.add_argument("folder", type=Path, help="with your notebooks, and exercises.yaml")
    check.add_argument("--model", help="which words the hints; without it they are in our words")
    report = steps.add_parser("report", help="one page of what the pupils handed in")
    report.add_argument("files", type=Path, nargs="+", help="made by a pupil's `%%lmc report`")
    report.add_argument("--to", type=Path, default=Path("report.html"), help="the page to write")
    report.add_argument("--replace", action="store_true", help="overwrite a page that is there")


def _course(options: argparse.Namespace) -> int:
    from lmc_jupyter.errors import LMCError
    from lmc_jupyter.frontends import course

    try:
        return course.run(options)
    except (LMCError, OSError) as error:
        sys.stderr.write(f"{error}.\n")
        return 1


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 1 <= seconds <= 3_600:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 3600 seconds")
    return seconds
