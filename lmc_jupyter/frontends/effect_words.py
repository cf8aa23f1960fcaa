"""The effects of code in words, as every front end shows them before the code runs.

One rule: the words are made here alone. Names and paths are text of the model's: they are short and
on one line, and their hidden characters are marks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lmc_jupyter.content import shorten
from lmc_jupyter.content.effect import Effect, EffectKind
from lmc_jupyter.frontends.cell.html import visible

MAX_NAME = 60
"""Characters of a name or path."""
MAX_DETAIL = 80
"""Characters of what stands beside it."""

_VERBS: dict[EffectKind, str] = {
    "overwrites": "overwrites your ",
    "deletes": "deletes your ",
    "removes": "deletes from the disk ",
    "changes": "changes your ",
    "makes": "makes ",
    "writes": "writes ",
    "network": "network: ",
    "shell": "shell: ",
    "tools": "calls ",
    "unknown": "",
}
"""In the order of the line: what is lost comes first, for the end of a long line may be out of
sight."""
_WARNS = frozenset({"overwrites", "deletes", "removes"})
_MOST: dict[EffectKind, int] = {"overwrites": 20, "changes": 20, "deletes": 20}
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
    """The effects, those of one kind together: "makes `a` and `b`", "writes `out.csv`"."""
    by_kind: dict[EffectKind, list[Effect]] = {kind: [] for kind in _VERBS}
    for effect in effects:
        by_kind[effect.kind].append(effect)
    result: list[Piece] = []
    for kind, group in by_kind.items():
        most = _MOST.get(kind, _MOST_OTHERS)
        shown, more = group[:most], len(group) - most
        named = [each for each in shown if each.name]
        if kind == "unknown":
            result += [Piece(False, _unknown(each)) for each in named]
        elif named:
            parts = [("", _VERBS[kind])]
            for index, each in enumerate(named):
                is_last = index == len(named) - 1 and more <= 0
                if index:
                    parts.append(("", " and " if is_last else ", "))
                parts.append(("name", _short(each.name)))
                if each.detail:
                    parts.append(("", f" ({_short(each.detail, MAX_DETAIL)})"))
            if more > 0:
                parts.append(("", f" and {more} more"))
            result.append(Piece(kind in _WARNS, tuple(parts)))
        for each in shown:
            if not each.name:
                verb = "deletes " if kind == "deletes" else ""
                text = f"{verb}{_short(each.detail, 2 * MAX_DETAIL)}"
                result.append(Piece(kind in _WARNS, (("", text),)))
    return tuple(result)


def _unknown(effect: Effect) -> tuple[Part, ...]:
    name = ("name", _short(effect.name))
    if effect.detail:
        return name, ("", f" {_short(effect.detail, MAX_DETAIL)}")
    return ("", "calls "), name, ("", ", which may do more")


def _short(text: str, most: int = MAX_NAME) -> str:
    return shorten.line(visible(" ".join(text.split())), most)


def plain_text(effects: Iterable[Effect]) -> str:
    """The same as a line of text: "overwrites your `df` (list, 3 items) · makes `fit`"."""
    return " · ".join(
        "".join(f"`{text}`" if css else text for css, text in piece.parts)
        for piece in pieces(effects)
    )
