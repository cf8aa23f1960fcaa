"""The effects of code in words."""

from __future__ import annotations

from lmc_jupyter.content.effect import Effect
from lmc_jupyter.frontends.cell.html import effects_html
from lmc_jupyter.frontends.effect_words import MAX_NAME, pieces, plain_text


def test_effects_of_one_kind_are_one_piece():
    effects = [
        Effect("makes", "a"),
        Effect("makes", "b"),
        Effect("overwrites", "df", "DataFrame 3x5"),
        Effect("writes", "out.csv"),
        Effect("network", "requests"),
        Effect("unknown", "helper()"),
    ]
    assert plain_text(effects) == (
        "overwrites your `df` (DataFrame 3x5) · creates `a` and `b` · writes `out.csv` · "
        "network: `requests` · calls `helper()`, which may do more"
    )


def test_what_a_person_loses_comes_first_and_is_marked_by_more_than_colour():
    effects = [Effect("makes", "a"), Effect("overwrites", "b"), Effect("removes", "c.txt")]
    assert [piece.warns for piece in pieces(effects)] == [True, True, False]
    assert effects_html(pieces(effects)).count("<b>") == 2


def test_every_one_of_a_dozen_overwritten_names_is_named_and_of_others_the_rest_is_counted():
    names = [f"n{i}" for i in range(12)]
    text = plain_text([Effect("overwrites", name) for name in names])
    assert all(f"`{name}`" in text for name in names)
    assert plain_text([Effect("makes", name) for name in names]).endswith("and 6 more")


def test_a_foreign_name_is_short_and_on_one_line_and_hides_nothing():
    text = plain_text([Effect("writes", f"a\n\u202e<b>{'x' * 500}")])
    assert "\n" not in text
    assert "⟨U+202E⟩" in text
    assert len(text) < MAX_NAME + 20


def test_foreign_names_are_text_in_html():
    html = effects_html(pieces([Effect("writes", "<img src=x>", "<script>")]))
    assert "<img" not in html
    assert "<script" not in html


def test_only_the_loss_of_what_is_the_person_s_own_warns():
    effects = [
        Effect("overwrites", "fig", "Figure", is_theirs=False),
        Effect("overwrites", "df", "DataFrame 3x5"),
        Effect("loses", "ships", "dict, 3 items"),
        Effect("empties", "ages", "list, 2 items"),
        Effect("changes", "rows"),
        Effect("removes", "diary.txt"),
    ]
    assert plain_text(effects) == (
        "overwrites your `df` (DataFrame 3x5) · deletes all items of your `ages` (list, 2 items) · "
        "deletes an item of your `ships` (dict, 3 items) · "
        "deletes the file `diary.txt` · overwrites `fig` (Figure) · changes your `rows`"
    )
    assert [piece.warns for piece in pieces(effects)] == [True, True, True, True, False, False]


def test_a_rename_is_a_rename():
    text = plain_text([Effect("renames", "diary.txt", "old-diary.txt")])
    assert text == "renames `diary.txt` to `old-diary.txt`"
