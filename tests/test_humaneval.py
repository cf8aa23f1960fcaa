"""Others' measure of the model: a problem is solved when its own tests pass, and only then."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import humaneval
import rows

PROBLEM = {
    "task_id": "Own/1",
    "entry_point": "double",
    "prompt": 'from math import floor\n\n\ndef double(x: int) -> int:\n    """Twice x."""\n',
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n",
}


@pytest.mark.parametrize(
    ("code", "good"),
    [
        ("    return 2 * x\n", True),
        ("def double(x):\n    return floor(2 * x)\n", True),
        ("def double(x):\n    return x\n", False),
        ("def other(x):\n    return 2 * x\n", False),
        ("    return 2 *\n", False),
        ("def double(x):\n    raise SystemExit(0)\n", False),
    ],
)
def test_its_own_tests_decide(code, good):
    assert humaneval.passes(PROBLEM, code) is good


def test_code_without_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(humaneval, "SECONDS", 1)
    assert not humaneval.passes(PROBLEM, "def double(x):\n    while True: pass\n")


def test_the_first_block_of_a_reply_counts():
    assert rows.block("Here:\n```python\na = 1\n```\nor\n```\nb\n```") == "a = 1\n"
    assert rows.block("```py\na = 1") == "a = 1"
    assert rows.block("a = 1") == "a = 1"


def test_another_file_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="There is no"):
        humaneval.problems(tmp_path)
    data = gzip.compress(json.dumps(PROBLEM).encode())
    (tmp_path / "HumanEval.jsonl.gz").write_bytes(data)
    with pytest.raises(SystemExit, match="SHA-256"):
        humaneval.problems(tmp_path)
