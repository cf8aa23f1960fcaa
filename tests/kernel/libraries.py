"""Well-known libraries load, compute and plot under `ask = "changes"`: what they ask.

`python tests/kernel/libraries.py NAME` runs one of them in this process, watched as code that has
promised to read and make names only, and prints a line of JSON: its version, the questions that the
watch had, the files that it made, and the error of the code.
"""

from __future__ import annotations

import builtins
import importlib.metadata
import json
import sys
from pathlib import Path

BLOCKS = Path(__file__).with_name("library_blocks.txt")
LIBRARIES = dict(part.split("\n", 1) for part in BLOCKS.read_text("utf-8").split("# --- ")[1:])
"""The name of a package -> code that uses it."""


def main(name: str) -> None:
    """Run the code of one library, and print what it asked."""
    from IPython.core.interactiveshell import InteractiveShell

    from lmc_jupyter.computer.languages.python import LivePython

    questions: list[str] = []
    builtins.input = lambda prompt="": questions.append(str(prompt)) or "n"
    python = LivePython(InteractiveShell.instance())
    python.quiet = True
    pieces = list(python.run_promised(LIBRARIES[name]))
    text = "".join(str(each.content) for each in pieces if each.format == "output")
    changes = python.changes()
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    error = next((line for line in text.split("\n") if "Error" in line or "allowed" in line), "")
    breach = "" if changes is None else changes.breach
    result = {"version": version, "questions": questions, "breach": breach, "error": error}
    sys.stdout.write(f"{json.dumps(result)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
