"""Numbers of prose, and in which texts they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.content.numbers import NumberIndex, numbers

FILE = Path(__file__).with_name("labelled_numbers.txt")


def cases() -> list[tuple[str, str]]:
    """(the texts of an answer, a sentence of its closing words) of the labelled file."""
    found = []
    for block in re.split(r"^== .*\n", FILE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        texts, _, sentences = block.partition("\n---\n")
        found += [(texts, line.replace("\\n", "\n")) for line in sentences.strip().splitlines()]
    return found


def marked(texts: str, sentence: str) -> list[tuple[str, bool]]:
    """Each number of the sentence, and whether it is said to stand in no text."""
    index = NumberIndex([("it", texts)])
    return [(each.text, index.find(each) is None) for each in numbers(sentence)]


def test_of_the_labelled_sentences_few_are_marked_falsely_and_few_are_missed(record_property):
    sentences = cases()
    assert len(sentences) >= 200
    labels = alarms = real = missed = 0
    wrong = []
    for texts, labelled in sentences:
        sentence = re.sub("[«»]", "", labelled)
        of_none = re.findall(r"«(.*?)»", labelled)
        plain = [each.text for each in numbers(re.sub("«.*?»", "", labelled))]
        found = [text for text, is_marked in marked(texts, sentence) if is_marked]
        labels, real = labels + len(plain), real + len(of_none)
        rest = list(found)
        for each in of_none:
            hit = next((text for text in rest if each.startswith(text)), None)
            if hit is None:
                missed += 1
                wrong.append(f"missed {each}: {sentence}")
            else:
                rest.remove(hit)
        alarms += len(rest)
        wrong += [f"false {each}: {sentence}" for each in rest]
    figure = (
        f"{len(sentences)} sentences: {alarms} of {labels} numbers marked falsely, "
        f"{missed} of {real} missed"
    )
    record_property("figure", figure)
    assert alarms <= 0.03 * labels, (figure, wrong)
    assert missed <= 0.05 * real, (figure, wrong)
    page = (Path(__file__).parents[2] / "docs" / "how-it-works.md").read_text("utf-8")
    assert f"On {len(sentences)} labelled sentences {alarms} of {labels} numbers" in page
    assert f"{missed} of {real} are missed" in page


@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ("It is 1,234.5 or 1 234.5.", ["1,234.5", "1 234.5"]),
        ("Step 2 has 3 parts, and `df.head(5)` shows `7`.", ["3", "7"]),
        ("1. first\n2. second, 9 times", ["9"]),
        ("```python\nx = 5\n```\nIt is 6.", ["6"]),
        ("See [this](https://example.org/42) or https://example.org/43.", []),
        ("pandas 2.2.3, v1.4 and x1 of H2O in 3D came 2nd.", []),
        (r"Here $x = 5$ and \(y = 6\), and it costs $7 or $8.", ["7", "8"]),
        ("significant (p < 0.05, 95 % confidence), r = 0.5", ["0.5"]),
        ("Of 10-20 things \u22123 are left.", ["10", "20", "3"]),
        ("", []),
    ],
)
def test_what_is_no_result_is_no_number(prose, expected):
    assert [each.text for each in numbers(prose)] == expected


@pytest.mark.parametrize(
    ("prose", "text", "is_there"),
    [
        ("about 1,200", "1234", True),
        ("1,200", "1234", False),
        ("42 %", "0.4213", True),
        ("42.2 %", "0.4213", False),
        ("3", "2.6", False),
        ("13", "12.6", True),
        ("2.72", "2.71828", True),
        ("2.71", "2.71828", False),
        ("1.2 million", "1204311", True),
        ("51 ms", "0.051", True),
        ("3.3 \u00d7 10\u00b9\u00b9", "333283335000", True),
        ("12,5 und 1.234,56", "12.5 1234.56", True),
        ("1,000", "1", False),
        ("7", "x7 = [1, 200]", False),
        ("200", "[1, 200]", True),
        ("200.5", "10 200.5", True),
        ("-12", "-12", True),
    ],
)
def test_rounding_and_separators_are_understood(prose, text, is_there):
    missing = [is_missing for _, is_missing in marked(text, prose)]
    assert missing
    assert any(missing) != is_there


def test_the_first_text_that_has_it_is_named():
    index = NumberIndex([("output", "42.3"), ("code", "42 7"), ("question", "7")])
    found = [index.find(each) for each in numbers("42, 7 and 8")]
    assert found == ["output", "code", None]


@given(st.text(alphabet="0123456789.,%$`'()[]{}e+-^\u00d7\u00b9*\\ \nabkM\u00a0", max_size=200))
def test_no_text_is_too_strange(text):
    index = NumberIndex([(0, text)])
    for each in numbers(text):
        index.find(each)


@pytest.mark.long
def test_text_that_is_made_to_be_slow_is_read_up_to_a_bound():
    for piece in ("`a", "$1", "\\(1", "1,", "1 000", "```\n"):
        list(numbers(piece * 200_000))
        NumberIndex([(0, piece * 200_000)])


@pytest.mark.parametrize("prose", ["3 \u00d7 10^999999", "1e999", "3 x 10-999", "9" * 400])
def test_what_no_number_of_python_holds_is_none(prose):
    assert [each for each in numbers(prose) if each.text != "3"] == []
