"""Errors as a model reads them."""

from __future__ import annotations

import linecache

from lmc_jupyter.content.error_text import short

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


def test_causes_are_told_in_order():
    code = "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('no') from e"
    text = error_of(code)
    assert text.index("ZeroDivisionError") < text.index("direct cause") < text.index("ValueError")
    assert "ZeroDivisionError" not in error_of(code.replace("from e", "from None"))


def test_a_circle_of_causes_ends():
    code = "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a"
    assert [line for line in error_of(code).splitlines() if line.startswith("Value")] == [
        "ValueError: b",
        "ValueError: a",
    ]


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
