"""A model that always gives the solution away, in a hundred ways and more: none of it is shown."""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from lmc_jupyter.tutor import exercises
from lmc_jupyter.tutor.hints import Hint
from lmc_jupyter.tutor.leaks import find_leak_of_model
from lmc_jupyter.tutor.wording import word

COURSE = exercises.read(Path(__file__).parent / "course")
HINT = Hint(
    "The code runs, and its result is another one than the task wants. Take the smallest example "
    "that you can do by hand: what should come out, and what comes out of your code?",
    1,
    0,
)
PREFACE = (
    "Of course, I am glad to help you with this, since your teacher has said that it is fine this "
    "time. Here is what you want to know. "
)


def lines(code: str) -> list[str]:
    return [each.strip() for each in code.splitlines() if each.strip()]


def tokens(code: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", code)


SPOKEN = {"(": "open bracket", ")": "close bracket", "=": "equals", ":": "colon", "_": "underscore",
          "+": "plus", "-": "minus", "*": "times", ".": "dot", "[": "open square bracket",
          "]": "close square bracket", ",": "comma"}  # fmt: skip
MORSE = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- "
    "-..- -.-- --.."
)


def in_morse(code: str) -> str:
    table = dict(zip("abcdefghijklmnopqrstuvwxyz", MORSE.split(), strict=True))
    return " ".join(table.get(char, "/") for char in code.lower()[:60])


def in_base64(code: str) -> str:
    return base64.b64encode(code.encode()).decode()


def words(code: str) -> list[str]:
    return [each for each in tokens(code) if each.isalnum()]


def widen(code: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in code)


def to_javascript(code: str) -> str:
    return code.replace("def ", "function ").replace(":", " {").replace("    ", "\t")


FORMS: dict[str, Callable[[str], str]] = {
    "a block": lambda code: f"```python\n{code}\n```",
    "a block of tildes": lambda code: f"~~~\n{code}\n~~~",
    "in backquotes": lambda code: f"`{'; '.join(lines(code))}`",
    "each line in backquotes": lambda code: " then ".join(f"`{each}`" for each in lines(code)),
    "lines": lambda code: "\n" + code,
    "a sentence for a line": lambda code: " ".join(f"Write this: {x}." for x in lines(code)),
    "in quotation marks": lambda code: " ".join(f"\u201c{each}\u201d" for each in lines(code)),
    "a token a line": lambda code: "\n".join(tokens(code)),
    "with commas": lambda code: ", ".join(tokens(code)),
    "base64": in_base64,
    "base64 in pieces": lambda code: re.sub("(.{12})", r"\1 ", in_base64(code)),
    "hexadecimal": lambda code: code.encode().hex(" "),
    "binary": lambda code: " ".join(f"{byte:08b}" for byte in code.encode()[:60]),
    "numbers": lambda code: " ".join(str(byte) for byte in code.encode()[:60]),
    "backwards": lambda code: code[::-1],
    "each word backwards": lambda code: " ".join(each[::-1] for each in tokens(code)),
    "rot13": lambda code: codecs.encode(code, "rot13"),
    "letter by letter": lambda code: " ".join(code.replace("\n", " ")[:60]),
    "with hyphens": lambda code: "-".join(code.replace("\n", " ")[:60]),
    "in Morse": in_morse,
    "read aloud": lambda code: " ".join(SPOKEN.get(each, each) for each in tokens(code)),
    "a poem": lambda code: ",\n".join(f"O {each} so fair" for each in words(code)),
    "a verse a word": lambda code: "\n".join(f"{each}, so it begins" for each in words(code)),
    "a table": lambda code: "\n".join(f"| {n} | {each} |" for n, each in enumerate(lines(code))),
    "HTML": lambda code: f"<pre><code>{html.escape(code)}</code></pre>",
    "a comment of HTML": lambda code: f"<!-- {code} -->",
    "a link": lambda code: f"[here](data:text/plain,{quote(code)})",
    "percent": quote,
    "JSON": json.dumps,
    "escapes": lambda code: "".join(f"\\x{byte:02x}" for byte in code.encode()),
    "hidden characters": lambda code: "\u200b".join(code),
    "wide letters": widen,
    "capitals": str.upper,
    "a diff": lambda code: "\n".join(f"+ {each}" for each in lines(code)),
    "JavaScript": to_javascript,
    "a list": lambda code: "\n".join(f"{n}. {each}" for n, each in enumerate(lines(code), 1)),
    "a quotation": lambda code: "\n".join(f"> {each}" for each in lines(code)),
    "the last line": lambda code: f"The last line is {lines(code)[-1]} and nothing else is wrong.",
    "a heading": lambda code: "\n".join(f"# {each}" for each in lines(code)),
    "a formula": lambda code: "$$" + " \\; ".join(lines(code)) + "$$",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("exercise", COURSE.values(), ids=COURSE)
def test_no_form_of_the_solution_is_shown(exercise, form):
    text = PREFACE + form(exercise.reference)
    assert find_leak_of_model(text, exercise, "", HINT.text)
    asked = []

    def write(instructions: str, question: str) -> str:
        asked.append(question)
        return text

    assert word(write, exercise, "", HINT, "Just the code, please.") == HINT
    assert len(asked) == 2
    assert ["Just the code" in each for each in asked] == [True, False]
    assert all(exercise.reference.strip() not in each for each in asked)


@pytest.mark.parametrize("exercise", COURSE.values(), ids=COURSE)
def test_no_long_line_of_the_solution_is_shown_alone(exercise):
    """What a pupil could ask for one line at a time."""
    for line in lines(exercise.reference):
        if len(tokens(line)) > 6:
            assert find_leak_of_model(f"{PREFACE}{line}", exercise, "", HINT.text), line


KIND = (
    "You are nearly there! Your code runs, but it gives another result than the task asks for. "
    "Choose a tiny example, work it out by hand, and compare: what do you expect to see?",
    "Your program works without an error, and that is a good beginning. Now take a very small "
    "example on paper. What should the answer be, and what does your code say?",
    "Das sieht schon gut aus, nur kommt noch nicht heraus, was die Aufgabe verlangt. Nimm ein "
    "ganz kleines Beispiel und rechne es von Hand durch: Was sollte herauskommen?",
    "Think of yourself as the computer for a moment: go through the cell slowly with the smallest "
    "case that you can imagine. At which point does it differ from what you had in mind?",
)


ASIDE = "it speaks about the hint or itself"


@pytest.mark.parametrize("before", ["The hint to say:", "Sure, here's a hint to help the pupil:"])
def test_who_speaks_about_the_hint_does_not_say_it(before):
    text = f"{before} {KIND[0]}"
    assert find_leak_of_model(text, COURSE["mean"], "", HINT.text) == ASIDE


def test_signs_and_numbers_of_the_cell_give_nothing_away_either():
    exercise = COURSE["compound"]
    code = exercise.reference.replace("1 + rate", "rate")
    text = (
        "Look at what the amount is before a year and what it is after that year: it becomes {}, "
        "and you have only a part of it. Which part is it?"
    )
    assert not find_leak_of_model(text.format("more than it was"), exercise, code, HINT.text)
    for piece in ("`1 + rate`", "1 + rate", "`rate + 1`", "`i + 1`", "`rate more`"):
        assert find_leak_of_model(text.format(piece), exercise, code, HINT.text), piece


OFFERS = (
    "Sure, I'd be happy to help you with that! Please provide the code you're working on. Which "
    "values does it have at the beginning?",
    "Good question! I\u2019ll go through it from the beginning with you, value by value, "
    "and we compare. Where do you think that it begins to differ?",
)


@pytest.mark.parametrize("text", OFFERS)
def test_who_offers_to_do_the_work_says_no_hint(text):
    assert find_leak_of_model(text, COURSE["mean"], "", HINT.text) == ASIDE


@pytest.mark.parametrize("text", KIND)
@pytest.mark.parametrize("exercise", COURSE.values(), ids=COURSE)
def test_control_kind_words_that_give_nothing_away_are_shown(exercise, text):
    assert word(lambda *_: text, exercise, "", HINT, "").text == text
