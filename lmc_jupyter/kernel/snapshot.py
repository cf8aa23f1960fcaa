"""The contents of one value at one moment, to be compared later and put back.

One rule: only types that are known are looked into, and nothing of a class of the user's is ever
called: items are compared by identity. What is small is copied, one level deep; of what is larger
the length, or the shape and the columns, are noted.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Collection
from operator import is_
from typing import Any, NamedTuple

from lmc_jupyter.kernel.namespace import ARRAY_MODULES, cut, module_of

MAX_COPY = 1_000_000
"""Bytes that are copied for one block."""
MAX_FRAME = 64_000_000
"""Bytes of a frame under copy-on-write; the first write into it copies what it writes into."""
PLAIN = (bool, int, float, complex, str, bytes, range, type(None), type(...))

_CONTAINERS = (list, dict, set, bytearray)
_IMMUTABLE = (
    *PLAIN, tuple, frozenset, slice,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType,
)  # fmt: skip
_IMMUTABLE_MODULES = {
    "datetime", "decimal", "fractions", "pathlib", "re", "uuid", "typing", "operator",
}  # fmt: skip


class Snapshot(NamedTuple):
    """What a value of a known type contained at one moment."""

    copy: Any
    """A shallow copy; None where that would be too large."""
    outline: Any
    """Of a frame that was copied its axes and arrays; of what was not copied its size."""
    cost: int = 0
    """Bytes that the copy took."""

    @classmethod
    def of(cls, value: Any, room: int = MAX_COPY) -> Snapshot | None:
        """None for a value whose type is not known.

        Parameters
        ----------
        room : how many bytes may be copied
        """
        try:
            return cls._of(value, size_of(value), room)
        except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame: nothing is known of it
            return None

    @classmethod
    def _of(cls, value: Any, size: int, room: int) -> Snapshot | None:
        if _is_frame(value):
            lazy = _copies_on_write()
            if size <= (MAX_FRAME if lazy else room):
                return cls(value.copy(deep=not lazy), _parts(value), 0 if lazy else size)
        elif (type(value) in _CONTAINERS or _is_array(value)) and size <= room:
            return cls(value.copy(), None, size)
        outline = _outline(value)
        return None if outline is None else cls(None, outline)

    def is_same(self, value: Any) -> bool:
        """Whether the value contains the same, by identity: `==` of its items may be the user's."""
        kind, copy = type(value), self.copy
        try:
            if copy is None:
                return bool(_outline(value) == self.outline)
            if kind is set:
                return set(map(id, value)) == set(map(id, copy))
            if kind is dict and not _are_same(value.values(), copy.values()):
                return False
            if kind in (list, dict):
                return _are_same(value, copy)
            if kind is bytearray:
                return bool(value == copy)
            if _is_array(value):
                return _layout(value) == _layout(copy) and value.tobytes() == copy.tobytes()
            return _are_same(_parts(value), self.outline) or _are_same_frames(value, copy)
        except Exception:  # noqa: BLE001 - a deleted tensor; a dict that a thread changes now
            return False

    def fits(self, value: Any) -> bool:
        """Whether the value can contain it again: an array of another shape or type cannot."""
        return not _is_array(value) or _layout(value) == _layout(self.copy)

    def put_back(self, value: Any) -> None:
        """Make the value contain what it did; whoever else holds it sees that too.

        Raises
        ------
        ValueError, BufferError
            When it cannot be written to.
        """
        if _is_frame(value):
            value._update_inplace(self.copy)  # pandas' own way for `inplace=True`
        elif _is_array(value):
            value[...] = self.copy
        elif type(value) in (dict, set):
            value.clear()
            value.update(self.copy)
        else:
            value[:] = self.copy


def size_of(value: Any) -> int:
    """The bytes of a value, as far as they are known: 0 for what is not."""
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return len(value)
    if kind in (list, tuple, dict, set, frozenset):
        return 8 * len(value)
    if module_of(kind) not in ARRAY_MODULES:
        return 0
    try:
        if hasattr(value, "_mgr"):
            return sum(block.values.nbytes for block in value._mgr.blocks)
        size = getattr(value, "nbytes", 0)
        return size if type(size) is int else 0
    except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame
        return 0


def _outline(value: Any) -> tuple[str, ...] | None:
    """The length of a container, the shape and the columns of others; None where not known."""
    if type(value) in _CONTAINERS:
        return (str(len(value)),)
    shape = getattr(value, "shape", None) if module_of(type(value)) in ARRAY_MODULES else None
    if shape is None:
        return None
    columns = list(getattr(value, "columns", ()))[:200]
    return (str(tuple(shape)), *(cut(str(each)) for each in columns))


def _is_array(value: Any) -> bool:
    return type(value) is _class("numpy", "ndarray")


def _is_frame(value: Any) -> bool:
    return type(value) in (_class("pandas", "DataFrame"), _class("pandas", "Series"))


def _class(module: str, name: str) -> Any:
    """A class of a library that is loaded; nothing is imported."""
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def _layout(array: Any) -> tuple[Any, ...]:
    return array.shape, array.dtype


def _copies_on_write() -> bool:
    """Whether a copy of a frame is lazy: always from pandas 3 on, an option before."""
    pandas: Any = sys.modules["pandas"]
    if int(pandas.__version__.partition(".")[0]) >= 3:
        return True
    return getattr(pandas.options.mode, "copy_on_write", False) is True


def _parts(frame: Any) -> list[Any]:
    """What stays the same objects as long as nobody writes into the frame."""
    return [*frame._mgr.axes, *(block.values for block in frame._mgr.blocks)]


def _are_same_frames(one: Any, other: Any) -> bool:
    """Whether the contents are the same: reading may put the columns together in another way."""
    return all(axis.is_(its) for axis, its in zip(one.axes, other.axes, strict=True)) and all(
        map(_are_same_columns, _columns(one), _columns(other))
    )


def _columns(frame: Any) -> list[Any]:
    return [each.array for _, each in frame.items()] if frame.ndim == 2 else [frame.array]


def _are_same_columns(one: Any, other: Any) -> bool:
    if one.dtype != other.dtype or module_of(type(one)) not in ARRAY_MODULES:
        return False
    return _are_same(one, other) if one.dtype == object else bool(one.equals(other))


def _are_same(some: Collection[Any], others: Collection[Any]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def is_immutable(value: Any) -> bool:
    """Whether nothing inside it can change, or nothing that a name stands for."""
    kind = type(value)
    return (
        kind in _IMMUTABLE
        or issubclass(kind, (type, types.ModuleType))
        or module_of(kind) in _IMMUTABLE_MODULES
        or (module_of(kind) in ARRAY_MODULES and not hasattr(kind, "__setitem__"))
    )
