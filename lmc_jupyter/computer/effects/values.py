"""What is known of a live value by its type alone: its library, and which methods change it.

One rule: no method, property or `__repr__` of a value is ever called.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from array import array
from collections import defaultdict
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import PurePath
from typing import Any

from lmc_jupyter.computer.effects.tables import HONEST, MIXED, PURE, is_known_module, place_of
from lmc_jupyter.computer.effects.value import NOTHING, THEIRS, Value
from lmc_jupyter.computer.tools import namespace
from lmc_jupyter.kernel.namespace import ARRAY_MODULES, module_of
from lmc_jupyter.keys import redact

MAX_TEXT = 1_000
"""Characters of a text or a path that is known: code may double it in every line."""

_IMMUTABLE = (str, bytes, int, float, complex, bool, type(None), frozenset, range)
_IN_PLACE = {
    "builtins": {"list", "set", "dict", "bytearray"},
    "collections": {"deque", "Counter", "OrderedDict", "defaultdict"},
    "numpy": {"ndarray"},
    "pandas": {"DataFrame", "Series"},
    "torch": {"Tensor"},
}
"""Library -> types whose `+=` changes the value itself."""

CONTAINER_METHODS = frozenset({
    "append", "appendleft", "extend", "extendleft", "insert", "add", "update", "remove", "discard",
    "pop", "popleft", "popitem", "clear", "sort", "reverse", "rotate", "setdefault", "subtract",
    "difference_update", "intersection_update", "symmetric_difference_update", "move_to_end",
})  # fmt: skip
_METHODS = {
    "pandas": {"insert", "pop", "update"},
    "numpy": {"sort", "fill", "resize", "partition", "put", "itemset", "setflags"},
    "polars": {"insert_column", "replace_column", "extend", "drop_in_place"},
    "scipy": {"sort_indices", "eliminate_zeros", "sum_duplicates", "setdiag", "resize"},
}
_MODEL_METHODS = frozenset({
    "fit", "fit_transform", "fit_predict", "partial_fit", "set_params", "compile", "train", "eval",
    "load_state_dict", "load_weights", "backward", "step", "zero_grad",
})  # fmt: skip
_SETTERS = ("set_", "add_", "remove_", "insert_", "update_", "append_", "clear_", "delete_")
_LOOKS = ("get_", "savefig", "show", "has_", "is_", "contains", "findobj")


def is_array(value: Any) -> bool:
    """Whether its parts may be copies: a frame, an array, a tensor."""
    return module_of(type(value)) in ARRAY_MODULES


def is_numpy_array(value: Any) -> bool:
    """Whether slices of it are views."""
    kind = type(value)
    return module_of(kind) == "numpy" and type.__getattribute__(kind, "__name__") == "ndarray"


def is_immutable(value: Any) -> bool:
    """Whether nothing changes it."""
    return type(value) in _IMMUTABLE


def is_changed_in_place(value: Any) -> bool:
    """Whether `+=` changes it, and does not put another value in its place."""
    kind = type(value)
    return type.__getattribute__(kind, "__name__") in _IN_PLACE.get(module_of(kind), ())


def is_changed_by(value: Any, method: str, *, is_part: bool) -> bool:
    """Whether a method changes a value of this type.

    Parameters
    ----------
    is_part : it is a method of something inside the value
    """
    kind = type(value)
    module = module_of(kind)
    if namespace.path_of(value) is not None:
        return False
    if is_immutable(value) or issubclass(kind, (type, types.ModuleType, types.FunctionType)):
        return False
    if module in _METHODS or module in ARRAY_MODULES - {"torch", "tensorflow"}:
        return not is_part and method in _METHODS.get(module, ())
    if method in CONTAINER_METHODS or method in _MODEL_METHODS:
        return True
    if module == "torch":
        return method.endswith("_") and not method.endswith("__")
    if module == "matplotlib":
        return not method.startswith(_LOOKS)
    return module != "builtins" and method.startswith(_SETTERS)


def is_drawn_on(value: Any) -> bool:
    """Whether it is a part of a figure."""
    return module_of(type(value)) == "matplotlib"


def members_of(module: Any) -> dict[str, Any]:
    """What a module has, without loading what it puts off; {} for anything else."""
    if not issubclass(type(module), types.ModuleType):
        return {}
    members: dict[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
    return members


def value_of(value: Any, name: str) -> Value:
    """What is known of a variable, or of a member of a module, of this name."""
    own = frozenset({name})
    if type(value) in (types.GeneratorType, types.CoroutineType, map, filter) or is_theirs(value):
        return Value(THEIRS, own, own, live=value)
    kind = place_of(_place(value))
    return Value(kind, own, own, text=text_of(value), live=value)


def _place(value: Any) -> str:
    """Where it comes from: "pandas", "requests.sessions.Session()", "os.remove".

    Of the object `tools` and what it has: "lmc_jupyter.tools.filesystem.read_file".
    """
    if issubclass(type(value), types.ModuleType):
        name = members_of(value).get("__name__")
        return name if isinstance(name, str) else ""
    if tool := namespace.path_of(value):
        return tool
    kind, end = type(value), ""
    if issubclass(kind, type):
        kind = value
    elif kind in (types.FunctionType, types.BuiltinFunctionType):
        return _public(value, value.__module__, value.__name__)
    elif kind is types.MethodType:
        return _public(value, value.__func__.__module__, value.__func__.__name__)
    else:
        end = "()"
    own = type.__getattribute__  # a metaclass of theirs may have another
    return _public(kind, own(kind, "__module__"), own(kind, "__name__")) + end


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
    if issubclass(type(member), types.ModuleType):
        return _place(member)
    return f"{place}.{name}"


def _find(place: str) -> Any:
    """What is at a place of a module that is loaded; NOTHING where it is not known."""
    module, _, name = place.rpartition(".")
    if place in sys.modules:
        return sys.modules[place]
    if not module:
        return getattr(builtins, name, NOTHING)
    return members_of(sys.modules.get(module)).get(name, NOTHING)


def is_data(place: str) -> bool:
    """Whether a member of a module is no function, class or module: `math.pi`."""
    value = _find(place)
    return value is not NOTHING and not callable(value) and not is_module(place)


def is_module(place: str) -> bool:
    """Whether this is a module, as far as it is known."""
    return issubclass(type(_find(place)), types.ModuleType) or place in PURE | HONEST | MIXED.keys()


def is_unbound(place: str, parent: str, last: str, has_roots: bool) -> bool:
    """Whether this is a method that gets its object as the first argument: `list.append`."""
    kind, name = _find(parent), place.rpartition(".")[2]
    if not issubclass(type(kind), type):
        return kind is NOTHING and last[:1].isupper() and has_roots
    for each in type.__getattribute__(kind, "__mro__"):
        member = type.__getattribute__(each, "__dict__").get(name)
        if member is not None:
            quiet = (classmethod, staticmethod, types.ClassMethodDescriptorType)
            return type(member) not in quiet and name not in ("__new__", "__init__")
    return False


def is_iterator(value: Any) -> bool:
    """Whether reading it takes from it."""
    own = type.__getattribute__
    classes = own(type(value), "__mro__")
    return any("__next__" in own(each, "__dict__") for each in classes)


def adds_when_read(value: Any) -> bool:
    """Whether an index that it has not becomes one."""
    return type(value) is defaultdict


def is_buffer(value: Any) -> bool:
    """Whether another value may be a view of it."""
    return type(value) in (bytearray, memoryview, array) or is_numpy_array(value)


def inputs_of(place: str) -> int:
    """How many arguments a function of numpy reads; those after it are written. 0: not known."""
    function = _find(place)
    return function.nin if type(function).__name__ == "ufunc" else 0


def kind_of_elements(value: Any) -> str:
    """The kind of the elements of a live value."""
    if type(value) in (list, tuple, set, dict):
        each = islice(value.values() if type(value) is dict else value, 100)
        kinds = {value_of(one, "").kind for one in each}
        return THEIRS if THEIRS in kinds else kinds.pop() if len(kinds) == 1 else ""
    return f"{_place(value)}" if module_of(type(value)) in HONEST else ""


def attribute_of(value: Any, name: str) -> Any:
    """An attribute of a value of the person's class; None where reading it runs code of theirs,
    NOTHING where it is not known."""
    kind = type(value)
    if issubclass(kind, (type, types.FunctionType, types.MethodType)):
        return NOTHING
    if issubclass(kind, types.ModuleType):
        return members_of(value).get(name, NOTHING)
    found = NOTHING
    for each in type.__getattribute__(kind, "__mro__"):
        own = type.__getattribute__(each, "__dict__")
        is_foreign = each is not object and _is_by_hand(own.get("__getattribute__"))
        if is_foreign or "__getattr__" in own:
            return None
        if found is NOTHING:
            found = own.get(name, NOTHING)
    if type(found) is types.FunctionType:
        return NOTHING
    if found is not NOTHING and hasattr(type(found), "__get__"):
        return None if not issubclass(type(found), types.MemberDescriptorType) else NOTHING
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return found
    return attributes.get(name, found) if type(attributes) is dict else found


def runs_when_used(value: Any) -> bool:
    """Whether operators, `print` and `len` of it run code that the person wrote."""
    kind = type(value)
    if kind in (types.GeneratorType, types.CoroutineType, map, filter):
        return True
    if issubclass(kind, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return False
    return any(
        is_their_module(str(type.__getattribute__(each, "__module__")))
        and any(
            _is_by_hand(member)
            for name, member in type.__getattribute__(each, "__dict__").items()
            if name.startswith("__") and name not in ("__init__", "__new__", "__post_init__")
        )
        for each in type.__getattribute__(kind, "__mro__")
    )


def _is_by_hand(member: Any) -> bool:
    """Whether a method was written, and not made by a decorator such as `dataclass`."""
    return type(member) is types.FunctionType and member.__code__.co_filename != "<string>"


def is_open_file(value: Any) -> bool:
    """Whether it writes to a file."""
    return module_of(type(value)) in (
        "_io",
        "zipfile",
        "tarfile",
        "gzip",
        "tempfile",
        "bz2",
        "lzma",
    )


def is_safe_to_import(name: str) -> bool:
    """Whether an import runs no code, or that of Python and of installed packages."""
    if name in sys.modules or is_known_module(name):
        return True
    top = name.partition(".")[0]
    if top in sys.modules:
        return not is_their_module(top)
    try:
        spec = PathFinder.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return False
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any(map(_is_installed, places))


def text_of(value: Any) -> str | None:
    """A text or path as text, without keys; None for anything else."""
    if type(value) is str:
        return redact(value) if len(value) <= MAX_TEXT else None
    kind = type(value)
    if issubclass(kind, PurePath) and module_of(kind) == "pathlib":
        return str(value)
    return None


def is_function(value: Any) -> bool:
    """Whether it is made to be called: handed on, it will be."""
    return type(value) in (types.FunctionType, types.MethodType, functools.partial)


def is_theirs(value: Any) -> bool:
    """Whether its code is the person's own: made in the notebook, or in a file of theirs."""
    kind = type(value)
    if namespace.path_of(value) is not None:
        return False
    if kind is types.MethodType:
        return is_theirs(value.__func__)
    if kind is types.FunctionType or issubclass(kind, type):
        owner = value if kind is types.FunctionType else None
        module = owner.__module__ if owner else type.__getattribute__(value, "__module__")
    elif issubclass(kind, types.ModuleType):
        module = members_of(value).get("__name__")
    elif kind is functools.partial:
        return is_theirs(value.func)
    else:
        module = type.__getattribute__(kind, "__module__")
    return isinstance(module, str) and is_their_module(module)


def is_their_module(name: str) -> bool:
    """Whether this is a module of the person's: neither Python's own nor an installed one."""
    top = name.partition(".")[0]
    if top == "__main__":
        return True
    if top == "lmc_jupyter" or top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return False
    file = members_of(sys.modules.get(top)).get("__file__")
    return isinstance(file, str) and not _is_installed(file)


def _is_installed(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file
