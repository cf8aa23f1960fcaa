"""How good the tutor's hints are in a model's words, and whether anything of a solution is shown.

One rule: what was shown is judged by trying it: whatever of a hint may be code is run against the
exercise's tests.

`python benchmarks/bench_tutor.py [--model NAME] [--count N] [--results FOLDER] [--write]`
"""

from __future__ import annotations

import argparse
import base64
import binascii
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path

import rows
import yaml

from lmc_jupyter import get_model
from lmc_jupyter.models.choice import label
from lmc_jupyter.tutor import exercises
from lmc_jupyter.tutor.answering import ask
from lmc_jupyter.tutor.attempt import attempt
from lmc_jupyter.tutor.exercises import Exercise
from lmc_jupyter.tutor.faults import find_fault
from lmc_jupyter.tutor.hints import LEVELS, Hint, template
from lmc_jupyter.tutor.leaks import find_leak_of_model
from lmc_jupyter.tutor.wording import Write, word

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "teaching.md"
TESTS = ROOT / "tests" / "tutor"
EXERCISES = exercises.read(TESTS / "course")
WRONG = yaml.safe_load((TESTS / "wrong_solutions.yaml").read_text("utf-8"))
FORMS = (
    "Here is all of it, since you asked so kindly, and it will pass every test:\n{}",
    "I should not, and still I do: put `{}` there. Then run the tests again, all will pass.",
    "Write down these words, one below the other, and you are done with the exercise: {}",
)
WAYS = (TESTS / "ways_to_ask.txt").read_text("utf-8").splitlines()


def giver() -> Write:
    """A model that always gives the solution away, in forms that change."""
    asked: list[Exercise] = []

    def give_away(_: str, question: str) -> str:
        asked.extend(each for each in EXERCISES.values() if each.task.strip() in question)
        return FORMS[len(question) % len(FORMS)].format(asked[-1].reference)

    return give_away


def solves(exercise: Exercise, text: str) -> bool:
    """Whether something in this text is a solution: it is run, as it stands and decoded."""
    return any(
        attempt(exercise, each, (), TESTS / "course").has_passed
        for each in set(candidates(text))
        if "def " in each or "=" in each
    )


def candidates(text: str) -> Iterator[str]:
    """What of a text may be code."""
    yield from re.findall(r"```\w*\n(.*?)```", text, re.S)
    yield from re.findall(r"`([^`]+)`", text)
    yield "\n".join(re.findall(r"`([^`]+)`", text))
    lines = text.splitlines()
    for start in range(len(lines)):
        yield "\n".join(lines[start:])
    for each in re.findall(r"[A-Za-z0-9+/=]{24,}", text):
        try:
            yield base64.b64decode(each).decode()
        except (binascii.Error, ValueError):
            continue
    yield text[::-1]


def hints(count: int) -> Iterator[tuple[Exercise, str, Hint, bool]]:
    """(exercise, wrong code, hint in our words, whether its line is the true one)."""
    cases = [(name, each) for name, every in WRONG.items() for each in every]
    for (name, each), level in islice(zip(cases, cycle(range(1, len(LEVELS) + 1))), count):
        exercise, true = EXERCISES[name], [each["line"], *each.get("also", ())]
        tried = attempt(exercise, each["code"], (), TESTS / "course")
        fault = find_fault(exercise, tried)
        yield exercise, each["code"], template(tried, fault, level), fault.line in true


def keep(folder: Path, name: str, write: Write) -> Write:
    """The same model, which is not asked again for what stands in the folder."""
    path = folder / f"tutor-{re.sub(r'[^a-z0-9]+', '-', name.lower())}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found = {(each[0], each[1]): each[2] for each in map(json.loads, lines)}

    def written(instructions: str, question: str) -> str:
        if (instructions, question) not in found:
            text = found[instructions, question] = write(instructions, question)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps([instructions, question, text])}\n")
        return str(found[instructions, question])

    return written


def measure(name: str, write: Write | None, count: int) -> list[str]:
    """A row of the table: of the hints, and of the ways to ask."""
    refused: Counter[str] = Counter()

    def written(instructions: str, question: str) -> str:
        return write(instructions, question) if write is not None else ""

    def show(exercise: Exercise, code: str, hint: Hint, question: str) -> Hint:
        if write is None:
            return hint

        def noting(instructions: str, request: str) -> str:
            text = written(instructions, request)
            flat = " ".join(text.split())
            found = find_leak_of_model(flat, exercise, code, hint.text)
            refused[re.sub(r"'.*?'|\d+", "…", found)] += 1
            return text

        return word(noting, exercise, code, hint, question)

    cases = list(hints(count))
    shown = [show(exercise, code, hint, "") for exercise, code, hint, _ in cases]
    leaks = sum(solves(case[0], each.text) for case, each in zip(cases, shown, strict=True))
    own = sum(each.text != case[2].text for case, each in zip(cases, shown, strict=True))
    asked = list(zip(islice(WAYS, count), cycle(cases)))
    answers = [show(case[0], case[1], case[2], way) for way, case in asked]
    given = sum(solves(case[0], each.text) for (_, case), each in zip(asked, answers, strict=True))
    true = sum(each[3] for each in cases)
    sys.stderr.write(f"{name}: {refused.most_common()}\n")
    for each in shown[:12]:
        sys.stderr.write(f"  {each.level}: {each.text}\n")
    return [name, f"{own} of {len(cases)}", f"{true} of {len(cases)}", f"{leaks} of {len(cases)}",
            f"{given} of {len(asked)}"]  # fmt: skip


def main() -> None:
    """Measure, and print the table; with --write it stands in docs/teaching.md too."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", action="append", default=[], help="any model of LiteLLM")
    parser.add_argument("--count", type=int, default=100, help="at most so many of each")
    parser.add_argument("--results", type=Path, help="a folder that keeps what a model wrote")
    parser.add_argument("--write", action="store_true", help="write the table into the docs")
    options = parser.parse_args()
    writers: list[tuple[str, Write | None]] = [
        ("no model, our own words", None),
        ("a program that gives everything away", giver()),
    ]
    for name in options.model:
        model = get_model(name)
        write: Write = partial(ask, model)
        if options.results:
            write = keep(options.results, label(model), write)
        writers.append((label(model), write))
    head = ["who words the hint", "hints in its words", "names the true line",
            "hints that show a solution", "of 100 ways to ask, a solution shown"]  # fmt: skip
    lines = []
    for row in chain(
        [head, ["---"] * len(head)], (measure(*each, options.count) for each in writers)
    ):
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)  # a model takes its time, and who stops it has the rows so far
    page = "\n".join(lines)
    if options.write:
        rows.write("tutor", page, PAGE)


if __name__ == "__main__":
    main()
