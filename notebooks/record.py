"""Record what a model answers in a notebook, for the tests: `python notebooks/record.py NOTEBOOK`.

One rule: the words are the model's. Every cell runs in a real kernel, each reply is written down
as it came, and nothing is put right by hand. What the small model cannot write is recorded by hand
in files of their own, NOTEBOOK-by-hand.jsonl, which say so in their first line; the notebook
chooses them by `%lmc model`, and what they answer is not recorded here.

Code is let run, unless the cell's metadata has an `lmc_person` that says what a person does there:
{"decline": REASON} types the reason once; "stop" types a no, because what is stopped has no whole
reply to write down. Where it has `lmc_writes`, that is what the person writes in place of the cell.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

FOLDER = Path(__file__).parent
RECORDINGS = FOLDER / "recordings"


def main() -> int:
    """0 when every cell ran."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("notebook", type=Path)
    options.add_argument("--model", default="local")
    chosen = options.parse_args()
    RECORDINGS.mkdir(exist_ok=True)
    path = (RECORDINGS / f"{chosen.notebook.stem}.jsonl").resolve()
    path.unlink(missing_ok=True)
    recorder = (
        "from lmc_jupyter import current_session, get_model\n"
        "from lmc_jupyter.models.replay import record\n"
        f"current_session().choose_model(record(get_model({chosen.model!r}), {str(path)!r}))"
    )
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(FOLDER))
    client = manager.blocking_client()
    client.start_channels()
    failed = False

    def run(source: str, person: object = "run") -> None:
        nonlocal failed
        typed = [_typed(person)]
        reply = client.execute_interactive(
            source,
            allow_stdin=True,
            output_hook=_show,
            stdin_hook=lambda _: client.input(typed.pop() if typed else "y"),
        )
        failed |= reply["content"]["status"] != "ok"

    try:
        client.wait_for_ready(timeout=60)
        for cell in json.loads(chosen.notebook.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                source = cell["metadata"].get("lmc_writes") or "".join(cell["source"])
                run(source, cell["metadata"].get("lmc_person", "run"))
                if source.startswith("%load_ext lmc_jupyter"):
                    run(recorder)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    return 1 if failed else 0


def _typed(person: object) -> str:
    """What that person types at the first question."""
    if isinstance(person, dict) and "decline" in person:
        return str(person["decline"])
    return "n" if person == "stop" else "y"


def _show(message: dict[str, Any]) -> None:
    content = message["content"]
    if message["msg_type"] == "stream":
        sys.stdout.write(content["text"])
    elif message["msg_type"] == "error":
        sys.stdout.write(f"{content['ename']}: {content['evalue']}\n")


if __name__ == "__main__":
    raise SystemExit(main())
