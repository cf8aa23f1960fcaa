"""Truncation of long text: to one line, to the head, or to the head and the tail.

One rule: no other module truncates text, and one wording counts the characters that are left out.
"""

from __future__ import annotations


def line(text: str, most: int) -> str:
    """The text in at most `most` characters; its last is `…` where it was longer."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def head(text: str, most: int) -> str:
    """The first `most` characters of a longer text, and how many were left out."""
    return text if len(text) <= most else f"{text[:most]}{left_out(len(text) - most)}"


def middle(text: str, most: int, *, first: int | None = None, more: int = 0) -> str:
    """`most` characters of a longer text, with the number of those left out between its ends.

    Parameters
    ----------
    first : characters before the gap; half of them by default
    more : characters that had been left out of the middle before
    """
    if len(text) <= most:
        return text
    first = most // 2 if first is None else first
    end = text[len(text) - (most - first) :]
    return f"{text[:first]}\n{left_out(len(text) - most + more)} …\n{end}"


def lines(text: str, most: int) -> str:
    """The first `most` and the last `most` lines of a longer text, and how many were left out."""
    rows = text.split("\n")
    if len(rows) <= 2 * most:
        return text
    gap = f"… {len(rows) - 2 * most:,} lines left out …"
    return "\n".join([*rows[:most], gap, *rows[-most:]])


def left_out(characters: int) -> str:
    """How many characters a text lacks."""
    return f"… {characters:,} characters left out"
