"""Where cells stand in a notebook, by what a front end says."""

from __future__ import annotations

from typing import Any

import pytest

from lmc_jupyter.content.cell import MAX_CELLS, MAX_HEADING, read_places


def test_a_cell_has_its_number_from_the_top_and_the_headings_above_it():
    outline = [
        ["a", ""],
        ["b", "# Load\n## Clean"],
        ["c", ""],
        ["d", "## Plot"],
        ["e", ""],
        ["f", f"# {'x' * 200}"],
        ["g", ""],
    ]
    places = read_places(outline)
    assert places["a"] == "cell 1 of 7"
    assert places["c"] == "cell 3 of 7, below 'Load' > 'Clean'"
    assert places["d"] == "cell 4 of 7, below 'Load' > 'Clean'"
    assert places["e"] == "cell 5 of 7, below 'Load' > 'Plot'"
    assert places["g"].startswith("cell 7 of 7, below 'xxx")
    assert len(places["g"]) < MAX_HEADING + 30


@pytest.mark.parametrize(
    "said", [None, "a", {}, [["a", ""]] * (MAX_CELLS + 1), [["a"], [1, ""], "ab", None]]
)
def test_what_is_no_outline_has_no_places(said: Any):
    assert read_places(said) == {}
