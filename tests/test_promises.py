"""Each promise of docs/promises.toml names tests that are there, and no row is left out."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info < (3, 11):
    pytest.skip("there is no tomllib before Python 3.11", allow_module_level=True)
import tomllib

ROOT = Path(__file__).parents[1]
PROMISES: list[dict[str, Any]] = tomllib.loads(
    (ROOT / "docs" / "promises.toml").read_text("utf-8")
)["promise"]
IDS = [*(f"S{n}" for n in range(1, 24)), *(f"R{n}" for n in range(1, 23))]


def is_there(name: str) -> bool:
    """Whether a file, a folder of tests, or a test of a file is there."""
    path, _, test = name.partition("::")
    if not (ROOT / path).exists():
        return False
    if not test:
        return True
    text = (ROOT / path).read_text("utf-8")
    if path.endswith(".py"):
        return any(
            isinstance(node, ast.FunctionDef) and node.name == test
            for node in ast.walk(ast.parse(text))
        )
    return test in re.sub(r"\$\{[^}]*\}", "100,000", text)


def test_every_figure_that_was_set_has_its_row_in_order():
    assert [each["id"] for each in PROMISES] == IDS


@pytest.mark.parametrize("promise", PROMISES, ids=IDS)
def test_a_row_names_tests_that_are_there_or_says_what_is_missing(promise):
    missing = [name for name in [*promise["tests"], *promise["controls"]] if not is_there(name)]
    assert missing == []
    # R21 is of the changes that `make mutation` makes, which is no test
    assert promise["tests"] or promise["id"] == "R21"


def test_control_a_test_that_is_not_there_is_missed():
    assert not is_there("tests/test_gate.py::test_nothing_of_the_kind")
    assert not is_there("tests/test_nothing.py")
    assert is_there("tests/test_gate.py::test_replay_is_refused")


@pytest.fixture
def draw_trust(monkeypatch):
    path = ROOT / "docs" / "draw_trust.py"
    spec = importlib.util.spec_from_file_location("draw_trust", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "draw_trust", module)  # its dataclass looks for it there
    spec.loader.exec_module(module)
    return module


def test_a_case_of_vitest_is_found_by_its_own_title_behind_its_groups(draw_trust):
    file = "js/test/question.test.tsx"
    cases = [
        draw_trust.Case(file, name, "2026-11-30", True, False)
        for name in ("the question > control: without that look, a script runs it", "it waits")
    ]
    assert draw_trust.of(f"{file}::control: without", cases) == cases[:1]
    assert draw_trust.of(f"{file}::it waits", cases) == cases[1:]
    assert draw_trust.of(file, cases) == cases


@pytest.mark.parametrize(
    ("caught", "covered", "verdict"),
    [(90, 98, "holds"), (89, 100, "does not hold"), (100, 97.9, "does not hold")],
)
def test_the_changes_of_the_code_hold_from_the_bar_on_with_their_oldest_day(
    draw_trust, tmp_path, monkeypatch, caught, covered, verdict
):
    monkeypatch.setattr(draw_trust, "MUTATION", tmp_path / "mutation.json")
    promise = next(each for each in PROMISES if each["id"] == "R21")
    assert "| **not run** |" in draw_trust.row(promise, [])
    sha256 = {
        name: hashlib.sha256((ROOT / "lmc_jupyter" / name).read_bytes()).hexdigest()
        for name in ("gate.py", "limits.py")
    }
    gate = {
        "day": "2026-11-30",
        "sha256": sha256["gate.py"],
        "ends": {"killed": caught - 1, "timeout": 1, "survived": 100 - caught},
        "covered": covered,
    }
    limits = {
        "day": "2026-11-28",
        "sha256": sha256["limits.py"],
        "ends": {"killed": 7},
        "covered": 100.0,
    }
    about = {"lmc_jupyter/gate.py": gate, "lmc_jupyter/limits.py": limits}
    draw_trust.MUTATION.write_text(json.dumps(about), "utf-8")
    promise = {**promise, "changed": list(about)}
    row = draw_trust.row(promise, [])
    assert f"| **{verdict}** |" in row
    assert f"{caught} of 100" in row
    assert ("gate.py` is below the bar" in row) == (verdict != "holds")
    assert row.endswith("2026-11-28 |")
    gate["sha256"] = "0" * 64
    about["lmc_jupyter/gone.py"] = limits
    draw_trust.MUTATION.write_text(json.dumps(about), "utf-8")
    row = draw_trust.row({**promise, "changed": ["lmc_jupyter/stream.py"]}, [])
    assert "| **not run** |" in row
    assert "`lmc_jupyter/gate.py` has changed since" in row
    assert "`lmc_jupyter/gone.py` has changed since" in row
    assert "No change of `lmc_jupyter/stream.py` was tried" in row
    assert "limits.py` has changed since" not in row
