"""Which of the person's cells go with a question, and how much of each."""

from __future__ import annotations

import pytest

from lmc_jupyter.content.cell import Cell, Figure
from lmc_jupyter.content.code_names import names_of
from lmc_jupyter.context.cells import (
    LIMITS,
    LOOK_BACK,
    MAX_PROVIDERS,
    MAX_READ,
    MAX_TOKENS,
    CellChoice,
    choose,
    figures_of,
    make_parts,
    read_choice,
    text_of,
)
from lmc_jupyter.errors import SessionError

BY_RULE = CellChoice()


def cells(*sources: str, **more: str) -> list[Cell]:
    """Cells of In [1], In [2], ..."""
    return [Cell(number, source, **more) for number, source in enumerate(sources, start=1)]


def numbers(chosen: list[Cell]) -> list[int]:
    return [each.number for each in chosen]


def only(*wanted: int) -> CellChoice:
    return CellChoice(only=frozenset(wanted))


# Which --------------------------------------------------------------------------------------------


def test_the_cells_since_the_last_question_go_in_their_order():
    assert numbers(choose(cells("a = 1", "1", "2"), 1, (), BY_RULE)) == [2, 3]
    assert choose(cells("a = 1"), 1, (), BY_RULE) == []
    assert choose([], 0, (), BY_RULE) == []


def test_of_many_cells_the_newest_go_as_far_as_they_have_room():
    many = cells(*["'" + "word " * 350 + "'"] * 20)
    chosen = choose(many, 0, (), BY_RULE)
    assert chosen
    assert numbers(chosen) == list(range(21 - len(chosen), 21))
    assert sum(part.tokens for part in make_parts(chosen)) <= MAX_TOKENS < 20 * 400


def test_the_newest_cell_goes_even_where_it_has_no_room():
    long = "x = '" + "É" * 2_000 + "'"
    chosen = choose(cells("1", long, output="É" * 5_000, error="É" * 5_000), 0, (), BY_RULE)
    assert numbers(chosen) == [2]


def test_hidden_cells_and_those_left_out_go_by_no_rule():
    three = [Cell(1, "a = 1", hidden=True), Cell(2, "b = 2"), Cell(3, "a + b")]
    choice = CellChoice(left_out=frozenset({2}))
    assert numbers(choose(three, 0, (), choice)) == [3]
    assert numbers(choose(three, 2, (), choice)) == [3]
    assert numbers(choose(three, 0, (), only(1, 2, 3))) == [2, 3]
    assert numbers(choose(three, 3, (), CellChoice(pointed=frozenset({1})))) == []


def test_cells_that_are_named_go_and_no_others_but_those_pointed_at():
    five = cells("1", "2", "3", "4", "5")
    assert numbers(choose(five, 0, (), only(2, 4, 99))) == [2, 4]
    assert choose(five, 0, (), only()) == []
    both = CellChoice(only=frozenset({2}), pointed=frozenset({5}))
    assert numbers(choose(five, 0, (), both)) == [2, 5]


def test_a_cell_that_is_pointed_at_goes_beside_the_others_whatever_went_before():
    three = cells("1", "2", "3")
    pointed = CellChoice(pointed=frozenset({1}))
    assert numbers(choose(three, 2, {"In [1]"}, pointed)) == [1, 3]
    assert numbers(choose(three, 3, {"In [1]"}, pointed)) == [1]


# What the cells rest on ---------------------------------------------------------------------------


def test_the_last_cell_that_makes_a_name_goes_with_the_one_that_uses_it():
    four = cells("df = 1", "df = 2", "other = 3", "df.head()")
    assert numbers(choose(four, 3, (), BY_RULE)) == [2, 4]


def test_what_the_conversation_has_already_is_not_sent_for_its_names():
    two = cells("df = 1", "df.head()")
    assert numbers(choose(two, 1, {"In [1]"}, BY_RULE)) == [2]


def test_a_name_that_the_chosen_cells_make_themselves_needs_no_other():
    three = cells("df = 1", "df = 2", "df.head()")
    assert numbers(choose(three, 1, (), BY_RULE)) == [2, 3]


def test_at_most_three_cells_go_for_their_names():
    five = cells("a = 1", "b = 1", "c = 1", "d = 1", "a + b + c + d")
    chosen = numbers(choose(five, 4, (), BY_RULE))
    assert chosen == [2, 3, 4, 5]
    assert len(chosen) == MAX_PROVIDERS + 1


def test_an_import_and_a_builtin_need_no_cell():
    three = cells("import pandas as pd", "print = print", "print(pd.Series([1]))")
    assert numbers(choose(three, 2, (), BY_RULE)) == [3]


def test_names_are_looked_for_in_so_many_cells_and_characters_only():
    far = cells("df = 1", *["1"] * LOOK_BACK, "df")
    assert numbers(choose(far, LOOK_BACK + 1, (), BY_RULE)) == [LOOK_BACK + 2]
    filler = "# df\n" + "x = 1\n" * (MAX_READ // 12)
    deep = cells("df = 1", filler, filler, "df")
    assert numbers(choose(deep, 3, (), BY_RULE)) == [4]


@pytest.mark.parametrize(
    ("source", "makes", "uses"),
    [
        ("x = y", {"x"}, {"y"}),
        ("for i in rows: pass", {"i"}, {"rows"}),
        ("def f(a):\n    b = a + c\n    return b", {"f"}, {"c"}),
        ("class K:\n    m = n", {"K"}, {"n"}),
        ("with a as b: pass", {"b"}, {"a"}),
        ("(v := w)", {"v"}, {"w"}),
        ("x, *y = z", {"x", "y"}, {"z"}),
        ("import os\nfrom a import b as c", set(), set()),
        ("def f():\n    global h\n    h = 1", {"f", "h"}, set()),
        ("[i for i in q]", set(), {"q"}),
        ("x = await f()", {"x"}, {"f"}),
        ("%matplotlib inline\nx = 1\n!ls", {"x"}, set()),
        ("df?", set(), set()),
        ("x = (", set(), set()),
        ("\0", set(), set()),
        ("", set(), set()),
    ],
)
def test_the_names_that_a_cell_makes_and_uses(source, makes, uses):
    assert names_of(source) == (makes, uses)


def test_a_cell_that_is_nested_without_end_has_no_names():
    assert names_of("(" * 5_000 + ")" * 5_000) == (set(), set())


def test_a_warning_of_the_cell_is_not_repeated(recwarn):
    names_of("x = '\\d'")
    assert not recwarn.list


# How much -----------------------------------------------------------------------------------------


def test_a_cell_reads_as_its_source_output_figures_and_error():
    cell = Cell(7, "plot()", "one\ntwo\n", "ValueError: no\n", (Figure("png", "QQ=="),))
    assert text_of(cell) == (
        "In [7]:\nplot()\nOutput of In [7]:\none\ntwo\nIt showed 1 figure.\n"
        "Error of In [7]:\nValueError: no"
    )
    assert text_of(Cell(8, "1")) == "In [8]:\n1"


def test_of_long_parts_the_head_and_the_tail_go_with_the_count_of_the_rest():
    cell = Cell(1, "a" * 3_000 + "z", "b" * 4_000 + "y", "c" * 4_000 + "x", left_out=1_000_000)
    text = text_of(cell)
    assert len(text) < sum(LIMITS.values()) + 200
    assert "… 1,001 characters left out …" in text
    assert "… 1,003,001 characters left out, which the person saw …" in text
    assert "… 2,501 characters left out, which the person saw …" in text
    assert all(end in text for end in ("az\n", "by\n", "cx"))


def test_terminal_codes_of_a_source_are_not_sent():
    assert text_of(Cell(1, "x = 1 # \x1b[31mred\x07")) == "In [1]:\nx = 1 # red"


def test_the_newest_figures_are_chosen_in_their_order():
    one = Cell(1, "", figures=(Figure("png", "a"), Figure("png", "b")))
    two = Cell(2, "", figures=(Figure("png", "c"),))
    assert [figure.content for _, figure in figures_of([one, two])] == ["b", "c"]
    assert figures_of([one, two], 0) == []
    assert [cell.number for cell, _ in figures_of([one, two])] == [1, 2]


def test_a_part_has_the_label_and_no_key():
    [part] = make_parts(cells("key = 'secret'"), lambda text: text.replace("secret", "***"))
    assert (part.kind, part.title, part.content) == ("cell", "In [1]", "In [1]:\nkey = '***'")


# What the person types ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3", {3}),
        ("3-5", {3, 4, 5}),
        ("2,4", {2, 4}),
        (" 2 , 4 - 5 ", {2, 4, 5}),
        ("none", set()),
        (" NONE ", set()),
        (f"1-{LOOK_BACK}", set(range(1, LOOK_BACK + 1))),
    ],
)
def test_cells_are_named_by_numbers(text, wanted):
    assert read_choice(text) == CellChoice(only=frozenset(wanted))


@pytest.mark.parametrize(
    "text",
    ["", "all", "5-3", "-1", "1-", "1,,2", "1;2", "1-999999", "1234567", "²", "1 2", "3-5-7"],
)
def test_other_words_name_no_cells(text):
    with pytest.raises(SessionError, match="names no cells: write numbers"):
        read_choice(text)
