"""What is known of the value of an expression: which variable it is part of, and what made it.

One rule: it reads the code and the types of live values. What is not known is `UNKNOWN`, never a
guess.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any

from lmc_jupyter.computer.effects import values
from lmc_jupyter.computer.effects.scopes import UNKNOWN, Origin, Scope
from lmc_jupyter.content import shorten

MAX_SOURCE = 60
"""Characters of an expression that stands for a path or a call."""

_INSIDE = (ast.Attribute, ast.Subscript)
_SAME = (ast.NamedExpr, ast.Starred, ast.Await)
_SEQUENCES = (ast.List, ast.Tuple, ast.Set)
_ITERATORS = {"enumerate", "reversed", "sorted", "list", "tuple", "iter", "zip", "tqdm"}
_JOINS = {"pathlib.Path", "pathlib.PurePath", "os.path.join", "posixpath.join"}
_SAME_TEXT = {"str", "os.fspath", "os.path.abspath", "os.path.expanduser"}


class Origins:
    """Tells the origin of expressions.

    Parameters
    ----------
    names : the person's variables
    module : the scope of the notebook; a name that the code has bound is in its `known`
    """

    def __init__(self, names: Mapping[str, Any], module: Scope) -> None:
        self.names, self.module = names, module

    def of(self, node: ast.expr | None, scope: Scope) -> Origin:
        """All that is known of the value of an expression."""
        if node is None:
            return UNKNOWN
        if isinstance(node, ast.IfExp):
            return self.of(node.body, scope).or_else(self.of(node.orelse, scope))
        if isinstance(node, ast.BoolOp):
            origin = self.of(node.values[0], scope)
            for each in node.values[1:]:
                origin = origin.or_else(self.of(each, scope))
            return origin
        if isinstance(node, _SAME):
            return self.of(node.value, scope)
        parts = frozenset[str]()
        if isinstance(node, (*_SEQUENCES, ast.Dict)) or _is_slice(node):
            parts = self.elements(node, scope)
        elif isinstance(node, ast.Name):
            parts = scope.owner(node.id).known.get(node.id, UNKNOWN).parts
        return Origin(
            self._alias(node, scope), parts, self.dotted(node, scope), self.text(node, scope)
        )

    def roots(self, node: ast.expr, scope: Scope) -> frozenset[str]:
        """The variables that change where this value is changed in place."""
        is_inside = False
        while not isinstance(node, ast.Name):
            if isinstance(node, _SAME):
                node = node.value
            elif isinstance(node, _INSIDE):
                is_inside, node = True, node.value
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("get", "setdefault")
            ):
                is_inside, node = True, node.func.value
            else:
                return frozenset()
        owner = scope.owner(node.id)
        origin = owner.known.get(node.id, UNKNOWN)
        own = {node.id} if owner is self.module else set()
        return origin.roots | own | (origin.parts if is_inside else frozenset())

    def _alias(self, node: ast.expr, scope: Scope) -> frozenset[str]:
        """The variables that change where this value is changed."""
        if isinstance(node, ast.Name):
            owner = scope.owner(node.id)
            origin = owner.known.get(node.id)
            if owner is self.module and origin is None:
                return frozenset({node.id})
            return UNKNOWN.roots if origin is None else origin.roots
        roots = self.roots(node, scope)
        if isinstance(node, ast.Subscript) and _is_basic(node.slice):
            return frozenset(root for root in roots if self._is_part(root, node))
        return self._without_copies(roots)

    def _is_part(self, root: str, node: ast.Subscript) -> bool:
        """Whether a constant index or slice gives a part of the variable, and not a copy."""
        value = self.names.get(root)
        if values.is_numpy_array(value):
            return True  # a view
        return not (_is_slice(node) and isinstance(node.value, ast.Name)) and bool(
            self._without_copies(frozenset({root}))
        )

    def _without_copies(self, roots: frozenset[str]) -> frozenset[str]:
        """Without those whose parts may be copies: frames and arrays; nor modules."""
        return frozenset(
            root
            for root in roots
            if not values.is_array(self.names.get(root))
            and not issubclass(type(self.names.get(root)), types.ModuleType)
        )

    def elements(self, node: ast.expr | None, scope: Scope) -> frozenset[str]:
        """The variables that change where an element is changed: `d.values()`, `[df, other]`."""
        if node is None:
            return frozenset()
        if isinstance(node, (*_SEQUENCES, ast.Dict)):
            each = node.values if isinstance(node, ast.Dict) else node.elts
            roots = [self.of(one, scope) for one in each]
            return frozenset[str]().union(*(one.roots | one.parts for one in roots))
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                if function.id not in _ITERATORS:
                    return frozenset()
                inside = [self.elements(each, scope) for each in node.args]
                return frozenset[str]().union(*inside)
            if not isinstance(function, ast.Attribute) or function.attr not in ("values", "items"):
                return frozenset()
            node = function.value
            if isinstance(node, ast.Dict):
                return self.elements(node, scope)
        if isinstance(node, ast.Name):
            known = scope.owner(node.id).known.get(node.id)
            if known is not None:
                return known.parts | self._rows(known.roots)
        return self._rows(self.roots(node, scope))

    def _rows(self, roots: frozenset[str]) -> frozenset[str]:
        """Those whose elements are no copies; the rows of an array of numpy are views."""
        views = {root for root in roots if values.is_numpy_array(self.names.get(root))}
        return self._without_copies(roots) | views

    def dotted(self, node: ast.expr, scope: Scope) -> str | None:
        """What an expression is, by the names of libraries: "pandas.read_csv()", "open"."""
        path = self._dotted(node, scope)
        return None if path is None or len(path) > values.MAX_TEXT else path

    def _dotted(self, node: ast.expr, scope: Scope) -> str | None:
        if isinstance(node, ast.Name):
            owner = scope.owner(node.id)
            origin = owner.known.get(node.id)
            if origin is not None:
                return origin.kind
            if owner is not self.module:
                return None
            return values.path_of(self.names[node.id]) if node.id in self.names else node.id
        if isinstance(node, ast.Attribute):
            path = self.dotted(node.value, scope)
            return None if path is None else f"{path}.{node.attr}"
        if isinstance(node, ast.Call):
            path = self.dotted(node.func, scope)
            return None if path is None else f"{path}()"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            path = self.dotted(node.left, scope)
            return path if path is not None and path.startswith("pathlib.") else None
        if isinstance(node, _SAME):
            return self.dotted(node.value, scope)
        return None

    def text(self, node: ast.expr, scope: Scope) -> str | None:
        """The text that an expression gives; a part that is not known stands as `{name}`."""
        text = self._text(node, scope)
        return None if text is None or len(text) > values.MAX_TEXT else text

    def _text(self, node: ast.expr, scope: Scope) -> str | None:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            owner = scope.owner(node.id)
            origin = owner.known.get(node.id)
            if origin is not None:
                return origin.text
            return values.text_of(self.names.get(node.id)) if owner is self.module else None
        if isinstance(node, ast.JoinedStr):
            return "".join(self._piece(each, scope) for each in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
            left, right = self.text(node.left, scope), self.text(node.right, scope)
            if left is None or right is None:
                return None
            return _join(left, right) if isinstance(node.op, ast.Div) else left + right
        if isinstance(node, ast.Call) and node.args and not node.keywords:
            return self._of_call(node, scope)
        return None

    def _of_call(self, node: ast.Call, scope: Scope) -> str | None:
        path = self.dotted(node.func, scope) or ""
        if path not in _JOINS and path not in _SAME_TEXT:
            return None
        texts = [self.text(each, scope) for each in node.args]
        known = [each for each in texts if each is not None]
        if len(known) != len(texts):
            return None
        text = known[0]
        for each in known[1:]:
            text = _join(text, each)
        return text

    def _piece(self, node: ast.expr, scope: Scope) -> str:
        if isinstance(node, ast.FormattedValue):
            text = self.text(node.value, scope) if node.format_spec is None else None
            return f"{{{source(node.value)}}}" if text is None else text
        return str(node.value) if isinstance(node, ast.Constant) else ""

    def shown(self, node: ast.expr, scope: Scope) -> str:
        """A path as a person reads it: its text, else the expression."""
        text = self.text(node, scope)
        return source(node) if text is None else text


def _is_slice(node: ast.expr) -> bool:
    """Whether this is `rows[1:]`: of a list, a new list of the same elements."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def _is_basic(index: ast.expr) -> bool:
    """Whether an index has slices and whole numbers alone."""
    if isinstance(index, ast.Tuple):
        return all(map(_is_basic, index.elts))
    if isinstance(index, ast.UnaryOp):
        return _is_basic(index.operand)
    is_number = isinstance(index, ast.Constant) and isinstance(index.value, int)
    return is_number or isinstance(index, ast.Slice)


def source(node: ast.AST) -> str:
    """The expression as it is written, on one line."""
    return shorten.line(" ".join(ast.unparse(node).split()), MAX_SOURCE)


def _join(left: str, right: str) -> str:
    return right if right.startswith("/") or left in ("", ".") else f"{left.rstrip('/')}/{right}"
