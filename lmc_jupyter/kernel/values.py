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
from lmc_jupyter.kernel.namespace import ARRAY_MODULES, describe, module_of

MAX_VALUE = 2_000
"""Characters of one value."""
HEAD_ROWS = 8
MAX_COLUMNS = 20
_MAX_ITEMS = 40


def value_of(shell: Any, name: str, characters: int = MAX_VALUE) -> str | None:
    """The value of this variable as text; None where the person has no variable of that name.

    Of a frame: its shape, its columns, its first rows. Of a function or a class: its source. Of
    anything else: its bounded repr. What a hidden cell defines is named without its source.
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
    return shorten.head(text, characters)


def _text(name: str, value: Any) -> str:
    kind = type(value)
    if kind is types.ModuleType:
        return f"module {value.__name__}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return _source(name, value)
    if kind is str:
        return value if "\n" in value else repr(value)
    if module_of(kind) in ARRAY_MODULES and _is_table(value):
        return f"{describe(name, value).partition(': ')[2]}\n{_head(value)}"
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


def _is_table(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2 and hasattr(value, "columns")


def _head(value: Any) -> str:
    head = value.head(HEAD_ROWS)
    if hasattr(head, "iloc"):
        head = head.iloc[:, :MAX_COLUMNS]
        return str(head.to_string(max_colwidth=60))
    return str(head)
