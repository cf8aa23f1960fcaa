"""The way of a question through the package only gets shorter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from server import BenchServer  # noqa: E402 - it is no package
from way import MARK, calls_of, draw, size  # noqa: E402

pytestmark = pytest.mark.long

MOST_MODULES, MOST_LINES = 118, 25_670
"""They fall: who makes the way shorter lowers them. They rose for `ask`,
`%lmc methods` and the receipts, by 1,060 lines: of each block the files that it reads are seen;
and by a module for the mode of a course, which each question is checked against."""


@pytest.fixture(scope="module")
def calls():
    with BenchServer() as server:
        return calls_of(ROOT, f"{server.base.removesuffix('/v1')}/turn/v1")


def test_the_way_of_a_question_gets_no_longer(calls):
    modules, lines = size(ROOT, calls)
    assert len(modules) <= MOST_MODULES, modules
    assert lines <= MOST_LINES


def test_a_question_runs_nothing_of_what_it_does_not_use(calls):
    modules, _ = size(ROOT, calls)
    unused = (
        "computer/languages/r", "computer/languages/sql", "computer/languages/html",
        "computer/languages/shell", "computer/tools/", "formats/", "open_interpreter/",
        "frontends/agents/", "frontends/panel/attachments", "models/local/", "models/replay",
        "frontends/config/tool_files", "kernel/spark",
    )  # fmt: skip
    place = "computer/tools/__init__.py"  # it says that there are none
    assert [each for each in modules if each.startswith(unused) and each != place] == []


@pytest.mark.checkout
def test_the_drawing_at_the_top_of_contributing_shows_a_real_run(calls):
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    drawn = page.partition(MARK)[2].split("```")[1].splitlines()[1:]

    def doors(lines):
        return {tuple(end.strip().partition("/")[0].partition(".")[0] for end in each.split("→"))
                for each in lines}  # fmt: skip

    # which keys the environment has, and which thread is first, changes a pair or two
    assert len(doors(drawn) ^ doors(draw(calls))) < len(drawn) / 10, (
        "draw it: python benchmarks/way.py --draw"
    )
