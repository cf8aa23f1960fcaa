"""Where Python finds a name, and which names statements bind.

One rule: Python's own rules, such as that a class is no scope for its methods.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from lmc_jupyter.computer.effects.value import Value

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(eq=False)
class Scope:
    """Where a name is looked up: the notebook, a function that is called, a comprehension.

    Parameters
    ----------
    local : its own names; of the module there are none, for there all names are the person's
    depth : how many branches and loops its first statement is in
    """

    kind: Literal["module", "function", "class", "comprehension"]
    parent: Scope | None = None
    local: set[str] = field(default_factory=set)
    global_: set[str] = field(default_factory=set)
    known: dict[str, Value] = field(default_factory=dict)
    depth: int = 0

    def owner(self, name: str) -> Scope:
        """The scope in which this name is found."""
        scope: Scope = self
        is_global = False
        while scope.parent is not None:
            is_global = is_global or name in scope.global_
            if not is_global and name in scope.local and (scope.kind != "class" or scope is self):
                return scope
            scope = scope.parent
        return scope

    def binder(self) -> Scope:
        """The scope in which `:=` binds."""
        scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope


def parameters(node: Any) -> list[ast.arg]:
    """The parameters of a function, those that are given by position first."""
    each = node.args
    extra = [one for one in (each.vararg, each.kwarg) if one is not None]
    return [*each.posonlyargs, *each.args, *each.kwonlyargs, *extra]


def bound_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope."""
    names: set[str | None] = set()
    for node in _of_scope(body):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            names.add(node.rest)
    return {name for name in names if name}


def global_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements declare `global`."""
    return {name for node in _of_scope(body) if isinstance(node, ast.Global) for name in node.names}


def _of_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of statements that are of their own scope."""
    queue = list(body)
    while queue:
        node = queue.pop()
        yield node
        if isinstance(node, COMPREHENSIONS):
            queue += [each for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        elif isinstance(node, _FUNCTIONS):
            queue += getattr(node, "decorator_list", ())
            queue.append(node.args)  # their defaults; an `ast.arg` binds nothing here
            queue += filter(None, [getattr(node, "returns", None)])
        elif isinstance(node, ast.ClassDef):
            queue += [*node.decorator_list, *node.bases, *node.keywords]
        else:
            queue += ast.iter_child_nodes(node)
