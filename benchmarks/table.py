"""A line of the speed table, and a run of the bench; what is measured comes out as these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Row:
    """A line of the table."""

    what: str
    ours: str
    beside: str
    ratio: str
    limit: str
    held: bool


def row(what: str, ours: float, beside: float | None, limit: float, unit: str, **more: Any) -> Row:
    """A row whose limit is for ours itself, or with `times` for ours over the other.

    Parameters
    ----------
    digits, name : how many of the fraction (1), and what the other is called
    least : whether the limit is the least that ours may be, not the most
    """
    ratio = f"{ours / beside:.2f}x" if beside else "-"
    digits = more.get("digits", 1)
    value = ours / beside if more.get("times") and beside else ours
    sign = "≥" if more.get("least") else "≤"
    shown = f"{sign} {limit:g}x" if more.get("times") else f"{sign} {limit:g} {unit}"
    name = more.get("name", "")
    return Row(
        what,
        f"{ours:,.{digits}f} {unit}",
        f"{beside:,.{digits}f} {unit} {name}".rstrip() if beside else "-",
        ratio,
        shown,
        value >= limit if more.get("least") else value <= limit,
    )


def reported(what: str, ours: str) -> Row:
    """A row without a neighbour and without a limit."""
    return Row(what, ours, "-", "-", "-", True)


def missing(what: str, why: str, limit: str, ours: str = "-") -> Row:
    """A row that could not be measured here; it says why, and does not count as within."""
    return Row(what, ours, f"not measured: {why}", "-", limit, False)


class Run:
    """One run of the bench.

    Parameters
    ----------
    base : the address of the provider (`server.py`)
    quick : whether everything is measured in its smallest size, to see that it can be
    """

    def __init__(self, base: str, *, quick: bool = False) -> None:
        self.base, self.quick = base, quick

    def size(self, usual: int, smallest: int = 1) -> int:
        """How often, or how much of it, is measured."""
        return smallest if self.quick else usual
