"""The one fault that a hint is about: in which line of the cell it is, and of which kind.

One rule: it is found by running and comparing, never by a model; where nothing certain is known,
the kind is "other", and the line is where the cell first differs from the teacher's solution.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

from lmc_jupyter.tutor.attempt import Attempt, Side, try_code
from lmc_jupyter.tutor.exercises import Exercise

State = Literal["plan", "debug", "improve"]
"""What a hint is for: no code yet; an error or a failed test; all tests pass."""

Kind = Literal[
    "nothing yet", "syntax", "error", "earlier cell", "endless", "missing name", "wrong name",
    "prints", "no value", "wrong type", "off by one", "missing case", "wrong value", "passed",
]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """A fault of an attempt.

    Parameters
    ----------
    line : of the cell, from 1; 0 where no line is meant
    name : the name that it is about; "" for none
    other : the name that is there in its place; "" for none
    """

    state: State
    kind: Kind
    line: int = 0
    name: str = ""
    other: str = ""


def has_code(source: str) -> bool:
    """Whether there is more than comments, texts, `pass`, `...` and empty functions."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return bool(source.strip())
    return any(map(_does_something, body))


def _does_something(node: ast.stmt) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return any(map(_does_something, node.body))
    if isinstance(node, ast.Pass):
        return False
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_none = (
        isinstance(node, (ast.Assign, ast.Return))
        and isinstance(node.value, ast.Constant)
        and node.value.value in (None, ...)
    )
    return not (is_text or is_none)


def find_fault(exercise: Exercise, attempt: Attempt) -> Fault:
    """The one fault that the next hint is about."""
    if not has_code(attempt.code):
        return Fault("plan", "nothing yet")
    if attempt.has_passed:
        return Fault("improve", "passed")
    if attempt.stage == "setup":
        return Fault("debug", "earlier cell", 0)
    if attempt.stage == "time":
        return Fault("debug", "endless", _loop_line(attempt.code))
    if attempt.error in ("SyntaxError", "IndentationError", "TabError"):
        return Fault("debug", "syntax", attempt.line)
    if attempt.error == "NameError" and attempt.line == 0:
        return _missing_name(attempt)
    if attempt.error and attempt.error != "AssertionError":
        return _of_error(exercise, attempt)
    return _of_values(exercise, attempt)


def _missing_name(attempt: Attempt) -> Fault:
    """A test asks for a name that the cell does not make."""
    match = re.search(r"name '(\w+)'", attempt.message)
    name = match[1] if match else ""
    made = _definitions(attempt.code)
    near = difflib.get_close_matches(name, made, 1, 0.5)
    if not near and len(made) == 1:
        near = list(made)
    if near:
        return Fault("debug", "wrong name", made[near[0]], name, near[0])
    return Fault("debug", "missing name", 0, name)


def _of_error(exercise: Exercise, attempt: Attempt) -> Fault:
    """The cell, or a function of it, ended with an error of Python."""
    if attempt.line and attempt.stage == "tests" and attempt.error != "NameError":
        return Fault("debug", "error", _difference(exercise, attempt))  # its cause may be above
    if attempt.line:
        return Fault("debug", "error", attempt.line)
    function = _function(attempt.code, attempt.test)
    if function is not None and not _returns(function) and "NoneType" in attempt.message:
        kind: Kind = "prints" if attempt.printed else "no value"
        return Fault("debug", kind, _line_of_print(function) or function.lineno, function.name)
    line = function.lineno if function is not None else _difference(exercise, attempt)
    return Fault("debug", "error", line)


def _of_values(exercise: Exercise, attempt: Attempt) -> Fault:
    """A test has compared values and found another one."""
    function = _function(attempt.code, attempt.test)
    left, right = attempt.left, attempt.right
    is_none = left is not None and right is not None and left.type == "NoneType" != right.type
    if is_none and function is not None and (attempt.printed or not _returns(function)):
        kind: Kind = "prints" if attempt.printed else "no value"
        line = _line_of_print(function) if attempt.printed else 0
        return Fault("debug", kind, line or function.lineno, function.name)
    line = _difference(exercise, attempt)
    if left is not None and right is not None:
        if _family(left) != _family(right):
            return Fault("debug", "wrong type", line, left.type, right.type)
        if _is_off_by_one(left, right):
            return Fault("debug", "off by one", line)
    if attempt.passed:
        return Fault("debug", "missing case", line)
    return Fault("debug", "wrong value", line)


def _family(side: Side) -> str:
    return "number" if side.type in ("int", "float", "int64", "float64") else side.type


def _is_off_by_one(left: Side, right: Side) -> bool:
    """Whether a number is one too large or small, or a list one too long or short."""
    values = []
    for side in (left, right):
        try:
            values.append(ast.literal_eval(side.repr))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return False
    one, other = values
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) == 1
    if isinstance(one, (list, tuple, str)) and isinstance(other, type(one)):
        short, long = sorted((one, other), key=len)
        return len(long) - len(short) == 1 and short in (long[:-1], long[1:])
    return False


# Lines --------------------------------------------------------------------------------------------


def _definitions(code: str) -> dict[str, int]:
    """The names that the cell makes outside of functions, and the line of each."""
    found: dict[str, int] = {}
    for node in ast.parse(code).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node.lineno
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.setdefault(each.id, each.lineno)
    return found


def _function(code: str, test: str) -> ast.FunctionDef | None:
    """The function of the cell that this test calls; the last one of several."""
    try:
        called = {
            each.func.id
            for each in ast.walk(ast.parse(test))
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = [each for each in body if isinstance(each, ast.FunctionDef) and each.name in called]
    return found[-1] if found else None


def _returns(function: ast.FunctionDef) -> bool:
    """Whether it gives a value back somewhere."""
    return any(
        isinstance(each, ast.Return) and each.value is not None for each in ast.walk(function)
    )


def _line_of_print(function: ast.FunctionDef) -> int:
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    lines = [
        each.lineno for each in calls if isinstance(each.func, ast.Name) and each.func.id == "print"
    ]
    return min(lines, default=0)


def _loop_line(code: str) -> int:
    """The line of the loop that may have no end: the first `while`, else the first `for`."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError):
        return 0
    for kind in (ast.While, ast.For):
        lines = [each.lineno for each in nodes if isinstance(each, kind)]
        if lines:
            return min(lines)
    return 0


def _difference(exercise: Exercise, attempt: Attempt) -> int:
    """The first line of the cell that the reference does not have, whatever its names are called;
    of several, and after an error, the one with which the tests get further where it is as the
    reference has it.
    """
    mine, theirs = _statements(attempt.code), _statements(exercise.reference)
    matcher = difflib.SequenceMatcher(
        None, [each.shape for each in mine], [each.shape for each in theirs], False
    )
    ran = set(attempt.lines)
    pairs: list[tuple[_Statement, _Statement | None]] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind in ("replace", "delete"):
            others = theirs[first:last]
            pairs += zip_longest(mine[start:end], others[: end - start])
        elif kind == "insert" and mine:  # something is missing before this line
            pairs.append((mine[min(start, len(mine) - 1)], None))
    inner = [each for each in pairs if not each[0].shape.startswith("def")] or pairs
    some = [each for each in inner if each[0].line in ran] or inner
    if len(some) > 1 or (some and attempt.line not in (0, some[0][0].line)):
        for one, other in some:
            if other is not None and _helps(exercise, attempt, mine, one, other):
                return one.line
    if attempt.line:
        return attempt.line
    if some:
        return some[0][0].line
    return max(ran, default=mine[-1].line if mine else 0)


def _helps(
    exercise: Exercise, tried: Attempt, mine: list[_Statement], one: _Statement, other: _Statement
) -> bool:
    """Whether more tests pass with this statement as the reference has it."""
    names = {shape: name for name, shape in mine[-1].names.items()}
    theirs = {name: names.get(shape, name) for name, shape in other.names.items()}
    lines = tried.code.splitlines()
    line = lines[one.line - 1]
    margin = line[: len(line) - len(line.lstrip())]
    words = re.sub(r"[A-Za-z_]\w*", lambda word: theirs.get(word[0], word[0]), other.text)
    code = "\n".join([*lines[: one.line - 1], margin + words, *lines[one.end :]])
    repaired = try_code(exercise, code, tried)
    return repaired.has_passed or repaired.passed > tried.passed


class _Statement(NamedTuple):
    """A statement without its block.

    Parameters
    ----------
    shape : what it does, with names in the order in which they appear
    line, end : of its text, from 1
    text : of its first line, without the margin
    names : name -> its number so far
    """

    shape: str
    line: int
    end: int
    text: str
    names: dict[str, str]


class _Rename(ast.NodeTransformer):
    """Gives each name that the code binds a number."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Store) or node.id in self.names:
            node.id = self.names.setdefault(node.id, f"v{len(self.names)}")
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.setdefault(node.arg, f"v{len(self.names)}")
        node.annotation = None
        return node


def _statements(code: str) -> list[_Statement]:
    """The statements of a cell, in their order; none where it is no Python."""
    lines = code.splitlines()
    rename = _Rename()

    def walk(body: list[ast.stmt]) -> Iterator[_Statement]:
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # its words
            blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
            inner = [each for each in blocks if isinstance(each, list) and each]
            end = inner[0][0].lineno - 1 if inner else node.end_lineno or node.lineno
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list):
                    setattr(node, name, [])
            if isinstance(node, ast.FunctionDef):
                rename.visit(node.args)
                shape = f"def {len(node.args.args)}"
            else:
                shape = ast.dump(rename.visit(node))
            text = " ".join(each.strip() for each in lines[node.lineno - 1 : end])
            yield _Statement(shape, node.lineno, end, text, dict(rename.names))
            for part in inner:
                yield from walk(part)

    try:
        return list(walk(ast.parse(code).body))
    except (SyntaxError, ValueError, RecursionError):
        return []
