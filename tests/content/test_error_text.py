"""Errors as a model reads them."""

from __future__ import annotations

import linecache

import pytest

from lmc_jupyter.content.error_text import short, without_stop

NAME = "<block>"


def error_of(code):
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        exec(compile(code, NAME, "exec"), {"__name__": "block"})
    except BaseException as error:
        return short(error, NAME)
    raise AssertionError("the code raised nothing")


def test_the_codes_own_frames_and_the_message():
    assert error_of("def f():\n    1/0\nf()") == (
        "Traceback (most recent call last):\n  line 3\n    f()\n"
        "  line 2, in f\n    1/0\nZeroDivisionError: division by zero\n"
    )


def test_of_a_librarys_frames_only_the_innermost():
    text = error_of("import json\njson.loads('{')")
    assert text.count("File ") == 1
    assert "json/decoder.py" in text.replace("\\", "/")
    assert text.endswith("(char 1)\n")


def test_of_many_frames_the_first_and_the_last():
    text = error_of("def f(n):\n    if n == 0: raise ValueError('deep')\n    f(n - 1)\nf(500)")
    assert "… 496 more frames …" in text
    assert text.count("line ") < 10


def test_a_recursion_error_is_short():
    text = error_of("def f(): f()\nf()")
    assert len(text) < 1500
    assert "RecursionError" in text


def test_of_a_chain_the_last_is_told_and_the_first_in_a_line():
    code = "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('no') from e"
    text = error_of(code)
    assert text.count("Traceback") == 1
    assert text.endswith("ValueError: no\nIt came from ZeroDivisionError: division by zero\n")
    assert "ZeroDivisionError" not in error_of(code.replace("from e", "from None"))
    assert "It came from" in error_of(code.replace(" from e", ""))


def test_a_circle_of_causes_ends():
    code = "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a"
    assert error_of(code).endswith("ValueError: a\nIt came from ValueError: b\n")


FLIGHTS = "import pandas as pd\nfl = pd.DataFrame({'year': [1], 'dep_delay': [2]})\n"


@pytest.mark.parametrize(
    "code", ["fl['delay']", "fl.delay", "fl[['year', 'x']]", "fl.groupby('carrier').mean()"]
)
def test_a_column_that_is_not_there_is_told_with_those_that_are(code):
    text = error_of(FLIGHTS + code)
    assert text.count("Traceback") == 1
    assert text.endswith("\nfl has the columns year, dep_delay\n")


def test_of_very_many_columns_the_nearest_come_first():
    code = "import pandas as pd\nfl = pd.DataFrame({f'sensor_{n:04}': [1] for n in range(900)})\n"
    line = error_of(f"{code}fl['Sensor_0777']").splitlines()[-1]
    assert line.startswith("fl has the columns sensor_0777, ")
    assert line.endswith(" more")
    assert len(line) < 2_200


@pytest.mark.parametrize(
    ("code", "near"),
    [
        ("weather = 1\nprint(wether)", "weather"),
        ("import math\nmath.sqr(2)", "sqrt"),
        ("d = {'alpha': 1}\nd['Alpa']", "alpha"),
        ("class A: delay = 1\nA().dealy", "delay"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_those_that_are_near(code, near):
    last = error_of(code).splitlines()[-1]
    assert near in last.partition("Near it: ")[2] or f"Did you mean: '{near}'" in last


def test_no_code_of_the_person_is_called_for_names_that_are_near():
    code = (
        "class A:\n"
        "    def __getattribute__(self, name): raise AttributeError(name=name, obj=self)\n"
        "    def __dir__(self): raise AssertionError('it was asked')\n    delay = 1\nA().dealy"
    )
    assert "it was asked" not in error_of(code)


@pytest.mark.parametrize("code", ["raise KeyError", "raise AttributeError('x')", "{}['zzz']"])
def test_an_error_that_says_too_little_stays_as_it_is(code):
    assert error_of(code).splitlines()[-1].startswith(("KeyError", "AttributeError"))


def test_a_syntax_error_shows_its_place():
    text = error_of("a = 1\nb = = 2")
    assert text == "  This code, line 2\n    b = = 2\n        ^\nSyntaxError: invalid syntax\n"


def test_a_long_message_is_cut_in_the_middle():
    text = error_of("raise ValueError('x' * 100_000)")
    assert len(text) < 5000
    assert "… 96," in text


def test_an_error_whose_text_fails_is_still_told():
    text = error_of("class E(Exception):\n    def __str__(self): 1/0\nraise E")
    assert "E" in text.splitlines()[-1]


def test_an_interrupt_is_one_word():
    assert error_of("raise KeyboardInterrupt") == "KeyboardInterrupt\n"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("begun\nIt was at line 3.\nKeyboardInterrupt\n", "begun\n"),
        ("KeyboardInterrupt", ""),
        ("KeyboardInterrupt is what it says\n", None),
        ("Traceback (most recent call last):\n    f()\nKeyboardInterrupt\n", None),
        ("no KeyboardInterrupt\n", None),
    ],
)
def test_of_a_stop_our_own_lines_go_and_no_other(text, rest):
    assert without_stop(text) == (text if rest is None else rest)
