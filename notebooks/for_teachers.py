"""The checks of the notebook `11-for-teachers`, and `make_course`, which writes a small course.

One rule: that of `exercises`: look, change nothing, and say what to do. Only `make_course` and
`add_test` write, in the folder `course`.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from exercises import Checks
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lmc_jupyter import current_session

check = Checks()

COURSE = Path("course")
WORDS = "Three exercises about loops and lists. A **Hint** is below each; it comes after a try."
CELLS = {
    "sum_to": (
        "## To sum up\n\nWrite `sum_to(n)`, the sum of the whole numbers from 1 to n, n included.",
        "def sum_to(n):\n    ### BEGIN SOLUTION\n    total = 0\n    for i in range(1, n + 1):\n"
        "        total += i\n    return total\n    ### END SOLUTION",
    ),
    "longest": (
        '## The longest word\n\nWrite `longest(words)`, the longest word of a list; "" of none.',
        "def longest(words):\n    ### BEGIN SOLUTION\n    best = ''\n    for word in words:\n"
        "        if len(word) > len(best):\n            best = word\n    return best\n"
        "    ### END SOLUTION",
    ),
    "evens": (
        "## Even numbers\n\nWrite `evens(numbers)`, a list of those that are even.",
        "def evens(numbers):\n    ### BEGIN SOLUTION\n"
        "    return [each for each in numbers if each % 2 == 0]\n    ### END SOLUTION",
    ),
}
EXERCISES = """\
exercises:
  sum_to:
    tests: |
      assert sum_to(1) == 1, "the sum from 1 to 1 is 1"
      assert sum_to(4) == 10, "the sum from 1 to 4 is 10"
    mistakes:
      - code: |
          def sum_to(n):
              return sum(range(n))
        hint: >
          Write down by hand which numbers your function adds up for n = 3. Which of them does the
          task want, and is one of those that it wants missing?
  longest:
    tests: |
      assert longest(["a", "abc", "ab"]) == "abc", "of a, abc and ab the longest is abc"
    mistakes:
      - code: |
          def longest(words):
              best = words[0]
              for word in words:
                  if len(word) > len(best):
                      best = word
              return best
        hint: >
          Your function begins with the first word of the list. Think of all the lists that somebody
          may give to it: is there always a first word?
  evens:
    tests: |
      assert evens([1, 2, 3, 4]) == [2, 4], "of 1 to 4 the even ones are 2 and 4"
      assert evens([]) == [], "of no numbers none is even"
"""


def make_course() -> None:
    """Write the folder `course`, as you would by hand: a notebook, and `exercises.yaml`."""
    COURSE.mkdir(exist_ok=True)
    cells = [new_markdown_cell(WORDS)]
    for id, (task, code) in CELLS.items():
        tags = {"tags": [f"lmc-exercise: {id}"]}
        cells += [new_markdown_cell(task), new_code_cell(code, metadata=tags)]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    book = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(book, COURSE / "lists.ipynb")
    (COURSE / "exercises.yaml").write_text(EXERCISES, "utf-8")


def add_test(test: str) -> None:
    """Put a test of yours behind those of `longest`."""
    line = 'of a, abc and ab the longest is abc"\n'
    text = EXERCISES.replace(line, f"{line}      {test.strip()}\n")
    (COURSE / "exercises.yaml").write_text(text if test.strip() else EXERCISES, "utf-8")


@check.exercise("test", "Now the mistake fails, and who makes it gets your hint.")
def _test(test: str = "") -> str:
    if not isinstance(test, str) or not test.strip():
        return "Write a test between the quotation marks, and run the cells above again."
    right: dict[str, object] = {}
    exec(CELLS["longest"][1], right)
    try:
        exec(test, right)
    except AssertionError:
        return "Your own solution fails at this test: what does it give for an empty list?"
    if "[]" not in test.replace(" ", ""):
        return "The mistake is about a list without words: does your test call it with one?"
    return ""


@check.exercise("mode", "So in the pupils' folder a question gets a hint, and never code.")
def _mode(mode: str = "") -> str:
    if str(mode).strip() != "hints":
        return "Look at what the file lmc.yaml of the pupils says behind `tutor:`."
    return ""


@check.exercise("passes", "All tests pass, and no line of the solution was said.")
def _passes() -> str:
    notes = [each.data for each in current_session().journal.conversation().events]
    tried = [each for each in notes if each.get("action") == "attempt"]
    if not any(each.get("passed") for each in tried if each.get("exercise") == "sum_to"):
        return "The tests of sum_to do not pass yet: change the cell, run it, and test again."
    return ""


@check.exercise("hints", "The pupil has read that, too, before you did.")
def _hints(hints: int | None = None) -> str:
    notes = [each.data for each in current_session().journal.conversation().events]
    given = sum(each.get("action") == "hint" for each in notes)
    if hints != given or not given:
        return "Count the hints of all four columns in the row of sum_to, and write the number."
    return ""
