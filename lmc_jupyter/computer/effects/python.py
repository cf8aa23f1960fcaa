"""The effects of Python code: which names it binds, changes and deletes, and what its calls do.

One rule: what Python does when it runs the code decides. A function's body counts when the code
names the function; both branches of an `if` count.

Why it is not simpler: code that a model writes works through functions and second names, such as
`df2 = df` or `clean(df)`. So a function is read with what is known of its arguments.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

from lmc_jupyter.computer.effects import calls, values
from lmc_jupyter.computer.effects.origins import Origins, source
from lmc_jupyter.computer.effects.scopes import (
    COMPREHENSIONS,
    DEFINITIONS,
    PATTERNS,
    UNKNOWN,
    Definition,
    Origin,
    Scope,
    arguments,
    bound_names,
    definitions,
    global_names,
    loaded_names,
    parameters,
    targets,
)
from lmc_jupyter.computer.languages.python_syntax import parse
from lmc_jupyter.content import shorten
from lmc_jupyter.content.effect import Effect, EffectKind
from lmc_jupyter.kernel.namespace import type_and_shape

MAX_NODES = 100_000
"""Nodes of syntax that are read before the bodies of functions are not read once more."""
MAX_DESCRIPTION = 60
"""Characters of what a variable is."""

_ORDER: tuple[EffectKind, ...] = (
    "makes", "overwrites", "changes", "deletes", "writes", "removes", "network", "shell", "tools",
    "unknown",
)  # fmt: skip
_NAMESPACES = {"globals", "locals", "vars"}
_QUIET_DECORATORS = {
    "staticmethod", "classmethod", "property", "setter", "lru_cache", "cache", "cached_property",
    "wraps", "dataclass", "contextmanager", "njit", "jit", "vectorize", "abstractmethod",
    "overload", "total_ordering", "singledispatch",
}  # fmt: skip
"""Decorators that do not call the function."""
_BACK_DOORS = {"f_globals", "f_locals", "__globals__", "__builtins__"}
"""Attributes by which code reaches names that it does not say."""
_TOO_DEEP = "the code is too deep to be read"
_TIMES = "\u00d7"
_nothing: Any = object()


def python_effects(code: str, names: Mapping[str, Any], shell: Any | None) -> tuple[Effect, ...]:
    """What the code will do; nothing for code that is no Python, which does not run either."""
    try:
        tree = parse(code, shell)
    except SyntaxError:
        return ()
    except (ValueError, RecursionError, MemoryError):
        return (Effect("unknown", "", _TOO_DEEP),)
    block = Block(names, shell)
    try:
        block.read(tree)
    except RecursionError:
        block.add("unknown", "", _TOO_DEEP)
    return block.effects()


class Block:
    """One block of code.

    Parameters
    ----------
    names : the person's variables
    """

    def __init__(self, names: Mapping[str, Any], shell: Any | None) -> None:
        self.names, self._shell = names, shell
        self.module = Scope("module")
        self.origins = Origins(names, self.module)
        self._found: dict[tuple[EffectKind, str], Effect] = {}
        self._state: dict[str, tuple[str, object]] = {}  # name -> "bound" or "deleted", and where
        self._changed: dict[str, None] = {}
        self._definitions: dict[str, list[Definition]] = {}
        self._read: set[tuple[object, ...]] = set()  # bodies, by what their arguments are
        self._tools_seen: dict[int, ast.expr] = {}  # where a tool may stand: a call of it, a name
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
            if state == "bound" and not is_theirs:
                hides = hasattr(builtins, name)
                self.add("makes", name, "hides Python's own" if hides else "")
            elif is_theirs:
                kind: EffectKind = "overwrites" if state == "bound" else "deletes"
                self.add(kind, name, self._describe(name))
        for name in self._changed:
            if name not in self._state:
                self.add("changes", name, self._describe(name))
        return tuple(sorted(self._found.values(), key=lambda each: _ORDER.index(each.kind)))

    def _describe(self, name: str) -> str:
        """What the variable is now, in a few words."""
        value = self.names.get(name, _nothing)
        if value is _nothing:
            return ""
        if type(value) is types.FunctionType:
            return "function"
        if issubclass(type(value), types.ModuleType):
            return "module"
        if issubclass(type(value), type):
            return "class"
        word, size = type_and_shape(value)
        if size.startswith("("):
            text = f"{word} {size.strip('(),').replace(', ', _TIMES)}"
        elif size:
            text = f"{word}, {size.removesuffix('s') if size.startswith('1 ') else size}"
        else:
            text = word
        return shorten.line(text.strip(), MAX_DESCRIPTION)

    # Statements -----------------------------------------------------------------------------------

    def read(self, tree: ast.Module) -> None:
        """Find all effects of the module."""
        self._collect(tree.body)
        self._suite_of(tree.body, self.module)

    def _collect(self, body: Iterable[ast.stmt]) -> None:
        """Remember the functions and classes of the module."""
        for name, node in definitions(body):
            self._definitions.setdefault(name, []).append(node)

    def _suite_of(self, body: list[ast.stmt], scope: Scope) -> None:
        before, self._suite = self._suite, body
        for statement in body:
            self._visit(statement, scope)
        self._suite = before

    def _branch(self, body: list[ast.stmt], scope: Scope) -> None:
        """Statements that may not run, or run more than once."""
        self._depth += 1
        self._suite_of(body, scope)
        self._depth -= 1

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        self._nodes += 1
        visit = _VISITS.get(type(node))
        if visit is not None:
            visit(self, node, scope)
        else:
            self._children(node, scope)

    def _children(self, node: ast.AST, scope: Scope) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self._visit(value, scope)
            elif isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    self._branch(value, scope)
                else:
                    for each in value:
                        if isinstance(each, ast.AST):
                            self._visit(each, scope)

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        self._see_tools(node.value)
        self._visit(node.value, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        if all(isinstance(each, ast.Name) for each in node.targets):
            self._see_tools(node.value)  # a second name is known
        if isinstance(node.value, ast.Lambda) and scope is self.module:
            self._defaults(node.value, scope)  # its body counts when it is called
        else:
            self._visit(node.value, scope)
        if self.is_namespace(node.value):
            self.add("unknown", source(node.value), "has two names: any name may change")
        for target in node.targets:
            self._bind(target, scope, node.value)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._visit(node.annotation, scope)
        if node.value is not None:
            self._visit(node.value, scope)
            self._bind(node.target, scope, node.value)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        self._visit(node.value, scope)
        target = node.target
        if not isinstance(target, ast.Name):
            self._bind(target, scope, None)
            return
        roots = {
            root
            for root in self.origins.roots(target, scope)
            if values.is_changed_in_place(self.names.get(root))
        }
        self.change(roots)
        if not roots or (scope.owner(target.id) is self.module and target.id not in roots):
            self._bind_name(target.id, scope)

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self._visit(node.value, scope)
        self._bind(node.target, scope.binder(), node.value)

    def _loop(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self._visit(node.iter, scope)
        self._depth += 1
        self._bind_parts(node.target, scope, self.origins.elements(node.iter, scope))
        self._depth -= 1
        self._branch(node.body, scope)
        self._branch(node.orelse, scope)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            self._visit(item.context_expr, scope)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, scope, item.context_expr)
        for statement in node.body:
            self._visit(statement, scope)

    def _except(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.type is not None:
            self._visit(node.type, scope)
        if node.name is not None:
            self._bind_name(node.name, scope)
        self._branch(node.body, scope)
        if node.name is not None:
            owner = scope.owner(node.name)
            if owner is self.module:
                self._state[node.name] = ("deleted", None)

    def _pattern(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping, scope: Scope) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self._bind_name(name, scope)
        self._children(node, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(each, ast.Name):
                    if scope.owner(each.id) is self.module:
                        self._unbind(each.id)
                else:
                    self._bind(each, scope, None)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            if alias.asname is None:
                name = module = alias.name.partition(".")[0]
            else:
                name, module = alias.asname, alias.name
            self._bind_import(name, scope, module, sys.modules.get(module, _nothing))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        members = values.members_of(sys.modules.get(node.module or ""))
        for alias in node.names:
            if alias.name == "*":
                self.add("unknown", f"from {node.module} import *", "may bind any name")
                continue
            value = members.get(alias.name, _nothing)
            self._bind_import(
                alias.asname or alias.name, scope, f"{node.module}.{alias.name}", value
            )

    def _bind_import(self, name: str, scope: Scope, path: str, value: Any) -> None:
        """An import binds a name; nobody calls that news where it has this very value already."""
        if path.partition(".")[0] == "__main__":
            self.add("unknown", "__main__", "may do more")
        owner = scope.owner(name)
        owner.bind(name, Origin(kind=path), owner.depth)
        if owner is self.module and name in self.names and self.names[name] is not value:
            self._state[name] = ("bound", self._suite)

    def _type_alias(self, node: Any, scope: Scope) -> None:
        self._bind(node.name, scope, None)

    # Functions and classes ------------------------------------------------------------------------

    def _define(self, node: Any, scope: Scope) -> None:
        for decorator in node.decorator_list:
            self._visit(decorator, scope)
            self._calls_theirs(decorator, scope)
        if isinstance(node, ast.ClassDef):
            for part in (*node.bases, *node.keywords):
                self._visit(part, scope)
            inner = Scope("class", scope, bound_names(node.body), global_names(node.body))
            for statement in node.body:
                self._visit(statement, inner)
            calls_itself = loaded_names(node.body)
            for name, method in definitions(node.body):
                if name in calls_itself:
                    self._body(method, inner, {})
        else:
            self._defaults(node, scope)
            if scope.kind == "class" and scope.parent is self.module:
                pass  # a method counts when the code names its class
            elif scope is not self.module:
                self._body(node, scope, {})
        self._bind_name(node.name, scope)
        if node.decorator_list and not all(map(_is_quiet, node.decorator_list)):
            self._body(node, scope, {})

    def _defaults(self, node: Any, scope: Scope) -> None:
        """What of a function runs where it is defined: its defaults and its annotations."""
        annotations = [each.annotation for each in parameters(node)]
        annotations.append(getattr(node, "returns", None))
        for each in (*node.args.defaults, *node.args.kw_defaults, *annotations):
            if each is not None:
                self._visit(each, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self._defaults(node, scope)
        self._body(node, scope, {})

    def _use(
        self, name: str, given: Iterable[Origin] = (), by_name: Mapping[str, Origin] | None = None
    ) -> None:
        """The code names a function or class of its own: its body counts."""
        given, by_name = tuple(given), by_name or {}
        for node in self._definitions.get(name, ()):
            if not isinstance(node, ast.ClassDef):
                self._body(node, self.module, arguments(node, given, by_name))
                continue
            inner = Scope("class", self.module, bound_names(node.body))
            for method in node.body:
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    if method.name == "__init__":
                        known = arguments(method, (UNKNOWN, *given), by_name)
                    else:
                        known = {}
                    self._body(method, inner, known)

    def _body(self, node: Definition, scope: Scope, known: dict[str, Origin]) -> None:
        """Read the body of a function with these arguments, once."""
        key = (id(node), frozenset(known.items()))
        if key in self._read or isinstance(node, ast.ClassDef):
            return
        if self._nodes > MAX_NODES:
            self.add("unknown", "", "it has more in its functions than is read here")
            return
        self._read.add(key)
        body: list[Any] = [node.body] if isinstance(node, ast.Lambda) else node.body
        global_ = global_names(body)
        local = (bound_names(body) | {each.arg for each in parameters(node)}) - global_
        self._depth += 1
        inner = Scope("function", scope, local, global_, known, self._depth)
        for each in body:
            self._visit(each, inner)
        self._depth -= 1

    def _comprehension(self, node: Any, scope: Scope) -> None:
        local = set[str]().union(*(targets(each.target) for each in node.generators))
        inner = Scope("comprehension", scope, local, depth=self._depth)
        for index, generator in enumerate(node.generators):
            outer = inner if index else scope  # as Python does
            self._visit(generator.iter, outer)
            self._bind_parts(generator.target, inner, self.origins.elements(generator.iter, outer))
            for condition in generator.ifs:
                self._visit(condition, inner)
        for part in ("key", "value", "elt"):
            value = getattr(node, part, None)
            if value is not None:
                self._visit(value, inner)

    # Names ----------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if node.id in self._definitions and scope.owner(node.id) is self.module:
            self._use(node.id)
        elif node.id == "__builtins__":
            self._back_door(node)
        self._read_tools(node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if node.attr in _BACK_DOORS:
            self._back_door(node)
        if self._read_tools(node, scope):
            self._see_tools(node.value)
        self._visit(node.value, scope)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> None:
        if isinstance(node.slice, ast.Name) and node.slice.id == "__name__":
            self._back_door(node)  # `sys.modules[__name__]`
        self._visit(node.value, scope)
        self._visit(node.slice, scope)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        if not (isinstance(node.left, ast.Name) and node.left.id == "__name__"):
            self._children(node, scope)

    def _constant(self, node: ast.Constant, _: Scope) -> None:
        if node.value == "__main__":
            self._back_door(node)

    def _see_tools(self, *nodes: ast.expr) -> None:
        """Here a tool may stand: another reader says what comes of it."""
        self._tools_seen.update((id(each), each) for each in nodes)

    def _read_tools(self, node: ast.Name | ast.Attribute, scope: Scope) -> bool:
        """Whether it names tools; where it is not seen what the code does with them, it says so."""
        path = self.origins.dotted(node, scope) or ""
        is_tools = calls.is_tools(path) and "()" not in path
        if is_tools and id(node) not in self._tools_seen:
            self.add("unknown", source(node), calls.ANY_TOOL)
        return is_tools

    def _back_door(self, node: ast.expr) -> None:
        """Something by which code reaches names that it does not say."""
        self.add("unknown", source(node), "may do more")

    def _bind(self, target: ast.expr, scope: Scope, value: ast.expr | None) -> None:
        """Bind a target to a value; None: to one of which nothing is known."""
        if isinstance(target, ast.Name):
            self._bind_name(target.id, scope, self.origins.of(value, scope))
        elif isinstance(target, (ast.Tuple, ast.List)):
            each = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            if len(each) == len(target.elts):
                for part, one in zip(target.elts, each, strict=True):
                    self._bind(part, scope, one)
            else:
                self._bind_parts(target, scope, self.origins.elements(value, scope))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, scope, None)
        else:
            self._store_inside(target, scope)

    def _bind_parts(self, target: ast.expr, scope: Scope, roots: frozenset[str]) -> None:
        """Bind a target to a part of these variables, such as the element of a loop."""
        if isinstance(target, ast.Name):
            self._bind_name(target.id, scope, Origin(roots))
        elif isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
            for each in [target.value] if isinstance(target, ast.Starred) else target.elts:
                self._bind_parts(each, scope, roots)
        else:
            self._store_inside(target, scope)

    def _bind_name(self, name: str, scope: Scope, origin: Origin = UNKNOWN) -> None:
        owner = scope.owner(name)
        if owner is self.module:
            self._state[name] = ("bound", self._suite)
        owner.bind(name, origin, self._depth)

    def _unbind(self, name: str) -> None:
        state = self._state.get(name)
        is_gone = state is not None and (self._depth == 0 or state[1] is self._suite)
        if name in self.names or is_gone:
            self._state[name] = ("deleted", None)

    def _store_inside(self, target: ast.expr, scope: Scope) -> None:
        """`df["x"] = …`, `model.attribute = …`, `del d["k"]`."""
        self._children(target, scope)
        if not isinstance(target, (ast.Subscript, ast.Attribute)):
            return
        owner = target.value
        if isinstance(target, ast.Subscript) and self.is_namespace(owner):
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                self._state[target.slice.value] = ("bound", None)
            self.add("unknown", f"{source(owner)}[…]", "may bind any name")
            return
        is_direct = isinstance(target, ast.Attribute) and isinstance(owner, ast.Name)
        self.change(self.origins.roots(owner, scope), modules=is_direct)

    # What the readers of calls need ---------------------------------------------------------------

    def is_namespace(self, node: ast.expr) -> bool:
        """Whether this is `globals()`, or `user_ns` of a shell."""
        if isinstance(node, ast.Attribute):
            return node.attr in ("user_ns", "user_global_ns")
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _NAMESPACES
            and not node.args
        )

    def change(self, roots: Iterable[str], *, modules: bool = False) -> None:
        """These variables are changed in place; modules are where an attribute is set."""
        for root in sorted(roots):
            value = self.names.get(root, _nothing)
            is_module = issubclass(type(value), types.ModuleType)
            if value is _nothing or values.is_immutable(value) or (is_module and not modules):
                continue  # `plt.rcParams["figure.dpi"] = 100` is a setting
            self._changed[root] = None

    def read_more(self, code: str) -> None:
        """Code that a magic runs in the module."""
        for statement in self._statements(code):
            self._collect([statement])
            self._visit(statement, self.module)

    def read_apart(self, code: str) -> None:
        """Code that a magic runs in a function of its own, as `%timeit` does."""
        body = self._statements(code)
        global_ = global_names(body)
        inner = Scope("function", self.module, bound_names(body) - global_, global_)
        for statement in body:
            self._visit(statement, inner)

    def _statements(self, code: str) -> list[ast.stmt]:
        try:
            return parse(code, self._shell).body
        except (SyntaxError, ValueError):
            return []

    def bind_here(self, names: Iterable[str]) -> None:
        """A magic binds these names of the module."""
        for name in names:
            self._bind_name(name, self.module)

    def unbind_here(self, name: str) -> None:
        """A magic deletes this name of the module."""
        self._unbind(name)

    # Calls --------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> None:
        function = node.func
        given = [*node.args, *(each.value for each in node.keywords)]
        self._see_tools(function, *given)
        self._see_tools(*(each.value for each in given if isinstance(each, ast.Starred)))
        for part in (*node.args, *node.keywords):
            self._visit(part, scope)
        if (
            isinstance(function, ast.Name)
            and function.id in self._definitions
            and scope.owner(function.id) is self.module
        ):
            of = self.origins.of
            by_name = {each.arg: of(each.value, scope) for each in node.keywords if each.arg}
            self._use(function.id, [of(each, scope) for each in node.args], by_name)
            return
        self._visit(function, scope)
        self._calls_theirs(function, scope)
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(each, ast.Name) and values.is_function(self.names.get(each.id)):
                self._calls_theirs(each, scope)  # `df.apply(helper)`
        calls.read_call(self, node, scope)

    def _calls_theirs(self, function: ast.expr, scope: Scope) -> None:
        """Say it where a function of the person's is called: what it does is not read."""
        node = function
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        if not isinstance(node, ast.Name) or scope.owner(node.id) is not self.module:
            return
        if node.id in self._definitions or node.id in self._state:
            return
        if node.id in self.names and values.is_theirs(self.names[node.id]):
            self.add("unknown", f"{source(function)}()")


_VISITS: dict[type[ast.AST], Any] = {
    ast.Expr: Block._expression,
    ast.Assign: Block._assign,
    ast.AnnAssign: Block._annotated,
    ast.AugAssign: Block._augmented,
    ast.NamedExpr: Block._walrus,
    ast.ExceptHandler: Block._except,
    ast.Delete: Block._delete,
    ast.Import: Block._import,
    ast.ImportFrom: Block._import_from,
    ast.Lambda: Block._lambda,
    ast.Name: Block._name,
    ast.Call: Block._call,
    ast.Attribute: Block._attribute,
    ast.Subscript: Block._subscript,
    ast.Compare: Block._compare,
    ast.Constant: Block._constant,
    **dict.fromkeys((ast.For, ast.AsyncFor), Block._loop),
    **dict.fromkeys((ast.With, ast.AsyncWith), Block._with),
    **dict.fromkeys(DEFINITIONS, Block._define),
    **dict.fromkeys(PATTERNS, Block._pattern),
    **dict.fromkeys(COMPREHENSIONS, Block._comprehension),
}
if sys.version_info >= (3, 12):
    _VISITS[ast.TypeAlias] = Block._type_alias


def _is_quiet(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = getattr(function, "attr", getattr(function, "id", ""))
    return name in _QUIET_DECORATORS
