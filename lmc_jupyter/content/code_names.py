"""The names of Python code: which it binds and reads, and which it binds in passing.

One rule: the code is parsed, nothing runs; of code that is no Python nothing is known.
"""

from __future__ import annotations

import ast
import re
import symtable
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

NOT_PYTHON = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
"""Lines of a cell that are IPython's alone."""
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What Python raises where it cannot read code."""
IS_INLINED = sys.version_info >= (3, 12)
"""Whether a list with a `for` in it has no scope of its own (PEP 709)."""


def loop_variables(source: str) -> frozenset[str]:
    """The names that only its loops bind, outside of functions."""
    return frozenset(name for name, ways in _bound(source).items() if ways == {"loop"})


def passing_names(source: str) -> frozenset[str]:
    """The names that only its loops and imports bind, outside of functions."""
    return frozenset(name for name, ways in _bound(source).items() if "other" not in ways)


@lru_cache(maxsize=1024)
def _bound(source: str) -> Mapping[str, set[str]]:
    """name -> the ways in which the code binds it: "loop", "import", "other"."""
    nodes: list[ast.AST] = [_parse(source)]
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
        elif isinstance(node, ast.comprehension):
            nodes += [node.iter, *node.ifs]  # its variable is its own
        elif not isinstance(node, ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return bound


def _parse(source: str) -> ast.Module:
    with suppress(*UNREADABLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python said them when the cell ran
        return ast.parse(NOT_PYTHON.sub("", source))
    return ast.Module([], [])


# Scopes -------------------------------------------------------------------------------------------


def assigned_names(source: str) -> set[str]:
    """The names that Python code may bind where it stands; a `:=` in a list with a `for`, too."""
    at_once = (each for each, later in _around(symbol_table(source)) if not later)
    return {each.get_name() for each in at_once if each.is_assigned() or each.is_imported()}


def read_names(source: str) -> tuple[set[str], set[str]]:
    """The names around Python code that it reads at once, and those of its functions' calls."""
    around = _around(symbol_table(source))
    read = {(each.get_name(), later) for each, later in around if each.is_referenced()}
    return {name for name, later in read if not later}, {name for name, later in read if later}


@lru_cache(maxsize=1024)
def names_of(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """(names that a cell binds in the notebook, but for imports; those that it reads)."""
    symbols = [each for each, _ in _around(symbol_table(NOT_PYTHON.sub("", source)))]
    makes = (each.get_name() for each in symbols if each.is_assigned() and not each.is_imported())
    return frozenset(makes), frozenset(each.get_name() for each in symbols if each.is_referenced())


def _around(
    table: symtable.SymbolTable | None, later: bool = False
) -> Iterator[tuple[symtable.Symbol, bool]]:
    """Each symbol that is of the code around its scope, and whether only a call comes to it."""
    if table is None:
        return
    for symbol in table.get_symbols():
        if symbol.is_global() or table.get_type() == "module":
            yield symbol, later
    for child in table.get_children():
        is_def = child.get_name() not in ("listcomp", "setcomp", "dictcomp", "genexpr")
        yield from _around(child, later or (is_def and child.get_type() == "function"))


def symbol_table(source: str) -> symtable.SymbolTable | None:
    """The scopes of Python code with their names; None where it is no Python."""
    with suppress(*UNREADABLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if IS_INLINED and "for" in source:
            source = ast.unparse(_with_generators(ast.parse(source)))  # these have a scope
        return symtable.symtable(source, "<cell>", "exec")
    return None


def _with_generators(node: Any) -> Any:
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            value[:] = [_with_generators(e) if isinstance(e, ast.AST) else e for e in value]
        elif isinstance(value, ast.AST):
            setattr(node, name, _with_generators(value))
    if isinstance(node, ast.DictComp):
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)
    return ast.GeneratorExp(node.elt, node.generators) if hasattr(node, "generators") else node
