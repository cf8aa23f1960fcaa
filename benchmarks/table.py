"""A line of the speed table; what `bench.py` and `browser.py` measure comes out as these."""

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
    """
    ratio = f"{ours / beside:.2f}x" if beside else "-"
    digits = more.get("digits", 1)
    held = (ours / beside if more.get("times") and beside else ours) <= limit
    shown = f"≤ {limit:g}x" if more.get("times") else f"≤ {limit:g} {unit}"
    name = more.get("name", "")
    return Row(
        what,
        f"{ours:.{digits}f} {unit}",
        f"{beside:.{digits}f} {unit} {name}".rstrip() if beside else "-",
        ratio,
        shown,
        held,
    )
