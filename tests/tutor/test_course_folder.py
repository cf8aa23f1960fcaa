"""`lmc-jupyter course`: from a teacher's notebooks to those of the pupils, by three kinds of
marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter.content.cell import exercise_of
from lmc_jupyter.content.notebook_file import read_cells, source_of
from lmc_jupyter.frontends.command import main
from lmc_jupyter.tutor import exercises
from lmc_jupyter.tutor.course import folder, marks
from lmc_jupyter.tutor.exercises import ExerciseError

DOUBLE = "def double(n):\n    ### BEGIN SOLUTION\n    return 2 * n\n    ### END SOLUTION"
TRIPLE = "def triple(n):\n    return 3 * n"
MEAN = "mean = sum(values) / len(values)  # SOLUTION"


def code(source: str, outputs: list[Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": metadata, "execution_count": 1,
            "outputs": outputs or []}  # fmt: skip


def text(source: str, kind: str = "markdown", **metadata: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": metadata}


def shown(value: str) -> list[dict[str, Any]]:
    return [{"output_type": "execute_result", "data": {"text/plain": value}, "metadata": {},
             "execution_count": 1}]  # fmt: skip


def graded(id: str, **more: Any) -> dict[str, Any]:
    grade = {"grade_id": id, "grade": False, "solution": False, "locked": False, **more}
    return {"nbgrader": {**grade, "schema_version": 3}}


OURS = [
    text("# Lists"),
    code("values = [1, 2, 6]"),
    text("Double a number."),
    code(DOUBLE, shown("7"), tags=["lmc-exercise: double"]),
]
NBGRADER = [
    code("values = [1, 2, 6]"),
    text("Triple a number."),
    code(TRIPLE, **graded("triple", solution=True)),
    code(
        "assert triple(2) == 6\n### BEGIN HIDDEN TESTS\nassert triple(0) == 0\n"
        "### END HIDDEN TESTS",
        **graded("test_triple", grade=True, points=2),
    ),
    text("Say why.", **graded("why", solution=True, grade=True)),
]
OTTER = [
    text("# ASSIGNMENT CONFIG\nfiles: []", "raw"),
    code("values = [1, 2, 6]"),
    text("# BEGIN QUESTION\nname: q1\npoints: 2", "raw"),
    text("The mean of the values."),
    text("# BEGIN SOLUTION", "raw"),
    code(MEAN),
    text("# END SOLUTION", "raw"),
    text("# BEGIN TESTS", "raw"),
    code("mean", shown("3.0")),
    code('""" # BEGIN TEST CONFIG\nhidden: true\n""" # END TEST CONFIG\nassert mean > 2'),
    text("# END TESTS", "raw"),
    text("# END QUESTION", "raw"),
    text("# BEGIN QUESTION\nname: q2", "raw"),
    text("Write a function."),
    text("# BEGIN PROMPT", "raw"),
    code("def half(n):\n    ..."),
    text("# END PROMPT", "raw"),
    text("# BEGIN SOLUTION", "raw"),
    code("def half(n):\n    # BEGIN SOLUTION\n    return n / 2\n    # END SOLUTION"),
    text("# END SOLUTION", "raw"),
    text("# BEGIN TESTS", "raw"),
    code("# HIDDEN\nhalf(4)", shown("2.0")),
    code("half(6) and None"),
    code(
        '""" # BEGIN TEST CONFIG\nfailure_message: 8 by 2 is 4\n""" # END TEST CONFIG\nhalf(8)',
        shown("4.0"),
    ),
    code("def test_one(half):\n    assert half(1) == 0.5\n\ntest_other(half)  # IGNORE"),
    text("# END TESTS", "raw"),
    text("# END QUESTION", "raw"),
    text("# BEGIN QUESTION\nname: q3\nmanual: true", "raw"),
    text("# BEGIN SOLUTION", "raw"),
    code(
        "plot = 1 # SOLUTION\n# BEGIN IGNORE\nmine = 1\n# END IGNORE\n"
        "print('drawn') # SOLUTION NO PROMPT\nshow(plot) # SOLUTION"
    ),
    text("# END SOLUTION", "raw"),
    text("# END QUESTION", "raw"),
]
YAML = """\
exercises:
  double:
    task: Write double(n), twice the number.
    tests: |
      assert double(4) == 8, "twice 4 is 8"
    mistakes:
      - code: |
          def double(n):
              return n + 2
        hint: >
          Try it with two different numbers by hand. Is the result for both of them what the word
          in the task says, or only for one of them, by chance?
"""

SECRETS = ("2 * n", "3 * n", "sum(values)", "n / 2", "triple(0)", "BEGIN", "plot = 1", "mine")


@pytest.fixture
def teacher(tmp_path) -> Path:
    place = tmp_path / "course"
    place.mkdir()
    for name, cells in (("one", OURS), ("two", NBGRADER), ("three", OTTER)):
        book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        (place / f"{name}.ipynb").write_text(json.dumps(book))
    (place / "exercises.yaml").write_text(YAML)
    (place / "data.csv").write_text("a\n1\n")
    return place


def sources(path: Path) -> list[str]:
    return [source_of(each) for each in read_cells(str(path))]


def test_the_pupils_get_no_solution_and_each_exercise_has_its_tests(teacher, capsys):
    assert main(["course", "build", str(teacher)]) == 0
    pupils = teacher / "pupils"
    assert "two.ipynb: 1 exercise\n" in capsys.readouterr().out
    everything = "\n".join("\n".join(sources(each)) for each in pupils.glob("*.ipynb"))
    for secret in (
        "2 * n",
        "3 * n",
        "sum(values)",
        "n / 2",
        "triple(0)",
        "BEGIN",
        "plot = 1",
        "mine",
    ):
        assert secret not in everything
    assert sources(pupils / "one.ipynb")[0] == "%load_ext lmc_jupyter"
    assert sources(pupils / "one.ipynb")[4] == (
        "def double(n):\n    # Write your code here\n    ..."
    )
    assert sources(pupils / "two.ipynb")[3:] == [
        marks.STUB, "assert triple(2) == 6", marks.ANSWER,
    ]  # fmt: skip
    assert "mean = ..." in sources(pupils / "three.ipynb")
    assert "def half(n):\n    ..." in sources(pupils / "three.ipynb")
    assert "plot = ...\n..." in sources(pupils / "three.ipynb")
    assert (pupils / "data.csv").read_text() == "a\n1\n"
    assert (pupils / "lmc.yaml").read_text() == "tutor: hints\n"
    found = exercises.read(pupils)
    assert list(found) == ["double", "q1", "q2", "triple"]
    assert found["double"].reference == "def double(n):\n    return 2 * n"
    assert found["triple"].task == "Triple a number."
    assert found["triple"].tests == "assert triple(2) == 6\nassert triple(0) == 0"
    assert found["q1"].tests == "assert repr(mean) == '3.0'\nassert mean > 2"
    assert found["q2"].reference == "def half(n):\n    return n / 2"
    assert found["q2"].tests.splitlines() == [
        "assert repr(half(4)) == '2.0'",
        "assert repr(half(6) and None) == 'None'",
        "assert repr(half(8)) == '4.0', '8 by 2 is 4'",
        "def test_one(half):",
        "    assert half(1) == 0.5",
        "",
        "test_one(half)",
    ]


def test_the_cells_have_tags_and_no_output(teacher):
    main(["course", "build", str(teacher)])
    cells = [
        cell for path in (teacher / "pupils").glob("*.ipynb") for cell in read_cells(str(path))
    ]
    ids = [exercise_of(each["metadata"].get("tags")) for each in cells]
    assert sorted(filter(None, ids)) == ["double", "q1", "q2", "q3", "triple"]
    assert [each["outputs"] for each in cells if each.get("outputs")] == []


def test_every_reference_and_mistake_is_run_and_its_hints_are_shown(teacher, capsys):
    assert main(["course", "check", str(teacher)]) == 0
    out = capsys.readouterr().out
    for id, count in (("double", 1), ("triple", 2), ("q1", 2), ("q2", 4)):
        assert f"{id}: the reference passes all {count} tests" in out
    assert "mistake 1: 0 of 1 tests pass, then: twice 4 is 8" in out
    assert "a question: The code runs, and its result is another one" in out
    assert "the idea: Try it with two different numbers by hand." in out
    assert "q3: its solution is cut out; it has no tests" in out
    assert "All is as it should be." in out


WRONG = {
    "a reference that fails": ("2 * n", "2 + n", "the reference fails"),
    "a mistake that passes": ("return n + 2", "return n * 2", "it passes all tests"),
    "a hint that gives the solution away":
        ("Try it with two", "Write `return 2 * n` and try it with two", "your hint is not shown"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found_before_the_class_meets_it(teacher, capsys, old, new, said):
    for path in (teacher / "one.ipynb", teacher / "exercises.yaml"):
        path.write_text(path.read_text().replace(old, new))
    assert main(["course", "check", str(teacher)]) == 1
    lines = [each for each in capsys.readouterr().out.splitlines() if each.startswith("WRONG")]
    assert len(lines) == 1
    assert said in lines[0]


def test_a_folder_that_is_there_is_not_overwritten_unasked(teacher, capsys):
    main(["course", "build", str(teacher)])
    (teacher / "pupils" / "one.ipynb").write_text("mine")
    assert main(["course", "build", str(teacher)]) == 1
    assert "--replace" in capsys.readouterr().err
    assert (teacher / "pupils" / "one.ipynb").read_text() == "mine"
    assert main(["course", "build", str(teacher), "--replace"]) == 0
    assert (teacher / "pupils" / "one.ipynb").read_text() != "mine"
    assert main(["course", "build", str(teacher), "--to", str(teacher), "--replace"]) == 1


BAD = {
    "no end": ([code("### BEGIN SOLUTION\nx = 1", tags=["lmc-exercise: x"])], "no END SOLUTION"),
    "no beginning": ([code("x = 1\n### END SOLUTION", tags=["lmc-exercise: x"])], "does not fit"),
    "twice": ([code("x = 1", tags=["lmc-exercise: x"])] * 2, "two exercises 'x'"),
    "a question without a name": ([text("# BEGIN QUESTION\npoints: 1", "raw")], "has no name"),
    "a test without a value": (
        [text("# BEGIN QUESTION\nname: q", "raw"), text("# BEGIN SOLUTION", "raw"),
         code("x = 1 # SOLUTION"), text("# END SOLUTION", "raw"), text("# BEGIN TESTS", "raw"),
         {**code("x"), "execution_count": None}], "has no value in its output"),
}  # fmt: skip


@pytest.mark.parametrize(("cells", "said"), BAD.values(), ids=BAD)
def test_marks_that_do_not_fit_are_refused_with_what_is_wrong(cells, said):
    with pytest.raises(ExerciseError, match=said):
        marks.read(cells)


def test_a_folder_without_an_exercise_says_what_makes_one(tmp_path):
    with pytest.raises(ExerciseError, match="lmc-exercise: ID"):
        folder.read(tmp_path)
    with pytest.raises(ExerciseError, match="there is no folder"):
        folder.read(tmp_path / "none")
