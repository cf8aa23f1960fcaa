"""Writes docs/trust.md from docs/promises.toml, the reports of the last `make test-long`, and
docs/mutation.json, which `make mutation` writes.

One rule: no figure is written by hand. What a report does not say stands as "not run", and what has
failed stands as "does not hold".
"""

from __future__ import annotations

import hashlib
import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

DOCS = Path(__file__).parent
ROOT = DOCS.parent
REPORTS = ROOT / ".cache" / "tests"
MUTATION = DOCS / "mutation.json"
PAGE = DOCS / "trust.md"
GROUPS = {"S": "Security", "R": "Reliability"}
HEAD = """# What we promise, and what showed it

`make trust` writes this page from the reports of `{target}`; no figure is written by hand. \
{count} tests ran on {date}, at commit `{commit}`, on {system}, with the seed {seed} \
(`LMC_TEST_SEED={seed}` draws the same samples again).

- **holds**: every test of the row passed. *Not reached* says what of its bar the tests do not try.
- **does not hold**: a test failed, or a figure falls short of its bar.
- **control**: the same harness where the defence is switched off. It must fail, and each did, but \
where the row says otherwise. {controls} of {rows} rows have one.
- To run one row by yourself: `LMC_TEST_LONG=1 .venv/bin/python -m pytest` with the files that it \
names (`make test` sets up); `js/test` by `make test`.

What each sentence means, and how it is kept: [security in detail](security-in-detail.md), \
[how it works](how-it-works.md). The figures were set before the code was written.
"""


@dataclass
class Case:
    """One test of one report."""

    file: str
    name: str
    date: str
    passed: bool
    skipped: bool
    figures: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)


def cases() -> list[Case]:
    """Every test of every report."""
    found = []
    for report in sorted(REPORTS.glob("*.xml")):
        for suite in ElementTree.parse(report).iter("testsuite"):
            date = suite.get("timestamp", "")[:10]
            for each in suite.findall("testcase"):
                found.append(_case(each, date))
    return found


def _case(element: ElementTree.Element, date: str) -> Case:
    values: dict[str, list[str]] = {"figure": [], "falls short": []}
    for each in element.iter("property"):
        values.setdefault(each.get("name", ""), []).append(each.get("value", ""))
    failed = element.find("failure") is not None or element.find("error") is not None
    skipped = element.find("skipped") is not None
    classname, name = element.get("classname", ""), element.get("name", "")
    file = element.get("file") or f"js/{classname}"
    return Case(
        file, name, date, not failed and not skipped, skipped, values["figure"],
        values["falls short"],
    )  # fmt: skip


def of(name: str, every: list[Case]) -> list[Case]:
    """The cases that a row names: those of a file, of a folder, or of one test."""
    path, _, test = name.partition("::")
    found = [each for each in every if each.file == path or each.file.startswith(f"{path}/")]
    if not test:
        return found
    if path.endswith(".py"):
        return [each for each in found if each.name.partition("[")[0] == test]
    # vitest names a test behind the groups that it stands in
    return [each for each in found if each.name.rpartition(" > ")[2].startswith(test)]


def state(names: list[str], every: list[Case]) -> tuple[str, list[Case]]:
    """ "holds", "does not hold" or "not run"; and the cases."""
    found = [case for name in names for case in of(name, every)]
    ran = [case for case in found if not case.skipped]
    if not names or any(not of(name, every) for name in names) or not ran:
        return "not run", ran
    good = all(case.passed and not case.short for case in ran)
    return ("holds" if good else "does not hold"), ran


def mutation(names: list[str]) -> tuple[str, list[str], list[str], str]:
    """The verdict, the figures, what falls short, and the oldest day, of `make mutation`.

    Parameters
    ----------
    names : the files that must have been changed
    """
    if not MUTATION.exists():
        return "not run", [], [], ""
    files = json.loads(MUTATION.read_text("utf-8"))
    figures, short = [], []
    changed = [f"no change of `{name}` was tried" for name in names if name not in files]
    for name, about in files.items():
        total, ends = sum(about["ends"].values()), about["ends"]
        caught = ends.get("killed", 0) + ends.get("timeout", 0)
        figures.append(
            f"`{name}`: {caught} of {total} changes fail a test ({caught / total:.0%}), "
            f"{about['covered']:.0f} % of its branches are taken"
        )
        if caught < 0.9 * total or about["covered"] < 98:
            short.append(f"`{name}` is below the bar")
        path = ROOT / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != about["sha256"]:
            changed.append(f"`{name}` has changed since")
    verdict = "not run" if changed else "does not hold" if short else "holds"
    return verdict, figures, [*short, *changed], min(each["day"] for each in files.values())


def row(promise: dict[str, Any], every: list[Case]) -> str:
    verdict, ran = state(promise["tests"], every)
    apart = [name for name in promise["controls"] if name not in promise["tests"]]
    controls = {(case.file, case.name) for name in apart for case in of(name, every)}
    ran = [case for case in ran if (case.file, case.name) not in controls]
    figures = list(dict.fromkeys(text for case in ran for text in case.figures))
    short = [text for case in ran for text in case.short]
    named = " ".join(f"`{each}`" for each in dict.fromkeys(files(promise["tests"])))
    day, without = max((case.date for case in ran), default=""), control(promise["controls"], every)
    if promise["id"] == "R21":
        named, without = "`make mutation`", "each change is one"
        verdict, figures, short, day = mutation(promise["changed"])
    short += [f"`{case.name}` failed" for case in ran if not case.passed]
    passed = sum(case.passed for case in ran)
    counted = [f"{passed:,} of {len(ran):,} tests passed"] if ran else []
    missed = [sentence(text) for text in [*short, promise.get("short", "")] if text]
    cells = [
        promise["id"],
        promise["title"],
        f"**{verdict}**",
        " ".join(map(sentence, [*figures, *counted])),
        f"{sentence(promise['bar'])}{' *Not reached:* ' if missed else ''}{' '.join(missed)}",
        without,
        f"{named} {day}".strip() or "none",
    ]
    return " | ".join(["", *(cell.replace("|", r"\|") for cell in cells), ""]).strip()


def sentence(text: str) -> str:
    """It begins as a sentence does, and ends so."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def files(names: list[str]) -> list[str]:
    return [name.partition("::")[0] for name in names]


def control(names: list[str], every: list[Case]) -> str:
    if not names:
        return "none"
    verdict, ran = state(names, every)
    figures = "; ".join(dict.fromkeys(text for case in ran for text in case.figures))
    said = {"holds": "fails, as it must", "not run": "not run"}.get(verdict, "**does not fail**")
    return f"{said}: {figures}" if figures and verdict == "holds" else said


def page() -> str:
    about = json.loads((REPORTS / "run.json").read_text("utf-8"))
    if not about["long"]:
        sys.exit("The reports in .cache/tests are of `make test`: run `make test-long` first.")
    every = cases()
    promises = tomllib.loads((DOCS / "promises.toml").read_text("utf-8"))["promise"]
    ran = [case for case in every if not case.skipped]
    head = HEAD.format(
        count=f"{len(ran):,}",
        date=max(case.date for case in every if case.date),
        commit=about["commit"] or "unknown",
        seed=about["seed"],
        target="make test-long" if about["whole"] else "make test-promises",
        system=f"{sys.platform} with Python {sys.version_info[0]}.{sys.version_info[1]}",
        controls=sum(bool(each["controls"]) for each in promises),
        rows=len(promises),
    )
    lines = [head]
    columns = "| | promise | | figure | bar | control | tests, and their day |"
    for letter, title in GROUPS.items():
        rows = [row(each, every) for each in promises if each["id"].startswith(letter)]
        lines += [f"## {title}\n", columns, "|---" * 7 + "|", *rows, ""]
    return "\n".join(lines)


def main() -> None:
    if not (REPORTS / "run.json").exists():
        sys.exit("There are no reports in .cache/tests: run `make test-long` first.")
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
