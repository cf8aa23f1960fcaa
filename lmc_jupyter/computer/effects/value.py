"""What is known of the value of an expression, and the scopes in which its names are found.

One rule: what is not known is `UNKNOWN`, never a guess; scopes follow Python's own rules, such as
that a class is no scope for its methods.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from lmc_jupyter.computer.effects.tables import is_harmless

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda

OWN = "own"
"""The kind of what this code makes itself: what it hands on was looked at where it names it."""
THEIRS = "theirs"
"""The kind of what code of the person's made, and what may run such code."""
_NONE: frozenset[str] = frozenset()
NOTHING: Any = object()


class Value(NamedTuple):
    """What is known of a value.

    Parameters
    ----------
    kind : OWN, THEIRS, "" where nothing is known, or its place in a library: "pandas.read_csv" for
        the function, "pandas.read_csv()" for what it gives
    roots : variables of the notebook that change where this expression is changed in place
    alias : the same of another name for the value
    parts : the same of its elements
    text : what it is, of a text or a path
    live : the value itself, of a variable
    owner : whose method or attribute it is, of the name `name`
    items : its parts, of a tuple that is written out
    """

    kind: str = ""
    roots: frozenset[str] = _NONE
    alias: frozenset[str] = _NONE
    parts: frozenset[str] = _NONE
    text: str | None = None
    live: Any = NOTHING
    owner: Value | None = None
    name: str = ""
    items: tuple[Value, ...] = ()

    @property
    def is_place(self) -> bool:
        """Whether it is a module, or a function or class of one."""
        return self.kind not in ("", OWN, THEIRS) and "()" not in self.kind

    @property
    def key(self) -> tuple[object, ...]:
        """What decides whether a function is to be read once more with it."""
        return self.kind, self.alias, self.parts, self.text

    def or_else(self, other: Value) -> Value:
        """What is known where it may be this or the other."""
        kind = self.kind
        if kind != other.kind:
            quiet = all(each == OWN or (each and is_harmless(each)) for each in (kind, other.kind))
            kind = THEIRS if THEIRS in (kind, other.kind) else OWN if quiet else ""
        return Value(
            kind,
            self.roots | other.roots,
            self.alias | other.alias,
            self.parts | other.parts,
            self.text if self.text == other.text else None,
            owner=self.owner if kind == self.kind else None,
            name=self.name if kind == self.kind else "",
        )


UNKNOWN = Value()


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
    known: dict[str, Value] = field(default_factory=dict)
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

    def bind(self, name: str, value: Value, depth: int) -> None:
        """This name of its own has another value; within a branch it may keep the one before."""
        if depth > self.depth and name in self.known:
            value = value.or_else(self.known[name])
        self.known[name] = value


def parameters(node: Any) -> list[ast.arg]:
    """The parameters of a function, those that are given by position first."""
    each = node.args
    extra = [one for one in (each.vararg, each.kwarg) if one is not None]
    return [*each.posonlyargs, *each.args, *each.kwonlyargs, *extra]


def bound_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope."""
    names: set[str] = set()
    for node in _of_scope(body):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            names.update(filter(None, [node.name]))
        elif isinstance(node, ast.MatchMapping):
            names.update(filter(None, [node.rest]))
    return names


def loaded_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements read in their own scope."""
    return {
        node.id
        for node in _of_scope(body)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def global_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements declare `global`."""
    return {name for node in _of_scope(body) if isinstance(node, ast.Global) for name in node.names}


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


def _of_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of statements that are of their own scope."""
    queue = list(body)
    while queue:
        node = queue.pop()
        yield node
        if isinstance(node, COMPREHENSIONS):
            queue += [each for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            queue += getattr(node, "decorator_list", ())
            queue.append(node.args)  # their defaults; an `ast.arg` binds nothing here
            queue += filter(None, [getattr(node, "returns", None)])
        elif isinstance(node, ast.ClassDef):
            queue += [*node.decorator_list, *node.bases, *node.keywords]
        else:
            queue += ast.iter_child_nodes(node)
