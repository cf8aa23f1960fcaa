"""Scopes of Python code: where a name is bound, and what is known of its value.

One rule: they follow Python's own rules, such as that a class is no scope for its methods.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PATTERNS = (ast.MatchAs, ast.MatchStar, ast.MatchMapping)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WITH_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


@dataclass(frozen=True)
class Origin:
    """What is known of a value.

    Parameters
    ----------
    roots : variables of the notebook that change where the value is changed in place
    parts : the same of its elements
    kind : what made it, by the names of libraries: "requests.Session()"
    text : what it is, of a text or a path
    """

    roots: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    kind: str | None = None
    text: str | None = None

    def or_else(self, other: Origin) -> Origin:
        """What is known where it may be this or the other."""
        return Origin(
            self.roots | other.roots,
            self.parts | other.parts,
            self.kind or other.kind,
            self.text if self.text == other.text else None,
        )


UNKNOWN = Origin()


@dataclass
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
    known: dict[str, Origin] = field(default_factory=dict)
    depth: int = 0

    def owner(self, name: str) -> Scope:
        """The scope in which this name is found."""
        scope: Scope = self
        while scope.parent is not None:
            if name in scope.global_:
                return scope.module()
            if name in scope.local and (scope.kind != "class" or scope is self):
                return scope
            scope = scope.parent
        return scope

    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def binder(self) -> Scope:
        """The scope in which `:=` binds."""
        scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, origin: Origin, depth: int) -> None:
        """This name of its own has another value; within a branch it may keep the one before."""
        if depth > self.depth and name in self.known:
            origin = origin.or_else(self.known[name])
        self.known[name] = origin


def parameters(node: Any) -> list[ast.arg]:
    """The parameters of a function, those that are given by position first."""
    each = node.args
    extra = [one for one in (each.vararg, each.kwarg) if one is not None]
    return [*each.posonlyargs, *each.args, *each.kwonlyargs, *extra]


def arguments(
    node: Any, positional: Iterable[Origin], by_name: Mapping[str, Origin]
) -> dict[str, Origin]:
    """Parameter -> what is known of its value, where something is."""
    names = [each.arg for each in parameters(node)]
    known = {**dict(zip(names, positional, strict=False)), **by_name}
    return {name: origin for name, origin in known.items() if origin != UNKNOWN}


def targets(node: ast.AST) -> set[str]:
    """The names that a target binds."""
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def bound_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope."""
    names: set[str] = set()
    queue = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
            continue
        name: str | None = None
        if isinstance(node, ast.alias):
            name = (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            name = node.name
        elif isinstance(node, ast.MatchMapping):
            name = node.rest
        if name is not None:
            names.add(name)
        queue += _of_scope(node)
    return names


def loaded_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements read in their own scope."""
    names: set[str] = set()
    queue = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        queue += _of_scope(node)
    return names


def definitions(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Definition]]:
    """(name, function or class) of those that statements define, also within an `if`."""
    for statement in body:
        if isinstance(statement, DEFINITIONS):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from definitions(getattr(statement, part, ()))
            for part in ("handlers", "cases"):
                for each in getattr(statement, part, ()):
                    yield from definitions(each.body)


def _of_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that are of the same scope."""
    if isinstance(node, COMPREHENSIONS):
        yield from (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        yield from getattr(node, "decorator_list", ())
        yield node.args  # their defaults and annotations; an `ast.arg` binds nothing here
        yield from filter(None, [getattr(node, "returns", None)])
    elif isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
    else:
        yield from ast.iter_child_nodes(node)


def global_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements declare `global`."""
    names: set[str] = set()
    queue = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Global):
            names.update(node.names)
        elif isinstance(node, _WITH_STATEMENTS) and not isinstance(node, DEFINITIONS):
            queue += ast.iter_child_nodes(node)
    return names
