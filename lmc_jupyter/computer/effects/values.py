"""What is known of a live value by its type alone: its library, and which methods change it.

One rule: no method, property or `__repr__` of a value is ever called.
"""

from __future__ import annotations

import functools
import sys
import types
from pathlib import PurePath
from typing import Any

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


def path_of(value: Any) -> str | None:
    """Where it comes from: "pandas", "requests.sessions.Session", "os.remove"; None: unknown.

    Of the object `tools` and what it has: "lmc_jupyter.tools.filesystem.read_file".
    """
    if issubclass(type(value), types.ModuleType):
        name = members_of(value).get("__name__")
        return name if isinstance(name, str) else None
    if issubclass(type(value), type):
        own = type.__getattribute__  # a metaclass of theirs may have another
        return _path(own(value, "__module__"), own(value, "__name__"))
    if type(value) in (types.FunctionType, types.BuiltinFunctionType):
        return _path(value.__module__, value.__name__)
    kind = type(value)
    module, name = (
        type.__getattribute__(kind, "__module__"),
        type.__getattribute__(kind, "__name__"),
    )
    return namespace.path_of(value) or _path(module, name)


def _path(module: Any, name: str) -> str | None:
    if not isinstance(module, str):
        return None
    module = {"posix": "os", "nt": "os"}.get(module, module)
    return name if module in ("builtins", "_io") else f"{module}.{name}"


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
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return False
    file = members_of(sys.modules.get(top)).get("__file__")
    return isinstance(file, str) and not _is_installed(file)


def _is_installed(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file
