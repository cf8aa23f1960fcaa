"""Names that Python binds in passing: the variables of its loops, and what it imports.

One rule: the code is parsed, nothing runs; of code that is no Python nothing is known.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import lru_cache

NOT_PYTHON = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
"""Lines of a cell that are IPython's alone."""


def loop_variables(source: str) -> frozenset[str]:
    """The names that only its loops bind, outside of functions."""
    return frozenset(name for name, ways in _bound(source).items() if ways == {"loop"})


def passing_names(source: str) -> frozenset[str]:
    """The names that only its loops and imports bind, outside of functions."""
    return frozenset(name for name, ways in _bound(source).items() if "other" not in ways)


def bound_names(source: str) -> frozenset[str]:
    """All the names that it binds outside of functions."""
    return frozenset(_bound(source))


def used_names(source: str) -> frozenset[str]:
    """The names that it reads, in its functions too."""
    import ast

    try:
        nodes = list(ast.walk(ast.parse(NOT_PYTHON.sub("", source))))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    names = (each for each in nodes if isinstance(each, ast.Name))
    return frozenset(each.id for each in names if isinstance(each.ctx, ast.Load))


@lru_cache(maxsize=1024)
def _bound(source: str) -> Mapping[str, set[str]]:
    """name -> the ways in which the code binds it: "loop", "import", "other"."""
    import ast  # at the first question

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes: list[ast.AST] = [ast.parse(NOT_PYTHON.sub("", source))]
    except (SyntaxError, ValueError, RecursionError):
        return {}
    bound: dict[str, set[str]] = {}
    in_loop: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.For, ast.AsyncFor)):
            in_loop.update(id(each) for each in ast.walk(node.target))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.setdefault(node.id, set()).add("loop" if id(node) in in_loop else "other")
        elif isinstance(node, ast.alias):
            name = node.asname or node.name.partition(".")[0]
            bound.setdefault(name, set()).add("import")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.setdefault(node.name, set()).add("other")
        elif not isinstance(node, ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return bound
