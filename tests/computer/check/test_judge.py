"""What became of a cell, by what the run said and what the code binds."""

from __future__ import annotations

import pytest

from lmc_jupyter.computer.check.judge import CheckedCell, judge, names_made, note_order
from lmc_jupyter.computer.check.outputs import Outputs


def cells(*sources, counts=None):
    """Cells that ran without output, and were saved so."""
    counts = counts or range(1, len(sources) + 1)
    return [
        CheckedCell(number, source, count, Outputs(), Outputs())
        for number, (source, count) in enumerate(zip(sources, counts, strict=True), 1)
    ]


def lacks(cell, name):
    cell.new = Outputs(failure=("NameError", f"name {name!r} is not defined"))
    cell.traceback = "Cell In[1], line 1\n----> 1 df"


def states(cells):
    return [each.state for each in judge(cells)]


@pytest.mark.parametrize(
    ("counts", "out_of_order"),
    [
        ([1, 2, 3], {}),
        ([None, None, None], {}),
        ([2, None, 3], {}),
        ([6, 2, 3], {1: "In [6] stands above In [2]"}),
        ([1, 5, 2], {2: "In [5] stands above In [2]"}),
        ([3, 2, 1], {1: "In [3] stands above In [2]", 2: "In [2] stands above In [1]"}),
        ([2, 3, 2], {}),  # of two kernels
    ],
)
def test_saved_numbers_tell_what_ran_out_of_order(counts, out_of_order):
    found = judge(cells("a = 1", "b = 1", "c = 1", counts=counts))
    note_order(found)
    assert {each.number: each.notes for each in found if each.notes} == {
        number: [f"it ran out of order: {words}"] for number, words in out_of_order.items()
    }


def test_numbers_of_a_kernel_before_the_restart_tell_nothing():
    counts = [4, 2, 3, 1]
    found = judge(cells("old = 1", "b = 1", "%%lmc\nsay", "a = 1", counts=counts))
    note_order(found, ["a = 1", "b = 1", "%%lmc\nsay", "%lmc check"])
    assert [each.notes for each in found] == [
        [],
        ["it ran out of order: In [2] stands above In [1]"],
        ["it ran out of order: In [3] stands above In [1]"],
        [],
    ]


def test_a_name_that_no_cell_makes():
    these = cells("a = 1", "print(df)")
    lacks(these[1], "df")
    assert [each.notes for each in judge(these)] == [[], ["no cell makes `df`"]]
    assert states(these) == ["the same", "missing"]


def test_a_name_of_an_answer_says_how_to_get_its_code():
    these = cells("%%lmc\nread it", "print(df)")
    these[0].new = None
    lacks(these[1], "df")
    asked, after = judge(these)
    assert asked.state == "not run"
    assert after.state == "missing"
    assert "%lmc export" in after.notes[1]


def test_a_name_that_only_a_cell_below_makes_is_out_of_order():
    these = cells("print(df)", "df = 1")
    lacks(these[0], "df")
    assert states(these) == ["out of order", "the same"]
    assert judge(these)[0].notes == ["`df` comes from cell 2, which stands below"]


def test_a_name_of_a_cell_that_failed_is_no_missing_one():
    these = cells("df = read()", "print(df)")
    these[0].new = Outputs(failure=("OSError", "no file"))
    lacks(these[1], "df")
    assert states(these) == ["failed", "failed"]
    assert judge(these)[1].notes == ["`df` comes from cell 1, which failed"]


def test_a_name_that_was_made_and_is_gone_is_an_error_like_any():
    these = cells("df = 1", "del df", "print(df)")
    lacks(these[2], "df")
    assert judge(these)[2].notes == ["NameError: name 'df' is not defined"]


def test_a_name_that_a_module_lacks_is_none_of_a_cell():
    these = cells("import broken")
    lacks(these[0], "df")
    these[0].traceback = "Cell In[1], line 1\n----> 1 import broken\nFile broken.py:1\n----> 1 df"
    assert states(these) == ["failed"]


def test_the_error_that_was_saved_is_the_same():
    these = cells("1/0")
    these[0].saved = these[0].new = Outputs(failure=("ZeroDivisionError", "division by zero"))
    assert states(these) == ["the same"]
    these[0].new = Outputs(failure=("ZeroDivisionError", "modulo by zero"))
    assert states(these) == ["failed"]


def test_where_nothing_was_saved_nothing_is_compared():
    these = cells("print(1)", counts=[None])
    these[0].new = Outputs(lines=["1"])
    assert states(these) == ["ran"]


def test_a_cell_with_lines_of_ours_runs_without_them_and_is_not_compared():
    (it,) = these = cells("for i in x:\n    %lmc ask What?\nprint(1)")
    assert it.runs == "for i in x:\n    pass\nprint(1)"
    assert it.left_out == ""
    it.saved = Outputs(lines=["An answer."])
    assert states(these) == ["ran"]


@pytest.mark.parametrize(
    "source",
    ["%%lmc\nWhy?", "\n%%lmc -m x\nWhy?", "%lmc", "%lmc a\n%lmc b\n", "%%time\n%%lmc\nWhy?"],
)
def test_these_are_not_run(source):
    assert cells(source)[0].left_out


@pytest.mark.parametrize("source", ["%lmcx", "x = '%lmc'", "# %%lmc", "%load_ext lmc_jupyter"])
def test_these_are_run_as_they_stand(source):
    (it,) = cells(source)
    assert it.left_out == ""
    assert it.runs == source


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a, (b, *c) = 1, (2,)", {"a", "b", "c"}),
        ("import os.path as p\nfrom re import match", {"p", "match"}),
        ("def f():\n    local = 1\nclass C:\n    inner = 1", {"f", "C"}),
        ("for i in x:\n    if (n := i):\n        y += 1", {"i", "n", "y"}),
        ("%%time\na = 1", {"a"}),
        ("%matplotlib inline\nfiles = !ls\nt = %timeit -o 1", {"files", "t"}),
        ("%%bash\na=1", set()),
        ("this is not python", set()),
    ],
)
def test_the_names_that_a_cell_makes(source, names):
    assert names_made(source) == names
