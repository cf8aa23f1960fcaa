"""A measure that others made, in three rows: the model's own chat template, our prompt, and our
loop, which runs the code and lets the model repair it once.

One rule: the measure says what is asked and what is solved; here a model is only asked, each time
anew. What it answered is kept in a folder that is named, so that a run can go on where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from lmc_jupyter import Decision, Message, get_model, respond
from lmc_jupyter.context import instructions
from lmc_jupyter.errors import LMCError
from lmc_jupyter.models import weights
from lmc_jupyter.models.brief import Brief, give_brief
from lmc_jupyter.models.local import LocalModel, process

DOCS = Path(__file__).parents[1] / "docs" / "local-model.md"
TOKENS = 700
"""Of a reply by the model's own template."""
RUNS = 2
"""Blocks of code that run in the loop's row: the first, and its repair."""
SECONDS = "seconds a problem"
"""Says what `Result.seconds` are, in a table."""
ROWS = {
    "raw": "the model's template alone",
    "prompt": "our prompt",
    "loop": "our loop, one repair",
}


@dataclass(frozen=True)
class Result:
    """What came of one problem.

    Parameters
    ----------
    problem : its name
    verdict : what the measure says; "" for an answer that never came
    solved : whether that is what it calls solved
    code : that was judged
    seconds : of the embedded model's processors; of another model from question to verdict
    """

    problem: str
    verdict: str
    solved: bool
    code: str
    seconds: float = 0.0


def block(text: str) -> str:
    """The first block of code of a reply, or all of it."""
    found = re.search(r"```(?:python|py)?\s*\n(.*?)(?:```|\Z)", text, re.S)
    return found[1] if found else text


class Subject:
    """The model that is measured: BENCH_MODEL, any name that LiteLLM knows, or an embedded one."""

    def __init__(self) -> None:
        self.name = os.environ.get("BENCH_MODEL", weights.DEFAULT)
        self._is_local = self.name in weights.CATALOGUE
        self._model: Any = LocalModel(self.name) if self._is_local else get_model(self.name)

    def clock(self) -> float:
        """Seconds that the embedded model has computed, on all cores together; else the time."""
        if not self._is_local:
            return time.perf_counter()
        path = weights.locate(self.name)
        if path is None:
            return 0.0
        worker = process.worker(path, weights.title(self.name))
        worker.ready(lambda _: None)
        times = psutil.Process(worker.pid).cpu_times()
        return float(times.user + times.system)

    def raw(self, ask: str) -> str:
        """The code that it writes by its own template, with nothing of ours."""
        chat = [{"role": "user", "content": ask}]
        if self._is_local:
            with closing(self._model._texts(chat, TOKENS)) as texts:
                return block("".join(texts))
        import litellm

        reply = litellm.completion(model=self.name, messages=chat)
        return block(reply.choices[0].message.content or "")

    def _briefed(self, names: Callable[[], str]) -> Any:
        ours = instructions.default({"python": "python"})
        return give_brief(self._model, lambda: Brief(ours, names()), lambda _: None)

    def prompt(self, ask: str, names: str = "") -> str:
        """The first code that it writes by our prompt; it is not run."""
        pieces = self._briefed(lambda: names).respond([Message("user", "message", content=ask)])
        reply = list(pieces)
        code = "".join(str(each.content or "") for each in reply if each.type == "code")
        return code or block("".join(str(each.content or "") for each in reply))

    def loop(self, ask: str, names: Callable[[], str], computer: Any) -> list[Message]:
        """The messages of our loop, with the computer that runs the code."""
        messages = [Message("user", "message", content=ask)]
        answer = respond(messages, self._briefed(names), computer)
        decision, runs = None, 0
        try:
            while True:
                chunk = answer.send(decision)
                decision = None
                if chunk.type == "confirmation":
                    runs += 1
                    may = runs <= RUNS
                    decision = Decision(run=may, reason="" if may else "that was the last attempt")
        except (StopIteration, LMCError):
            answer.close()
        return messages


def options(description: str | None, count: int) -> argparse.ArgumentParser:
    """What every measure takes on its command line."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--data", type=Path, help="a folder with its problems")
    found.add_argument("--count", type=int, default=count, help="the first so many problems")
    found.add_argument("--row", choices=ROWS, action="append", help="only this row")
    found.add_argument("--results", type=Path, help="a folder that keeps each result")
    found.add_argument("--write", action="store_true", help="write the table into the docs")
    return found


def measure(
    row: str,
    names: Sequence[str],
    attempt: Callable[[str], Result],
    file: Path | None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Result]:
    """The result of each problem; one that stands in the file is not asked for again."""
    before: dict[str, Result] = {}
    if file is not None and file.exists():
        lines = file.read_text("utf-8").splitlines()
        before = {each["problem"]: Result(**each) for each in map(json.loads, lines)}
    results: list[Result] = []
    for number, name in enumerate(names, 1):
        result = before.get(name)
        if result is None:
            begun = clock()
            try:
                result = attempt(name)
            except LMCError as error:
                sys.stderr.write(f"{name}: {error}\n")
                result = Result(name, "", False, "")
            seconds = round(clock() - begun, 2)
            result = Result(**{**asdict(result), "seconds": seconds})
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as lines_of:
                    lines_of.write(json.dumps(asdict(result)) + "\n")
        results.append(result)
        solved = sum(each.solved for each in results)
        sys.stderr.write(f"{row} {number}/{len(names)}: {solved} solved\n")
    return results


def share(results: Iterable[Result]) -> str:
    """`97 of 164 | 59.1 % | 8.2`: solved, and the seconds of one problem."""
    every = list(results)
    solved, count = sum(each.solved for each in every), len(every)
    seconds = sum(each.seconds for each in every) / count
    return f"{solved} of {count} | {solved / count:.1%} | {seconds:.1f}"


def write(name: str, text: str, docs: Path = DOCS) -> None:
    """Put a table between its two marks in a page."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    page = docs.read_text("utf-8")
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{docs} has no {begin} … {end} to write between.")
    docs.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")
