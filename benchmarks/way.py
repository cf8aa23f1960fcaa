"""The modules on the way of one question: `python benchmarks/way.py [FOLDER ...]`.

A real kernel, and a model server on 127.0.0.1 that answers with one block of Python and then with
a word. The second question of a `%%lmc` cell is counted: a module is on its way where a function
of it runs, on any thread of the kernel. Give other checkouts as folders to have them side by side.

One rule: it counts what runs and judges nothing; `--list` names the modules, `--draw` draws the
way into CONTRIBUTING.md: the first call from each door of the house to each other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

HERE = Path(__file__).parents[1]

BEGIN = textwrap.dedent("""\
    import sys, threading
    calls, noted = {{}}, [False]
    def note(frame, event, argument):
        if noted[0] and event == "call":
            back, code = frame.f_back, frame.f_code
            place = code.co_filename, code.co_name
            while back is not None and back.f_code.co_name.startswith("<"):
                back = back.f_back
            by = back and (back.f_code.co_filename, back.f_code.co_name)
            calls.setdefault((by, place))
    threading.setprofile(note)
    sys.setprofile(note)
    sys.path.insert(0, {package!r})
    sys.way = calls, noted
    from ipykernel.kernelapp import launch_new_instance
    launch_new_instance()
    """)
"""Watches from before the first thread of the kernel; it notes once it is told to."""

QUESTION = "%%lmc\nAdd one."
MARK = "<!-- python benchmarks/way.py --draw -->"

REMEMBER = "import lmc_jupyter.computer.lookups\nlmc_jupyter.computer.lookups.SECONDS = 600"
"""What is installed is looked up anew after some seconds: a slow machine counts as a fast one."""

LIST = textwrap.dedent("""\
    import json, sys
    sys.way[1][0] = False
    print(json.dumps([each for each in sys.way[0] if each[1][1] != "<module>"]))
    """)

Call = tuple[tuple[str, str], tuple[str, str]]
"""Module and function that call, and module and function that are called; modules as in
`turn/answering.py`. Who calls from outside of the package is `("", "")`."""


def calls_of(package: Path, base: str) -> list[Call]:
    """The calls of functions of this checkout for a question, in the order of their first time."""
    with tempfile.TemporaryDirectory() as folder:
        manager = KernelManager()
        begin = BEGIN.format(package=str(package))
        manager._kernel_spec = KernelSpec(
            argv=[sys.executable, "-c", begin, "-f", "{connection_file}"],
            display_name="way",
            language="python",
        )
        manager.start_kernel(cwd=folder, env=_environment(folder))
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(60)
            cells = [
                f"%config LMC.model = 'openai/m'\n%config LMC.api_base = {base!r}",
                REMEMBER,
                QUESTION,
                "import sys; sys.way[1][0] = True",
                QUESTION,
                LIST,
            ]
            client.execute_interactive("%load_ext lmc_jupyter", output_hook=_drop, timeout=120)
            texts = [_run(client, each) for each in cells]
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    ours = f"{package.resolve() / 'lmc_jupyter'}/"

    def place(of: list[str] | None) -> tuple[str, str]:
        file, name = of or ("", "")
        is_ours = file.startswith(ours) and Path(file).is_file()
        return (file.removeprefix(ours), name) if is_ours else ("", "")

    found = [(place(by), place(called)) for by, called in json.loads(texts[-1])]
    return [each for each in found if each[1][0]]


def draw(calls: list[Call]) -> list[str]:
    """A line for the first call from each door to each other."""

    def door(module: str) -> str:
        return module.partition("/")[0]

    first: dict[tuple[str, str], tuple[str, str]] = {}
    for by, called in calls:
        if by[0] and door(by[0]) != door(called[0]) and called[1].isidentifier():
            names = [f"{module.removesuffix('.py')}.{name}" for module, name in (by, called)]
            first.setdefault((door(by[0]), door(called[0])), (names[0], names[1]))
    width = max(len(by) for by, _ in first.values())
    return [f"{by:{width}} → {called}" for by, called in first.values()]


def size(package: Path, calls: list[Call]) -> tuple[list[str], int]:
    """The modules that run, and how many lines they have."""
    modules = sorted({called[0] for _, called in calls})
    texts = [(package / "lmc_jupyter" / each).read_text("utf-8") for each in modules]
    return modules, sum(len(each.splitlines()) for each in texts)


def _environment(folder: str) -> dict[str, str]:
    return {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "IPYTHONDIR": folder}


def _drop(message: object) -> None:
    """Leave this output out."""


def _run(client: Any, code: str) -> str:
    """Run a cell, say yes where it asks, and return what it printed."""
    texts: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            texts.append(content["text"])
        elif message["msg_type"] == "error":
            raise SystemExit("\n".join(content["traceback"]))

    client.execute_interactive(
        code,
        allow_stdin=True,
        output_hook=hear,
        stdin_hook=lambda _: client.input("y"),
        timeout=120,
    )
    return "".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--list", action="store_true", help="name the modules")
    parser.add_argument("--draw", action="store_true", help="draw the way into CONTRIBUTING.md")
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(HERE / "benchmarks" / "server.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        base = json.loads(server.stdout.readline())
        for folder in options.folders:
            calls = calls_of(folder, f"{base}/turn/v1")
            modules, lines = size(folder, calls)
            print(f"{folder}: {len(modules)} modules of {lines:,} lines")
            if options.list:
                print("\n".join(f"    {each}" for each in modules))
            if options.draw:
                page = HERE / "CONTRIBUTING.md"
                head, _, rest = page.read_text("utf-8").partition(f"{MARK}\n")
                end = rest.partition("\n```\n")[2]
                text = "\n".join(draw(calls))
                page.write_text(f"{head}{MARK}\n```text\n{text}\n```\n{end}", "utf-8")
    finally:
        server.communicate()


if __name__ == "__main__":
    main()
