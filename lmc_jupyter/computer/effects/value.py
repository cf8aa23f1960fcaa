"""What is known of the value of an expression, and the scopes in which its names are found.

One rule: of a live value its type and its shape are read, and no method, property or `__repr__` of
it is ever called. Scopes follow Python's own rules.

The file is long because a live value, what is known of an expression and where its name stands are
one subject.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
import sys
import types
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from lmc_jupyter.computer.effects import tables
from lmc_jupyter.computer.effects.tables import words
from lmc_jupyter.computer.tools import path_of
from lmc_jupyter.content import shorten
from lmc_jupyter.content.code_names import symbol_table
from lmc_jupyter.kernel.namespace import ARRAY_MODULES, module_of, type_and_shape
from lmc_jupyter.keys import redact

OWN = "own"
"""The kind of what this code makes, or of what it was said of that it may do more."""
THEIRS = "theirs"
"""The kind of what code of the person's made, and what may run such code."""
NOTHING: Any = object()
MAX_TEXT = 1_000
"""Characters of a text or a path that is known: code may double it in every line."""
MAX_SHOWN = 60
"""Characters of an expression that stands for a path or a call, and of what a variable is."""
Roots = frozenset[str]


class FunctionValue(NamedTuple):
    """A function, lambda or class of this code, and the object whose method it is."""

    node: Any
    scope: Scope
    me: Value | None = None


class Value(NamedTuple):
    """What is known of a value.

    Parameters
    ----------
    kind : OWN, THEIRS, "" where it may be several, or its place in a library: "pandas.read_csv" for
        the function, "pandas.read_csv()" for what it gives
    roots : variables of the person's that change where this is changed in place
    parts : the same of what is in it
    chain : more roots, as long as this has no name of its own: `df["a"]` is a copy once it is bound
    text : what it is, of a text or a path
    live : the value itself, of a variable
    owner : whose method or attribute it is, of the name `name`
    items : its elements, where they are written out
    functions : those of this code that it is, or that are in it
    """

    kind: str = OWN
    roots: Roots = frozenset()
    parts: Roots = frozenset()
    chain: Roots = frozenset()
    text: str | None = None
    live: Any = NOTHING
    owner: Value | None = None
    name: str = ""
    items: tuple[Value, ...] = ()
    functions: frozenset[FunctionValue] = frozenset()

    @property
    def is_place(self) -> bool:
        """Whether it is a module, or a function or class of one."""
        return self.kind not in ("", OWN, THEIRS) and "()" not in self.kind

    @property
    def here(self) -> Roots:
        """Variables that change where this expression is changed in place."""
        return self.roots | self.chain

    @property
    def reach(self) -> Roots:
        """Variables that change where this, or what is in it, is changed."""
        return self.roots | self.parts

    def shown(self, node: ast.AST) -> str:
        """Its text; "{name}" as it is written where that is not known, or too long."""
        is_known = self.text is not None and len(self.text) <= MAX_TEXT
        return str(self.text) if is_known else f"{{{source(node)}}}"

    def or_else(self, other: Value) -> Value:
        """What is known where it may be this or the other."""
        kind = self.kind
        if kind != other.kind:
            quiet = all(
                each == OWN or (each and tables.is_harmless(each)) for each in (kind, other.kind)
            )
            kind = THEIRS if THEIRS in (kind, other.kind) else OWN if quiet else ""
        same = self if kind == self.kind else Value()
        return Value(
            kind,
            self.roots | other.roots,
            self.parts | other.parts,
            self.chain | other.chain,
            self.text if self.text == other.text else None,
            owner=same.owner,
            name=same.name,
            functions=self.functions | other.functions,
        )


UNKNOWN = Value()


def mix(each: Iterable[Value]) -> Value:
    """What is known where it may be any of these."""
    result: Value | None = None
    for value in each:
        result = value if result is None else result.or_else(value)
    return UNKNOWN if result is None else result


def source(node: ast.AST) -> str:
    """The expression as it is written, on one line."""
    return shorten.line(" ".join(ast.unparse(node).split()), MAX_SHOWN)


def describe(value: Any) -> str:
    """What a variable is now, in a few words."""
    text, size = type_and_shape(value)
    if size.startswith("("):
        text = f"{text} {size.strip('(),').replace(', ', chr(215))}"
    elif size:
        text = f"{text}, {size.removesuffix('s') if size.startswith('1 ') else size}"
    return shorten.line(text.strip(), MAX_SHOWN)


# Scopes -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Scope:
    """Where a name is looked up: the notebook, a function that is called, a comprehension.

    Parameters
    ----------
    local : its own names; of the module there are none, for there all names are the person's
    depth : how many branches and loops its first statement is in
    """

    parent: Scope | None = None
    local: set[str] = field(default_factory=set)
    global_: set[str] = field(default_factory=set)
    known: dict[str, Value] = field(default_factory=dict)
    depth: int = 0
    is_class: bool = False

    def owner(self, name: str) -> Scope:
        """The scope in which this name is found."""
        scope: Scope = self
        is_global = False
        while scope.parent is not None:
            is_global = is_global or name in scope.global_
            if not is_global and name in scope.local and (not scope.is_class or scope is self):
                return scope
            scope = scope.parent
        return scope


def parameters(node: Any) -> list[ast.arg]:
    """The parameters of a function, those that are given by position first."""
    each = node.args
    extra = [one for one in (each.vararg, each.kwarg) if one is not None]
    return [*each.posonlyargs, *each.args, *each.kwonlyargs, *extra]


def names_of(body: list[ast.stmt], of: ast.arguments | None = None) -> tuple[set[str], set[str]]:
    """The names that statements bind in their own scope, and those that they declare `global`."""
    whole = ast.Module(body, [])
    nodes = (node for node in ast.walk(whole) if isinstance(node, ast.Nonlocal))
    around = ", ".join({name for node in nodes for name in node.names})
    inner = f"def f({ast.unparse(of) if of else ''}):\n pass\n{indent(ast.unparse(whole), ' ')}"
    outer = f"def f({around}):\n{indent(inner, ' ')}"
    table = symbol_table(outer)
    if table is None:
        raise SyntaxError("these are no scopes of Python, or too many in each other")
    symbols = table.get_children()[0].get_children()[-1].get_symbols()
    local = {each.get_name() for each in symbols if each.is_local()}
    return local, {each.get_name() for each in symbols if each.is_declared_global()}


# Types --------------------------------------------------------------------------------------------

IMMUTABLE = (str, bytes, int, float, complex, bool, type(None), frozenset, range)
CHANGING = words("""
append appendleft extend extendleft insert add update remove discard pop popleft popitem clear sort
reverse rotate setdefault subtract difference_update intersection_update symmetric_difference_update
move_to_end fit fit_transform fit_predict partial_fit set_params compile train eval load_state_dict
load_weights backward step zero_grad
""")
"""Methods that change containers and models in place."""
_METHODS = {
    "pandas": "insert pop update",
    "numpy": "sort fill resize partition put itemset setflags",
    "polars": "insert_column replace_column extend drop_in_place",
    "scipy": "sort_indices eliminate_zeros sum_duplicates setdiag resize",
}
"""Library -> methods that change its arrays and frames in place."""
_SETTER = re.compile(r"(?:set|add|remove|insert|update|append|clear|delete)_|.*[^_]_$")
_LOOKS = ("get_", "savefig", "show", "has_", "is_", "contains", "findobj")
FILES = {"_io", "zipfile", "tarfile", "gzip", "tempfile", "bz2", "lzma"}
FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
"""Types of what is made to be called: handed on, it will be."""
_LAZY = (types.GeneratorType, types.CoroutineType, map, filter)
INERT = (type, types.ModuleType, *FUNCTIONS)
"""Types whose objects run no code of the person's before they are called."""
_INSTALLED = re.compile("site-packages|dist-packages")
_own = type.__getattribute__  # a metaclass of theirs may have another


def _classes(kind: type) -> Iterable[tuple[type, dict[str, Any]]]:
    return ((each, _own(each, "__dict__")) for each in _own(kind, "__mro__"))


def library_of(value: Any) -> str:
    """The library of its type: "pandas"."""
    return module_of(type(value))


def is_buffer(value: Any) -> bool:
    """Whether another value, such as a slice, may be a view of it."""
    kind = type(value)
    return kind in (bytearray, memoryview, array) or _own(kind, "__name__") == "ndarray"


def is_module(value: Any) -> bool:
    """Whether it is a module."""
    return issubclass(type(value), types.ModuleType)


def is_changed_in_place(value: Any) -> bool:
    """Whether `+=` changes it, and does not put another value in its place."""
    names = {name for _, own in _classes(type(value)) for name in own}
    return not names.isdisjoint({"__iadd__", "__ior__"}) and not is_theirs(value)


def is_changed_by(value: Any, method: str, is_part: bool) -> bool:
    """Whether a method changes a value of this type.

    Parameters
    ----------
    is_part : it is a method of something inside the value
    """
    kind, module = type(value), library_of(value)
    if path_of(value) is not None or kind in IMMUTABLE or issubclass(kind, INERT):
        return False
    if module in _METHODS or module in ARRAY_MODULES - {"torch", "tensorflow"}:
        return not is_part and method in _METHODS.get(module, "").split()
    if module == "matplotlib" and method not in CHANGING:
        return not method.startswith(_LOOKS)
    return method in CHANGING or (module != "builtins" and _SETTER.match(method) is not None)


def is_iterator(value: Any) -> bool:
    """Whether reading it takes from it."""
    return any("__next__" in own for _, own in _classes(type(value)))


# Places -------------------------------------------------------------------------------------------


def value_of(value: Any, name: str) -> Value:
    """What is known of a variable, or of a member of a module, of this name."""
    own = frozenset({name})
    if type(value) in _LAZY or is_theirs(value):
        return Value(THEIRS, own, live=value)
    is_text = type(value) in (str, type(Path())) and len(str(value)) <= MAX_TEXT
    text = redact(str(value)) if is_text else None  # without keys: it is shown
    return Value(tables.place_of(_place(value)), own, text=text, live=value)


def element_kind(value: Any) -> str:
    """The kind of the elements of a live value."""
    if type(value) in (list, tuple, set, dict):
        each = islice(value.values() if type(value) is dict else value, 100)
        kinds = {value_of(one, "").kind for one in each}
        if THEIRS in kinds or len(kinds) == 1:
            return THEIRS if THEIRS in kinds else kinds.pop()
        return OWN if all(map(tables.is_harmless, kinds)) else ""
    return _place(value) if library_of(value) in tables.HONEST else OWN


def members_of(module: Any) -> dict[str, Any]:
    """What a module has, without loading what it puts off; {} for anything else."""
    if not is_module(module):
        return {}
    members: dict[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
    return members


def _place(value: Any) -> str:
    """Where it comes from: "pandas", "requests.sessions.Session()", "os.remove".

    Of the object `tools` and what it has: "lmc_jupyter.tools.filesystem.read_file".
    """
    if is_module(value):
        return str(members_of(value).get("__name__", ""))
    if tool := path_of(value):
        return tool
    kind = type(value)
    function = value.__func__ if kind is types.MethodType else value
    if type(function) in (types.FunctionType, types.BuiltinFunctionType):
        return _public(function, function.__module__, function.__name__)
    end = "" if issubclass(kind, type) else "()"
    kind = kind if end else value
    return _public(kind, _own(kind, "__module__"), _own(kind, "__name__")) + end


def _public(value: Any, module: Any, name: str) -> str:
    """The shortest place at which a library has this: "pandas.read_csv"."""
    if not isinstance(module, str) or (module in ("builtins", "_io") and hasattr(builtins, name)):
        return name
    parts = module.split(".")
    for count in range(1, len(parts)):
        above = ".".join(parts[:count])
        if members_of(sys.modules.get(above)).get(name) is value:
            return f"{above}.{name}"
    return f"{module}.{name}"


def member_path(place: str, name: str) -> str:
    """The place of a member: that of the module itself where it is one, as in `shutil.os`."""
    member = members_of(sys.modules.get(place)).get(name)
    return _place(member) if is_module(member) else f"{place}.{name}"


def find(place: str) -> Any:
    """What is at a place of a module that is loaded; NOTHING where it is not known."""
    module, _, name = place.rpartition(".")
    if place in sys.modules:
        return sys.modules[place]
    return members_of(sys.modules.get(module or "builtins")).get(name, NOTHING)


def is_theirs(value: Any) -> bool:
    """Whether its code is the person's own: made in the notebook, or in a file of theirs."""
    kind = type(value)
    if path_of(value) is not None:
        return False
    if kind in (types.MethodType, functools.partial):
        return is_theirs(value.__func__ if kind is types.MethodType else value.func)
    if is_module(value):
        return _is_their_module(members_of(value).get("__name__"))
    if kind is types.FunctionType:
        return _is_their_module(value.__module__)
    return _is_their_module(_own(value if issubclass(kind, type) else kind, "__module__"))


def _is_their_module(name: Any) -> bool:
    """Whether this is a module of the person's: neither Python's own nor an installed one."""
    top = name.partition(".")[0] if isinstance(name, str) else "builtins"
    file = members_of(sys.modules.get(top)).get("__file__")
    is_file = isinstance(file, str) and not _INSTALLED.search(file)
    return top == "__main__" or (is_file and top not in tables.TOPS)


def is_safe_to_import(name: str) -> bool:
    """Whether an import runs no code, or that of Python and of installed packages."""
    top = name.partition(".")[0]
    if top in tables.TOPS or top in sys.modules:
        return not _is_their_module(top)
    try:
        spec = PathFinder.find_spec(top) if top else None
    except (ImportError, ValueError, AttributeError):
        return False
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any(map(_INSTALLED.search, places))
