"""The effects of Python code: one walk over its syntax tree.

One rule: each expression is read once, where it stands, and gives a `Value`; what it calls is known
to be harmless, or it is named, or it "may do more" (`calls.py`). A function's body counts when the
code names the function; both branches of an `if` count.

The file is long because the walk is one: what a name is at a line depends on every statement before
it, so that statements and expressions share one state. What a call does is in `calls.py`, what is
known of a value in `value.py`.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmc_jupyter.computer.effects import calls, tables, values
from lmc_jupyter.computer.effects.value import (
    COMPREHENSIONS,
    DEFINITIONS,
    NOTHING,
    OWN,
    THEIRS,
    UNKNOWN,
    Definition,
    Scope,
    Value,
    bound_names,
    definitions,
    global_names,
    loaded_names,
    parameters,
)
from lmc_jupyter.computer.languages.python_syntax import parse
from lmc_jupyter.content import shorten
from lmc_jupyter.content.effect import Effect, EffectKind
from lmc_jupyter.kernel.namespace import type_and_shape

MAX_NODES = 100_000
"""Nodes of syntax that are read before the bodies of functions are not read once more."""
MAX_DESCRIPTION = 60
"""Characters of what a variable is."""
MAX_SOURCE = 60
"""Characters of an expression that stands for a path or a call."""

_ORDER: tuple[EffectKind, ...] = (
    "makes", "overwrites", "changes", "loses", "deletes", "writes", "renames", "removes", "network",
    "shell", "tools", "unknown",
)  # fmt: skip
_TOO_DEEP = "the code is too deep to be read"
_ITEM = Value(OWN)
Roots = frozenset[str]


def python_effects(code: str, names: Mapping[str, Any], shell: Any | None) -> tuple[Effect, ...]:
    """What the code will do; nothing for code that is no Python, which does not run either."""
    try:
        tree = parse(code, shell)
    except SyntaxError:
        return ()
    except (ValueError, RecursionError, MemoryError):
        return (Effect("unknown", "", _TOO_DEEP),)
    walk = Walk(names, shell)
    try:
        walk.read(tree.body)
    except RecursionError:
        walk.add("unknown", "", _TOO_DEEP)
    return walk.effects()


def source(node: ast.AST) -> str:
    """The expression as it is written, on one line."""
    return shorten.line(" ".join(ast.unparse(node).split()), MAX_SOURCE)


class Walk:
    """One block of code.

    Parameters
    ----------
    names : the person's variables
    """

    def __init__(self, names: Mapping[str, Any], shell: Any | None) -> None:
        self.names, self._shell = names, shell
        self.module = Scope("module")
        self.methods: set[str] = set()
        """Names of the methods and fields of the classes of this code: they are read."""
        self.attributes: dict[str, Value] = {}
        self._found: dict[tuple[EffectKind, str], Effect] = {}
        self._state: dict[str, tuple[str, object]] = {}  # name -> "bound" or "deleted", and where
        self._changed: dict[str, bool] = {}  # name -> whether it loses something
        self._definitions: dict[str, list[Definition]] = {}
        self._results: dict[tuple[object, ...], Value] = {}  # of bodies, by their arguments
        self._returned: list[Value] = []
        self._stars: list[str] = []  # modules whose names are all bound
        self._subject = _ITEM  # of the innermost `match`
        self._suite: object = None
        self._depth = self._nodes = 0

    # What was found -------------------------------------------------------------------------------

    def add(self, kind: EffectKind, name: str, detail: str = "") -> None:
        """One more effect, once."""
        self._found.setdefault((kind, name or detail), Effect(kind, name, detail))

    def effects(self) -> tuple[Effect, ...]:
        """All of them, names first."""
        for name, (state, _) in self._state.items():
            is_theirs = name in self.names
            if name in ("_", "__", "___"):
                continue  # IPython binds them at each result
            if name.startswith("_") and not name.startswith("__") and not is_theirs:
                continue  # of a step alone; nobody is told of such a name
            if state == "bound" and not is_theirs:
                self.add("makes", name, "hides Python's own" if hasattr(builtins, name) else "")
            elif is_theirs:
                self.add("overwrites" if state == "bound" else "deletes", name, self._is(name))
        for name, loses in self._changed.items():
            if name not in self._state:
                self.add("loses" if loses else "changes", name, self._is(name))
        return tuple(sorted(self._found.values(), key=lambda each: _ORDER.index(each.kind)))

    def _is(self, name: str) -> str:
        """What the variable is now, in a few words."""
        value = self.names.get(name, NOTHING)
        if value is NOTHING:
            return ""
        if type(value) is types.FunctionType:
            return "function"
        if issubclass(type(value), types.ModuleType):
            return "module"
        if issubclass(type(value), type):
            return "class"
        word, size = type_and_shape(value)
        if size.startswith("("):
            text = f"{word} {size.strip('(),').replace(', ', chr(215))}"
        elif size:
            text = f"{word}, {size.removesuffix('s') if size.startswith('1 ') else size}"
        else:
            text = word
        return shorten.line(text.strip(), MAX_DESCRIPTION)

    def change(self, roots: Iterable[str], *, modules: bool = False, loses: bool = False) -> None:
        """These variables are changed in place; modules are where an attribute is set."""
        for root in sorted(roots):
            value = self.names.get(root, NOTHING)
            is_module = issubclass(type(value), types.ModuleType)
            if value is NOTHING or values.is_immutable(value) or (is_module and not modules):
                continue  # `plt.rcParams["figure.dpi"] = 100` is a setting
            self._changed[root] = loses or self._changed.get(root, False)

    # Statements -----------------------------------------------------------------------------------

    def read(self, body: list[ast.stmt]) -> None:
        """Find all effects of statements of the module."""
        for name, node in definitions(body):
            self._definitions.setdefault(name, []).append(node)
        self._statements(body, self.module)

    def read_more(self, code: str, *, apart: bool = False) -> None:
        """Code that a magic runs in the module; `apart`: in a function, as `%timeit` does."""
        try:
            body = parse(code, self._shell).body
        except (SyntaxError, ValueError):
            return
        if not apart:
            self.read(body)
            return
        global_ = global_names(body)
        self._statements(body, Scope("function", self.module, bound_names(body) - global_, global_))

    def _statements(self, body: Iterable[ast.AST], scope: Scope) -> None:
        before, self._suite = self._suite, body
        for statement in body:
            self._visit(statement, scope)
        self._suite = before

    def _branch(self, body: Iterable[ast.AST], scope: Scope) -> None:
        """Statements that may not run, or run more than once."""
        self._depth += 1
        self._statements(body, scope)
        self._depth -= 1

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        """Read a statement, or a part of one."""
        self._nodes += 1
        visit = _STATEMENTS.get(type(node))
        if visit is not None:
            visit(self, node, scope)
            return
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.expr):
                self.value(part, scope)
            elif isinstance(part, ast.AST):
                self._visit(part, scope)
            elif isinstance(part, list) and part and isinstance(part[0], ast.AST):
                if isinstance(part[0], ast.stmt):
                    self._branch(part, scope)
                else:
                    for each in part:
                        (self.value if isinstance(each, ast.expr) else self._visit)(each, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        if isinstance(node.value, ast.Lambda) and scope is self.module:
            self._defaults(node.value, scope)  # its body counts when it is called
            value = _ITEM
        elif all(isinstance(each, ast.Name) for each in node.targets):
            value = self.value(node.value, scope)
        else:
            value = self.hand_on(node.value, scope)
        for target in node.targets:
            self.bind(target, scope, value)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.value(node.annotation, scope)
        if scope.kind == "class" and isinstance(node.target, ast.Name):
            self.methods.add(node.target.id)
        if node.value is not None:
            self.bind(node.target, scope, self.value(node.value, scope))

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        self.hand_on(node.value, scope)
        target = node.target
        if not isinstance(target, ast.Name):
            self.bind(target, scope, _ITEM)
            return
        known = self._look_up(target.id, scope)
        roots = {root for root in known.roots if values.is_changed_in_place(self.names.get(root))}
        self.change(roots)
        if not roots or (scope.owner(target.id) is self.module and target.id not in roots):
            self._bind_name(target.id, scope, _ITEM if known.is_place else known)

    def _loop(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        element = self.element(self.hand_on(node.iter, scope))
        self._depth += 1
        self.bind(node.target, scope, element)
        self._depth -= 1
        self._branch(node.body, scope)
        self._branch(node.orelse, scope)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            value = self.hand_on(item.context_expr, scope)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, scope, value)
        for statement in node.body:
            self._visit(statement, scope)

    def _except(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.type is not None:
            self.value(node.type, scope)
        if node.name is not None:
            self._bind_name(node.name, scope, Value("Exception()"))
        self._branch(node.body, scope)
        if node.name is not None and scope.owner(node.name) is self.module:
            self._state[node.name] = ("deleted", None)

    def _match(self, node: ast.Match, scope: Scope) -> None:
        subject = self.hand_on(node.subject, scope)
        roots = subject.alias | self._elements(subject)
        self._subject = Value(OWN if subject.kind != THEIRS else THEIRS, roots, roots)
        for case in node.cases:
            self._visit(case, scope)

    def _pattern(self, node: Any, scope: Scope) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self._bind_name(name, scope, self._subject)
        for part in ast.iter_child_nodes(node):
            self.value(part, scope) if isinstance(part, ast.expr) else self._visit(part, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(each, (ast.Tuple, ast.List)):
                    self._delete(ast.Delete([each]), scope)
                elif not isinstance(each, ast.Name):
                    self.bind(each, scope, _ITEM, loses=True)
                elif scope.owner(each.id) is self.module:
                    self.unbind(each.id)

    def _return(self, node: ast.Return, scope: Scope) -> None:
        if node.value is not None:
            self._returned.append(self.hand_on(node.value, scope))

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            name, module = (alias.asname, alias.name) if alias.asname else (top, top)
            self.load_module(alias.name)
            self._bind_import(name, scope, module, sys.modules.get(module, NOTHING))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module or ""
        if node.level:
            self.add("unknown", source(node), "runs a module of yours")
        else:
            self.load_module(module)
        members = values.members_of(sys.modules.get(module))
        for alias in node.names:
            if alias.name == "*":
                self.add("unknown", f"from {module} import *", "may bind any name")
                self._stars.append(module)
                continue
            value = members.get(alias.name, NOTHING)
            self._bind_import(alias.asname or alias.name, scope, f"{module}.{alias.name}", value)

    def load_module(self, name: str) -> None:
        """Say it where importing a module runs code that nobody here knows."""
        if name.partition(".")[0] == "__main__":
            self.add("unknown", "__main__", "may do more")
        elif name == "antigravity":
            self.add("shell", "web browser")
        elif not values.is_safe_to_import(name):
            self.add("unknown", f"import {name}", "runs the code of that module")

    def _bind_import(self, name: str, scope: Scope, path: str, live: Any) -> None:
        """An import binds a name; nobody calls that news where it has this very value already."""
        owner = scope.owner(name)
        value = values.value_of(live, name) if values.is_theirs(live) else Value(path)
        owner.bind(name, value._replace(kind=tables.place_of(value.kind)), owner.depth)
        if owner is self.module and name in self.names and self.names[name] is not live:
            self._state[name] = ("bound", self._suite)

    # Functions and classes ------------------------------------------------------------------------

    def _define(self, node: Any, scope: Scope) -> None:
        quiet = True
        for decorator in node.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = getattr(function, "attr", getattr(function, "id", ""))
            value = self.hand_on(decorator, scope)
            if name not in tables.DECORATORS:
                quiet = False
                if not isinstance(decorator, ast.Call) and value.kind == "":
                    self.add("unknown", f"{source(decorator)}()")
        if isinstance(node, ast.ClassDef):
            bases = [self.value(each, scope) for each in node.bases]
            for keyword in node.keywords:
                self.value(keyword.value, scope)
            if any(each.kind == THEIRS for each in bases):
                self.add("unknown", f"{node.name}()")
            inner = Scope("class", scope, bound_names(node.body), global_names(node.body))
            self.methods |= inner.local
            for statement in node.body:
                self._visit(statement, inner)
            calls_itself = loaded_names(node.body)
            for name, method in definitions(node.body):
                if name in calls_itself or scope is not self.module:
                    self._body(method, inner, {})
        else:
            self._defaults(node, scope)
            if scope is not self.module and scope.kind != "class":
                self._body(node, scope, {})
        self._bind_name(node.name, scope, _ITEM)
        if not quiet:
            self._body(node, scope, {})

    def _defaults(self, node: Any, scope: Scope) -> None:
        """What of a function runs where it is defined: its defaults and its annotations."""
        for each in (*node.args.defaults, *node.args.kw_defaults):
            if each is not None:
                self.hand_on(each, scope)
        annotations = [each.annotation for each in parameters(node)]
        for each in (*annotations, getattr(node, "returns", None)):
            if each is not None:
                self.value(each, scope)

    def use(self, name: str, call: calls.Call | None = None) -> Value:
        """The code names a function or class of its own: its body counts."""
        result = _ITEM
        for node in self._definitions.get(name, ()):
            if isinstance(node, ast.ClassDef):
                base = self.value(node.bases[0], self.module) if node.bases else UNKNOWN
                kind = base.kind if base.kind == THEIRS else f"{base.kind}()"
                me = Value(kind if base.is_place or kind == THEIRS else OWN)
                inner = Scope("class", self.module, bound_names(node.body))
                body = [each for each in node.body if isinstance(each, DEFINITIONS)]
                for method in sorted(body, key=lambda each: each.name != "__init__"):
                    if isinstance(method, ast.ClassDef):
                        continue
                    given = call if method.name == "__init__" else None
                    self._body(method, inner, _arguments(method, given, me))
                if call is not None:
                    self._fields(node, call)
                    result = me
            else:
                result = self._body(node, self.module, _arguments(node, call))
        return result

    def _fields(self, node: ast.ClassDef, call: calls.Call) -> None:
        """Of a class without `__init__`, such as a dataclass, any field may be any argument."""
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                for each in call.all():
                    kept = self.attributes.get(field.target.id, each.value)
                    self.attributes[field.target.id] = each.value.or_else(kept)

    def _body(self, node: Definition, scope: Scope, known: dict[str, Value]) -> Value:
        """Read the body of a function with these arguments, once; gives what it returns."""
        if isinstance(node, ast.ClassDef):
            return _ITEM
        key = (id(node), frozenset((name, each.key) for name, each in known.items()))
        if key in self._results:
            return self._results[key]
        self._results[key] = _ITEM
        if self._nodes > MAX_NODES:
            self.add("unknown", "", "it has more in its functions than is read here")
            return _ITEM
        body: list[Any] = [node.body] if isinstance(node, ast.Lambda) else node.body
        global_ = global_names(body)
        local = (bound_names(body) | {each.arg for each in parameters(node)}) - global_
        self._depth += 1
        inner = Scope("function", scope, local, global_, known, self._depth)
        before, self._returned = self._returned, []
        for each in body:
            if isinstance(each, ast.expr):
                self._returned.append(self.hand_on(each, inner))
            else:
                self._visit(each, inner)
        self._depth -= 1
        returned, self._returned = self._returned, before
        for each in returned:
            result = self._results[key]
            self._results[key] = each if each is returned[0] else result.or_else(each)
        result = self._results[key]
        self._results[key] = result if result.kind else result._replace(kind=OWN)
        return self._results[key]

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        self._defaults(node, scope)
        self._body(node, scope, {})
        return _ITEM

    # Names ----------------------------------------------------------------------------------------

    def bind(
        self, target: ast.expr, scope: Scope, value: Value = UNKNOWN, *, loses: bool = False
    ) -> None:
        """Bind a target to a value."""
        if isinstance(target, ast.Name):
            self._bind_name(target.id, scope, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, scope, Value(OWN, parts=value.alias | value.parts))
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = value.items if len(value.items) == len(target.elts) else ()
            element = UNKNOWN if known else self.element(value)
            for index, each in enumerate(target.elts):
                self.bind(each, scope, known[index] if known else element)
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value, scope)
            self.value(target.slice, scope)
            if owner.kind == "os.environ":
                self.add("changes", "os.environ")
            if owner.kind == "globals()":
                if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                    state = "deleted" if loses else "bound"
                    self._state[target.slice.value] = (state, None)
                self.add("unknown", f"{source(target.value)}[…]", "may bind any name")
            elif owner.kind in ("sys.modules", "builtins.__dict__"):
                self.add("unknown", source(target), "is set in Python itself")
            self.change(owner.roots | owner.parts if owner.owner else owner.roots, loses=loses)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, scope)
            self.attributes[target.attr] = value.or_else(self.attributes.get(target.attr, value))
            is_name = isinstance(target.value, ast.Name)
            if (
                owner.is_place
                and not calls.is_setting(owner.kind)
                and (
                    not is_name or target.value.id not in self.names  # type: ignore[attr-defined]
                )
            ):
                self.add("unknown", source(target), "is set in a library")
            self.change(owner.roots, modules=is_name, loses=loses)

    def _bind_name(self, name: str, scope: Scope, value: Value) -> None:
        owner = scope.owner(name)
        if owner is self.module:
            self._state[name] = ("bound", self._suite)
        owner.bind(name, value._replace(roots=value.alias), self._depth)

    def bind_here(self, name: str) -> None:
        """A magic binds this name of the module."""
        self._bind_name(name, self.module, _ITEM)

    def unbind(self, name: str) -> None:
        """A name of the module is deleted."""
        state = self._state.get(name)
        is_gone = state is not None and (self._depth == 0 or state[1] is self._suite)
        if name in self.names or is_gone:
            self._state[name] = ("deleted", None)

    def _look_up(self, name: str, scope: Scope) -> Value:
        owner = scope.owner(name)
        known = owner.known.get(name)
        if owner is not self.module:
            return _ITEM if known is None else known
        own = frozenset({name})
        if known is not None:
            return known._replace(roots=known.alias | own)
        if name in self._definitions:
            return Value(OWN, own, own)
        if name in self.names:
            return values.value_of(self.names[name], name)
        is_new = bool(self._stars) and not hasattr(builtins, name)
        return Value(f"{self._stars[-1]}.{name}" if is_new else name, own, own)

    # Expressions ----------------------------------------------------------------------------------

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Read an expression; gives what is known of its value."""
        self._nodes += 1
        read = _EXPRESSIONS.get(type(node))
        if read is not None:
            result: Value = read(self, node, scope)
            return result
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.value(part, scope)
            elif isinstance(part, ast.keyword):
                self.hand_on(part.value, scope)
        return _ITEM

    def hand_on(self, node: ast.expr, scope: Scope) -> Value:
        """Read an expression whose value goes where it is not seen what becomes of it."""
        value = self.value(node, scope)
        calls.hand_on(self, value, node)
        return value

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        value = self._named(node, scope)
        if value.kind == THEIRS and values.runs_when_used(value.live):
            self.add("unknown", node.id, "runs code of its class")
        return value

    def _named(self, node: ast.Name, scope: Scope) -> Value:
        if node.id in self._definitions and scope.owner(node.id) is self.module:
            self.use(node.id)
        elif node.id == "__builtins__":
            self.add("unknown", node.id, "may do more")
        return self._look_up(node.id, scope)

    def _owner(self, node: ast.expr, scope: Scope) -> Value:
        return self._named(node, scope) if isinstance(node, ast.Name) else self.value(node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        return self.attribute(self._owner(node.value, scope), node.attr, node)

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """What is known of an attribute of this value."""
        if name in ("user_ns", "user_global_ns"):
            return Value("globals()")
        if name in tables.BACK_DOORS or (
            name == "__dict__" and owner.kind not in (OWN, "", "list()", "dict()")
        ):
            self.add("unknown", source(node), "may do more")
        roots = owner.roots | owner.parts
        value = Value("", roots, self._without_copies(roots), owner=owner, name=name)
        if owner.is_place:
            return value._replace(kind=tables.place_of(values.member_path(owner.kind, name)))
        if owner.kind == THEIRS:
            found = values.attribute_of(owner.live, name)
            if found is None:
                self.add("unknown", source(node), "runs code of its class")
            elif found is not NOTHING:
                return values.value_of(found, name)._replace(roots=roots, alias=value.alias)
            return value._replace(kind=THEIRS)
        if owner.kind in ("", OWN):
            kept = self.attributes.get(name, _ITEM if name in self.methods else value)
            if name in self.attributes:  # the object may be any that has this attribute
                value = value._replace(
                    roots=roots | kept.alias, alias=value.alias | kept.alias, parts=kept.parts
                )
            return value._replace(kind=kept.kind, text=kept.text)
        text = owner.text if name == "parent" else None
        return value._replace(kind=calls.result_of(f"{owner.kind}.{name}"), text=text)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        owner = self.value(node.value, scope)
        index = self.value(node.slice, scope)
        if values.adds_when_read(owner.live):
            self.change(owner.roots)
        if owner.kind == "sys.modules":
            if isinstance(node.slice, ast.Name) or index.text is None:
                self.add("unknown", source(node), "may do more")  # `sys.modules[__name__]`
            return Value(tables.place_of(index.text or ""))
        if owner.kind == "globals()":
            live = self.names.get(index.text or "", NOTHING)
            return UNKNOWN if live is NOTHING else values.value_of(live, index.text or "")
        roots = owner.roots | owner.parts
        is_name = isinstance(node.value, ast.Name)
        if _is_basic(node.slice):
            slices = isinstance(node.slice, ast.Slice) and is_name
            alias = frozenset(
                root
                for root in roots
                if values.is_numpy_array(self.names.get(root))
                or (not slices and self._without_copies(frozenset({root})))
            )
        else:
            alias = self._without_copies(roots)
        parts = self._elements(owner) if isinstance(node.slice, ast.Slice) else frozenset()
        if isinstance(node.slice, ast.Constant) and owner.items:
            at = node.slice.value
            if isinstance(at, int) and -len(owner.items) <= at < len(owner.items):
                return owner.items[at]
        kind = owner.kind if isinstance(node.slice, ast.Slice) else self.element(owner).kind
        return Value(kind, roots, alias, parts)

    def _elements(self, value: Value) -> Roots:
        """The variables that change where an element of this is changed."""
        views = {root for root in value.alias if values.is_numpy_array(self.names.get(root))}
        return value.parts | self._without_copies(value.alias) | views

    def element(self, value: Value) -> Value:
        """What is known of an element."""
        roots = self._elements(value)
        if value.items and value.kind == "zip()":
            items = tuple(self.element(each) for each in value.items)
            return Value(OWN, roots, roots, items=items)
        kind = OWN if value.kind == OWN else ""
        if value.live is not NOTHING:
            kind = values.kind_of_elements(value.live)
        elif value.kind == THEIRS:
            kind = THEIRS
        elif "()" in value.kind:
            is_alike = value.kind.startswith("pathlib.")
            is_alike = is_alike or bool(tables.module_in(value.kind, tables.HONEST))
            kind = value.kind if is_alike else OWN
        elif value.is_place:
            kind = f"{value.kind}()"
        for index, each in enumerate(value.items):
            kind = each.kind if not index or kind == each.kind else kind and OWN
        return Value(kind, roots, roots)

    def _without_copies(self, roots: Roots) -> Roots:
        """Without those whose parts may be copies: frames and arrays; nor modules."""
        return frozenset(
            root
            for root in roots
            if not values.is_array(self.names.get(root))
            and not issubclass(type(self.names.get(root)), types.ModuleType)
        )

    def _constant(self, node: ast.Constant, _: Scope) -> Value:
        if node.value == "__main__":
            self.add("unknown", source(node), "may do more")
        text = node.value if isinstance(node.value, str) else None
        return Value(f"{type(node.value).__name__}()", text=text)

    def _display(self, node: Any, scope: Scope) -> Value:
        """`[a, b]`, `{"k": v}`."""
        elts = node.values if isinstance(node, ast.Dict) else node.elts
        for key in getattr(node, "keys", ()):
            if key is not None:
                self.hand_on(key, scope)
        items = tuple(self.hand_on(each, scope) for each in elts)
        parts = frozenset[str]().union(*(each.alias | each.parts for each in items))
        is_row = isinstance(node, (ast.Tuple, ast.List)) and not any(
            isinstance(each, ast.Starred) for each in elts
        )
        kind = "dict()" if isinstance(node, ast.Dict) else "list()"
        return Value(kind, parts=parts, items=items if is_row else ())

    def _either(self, node: ast.IfExp | ast.BoolOp, scope: Scope) -> Value:
        if isinstance(node, ast.IfExp):
            self.value(node.test, scope)
        either = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
        each = [self.hand_on(one, scope) for one in either]
        result = each[0]
        for other in each[1:]:
            result = result.or_else(other)
        return result

    def _same(self, node: Any, scope: Scope) -> Value:
        return (self.hand_on if isinstance(node, ast.Starred) else self.value)(node.value, scope)

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        self.bind(node.target, scope.binder(), value)
        return value

    def _f_string(self, node: ast.JoinedStr, scope: Scope) -> Value:
        text = ""
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                known = self.value(each.value, scope).text
                if each.format_spec is not None:
                    known = self.value(each.format_spec, scope) and None
                text += f"{{{source(each.value)}}}" if known is None else known
            elif isinstance(each, ast.Constant):
                text += str(each.value)
        return Value("str()", text=_short(text))

    def _binary(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        kind = left.kind if left.kind.startswith("pathlib.") else ""
        if isinstance(node.op, ast.Mod) and left.text is not None:
            return Value("str()", text=left.text)
        if isinstance(node.op, (ast.Div, ast.Add)) and left.text is not None:
            end = f"{{{source(node.right)}}}" if right.text is None else right.text
            whole = join(left.text, end) if isinstance(node.op, ast.Div) else left.text + end
            return Value(kind or "str()", text=_short(whole))
        for each in (left, right):
            if not kind and tables.module_in(each.kind, tables.HONEST):
                kind = each.kind
        return Value(kind or OWN, parts=left.parts | right.parts)

    def _yield(self, node: Any, scope: Scope) -> Value:
        if node.value is not None:
            self._returned.append(Value(OWN, parts=self.hand_on(node.value, scope).alias))
        return _ITEM

    def _compare(self, node: ast.Compare, scope: Scope) -> Value:
        is_guard = isinstance(node.left, ast.Name) and node.left.id == "__name__"
        self.value(node.left, scope) if not is_guard else None
        for each in () if is_guard else node.comparators:
            value = self.value(each, scope)
            if values.is_iterator(value.live):
                self.change(value.roots)
        return _ITEM

    def _comprehension(self, node: Any, scope: Scope) -> Value:
        local = set[str]().union(*(_targets(each.target) for each in node.generators))
        inner = Scope("comprehension", scope, local, depth=self._depth)
        for index, generator in enumerate(node.generators):
            element = self.element(self.hand_on(generator.iter, inner if index else scope))
            self.bind(generator.target, inner, element)
            for condition in generator.ifs:
                self.value(condition, inner)
        result = Value(OWN)
        for part in ("key", "value", "elt"):
            each = getattr(node, part, None)
            if each is not None:
                result = self.hand_on(each, inner)
        parts = result.alias | result.parts
        return Value("list()", parts=parts, items=(result._replace(live=NOTHING),) * 2)

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        function = node.func
        if isinstance(function, ast.Lambda):
            self._defaults(function, scope)
            call = self._given(node, scope, self.value)
            return self._body(function, scope, _arguments(function, call))
        name = function.id if isinstance(function, ast.Name) else ""
        is_own = name in self._definitions and scope.owner(name) is self.module
        if is_own and self.module.known.get(name, _ITEM).kind == OWN:
            return self.use(name, self._given(node, scope, self.value))
        callee = self._owner(function, scope)
        is_own = callee.kind == OWN and callee.owner is None
        call = self._given(node, scope, self.value if is_own else self.hand_on)
        if is_own:
            for each in call.all():
                calls.hand_on(self, each.value, each.node)
        return calls.call(self, callee, call)

    def _given(
        self, node: ast.Call, scope: Scope, read: Callable[[ast.expr, Scope], Value]
    ) -> calls.Call:
        """The arguments of a call."""
        if (
            read == self.hand_on
            and isinstance(node.func, ast.Name)
            and node.func.id in tables.LOOKS
        ):
            read = self.value
        args, keywords, is_open = [], {}, False
        for each in node.args:
            is_open = is_open or isinstance(each, ast.Starred)
            args.append(calls.Given(each, read(each, scope)))
        for keyword in node.keywords:
            if keyword.arg is not None:
                value = read(keyword.value, scope)
                keywords[keyword.arg] = calls.Given(keyword.value, value)
            elif isinstance(keyword.value, ast.Dict):
                for key, each in zip(keyword.value.keys, keyword.value.values, strict=True):
                    value = read(each, scope)
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        keywords[key.value] = calls.Given(each, value)
                    else:
                        is_open = True
            else:
                is_open = True
                self.value(keyword.value, scope)
        return calls.Call(node, args, keywords, is_open)


def _arguments(node: Any, call: calls.Call | None, me: Value | None = None) -> dict[str, Value]:
    """Parameter -> what is known of its value, where something is."""
    names = [each.arg for each in parameters(node)]
    positional = [] if call is None else [each.value for each in call.args]
    if me is not None and not any(
        getattr(each, "id", "") == "staticmethod" for each in getattr(node, "decorator_list", ())
    ):
        positional.insert(0, me)
    known = dict(zip(names, positional, strict=False))
    if call is not None:
        known |= {name: each.value for name, each in call.keywords.items() if name in names}
        count = len(node.args.posonlyargs) + len(node.args.args)
        more = [each.value for name, each in call.keywords.items() if name not in names]
        for extra, rest in ((node.args.vararg, positional[count:]), (node.args.kwarg, more)):
            if extra is not None:
                parts = frozenset[str]().union(*(each.alias | each.parts for each in rest))
                kind = THEIRS if any(each.kind == THEIRS for each in rest) else "list()"
                known[extra.arg] = Value(kind, parts=parts)
    return {name: each._replace(roots=each.alias) for name, each in known.items()}


def _targets(node: ast.AST) -> set[str]:
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _is_basic(index: ast.expr) -> bool:
    """Whether an index has slices and whole numbers alone."""
    if isinstance(index, ast.Tuple):
        return all(map(_is_basic, index.elts))
    if isinstance(index, ast.UnaryOp):
        return _is_basic(index.operand)
    is_number = isinstance(index, ast.Constant) and isinstance(index.value, int)
    return is_number or isinstance(index, ast.Slice)


def join(left: str, right: str) -> str:
    """Two paths as one."""
    return right if right.startswith("/") or left in ("", ".") else f"{left.rstrip('/')}/{right}"


def _short(text: str) -> str | None:
    return text if len(text) <= values.MAX_TEXT else None


_STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Assign: Walk._assign,
    ast.AnnAssign: Walk._annotated,
    ast.AugAssign: Walk._augmented,
    ast.ExceptHandler: Walk._except,
    ast.Delete: Walk._delete,
    ast.Return: Walk._return,
    ast.Import: Walk._import,
    ast.ImportFrom: Walk._import_from,
    ast.Match: Walk._match,
    **dict.fromkeys((ast.For, ast.AsyncFor), Walk._loop),
    **dict.fromkeys((ast.With, ast.AsyncWith), Walk._with),
    **dict.fromkeys(DEFINITIONS, Walk._define),
    **dict.fromkeys((ast.MatchAs, ast.MatchStar, ast.MatchMapping), Walk._pattern),
}
_EXPRESSIONS: dict[type[ast.AST], Any] = {
    ast.Name: Walk._name,
    ast.Attribute: Walk._attribute,
    ast.Subscript: Walk._subscript,
    ast.Constant: Walk._constant,
    ast.Call: Walk._call,
    ast.Lambda: Walk._lambda,
    ast.NamedExpr: Walk._walrus,
    ast.JoinedStr: Walk._f_string,
    ast.BinOp: Walk._binary,
    ast.Compare: Walk._compare,
    **dict.fromkeys((ast.Yield, ast.YieldFrom), Walk._yield),
    **dict.fromkeys((ast.Starred, ast.Await), Walk._same),
    **dict.fromkeys((ast.IfExp, ast.BoolOp), Walk._either),
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set, ast.Dict), Walk._display),
    **dict.fromkeys(COMPREHENSIONS, Walk._comprehension),
}
if sys.version_info >= (3, 12):
    _STATEMENTS[ast.TypeAlias] = lambda walk, node, scope: walk.bind(node.name, scope)
