"""Run the tests in parts, one after another: what only computes, what needs a kernel, what needs a
browser, and the front end's. By day each part leaves out the tests marked `long`, and samples are
drawn with the same seed each time, so that the same run twice is the same test.

With `--long` nothing is left out and nothing is a sample: all tests, kills, faults and examples,
with a random seed that is printed; the oldest ipykernel runs all tests of kernel and computer, and
the versions between run all that touches their insides.

One rule: nothing is left out in silence. Each line is printed with the part it belongs to, each
part's whole output stays in .cache/tests, and the last lines sum up what the parts reported. A
language that this machine does not have is told there by its name; any other skipped test counts
as one that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOGS = ROOT / ".cache" / "tests"
PARTS = {
    "core": "not (kernel or browser or local_model)",
    "kernel": "(kernel or local_model) and not browser",
    "browser": "browser",
}
"""The tests of each part: what only computes, what waits for kernels or a model, a browser."""
FILES = {"kernel": ("kernel", "local_model"), "browser": ("browser",)}
"""Marks whose files a part collects: to import all of them takes each worker 15 s."""
WHOLE = re.compile(r"^pytestmark = .*mark\.(?:kernel|browser|local_model)\b", re.MULTILINE)
"""In a file that has nothing for the part that only computes."""
INSIDES = ["-m", "not browser and not local_model", "tests/kernel", "tests/computer"]
"""What a long run tries once more on the oldest ipykernel."""
KERNELS = ["7.1", "7.3", "7.4"]
"""The versions between, each in .cache/ipykernel-VERSION; the environment has the newest."""
BETWEEN = [
    "-k", "not real_server",  # LiteLLM is the same with each
    "tests/kernel/test_mailbox.py", "tests/kernel/test_panel_home.py", "tests/kernel/test_panel.py",
    "tests/kernel/test_cell_magic.py",
]  # fmt: skip
"""What a long run tries once more on those: clicks while a cell is busy, turns beside cells."""
WORKERS = (os.cpu_count() or 2) + 1
"""At work at once: a test that waits for a process leaves its core to another."""
NOT_RUN = "not run: "
"""Begins the reason of a skip that tells a language which this machine does not have; those that
must be here are held to it by tests/computer/test_contract.py."""
LONGEST = 300
"""Characters of why a test failed, in the last lines; the whole is above them."""


class Part:
    """One test run at work: its lines go to the terminal and to a file, its counts to a report."""

    def __init__(self, name: str, command: list[str], folder: Path, **environment: str) -> None:
        self.name, self.begun = name, time.monotonic()
        self.report, self.log = LOGS / f"{name}.xml", LOGS / f"{name}.log"
        command = [word.format(report=self.report) for word in command]
        self.process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
        self.thread = threading.Thread(target=self._print)
        self.thread.start()

    @classmethod
    def pytest(cls, name: str, python: Path, *arguments: str, kernel: str = "") -> Part:
        """By `WORKERS`, each of which takes the next file when it has done one."""
        command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "--junitxml={report}"]
        command += ["-n", str(WORKERS), "--dist", "loadfile"]
        environment = {}
        if kernel:
            environment["LMC_TEST_IPYKERNEL"] = kernel  # the tests look whether it is that one
        if kernel in KERNELS:
            first = str(ROOT / ".cache" / f"ipykernel-{kernel}")
            path = filter(None, [first, os.environ.get("PYTHONPATH")])
            environment["PYTHONPATH"] = os.pathsep.join(path)
        return cls(name, [*command, *arguments], ROOT, **environment)

    @classmethod
    def vitest(cls, name: str) -> Part:
        command = ["npm", "run", "--silent", "test", "--", "--reporter=default"]
        report = ["--reporter=junit", "--outputFile.junit={report}"]
        return cls(name, [*command, *report], ROOT / "js", NO_COLOR="1")

    def _print(self) -> None:
        assert self.process.stdout is not None
        with self.log.open("w", encoding="utf-8") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                sys.stdout.write(f"{self.name:>10} | {line}")
                sys.stdout.flush()

    def wait(self) -> Counts:
        self.process.wait()
        self.thread.join()
        return Counts.of(self)


class Counts:
    """What a part reported: how many passed, and by name those that did not."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: list[str] = []
        self.not_run: set[str] = set()

    @classmethod
    def of(cls, part: Part) -> Counts:
        counts = cls()
        if not part.report.exists():
            counts.failed.append(f"{part.name}: ended with no report, see {part.log}")
            return counts
        for case in ElementTree.parse(part.report).iter("testcase"):
            name = f"{part.name}: {case.get('classname')}::{case.get('name')}"
            failed = [*case.findall("failure"), *case.findall("error")]
            if failed:
                why = " ".join(failed[0].get("message", "").split())
                counts.failed.append(f"{name}: {why[:LONGEST]}")
            elif (skipped := case.find("skipped")) is not None:
                why = skipped.get("message", "")
                if why.startswith(NOT_RUN):
                    counts.not_run.add(why.removeprefix(NOT_RUN))
                else:
                    counts.skipped.append(f"{name}: {why}")
            else:
                counts.passed += 1
        if part.process.returncode not in (0, 1) or (
            part.process.returncode == 1 and not counts.failed
        ):
            counts.failed.append(f"{part.name}: ended with {part.process.returncode}")
        seconds = time.monotonic() - part.begun
        sys.stdout.write(f"{part.name:>10} | took {seconds:.0f} s\n")
        return counts

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.not_run |= other.not_run


def files(*marks: str) -> list[str]:
    """The test files that name one of these marks: to import all of them takes each worker 15 s."""
    named = [f"mark.{mark}" for mark in marks]
    found = [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if any(name in path.read_text("utf-8") for name in named)
    ]
    return [str(path.relative_to(ROOT)) for path in found]


def computing() -> list[str]:
    """The test files that have more than what needs a kernel, a browser or a model."""
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [path for path in every if not WHOLE.search(path.read_text("utf-8"))]
    return [str(path.relative_to(ROOT)) for path in found]


def promised() -> list[str]:
    """The Python test files that docs/promises.toml names."""
    import tomllib  # of Python 3.11

    promises = tomllib.loads((ROOT / "docs" / "promises.toml").read_text("utf-8"))["promise"]
    named = {name for each in promises for name in [*each["tests"], *each["controls"]]}
    paths = {ROOT / name.partition("::")[0] for name in named}
    found = {
        file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])
    }
    return sorted(str(file.relative_to(ROOT)) for file in found if file.suffix == ".py")


def run(parts: list[Callable[[], Part]]) -> Counts:
    """What these reported, one after another: beside each other they would wait for two cores."""
    total = Counts()
    for begin in parts:
        part = begin()
        try:
            total.add(part.wait())
        except KeyboardInterrupt:
            part.process.terminate()
            raise
    return total


def commit() -> str:
    """The commit that is tried, with a + where files differ from it; "" outside of a clone."""
    git = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    if not (ROOT / ".git").exists():
        return ""
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """0 when every test of every part has passed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--old", type=Path, help="environment with ipykernel 6.29, for --long")
    options.add_argument("--long", action="store_true", help="try everything, and no samples")
    options.add_argument(
        "--promises", action="store_true", help="only the files that docs/promises.toml names"
    )
    old, long = (given := options.parse_args()).old, given.long or given.promises
    os.environ["LMC_TEST_LONG"] = "1" if long else ""
    os.environ.setdefault("LMC_TEST_SEED", str(random.randrange(1_000_000)) if long else "0")
    seed = os.environ["LMC_TEST_SEED"]
    # A shell gives its background jobs a SIGINT that is ignored, and children inherit that:
    # every test of an interrupt would wait for ever. A handler here is the default one there.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Each kernel that a test starts would compile the package anew, which takes it a second.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    LOGS.mkdir(parents=True, exist_ok=True)
    for left in LOGS.glob("*.*"):
        left.unlink()
    about = {"long": long, "whole": not given.promises, "seed": seed, "commit": commit()}
    (LOGS / "run.json").write_text(json.dumps(about), "utf-8")  # for `make trust`
    python = Path(sys.executable)
    more = ["--hypothesis-seed", seed] if long else []
    parts = []
    for name, marks in PARTS.items():
        wanted = marks if long else f"{marks} and not long"
        found = files(*FILES[name]) if name in FILES else computing()
        if given.promises:
            found = [each for each in promised() if name == "core" or each in found]
        parts.append(partial(Part.pytest, name, python, "-m", wanted, *more, *found))
    if given.long:
        assert old is not None, "a long run needs --old"
        other = old / "bin" / "python"
        parts.append(partial(Part.pytest, "ipykernel6", other, *INSIDES, *more, kernel="6.29"))
        parts += [
            partial(Part.pytest, f"kernel{version}", python, *BETWEEN, *more, kernel=version)
            for version in KERNELS
            if not metadata.version("ipykernel").startswith(f"{version}.")  # that ran already
        ]
    total = run([*parts, partial(Part.vitest, "js")])
    for why in sorted(total.not_run):
        sys.stdout.write(f"NOT RUN {why}\n")
    for name in total.failed:
        sys.stdout.write(f"FAILED  {name}\n")
    for name in total.skipped:
        sys.stdout.write(f"SKIPPED {name}\n")
    said = [f"{total.passed} passed", f"{len(total.failed)} failed"]
    if total.skipped:
        said.append(f"{len(total.skipped)} skipped")
    if total.not_run:
        said.append("and what this machine cannot run is named above")
    tried = "everything was tried" if long else "what is marked long was left out: make test-long"
    sys.stdout.write(f"{tried}; LMC_TEST_SEED={seed} draws the same again\n{', '.join(said)}\n")
    return 1 if total.failed or total.skipped else 0


if __name__ == "__main__":
    raise SystemExit(main())
