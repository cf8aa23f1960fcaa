"""HumanEval, the 164 problems of OpenAI (Chen et al. 2021, arXiv:2107.03374), in three rows.

    python benchmarks/humaneval.py [--data FOLDER] [--count N] [--row raw|prompt|loop]
                                   [--results FOLDER] [--write]
    BENCH_MODEL=openai/gpt-5-mini python benchmarks/humaneval.py

One rule: a problem counts as solved when its own tests pass, run in a process of their own. The
problems are fetched and verified, and never part of this repository; where there is no network,
`--data` names a folder with HumanEval.jsonl.gz.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import rows
from task_notebook import Notebook

ROOT = Path(__file__).parents[1]
COMMIT = "6d43fb980f9fee3c892a914eda09951f772ad10d"
URL = f"https://raw.githubusercontent.com/openai/human-eval/{COMMIT}/data/HumanEval.jsonl.gz"
SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
SECONDS = 15
"""For the tests of one problem."""
PASSED = "all tests passed"
"""Said behind the last test: code that ends the process before it has passed none."""
PUBLISHED = {"qwen2.5-coder-0.5b": "61.6 %", "qwen2.5-coder-1.5b": "70.7 %"}
"""Of the makers (Hui et al. 2024, arXiv:2409.12186), by their own harness."""
ASK = "Complete this Python function. Write the whole function.\n\n```python\n{prompt}```"


def problems(folder: Path | None) -> list[dict[str, Any]]:
    """The problems, verified."""
    place = (folder or ROOT / ".cache" / "humaneval") / "HumanEval.jsonl.gz"
    if not place.exists():
        if folder is not None:
            sys.exit(f"There is no {place}: put OpenAI's file of that name there.")
        place.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(URL, timeout=60) as answer:
            place.write_bytes(answer.read())
    data = place.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != SHA256:
        sys.exit(f"{place} is not the file that was measured: its SHA-256 is {found}.")
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def program(problem: dict[str, Any], code: str) -> str:
    """The code with the problem's own tests; what it imports, and what came before, stays."""
    name = problem["entry_point"]
    if not re.search(rf"^def {name}\b", code, re.M):
        code = problem["prompt"] + code
    elif code.strip() != problem["prompt"].strip():
        before = problem["prompt"].partition(f"def {name}")[0]
        code = f"{before}\n{code}"
    return f"{code}\n\n{problem['test']}\n\ncheck({name})\nprint({PASSED!r})\n"


def passes(problem: dict[str, Any], code: str) -> bool:
    """Whether the problem's tests pass."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program(problem, code)],
                cwd=folder, capture_output=True, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0 and done.stdout.rstrip().endswith(PASSED.encode())


def answer(subject: rows.Subject, row: str, problem: dict[str, Any]) -> str:
    """The code that the model writes in that row; of the loop the last with the function."""
    ask = ASK.format(prompt=problem["prompt"])
    if row == "raw":
        return subject.raw(ask)
    if row == "prompt":
        return subject.prompt(ask)
    with Notebook() as notebook:
        messages = subject.loop(ask, notebook.names, notebook)
    codes = [message.content for message in messages if message.type == "code"]
    name = rf"^def {problem['entry_point']}\b"
    whole = [code for code in codes if re.search(name, code, re.M)]
    return whole[-1] if whole else codes[-1] if codes else rows.block(messages[-1].content)


def main() -> None:
    """Measure, and print the table; with --write it stands in docs/local-model.md too."""
    given = rows.options(__doc__, count=164).parse_args()
    subject = rows.Subject()
    tasks = {each["task_id"]: each for each in problems(given.data)[: given.count]}

    def attempt(row: str, name: str) -> rows.Result:
        code = answer(subject, row, tasks[name])
        good = passes(tasks[name], code)
        return rows.Result(name, "passed" if good else "failed", good, code)

    lines = [
        f"HumanEval, {subject.name}; published by its makers: "
        f"{PUBLISHED.get(subject.name, 'see theirs')}",
        "",
        f"| row | solved | | {rows.SECONDS} |",
        "| --- | --- | --- | --- |",
    ]
    for row in given.row or rows.ROWS:
        model = re.sub(r"\W+", "-", subject.name)
        file = given.results and given.results / f"humaneval-{model}-{row}.jsonl"
        results = rows.measure(row, list(tasks), partial(attempt, row), file, subject.clock)
        lines.append(f"| {rows.ROWS[row]} | {rows.share(results)} |")
        print(lines[-1], flush=True)
    if given.write:
        rows.write("humaneval", "\n".join(lines))


if __name__ == "__main__":
    main()
