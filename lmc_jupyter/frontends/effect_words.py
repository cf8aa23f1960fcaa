"""The effects of code in words, as every front end shows them before the code runs.

One rule: the words are made here alone. Names and paths are text of the model's: they are short and
on one line, and their hidden characters are marks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lmc_jupyter.content import shorten
from lmc_jupyter.content.effect import OF_NAMES, Effect, EffectKind
from lmc_jupyter.frontends.cell.html import visible

MAX_NAME = 60
"""Characters of a name or path."""
MAX_DETAIL = 80
"""Characters of what stands beside it."""

_VERBS: dict[EffectKind, str] = {
    "overwrites": "overwrites ",
    "deletes": "deletes ",
    "empties": "deletes all items of ",
    "loses": "deletes items of ",
    "removes": "deletes the file ",
    "changes": "changes ",
    "makes": "creates ",
    "renames": "renames ",
    "writes": "writes ",
    "network": "network: ",
    "shell": "shell: ",
    "tools": "calls ",
    "page": "shows a page of its own: ",
    "unknown": "",
    "reads": "",
}
"""In the order of the line: what is lost comes first, for the end of a long line may be out of
sight. What the person's own cells made is "your", and its loss is a warning; names that the
conversation made come after that, in the same words without "your"."""
_LOSSES = frozenset({"overwrites", "deletes", "empties", "loses", "removes"})
_MOST: dict[EffectKind, int] = dict.fromkeys(OF_NAMES, 20)
_MOST_OTHERS = 6
"""How many of one kind are named; the rest is counted."""

Part = tuple[str, str]
"""(css class or "", text): `name` is the class of a name, path or program."""


class Piece(NamedTuple):
    """The effects of one kind.

    Parameters
    ----------
    warns : whether something of the person's is lost
    """

    warns: bool
    parts: tuple[Part, ...]


def pieces(effects: Iterable[Effect]) -> tuple[Piece, ...]:
    """The effects, those of one kind together: "creates `a` and `b`", "writes `out.csv`"."""
    groups: dict[tuple[EffectKind, bool], list[Effect]] = {}
    for effect in effects:
        groups.setdefault((effect.kind, effect.is_theirs), []).append(effect)
    order = list(_VERBS)
    result: list[Piece] = []
    for kind, is_theirs in sorted(groups, key=lambda key: (order.index(key[0]), not key[1])):
        group = groups[kind, is_theirs]
        warns = kind in _LOSSES and is_theirs
        most = _MOST.get(kind, _MOST_OTHERS)
        shown, more = group[:most], len(group) - most
        named = [each for each in shown if each.name]
        if kind == "unknown":
            result += [Piece(False, _unknown(each)) for each in named]
        elif named:
            parts = [("", _verb(kind, is_theirs, len(group)))]
            for index, each in enumerate(named):
                is_last = index == len(named) - 1 and more <= 0
                if index:
                    parts.append(("", " and " if is_last else ", "))
                parts.append(("name", _short(each.name)))
                if kind == "renames":
                    parts += [("", " to "), ("name", _short(each.detail))]
                elif each.detail:
                    parts.append(("", f" ({_short(each.detail, MAX_DETAIL)})"))
            if more > 0:
                parts.append(("", f" and {more} more"))
            result.append(Piece(warns, tuple(parts)))
        for each in shown:
            if not each.name:
                verb = "deletes " if kind == "deletes" else ""
                text = f"{verb}{_short(each.detail, 2 * MAX_DETAIL)}"
                result.append(Piece(warns, (("", text),)))
    return tuple(sorted(result, key=lambda piece: not piece.warns))


def _verb(kind: EffectKind, is_theirs: bool, count: int) -> str:
    verb = _VERBS[kind]
    if kind == "removes" and count > 1:
        verb = "deletes the files "
    elif kind == "loses" and count == 1:
        verb = "deletes an item of "
    return f"{verb}your " if kind in OF_NAMES and is_theirs else verb


def _unknown(effect: Effect) -> tuple[Part, ...]:
    name = ("name", _short(effect.name))
    if effect.detail:
        return name, ("", f" {_short(effect.detail, MAX_DETAIL)}")
    return ("", "calls "), name, ("", ", which may do more")


def _short(text: str, most: int = MAX_NAME) -> str:
    return shorten.line(visible(" ".join(text.split())), most)


def plain_text(effects: Iterable[Effect]) -> str:
    """The same as a line of text: "overwrites your `df` (list, 3 items) · creates `fit`"."""
    return " · ".join(
        "".join(f"`{text}`" if css else text for css, text in piece.parts)
        for piece in pieces(effects)
    )
