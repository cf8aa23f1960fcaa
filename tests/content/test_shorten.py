"""Truncated text: its length, and how many characters it lacks."""

from __future__ import annotations

import pytest

from lmc_jupyter.content import shorten


@pytest.mark.parametrize("most", [0, 1, 7, 26])
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
