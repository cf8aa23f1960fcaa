"""Reads a small model's code: whole and sound statements pass, the model writes the rest again.

One rule: a top-level statement passes when it is whole, and is never taken back. So the person sees
the code grow statement by statement, and the model can rewrite a bad one from the end of the good
ones. Two things are added, because they have one meaning: a well-known import that is missing, and
the value where the code would show nothing. One is taken away: comments that guess the output.

This module runs nothing of the code.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator

from lmc_jupyter.content.code_names import assigned_names, read_names, symbol_table

MODULES = (
    "calendar", "collections", "csv", "datetime", "functools", "glob", "itertools", "json", "math",
    "numpy", "os", "pandas", "pathlib", "random", "re", "statistics", "string", "sys", "time",
)  # fmt: skip

IMPORTS = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns",
    "Path": "from pathlib import Path",
    "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict",
    "Fraction": "from fractions import Fraction",
    "Decimal": "from decimal import Decimal",
    "timedelta": "from datetime import timedelta",
    **{name: f"import {name}" for name in MODULES},
}
"""Names that models use without their import -> the missing line."""

NOTEBOOK = {"display", "get_ipython", "In", "Out", "_", "__", "___", "exit", "quit", "__name__"}
"""Names that every notebook has."""

SHOWING = {"print", "display", "plot", "show", "hist", "bar", "barh", "scatter", "pie", "imshow"}
"""Calls by these names show something to the person."""

DRAWING = {"plt", "ax", "axs", "axes", "fig", "sns"}
"""Values of calls on these are parts of a figure, which need not be printed."""

VALUE_FUNCTIONS = {"sum", "len", "max", "min", "sorted", "round", "abs", "pow", "bin"}
VALUE_METHODS = {"head", "tail", "describe", "mean", "sum", "median", "max", "min", "count"}
"""Calls by these names are made for their value alone."""

CONTINUE = ("else", "elif", "except", "finally")
"""Words that continue the statement before."""

_GUESS = re.compile(
    r"#+\s*(?:(?:(?:expected|sample|example)\s+)?(?:outputs?|results?)\s*[:=]|[-=]>)", re.I
)
"""Begins a comment that says what the code will print; so do the lines of comment after it."""


class Draft:
    """One block of Python as it is written.

    Parameters
    ----------
    names : those of the notebook
    protected : those of them that the question is about; the code must not make up new values
    importable : tells whether a module is installed
    """

    def __init__(
        self,
        names: Iterable[str] = (),
        *,
        protected: Iterable[str] = (),
        importable: Callable[[str], bool] | None = None,
    ) -> None:
        self.text = ""
        """The code that has passed."""
        self.problem = ""
        """Why the next statement does not pass; "" while all is well."""
        self._names = {*names, *dir(builtins), *NOTEBOOK}
        self._protected = set(protected)
        self._hint = ""
        self._importable = importable or _is_installed
        self._rest, self._part = "", 0

    def feed(self, text: str) -> Iterator[str]:
        """Take more of the code; yield the statements that pass now."""
        self._rest += text
        while not self.problem:
            statement = _first(self._rest)
            if not statement:
                return
            self._rest = self._rest[len(statement) :]
            yield from self._let(statement, last=False)

    def finish(self, *, more: bool = False) -> Iterator[str]:
        """End the code: yield the rest, and a line that shows the result where one is missing.

        With `more`, other code follows in the same cell.
        """
        rest, self._rest = self._rest.rstrip() + "\n", ""
        if not self.problem and rest.strip():
            yield from self._let(rest, last=not more)
        if not self.problem:
            yield from self._result(more)

    def begin(self, code: str) -> Iterator[str]:
        """Pass code that is known to run."""
        if code:
            self._names |= bound(code)
            yield from self._pass(code)

    def lead(self, comment: str) -> Iterator[str]:
        """Pass a comment on a line of its own, which says what comes next."""
        self._part = len(self.text)
        yield from self._pass("\n# " + " ".join(comment.split()) + "\n")

    def again(self) -> Iterator[str]:
        """Go on after a problem: the next text continues the code that has passed.

        A hint (a comment, an import) may pass first, else the model would write the same again.
        """
        hint, self._hint, self.problem, self._rest = self._hint, "", "", ""
        if hint and hint not in self.text:
            yield from self._let(hint, last=True)

    def _let(self, statement: str, *, last: bool) -> Iterator[str]:
        if statement.lstrip().startswith(("%", "!")):  # the kernel's own commands
            yield from self._pass(statement)
            return
        try:
            tree = ast.parse(statement)
            if (rest := _without_guesses(statement)) != statement:
                statement, tree = rest, ast.parse(rest)
        except (SyntaxError, ValueError) as error:
            self.problem = f"it is not Python ({error})"
            return
        if symbol_table(statement) is None:
            self.problem = "it is not Python"
            return
        for module in _modules(tree):
            if not self._importable(module):
                self.problem = f"there is no module {module!r}"
                self._hint = f"# {module} is not installed here\n"
                if "np" not in self._names and self._importable("numpy"):
                    self._hint += IMPORTS["np"] + "\n"
                return
        for name in sorted(self._protected & _made_up(tree)):
            self.problem = f"{name} is there already"
            self._hint = f"# {name} is there already\n"
            return
        now, later = read_names(statement)
        new_names = bound(statement)
        missing = sorted((now | later) - self._names - new_names)
        for name in missing:
            if name in IMPORTS and self._importable(IMPORTS[name].split()[1].split(".")[0]):
                yield from self._pass(IMPORTS[name] + "\n")
                self._names.add(name)
            elif name in now:
                self.problem = f"there is no name {name!r}"
                return
        self._names |= new_names
        yield from self._pass(statement if last else _show(statement, tree))

    def _pass(self, statement: str) -> Iterator[str]:
        self.text += statement
        yield statement

    def _result(self, more: bool) -> Iterator[str]:
        """Yield a line that shows the last value of this part of the code, if it shows nothing."""
        try:
            body = ast.parse(_without_magics(self.text[self._part :])).body
        except SyntaxError:  # statements that are sound one by one may not be so together
            return
        if not body:
            self.problem = "it does nothing"
        elif not any(map(_shows, body)) and (name := _made_last(body[-1])):
            yield from self._pass(f"print({name})\n" if more else f"{name}\n")


def _made_up(tree: ast.Module) -> set[str]:
    """Names whose value is a literal, as models write for an example of their own."""
    literals = (ast.List, ast.Dict, ast.Tuple, ast.Set, ast.Constant)
    return {
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and (
            isinstance(node.value, literals)
            or (
                isinstance(node.value, ast.Call)
                and any(isinstance(part, (ast.List, ast.Dict)) for part in node.value.args)
                and not any(
                    isinstance(part, ast.Name) and part.id == node.targets[0].id
                    for part in ast.walk(node.value)
                )
            )
        )
    }


def bound(code: str) -> set[str]:
    """The names that the code assigns at its top level; none where it is not Python."""
    return assigned_names(_without_magics(code))


def _first(text: str) -> str:
    """The first whole statement and the comments before it, if the next has begun; else ""."""
    lines = text.splitlines(keepends=True)
    for index in range(1, len(lines)):
        line = lines[index]
        if not (line.endswith("\n") or len(line) > max(map(len, CONTINUE)) + 1):
            return ""
        if line[0].isspace() or line[0] in ")]}" or line.startswith(CONTINUE):
            continue
        head = "".join(lines[:index])
        if lines[index - 1].startswith(("%", "!")) and not _without_magics(head).strip():
            return head
        try:
            if ast.parse(head).body:
                return head
        except (SyntaxError, ValueError):
            continue
    return ""


def _without_magics(text: str) -> str:
    return "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith(("%", "!"))
    )


def _without_guesses(statement: str) -> str:
    """The statement without comments on what it will print, which a small model has to guess."""
    lines = statement.split("\n")
    gone: set[int] = set()
    last = -2  # the row of the guess that may go on in the next
    for token in tokenize.generate_tokens(io.StringIO(statement).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start[0] - 1, token.start[1]
        before = lines[row][:column].rstrip()
        if _GUESS.match(token.string) or (not before and row == last + 1):
            lines[row], last = before, row
            if not before:
                gone.add(row)
    return "\n".join(line for row, line in enumerate(lines) if row not in gone)


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _show(statement: str, tree: ast.Module) -> str:
    """The statement; a bare value, which other statements would hide, in a `print`."""
    node = tree.body[-1]
    if len(tree.body) != 1 or not isinstance(node, ast.Expr) or not _is_value(node.value):
        return statement
    source = ast.get_source_segment(statement, node.value)
    return statement if source is None else statement.replace(source, f"print({source})", 1)


def _is_value(node: ast.expr) -> bool:
    """Whether it is only a value; a call counts only where that is sure."""
    if not isinstance(node, ast.Call):
        return not isinstance(node, (ast.Constant, ast.Await, ast.Yield, ast.YieldFrom))
    function = node.func
    if isinstance(function, ast.Attribute):
        return _root(function) in {"math", "statistics"} or function.attr in VALUE_METHODS
    return isinstance(function, ast.Name) and function.id in VALUE_FUNCTIONS


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _made_last(statement: ast.stmt) -> str:
    """The name that a statement assigns to, whole or in part: `df["a"] = 1` -> `df`; else ""."""
    name = ""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return name
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            name = _root(node.targets[0])
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            name = _root(node.target)
    return name


def _shows(node: ast.stmt) -> bool:
    """Whether it shows something to the person: a value, a print, a part of a figure."""
    return isinstance(node, ast.Expr) or any(
        isinstance(part, ast.Call)
        and (_root(part) in SHOWING | DRAWING or getattr(part.func, "attr", "") in SHOWING)
        for part in ast.walk(node)
    )
