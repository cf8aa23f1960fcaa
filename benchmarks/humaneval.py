"""HumanEval, the 164 problems of OpenAI (Chen et al. 2021, arXiv:2107.03374), in three rows: the
model's own chat template, our prompt, and our loop, which runs the code and lets the model repair
it once.

    python benchmarks/humaneval.py [--data FOLDER] [--count N] [--row raw|prompt|loop] [--write]
    BENCH_MODEL=openai/gpt-5-mini python benchmarks/humaneval.py

One rule: a problem counts as solved when its own tests pass, run in a process of their own. The
problems are fetched and verified, and never part of this repository; where there is no network,
`--data` names a folder with HumanEval.jsonl.gz.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from task_notebook import Notebook

from lmc_jupyter import Decision, Message, get_model, respond
from lmc_jupyter.errors import LMCError
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.local import LocalModel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "local-model.md"
BEGIN, END = "<!-- humaneval:begin -->", "<!-- humaneval:end -->"
COMMIT = "6d43fb980f9fee3c892a914eda09951f772ad10d"
URL = f"https://raw.githubusercontent.com/openai/human-eval/{COMMIT}/data/HumanEval.jsonl.gz"
SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
SECONDS = 15
"""For the tests of one problem."""
TOKENS = 700
PASSED = "all tests passed"
"""Said behind the last test: code that ends the process before it has passed none."""
PUBLISHED = {"qwen2.5-coder-0.5b": "61.6 %", "qwen2.5-coder-1.5b": "70.7 %"}
"""Of the makers (Hui et al. 2024, arXiv:2409.12186), by their own harness."""
ASK = "Complete this Python function. Write the whole function.\n\n```python\n{prompt}```"
ROWS = {
    "raw": "the model's template alone",
    "prompt": "our prompt",
    "loop": "our loop, one repair",
}


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


def block(text: str) -> str:
    """The first block of code of a reply, or all of it."""
    found = re.search(r"```(?:python|py)?\s*\n(.*?)(?:```|\Z)", text, re.S)
    return found[1] if found else text


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


def raw(model: Any, problem: dict[str, Any]) -> str:
    """What the model writes with its own template, and nothing of ours."""
    ask = ASK.format(prompt=problem["prompt"])
    if isinstance(model, LocalModel):
        with closing(model._texts([{"role": "user", "content": ask}], TOKENS)) as texts:
            return block("".join(texts))
    import litellm

    name = os.environ["BENCH_MODEL"]
    reply = litellm.completion(model=name, messages=[{"role": "user", "content": ask}])
    return block(reply.choices[0].message.content or "")


def briefed(model: Any, names: str) -> Any:
    return model.with_brief(lambda: Brief(namespace=names), lambda _: None)


def prompt(model: Any, problem: dict[str, Any]) -> str:
    """The first code that the model writes with our prompt; it is not run."""
    question = Message("user", "message", content=ASK.format(prompt=problem["prompt"]))
    pieces = list(briefed(model, "").respond([question]))
    code = "".join(str(each.content or "") for each in pieces if each.type == "code")
    return code or block("".join(str(each.content or "") for each in pieces))


def loop(model: Any, problem: dict[str, Any]) -> str:
    """The last code of our loop, in which an error goes back to the model once."""
    messages = [Message("user", "message", content=ASK.format(prompt=problem["prompt"]))]
    with Notebook() as notebook:
        answer = respond(messages, briefed(model, notebook.names()), notebook)
        decision, runs = None, 0
        try:
            while True:
                chunk = answer.send(decision)
                decision = None
                if chunk.type == "confirmation":
                    runs += 1
                    decision = Decision(run=runs <= 2, reason="" if runs <= 2 else "enough")
        except (StopIteration, LMCError):
            answer.close()
    codes = [m.content for m in messages if m.type == "code"]
    name = rf"^def {problem['entry_point']}\b"
    whole = [code for code in codes if re.search(name, code, re.M)]
    return whole[-1] if whole else codes[-1] if codes else block(messages[-1].content)


def measured(model: Any, rows: list[str], given: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """(row, solved of tried, percent, seconds a problem)."""
    for row in rows:
        solved, begun = 0, time.perf_counter()
        for number, problem in enumerate(given, 1):
            try:
                good = passes(problem, globals()[row](model, problem))
            except LMCError as error:
                sys.stderr.write(f"{problem['task_id']}: {error}\n")
                good = False
            solved += good
            sys.stderr.write(f"{row} {number}/{len(given)}: {solved} solved\n")
        each = (time.perf_counter() - begun) / len(given)
        share = f"{solved / len(given):.1%}"
        yield ROWS[row], f"{solved} of {len(given)}", share, f"{each:.1f}"


def main() -> None:
    """Measure, and print the table; with --write it stands in docs/local-model.md too."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, help="a folder with HumanEval.jsonl.gz")
    options.add_argument("--count", type=int, default=164, help="the first so many problems")
    options.add_argument("--row", choices=ROWS, action="append", help="only this row")
    options.add_argument("--write", action="store_true", help="write the table into the docs")
    given = options.parse_args()
    name = os.environ.get("BENCH_MODEL", "qwen2.5-coder-0.5b")
    model = LocalModel(name) if name in PUBLISHED else get_model(name)
    tasks = problems(given.data)[: given.count]
    lines = [
        f"HumanEval, {name}; published by its makers: {PUBLISHED.get(name, 'see theirs')}",
        "",
        "| row | solved | | seconds a problem |",
        "| --- | --- | --- | --- |",
    ]
    for row in measured(model, given.row or list(ROWS), tasks):
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    text = "\n".join(lines)
    if given.write:
        page = DOCS.read_text("utf-8")
        before, _, rest = page.partition(BEGIN)
        _, found, after = rest.partition(END)
        if not found:
            sys.exit(f"{DOCS} has no {BEGIN} … {END} to write between.")
        DOCS.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
