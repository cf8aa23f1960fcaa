"""The program of a fresh process: it runs a pupil's cell, and then the teacher's tests.

One rule: it imports nothing of ours and nothing of the notebook is in its memory; what it found it
writes as JSON to a file, since the code may print what it likes.

The file: {"stage": "setup" | "cell" | "tests" | "passed", "passed": tests before the first that
failed, "tests": their number, "type", "message": of the error, "line": of the cell where it
happened, 0 for none, "test": source of the test, "left", "right": the two sides of a comparison as
{"type", "repr"}, "lines": of the cell that ran in that test, "printed": whether it printed there}.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import traceback
from contextlib import redirect_stdout
from typing import Any

CELL = "<your cell>"
MAX_TEXT = 300
"""Characters of a message or a value."""


def main() -> None:
    """Read {"setup": [...], "cell": ..., "tests": ...} from a file, and write what was found."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        given = json.load(file)
    found = run(given["setup"], given["cell"], given["tests"])
    with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(found, file)


def run(setup: list[str], cell: str, tests: str) -> dict[str, Any]:
    """What became of the cell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for source in setup:
        try:
            exec(compile(source, "<an earlier cell>", "exec"), names)
        except BaseException as error:  # noqa: BLE001 - an earlier cell may do anything
            return {"stage": "setup", **_error(error)}
    try:
        exec(compile(cell, CELL, "exec"), names)
    except BaseException as error:  # noqa: BLE001
        return {"stage": "cell", **_error(error)}
    statements = ast.parse(tests).body
    count = sum(map(_is_test, statements))
    passed = 0
    for statement in statements:
        lines: set[int] = set()
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                _traced(statement, names, lines)
        except BaseException as error:  # noqa: BLE001
            failed = {"test": ast.unparse(statement), "lines": sorted(lines)}
            sides = _sides(statement, names)
            return {
                "stage": "tests", "passed": passed, "tests": count, **_error(error), **failed,
                **sides, "printed": bool(printed.getvalue()),
            }  # fmt: skip
        passed += _is_test(statement)
    return {"stage": "passed", "passed": passed, "tests": count}


def _is_test(statement: ast.stmt) -> bool:
    """Whether it is an assert, or calls a function `test_…` that has some."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return isinstance(function, ast.Name) and function.id.startswith("test_")
    return isinstance(statement, ast.Assert)


def _traced(statement: ast.stmt, names: dict[str, Any], lines: set[int]) -> None:
    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != CELL:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    code = compile(ast.Module([statement], []), "<test>", "exec")
    sys.settrace(trace)
    try:
        exec(code, names)
    finally:
        sys.settrace(None)


def _sides(statement: ast.stmt, names: dict[str, Any]) -> dict[str, Any]:
    """The two sides of `assert left == right`, computed once more."""
    test = statement.test if isinstance(statement, ast.Assert) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return {}
    found = {}
    for key, side in (("left", test.left), ("right", test.comparators[0])):
        try:
            with redirect_stdout(io.StringIO()):
                value = eval(compile(ast.Expression(side), "<test>", "eval"), names)
            found[key] = {"type": type(value).__name__, "repr": repr(value)[:MAX_TEXT]}
        except BaseException:  # noqa: BLE001 - then the error itself is said
            return {}
    return found


def _error(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno or 0 for each in frames if each.filename == CELL]
    if isinstance(error, SyntaxError) and error.filename == CELL:
        lines = [error.lineno or 0]
    return {
        "type": type(error).__name__,
        "message": str(error)[:MAX_TEXT],
        "line": lines[-1] if lines else 0,
    }


if __name__ == "__main__":
    main()
