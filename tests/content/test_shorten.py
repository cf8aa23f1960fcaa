"""Truncated text: its length, and how many characters it lacks."""

from __future__ import annotations

import pytest

from lmc_jupyter.content import shorten


@pytest.mark.parametrize("most", [0, 1, 7, 17])
def test_a_long_text_keeps_so_many_characters_and_the_rest_is_counted(most):
    text = "abcdefghijklmnopqrstuvwxyz!"
    note = f"… {27 - most:,} characters left out"
    assert shorten.head(text, most) == text[:most] + note
    first, _, last = shorten.middle(text, most).partition(f"\n{note} …\n")
    assert len(first) + len(last) == most
    assert text.startswith(first)
    assert text.endswith(last)


def test_a_text_that_fits_stays_the_same():
    for truncate in (shorten.line, shorten.head, shorten.middle):
        assert truncate("abc", 3) == "abc"


def test_a_line_ends_with_a_mark_within_its_length():
    assert shorten.line("abc def", 6) == "abc d…"
    assert shorten.line("abc def", 5) == "abc…"


def test_the_middle_counts_what_was_left_out_of_it_before():
    assert shorten.middle("a" * 10, 4, first=1, more=90) == "a\n… 96 characters left out …\naaa"


TABLE = "\n".join(f"{month:>6}  {month * 1000:>9,}" for month in range(1000))


@pytest.mark.parametrize("most", [1_000, 1_001, 1_015, 2_345])
def test_a_cut_falls_between_lines_and_says_how_many(most):
    text = shorten.middle(TABLE, most, seen=True)
    rows = TABLE.split("\n")
    (note,) = [line for line in text.split("\n") if line not in rows]
    assert note.endswith("lines left out, which the person saw …")
    assert len(text.split("\n")) - 1 + int(note.split()[1].replace(",", "")) == len(rows)
    assert most - 40 < len(text) - len(note) <= most + 2
    first, _, last = text.partition(f"{note}\n")
    assert TABLE.startswith(first)
    assert TABLE.endswith(last)
    *whole, last = shorten.head(TABLE, most).split("\n")
    assert whole == rows[: len(whole)]
    assert last == f"… {len(rows) - len(whole):,} lines left out"


def test_nothing_is_left_out_for_less_than_400_characters():
    text = TABLE[:1_400]
    assert shorten.middle(text, 1_000) == shorten.head(text, 1_000) == text
    assert "left out" in shorten.middle(TABLE[:1_401], 1_000)


def test_a_very_long_line_is_cut_within_it():
    text = shorten.middle("a" * 5_000 + "\nb\nc" + "d" * 5_000, 1_000)
    assert text == f"{'a' * 500}\n… 9,004 characters left out …\n{'d' * 500}"
