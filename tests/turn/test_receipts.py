"""Where the numbers of closing words stand."""

from __future__ import annotations

import pytest

from lmc_jupyter.context.parts import Part, to_extra
from lmc_jupyter.lmc import RECEIPTS, Message
from lmc_jupyter.turn.receipts import find_receipts, receipts_of


def message(id: str, role: str, type: str, content: str, **more: object) -> Message:
    return Message(role, type, content=content, id=id, **more)


QUESTION = message("q", "user", "message", "Of my 7 values?")
CODE = message("c", "assistant", "code", "print(x * 2)", format="python")
OUTPUT = message("o", "computer", "console", "mean 3.4375", format="output")
PAGE = message("p", "computer", "code", "<td width=77>8.5</td>", format="html")


def said(text: str, **more: object) -> Message:
    return message("a", "assistant", "message", text, **more)


def test_each_number_leads_to_the_first_text_that_has_it_outputs_before_code():
    messages = [QUESTION, CODE, OUTPUT, PAGE, said("3.44, 2, 7, 8.5, 77 and 99")]
    assert find_receipts(messages, 0) == {
        "3.44": "o", "2": "c", "7": "q", "8.5": "p", "77": None, "99": None,
    }  # fmt: skip


def test_earlier_outputs_count_and_earlier_words_of_a_model_do_not():
    before = [QUESTION, CODE, OUTPUT, said("It is 55.")]
    now = [message("q2", "user", "message", "Again?"), CODE, said("3.4375, not 55")]
    assert find_receipts([*before, *now], 4) == {"3.4375": "o", "55": None}


def test_what_of_the_notebook_went_along_counts():
    extra = to_extra([Part("cell", "In [3]", "rate = 0.19")])
    asked = message("q", "user", "message", "The rate?", extra=extra)
    assert find_receipts([asked, said("It is 19 %, not 21 %.")], 0) == {"19": "q", "21": None}


def test_talk_has_no_marks():
    assert find_receipts([QUESTION, said("About 1.4 billion.")], 0) == {}


@pytest.mark.parametrize(
    "last",
    [
        CODE,
        OUTPUT,
        said("9", extra={"partial": True}),
        message("a", "assistant", "message", "9", recipient="user"),
        said("no numbers"),
    ],
)
def test_where_there_are_no_closing_words_there_is_nothing(last):
    assert find_receipts([QUESTION, CODE, OUTPUT, last], 0) == {}
    assert find_receipts([], 0) == {}


def test_what_a_file_says_of_receipts_is_read_with_care():
    extra = {RECEIPTS: {"1": "o", "2": None, "3": 4, 5: "o", "6": ["o"]}}
    assert receipts_of(said("1", extra=extra)) == {"1": "o", "2": None}
    assert receipts_of(said("1", extra={RECEIPTS: "all"})) == {}
    assert receipts_of(message("q", "user", "message", "1", extra=extra)) == {}
