"""Change the code of the core, of the files and of the page's Markdown in every small way that
mutmut and Stryker know, one at a time, and see whether a test fails; and how many branches the
tests take. It writes docs/mutation.json, which `make trust` reads.

One rule: nothing else in the tree is changed. The changes are made to a copy, in .cache/mutation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPY = ROOT / ".cache" / "mutation"
REPORT = ROOT / "docs" / "mutation.json"
"""Each file that is changed -> {"day", "sha256" of what was changed, "ends": {end: number of
changes}, "covered": percent}. It takes hours, and stands until its file changes."""
GROUPS = {
    "core": (
        ["gate", "limits", "stream"],
        [
            "tests/test_gate.py", "tests/test_gate_sequences.py", "tests/test_limits.py",
            "tests/test_limited_session.py", "tests/test_stream.py", "tests/test_agent.py",
        ],
    ),
    "files": (
        [
            "conversation/journal", "conversation/records", "formats/strict_json",
            "formats/lmc_json", "formats/openai_chat",
        ],
        [
            "tests/conversation/test_journal.py", "tests/conversation/test_records.py",
            "tests/conversation/test_conversations.py", "tests/conversation/test_damage.py",
            "tests/conversation/test_history.py", "tests/conversation/test_scrub.py",
            "tests/conversation/test_sync.py", "tests/conversation/test_of_kernel.py",
            "tests/formats/test_strict_json.py", "tests/formats/test_lmc_json.py",
            "tests/formats/test_openai_chat.py", "tests/formats/test_thoughts_in_files.py",
            "tests/test_formats.py", "tests/frontends/test_conversations_in_panel.py",
        ],
    ),
}  # fmt: skip
"""The modules that are changed together, and the tests that are to notice."""
PAGE = {
    "src/render/dialect.ts": ["nodes", "markdown"],
    "src/render/nodes.ts": ["nodes", "hostile"],
    "src/render/formula.ts": ["formula", "math", "hostile"],
}
"""What of the page is changed, in `js/`: what is read as Markdown, which elements that and formulas
become, which links lead where; and the tests of `js/test` that are to notice. With all of them each
change would take half a minute."""
EVERY_TEST = '["test/**/*.test.{ts,tsx}"]'
"""What js/vitest.config.ts says."""
STRYKER = ("@stryker-mutator/core@9.6.1", "@stryker-mutator/vitest-runner@9.6.1")
COVERAGE = "@vitest/coverage-v8"
"""Of the same version as vitest."""
LEFT_OUT = (
    "not in_node and not panels_assembler and not reader_that_joins and not renderer_in_the_panel"
)
"""They start node, which has the page's Assembler and not ours, or read the page's files."""
CONFIG = """
[tool.mutmut]
source_paths = ["lmc_jupyter"]
only_mutate = {modules}
also_copy = ["notebooks", "docs", "README.md"]
pytest_add_cli_args = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "{left_out}"]
pytest_add_cli_args_test_selection = {tests}
"""
BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(COPY), "LMC_TEST_LONG": "", "LMC_TEST_SEED": "0"}
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", ".cache", "node_modules", "__pycache__", ".*_cache"
)
CAUGHT = ("killed", "timeout")
MOST_MEMORY = 8 << 30
"""Bytes: a change that never ends fails its test there, and not where the machine's memory ends."""


def run(*command: str, folder: Path = COPY, before: Callable[[], None] | None = None) -> str:
    """What a command says; the copy is its working directory."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=before,
    )
    return done.stdout


def bound_memory() -> None:
    """Of this process and those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def mutants(modules: list[str], tests: list[str]) -> dict[str, Counter[str]]:
    """How many changes of each module had which end."""
    shutil.rmtree(COPY / "mutants", ignore_errors=True)
    paths = [f"lmc_jupyter/{name}.py" for name in modules]
    config = CONFIG.format(modules=paths, tests=tests, left_out=LEFT_OUT)
    (COPY / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8") + config)
    command = [str(BIN / "mutmut"), "run", "--max-children", str(os.cpu_count() or 2)]
    tried = run(*command, before=bound_memory)
    ends: dict[str, Counter[str]] = {path: Counter() for path in paths}
    names = {name.replace("/", "."): path for name, path in zip(modules, paths, strict=True)}
    for line in run(str(BIN / "mutmut"), "results", "--all", "true").splitlines():
        if found := re.match(r"\s*lmc_jupyter\.([\w.]+)\.x\S+: (.+)", line):
            ends[names[found[1]]][found[2].strip()] += 1
            if found[2].strip() not in CAUGHT:
                sys.stdout.write(f"{line.strip()}\n")
    if not sum(ends.values(), Counter()).keys() - {"not checked"}:
        sys.exit(f"mutmut has tried nothing, and says last:\n{tried[-2000:]}")
    return ends


def branches(modules: list[str], tests: list[str]) -> dict[str, float]:
    """Percent of the lines and branches of each module that the tests take."""
    coverage = [sys.executable, "-m", "coverage"]
    run(*coverage, "run", "--branch", "--source=lmc_jupyter", "-m", "pytest", "-q", *tests)
    files = json.loads(run(*coverage, "json", "-q", "-o", "-"))["files"]
    paths = [f"lmc_jupyter/{name}.py" for name in modules]
    return {path: files[path]["summary"]["percent_covered"] for path in paths}


def prepare_page() -> None:
    """Get what changes the page and what measures it."""
    folder = COPY / "js"
    run("npm", "ci", "--silent", folder=folder)
    vitest = json.loads((folder / "package.json").read_text("utf-8"))["devDependencies"]["vitest"]
    tools = [*STRYKER, f"{COVERAGE}@{vitest}"]
    run("npm", "install", "--silent", "--no-save", *tools, folder=folder)


def page() -> Iterator[tuple[dict[str, Counter[str]], dict[str, float]]]:
    """The same of the page's files, one after another, by Stryker and vitest."""
    folder = COPY / "js"
    settings = (ROOT / "js" / "vitest.config.ts").read_text("utf-8")
    if EVERY_TEST not in settings:
        sys.exit(f"js/vitest.config.ts no longer says {EVERY_TEST}: .ci/mutation.py narrows it.")
    for name, tests in PAGE.items():
        named = json.dumps([f"test/{each}.test.ts" for each in tests])
        narrowed = settings.replace(EVERY_TEST, named)
        (folder / "vitest.config.ts").write_text(narrowed, "utf-8")
        yield _page_file(folder, name), {f"js/{name}": _page_branches(folder, name)}


def _page_branches(folder: Path, name: str) -> float:
    """Percent of the lines or of the branches that the tests take, whichever is less."""
    options = ["--coverage.enabled", "--coverage.reporter=json-summary"]
    options.append(f"--coverage.include={name}")
    run("npx", "--no-install", "vitest", "run", *options, folder=folder)
    summary = json.loads((folder / "coverage" / "coverage-summary.json").read_text("utf-8"))
    return float(min(summary["total"][each]["pct"] for each in ("lines", "branches")))


def _page_file(folder: Path, changed: str) -> dict[str, Counter[str]]:
    (folder / "stryker.config.json").write_text(
        json.dumps(
            {
                "testRunner": "vitest",
                "plugins": ["@stryker-mutator/vitest-runner"],
                "mutate": [changed],
                "reporters": ["json", "progress-append-only"],
                "jsonReporter": {"fileName": "mutation.json"},
                "inPlace": True,
                "concurrency": os.cpu_count() or 2,
                "timeoutMS": 20_000,
                "disableTypeChecks": False,
                "checkers": [],
                "allowEmpty": False,
            }
        )
    )
    report = folder / "mutation.json"
    report.unlink(missing_ok=True)
    command = ["npx", "--no-install", "stryker", "run"]  # it says for half an hour how far it is
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=False)
    if not report.exists():
        sys.exit(f"Stryker has made no report of {changed}; what it says stands above.")
    ends: dict[str, Counter[str]] = {}
    for name, file in json.loads(report.read_text("utf-8"))["files"].items():
        count = ends[f"js/{name}"] = Counter()
        for mutant in file["mutants"]:
            end = mutant["status"].lower()
            if end == "ignored" or end.endswith("error"):
                continue  # it is no program
            count[end] += 1
            if end not in CAUGHT:
                at = mutant["location"]["start"]
                change = mutant.get("replacement", "")[:80].replace("\n", " ")
                sys.stdout.write(f"js/{name}:{at['line']}:{at['column']} {change}: {end}\n")
    return ends


def main() -> None:
    """Measure, and write the report; a group that is not measured keeps what stands there."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", choices=[*GROUPS, "page"], action="append")
    wanted = options.parse_args().only or [*GROUPS, "page"]
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, ignore=NOT_COPIED)
    report: dict[str, dict[str, object]] = {}
    if REPORT.exists():
        report = json.loads(REPORT.read_text("utf-8"))
    report = {name: about for name, about in report.items() if (ROOT / name).exists()}
    for group in wanted:
        if group == "page":
            prepare_page()
            parts = page()
        else:
            modules, tests = GROUPS[group]
            parts = iter([(mutants(modules, tests), branches(modules, tests))])
        for ends, covered in parts:
            for name, counts in ends.items():
                report[name] = {
                    "day": f"{date.today()}",
                    "sha256": hashlib.sha256((COPY / name).read_bytes()).hexdigest(),
                    "ends": counts,
                    "covered": covered[name],
                }
                caught, total = sum(counts[each] for each in CAUGHT), sum(counts.values())
                sys.stdout.write(
                    f"{name}: {caught} of {total} changes fail a test "
                    f"({caught / max(1, total):.0%}), {covered[name]:.0f} % of its branches\n"
                )
            REPORT.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
