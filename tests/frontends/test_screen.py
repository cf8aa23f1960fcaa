"""What a page says of itself: hostile, so bounded, and given to who waits for it, once."""

from __future__ import annotations

import threading

import pytest

from lmc_jupyter.computer.screen import Page
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.frontends.screen import SILENT_SECONDS, CellScreen, Pages, read_page


def report(**more):
    return {"lines": [], "text": "", "width": 0, "height": 0, **more}


def test_whoever_waits_gets_the_page_that_shows_the_same():
    pages = Pages()
    one, other = pages.expect("<b>1</b>"), pages.expect("<b>2</b>")
    assert pages.is_awaited("<b>1</b>")
    assert not pages.is_awaited("<b>3</b>")
    assert pages.receive("<b>3</b>", report()) is None
    page = pages.receive("<b>2</b>", report(lines=["two"], text="2", width=10, height=20))
    assert page == Page(("two",), "2", 10, 20)
    assert other.wait(60) == page
    assert not pages.is_awaited("<b>2</b>")
    assert pages.receive("<b>2</b>", report(lines=["again"])) is None
    assert one.wait(0) is None
    assert not pages.is_awaited("<b>1</b>")


def test_two_that_show_the_same_get_a_report_each():
    pages = Pages()
    both = [pages.expect("x"), pages.expect("x")]
    pages.receive("x", report(lines=["first"]))
    assert pages.is_awaited("x")
    pages.receive("x", report(lines=["second"]))
    assert [each.wait(60).lines for each in both] == [("first",), ("second",)]


def test_a_text_that_utf8_cannot_hold_is_known_again():
    pages = Pages()
    expected = pages.expect("<b>\ud800</b>")
    assert pages.is_awaited("<b>\ud800</b>")
    assert pages.is_awaited("<b>\ufffd</b>")  # as the front end has it
    pages.receive("<b>\ufffd</b>", report(text="\udc00"))
    assert expected.wait(60).text == "\ufffd"


def test_stop_wakes_who_waits_and_nobody_waits_after_it():
    pages = Pages()
    expected = pages.expect("x")
    got: list[object] = []
    waiting = threading.Thread(target=lambda: got.append(expected.wait(600)))
    waiting.start()
    pages.stop()
    waiting.join(60)
    assert got == [None]
    assert pages.expect("y").wait(600) is None


def test_after_a_page_that_was_not_heard_the_next_one_is_waited_for_a_moment_only():
    pages = Pages()
    assert pages.patience(600) == 600
    assert pages.expect("x").wait(0) is None
    assert pages.patience(600) == SILENT_SECONDS
    assert pages.expect("y").wait(600) is None
    late = pages.expect("z")
    pages.receive("z", report())
    assert late.wait(600) is not None
    assert pages.patience(600) == 600


@pytest.mark.parametrize(
    "content",
    [
        None, "x", [], 7, {}, {"lines": "x", "text": ""}, {"lines": [], "text": 7},
        {"lines": None, "text": ""}, {"lines": {"0": "x"}, "text": ""},
    ],
)  # fmt: skip
def test_what_is_no_report_is_not_taken(content):
    assert read_page(content) is None


def test_a_report_is_bounded():
    page = read_page(report(lines=["x" * 50_000] * 5, text="y" * 50_000))
    assert [len(each) for each in page.lines] == [10_000] * 5
    assert len(page.text) == 10_000
    page = read_page(report(lines=[f"{i}" for i in range(1_000)]))
    assert len(page.lines) == 201
    assert page.lines[-1] == "… more lines are left out …"
    page = read_page(report(lines=["x" * 10_000] * 100))
    assert sum(map(len, page.lines)) < 100_100
    assert page.lines[-1] == "… more lines are left out …"


@pytest.mark.parametrize(
    ("value", "pixels"),
    [
        (300, 300), (300.6, 300), (-5, 0), (1e12, 100_000), (float("inf"), 100_000),
        (float("nan"), 0), ("300", 0), (None, 0), (True, 0), ([300], 0),
    ],
)  # fmt: skip
def test_sizes_are_numbers_within_bounds(value, pixels):
    page = read_page(report(width=value, height=value))
    assert (page.width, page.height) == (pixels, pixels)


def test_lines_that_are_no_text_are_left_out():
    assert read_page(report(lines=["a", 7, None, {"b": 1}, "c"])).lines == ("a", "c")


def test_a_cell_expects_a_page_only_where_a_browser_is():
    there = CellScreen(Pages(), lambda: True, None)
    assert there.expect("x") is not None
    assert CellScreen(Pages(), lambda: False, None).expect("x") is None
    with pytest.raises(ComputerError, match="nobody can be asked"):
        there.ask("Name? ")
    typed = CellScreen(Pages(), lambda: True, lambda prompt, password: f"{prompt}{password}")
    assert typed.ask("N: ") == "N: False"
    assert typed.ask("K: ", password=True) == "K: True"
