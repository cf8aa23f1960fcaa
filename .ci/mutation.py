"""Change the code of the core in every small way that mutmut knows, one at a time, and see whether
a test fails; and how many branches the tests take. `make trust` reads .cache/tests/mutation.json.

One rule: nothing in the tree is changed. The changes are made to a copy, in .cache/mutation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPY = ROOT / ".cache" / "mutation"
REPORT = ROOT / ".cache" / "tests" / "mutation.json"
MODULES = ["gate", "limits", "stream"]
TESTS = [
    "tests/test_gate.py", "tests/test_gate_sequences.py", "tests/test_limits.py",
    "tests/test_limited_session.py", "tests/test_stream.py", "tests/test_agent.py",
]  # fmt: skip
LEFT_OUT = "not in_node and not panels_assembler and not reader_that_joins"
"""They start node: it has the page's Assembler, and not ours."""
CONFIG = f"""
[tool.mutmut]
source_paths = ["lmc_jupyter"]
only_mutate = {[f"lmc_jupyter/{name}.py" for name in MODULES]}
also_copy = ["notebooks", "docs", "README.md"]
pytest_add_cli_args = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "{LEFT_OUT}"]
pytest_add_cli_args_test_selection = {TESTS}
"""
BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(COPY), "LMC_TEST_LONG": "", "LMC_TEST_SEED": "0"}
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", ".cache", "node_modules", "__pycache__", ".*_cache"
)


def run(*command: str) -> str:
    """What a command says; the copy is its working directory."""
    done = subprocess.run(
        command,
        cwd=COPY,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stdout


def mutants() -> dict[str, Counter[str]]:
    """How many changes of each module had which end."""
    with (COPY / "pyproject.toml").open("a", encoding="utf-8") as config:
        config.write(CONFIG)
    tried = run(str(BIN / "mutmut"), "run", "--max-children", str(os.cpu_count() or 2))
    ends: dict[str, Counter[str]] = {name: Counter() for name in MODULES}
    for line in run(str(BIN / "mutmut"), "results", "--all", "true").splitlines():
        if found := re.match(r"\s*lmc_jupyter\.(\w+)\.\S+: (.+)", line):
            ends[found[1]][found[2].strip()] += 1
            if found[2].strip() not in ("killed", "timeout"):
                sys.stdout.write(f"{line.strip()}\n")
    if not sum(ends.values(), Counter()).keys() - {"not checked"}:
        sys.exit(f"mutmut has tried nothing, and says last:\n{tried[-2000:]}")
    return ends


def branches() -> dict[str, float]:
    """Percent of the lines and branches of each module that the tests take."""
    coverage = [sys.executable, "-m", "coverage"]
    run(*coverage, "run", "--branch", "--source=lmc_jupyter", "-m", "pytest", "-q", *TESTS)
    files = json.loads(run(*coverage, "json", "-q", "-o", "-"))["files"]
    return {name: files[f"lmc_jupyter/{name}.py"]["summary"]["percent_covered"] for name in MODULES}


def main() -> None:
    """Measure, and write the report."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, ignore=NOT_COPIED)
    covered, ends = branches(), mutants()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({"ends": ends, "covered": covered}), "utf-8")
    for name in MODULES:
        caught = ends[name]["killed"] + ends[name]["timeout"]
        total = sum(ends[name].values())
        sys.stdout.write(
            f"{name}: {caught} of {total} changes fail a test ({caught / total:.0%}); "
            f"{covered[name]:.0f} % of its lines and branches are taken\n"
        )


if __name__ == "__main__":
    main()
