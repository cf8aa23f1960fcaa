"""Which fault a hint is about, and that no hint gives the solution away: twenty exercises, sixty
wrong solutions, of which those of the last ten exercises were not looked at while the rules were
made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from sampling import LONG, sample

from lmc_jupyter.tutor import exercises
from lmc_jupyter.tutor.attempt import attempt
from lmc_jupyter.tutor.faults import find_fault, has_code
from lmc_jupyter.tutor.hints import LEVELS, template
from lmc_jupyter.tutor.leaks import LEAST_WORDS, MOST_WORDS, find_leak

COURSE = Path(__file__).parent / "course"
EXERCISES = exercises.read(COURSE)
WRONG: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("wrong_solutions.yaml").read_text("utf-8")
)
LOOKED_AT = list(EXERCISES)[:10]


def test_there_are_twenty_exercises_with_sixty_wrong_solutions():
    assert len(EXERCISES) == 20
    assert set(WRONG) == set(EXERCISES)
    assert sum(map(len, WRONG.values())) == 60


@pytest.mark.parametrize("name", sample(EXERCISES, 2))
def test_the_reference_passes_its_tests(name):
    each = EXERCISES[name]
    tried = attempt(each, each.reference, (), COURSE)
    assert tried.has_passed, tried
    assert tried.passed == tried.tests > 0


def tell(name: str, code: str, lines: list[int]) -> tuple[bool, list[str]]:
    """Whether the fault's line is the true one, and what is wrong with the hints."""
    exercise = EXERCISES[name]
    tried = attempt(exercise, code, (), COURSE)
    assert not tried.has_passed, (name, code)
    fault = find_fault(exercise, tried)
    leaks = []
    for level in range(1, len(LEVELS) + 1):
        hint = template(tried, fault, level)
        assert LEAST_WORDS <= len(hint.text.split()) <= MOST_WORDS, hint
        assert hint.text.count("?") <= 1, hint
        if leak := find_leak(hint.text, exercise, code):
            leaks.append(f"{name}, {fault.kind}, {level}: {leak}: {hint.text}")
    return fault.line in lines, leaks


def test_the_true_line_is_named_and_nothing_leaks(record_property):
    cases = [(name, each) for name, every in WRONG.items() for each in every]
    found = {True: [0, 0], False: [0, 0]}
    leaks: list[str] = []
    for name, each in sample(cases, 6):
        is_right, leaked = tell(name, each["code"], [each["line"], *each.get("also", ())])
        count = found[name in LOOKED_AT]
        count[0] += is_right
        count[1] += 1
        leaks += leaked
    right, count = (sum(pair) for pair in zip(*found.values(), strict=True))
    assert leaks == []
    assert right >= 0.9 * count, found
    if LONG:
        page = (Path(__file__).parents[2] / "docs" / "teaching.md").read_text("utf-8")
        assert f"the hint names the true line in {right}, and in {found[False][0]} of the" in page
    record_property("figure", f"{right} of {count} lines right, 0 leaks; of those that were not "
                    f"looked at {found[False][0]} of {found[False][1]}")  # fmt: skip


@pytest.mark.parametrize(
    ("code", "has"),
    [
        ("", False),
        ("# later", False),
        ("def mean(numbers):\n    'Gives the mean.'\n    pass", False),
        ("def mean(numbers):\n    return None", False),
        ("result = ...", False),
        ("x = 1", True),
        ("def mean(numbers):\n    return 1", True),
        ("def mean(:", True),
    ],
)
def test_what_counts_as_begun(code, has):
    assert has_code(code) is has


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("", "nothing yet", 0),
        ("def mean(numbers):\n    if not numbers:\n        return 0\n"
         "    return sum(numbers) / len(numbers)", "passed", 0),
        ("def mean(numbers):\n    while True:\n        pass", "endless", 2),
        ("def average(numbers):\n    return 1", "wrong name", 1),
        ("x = 1\ny = 2", "missing name", 0),
        ("def mean(numbers):\n    total = sum(numbers)", "no value", 1),
        ("def mean(numbers):\n    print(sum(numbers) / len(numbers))", "prints", 2),
        ("raise SystemExit", "error", 1),
        ("import os\nos._exit(3)", "error", 1),
        ("def mean(numbers)\n    return 1", "syntax", 1),
    ],
)  # fmt: skip
def test_kinds_of_faults(code, kind, line, monkeypatch):
    monkeypatch.setattr("lmc_jupyter.tutor.attempt.SECONDS", 2)
    exercise = EXERCISES["mean"]
    fault = find_fault(exercise, attempt(exercise, code, (), COURSE))
    assert (fault.kind, fault.line) == (kind, line)


def test_a_cell_runs_with_those_that_it_rests_on_and_with_no_others():
    exercise = exercises.Exercise("x", "t", "double = base * 2", "assert double == 8, 'base is 4'")
    before = ("raise ValueError('not this one')", "%matplotlib inline\nhalf = 2",
              "base = half * 2", "half_of_it = 1 / 0")  # fmt: skip
    assert attempt(exercise, "double = base * 2", before, COURSE).has_passed
    broken = attempt(exercise, "double = half_of_it", before, COURSE)
    assert (broken.stage, broken.error) == ("setup", "ZeroDivisionError")


LEAKS = {
    "a block": "Try this and see what comes out of it in the end, for each of your own examples:\n"
    "```\nreturn total\n```\n" + "word " * 10,
    "a line": "Look at the end of your function. It should say `return total / len(numbers)` and "
    "nothing else, and then the tests will pass for you, all of them.",
    "a line in words": "You need one more line at the very end, and it is this one here: "
    "return total / len(numbers)\nWith it all of the tests will pass, as you will see.",
    "a name": "Begin with a name such as `total` that starts at zero, add each of the values to it "
    "one after the other, and divide at the end of it all.",
    "too long": "word " * 161,
    "too short": "Look at line 3.",
    "two questions": "What does the function do with an empty list? And what should it do with an "
    "empty list, if you think about it for a moment or two by yourself?",
}


@pytest.mark.parametrize("text", LEAKS.values(), ids=LEAKS)
def test_what_gives_the_solution_away_is_found(text):
    assert find_leak(text, EXERCISES["mean"], "def mean(numbers):\n    return 1")


def test_the_pupils_own_line_is_no_secret():
    own = "def mean(numbers):\n    total = 0\n    return total / len(numbers)"
    text = (
        "Look at line 3: `return total / len(numbers)`. What is the value of `total` there in "
        "your small example, and is it what you need at this point of your function."
    )
    assert find_leak(text, EXERCISES["mean"], own) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "must have `exercises:`"),
        ("exercises: {a: 3}", "exercise 'a': it must have `task`"),
        ("exercises: {a: {task: t, reference: 'x =', tests: assert x}}", "a', reference: it is no"),
        ("exercises: {a: {task: t, reference: x = 1, tests: '', }}", "`tests` must be text"),
        ("exercises: {a: {task: t, reference: x = 1, tests: assert x, quota: many}}", "'many'"),
        ("exercises: {a: {task: t, reference: x = 1, tests: assert x, hints: 3}}", "'hints' is no"),
        ("exercises: {a: {task: t, reference: x = 1, tests: assert x, mistakes: [1]}}",
         "mistake 1: it must have `code` and `hint`"),
        ("a: *b", "YAML"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_said_with_its_place(tmp_path, text, says):
    (tmp_path / "exercises.yaml").write_text(text)
    with pytest.raises(Exception, match=r"exercises\.yaml") as caught:
        exercises.read(tmp_path)
    assert says in str(caught.value)


def test_where_there_is_no_file_that_is_said(tmp_path):
    with pytest.raises(exercises.ExerciseError, match=r"there is no exercises\.yaml beside this"):
        exercises.read(tmp_path)
    with pytest.raises(exercises.ExerciseError, match="has no exercise 'x': it has mean, longest"):
        exercises.find(COURSE, "x")
