"""The speed table, which becomes docs/speed.md; `make bench`.

    python benchmarks/bench.py [--only WORD] [--json FILE] [--beside FOLDER] [--quick]

It writes the page when all is measured in its full size. With `--beside` each part is measured in
another checkout too, by that one's own `bench.py`, right after it is measured here: `git worktree
add FOLDER COMMIT`, and `make js` in it for the rows of the panel. Two more columns show what it
took there, and ours over it.

Open Interpreter 0.4.3 is measured beside ours. It is installed into .cache, 740 MB, where
LMC_BENCH_OPEN_INTERPRETER does not name a Python that has it.

One rule: everything is measured in a real kernel, against a real HTTP server on 127.0.0.1 that
speaks the OpenAI protocol (in a process of its own, so that its time is not counted), and what
a person sees in a real JupyterLab in Chromium (`screen.py`).
Limits are shown, not enforced: a busy machine is no failure of the code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import cost
import own
import psutil
import screen
from processes import OPEN_INTERPRETER, ROOT, Missing, open_interpreter, provider
from table import Row, Run, missing

PAGE = ROOT / "docs" / "speed.md"
NAMED = ("IPython", "ipykernel", "jupyterlab", "litellm", "openai")

HOW = """\
Everything here is measured in a real Jupyter kernel, which asks a real HTTP server on the same
machine. The server runs in a process of its own and answers ours and each neighbour with the same
bytes. What a person sees is measured in a real JupyterLab in Chromium.

- Ours and its neighbour take turns in one run, and each figure is the median of what was
  measured, where the row does not say otherwise.
- CPU is the processor time of the process, all its threads together; what other programs do is
  not in it.
- A limit is a ratio to the neighbour in the same row, because machines differ by three times.
  Only what a person waits for (Stop, a view that opens, a frame) has a limit in seconds.
- "Within" says whether the row is within its limit. A limit is shown and not enforced: on a
  loaded machine a row may be over it without a fault of the code."""


@dataclass
class Section:
    """One table of the page.

    Parameters
    ----------
    open : a context with what its parts are measured by
    """

    title: str
    about: str
    parts: list[Callable[[Any], list[Row]]]
    open: Callable[[], AbstractContextManager[Any]]
    rows: list[Row] = field(default_factory=list)


def sections(*, quick: bool) -> list[Section]:
    """The tables, in the order of the page."""

    @contextmanager
    def run() -> Iterator[Run]:
        with provider() as base:
            yield Run(base, quick=quick)

    return [
        Section(
            "What a model costs the kernel",
            "A question should cost the kernel of a data scientist nothing. The neighbours: the "
            "`openai` client and LiteLLM by themselves, each in the plainest program, and Open "
            "Interpreter 0.4.3.",
            cost.PARTS,
            run,
        ),
        Section(
            "What runs beside the model",
            "Code, languages, long conversations, hostile files, Stop. The neighbours: a plain "
            "`run_cell`, a bare process, `json.loads`.",
            own.PARTS,
            run,
        ),
        Section(
            "What a person sees",
            "The panel in JupyterLab, by the clock of the page.",
            screen.PARTS,
            screen.world,
        ),
    ]


def load() -> str:
    """How busy the machine is, which all times hang on; ratios less."""
    if not hasattr(os, "getloadavg"):
        return "the load is not known"
    now, cores = os.getloadavg()[0], os.cpu_count() or 1
    return f"the load average was {now:.1f}" + (" (a loaded machine)" if now > cores else "")


def processor() -> str:
    """The processor's name where Linux tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    """The last commit that has changed what is measured, if this is a checkout."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "lmc_jupyter", "js"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"


def conditions() -> str:
    """A sentence on what is measured, and on what machine."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in NAMED)
    return (
        f"Measured on {time.strftime('%Y-%m-%d', time.gmtime())} at commit {commit()}, with Python "
        f"{platform.python_version()}, {versions}; {platform.system()}, {processor()}, "
        f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GB."
    )


def elsewhere(tree: Path, part: str, *, quick: bool) -> dict[str, str]:
    """What the other checkout takes for the rows of this part, by what they measure."""
    with tempfile.TemporaryDirectory(prefix="lmc-") as folder:
        rows = Path(folder, "rows.json")
        command = [sys.executable, str(tree / "benchmarks" / "bench.py"), "--only", part]
        env = {**os.environ, "PYTHONPATH": str(tree)}
        with suppress(Missing):  # it says so itself
            env[OPEN_INTERPRETER] = open_interpreter(install=not quick)
        subprocess.run(
            [*command, *(["--quick"] if quick else []), "--json", str(rows)],
            env=env, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return {row["what"]: row["ours"] for row in json.loads(rows.read_text("utf-8"))}


def over(ours: str, theirs: str) -> str:
    """Ours in theirs, both as `12.3 ms`."""
    try:
        mine, other = (float(each.split()[0].replace(",", "")) for each in (ours, theirs))
    except ValueError:  # one of them was not measured
        return "-"
    return f"{mine / other:.2f}x" if other else "-"


def head(*, beside: bool) -> str:
    """The first two lines of a table."""
    heads = ["what", "ours", "beside it", "ratio", "limit", "within"]
    heads += ["there", "ours over it"] if beside else []
    return f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|"


def line(row: Row, there: dict[str, str] | None = None) -> str:
    """A line of a table."""
    within = "-" if row.limit == "-" else "yes" if row.held else "**no**"
    cells = [row.what, row.ours, row.beside, row.ratio, row.limit, within]
    if there is not None:
        theirs = there.get(row.what, "-")
        cells += [theirs, over(row.ours, theirs)]
    return f"| {' | '.join(cells)} |"


def page(tables: list[Section], begun: str, ended: str) -> str:
    """The text of docs/speed.md."""
    text = f"# Speed\n\n`make bench` measures all of this and writes this page.\n\n{HOW}\n\n"
    text += f"{conditions()} At the beginning {begun}, at the end {ended}.\n"
    for each in filter(lambda table: table.rows, tables):
        rows = "\n".join(map(line, each.rows))
        text += f"\n## {each.title}\n\n{each.about}\n\n{head(beside=False)}\n{rows}\n"
    return text


def main() -> int:
    """Print the tables; 0 when everything could be measured."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--only", default="", help="the parts whose name has this word")
    options.add_argument("--json", type=Path, help="write the rows to this file too")
    options.add_argument("--beside", type=Path, help="measure this other checkout too, in turns")
    options.add_argument("--quick", action="store_true", help="in the smallest size, to see that "
                         "all can be measured; the figures mean nothing")  # fmt: skip
    chosen = options.parse_args()
    tree = chosen.beside and chosen.beside.resolve()
    begun, failed = load(), 0
    print(f"{conditions()} At the beginning {begun}.")
    tables = sections(quick=chosen.quick)
    for table in tables:
        parts = [part for part in table.parts if chosen.only in part.__name__]
        if not parts:
            continue
        print(f"\n{table.title}\n\n{head(beside=bool(tree))}", flush=True)
        with table.open() as opened:
            for part in parts:
                try:
                    rows = part(opened)
                except Exception as error:  # noqa: BLE001 - the others can be measured
                    traceback.print_exc()
                    failed += 1
                    rows = [missing(part.__name__, f"it failed ({type(error).__name__})", "-")]
                there = elsewhere(tree, part.__name__, quick=chosen.quick) if tree else None
                table.rows += rows
                for row in rows:
                    print(line(row, there), flush=True)
    print(f"\nAt the end {load()}.")
    if chosen.json:
        every = [vars(row) for table in tables for row in table.rows]
        chosen.json.write_text(json.dumps(every, indent=1), "utf-8")
    if not (chosen.only or chosen.quick):
        PAGE.write_text(page(tables, begun, load()), "utf-8")
        print(f"{PAGE} is written.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
