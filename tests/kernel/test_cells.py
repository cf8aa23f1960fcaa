"""The record of the person's cells: what of each is held, and how much of all."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmc_jupyter.content.cell import Figure
from lmc_jupyter.content.shorten import GAIN
from lmc_jupyter.context.cells import text_of
from lmc_jupyter.kernel import cells
from lmc_jupyter.kernel.cells import MAX_OUTPUT, CellRecorder, _CellRun


@pytest.fixture
def record(shell) -> Any:
    it = CellRecorder(shell)
    yield it
    it.close()


def ran(shell: Any, *sources: str) -> None:
    for source in sources:
        shell.run_cell(source, store_history=True)


def run() -> _CellRun:
    return _CellRun(1, "source", "id", hidden=False)


# One cell -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.text("ab\n", max_size=5_000), st.booleans()), max_size=12))
@example([("a\nbb\n" * 900, True), ("aa\n" * 1_500, True), ("b\n" * 2_000, False)])
@example([("a" * 9_000, True), ("b\n" * 3_000, True), ("a" * 5_000, False)])
def test_looking_at_a_cell_changes_nothing_of_what_is_held(pieces):
    """Its text moves into the value that is given out, and back when more comes."""
    plain, seen = run(), run()
    for text, look in pieces:
        plain.write(text)
        seen.write(text)
        if look:
            seen.cell()
            seen.show(Figure("png", "a"))
    whole = "".join(text for text, _ in pieces)
    for each in (plain.cell(), seen.cell()):
        if len(whole) <= MAX_OUTPUT:
            assert each.output == whole
            assert each.left_out == 0
        else:
            assert len(each.output) <= MAX_OUTPUT + GAIN
            if each.left_out:
                first, note, last = re.split(r"(… [\d,]+ \w+ left out …\n)", each.output)
                assert len(note) < 50
                assert whole.startswith(first.removesuffix("\n"))
                assert whole.endswith(last)
                assert min(len(first), len(last)) >= MAX_OUTPUT // 4
            # all that there was is in the text, or counted
            assert abs(len(each.output) + each.left_out - len(whole)) <= 1
    assert seen.cell() is seen.cell()


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
@pytest.mark.parametrize("count", [40, 240, 250, 300, 5_000])
def test_of_a_long_table_whole_rows_are_left_out_and_counted(count, at_once):
    rows = [f"{n:5d}  {n * n:9d}  row {n}" for n in range(count)]
    it = run()
    for at in range(0, count, at_once):
        it.write("".join(f"{row}\n" for row in rows[at : at + at_once]))
        if at % 11 == 0:
            it.cell()  # somebody looks, and more comes
    for text in (
        it.cell().output.strip("\n"),
        text_of(it.cell()).partition("Output of In [1]:\n")[2],
    ):
        lines = text.split("\n")
        notes = [line for line in lines if line not in rows]
        left = [int(note.split()[1].replace(",", "")) for note in notes]
        assert all(re.match(r"… [\d,]+ lines left out", note) for note in notes)
        assert len(lines) - len(notes) + sum(left) == count
        assert len(notes) <= 1
    assert it.cell() is it.cell()


def test_a_line_of_its_own_begins_a_line():
    it = run()
    it.write("no end")
    it.write_line("[1]")
    it.cell()
    it.write_line("[2]")
    assert it.cell().output == "no end\n[1]\n[2]\n"


def test_an_escape_sequence_that_comes_in_two_pieces_is_removed():
    it = run()
    it.write("x" * (MAX_OUTPUT // 2 - 2) + "\x1b[3")
    it.write("1mred")
    assert it.cell().output.endswith("xxred")


def test_what_is_cleared_is_gone():
    it = run()
    it.write("y" * 3 * MAX_OUTPUT)
    it.show(Figure("png", "a"))
    it.cell()
    it.clear()
    it.write("new")
    cell = it.cell()
    assert (cell.output, cell.figures, cell.left_out) == ("new", (), 0)


# All cells ----------------------------------------------------------------------------------------


def test_a_cell_has_its_number_output_and_error(shell, record):
    ran(shell, "x = 1\nprint('one')", "x + 1", "1 / 0")
    first, second, third = record.recent()
    numbers = [first.number, second.number, third.number]
    assert numbers == [1, 2, 3]
    assert first.source == "x = 1\nprint('one')"
    if record.unknown.count("version 9"):  # an older IPython does not tell what cells put out
        return
    assert first.output == "one\n"
    assert second.output.strip() == "2"
    assert "ZeroDivisionError: division by zero" in third.error


def test_cells_of_ours_and_those_without_a_number_do_not_count(shell, record):
    ran(shell, "%lmc help", "%%lmc\nWhat?", "", "   ")
    shell.run_cell("silent = 1", store_history=False)
    assert record.recent() == []


def test_a_cell_with_a_line_for_us_and_code_of_its_own_counts():
    assert cells.is_ours("%load_ext lmc_jupyter\n%config LMC.model = 'local'\n  %lmc help")
    assert not cells.is_ours("%load_ext lmc_jupyter\nimport math")
    assert not cells.is_ours("%load_ext lmc_jupyter_too")


def test_a_cell_that_runs_another_one_keeps_its_number_and_its_error(shell, record):
    shell.user_ns["shell"] = shell
    ran(shell, "shell.run_cell('inner = 1')\nraise ValueError('outer')", "after = 1")
    first, second = record.recent()
    assert (first.number, second.number) == (1, 2)
    assert "ValueError: outer" in first.error
    assert record.failure is not None


def test_the_newest_cells_are_held(shell, record, monkeypatch):
    monkeypatch.setattr(cells, "MAX_CELLS", 3)
    ran(shell, *(f"x = {number}" for number in range(5)))
    assert [each.number for each in record.recent()] == [3, 4, 5]


def test_the_oldest_cells_go_where_the_text_has_no_room(shell, record, monkeypatch):
    monkeypatch.setattr(cells, "MAX_TEXT", 4_000)
    ran(shell, *(f"'{number}{'x' * 1_000}';" for number in range(10)))
    numbers = [each.number for each in record.recent()]
    assert numbers == [8, 9, 10]
    assert 0 < record._size <= 4_000
    ran(shell, "'" + "y" * 5_000 + "';")
    assert [each.number for each in record.recent()] == [11], "the newest is always there"


@pytest.mark.parametrize("seed", range(5))
def test_the_size_is_that_of_the_cells_that_are_held(shell, record, monkeypatch, seed):
    draw = random.Random(seed)
    monkeypatch.setattr(cells, "MAX_TEXT", 20_000)
    for _ in range(60):
        ran(shell, f"'{'é' * draw.randrange(2_000)}';")
        if draw.random() < 0.3:
            record.recent()
        if draw.random() < 0.3:  # a thread shows something later
            with record._lock:
                late = draw.choice(list(record._runs))
                late.write("late " * draw.randrange(500))
                record._late.add(late)
    record.recent()
    with record._lock:
        while record._late:
            record._measure(record._late.pop())
        assert record._size == sum(each.size for each in record._runs) <= 20_000


def test_the_oldest_figures_go_where_they_have_no_room(shell, record, monkeypatch):
    monkeypatch.setattr(cells, "MAX_FIGURES", 10)
    ran(shell, "1", "2", "3")
    record.recent()  # IPython's own record is read once
    with record._lock:
        for each in record._runs:
            record._show(each, {"image/png": "abcd"})
    assert [len(each.figures) for each in record.recent()] == [0, 1, 1]


def test_after_it_is_closed_nothing_is_held(shell, record):
    ran(shell, "x = 1")
    record.close()
    assert record.recent() == []
    shell.events.register("pre_run_cell", record._begin)  # for the fixture, which closes it again
    shell.events.register("post_run_cell", record._end)


def test_a_terminal_says_that_it_knows_no_markdown(record):
    assert "no Markdown" in record.unknown
