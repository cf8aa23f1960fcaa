"""The value of a variable that the person names in a question, in some lines.

One rule: the text is short whatever the value is; where its `__repr__` fails, the text gives the
type of the variable and the error.
"""

from __future__ import annotations

import inspect
import reprlib
import types
from typing import Any

from lmc_jupyter.content import error_text, shorten
from lmc_jupyter.content.columns import fit, name_of
from lmc_jupyter.kernel.namespace import ARRAY_MODULES, describe, module_of

MAX_VALUE = 2_000
"""Characters of one value."""
MAX_TABLE = 8_000
"""Characters of a frame: its columns, what is missing and distinct in them, its head."""
MAX_CHECKED = 200
"""Columns that are looked through for missing values."""
MAX_COUNTED = 20_000_000
"""Values of a frame that are counted for it: a second's work."""
HEAD_ROWS = 8
MAX_COLUMNS = 20
_MAX_ITEMS = 40


def value_of(shell: Any, name: str, characters: int = MAX_VALUE) -> str | None:
    """The value of this variable as text; None where the person has no variable of that name.

    Of a frame: its shape, its columns, what is missing and distinct in them, its first rows. Of a
    function or a class: its source. Of anything else: its bounded repr. What a hidden cell defines
    is named without its source.
    """
    namespace = shell.user_ns
    system_names = getattr(shell, "user_ns_hidden", {})
    if name not in namespace or (name in system_names and system_names[name] is namespace[name]):
        return None
    value = namespace[name]
    try:
        text = _text(name, value)
    except Exception as error:  # noqa: BLE001 - the __repr__ of a class of anybody's
        text = f"{describe(name, value)} (its repr fails: {type(error).__name__})"
    return shorten.head(text, max(characters, MAX_TABLE) if _is_frame(value) else characters)


def _text(name: str, value: Any) -> str:
    kind = type(value)
    if kind is types.ModuleType:
        return f"module {value.__name__}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return _source(name, value)
    if kind is str:
        return value if "\n" in value else repr(value)
    if _is_frame(value):
        line = fit(describe(name, value).partition(": ")[2], MAX_TABLE // 2)
        return "\n".join([line, *_counts(value), _head(value)])
    short = reprlib.Repr()
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = _MAX_ITEMS
    short.maxdict = short.maxarray = short.maxdeque = _MAX_ITEMS
    short.maxstring = short.maxother = short.maxlong = MAX_VALUE
    return short.repr(value)


def _source(name: str, value: Any) -> str:
    """The source of a function or class; what it says of itself, where there is none."""
    if _is_hidden(value):
        return f"{type(value).__name__} {name}: a hidden cell has its source, which is not read"
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        doc = inspect.getdoc(value) or ""
        return f"{type(value).__name__} {name} of {getattr(value, '__module__', None)}\n{doc}"


def _is_hidden(value: Any) -> bool:
    """Whether a hidden cell has the source; a class of the notebook does not tell which cell."""
    if inspect.isclass(value):
        return value.__module__ == "__main__" and error_text.is_concealed()
    code = getattr(inspect.unwrap(value), "__code__", None)
    return isinstance(code, types.CodeType) and error_text.is_concealed(code.co_filename)


def _is_frame(value: Any) -> bool:
    if module_of(type(value)) not in ARRAY_MODULES:
        return False
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2 and hasattr(value, "columns")


def _counts(value: Any) -> list[str]:
    """Lines on what is missing in the columns of a frame, and how many values are distinct."""
    if module_of(type(value)) not in ("pandas", "geopandas", "polars"):
        return []
    rows, width = value.shape
    width = min(width, MAX_CHECKED)
    if rows * width > MAX_COUNTED:
        return ["Missing and distinct values were not counted: there are too many rows."]
    is_polars = module_of(type(value)) == "polars"
    names = [name_of(label) for label in value.columns[:width]]
    columns = [value.to_series(at) if is_polars else value.iloc[:, at] for at in range(width)]
    missing = [each.null_count() if is_polars else int(each.isna().sum()) for each in columns]
    lacking = [f"{name} {count:,}" for name, count in zip(names, missing, strict=True) if count]
    of = f" in the first {width} columns" if value.shape[1] > width else ""
    distinct = [
        f"{name} {count:,}"
        for name, each in zip(names[:MAX_COLUMNS], columns[:MAX_COLUMNS], strict=True)
        if (count := _distinct(each)) is not None
    ]
    return [
        f"Missing values{of}: {', '.join(lacking) or 'none'}.",
        f"Distinct values: {', '.join(distinct)}.",
    ]


def _distinct(column: Any) -> int | None:
    """How many different values it has; None where they cannot be compared."""
    try:
        if module_of(type(column)) == "polars":
            return int(column.drop_nulls().n_unique())
        return int(column.nunique())
    except Exception:  # noqa: BLE001 - lists, objects of anybody's class
        return None


def _head(value: Any) -> str:
    head = value.head(HEAD_ROWS)
    if hasattr(head, "iloc"):
        head = head.iloc[:, :MAX_COLUMNS]
        return str(head.to_string(max_colwidth=60))
    return str(head)
