"""The changes that a block of python made to the person's names, and how to undo them.

One rule: two things are stored before a block: the value that each name is bound to, and a shallow
copy of each value that the code names (itself, or by a function of the notebook) where that is
cheap (`lmc_jupyter.kernel.snapshot`). A sentence names whatever cannot be restored.

There is no reference to a value above `MAX_MEMORY` while the code runs, so that it can be freed.
"""

from __future__ import annotations

import re
import types
import weakref
from collections import deque
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from lmc_jupyter.content.code_names import passing_names
from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.kernel.namespace import OURS, cut
from lmc_jupyter.kernel.snapshot import (
    MAX_COPY,
    PLAIN,
    Snapshot,
    is_immutable,
    size_of,
)

MAX_BLOCKS = 20
"""Blocks whose old values stay in memory…"""
MAX_MEMORY = 256_000_000
"""…and the bytes of those values, as far as sizes are known."""
MAX_VALUES = 100
"""Values that are looked into for one block."""
MAX_NAMES = 100
"""Names of one kind that are shown; the rest is counted."""
MAX_LISTED = 8
"""Names in a sentence."""

_WORD = re.compile(r"[^\W\d]\w*")
_INDIRECT = {"globals", "locals", "vars", "exec", "eval", "get_ipython"}
"""Words of code that reaches names which it does not say."""
_NOTHING: Any = object()

Namespace = dict[str, Any]


class Changes:
    """The changes of one block to the names of a shell; false when there are none.

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
        bindings: Iterable[_Binding] = (),
        contents: Iterable[_Contents] = (),
    ) -> None:
        self.new, self.changed, self.removed = _limit(new), _limit(changed), _limit(removed)
        self.lost = lost
        self.breach = ""
        """What a block that had promised to make new names only has done beside them."""
        self.read: tuple[FileRead, ...] = ()
        """The files that the block has opened for reading."""
        self._bindings, self._contents = list(bindings), list(contents)
        self.size = sum(size_of(each.before) for each in self._bindings)
        self.size += sum(size_of(each.before.copy) for each in self._contents)
        """Bytes of the old values, as far as they are known."""

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.removed or self.breach or self.read)

    @property
    def restorable(self) -> bool:
        """Whether something of it can still be brought back."""
        return bool(self._bindings or self._contents)

    def forget(self) -> None:
        """Release the old values."""
        self._bindings, self._contents = [], []

    def restore(self, names: Namespace) -> str:
        """Bring the names back, on this thread and once; returns sentences on what was done.

        A name that is not as the block left it, because a cell or a later block has changed it,
        stays as it is.
        """
        bindings, contents = self._bindings, self._contents
        self.forget()
        restored: list[str] = []
        removed: list[str] = []
        newer: list[str] = []
        read_only: list[str] = []
        for each in contents:
            bound = [name for name in each.names if names.get(name, _NOTHING) is each.value]
            if not each.after.is_same(each.value):
                newer += bound
                continue
            try:
                if each.before.fits(each.value):
                    each.before.put_back(each.value)
                else:
                    names.update(dict.fromkeys(bound, each.before.copy))
            except Exception:  # noqa: BLE001 - a view of it is open, or it is read-only by now
                read_only += bound
            else:
                restored += bound
        for name, before, after in bindings:
            if names.get(name, _NOTHING) is not after:
                newer.append(name)
            elif before is _NOTHING:
                del names[name]
                removed.append(name)
            else:
                names[name] = before
                restored.append(name)
        return " ".join([*_sentences(restored, removed, newer, read_only), self.lost]).strip()


class RecentChanges:
    """The changes of the last blocks, within bounds."""

    def __init__(self) -> None:
        self._all: deque[Changes] = deque()

    def add(self, changes: Changes) -> None:
        self._all.append(changes)
        while len(self._all) > MAX_BLOCKS or (
            len(self._all) > 1 and sum(each.size for each in self._all) > MAX_MEMORY
        ):
            self._all.popleft().forget()

    def clear(self) -> None:
        while self._all:
            self._all.pop().forget()


class MadeNames:
    """The names that code of a model or an agent made, as long as nobody else binds them anew.

    One rule: a name is the person's own unless it is certain that it is not. Nothing is kept alive:
    a value is known by its identity, so a small number that a cell binds again counts as the same.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def names(self, namespace: Namespace) -> set[str]:
        """Those of this namespace."""
        return {
            name
            for name, identity in list(self._ids.items())
            if id(namespace.get(name, _NOTHING)) == identity
        }

    def add(self, before: Iterable[str], made: set[str], after: Namespace) -> None:
        """A block has ended.

        Parameters
        ----------
        before : all names that there were before it
        made : those of them that were not the person's, by `names`
        after : the namespace now
        """
        theirs = set(before) - made
        self._ids = {name: id(value) for name, value in after.items() if name not in theirs}


class _Binding(NamedTuple):
    """A name that was bound to another object: `_NOTHING` where there was, or is, none."""

    name: str
    before: Any
    after: Any


class _Contents(NamedTuple):
    """A value that was changed in place."""

    names: list[str]
    value: Any
    before: Snapshot
    after: Snapshot


class Watch:
    """The names of a shell from here on.

    Parameters
    ----------
    shell : an IPython shell
    code : what runs next, on this thread; what other threads do meanwhile counts as its doing
    made : names that code of a model made: where the code binds one in passing, it is no news
    """

    def __init__(self, shell: Any, code: str, made: Collection[str] = ()) -> None:
        self._names: Namespace = shell.user_ns
        self._system_names: Namespace = getattr(shell, "user_ns_hidden", {})
        self._before = dict(self._names)
        passing = passing_names(code)
        self._passing = {name for name in passing if name not in self._before or name in made}
        self._snapshots: dict[str, Snapshot] = {}
        """By the first name of each value that the code names."""
        self._large: list[str] = []
        """Names of values that are not held: a weak reference stands in `_before`."""
        self._unseen: list[str] = []
        """Names of values inside which changes would not be seen."""
        room, ids = MAX_COPY, set[int]()
        for name in self._names_in(code):
            value = self._before[name]
            if size_of(value) > MAX_MEMORY and type(value).__weakrefoffset__:
                self._before[name] = weakref.ref(value)
                self._large.append(name)
            if id(value) in ids or len(ids) == MAX_VALUES or is_immutable(value):
                continue
            ids.add(id(value))
            snapshot = Snapshot.of(value, room)
            if snapshot is not None:
                self._snapshots[name] = snapshot
                room -= snapshot.cost
            if snapshot is None or snapshot.copy is None:
                self._unseen.append(name)

    def changes(self) -> Changes:
        """The changes since this watch began."""
        before, after = self._before, dict(self._names)
        for name in self._large:
            value = before[name]()
            if value is not None and after.get(name, _NOTHING) is value:
                before[name] = value
            else:
                self._snapshots.pop(name, None)
        rebound = [name for name in _rebound(before, after) if self._is_news(name, after)]
        edits = [
            (before[name], snapshot)
            for name, snapshot in self._snapshots.items()
            if not snapshot.is_same(before[name])
        ]
        if not rebound and not edits:
            return Changes()
        names_changed, contents = set(rebound), []
        stuck: list[str] = []
        for value, then in edits:
            names = [name for name, each in before.items() if each is value]
            names = [name for name in names if self._is_theirs(name)]
            bound = [name for name in names if after.get(name, _NOTHING) is value]
            names_changed.update(bound)
            now = Snapshot.of(value)
            if then.copy is not None and now is not None:
                contents.append(_Contents(names, value, then, now))
            else:
                stuck += bound
        bindings, large = [], []
        for name in rebound:
            value = before.get(name, _NOTHING)
            if name in self._large or size_of(value) > MAX_MEMORY:
                large.append(name)
            else:
                bindings.append(_Binding(name, value, after.get(name, _NOTHING)))
        unseen = [name for name in self._unseen if name in after and name not in names_changed]
        return Changes(
            [name for name in rebound if name not in before],
            [name for name in before if name in names_changed and name in after],
            [name for name in rebound if name not in after],
            _unrestorable(stuck, large, unseen),
            bindings,
            contents,
        )

    def _is_news(self, name: Any, after: Namespace) -> bool:
        """Whether a person would call this name, which is bound anew, new, changed or removed."""
        then, now = self._before.get(name, _NOTHING), after.get(name, _NOTHING)
        if not self._is_theirs(name) or self._system_names.get(name, self) is now:
            return False
        if name in self._passing:
            return False
        if _is_module(now) and (then is _NOTHING or _is_module(then)):
            return False
        return not _equal(then, now)

    @staticmethod
    def _is_theirs(name: Any) -> bool:
        return type(name) is str and not name.startswith("_") and name not in OURS

    def _names_in(self, code: str) -> list[str]:
        """The names that the code says, or that functions of the notebook say which it names."""
        words, names = dict.fromkeys(_WORD.findall(code)), self._before
        if not _INDIRECT.isdisjoint(words):
            return [name for name in names if self._is_theirs(name)][-MAX_VALUES:]
        result = {name: None for name in words if name in names and self._is_theirs(name)}
        queue = deque(result)
        while queue and len(result) < 10 * MAX_VALUES:
            value = names[queue.popleft()]
            if type(value) is types.FunctionType and value.__globals__ is self._names:
                for name in value.__code__.co_names:
                    if name in names and name not in result and self._is_theirs(name):
                        result[name] = None
                        queue.append(name)
        return list(result)


def _rebound(before: Namespace, after: Namespace) -> list[Any]:
    """The names that are bound to another object, in their order."""
    return [
        name
        for name in {**before, **after}
        if before.get(name, _NOTHING) is not after.get(name, _NOTHING)
    ]


def _is_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType)  # `isinstance` asks a `__class__` of theirs


def _equal(then: Any, now: Any) -> bool:
    """Whether two plain values are one and the same to a person."""
    kind = type(then)
    if kind is not type(now) or kind not in PLAIN:
        return False
    if kind in (float, complex):
        return repr(then) == repr(now)  # 0.0 is not -0.0, and nan is nan
    return bool(then == now)


# Sentences ----------------------------------------------------------------------------------------


def _limit(names: Iterable[str]) -> tuple[str, ...]:
    all_ = [cut(name) for name in names]
    more = len(all_) - MAX_NAMES
    return (*all_[:MAX_NAMES], *([f"… {more} more"] if more > 0 else []))


def _join(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    words = [f"`{cut(name)}`" for name in unique[:MAX_LISTED]]
    if len(unique) > MAX_LISTED:
        words.append(f"{len(unique) - MAX_LISTED} more")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _sentences(
    restored: list[str], removed: list[str], newer: list[str], read_only: list[str]
) -> Iterable[str]:
    """Sentences on what a restoration did."""
    if restored:
        yield f"Restored {_join(restored)}."
    if removed:
        yield f"Removed the variable{'s' * (len(removed) > 1)} {_join(removed)}."
    if not (restored or removed):
        yield "Nothing was restored."
    if newer:
        has, stays = ("has", "stays") if len(newer) == 1 else ("have", "stay")
        yield f"{_join(newer)} {has} changed since then and {stays} unchanged."
    if read_only:
        yield f"{_join(read_only)} could not be written to."


def _unrestorable(stuck: list[str], large: list[str], unseen: list[str]) -> str:
    """Sentences on what a restoration would not bring back; "" for nothing."""
    sentences = []
    if stuck:
        sentences.append(f"Changes inside {_join(stuck)} cannot be undone.")
    if large:
        was = "was" if len(large) == 1 else "were"
        sentences.append(f"{_join(large)} {was} too large to be restored.")
    if unseen:
        sentences.append(f"Changes inside {_join(unseen)}, if there are any, cannot be undone.")
    return " ".join(sentences)
