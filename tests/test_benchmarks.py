"""The bench: each of its parts can be measured, and the page says what was found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import sample

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))
import bench  # noqa: E402 - it is no package
import cost  # noqa: E402
import own  # noqa: E402
import processes  # noqa: E402
from table import Row, missing, row  # noqa: E402

pytestmark = pytest.mark.long

NAMES = [part.__name__ for part in (*cost.PARTS, *own.PARTS)]


def measure(part: str, folder: Path, *more: str) -> tuple[list[Row], str]:
    """The rows of one part in its smallest size, and what the bench printed."""
    rows = folder / "rows.json"
    command = [sys.executable, ROOT / "benchmarks" / "bench.py", "--quick", "--only", part]
    done = subprocess.run(
        [*command, "--json", rows, *more],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [Row(**each) for each in json.loads(rows.read_text("utf-8"))], done.stdout


@pytest.mark.kernel
@pytest.mark.parametrize("part", sample(NAMES, 4))
def test_each_part_can_be_measured(part: str, tmp_path: Path) -> None:
    rows, printed = measure(part, tmp_path)
    assert rows
    for each in rows:
        assert bench.line(each) in printed
        if "not measured" not in each.beside:
            assert float(each.ours.split()[0].replace(",", "")) >= 0
        elif "Interpreter" not in each.what + each.beside:  # which nobody installs for a test
            assert "weights" in each.beside or "no process" in each.beside


def test_the_parts_on_the_screen_find_the_browser_of_the_tests() -> None:
    """They are measured by hand: each needs a minute of JupyterLab."""
    code = "import bench, conftest; conftest.jupyter, conftest.launch, conftest.visit"
    command = [sys.executable, "-c", code]
    path = f"{ROOT / 'benchmarks'}{os.pathsep}{ROOT}"
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.kernel
def test_another_checkout_is_measured_beside_it(tmp_path: Path) -> None:
    rows, printed = measure("loading", tmp_path, "--beside", str(ROOT))
    assert len(rows) == 1
    there, ratio = printed.rpartition("| yes |" if rows[0].held else "| **no** |")[2].split("|")[:2]
    assert float(there.split()[0]) > 0
    assert ratio.strip().endswith("x")


def test_no_part_is_named_by_the_name_of_another() -> None:
    names = [part.__name__ for section in bench.sections(quick=True) for part in section.parts]
    for name in names:
        assert [each for each in names if name in each] == [name], "--beside would measure both"


def test_a_limit_is_for_the_figure_or_for_its_ratio() -> None:
    assert row("a", 3, 2, 3, "ms").held
    assert not row("a", 3.1, 2, 3, "ms").held
    assert row("a", 3, 2, 1.5, "ms", times=True).held
    assert not row("a", 3, 2, 1.4, "ms", times=True).held
    assert row("a", 1, 2, 0.5, "ms", times=True, least=True).held
    assert not row("a", 1, 2, 0.6, "ms", times=True, least=True).held


def test_the_page_has_each_row_with_its_limit_and_the_load() -> None:
    tables = bench.sections(quick=True)
    tables[0].rows = [row("to think", 1, 4, 0.5, "ms", times=True, name="a stone")]
    tables[1].rows = [missing("to fly", "no wings here", "≤ 2x")]
    text = bench.page(tables, "the load was 1", "the load was 2")
    assert "| to think | 1.0 ms | 4.0 ms a stone | 0.25x | ≤ 0.5x | yes |" in text
    assert "| to fly | - | not measured: no wings here | - | ≤ 2x | **no** |" in text
    assert "At the beginning the load was 1, at the end the load was 2." in text
    assert text.index("to think") < text.index("to fly")


def test_a_neighbour_that_cannot_be_installed_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "ROOT", tmp_path)
    monkeypatch.delenv(processes.OPEN_INTERPRETER, raising=False)
    (tmp_path / ".cache").write_text("no folder")
    with pytest.raises(processes.Missing, match="cannot be installed here: Error"):
        processes.open_interpreter(install=True)
