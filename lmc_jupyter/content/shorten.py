"""Truncation of long text: to one line, to the head, or to the head and the tail.

One rule: no other module truncates text, and one wording counts the lines or characters that are
left out. A cut falls between lines, unless a line is very long.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_NAMES = 12
"""Of those that are left out; the others are counted."""


def line(text: str, most: int) -> str:
    """The text in at most `most` characters; its last is `…` where it was longer."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def more_names(names: Sequence[str], count: int, most: int = 120) -> str:
    """The line that stands for names which are not listed: their number, and as many of them as
    `most` characters have room for.
    """
    some = list(names[:MAX_NAMES])
    while some and len(", ".join(some)) > most:
        some.pop()
    which = ", ".join([*some, *(["…"] if count > len(some) else [])])
    return f"… and {count} more names" + (f" ({which})" if some else "")


def head(text: str, most: int) -> str:
    """The first `most` characters of a longer text, up to a line's end, and how many it lacks."""
    if len(text) <= most + _gain(most):
        return text
    start = _line_end(text, most)
    if start < most:
        return f"{text[:start]}\n{lines_out(text.count(chr(10), start + 1) + 1)}"
    return f"{text[:most]}{left_out(len(text) - most)}"


def middle(
    text: str,
    most: int,
    *,
    first: int | None = None,
    more: int = 0,
    more_lines: int | None = None,
    seen: bool = False,
) -> str:
    """`most` characters of a longer text, whole lines of it, and between its ends how much is
    left out.

    Parameters
    ----------
    first : characters before the gap; half of them by default
    more, more_lines : characters that had been left out of the middle before, and lines; None where
        it was no whole lines
    seen : whether the person saw all of it
    """
    start, stop = bounds(text, most, first)
    if start == stop:
        return text
    begin, end, gap = text[:start], text[stop:], text[start:stop]
    is_whole = (
        (not more or more_lines is not None)
        and gap.startswith("\n")
        and gap.endswith("\n")
        and len(gap) > 1
    )
    count = gap[1:-1].count("\n") + 1 + (more_lines or 0)
    note = lines_out(count) if is_whole else left_out(len(gap) + more)
    which = ", which the person saw" if seen else ""
    return f"{begin}\n{note}{which} …\n{end}"


def bounds(text: str, most: int, first: int | None = None) -> tuple[int, int]:
    """(where the gap of `middle` begins, where it ends): at ends of lines, but for very long ones.

    Both are 0 where the text stays whole.
    """
    if len(text) <= most + _gain(most):
        return 0, 0
    first = most // 2 if first is None else first
    start, tail = _line_end(text, first), most - first
    stop = len(text) - tail
    at = text.find("\n", max(start, stop - 1))
    return start, at + 1 if 0 <= at < len(text) - tail // 2 else stop


GAIN = 400
"""Characters: a text that is longer by no more stays whole, for the note takes room and tables
are torn."""


def _gain(most: int) -> int:
    return min(GAIN, most // 2)


def _line_end(text: str, most: int) -> int:
    """Where the last line that fits ends; `most` where that would leave less than half of it."""
    at = text.rfind("\n", 0, most + 1)
    return at if at > most // 2 else most


def lines_out(count: int) -> str:
    """How many lines a text lacks."""
    return f"… {count:,} line{'s' if count > 1 else ''} left out"


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
