"""How good and how fast the embedded model is at small notebook tasks.

    python benchmarks/bench_model.py [--model NAME] [--split tune|kept|all] [--show] [--write]

One rule: what is measured is what a person gets: the real `LocalModel` in the real loop, with
every block of code approved as it stands, run in a fresh process, and judged by what it shows.
`--write` puts the table into docs/local-model.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from model_tasks import TASKS, Task
from task_notebook import Notebook

from lmc_jupyter.agent import respond
from lmc_jupyter.errors import LMCError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Message
from lmc_jupyter.models import weights
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.local import LocalModel, process, prompts
from lmc_jupyter.models.local.task import read

DOCS = Path(__file__).parent.parent / "docs" / "local-model.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


@dataclass
class Outcome:
    task: Task
    right: bool = False
    closing: str = ""
    summary: bool = False  # the model was asked for it
    codes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    text: str = ""
    first: float = 0.0
    whole: float = 0.0
    processor: float = 0.0  # seconds of the model's process

    @property
    def said(self) -> bool | None:
        """Whether the closing sentence has the answer; None where nothing can be demanded."""
        return bool(re.search(self.task.says, self.closing)) if self.task.says else None


def attempt(task: Task, model: LocalModel) -> Outcome:
    """One task from the question to the closing sentence."""
    outcome = Outcome(task)
    messages = [Message("user", "message", content=task.question)]
    with Notebook() as notebook:
        if task.setup and (error := notebook.cell(task.setup)["error"]):
            raise RuntimeError(f"the set-up of {task.name} failed: {error}")
        briefed = model.with_brief(lambda: Brief(namespace=notebook.names()), lambda _: None)
        began, spent = time.perf_counter(), processor(model)
        answer = respond(messages, briefed, notebook)
        decision: Decision | None = None
        try:
            while True:
                chunk = answer.send(decision)
                decision = Decision(run=True) if chunk.type == "confirmation" else None
                outcome.first = outcome.first or time.perf_counter() - began
        except StopIteration:
            outcome.whole = time.perf_counter() - began
        except LMCError as error:
            outcome.errors.append(str(error))
        outcome.processor = processor(model) - spent
        outcome.right = task.check(notebook.seen)
        outcome.errors += notebook.errors
        outcome.text = notebook.seen.text
    outcome.codes = [m.content for m in messages if m.type == "code"]
    if messages[-1].type == "message" and messages[-1].role == "assistant":
        outcome.closing = messages[-1].content
        outcome.summary = bool(outcome.codes) and prompts.wants_summary(read(messages[:-1]))
    return outcome


def processor(model: LocalModel) -> float:
    """Seconds that the model's process has computed, on all cores together."""
    path = weights.locate(model.name)
    assert path is not None
    times = psutil.Process(process.worker(path, weights.title(model.name)).pid).cpu_times()
    return float(times.user + times.system)


def speed(model: LocalModel) -> dict[str, float]:
    """Seconds to load (process and weights), to a first token, and tokens a second."""
    question = [
        Message("user", "message", content="Explain in detail how a list differs from a dict.")
    ]
    began = time.perf_counter()
    next(model.respond([Message("user", "message", content="Hello")]))
    loaded = time.perf_counter() - began
    began = time.perf_counter()
    times = [time.perf_counter() for _ in model.respond(question)]
    return {
        "load": loaded,
        "first": times[0] - began,
        "rate": (len(times) - 1) / (times[-1] - times[0]),
    }


def table(model: LocalModel, outcomes: list[Outcome], measured: dict[str, float]) -> str:
    rows = [
        f"{model.label}; {platform.system()}, {platform.machine()}, {os.cpu_count()} cores",
        "",
        "| part | tasks | right | of those, closing sentence with the answer "
        "| of these, written by the model |",
        "| --- | --- | --- | --- | --- |",
    ]
    for split in dict.fromkeys(o.task.split for o in outcomes):
        part = [o for o in outcomes if o.task.split == split]
        right, said = (
            sum(o.right for o in part),
            [o for o in part if o.said is not None and o.right],
        )
        rows.append(
            f"| {split} | {len(part)} | {right} ({right / len(part):.0%}) "
            f"| {sum(bool(o.said) for o in said)} of {len(said)} "
            f"| {sum(bool(o.said) and o.summary for o in said)} of "
            f"{sum(o.summary for o in said)} |"
        )
    rows += ["", "| kind | right | missed |", "| --- | --- | --- |"]
    for kind in dict.fromkeys(o.task.kind for o in outcomes):
        part = [o for o in outcomes if o.task.kind == kind]
        missed = ", ".join(o.task.name for o in part if not o.right)
        rows.append(f"| {kind} | {sum(o.right for o in part)} of {len(part)} | {missed} |")
    first = statistics.median(o.first for o in outcomes)
    whole = statistics.median(o.whole for o in outcomes)
    spent = statistics.median(o.processor for o in outcomes)
    rows += [
        "",
        "| speed | |",
        "| --- | --- |",
        f"| first use, weights loaded, to the first token | {measured['load']:.1f} s |",
        f"| first token of a short question, loaded | {measured['first']:.2f} s |",
        f"| words after that | {measured['rate']:.0f} tokens a second |",
        f"| first statement of code seen (median of the tasks) | {first:.1f} s |",
        f"| whole answer, code run and sentence said (median) | {whole:.1f} s |",
        "| the same, processor time of the model's process, all cores together (median) "
        f"| {spent:.1f} s |",
    ]
    return "\n".join(rows)


def write(text: str) -> None:
    """Put the table between the markers of the document."""
    document = DOCS.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{DOCS} has no {BEGIN} … {END} to write between")
    DOCS.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--split", default="all", choices=["tune", "kept", "all"])
    parser.add_argument("--only", default="", help="a task's name")
    parser.add_argument("--show", action="store_true", help="show code, output and sentence")
    parser.add_argument("--write", action="store_true", help="write the table into the docs")
    parser.add_argument("--least", type=float, default=0.0, help="fail below this share of right")
    given: Any = parser.parse_args(arguments)
    model = LocalModel(given.model)
    measured = speed(model)
    outcomes = []
    for task in TASKS:
        if given.split not in ("all", task.split) or given.only not in ("", task.name):
            continue
        outcome = attempt(task, model)
        outcomes.append(outcome)
        said = {True: "said", False: "NOT SAID", None: ""}[outcome.said]
        print(
            f"{'right' if outcome.right else 'WRONG':6}{outcome.whole:5.1f} s  {task.name} {said}",
            flush=True,
        )
        if given.show:
            print(f"  ? {task.question}")
            for code in outcome.codes:
                print("    " + code.rstrip().replace("\n", "\n    "))
            print(
                f"  > {outcome.text.strip()[:300]}\n  ! {outcome.errors}\n  = {outcome.closing}\n"
            )
    text = table(model, outcomes, measured)
    print("\n" + text)
    if given.write:
        write(text)
    return 0 if sum(o.right for o in outcomes) >= given.least * len(outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
