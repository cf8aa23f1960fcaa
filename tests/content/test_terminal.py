"""Terminal text as plain text: nothing of it is left that a terminal would obey."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.content.terminal import plain
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats import markdown, notebook
from lmc_jupyter.lmc import Message

SHOWN = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b[38;2;1;2;3mred\x1b[m \x1b[?25lno cursor", "red no cursor"),
    ("\x1b]0;title\x07text", "text"),
    ("\x1b]0;title\x1b\\text", "text"),
    ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1b]52;c;cm0gLXJm\x07copied", "copied"),
    ("\x1bP1$r0m\x1b\\dcs \x1b^pm\x1b\\\x1b_apc\x1b\\\x1bXsos\x1b\\", "dcs "),
    ("\x9b31mred\x9b0m \x9d0;title\x9ctext \x90dcs\x9c", "red text "),
    ("\x1b(B\x1b=\x1b7a\x1bM\x1bc", "a"),
    ("\x1b]0;no end", "no end"),
    ("\x1b[31", ""),
    ("a\x1b", "a"),
    ("a\x08\x00\x7f\x85b\tc\n", "ab\tc\n"),
    ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_no_escape_and_no_control_is_left(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_control_the_texts_have_what_is_taken_away(record_property) -> None:
    obeyed = [text for text, _ in SHOWN if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)]
    assert len(obeyed) == len(SHOWN)
    record_property("figure", f"{len(obeyed)} of {len(SHOWN)} texts, as they came, are obeyed")


@given(st.text(st.sampled_from("\x1b\x9b\x9d\x90\x9c\x07\r\n\\[]P;0mA ")))
def test_whatever_it_is_given(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", plain(text))


@pytest.mark.parametrize(
    "start", ["\x1b", "\x1b]", "\x9d", "\x1bP", "\x90", "\x1b[", "\x1b[0;", "\r"]
)
def test_it_takes_no_longer_than_the_text(start: str) -> None:
    """Where it took the square of that, this would not end within the suite's own limit."""
    assert not re.search("[\x1b\x9d\x90]", plain(start * 300_000))


@pytest.mark.parametrize("text", ["\x1b]0;title\x07x", "\x1b]8;;http://a\x1b\\x", "\x9b31mx"])
def test_no_escape_is_in_a_file_for_people(text: str) -> None:
    code = Message("assistant", "code", "python", "f()")
    out = Message("computer", "console", "output", text)
    said = Message("assistant", "message", content=f"So: {text}")
    given = Conversation([said, code, out], title=text, model=text)
    written = markdown.write(given)[0].decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", written)
    again = notebook.read(notebook.write(given)[0])
    assert [again.title, *(each.content for each in again.messages)] == ["x", "So: x", "f()", "x"]
