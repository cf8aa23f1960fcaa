"""The modules on the way of one question, as a table: `python benchmarks/way.py [FOLDER ...]`.

A real kernel, and a model server on 127.0.0.1 that answers with one block of Python and then with
a word. The second question of a `%%lmc` cell is counted: a module is on its way where a function
of it runs, on any thread of the kernel. Give other checkouts as folders to have them side by side.

One rule: it counts what runs and judges nothing; `--list` names the modules.
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

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

HERE = Path(__file__).parents[1]

BEGIN = textwrap.dedent("""\
    import sys, threading
    files, noted = set(), [False]
    def note(frame, event, argument):
        if noted[0] and event == "call":
            files.add((frame.f_code.co_filename, frame.f_code.co_name))
    threading.setprofile(note)
    sys.setprofile(note)
    sys.path.insert(0, {package!r})
    sys.way = files, noted
    from ipykernel.kernelapp import launch_new_instance
    launch_new_instance()
    """)
"""Watches from before the first thread of the kernel; it notes once it is told to."""

QUESTION = "%%lmc\nAdd one."

LIST = textwrap.dedent("""\
    import json, sys
    sys.way[1][0] = False
    print(json.dumps(sorted({file for file, name in sys.way[0] if name != "<module>"})))
    """)


def modules_of(package: Path, base: str) -> list[Path]:
    """The modules of this checkout in which a function runs for a question."""
    with tempfile.TemporaryDirectory() as folder:
        manager = KernelManager()
        begin = BEGIN.format(package=str(package))
        manager._kernel_spec = KernelSpec(  # type: ignore[attr-defined]
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
    ours = package.resolve() / "lmc_jupyter"
    paths = [Path(each) for each in json.loads(texts[-1])]
    return [each for each in paths if each.is_file() and ours in each.resolve().parents]


def _environment(folder: str) -> dict[str, str]:
    return {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "IPYTHONDIR": folder}


def _drop(message: object) -> None:
    """Leave this output out."""


def _run(client: object, code: str) -> str:
    """Run a cell, say yes where it asks, and return what it printed."""
    texts: list[str] = []

    def hear(message: dict[str, object]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            texts.append(content["text"])  # type: ignore[index]
        elif message["msg_type"] == "error":
            raise SystemExit("\n".join(content["traceback"]))  # type: ignore[index]

    client.execute_interactive(  # type: ignore[attr-defined]
        code,
        allow_stdin=True,
        output_hook=hear,
        stdin_hook=lambda _: client.input("y"),  # type: ignore[attr-defined]
        timeout=120,
    )
    return "".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--list", action="store_true", help="name the modules")
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(HERE / "benchmarks" / "server.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        base = json.loads(server.stdout.readline())
        for folder in options.folders:
            modules = modules_of(folder, f"{base}/turn/v1")
            lines = sum(len(each.read_text("utf-8").splitlines()) for each in modules)
            print(f"{folder}: {len(modules)} modules of {lines:,} lines")
            if options.list:
                for each in modules:
                    print(f"    {each.relative_to(folder.resolve() / 'lmc_jupyter')}")
    finally:
        server.communicate()


if __name__ == "__main__":
    main()
