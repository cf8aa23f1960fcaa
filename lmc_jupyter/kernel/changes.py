"""What a block of python did to the person's names, and the way back.

One rule: it looks as `lmc_jupyter.kernel.namespace` does, at types that it knows: nothing of a
class of the user's is ever called. What it cannot bring back it names.

Every name's object is compared with the one before: new, rebound, removed. It looks into an
object only when the code names it, itself or by a function of the notebook:

- `list`, `dict`, `set` up to `MAX_ITEMS`, `bytearray` and numpy arrays up to `MAX_BYTES` a block:
  a shallow copy is compared item by item, by identity, and put back in place;
- pandas frames and series up to `MAX_FRAME` where copy-on-write is on: a lazy copy is kept, and
  takes the name back;
- other arrays, frames and tensors: shape and columns; a change is told and cannot be undone.

Old values are kept alive for the last `KEPT_BLOCKS` blocks, up to `KEPT_BYTES` as far as sizes
are known; what is older cannot be restored any more. A value that is larger is not even held
while the code runs, if the code names it, so that it can be freed.
"""

from __future__ import annotations

import re
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import compress, islice
from operator import is_, is_not
from typing import Any

from lmc_jupyter.kernel.namespace import OURS, SHAPED, cut, module_of

MAX_ITEMS = 2_000
"""Items of a container that is looked into."""
MAX_BYTES = 1_000_000
"""Bytes that are copied for one block."""
MAX_FRAME = 64_000_000
"""Bytes of a frame; the first write into it copies what it writes into."""
MAX_LOOKS = 100
"""Objects that are looked into for one block."""
MAX_NAMES = 100
"""Names of one kind that are told; the rest is counted."""
KEPT_BLOCKS = 20
KEPT_BYTES = 256_000_000
SAID = 8
"""Names in a sentence."""

_WORD = re.compile(r"[^\W\d]\w*")
_INDIRECT = {"globals", "locals", "vars", "exec", "eval", "get_ipython"}
"""Words of code that reaches names which it does not say."""
_PLAIN = (bool, int, float, complex, str, bytes, range, type(None), type(...))
_WHOLE = {"datetime", "decimal", "fractions", "pathlib", "re", "uuid", "typing", "operator"}
"""Modules of values that nobody changes inside."""
_FIXED = (tuple, frozenset, slice, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_NOTHING: Any = object()

Namespace = dict[str, Any]


class Changes:
    """What one block did to the names of a shell; false when it did nothing.

    Parameters
    ----------
    new, changed, removed : names, bounded, in the order of the namespace
    lost : a sentence on what `restore` would not bring back; "" when it brings back all
    """

    def __init__(
        self,
        new: Iterable[str] = (),
        changed: Iterable[str] = (),
        removed: Iterable[str] = (),
        lost: str = "",
        bound: Iterable[_Bound] = (),
        inside: Iterable[_Inside] = (),
    ) -> None:
        self.new, self.changed, self.removed = _told(new), _told(changed), _told(removed)
        self.lost = lost
        self._bound, self._inside = list(bound), list(inside)
        self.bytes = sum(each.bytes for each in self._bound)
        self.bytes += sum(each.bytes for each in self._inside)
        """What the old values take, as far as it is known."""

    def __repr__(self) -> str:
        kinds = (("+", self.new), ("~", self.changed), ("-", self.removed))
        return f"<changes {' '.join(sign + name for sign, names in kinds for name in names)}>"

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.removed)

    @property
    def restorable(self) -> bool:
        """Whether something of it can still be brought back."""
        return bool(self._bound or self._inside)

    def let_go(self) -> None:
        """Keep the old values no longer."""
        self._bound, self._inside = [], []

    def restore(self, names: Namespace) -> str:
        """Bring the names back, on this thread and once; returns sentences on what was done.

        A name that is not as the block left it, because a cell or a later block has changed it,
        stays as it is.
        """
        bound, inside = self._bound, self._inside
        self.let_go()
        done = _Done()
        instead: dict[int, Any] = {}
        for each in inside:
            found = [name for name in each.names if names.get(name, _NOTHING) is each.value]
            if not _is_same(each.left):
                done.newer += found
                continue
            try:
                other = each.back()
            except Exception:  # noqa: BLE001 - a view of it is open, or it is read-only by now
                done.failed += found
                continue
            if other is not each.value:
                instead[id(each.value)] = other
                names.update(dict.fromkeys(found, other))
            done.back += found
        for one in bound:
            if names.get(one.name, _NOTHING) is not one.now:
                done.newer.append(one.name)
            elif one.then is _NOTHING:
                del names[one.name]
                done.gone.append(one.name)
            else:
                names[one.name] = instead.get(id(one.then), one.then)
                done.back.append(one.name)
        return " ".join(filter(None, [*done.said(), self.lost]))


class _Done:
    """What a restoration did."""

    def __init__(self) -> None:
        self.back: list[str] = []
        self.gone: list[str] = []
        self.newer: list[str] = []
        self.failed: list[str] = []

    def said(self) -> Iterable[str]:
        if self.back:
            yield f"Restored {_said(self.back)}."
        if self.gone:
            yield f"Removed {_variables(self.gone)}."
        if not (self.back or self.gone):
            yield "Nothing was restored."
        if self.newer:
            has, stays = ("has", "stays") if len(self.newer) == 1 else ("have", "stay")
            yield f"{_said(self.newer)} {has} changed since then and {stays} unchanged."
        if self.failed:
            yield f"{_said(self.failed)} could not be written to."


@dataclass(frozen=True)
class _Bound:
    """A name that was bound to another object: `_NOTHING` where there was, or is, none."""

    name: str
    then: Any
    now: Any
    bytes: int


@dataclass(frozen=True)
class _Look:
    """An object as it was at one moment."""

    same: Callable[[], bool]
    """Whether it is still so."""
    back: Callable[[], Any] | None = None
    """Makes it so again and returns it, or returns another one in its place; None: it cannot."""
    bytes: int = 0
    """What keeping it may cost…"""
    copied: int = 0
    """…and what has been copied for it already."""


@dataclass(frozen=True)
class _Large:
    """A value that is not kept because of its size: the code may free it while it runs."""

    ref: weakref.ref[Any]
    outline: tuple[str, ...] | None

    @classmethod
    def of(cls, value: Any) -> _Large | None:
        """None for a value that is small enough, or of a type that must be held."""
        if size_of(value) <= KEPT_BYTES:
            return None
        try:
            return cls(weakref.ref(value), _outline(value))
        except TypeError:
            return None

    def is_(self, value: Any) -> bool:
        return self.ref() is value


@dataclass(frozen=True)
class _Inside:
    """An object that was changed in place."""

    names: list[str]
    value: Any
    back: Callable[[], Any]
    left: _Look
    bytes: int


class Watch:
    """The names of a shell from here on.

    Parameters
    ----------
    shell : an IPython shell
    code : what runs next, on this thread; what other threads do meanwhile counts as its doing
    """

    def __init__(self, shell: Any, code: str) -> None:
        self._names: Namespace = shell.user_ns
        self._hidden: Namespace = getattr(shell, "user_ns_hidden", {})
        self._before = dict(self._names)
        self._room = MAX_BYTES
        self._looks: dict[int, _Look] = {}
        self._blind: list[str] = []  # named, and nobody knows what happens inside
        self._large: dict[str, _Large] = {}
        for name in self._named(code):
            large = _Large.of(self._before[name])
            if large is not None:
                self._before[name] = self._large[name] = large
                self._blind.append(name)
            else:
                self._look_at(name, self._before[name])

    def changes(self) -> Changes:
        """What has become of them."""
        before, after = self._before, dict(self._names)
        grown = []
        for name, large in self._large.items():
            if large.is_(after.get(name, _NOTHING)):
                before[name] = after[name]
                if _outline(after[name]) != large.outline:
                    grown.append(name)
        bound = [name for name in _differing(before, after) if self._is_news(name, after)]
        touched = [key for key, look in self._looks.items() if not _is_same(look)]
        if not bound and not touched and not grown:
            return _NONE
        steps, unkept = [], []
        for name in bound:
            then, now = before.get(name, _NOTHING), after.get(name, _NOTHING)
            size = size_of(then)
            if size > KEPT_BYTES or type(then) is _Large:
                unkept.append(name)
            else:
                steps.append(_Bound(name, then, now, size))
        inside, stuck, changed = [], grown, {*bound, *grown}
        for key in touched:
            look = self._looks[key]
            names = [name for name, value in before.items() if id(value) == key]
            names = [name for name in names if self._is_theirs(name)]
            value = before[names[0]]
            still = [name for name in names if after.get(name, _NOTHING) is value]
            changed.update(still)
            left = look_at(value)
            if look.back is None or left is None:
                stuck += still
            else:
                inside.append(_Inside(names, value, look.back, left, look.bytes))
        blind = [name for name in self._blind if name in after and name not in changed]
        return Changes(
            [name for name in bound if name not in before],
            [name for name in before if name in changed and name in after],
            [name for name in bound if name not in after],
            _lost(stuck, unkept, blind),
            steps,
            inside,
        )

    def _is_news(self, name: Any, after: Namespace) -> bool:
        """Whether a person would call this name, which is bound anew, new, changed or removed."""
        then, now = self._before.get(name, _NOTHING), after.get(name, _NOTHING)
        if not self._is_theirs(name) or self._hidden.get(name, self) is now:
            return False
        if _is_module(now) and (then is _NOTHING or _is_module(then)):
            return False
        return not _equal(then, now)

    @staticmethod
    def _is_theirs(name: Any) -> bool:
        return type(name) is str and not name.startswith("_") and name not in OURS

    def _named(self, code: str) -> list[str]:
        """The names that the code says, or that functions of the notebook say which it names."""
        said, names = dict.fromkeys(_WORD.findall(code)), self._before
        if not _INDIRECT.isdisjoint(said):
            return [name for name in names if self._is_theirs(name)][-MAX_LOOKS:]
        found = {name: None for name in said if name in names and self._is_theirs(name)}
        queue = deque(found)
        while queue and len(found) < 10 * MAX_LOOKS:
            value = names[queue.popleft()]
            if type(value) is types.FunctionType and value.__globals__ is self._names:
                for name in value.__code__.co_names:
                    if name in names and name not in found and self._is_theirs(name):
                        found[name] = None
                        queue.append(name)
        return list(found)

    def _look_at(self, name: str, value: Any) -> None:
        if type(value) in _PLAIN or id(value) in self._looks or len(self._looks) == MAX_LOOKS:
            return
        look = look_at(value, self._room)
        if look is not None:
            self._looks[id(value)] = look
            self._room -= look.copied
        if (look is None or look.back is None) and not _is_whole(value):
            self._blind.append(name)


class Kept:
    """The changes of the last blocks, within bounds."""

    def __init__(self) -> None:
        self._all: deque[Changes] = deque()

    def add(self, changes: Changes) -> None:
        self._all.append(changes)
        while len(self._all) > KEPT_BLOCKS or (
            len(self._all) > 1 and sum(each.bytes for each in self._all) > KEPT_BYTES
        ):
            self._all.popleft().let_go()

    def clear(self) -> None:
        while self._all:
            self._all.pop().let_go()


def _differing(before: Namespace, after: Namespace) -> list[Any]:
    """The names that are bound otherwise, in their order; fast for many names and few changes."""
    count = len(before)
    if count <= len(after) and all(map(is_, before, after)):  # new names come last
        found = list(compress(before, map(is_not, before.values(), after.values())))
        return [*found, *islice(after, count, None)]
    return [
        name
        for name in {**before, **after}
        if before.get(name, _NOTHING) is not after.get(name, _NOTHING)
    ]


# Looking into one object ------------------------------------------------------------------------


def look_at(value: Any, room: int = MAX_BYTES) -> _Look | None:
    """How an object is now; None for one of a type that is not known.

    Parameters
    ----------
    room : how many bytes may be copied
    """
    kind = type(value)
    copier = _COPIERS.get(kind)
    if copier is not None:
        return copier(value, room)
    if module_of(kind) not in SHAPED:
        return None
    try:
        if _is_array(value):
            return _array(value, room)
        if kind in (_of("pandas", "DataFrame"), _of("pandas", "Series")) and _copies_on_write():
            return _frame(value)
        return _shaped(value)
    except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame: nothing is known of it
        return None


def _is_same(look: _Look) -> bool:
    try:
        return look.same()
    except Exception:  # noqa: BLE001 - a tensor that was deleted meanwhile
        return False


def _list(value: list[Any], _room: int) -> _Look:
    count, then = len(value), value[:] if len(value) <= MAX_ITEMS else None
    if then is None:
        return _Look(lambda: len(value) == count)

    def back() -> list[Any]:
        value[:] = then
        return value

    return _Look(lambda: len(value) == count and all(map(is_, value, then)), back)


def _dict(value: dict[Any, Any], _room: int) -> _Look:
    count, then = len(value), value.copy() if len(value) <= MAX_ITEMS else None
    if then is None:
        return _Look(lambda: len(value) == count)

    def same() -> bool:
        now = value.copy()
        return (
            len(now) == count
            and all(map(is_, now, then))
            and all(map(is_, now.values(), then.values()))
        )

    def back() -> dict[Any, Any]:
        value.clear()
        value.update(then)
        return value

    return _Look(same, back)


def _set(value: set[Any], _room: int) -> _Look:
    count, then = len(value), tuple(value) if len(value) <= MAX_ITEMS else None
    if then is None:
        return _Look(lambda: len(value) == count)
    known = set(map(id, then))  # by identity: `==` of the items may be the user's

    def back() -> set[Any]:
        value.clear()
        value.update(then)
        return value

    return _Look(lambda: len(value) == count and known.issuperset(map(id, value)), back)


def _bytearray(value: bytearray, room: int) -> _Look:
    count, then = len(value), bytes(value) if len(value) <= room else None
    if then is None:
        return _Look(lambda: len(value) == count)

    def back() -> bytearray:
        value[:] = then
        return value

    return _Look(lambda: value == then, back, count, count)


_COPIERS: dict[type, Callable[[Any, int], _Look]] = {
    list: _list, dict: _dict, set: _set, bytearray: _bytearray,
}  # fmt: skip


def _array(value: Any, room: int) -> _Look | None:
    """A numpy array; one of objects by its shape alone, as their copies would be theirs to make."""
    if value.nbytes > room or value.dtype.hasobject:
        return _shaped(value)
    then, head = value.copy(), (value.shape, value.dtype, value.strides)

    def back() -> Any:
        if (value.shape, value.dtype) != head[:2]:
            return then
        value[...] = then
        return value

    def same() -> bool:
        now = (value.shape, value.dtype, value.strides)
        return now == head and value.tobytes() == then.tobytes()

    return _Look(same, back, then.nbytes, then.nbytes)


def _frame(value: Any) -> _Look | None:
    """A pandas frame or series under copy-on-write: who writes into it no longer shares with us."""
    at_first = value._mgr
    axes, arrays = list(at_first.axes), [block.values for block in at_first.blocks]
    size = sum(array.nbytes for array in arrays)
    if size > MAX_FRAME:
        return _shaped(value)
    then = value.copy(deep=False)

    def same() -> bool:
        now = value._mgr
        if not _all_same(list(now.axes), axes):
            return False
        found = [block.values for block in now.blocks]
        return _all_same(found, arrays) or _equal_columns(value, then)

    return _Look(same, lambda: then.copy(deep=False), size)


def _equal_columns(now: Any, then: Any) -> bool:
    """Whether the contents are the same: reading may put the columns together in another way."""
    for here, there in zip(_columns(now), _columns(then), strict=True):
        if here.dtype != there.dtype:
            return False
        if not _is_array(here):
            if not here.equals(there):
                return False
        elif here.dtype.hasobject:
            if not _all_same(here.tolist(), there.tolist()):
                return False
        elif here.tobytes() != there.tobytes():
            return False
    return True


def _columns(value: Any) -> list[Any]:
    """The columns of a frame, or the one of a series, as arrays of numpy's or of pandas' own."""
    series = [each for _, each in value.items()] if value.ndim == 2 else [value]
    arrays = [each.array for each in series]
    return [
        array.to_numpy() if type(array).__name__ == "NumpyExtensionArray" else array
        for array in arrays
    ]


def _is_array(value: Any) -> bool:
    return type(value) is _of("numpy", "ndarray")


def _shaped(value: Any) -> _Look | None:
    """Arrays, frames and tensors of libraries whose attributes only look."""
    then = _outline(value)
    return None if then is None else _Look(lambda: _outline(value) == then)


def _outline(value: Any) -> tuple[str, ...] | None:
    try:
        shape = getattr(value, "shape", None)
        columns = getattr(value, "columns", None)
        names = () if columns is None else tuple(cut(str(each)) for each in list(columns)[:200])
        return None if shape is None else (str(tuple(shape)), *names)
    except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame
        return None


def _all_same(some: Collection[Any], others: Collection[Any]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _of(module: str, name: str) -> Any:
    """A class of a library that is loaded; nothing is imported."""
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def _copies_on_write() -> bool:
    """Whether a copy of a frame is lazy: always from pandas 3 on, an option before."""
    pandas: Any = sys.modules["pandas"]
    if int(pandas.__version__.partition(".")[0]) >= 3:
        return True
    return getattr(pandas.options.mode, "copy_on_write", False) is True


def size_of(value: Any) -> int:
    """The bytes of a value, as far as they are known: 0 for what is not."""
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return len(value)
    if kind in (list, tuple, dict, set, frozenset):
        return 8 * len(value)
    if module_of(kind) not in SHAPED:
        return 0
    try:
        if hasattr(value, "_mgr"):
            return sum(block.values.nbytes for block in value._mgr.blocks)
        size = getattr(value, "nbytes", 0)
        return size if type(size) is int else 0
    except Exception:  # noqa: BLE001 - a deleted tensor, a lazy frame
        return 0


def _is_whole(value: Any) -> bool:
    """Whether nothing inside it can change, or nothing that a name stands for."""
    kind = type(value)
    return (
        issubclass(kind, (type, types.ModuleType))
        or kind in _PLAIN
        or kind in _FIXED
        or module_of(kind) in _WHOLE
        or (module_of(kind) in SHAPED and not hasattr(kind, "__setitem__"))
    )


def _is_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType)  # `isinstance` asks a `__class__` of theirs


def _equal(then: Any, now: Any) -> bool:
    """Whether two plain values are one and the same to a person."""
    kind = type(then)
    if kind is not type(now) or kind not in _PLAIN:
        return False
    if kind in (str, bytes) and not len(then) == len(now) <= MAX_ITEMS:
        return False
    if kind in (float, complex):
        return repr(then) == repr(now)  # 0.0 is not -0.0, and nan is nan
    return bool(then == now)


# Words --------------------------------------------------------------------------------------------


def _told(names: Iterable[str]) -> tuple[str, ...]:
    all_ = [cut(name) for name in names]
    more = len(all_) - MAX_NAMES
    return (*all_[:MAX_NAMES], *([f"… {more} more"] if more > 0 else []))


def _said(names: list[str]) -> str:
    known = list(dict.fromkeys(names))
    shown = [f"`{cut(name)}`" for name in known[:SAID]]
    if len(known) > SAID:
        shown.append(f"{len(known) - SAID} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _variables(names: list[str]) -> str:
    return f"the variable{'s' * (len(set(names)) > 1)} {_said(names)}"


def _lost(stuck: list[str], large: list[str], blind: list[str]) -> str:
    said = []
    if stuck:
        said.append(f"Changes inside {_said(stuck)} cannot be undone.")
    if large:
        said.append(
            f"{_said(large)} {'was' if len(large) == 1 else 'were'} too large to be restored."
        )
    if blind:
        said.append(f"Changes inside {_said(blind)}, if there are any, cannot be undone.")
    return " ".join(said)


_NONE = Changes()
