"""The lines on the names of the notebook: as many as have room, and what has changed in them.

One rule: it reads the lines that a model gets, those that matter most last; no value is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lmc_jupyter.content import columns, shorten
from lmc_jupyter.content.tokens import estimate
from lmc_jupyter.context.parts import of_question, text_of
from lmc_jupyter.lmc import Message

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
    lines = {name: line for name, line in new.items() if name not in old}
    same = {name: line for name, line in old.items() if new.get(name) == line} if lines else {}
    kinds = {
        "New names": _with_references(lines, same),
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


def _with_references(lines: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The lines, of a frame with the name of a known one that has the same columns, or of one that
    stands above it.
    """
    names: dict[str, str] = {}
    for name, line in known.items():
        names.setdefault(columns.text_of(line), name)
    shorter = {}
    for name, line in lines.items():
        text = columns.text_of(line)
        first = names.setdefault(text, name) if text else name
        shorter[name] = line if first == name else min(columns.refer(line, first), line, key=len)
    return shorter


def names_in(text: str) -> frozenset[str]:
    """The names that these lines list."""
    return frozenset(_lines(text))


def _lines(text: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in text.splitlines())
    return {name: rest for name, colon, rest in pairs if colon}


def _listed(names: list[str]) -> str:
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def fewer_columns(namespace: str, most: int, messages: Sequence[Message]) -> str:
    """The names in the notebook with as many columns of each frame as `most` tokens have room for.

    Parameters
    ----------
    messages : the conversation; the columns come first that the person and their cells name
    """
    lines = namespace.splitlines()
    mentions = ""
    for at, line in enumerate(lines):
        if (size := estimate(line)) > most:
            mentions = mentions or "\n".join(
                f"{each.content}\n{text_of(of_question(each))}"
                for each in messages
                if each.role == "user" and each.recipient != "user"
            )
            lines[at] = columns.fit(line, most * len(line) // size, mentions)
    return "\n".join(lines) if mentions else namespace


def fewer_names(namespace: str, most: int) -> str:
    """The last lines of the names in the notebook, which matter most, `most` tokens of them; the
    others counted.
    """
    if estimate(namespace) <= most:
        return namespace
    characters = min(120, most // 3)
    room, count = most - _AROUND - characters // 2, 0
    names: list[str] = []
    last: list[str] = []
    for line in reversed(namespace.splitlines()):
        room -= estimate(line) + 1
        summary = _MORE_NAMES.match(line)
        if summary is not None:
            count += int(summary.group(1))
            names += filter(None, (summary.group(2) or "").removesuffix(", …").split(", "))
        elif room < 0 or count:
            count += 1
            names.append(line.partition(": ")[0])
        else:
            last.append(line)
    return "\n".join([shorten.more_names(names, count, characters), *reversed(last)])


_MORE_NAMES = re.compile(r"… and (\d{1,9}) more names(?: \((.*)\))?$")
_AROUND = 12
"""Tokens around a message."""
