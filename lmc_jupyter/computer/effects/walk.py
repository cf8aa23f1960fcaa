"""The effects of Python code: one walk over its syntax tree.

One rule: each expression is read once, where it stands, and gives a `Value`; what it calls is known
to be harmless, or it is named, or it "may do more" (`calls.py`). The body of a function counts when
it is called, or handed to what may call it; both branches of an `if` count.

The file is long because the walk is one: what a name is at a line depends on every statement before
it, so that statements and expressions share one state.
"""

from __future__ import annotations

import ast
import builtins
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from lmc_jupyter.computer.effects import calls, tables
from lmc_jupyter.computer.effects import value as values
from lmc_jupyter.computer.effects.value import OWN, THEIRS, UNKNOWN, Scope, Value, mix, source
from lmc_jupyter.computer.languages.python_syntax import parse
from lmc_jupyter.content.effect import Effect, EffectKind
from lmc_jupyter.kernel.namespace import ARRAY_MODULES

MAX_NODES = 30_000
"""Nodes of syntax that are read before the bodies of functions are not read once more."""

_MADE = tables.HONEST | {"pathlib"}
_TOO_DEEP = "the code is too deep to be read"


def python_effects(code: str, names: Mapping[str, Any], shell: Any | None) -> tuple[Effect, ...]:
    """What the code will do; code that is no Python does not run, and that is said."""
    try:
        tree = parse(code, shell)
    except SyntaxError:
        return (Effect("reads", "", "is no valid Python: it would only show an error"),)
    except (ValueError, RecursionError, MemoryError):
        return (Effect("unknown", "", _TOO_DEEP),)
    walk = Walk(names, shell)
    try:
        walk.branch(tree.body, walk.module, 0)
    except (RecursionError, SyntaxError):  # a scope that is no scope of Python does not run
        walk.add("unknown", "", _TOO_DEEP)
    return walk.effects()


class Walk:
    """One block of code.

    Parameters
    ----------
    names : the person's variables
    """

    def __init__(self, names: Mapping[str, Any], shell: Any | None) -> None:
        self.names, self._shell = names, shell
        self.module = Scope()
        self.attributes: dict[str, Value] = {}
        """What code of this block sets as an attribute of this name, of whatever object."""
        self._found: dict[tuple[EffectKind, str], Effect] = {}
        self._names: dict[str, EffectKind] = {}  # what becomes of a name of the module
        self._active: list[object] = []  # functions whose bodies are being read
        self._own_names: dict[object, tuple[set[str], set[str]]] = {}  # of functions, once read
        self._returned = UNKNOWN
        self._depth = self._nodes = 0

    # What was found -------------------------------------------------------------------------------

    def add(self, kind: EffectKind, name: str, detail: str = "") -> None:
        """One more effect, once."""
        self._found.setdefault((kind, name or detail), Effect(kind, name, detail))

    def effects(self) -> tuple[Effect, ...]:
        """All of them, names first."""
        for name, kind in self._names.items():
            if name in self.names and name.strip("_"):  # IPython binds `_` and `__`
                self.add(kind, name, values.describe(self.names[name]))
            elif kind == "overwrites" and not name.startswith("_"):  # a name of a step alone
                self.add("makes", name, "hides Python's own" if hasattr(builtins, name) else "")
        return tuple(
            sorted(self._found.values(), key=lambda each: get_args(EffectKind).index(each.kind))
        )

    def change(
        self, roots: Iterable[str], kind: EffectKind = "changes", *, modules: bool = False
    ) -> None:
        """These variables are changed in place; modules are where an attribute is set."""
        for root in sorted(roots):
            live, known = self.names.get(root), self._names.get(root, "changes")
            is_own = modules or not values.is_module(live)  # `plt.rcParams["x"] = 1` is a setting
            if is_own and known == "changes" and type(live) not in values.IMMUTABLE:
                self._names[root] = kind

    # Statements -----------------------------------------------------------------------------------

    def read_more(self, code: str, *, apart: bool = False) -> None:
        """Code that a magic runs in the module; `apart`: in a function, as `%timeit` does."""
        try:
            body = parse(code, self._shell).body
        except (SyntaxError, ValueError):
            return
        inner = Scope(self.module, *values.names_of(body))
        self.branch(body, inner if apart else self.module, 0)

    def branch(self, body: Iterable[ast.AST], scope: Scope, depth: int = 1) -> None:
        """Statements that may not run, or run more than once; with 0 they run once."""
        self._depth += depth
        for statement in body:
            self.value(statement, scope)
        self._depth -= depth

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        is_named = all(isinstance(each, (ast.Name, ast.Attribute)) for each in node.targets)
        value = (self.value if is_named else self.hand_on)(node.value, scope)
        for target in node.targets:
            self.bind(target, scope, value)

    def _annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.value(node.annotation, scope)
        if node.value is not None:
            self.bind(node.target, scope, self.value(node.value, scope))

    def _typealias(self, node: Any, scope: Scope) -> None:
        self.bind(node.name, scope)

    def _augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        added, target = self.hand_on(node.value, scope), node.target
        if not isinstance(target, ast.Name):
            self.bind(target, scope, Value(parts=added.reach))
            return
        known = self._look_up(target.id, scope)
        roots = {root for root in known.roots if values.is_changed_in_place(self.names.get(root))}
        self.change(roots)
        if not roots or (scope.owner(target.id) is self.module and target.id not in roots):
            known = known._replace(parts=known.parts | added.reach)
            self.bind_name(target.id, scope, UNKNOWN if known.is_place else known)

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        element = self.element(self.hand_on(node.iter, scope))
        self._depth += 1
        self.bind(node.target, scope, element)
        self._depth -= 1
        self.branch(node.body, scope)
        self.branch(node.orelse, scope)

    _asyncfor = _for

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            value = self.hand_on(item.context_expr, scope)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, scope, value)
        self.branch(node.body, scope, 0)

    _asyncwith = _with

    def _excepthandler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.type is not None:
            self.value(node.type, scope)
        if node.name is not None:
            self.bind_name(node.name, scope, Value("Exception()"))
        self.branch(node.body, scope)
        if node.name is not None and scope.owner(node.name) is self.module:
            self._names[node.name] = "deletes"

    def _match(self, node: ast.Match, scope: Scope) -> None:
        subject = self.hand_on(node.subject, scope)
        kind = THEIRS if THEIRS in (subject.kind, self.element(subject).kind) else OWN
        part = Value(kind, subject.reach, subject.reach, functions=subject.functions)
        for case in node.cases:
            for each in ast.walk(case.pattern):
                if name := getattr(each, "name", None) or getattr(each, "rest", None):
                    self.bind_name(name, scope, part)
            self.value(case, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            self.bind(target, scope, loses=True)

    def _return(self, node: Any, scope: Scope) -> None:
        if node.value is not None:
            value = self.value(node.value, scope)
            if not isinstance(node, ast.Return):  # `yield a`
                value = Value(OWN, value.roots, value.reach, functions=value.functions)
            self._returned = value if self._returned is UNKNOWN else value.or_else(self._returned)

    _yield = _yieldfrom = _return

    def _import(self, node: Any, scope: Scope) -> None:
        module = "." * getattr(node, "level", 0) + (getattr(node, "module", None) or "")
        for alias in node.names:
            self.load_module(module or alias.name)
            name = alias.name if module or alias.asname else alias.name.partition(".")[0]
            if name == "*":
                self.add("unknown", f"from {module} import *", "may bind any name")
            else:
                path = f"{module}.{name}" if module else name
                self._bind_import(alias.asname or name, scope, path)

    _importfrom = _import

    def load_module(self, name: str) -> None:
        """Say it where importing a module runs code that nobody here knows."""
        if not values.is_safe_to_import(name):
            self.add("unknown", f"import {name}", "runs the code of that module")

    def _bind_import(self, name: str, scope: Scope, path: str) -> None:
        """An import binds a name; nobody calls that news where it has this very value already."""
        owner, live = scope.owner(name), values.find(path)
        is_theirs = live is not values.NOTHING and values.is_theirs(live)
        value = values.value_of(live, name) if is_theirs else Value(tables.place_of(path))
        owner.known[name] = value
        if owner is self.module and name in self.names and self.names[name] is not live:
            self._names[name] = "overwrites"

    # Functions and classes ------------------------------------------------------------------------

    def _functiondef(self, node: Any, scope: Scope) -> None:
        if isinstance(node, ast.ClassDef):
            value = self._class(node, scope)
        else:
            value = self._lambda(node, scope)
            if node.name == "_ipython_display_" or node.name.startswith("_repr_"):
                self.add("page", node.name)  # of a class: Jupyter shows what it gives
        for decorator in reversed(node.decorator_list):
            name = source(decorator.func if isinstance(decorator, ast.Call) else decorator)
            function = self.value(decorator, scope)
            if function.functions:
                call = calls.CallSite(decorator, [calls.Given(ast.Name(node.name), value)], {})
                value = calls.call(self, function, call)
            elif name.rpartition(".")[2] not in tables.DECORATORS:
                calls.hand_on(self, value, ast.Name(node.name))
                calls.hand_on(self, function, decorator)
        self.bind_name(node.name, scope, value)

    _asyncfunctiondef = _classdef = _functiondef

    def _class(self, node: ast.ClassDef, scope: Scope) -> Value:
        for base in node.bases:
            if self.value(base, scope).kind == THEIRS:
                self.add("unknown", f"{node.name}()")
        for keyword in node.keywords:
            self.hand_on(keyword.value, scope)  # a metaclass is called
        calls.hand_on(self, self.attributes.get("__init_subclass__", UNKNOWN), ast.Name(node.name))
        inner = Scope(scope, *values.names_of(node.body), is_class=True)
        for statement in node.body:
            self.value(statement, inner)
        for name, known in inner.known.items():
            self.set_attribute(name, known)
        return Value(functions=frozenset({values.FunctionValue(node, inner)}))

    def _lambda(self, node: Any, scope: Scope) -> Value:
        """A function; its defaults and annotations are read where it is defined."""
        annotations = (each.annotation for each in values.parameters(node))
        returns = getattr(node, "returns", None)
        for each in (*node.args.defaults, *node.args.kw_defaults, *annotations, returns):
            if each is not None:
                self.value(each, scope)
        return Value(functions=frozenset({values.FunctionValue(node, scope)}))

    def run(self, function: values.FunctionValue, call: calls.CallSite) -> Value:
        """What calling a function or class of this code gives; its body is read."""
        if isinstance(function.node, ast.ClassDef):
            return self._instance(function.node, function.scope, call)
        node, scope = function.node, function.scope
        if self._active.count(node) > 1:
            return UNKNOWN
        if self._nodes > MAX_NODES:
            self.add("unknown", "", "it has more in its functions than is read here")
            return UNKNOWN
        is_lambda = isinstance(node, ast.Lambda)
        body: list[Any] = [ast.Return(node.body)] if is_lambda else node.body
        if node not in self._own_names:
            self._own_names[node] = values.names_of(body, node.args)
        local, global_ = self._own_names[node]
        self._depth += 1
        self._active.append(node)
        known = self._arguments(function, call)
        inner = Scope(scope, local, global_, known, self._depth)
        before, self._returned = self._returned, UNKNOWN
        for each in body:
            self.value(each, inner)
        returned, self._returned = self._returned, before
        self._active.pop()
        self._depth -= 1
        return returned

    def _instance(self, node: ast.ClassDef, scope: Scope, call: calls.CallSite) -> Value:
        """An object of a class of this code: all its methods are read."""
        given = mix(each.value for each in call.all())
        for base in node.bases:
            known = self.value(base, scope)
            if known.is_place or known.functions:
                calls.call(self, known, call)
        me = Value(parts=given.reach, functions=given.functions)
        methods: list[Any] = [each for each in node.body if hasattr(each, "args")]
        for method in sorted(methods, key=lambda each: each.name != "__init__"):
            arguments = call if method.name == "__init__" else calls.CallSite(call.node, [], {})
            self.run(values.FunctionValue(method, scope, me), arguments)
        return me

    def _arguments(self, function: values.FunctionValue, call: calls.CallSite) -> dict[str, Value]:
        """Parameter -> what is known of its value."""
        node, spec = function.node, function.node.args
        names = [each.arg for each in (*spec.posonlyargs, *spec.args)]
        every = [each.arg for each in values.parameters(node)]
        decorators = {source(each) for each in getattr(node, "decorator_list", ())}
        mine = [function.me] if function.me and "staticmethod" not in decorators else []
        mixture, given = mix(each.value for each in call.all()), [each.value for each in call.args]
        if call.is_open or call.handed:
            given = [mixture._replace(roots=mixture.reach)] * len(every)
        known = dict.fromkeys(every, self._row(mixture))
        last = names[len(names) - len(spec.defaults) :] + [each.arg for each in spec.kwonlyargs]
        for name, default in zip(last, [*spec.defaults, *spec.kw_defaults], strict=True):
            if default is not None:
                known[name] = self.value(default, function.scope)
        known |= dict(zip(names, [*mine, *given], strict=False))
        known |= {name: each.value for name, each in call.keywords.items() if name in known}
        return {name: each._replace(chain=frozenset()) for name, each in known.items()}

    # Names ----------------------------------------------------------------------------------------

    def bind(
        self, target: ast.expr, scope: Scope, value: Value = UNKNOWN, *, loses: bool = False
    ) -> None:
        """Bind a target to a value."""
        if isinstance(target, ast.Name) and not loses:
            self.bind_name(target.id, scope, value)
        elif isinstance(target, ast.Name) and scope.owner(target.id) is self.module:
            if target.id in self.names or self._depth == 0:
                self._names[target.id] = "deletes"
        elif isinstance(target, ast.Starred):
            self.bind(target.value, scope, self._row(value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = value.items if len(value.items) == len(target.elts) else ()
            element = UNKNOWN if known else self.element(value)
            for index, each in enumerate(target.elts):
                self.bind(each, scope, known[index] if known else element, loses=loses)
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, scope, value, loses)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, scope)
            self.set_attribute(target.attr, value)
            is_name = isinstance(target.value, ast.Name)
            is_module = is_name and source(target.value) in self.names
            if owner.is_place and not calls.is_setting(owner.kind) and not is_module:
                self.add("unknown", source(target), "is set in a library")
            self.change(owner.here, "loses" if loses else "changes", modules=is_name)

    def _bind_item(self, target: ast.Subscript, scope: Scope, value: Value, loses: bool) -> None:
        owner, index = self.value(target.value, scope), self.value(target.slice, scope)
        self.store(target.value, scope, value)
        if owner.kind == "os.environ":
            self.add("changes", "os.environ")
        elif owner.kind == "globals()":
            if index.text is not None and isinstance(target.slice, ast.Constant):
                self._names[index.text] = "deletes" if loses else "overwrites"
            self.add("unknown", f"{source(target.value)}[…]", "may bind any name")
        self.change(owner.here, "loses" if loses else "changes")

    def _row(self, value: Value) -> Value:
        """Several of these."""
        kind = THEIRS if value.kind == THEIRS else "list()"
        return Value(kind, parts=value.reach, functions=value.functions)

    def set_attribute(self, name: str, value: Value) -> None:
        """Some object has this attribute."""
        value = value._replace(chain=frozenset())
        self.attributes[name] = value.or_else(self.attributes.get(name, value))

    def store(self, node: ast.expr, scope: Scope, value: Value) -> None:
        """What this expression gives has this in it from now on."""
        while isinstance(node, (ast.Subscript, ast.Call)):
            node = node.value if isinstance(node, ast.Subscript) else node.func
        found = scope.owner(node.id).known if isinstance(node, ast.Name) else self.attributes
        name = getattr(node, "id", getattr(node, "attr", ""))
        if name in found and (value.reach or value.functions):
            known = found[name]
            inside = known.or_else(Value(known.kind, parts=value.reach, functions=value.functions))
            found[name] = inside._replace(text=known.text, items=())

    def bind_name(self, name: str, scope: Scope, value: Value = UNKNOWN) -> None:
        """Bind a name to a value."""
        owner = scope.owner(name)
        text = value.text if len(value.text or "") <= values.MAX_TEXT else None
        value = value._replace(chain=frozenset(), text=text)
        before = owner.known.get(name)
        if before is not None and self._depth > owner.depth:
            value = value.or_else(before)
        if owner is self.module:
            self._names[name] = "overwrites"
        owner.known[name] = value

    def _look_up(self, name: str, scope: Scope) -> Value:
        owner = scope.owner(name)
        if name in owner.known:
            return owner.known[name]
        if owner is self.module and name in self.names:
            return values.value_of(self.names[name], name)
        return Value(name) if owner is self.module else UNKNOWN

    # Expressions ----------------------------------------------------------------------------------

    def value(self, node: ast.AST, scope: Scope) -> Value:
        """Read a statement or an expression; gives what is known of its value."""
        self._nodes += 1
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is not None:
            return read(node, scope) or UNKNOWN
        for _, part in ast.iter_fields(node):
            if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                self.branch(part, scope)
                continue
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, ast.AST):
                    self.value(each, scope)
        return UNKNOWN

    def hand_on(self, node: ast.expr, scope: Scope) -> Value:
        """Read an expression whose value goes where it is not seen what becomes of it."""
        value = self.value(node, scope)
        calls.hand_on(self, value, node)
        return value

    def _name(self, node: ast.Name | ast.Attribute, scope: Scope) -> Value:
        value = self._callee(node, scope)
        owner = value.owner or value
        if owner.kind == THEIRS and not issubclass(type(owner.live), values.INERT):
            self.add("unknown", source(node), "runs code of its class")
        return value

    _attribute = _name

    def _callee(self, node: ast.expr, scope: Scope) -> Value:
        """What is called, or has an attribute that is: the call says whether that may do more."""
        if isinstance(node, ast.Attribute):
            return self.attribute(self._callee(node.value, scope), node.attr, node)
        if not isinstance(node, ast.Name):
            return self.value(node, scope)
        if node.id == "__builtins__":
            self.add("unknown", node.id, "may do more")
        return self._look_up(node.id, scope)

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """What is known of an attribute of this value."""
        if name in ("user_ns", "user_global_ns"):
            return Value("globals()")
        is_dict = name == "__dict__" and owner.kind not in (OWN, "list()", "dict()")
        if tables.BACK_DOORS.match(name) or is_dict or (owner.kind, name) == ("sys", "modules"):
            self.add("unknown", source(node), "may do more")
            return self.part(owner)
        value = self.part(owner)._replace(kind=OWN, owner=owner, name=name)
        if owner.is_place:
            return value._replace(kind=tables.place_of(values.member_path(owner.kind, name)))
        if owner.kind == THEIRS:
            return value._replace(kind=THEIRS)
        if owner.kind == OWN and name in self.attributes:
            known = self.attributes[name]
            methods = frozenset(
                each if each.me is not None else each._replace(me=owner) for each in known.functions
            )
            return known._replace(functions=methods, owner=owner, name=name)
        if owner.kind in (OWN, ""):
            return value
        return value._replace(kind=calls.result_of(f"{owner.kind}.{name}"))

    def part(self, owner: Value) -> Value:
        """What is in this; a part of an array is a copy as soon as it has a name."""
        whole = owner.reach | owner.chain
        roots = owner.parts | self.without_copies(owner.here)
        return Value(roots=roots, parts=owner.parts, chain=whole, functions=owner.functions)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        owner, index = self.value(node.value, scope), self.value(node.slice, scope)
        if type(owner.live) is defaultdict:  # an index that it has not becomes one
            self.change(owner.roots)
        if owner.kind == "globals()":
            live = self.names.get(index.text or "", values.NOTHING)
            return UNKNOWN if live is values.NOTHING else values.value_of(live, index.text or "")
        value = self.part(owner)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if all(isinstance(each, (ast.Slice, ast.Constant, ast.UnaryOp)) for each in parts):
            value = value._replace(roots=value.roots | self._views(value.chain))
        if isinstance(node.slice, ast.Slice):
            roots = self._views(owner.roots)
            return value._replace(
                kind=owner.kind, roots=roots, parts=self.element(owner).roots, live=owner.live
            )
        return value._replace(kind=self.element(owner).kind)

    def element(self, value: Value) -> Value:
        """What is known of an element."""
        roots = value.parts | self.without_copies(value.roots) | self._views(value.roots)
        kind = THEIRS if value.kind == THEIRS else OWN
        if value.items:
            kind = mix(value.items).kind
        elif value.live is not values.NOTHING:
            kind = values.element_kind(value.live)
        elif value.is_place or tables.module_in(value.kind, _MADE):
            kind = f"{value.kind.removesuffix('()')}()"
        text = value.items[0].text if len(value.items) == 1 else None
        return Value(kind, roots, roots, text=text, functions=value.functions)

    def _views(self, roots: values.Roots) -> values.Roots:
        return frozenset(root for root in roots if values.is_buffer(self.names.get(root)))

    def without_copies(self, roots: values.Roots) -> values.Roots:
        """Without those whose parts may be copies: frames and arrays; nor modules."""
        live = ((root, self.names.get(root)) for root in roots)
        return frozenset(
            root
            for root, each in live
            if values.library_of(each) not in ARRAY_MODULES and not values.is_module(each)
        )

    def _constant(self, node: ast.Constant, _: Scope) -> Value:
        text = node.value if isinstance(node.value, str) else None
        return Value(f"{type(node.value).__name__}()", text=text)

    def _tuple(self, node: Any, scope: Scope) -> Value:
        """`[a, b]`, `{"k": v}`."""
        for key in filter(None, getattr(node, "keys", ())):
            self.hand_on(key, scope)
        elts = node.values if isinstance(node, ast.Dict) else node.elts
        items = tuple(self.value(each, scope) for each in elts)
        for each, item in zip(elts, items, strict=True):
            if not item.functions:
                calls.hand_on(self, item, each)
        spread = isinstance(node, ast.Dict) or any(isinstance(each, ast.Starred) for each in elts)
        kind = "dict()" if isinstance(node, ast.Dict) else "list()"
        whole = mix(items)
        inside = whole.kind if spread and whole.kind == THEIRS else kind
        is_row = isinstance(node, (ast.Tuple, ast.List)) and not spread
        return Value(inside, parts=whole.reach, items=items if is_row else (),
                     functions=whole.functions)  # fmt: skip

    _list = _set = _dict = _tuple

    def _boolop(self, node: ast.IfExp | ast.BoolOp, scope: Scope) -> Value:
        if isinstance(node, ast.IfExp):
            self.value(node.test, scope)
        either = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
        return mix([self.value(each, scope) for each in either])

    _ifexp = _boolop

    def _await(self, node: Any, scope: Scope) -> Value:
        return (self.hand_on if isinstance(node, ast.Starred) else self.value)(node.value, scope)

    _starred = _await

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        self.bind(node.target, scope, value)
        return value

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        text = ""
        for each in node.values:
            inside = each.value if isinstance(each, ast.FormattedValue) else each
            text += self.value(inside, scope).shown(inside)
            if spec := getattr(each, "format_spec", None):
                self.value(spec, scope)
        return Value("str()", text=text)

    def _binop(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        libraries = (each.kind for each in (left, right) if tables.module_in(each.kind, _MADE))
        kind = next(libraries, OWN)
        if isinstance(node.op, (ast.Div, ast.Add)) and left.text is not None:
            ends = left.shown(node.left), right.shown(node.right)
            text = posixpath.join(*ends) if isinstance(node.op, ast.Div) else "".join(ends)
            return Value(left.kind, text=text)
        return Value(kind, parts=left.parts | right.parts, functions=left.functions)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        self.value(node.left, scope)
        for each in node.comparators:
            value = self.value(each, scope)
            if values.is_iterator(value.live):  # `3 in numbers` takes from it
                self.change(value.roots)

    def _listcomp(self, node: Any, scope: Scope) -> Value:
        targets = (part for each in node.generators for part in ast.walk(each.target))
        local = {getattr(part, "id", "") for part in targets}
        inner = Scope(scope, local, depth=self._depth)
        for index, generator in enumerate(node.generators):
            element = self.element(self.hand_on(generator.iter, inner if index else scope))
            self.bind(generator.target, inner, element)
            for condition in generator.ifs:
                self.value(condition, inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        *_, result = [self.hand_on(each, inner) for each in parts]
        items = (result._replace(live=values.NOTHING, text=None),) * 2
        return Value("list()", parts=result.reach, items=items, functions=result.functions)

    _setcomp = _dictcomp = _generatorexp = _listcomp

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        callee, it = self._callee(node.func, scope), self._given(node, scope)
        result = calls.call(self, callee, it)
        owner = callee.owner or callee
        if isinstance(node.func, ast.Attribute) and not tables.module_in(owner.kind, tables.HONEST):
            self.store(node.func.value, scope, mix(each.value for each in it.all()))
        return result

    def _given(self, node: ast.Call, scope: Scope) -> calls.CallSite:
        """The arguments of a call."""
        args = [calls.Given(each, self.value(each, scope)) for each in node.args]
        keywords = {
            each.arg or "**": calls.Given(each.value, self.value(each.value, scope))
            for each in node.keywords
        }
        is_open = "**" in keywords or any(isinstance(each, ast.Starred) for each in node.args)
        return calls.CallSite(node, args, keywords, is_open)
