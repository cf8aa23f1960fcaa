"""What is in a figure of matplotlib is said in words: titles, labels, limits, series, legends."""

from __future__ import annotations

from typing import Any

import pytest

from lmc_jupyter.content.plots import MAX_KNOWN, MAX_SERIES, MAX_TEXT, describe, learn, text_of

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402


def axes_of(**options: Any) -> tuple[Figure, Any]:
    figure = Figure()
    return figure, figure.subplots(**options)


def test_a_line_is_said_with_its_ends_the_labels_the_limits_and_the_legend():
    figure, axes = axes_of()
    axes.plot([1, 2, 4], [0.5, 3, 2.25], label="mean delay")
    axes.set(title="By month", xlabel="month", ylabel="minutes", xlim=(0, 12), ylim=(-1, 9))
    axes.legend(title="What")
    assert describe(figure) == (
        "title 'By month'; x 'month' from 0 to 12; y 'minutes' from -1 to 9; "
        "line 'mean delay' of 3 points, (1, 0.5) … (4, 2.25); legend What, mean delay"
    )


def test_bars_are_said_with_their_categories_and_each_pair_of_axes_has_its_line():
    figure, (left, right) = axes_of(ncols=2)
    left.barh(["UA", "AA", "DL"], [1.5, 2, 3])
    right.scatter([1, 2], [3, 4], label="planes")
    figure.suptitle("Two")
    first, one, two = describe(figure).splitlines()
    assert first == "title 'Two'"
    assert one.startswith("axes 1 of 2: x from 0 to ")
    assert one.endswith("; y with UA, AA, DL; 3 bars: 1.5 … 3")
    assert two.endswith("; points 'planes': 2 points, (1, 3) … (2, 4)")


def test_an_image_is_said_with_its_values():
    figure, axes = axes_of()
    axes.imshow([[0, 1], [2, 7]])
    assert "image of 2 x 2 values from 0 to 7" in describe(figure)


def test_of_many_series_some_are_said_and_the_whole_is_short():
    figure, axes = axes_of()
    for n in range(40):
        axes.plot([n, 2], [1, 2], label="x" * 500)
    text = describe(figure)
    assert f"{40 - MAX_SERIES} more lines" in text or len(text) >= MAX_TEXT
    assert len(text) < 2 * MAX_TEXT


def test_what_fails_when_it_is_looked_at_is_left_out():
    class Trap:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert describe(Trap()) == ""
    figure, axes = axes_of()
    axes.set_title("Still here")
    axes.get_legend = None
    assert "title 'Still here'" in describe(figure)


def test_of_the_newest_images_it_is_known_what_is_in_them():
    for number in range(MAX_KNOWN + 1):
        learn(f"image {number}".encode(), f"text {number}")
    assert text_of(b"image 0") == text_of(b"of somebody else") == ""
    assert text_of(b"image 1") == "text 1"
