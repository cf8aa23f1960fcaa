"""What changed in the names of the notebook since the model was told of them.

One rule: it compares the lines that a model got with those that it would get now; no value is read.
"""

from __future__ import annotations

from lmc_jupyter.content import columns

MAX_NAMES = 12
"""Of each kind; the others are counted."""

_MORE = "… and "
"""Begins the line that counts the names which are not listed."""


def describe_changes(before: str, now: str) -> str:
    """A line on the names that are new, changed or gone; "" where there are none.

    Parameters
    ----------
    before, now : a line per name, "df: DataFrame, 4 rows, columns a, b"
    """
    old, new = _lines(before), _lines(now)
    is_whole = not any(line.startswith(_MORE) for line in [*before.splitlines(), *now.splitlines()])
    kinds = {
        "new": [name for name in new if name not in old],
        "changed": [name for name in new if name in old and new[name] != old[name]],
        "gone": [name for name in old if name not in new] if is_whole else [],
    }
    said = [f"{kind}: {_listed(names)}" for kind, names in kinds.items() if names]
    return f"Names since your last reply: {'; '.join(said)}." if said else ""


def describe_news(before: str, now: str) -> str:
    """The lines of the names that are new, what has changed of others, and the names that are
    gone; "" where there are none.

    Parameters
    ----------
    before, now : as of `describe_changes`
    """
    old, new = _lines(before), _lines(now)
    is_whole = not any(line.startswith(_MORE) for line in [*before.splitlines(), *now.splitlines()])
    changes = {
        name: columns.describe_change(old[name], line)
        for name, line in new.items()
        if name in old and old[name] != line
    }
    kinds = {
        "New names": {name: line for name, line in new.items() if name not in old},
        "Changed names": {name: change for name, change in changes.items() if change},
    }
    texts = [
        "\n".join([f"{kind}:", *(f"{name}: {text}" for name, text in lines.items())])
        for kind, lines in kinds.items()
        if lines
    ]
    if is_whole and (gone := [name for name in old if name not in new]):
        texts.append(f"Names that are gone: {_listed(gone)}.")
    return "\n".join(texts)


def _lines(text: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in text.splitlines())
    return {name: rest for name, colon, rest in pairs if colon}


def _listed(names: list[str]) -> str:
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")
