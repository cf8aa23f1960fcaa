"""DSEval, its StackOverflow and LeetCode parts (Zhang et al. 2024, arXiv:2402.17168): 242 problems
on a notebook whose cells have run, in three rows.

    make bench-dseval BENCH_ARGS="[--data FOLDER] [--count N] [--row raw|prompt|loop]
                                  [--part so|leetcode] [--results FOLDER] [--write] [--check]"
    BENCH_MODEL=openai/gpt-5-mini make bench-dseval

One rule: its own validators decide, by its own code at one commit, which is fetched and verified
and never part of this repository; where there is no network, `--data` names a folder with it. A
right value that is only printed is no solution to them; it is counted apart.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import select
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import rows

from lmc_jupyter.lmc import Chunk

ROOT = Path(__file__).parents[1]
COMMIT = "d813031dd8693023e9b9081bf4d74d0d9394a6ee"
URL = f"https://codeload.github.com/MetaCopilot/dseval/tar.gz/{COMMIT}"
SHA256 = "4b846acd4d972d2429b4c9347de118010fcb61ebae5c9e392a42028aeece6c21"
"""Of the names and contents of `files`."""
PARTS = {"so": "StackOverflow", "leetcode": "LeetCode"}
PUBLISHED = {"so": "76.2 %", "leetcode": "45.0 %"}
"""Of GPT-3.5 with the authors' own agent, by the same validators."""
SECONDS = 60
"""For a cell, or the validators; a cell has one second by DSEval's own clock."""
CHECKS = {"reference": "their own solutions", "constant": "the answer 1"}
"""What has to be right, and what must not be, whatever the machine."""
ASK = (
    "These cells of a Jupyter notebook have run:\n\n```python\n{cells}\n```\n\n{question}\n\n"
    "Write the next cell. What its last expression gives is the answer."
)
"""To a model without our prompt, which gets the question alone and sees the notebook."""


def files(folder: Path) -> list[Path]:
    """What of DSEval is used."""
    wanted = ["dseval/*.py", "benchmarks/so/*.py", "benchmarks/leetcode/*.py"]
    return sorted(path for pattern in wanted for path in folder.glob(pattern))


def digest(folder: Path) -> str:
    """SHA-256 of the names and contents of what is used."""
    found = hashlib.sha256()
    for path in files(folder):
        found.update(f"{path.relative_to(folder).as_posix()}\n".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def home(folder: Path | None) -> Path:
    """The folder with DSEval, verified."""
    place = folder or ROOT / ".cache" / "dseval"
    if not files(place):
        if folder is not None:
            sys.exit(f"There is no DSEval in {place}: put its repository there, at {COMMIT}.")
        with urllib.request.urlopen(URL, timeout=60) as answer:
            _unpack(answer.read(), place)
    if (found := digest(place)) != SHA256:
        sys.exit(f"{place} is not the DSEval that was measured: its SHA-256 is {found}.")
    return place


def _unpack(data: bytes, place: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            path = Path(*Path(member.name).parts[1:])
            is_used = path.match("dseval/*.py") or path.match("benchmarks/*/*.py")
            if member.isfile() and is_used:
                stream = archive.extractfile(member)
                assert stream is not None
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_bytes(stream.read())


class Cells:
    """The notebook of one problem: a computer of the loop, and the judge of what ran in it."""

    def __init__(self, python: str, place: Path, problem: Path) -> None:
        command = [python, str(Path(__file__).parent / "dseval_cells.py"), str(place), str(problem)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        given = self._read()
        self.question: str = given["question"].strip()
        self.cells: list[str] = given["cells"]
        self.reference: str = given["reference"]
        self._names: str = given["names"]
        self.ran: list[str] = []

    def __enter__(self) -> Cells:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def names(self) -> str:
        """The variables, as a model of ours is told of them."""
        return self._names

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """The computer's side of the loop."""
        if language != "python":
            yield Chunk("computer", "console", "output", f"there is no {language} here")
            return
        seen = self.cell(code)
        if text := seen["text"] + seen["error"]:
            yield Chunk("computer", "console", "output", text)

    def cell(self, code: str) -> dict[str, str]:
        """Run a cell: its `text` and its `error`."""
        self.ran.append(code)
        seen = self._ask({"run": code})
        self._names = seen.get("names", self._names)
        return {"text": seen.get("text", ""), "error": seen.get("error", "SystemExit: it ended")}

    def judge(self) -> str:
        """What DSEval's validators say of the cells that ran."""
        return str(self._ask({"judge": True}).get("verdict", "the process ended"))

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # what ran has ended the process
            return {}
        return self._read()

    def _read(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], SECONDS)[0]:
            self._process.kill()
            return {}
        line = stdout.readline()
        return dict(json.loads(line)) if line else {}


def attempt(
    subject: rows.Subject | None, row: str, python: str, place: Path, part: str, name: str
) -> rows.Result:
    """One problem, from its question to its verdict."""
    with Cells(python, place, place / "benchmarks" / part / f"{name}.py") as cells:
        if subject is None:
            cells.cell(cells.reference if row == "reference" else "1")
        elif row == "loop":
            subject.loop(cells.question, cells.names, cells)
        elif row == "prompt":
            cells.cell(subject.prompt(cells.question, cells.names()))
        else:
            code = "\n\n".join(cells.cells)
            cells.cell(subject.raw(ASK.format(cells=code, question=cells.question)))
        verdict = cells.judge()
    return rows.Result(name, verdict, verdict == "CORRECT", "\n\n".join(cells.ran))


def main() -> None:
    """Measure, and print the table; with --write it stands in docs/local-model.md too."""
    options = rows.options(__doc__, count=202)
    options.add_argument("--part", choices=PARTS, action="append", help="only this part")
    options.add_argument(
        "--check", action="store_true", help="ask no model: their own solutions, and the answer 1"
    )
    options.add_argument("--python", default=sys.executable, help="that has DSEval's packages")
    given = options.parse_args()
    place = home(given.data)
    subject = None if given.check else rows.Subject()
    name = subject.name if subject else "no model"
    ways = CHECKS if subject is None else {row: rows.ROWS[row] for row in given.row or rows.ROWS}
    lines = [
        f"DSEval, {name}; published of GPT-3.5 with the authors' agent: "
        + ", ".join(f"{PARTS[part]} {PUBLISHED[part]}" for part in PARTS),
        "",
        f"| part | row | solved | | {rows.SECONDS} | right, but only printed "
        "| other variables changed |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    model = re.sub(r"\W+", "-", name)
    for part in given.part or PARTS:
        folder = place / "benchmarks" / part
        names = sorted(path.stem for path in folder.glob("*.py"))[: given.count]
        for row, title in ways.items():
            file = given.results and given.results / f"dseval-{part}-{model}-{row}.jsonl"
            one = partial(attempt, subject, row, given.python, place, part)
            clock = subject.clock if subject else time.perf_counter
            results = rows.measure(f"{part} {row}", names, one, file, clock)
            printed = sum(each.verdict == "PRESENTATION_ERROR" for each in results)
            changed = sum(each.verdict == "INTACT_VIOLATION" for each in results)
            cells = [PARTS[part], title, rows.share(results), str(printed), str(changed)]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if given.write:
        rows.write("dseval", "\n".join(lines))


if __name__ == "__main__":
    main()
