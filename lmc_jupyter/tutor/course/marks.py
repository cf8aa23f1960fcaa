"""A teacher's notebook: its exercises, and its cells as a pupil gets them.

One rule: a solution that is marked is never left in a pupil's cell. The marks of three kinds are
read: our tag `lmc-exercise: ID`, those of nbgrader, and those of Otter Assign.

Sources: https://nbgrader.readthedocs.io/en/stable/user_guide/creating_and_grading_assignments.html
and https://otter-grader.readthedocs.io/en/latest/otter_assign/notebook_format.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lmc_jupyter.content.cell import EXERCISE, exercise_of
from lmc_jupyter.content.notebook_file import source_of
from lmc_jupyter.errors import LMCError
from lmc_jupyter.formats import strict_yaml
from lmc_jupyter.tutor.exercises import ExerciseError

STUB = "# Write your code here\n..."
ANSWER = "Write your answer here."

Cell = dict[str, Any]
"""A cell of a notebook's file."""


@dataclass(frozen=True)
class AssignedExercise:
    """An exercise of a notebook.

    Parameters
    ----------
    setup : sources of the code cells above it, as a pupil has them when the exercise is solved
    """

    id: str
    task: str = ""
    reference: str = ""
    tests: str = ""
    setup: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        """What a file of exercises has of it."""
        found = {"task": self.task, "reference": self.reference, "tests": self.tests}
        return {key: text for key, text in found.items() if text.strip()}


@dataclass
class Assignment:
    """What was read of a notebook.

    Parameters
    ----------
    cells : as a pupil gets them
    """

    cells: list[Cell] = field(default_factory=list)
    exercises: dict[str, AssignedExercise] = field(default_factory=dict)
    _words: str = ""
    _setup: list[str] = field(default_factory=list)

    def add(self, cell: Cell, source: str, **metadata: Any) -> None:
        """A cell of a pupil's, without output."""
        made = {**cell, "source": source, "metadata": {**cell.get("metadata", {}), **metadata}}
        if cell.get("cell_type") == "code":
            made |= {"outputs": [], "execution_count": None}
        self.cells.append(made)
        if cell.get("cell_type") == "markdown":
            self._words = source

    def add_code(self, cell: Cell, source: str) -> None:
        """A code cell that belongs to no exercise."""
        self.add(cell, source)
        self._setup.append(source)

    def add_exercise(self, cell: Cell, id: str, reference: str, stub: str, task: str = "") -> None:
        """The cell that a pupil writes in."""
        if id in self.exercises:
            raise ExerciseError(f"there are two exercises {id!r:.80}: each needs a name of its own")
        tags = [each for each in _tags(cell) if not each.startswith(EXERCISE)]
        self.add(cell, stub, tags=[*tags, f"{EXERCISE} {id}"])
        made = AssignedExercise(id, task or self._words, reference, setup=tuple(self._setup))
        self.exercises[id] = made
        self._setup.append(reference or stub)

    def add_tests(self, id: str, tests: str) -> None:
        """More tests of an exercise."""
        found = self.exercises[id]
        joined = "\n".join(filter(None, [found.tests, tests.strip("\n")]))
        self.exercises[id] = replace(found, tests=joined)


def read(cells: list[Cell]) -> Assignment:
    """The exercises of a notebook's cells, and the cells without solutions.

    Raises
    ------
    ExerciseError
        For marks that do not fit together, with the line.
    """
    is_otter = any(_first_line(each) == "# BEGIN QUESTION" for each in cells)
    assignment = Assignment()
    if is_otter:
        _read_otter(cells, assignment)
    else:
        _read_plain(cells, assignment)
    return assignment


# Ours, and nbgrader's -----------------------------------------------------------------------------


def _read_plain(cells: list[Cell], assignment: Assignment) -> None:
    last = ""
    for cell in cells:
        source = source_of(cell)
        if cell.get("cell_type") != "code":
            assignment.add(cell, _answer(source) if _is_solution(cell) else source)
            continue
        own, grading = exercise_of(_tags(cell)), cell.get("metadata", {}).get("nbgrader", {})
        if grading.get("grade") and not grading.get("solution"):
            if last:
                assignment.add_tests(last, _lines_of(source, "HIDDEN TESTS"))
            assignment.add(cell, _without(source, "HIDDEN TESTS"))
        elif own or grading.get("solution"):
            last = own or str(grading.get("grade_id") or "")
            has_marks = "BEGIN SOLUTION" in source
            is_whole = bool(grading) and not has_marks
            stub = STUB if is_whole else _stub(source)
            reference = _lines_of(source, "SOLUTION") if has_marks or is_whole else ""
            assignment.add_exercise(cell, last, reference, stub)
        elif "BEGIN SOLUTION" in source:
            assignment.add(cell, _stub(source))
        else:
            assignment.add_code(cell, source)


def _answer(source: str) -> str:
    """A written answer as a pupil gets it."""
    return _without(source, "SOLUTION") if "BEGIN SOLUTION" in source else ANSWER


def _is_solution(cell: Cell) -> bool:
    return bool(cell.get("metadata", {}).get("nbgrader", {}).get("solution"))


def _tags(cell: Cell) -> list[str]:
    found = cell.get("metadata", {}).get("tags")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _regions(source: str, name: str) -> Iterator[tuple[str, bool]]:
    """(line, whether it is inside) of each line that is no mark of this name.

    Raises
    ------
    ExerciseError
        For a region without its end, or an end without its region.
    """
    begin, end = (re.compile(rf"^\s*#+ *{word} {name}\b.*$") for word in ("BEGIN", "END"))
    is_inside = False
    for line in source.splitlines():
        if begin.match(line) and not is_inside:
            is_inside = True
            yield line, is_inside
        elif end.match(line) and is_inside:
            is_inside = False
        elif begin.match(line) or end.match(line):
            raise ExerciseError(f"{line.strip()!r:.80} does not fit the mark before it")
        else:
            yield line, is_inside
    if is_inside:
        raise ExerciseError(f"BEGIN {name} has no END {name}")


def _lines_of(source: str, name: str) -> str:
    """All of the text but the marks."""
    lines = [line for line, _ in _regions(source, name) if f"BEGIN {name}" not in line]
    return "\n".join(lines).strip("\n")


def _without(source: str, name: str) -> str:
    """The text without what is marked."""
    return "\n".join(line for line, is_inside in _regions(source, name) if not is_inside).strip()


def _stub(source: str) -> str:
    """The text with a place to write where a solution is marked."""
    lines: list[str] = []
    for line, is_inside in _regions(source, "SOLUTION"):
        if not is_inside:
            lines.append(line)
        elif "BEGIN SOLUTION" in line and "NO PROMPT" not in line:
            margin = line[: len(line) - len(line.lstrip())]
            lines += [margin + each for each in STUB.splitlines()]
    return "\n".join(lines)


# Otter's ------------------------------------------------------------------------------------------

_CONFIG = re.compile(r'"""\s*# BEGIN (TEST CONFIG|PROMPT)\n(.*?)"""\s*# END \1\n?', re.S)
_SOLVED = re.compile(r"^(\s*)(.*?)\s*# SOLUTION( NO PROMPT)?\s*$")


def _read_otter(cells: list[Cell], assignment: Assignment) -> None:
    name, block, prompts = "", "", 0
    words: list[str] = []
    for cell in cells:
        source, mark = source_of(cell), _first_line(cell)
        if mark == "# BEGIN QUESTION":
            name, words, prompts = _question(source), [], 0
        elif mark == "# END QUESTION":
            name = ""
        elif re.fullmatch(r"# (BEGIN|END) (SOLUTION|TESTS|PROMPT)", mark):
            block = mark.removeprefix("# BEGIN ") if "BEGIN" in mark else ""
        elif mark == "# ASSIGNMENT CONFIG":
            pass
        elif cell.get("cell_type") != "code":
            words += [source] if name and not block else []
            if block != "SOLUTION":
                assignment.add(cell, source)
        elif block == "TESTS":
            if name in assignment.exercises:
                assignment.add_tests(name, _otter_test(cell, source))
        elif block == "PROMPT":
            prompts += 1
            assignment.add_exercise(cell, name, "", source, "\n\n".join(words))
        elif block == "SOLUTION" and name in assignment.exercises and prompts:
            made = assignment.exercises[name]
            assignment.exercises[name] = replace(made, reference=_otter_reference(source))
        elif block == "SOLUTION" and name and name not in assignment.exercises:
            task = "\n\n".join(words)
            assignment.add_exercise(cell, name, _otter_reference(source), _otter_stub(source), task)
        elif block == "SOLUTION":
            assignment.add(cell, _otter_stub(source))
        else:
            assignment.add_code(cell, source)


def _first_line(cell: Cell) -> str:
    return source_of(cell).strip().partition("\n")[0].strip() if cell.get("cell_type") in (
        "raw", "markdown"
    ) else ""  # fmt: skip


def _question(source: str) -> str:
    """The name of a question of Otter's.

    Raises
    ------
    ExerciseError
        Where it has none.
    """
    try:
        found = strict_yaml.load(source.strip().partition("\n")[2], "BEGIN QUESTION")
    except LMCError as error:
        raise ExerciseError(f"a question of Otter's: {error}") from None
    name = found.get("name") if isinstance(found, dict) else None
    if not isinstance(name, str) or not name:
        raise ExerciseError(f"a question of Otter's has no name: {source!r:.80}")
    return name


def _otter_reference(source: str) -> str:
    lines = _lines_of(_CONFIG.sub("", source), "SOLUTION").splitlines()
    return "\n".join(re.sub(r"\s*# SOLUTION( NO PROMPT)?\s*$", "", line) for line in lines)


def _otter_stub(source: str) -> str:
    """`x = 5  # SOLUTION` is `x = ...` to a pupil, any other such line `...`."""

    def ask(line: str) -> Iterator[str]:
        match = _SOLVED.match(line)
        if match is None:
            yield line
        elif not match[3]:
            target = re.match(r"[\w.\[\], ]+=(?!=)", match[2])
            yield f"{match[1]}{target[0] + ' ...' if target else '...'}"

    text = _CONFIG.sub(lambda match: match[2] if match[1] == "PROMPT" else "", source)
    lines = _without(_stub(text), "IGNORE").splitlines()
    kept = [each for each in lines if not each.rstrip().endswith("# IGNORE")]
    return "\n".join(made for line in kept for made in ask(line))


def _otter_test(cell: Cell, source: str) -> str:
    """The asserts of a test cell; an expression and the output that it had become one, and
    functions `test_…` are called with the values of their parameters' names.

    Raises
    ------
    ExerciseError
        For an expression that has not run.
    """
    config = next((each[2] for each in _CONFIG.finditer(source)), "")
    code = re.sub(r"^\s*# HIDDEN\s*\n", "", _without(_CONFIG.sub("", source), "IGNORE"))
    code = "\n".join(each for each in code.splitlines() if not each.rstrip().endswith("# IGNORE"))
    body = ast.parse(code).body
    calls = [
        f"{each.name}({', '.join(arg.arg for arg in each.args.args)})"
        for each in body
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
    ]
    if calls or not body or not isinstance(body[-1], ast.Expr):
        return "\n".join([code, *calls]).strip()
    value = _shown(cell)
    if value is None:
        raise ExerciseError(
            f"the test {code.strip()!r:.80} has no value in its output: run it, or write an assert"
        )
    before = "\n".join(ast.unparse(each) for each in body[:-1])
    last = f"assert repr({ast.unparse(body[-1])}) == {value!r}"
    message = re.search(r"^failure_message: *(.+)$", config, re.M)
    return f"{before}\n{last}{f', {message[1]!r}' if message else ''}".strip()


def _shown(cell: Cell) -> str | None:
    """The value that a test cell showed; None where it has not run."""
    for each in cell.get("outputs", []):
        if each.get("output_type") == "execute_result":
            value = each.get("data", {}).get("text/plain", "")
            return (value if isinstance(value, str) else "".join(value)).strip()
    return "None" if cell.get("execution_count") is not None else None
