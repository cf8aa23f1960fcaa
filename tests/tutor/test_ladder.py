"""A hint that an error's words would make a leak is the first step's, which has none of them."""

from __future__ import annotations

from dataclasses import replace

from lmc_jupyter.session import Session
from lmc_jupyter.tutor.exercises import Exercise
from lmc_jupyter.tutor.leaks import find_leak
from lmc_jupyter.tutor.tutor import Tutor, Work

REFERENCE = "def area(width, height):\n    product = width * height\n    return product"
TELLS = Exercise(
    "area", "Write area.", REFERENCE, "assert area(2, 3) == 6, 'write `product = width * height`'"
)


def third_hint(exercise, tmp_path):
    tutor = Tutor(Session(keep=False), tmp_path)
    for number in range(3):
        code = f"def area(width, height):\n    return width + height + 1{number}"
        given = tutor.hint(exercise, Work(code, (), has_run=True))
    return code, given.hint


def test_what_a_message_of_the_teacher_gives_away_is_not_shown(tmp_path):
    code, hint = third_hint(TELLS, tmp_path)
    assert (hint.level, find_leak(hint.text, TELLS, code)) == (3, "")
    assert "product" not in hint.text
    # the control: a message that gives nothing away
    careful = replace(TELLS, tests="assert area(2, 3) == 6, 'it is 6'")
    assert "it is 6" in third_hint(careful, tmp_path)[1].text
