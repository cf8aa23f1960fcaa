"""The columns of a frame in a line of text: written, read again, cut and compared.

One rule: what `write` makes, `read` reads; a name that could be read otherwise is quoted. Few
columns stand each with its type, `a (int64), b (str)`; many by type, `int64: a, b; str: c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lmc_jupyter.content import shorten

FEW = 6
"""As many columns stand each with its type."""
MAX_NAME, MAX_TYPE = 100, 60
"""Characters of a column's name, and of its type."""

_WORD = ", columns "
_ROWS = "; begins "
"""Stands before what a line says of the rows."""
_BARE = re.compile(r"""[^\s,;:()\[\]{}'"…\d](?:[^,;:()\[\]{}'"…]*[^\s,;:()\[\]{}'"…])?""")
_MORE = re.compile(r"… ([\d,]+) more")
_FLAT = re.compile(r"(?P<name>.+?) \((?P<type>.*)\)")


@dataclass(frozen=True)
class Frame:
    """What a line says of a frame.

    Parameters
    ----------
    head : what stands before the columns: "df: DataFrame, 4 rows"
    columns : name, as it is written -> type; "" for an unknown one
    more : columns that are not named
    rows : what stands behind the columns
    """

    head: str
    columns: Mapping[str, str]
    more: int = 0
    rows: str = ""

    @property
    def count(self) -> int:
        """The number of all its columns."""
        return len(self.columns) + self.more

    def __str__(self) -> str:
        return f"{self.head}{_WORD}{write(self.columns, self.more)}{self.rows}"


def name_of(label: object) -> str:
    """The name of a column as it is written."""
    text = shorten.line(str(label), MAX_NAME)
    is_bare = text.isprintable() and (type(label) is not str or _BARE.fullmatch(text))
    return text if is_bare else repr(text)


def type_of(dtype: object) -> str:
    """The type of a column as it is written."""
    text = str(dtype)
    if len(text) > MAX_TYPE:
        text = re.split(r"[(\[{]", text)[0][:MAX_TYPE]
    is_one = len(_split(text, ", ")) == len(_split(text, "; ")) == len(_split(text, ": ")) == 1
    return text if is_one else type(dtype).__name__


def write(columns: Mapping[str, str], more: int = 0) -> str:
    """The columns as text, and how many others there are."""
    rest = [f"… {more:,} more"] if more else []
    if len(columns) + more <= FEW or not all(columns.values()):
        each = [f"{name} ({kind})" if kind else name for name, kind in columns.items()]
        return ", ".join([*each, *rest])
    groups: dict[str, list[str]] = {}
    for name, kind in columns.items():
        groups.setdefault(kind, []).append(name)
    return "; ".join([*(f"{kind}: {', '.join(names)}" for kind, names in groups.items()), *rest])


def read(line: str) -> Frame | None:
    """What a line says of a frame; None for a line on something else."""
    head, word, rest = line.partition(_WORD)
    if not word:
        return None
    text, *rows = _split(rest, _ROWS)
    columns: dict[str, str] = {}
    more = 0
    for group in _split(text, "; "):
        kind, *names = _split(group, ": ")
        for each in _split(names[0] if names else group, ", "):
            if found := _MORE.fullmatch(each):
                more = int(found[1].replace(",", ""))
            elif names:
                columns[each] = kind
            elif each:
                flat = _FLAT.fullmatch(each)
                columns[flat["name"] if flat else each] = flat["type"] if flat else ""
    return Frame(head, columns, more, "".join(f"{_ROWS}{each}" for each in rows))


def text_of(line: str) -> str:
    """The columns of a frame as a line has them; "" for a line on something else, and for a frame
    whose columns are not all named.
    """
    _, _, rest = line.partition(_WORD)
    text = _split(rest, _ROWS)[0] if _ROWS in rest else rest
    return "" if _MORE.search(text) else text


def refer(line: str, other: str) -> str:
    """The line of a frame with the columns of another frame, by that one's name."""
    head, _, rest = line.partition(_WORD)
    return f"{head}{_WORD}as in {other}{rest.removeprefix(text_of(line))}"


def fit(line: str, most: int, mentions: str = "") -> str:
    """The line in about `most` characters, where it is of a frame: some of its columns.

    Parameters
    ----------
    mentions : a text; the columns that it names come before others, of which the last of each type
        come first, because they are the newest
    """
    frame = read(line) if len(line) > most else None
    if frame is None:
        return line
    words = set(re.findall(r"\w+", mentions))
    by_kind: dict[str, int] = {}
    order: list[tuple[bool, int, str]] = []
    for name, kind in reversed([*frame.columns.items()]):
        by_kind[kind] = at = by_kind.get(kind, 0) + 1
        text = name.strip("'\"")
        is_named = text in words or (not text.isidentifier() and text in mentions)
        order.append((not is_named, at, name))
    chosen: set[str] = set()
    room, kinds = most - len(frame.head) - len(_WORD) - len("; … 99,999 more"), set[str]()
    for *_, name in sorted(order, key=lambda each: each[:2]):
        kind = frame.columns[name]
        room -= len(name) + 2 + (0 if kind in kinds else len(kind) + 4)
        if room < 0 and chosen:
            break
        chosen.add(name)
        kinds.add(kind)
    columns = {name: kind for name, kind in frame.columns.items() if name in chosen}
    rows = frame.rows if len(frame.rows) <= room else ""
    return str(Frame(frame.head, columns, frame.count - len(columns), rows))


def describe_change(before: str, now: str) -> str:
    """What of a line is new: of a frame, which columns came, went or changed their type, and the
    whole of any other; "" where the same frame only has other columns named.
    """
    old, new = read(before), read(now)
    if old is None or new is None or not (old.columns.keys() & new.columns.keys()):
        return now
    came = {name: kind for name, kind in new.columns.items() if name not in old.columns}
    went = [name for name in old.columns if name not in new.columns]
    kinds = {
        name: f"{kind}, was {old.columns[name]}"
        for name, kind in new.columns.items()
        if old.columns.get(name, kind) != kind
    }
    is_cut = bool(old.more or new.more)
    texts = [new.head]
    if came:
        texts.append(f"{'columns also' if is_cut else 'new columns'} {_flat(came)}")
    if went and not is_cut:
        texts.append(f"without the columns {', '.join(went)}")
    if kinds:
        texts.append(f"other types: {_flat(kinds)}")
    if is_cut and old.count != new.count:
        texts.append(f"{new.count:,} columns, were {old.count:,}")
    if len(texts) == 1 and (old.head, old.rows) == (new.head, new.rows):
        return "" if is_cut else now
    if len(texts) == 1:
        texts.append("the same columns")
    return "; ".join(texts) + new.rows


def _flat(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({kind})" if kind else name for name, kind in columns.items())


_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?P<open>[(\[{])|(?P<close>[)\]}])|[^'"()\[\]{},;:]+|.""",
    re.DOTALL,
)


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that stand neither in quotes nor in brackets."""
    parts, depth, start = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        elif not depth and token[0] == separator[0] and text.startswith(separator, token.start()):
            parts.append(text[start : token.start()])
            start = token.start() + len(separator)
    return [*parts, text[start:]]


def of_frame(labels: Iterable[object], dtypes: Iterable[object], more: int = 0) -> str:
    """The columns of a frame as text."""
    kinds = list(dtypes)
    names = [name_of(each) for each in labels]
    types = [type_of(each) for each in kinds] if len(kinds) >= len(names) else [""] * len(names)
    return write(dict(zip(names, types, strict=False)), more)
