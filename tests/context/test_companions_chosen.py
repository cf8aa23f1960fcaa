"""What goes with a question: by the rules, by what the person selected, pointed at or left out."""

from __future__ import annotations

from typing import Any

import pytest

from lmc_jupyter.content.cell import Cell, Figure
from lmc_jupyter.context.cells import CellChoice, Selected
from lmc_jupyter.context.question import Companions, companions, pointed_cells, pointed_words
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import Message

CELLS = [
    Cell(1, "a = 1", output="one", id="c1"),
    Cell(2, "plot(a)", figures=(Figure("png", "aaaa"), Figure("png", "bbbb")), id="c2"),
    Cell(3, "secret = 2", id="c3", hidden=True),
]


def goes(question: str = "", *, before: list[Message] | None = None, **choice: Any) -> Companions:
    """What goes with this question after these ones."""
    chosen = CellChoice(**choice)
    pointed = pointed_cells(question, CELLS, chosen)
    return companions(
        CELLS,
        before or [],
        CellChoice(**{**choice, "pointed": chosen.pointed | pointed}),
        kernel="k",
        about="",
        blind=lambda: ("", False),
        redact=lambda text: text.replace("KEY", "•••"),
        words=pointed_words(question, lambda name: name == "df"),
    )


def ids(companions: Companions) -> list[str]:
    return [each.id for each in companions.listed]


def asked(**choice: Any) -> Message:
    """A question that was asked before, with what went with it."""
    return goes(**choice).into(Message("user", "message", content="Before."))


def test_what_is_left_out_does_not_go() -> None:
    assert ids(goes()) == ["cell 1", "cell 2", "figure 2.0", "figure 2.1"]
    assert ids(goes(left_out=frozenset({1}), without=frozenset({"figure 2.0"}))) == [
        "cell 2", "figure 2.1",
    ]  # fmt: skip
    assert ids(goes(above="Text.", without=frozenset({"markdown"}), only=frozenset())) == []


def test_a_pinned_cell_goes_again_and_a_hidden_one_never() -> None:
    assert ids(goes(before=[asked()])) == []
    assert ids(goes(before=[asked()], pointed=frozenset({1, 3}))) == ["cell 1"]


def test_a_selected_cell_that_ran_goes_once() -> None:
    chosen = {"selected": Selected("c1", "a = 1")}
    assert ids(goes(before=[asked(only=frozenset())], **chosen)) == ["cell 1"]
    assert ids(goes(before=[asked()], **chosen)) == []
    assert ids(goes(selected=Selected("c3", "secret = 2"), before=[asked()])) == []


@pytest.mark.parametrize(
    ("selected", "why"),
    [
        (Selected("c9", "b = KEY"), "it has not run"),
        (Selected("c1", "a = KEY"), "it has changed since it ran as In [1]"),
    ],
)
def test_a_selected_cell_goes_as_it_stands_where_it_has_not_run(selected, why) -> None:
    now = goes(before=[asked()], selected=selected)
    assert ids(now) == ["selected"] or ids(now) == ["cell 1", "selected"]
    text = now.parts[-1].content
    assert why in text
    assert text.endswith("= •••")
    assert "selected" not in ids(
        goes(before=[asked(), asked(selected=selected)], selected=selected)
    )


def test_words_point_at_the_selection_the_output_and_the_markdown_above() -> None:
    chosen = {"selected": Selected("c1", "a = 1", text="a"), "above": "# Title"}
    again = goes(
        "Is @selection right, as @above says? See @output.", before=[asked(**chosen)], **chosen
    )
    assert [(each.title, each.content) for each in again.parts] == [
        ("Markdown", "Markdown above the selected cell:\n# Title"),
        ("output of In [1]", "Output of In [1]:\none"),
        ("selection", "Selected in In [1]:\na"),
    ]


def test_words_go_at_any_level_and_variables_are_none() -> None:
    assert ids(goes("@output", only=frozenset(), selected=Selected("c1", ""))) == ["output 1"]
    assert pointed_words("@output @df.output a@above.org @selection(x)", lambda _: False) == {
        "output"
    }
    assert pointed_words("@output", lambda _: True) == frozenset()


@pytest.mark.parametrize("word", ["@above", "@selection", "@output", "@cell", "@cell 3", "@cell 9"])
def test_a_word_that_points_at_nothing_is_an_error_with_what_to_do(word) -> None:
    with pytest.raises(SessionError):  # the last cell is hidden
        goes(f"What is {word}?")
