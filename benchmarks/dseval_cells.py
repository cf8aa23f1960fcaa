"""The notebook of one DSEval problem: DSEval's own environment and validators, in a process of
their own, with the versions of NumPy and pandas that its authors had.

    PYTHON benchmarks/dseval_cells.py DSEVAL_FOLDER PROBLEM_FILE

One rule: lines of JSON come in and go out, and what code prints never is one of them. first
comes the question; {"run": CODE} runs a cell beside it; {"judge": true} asks for the verdict.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import sys
import tempfile
import types
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO


def main() -> None:
    """Put each question of the file, in its order."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints beside the environment's own redirection
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    home, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    # without its __init__, whose agents need LangChain
    package = types.ModuleType("dseval")
    package.__path__ = [str(home / "dseval")]
    sys.modules["dseval"] = package
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from dseval.problem import ProblemSet
    from dseval.simulation import Environment

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        environment = Environment()
        for problem in ProblemSet.fromfile(file):
            if problem.is_complete:
                _put(problem, environment, out)
            else:
                environment.execute(problem.reference_code, raise_error=True)
        os.chdir(home)
    _send(out, {"end": True})


def _put(problem: Any, environment: Any, out: TextIO) -> None:
    from dseval.validator import validator_comments_to_verdict

    beside = environment.fork()
    before = beside.namespace_copy()
    ids = {name: id(value) for name, value in beside.namespace.items()}
    limits = problem.execution or {}
    cells = [cell.source for cell in environment.cells]
    begin = {"question": problem.question, "reference": problem.reference_code, "cells": cells}
    _send(out, {**begin, "names": _names(beside)})
    ran = False
    for line in sys.stdin:
        message = json.loads(line)
        if "run" not in message:
            break
        ran = True
        beside.execute(message["run"], **limits)
        _send(out, {**_seen(message["run"], beside.last_cell.output), "names": _names(beside)})
    if not ran:
        beside.execute("", **limits)
    environment.execute(problem.reference_code, **limits, raise_error=True)
    submission = dict(beside.last_cell.output)
    # of all cells of the answer, where DSEval's own agents write one
    submission["namespace_diff"] = beside.namespace_diff(beside.namespace, before, ids)
    result = problem.validator.validate(environment.last_cell.output, submission)
    verdict, detail, why = validator_comments_to_verdict(result)
    _send(out, {"verdict": verdict.value, "detail": detail.value, "why": str(why)[:300]})


def _names(environment: Any) -> str:
    """The variables, as a model of ours is told of them."""
    from lmc_jupyter.kernel.namespace import summary

    return summary(SimpleNamespace(user_ns=environment.namespace))


def _seen(code: str, output: dict[str, Any]) -> dict[str, str]:
    """What a notebook would show below the cell."""
    text = output["stream_output"]
    error = output["error"]
    if error is not None:
        head = "Traceback (most recent call last):\n"
        line = _line(code, "\n".join(error["traceback"]))
        return {"text": text, "error": f"{head}{line}{error['ename']}: {error['evalue']}"}
    result = output["execute_result"]
    return {"text": text if result is None else f"{text}{result!r}", "error": ""}


def _line(code: str, traceback: str) -> str:
    """Which line failed. DSEval runs the code as `ast` writes it, so it is found by statement."""
    found = re.findall(r'File ".*/submission(-last-line)?-[0-9a-f]{32}\.py", line (\d+)', traceback)
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return ""
    if not found or not body:
        return ""
    is_last, number = found[0][0], int(found[0][1])
    if is_last:
        return f'  File "<cell>", line {body[-1].lineno}\n'
    shown = ast.parse(ast.unparse(ast.Module(body, [])))
    for ours, theirs in zip(body, shown.body, strict=True):
        if theirs.lineno <= number <= (theirs.end_lineno or theirs.lineno):
            return f'  File "<cell>", line {ours.lineno}\n'
    return ""


def _send(out: TextIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
