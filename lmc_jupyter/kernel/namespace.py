"""The names of the person's namespace, in a line each, for the model.

One rule: names, types and shapes, and values only on request. Only values of known types are read:
no `__repr__`, `__len__` or property of a class of the person is ever called.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from lmc_jupyter.content import shorten

MAX_COLUMNS = 12  # of which the first rows are given
MAX_NAME = 40  # characters of a name
MAX_LINE = 200  # of what is no frame
MAX_FRAME = 20_000  # of a line of a frame; a model's window says how much of it is sent
MAX_READ = 2_000  # columns
MAX_VALUE = 80  # characters of a value, where values are given
HEAD_ROWS = 3

_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, bytearray, range)
ARRAY_MODULES = {
    "numpy", "pandas", "polars", "torch", "tensorflow", "jax", "jaxlib", "scipy", "cupy", "dask",
    "xarray", "sparse", "pyarrow", "cudf", "geopandas",
}  # fmt: skip
OURS = {"In", "Out", "exit", "quit", "get_ipython", "open", "display"}


def summary(
    shell: Any,
    limit: int = 60,
    *,
    characters: int = 40_000,
    first: Mapping[str, str] | None = None,
    values: bool = False,
    rank: Callable[[str, Any], int] = lambda _name, _value: 0,
) -> str:
    """A line per variable: name, type, and what is cheap to know of it; those of the highest rank
    last, and of these the newest.

    Parameters
    ----------
    shell : an IPython shell
    limit : how many lines; the rest is counted
    characters : how long the whole may be
    first : name -> the text of its line, which comes before all others
    values : whether short numbers and texts, and the first rows of frames, are given too
    rank : (name, value) -> how much it matters
    """
    lead = first or {}
    names = [name for name in _names(shell) if name not in lead]
    names.sort(key=lambda name: rank(name, shell.user_ns[name]))
    lines: list[str] = []
    room = characters
    for name in reversed(names):
        value = shell.user_ns[name]
        line = describe(name, value) + (_value(value) if values else "")
        if len(lines) == limit or len(line) + 1 > room:
            break
        room -= len(line) + 1
        lines.append(line)
    if rest := len(names) - len(lines):
        lines.append(shorten.more_names(names[:rest][::-1], rest))
    lines += [f"{name}: {text}" for name, text in reversed(list(lead.items()))]
    return "\n".join(reversed(lines))


def _names(shell: Any) -> Iterator[str]:
    system_names = getattr(shell, "user_ns_hidden", {})
    nothing = object()
    for name, value in list(shell.user_ns.items()):
        if not isinstance(name, str) or name.startswith("_") or name in OURS:
            continue
        if issubclass(type(value), types.ModuleType) or system_names.get(name, nothing) is value:
            continue
        yield name


def is_imported(value: Any) -> bool:
    """Whether it is a class or a function of a module."""
    kind = type(value)
    if issubclass(kind, type):
        return bool(type.__getattribute__(value, "__module__") != "__main__")
    if kind in (types.FunctionType, types.BuiltinFunctionType):
        return bool(value.__module__ != "__main__")
    return False


def own_names(shell: Any) -> dict[str, Any]:
    """The person's variables, modules too, without those that IPython and Python have made."""
    system_names = getattr(shell, "user_ns_hidden", {})
    nothing = object()
    return {
        name: value
        for name, value in list(shell.user_ns.items())
        if isinstance(name, str)
        and not (name.startswith("__") and name.endswith("__"))
        and system_names.get(name, nothing) is not value
    }


def matching(shell: Any, prefix: str, limit: int = 50) -> list[tuple[str, str, str]]:
    """The variables whose names begin so, as (name, type, shape), the last made first.

    Upper and lower case are one. A name that begins with `_` is only given where the prefix
    does too. The shape is "(150, 5)", "12 items" or "".
    """
    lower = prefix.lower()
    system_names = getattr(shell, "user_ns_hidden", {})
    names = list(_names(shell))
    if prefix.startswith("_"):
        names += [
            name
            for name in list(shell.user_ns)
            if isinstance(name, str) and name.startswith("_") and name not in system_names
        ]
    matches = [name for name in reversed(names) if name.lower().startswith(lower)]
    return [(name, *type_and_shape(shell.user_ns[name])) for name in matches[:limit]]


def type_and_shape(value: Any) -> tuple[str, str]:
    """Its type, and what is cheap to know of its size: "(150, 5)", "12 items" or ""."""
    kind = type(value)
    word = type.__getattribute__(kind, "__name__")
    if kind in _CONTAINERS:
        return word, f"{len(value):,} {_unit(kind)}"
    if module_of(kind) not in ARRAY_MODULES:
        return word, ""
    try:
        shape = getattr(value, "shape", None)
        sides = tuple(shape) if shape is not None else None
        return word, "" if sides is None else str(tuple(map(_side, sides)))
    except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame: its type is enough
        return word, ""


def _side(side: Any) -> int | str:
    return side if type(side) is int else str(side)[:12]


def describe(name: str, value: Any) -> str:
    """One line: `df: DataFrame, 4 rows, columns a (int64), b (object)`."""
    from lmc_jupyter.content import columns  # at the first question

    kind = type(value)
    text = f"{name}: {_type_text(value, kind)}"
    if columns.read(text) is None:
        return shorten.line(text, MAX_LINE)
    return columns.fit(text, MAX_FRAME)


def _type_text(value: Any, kind: type) -> str:
    """What a value is: its type, and what is cheap to know of its size."""
    if kind is types.FunctionType:
        return f"function({', '.join(_arguments(value))})"
    if issubclass(kind, type):  # `isinstance` would ask a `__class__` of theirs
        return f"class {type.__getattribute__(value, '__name__')}"
    if value is None:
        return "None"
    if kind in _CONTAINERS:
        return f"{kind.__name__}, {len(value):,} {_unit(kind)}"
    module = module_of(kind)
    if module in ARRAY_MODULES:
        return _array_text(value, kind)
    return kind.__name__ if module in ("builtins", "__main__", "") else f"{module}.{kind.__name__}"


def _array_text(value: Any, kind: type) -> str:
    """Arrays, frames and tensors of libraries whose attributes only look."""
    try:
        columns = getattr(value, "columns", None)
        shape = getattr(value, "shape", None)
        if columns is not None and isinstance(shape, tuple) and len(shape) == 2:
            return f"{kind.__name__}, {_rows(shape[0])}, columns {_columns(value, columns)}"
        parts = [kind.__name__]
        if shape is not None:
            parts.append(f"shape {' x '.join(str(side) for side in tuple(shape)) or '()'}")
        dtype = getattr(value, "dtype", None)
        if dtype is not None:
            parts.append(str(dtype))
        return ", ".join(parts)
    except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame: its type is enough
        return kind.__name__


def _value(value: Any) -> str:
    """What it holds, after what it is: " = 5", or the first rows of a frame of pandas."""
    kind = type(value)
    if kind in (bool, int, float, complex, str):
        short = kind is not str or len(value) <= MAX_VALUE
        short = short and (kind is not int or -(10**30) < value < 10**30)
        return f" = {value!r}" if short else ""
    if module_of(kind) != "pandas" or getattr(value, "ndim", 0) != 2:
        return ""
    try:
        head = value.iloc[:HEAD_ROWS, :MAX_COLUMNS]
        columns = [column.tolist() for _, column in head.items()]
        rows = [f"({', '.join(map(_cell, row))})" for row in zip(*columns, strict=True)]
    except Exception:  # noqa: BLE001 - a frame of another kind: its shape is enough
        return ""
    return f"; begins {' '.join(rows)}" if rows else ""


def _cell(value: Any) -> str:
    kind = type(value)
    if kind in (bool, int, float, complex, type(None)) or module_of(kind) in ("pandas", "datetime"):
        return str(value)[:MAX_NAME]
    return repr(cut(value)) if kind is str else kind.__name__


def _rows(count: Any) -> str:
    return f"{count:,} rows" if isinstance(count, int) else "rows unknown"


def _columns(value: Any, columns: Any) -> str:
    from lmc_jupyter.content.columns import of_frame

    more = max(0, len(columns) - MAX_READ)
    dtypes = islice(getattr(value, "dtypes", ()), MAX_READ)
    return of_frame(islice(columns, MAX_READ), dtypes, more)


def _arguments(function: types.FunctionType) -> list[str]:
    code = function.__code__
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return names[:MAX_COLUMNS]


def _unit(kind: type) -> str:
    if kind is str:
        return "characters"
    return "bytes" if kind in (bytes, bytearray) else "items"


def cut(text: str) -> str:
    """A name, short enough to be shown."""
    return shorten.line(text, MAX_NAME)


def module_of(kind: type) -> str:
    """The library that a class comes from: "pandas"."""
    module = type.__getattribute__(kind, "__module__")
    return module.partition(".")[0] if isinstance(module, str) else ""
