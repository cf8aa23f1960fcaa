"""Whether a course is right, before a class meets it: references, common mistakes, and hints.

One rule: everything is run as it will be for a pupil.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmc_jupyter.tutor.attempt import Attempt, attempt
from lmc_jupyter.tutor.course.folder import Course
from lmc_jupyter.tutor.exercises import Exercise
from lmc_jupyter.tutor.faults import find_fault
from lmc_jupyter.tutor.hints import LEVELS, template
from lmc_jupyter.tutor.leaks import find_leak
from lmc_jupyter.tutor.wording import Write, word

Line = tuple[bool, str]
"""(whether it is as it should be, a line of the report)."""


def check(course: Course, write: Write | None = None) -> Iterator[Line]:
    """Run each reference and each common mistake against the tests, and show the hints.

    Parameters
    ----------
    write : asks the model that words the hints; None: they come in our own words
    """
    for exercise in course.exercises.values():
        yield from _check_exercise(course, exercise, write)
    for id in course.without_tests:
        yield True, f"{id}: its solution is cut out; it has no tests, so there are no hints"


def _check_exercise(course: Course, exercise: Exercise, write: Write | None) -> Iterator[Line]:
    setup = course.setups.get(exercise.id, ())
    tried = attempt(exercise, exercise.reference, setup, course.folder)
    if tried.has_passed:
        yield True, f"{exercise.id}: the reference passes all {tried.tests} tests"
    else:
        yield False, f"{exercise.id}: the reference fails: {_failure(tried)}"
    if not tried.tests:
        yield False, f"{exercise.id}: its tests have no assert, and call no function test_…"
    for number, mistake in enumerate(exercise.mistakes, 1):
        tried, name = attempt(exercise, mistake.code, setup, course.folder), f"mistake {number}"
        if tried.has_passed:
            yield False, f"  {name}: it passes all tests, so nobody gets its hint"
            continue
        yield True, f"  {name}: {_failure(tried)}"
        if leak := find_leak(mistake.hint, exercise, mistake.code):
            yield False, f"    your hint is not shown: {leak}"
        fault = find_fault(exercise, tried)
        yield True, f"    found: {fault.kind}, line {fault.line or 'none'}"
        for level, step in enumerate(LEVELS, 1):
            hint = template(tried, fault, level)
            if level == 3 and not leak:
                hint = hint._replace(text=mistake.hint)
            if write is not None:
                hint = word(write, exercise, mistake.code, hint, "")
            yield True, f"    {step}: {hint.text}"


def _failure(tried: Attempt) -> str:
    match tried.stage:
        case "setup":
            return f"a cell above it fails ({tried.error}: {tried.message})"
        case "time":
            return "it does not come to an end"
        case "cell":
            return f"it fails itself ({tried.error}: {tried.message})"
        case _:
            what = tried.message or tried.error
            return f"{tried.passed} of {tried.tests} tests pass, then: {what}"
