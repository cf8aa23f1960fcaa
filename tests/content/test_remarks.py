"""Remarks of the loop: the model's words stay, the person reads their own."""

from __future__ import annotations

import pytest

from lmc_jupyter.content.remarks import for_person, is_remark, why_not

NO = "This code was not run"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{NO}: the user declined.", "Not run: you declined it."),
        (f"{NO}: the user went on without it.", "Not run: you went on without it."),
        (f"{NO}: the user stopped it.", "Not run: you stopped it."),
        (f"{NO}: the user declined twice.", "Not run: you declined twice."),
        (f"{NO}: nobody answered.", "Not run: nobody answered."),
        (f"{NO}: ask the user first.", "Not run: ask the user first."),
        (f"{NO}.", "Not run."),
        ("Stopped here.", "Stopped here."),
    ],
)
def test_a_person_reads_what_they_did_themselves(text: str, words: str) -> None:
    assert for_person(text) == words


@pytest.mark.parametrize(
    ("text", "whether"),
    [
        (f"{NO}: use numpy.", True),
        (f"{NO}: use numpy.\n", False),
        ("Stopped: 3 blocks of code in a row were not run. Ask again to go on.", True),
        ("Stopped: 3 jobs.", False),
        ("42", False),
    ],
)
def test_what_a_program_prints_is_no_remark(text: str, whether: bool) -> None:
    assert is_remark(text) is whether


def test_a_reason_is_without_its_sentence() -> None:
    assert why_not(f"{NO}: the user declined.") == "you declined it."
    assert why_not(NO) == ""
