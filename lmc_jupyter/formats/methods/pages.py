"""What is known of a notebook's code as Markdown for the appendix of a paper, and as one HTML page
with the figures.

One rule: text of others is plain words or code here, never markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from lmc_jupyter.content import shorten
from lmc_jupyter.formats.methods.findings import BlockEntry, CellEntry, Figure, Methods, digest

MOST_CODE = 60
"""Characters of a line of code or of a question."""
DIGEST = 12
"""Digits of a SHA-256 in a table."""
_HEAD_OF_CELLS = ("cell", "begins", "SHA-256", "text by", "since then", "run again")
_HEAD_OF_BLOCKS = (
    "when", "by", "begins", "SHA-256", "what became of it", "allowed", "made", "changed", "read",
)  # fmt: skip


def markdown(methods: Methods) -> str:
    """The page as Markdown."""
    blocks = [_block(each) for each in methods.blocks]
    lines = [
        f"# Who wrote and ran the code of {_plain(methods.name)}",
        f"{methods.made}, from the notebook's file and {methods.talks} "
        f"conversation{'' if methods.talks == 1 else 's'} on this computer.",
        "## The cells, in their order",
        *_table(_HEAD_OF_CELLS, map(_cell, methods.cells)),
        "## The code that models and agents wrote",
        *(_table(_HEAD_OF_BLOCKS, blocks) if blocks else ["None is known."]),
        "## What cannot be known",
        *(f"- {sentence}" for sentence in methods.unknown),
    ]
    return "\n\n".join("\n".join(part) for part in _paragraphs(lines)) + "\n"


def _cell(cell: CellEntry) -> tuple[str, ...]:
    text = cell.text.strip()
    begins = text.partition("\n")[2] if text.startswith("%%lmc") else text
    return (
        str(cell.number),
        _code(begins),
        _code(digest(cell.text)[:DIGEST]),
        _plain(cell.by),
        cell.since,
        cell.again,
    )


def _block(block: BlockEntry) -> tuple[str, ...]:
    changed = [*block.changed, *(f"{each} (removed)" for each in block.removed)]
    breach = f", **unasked: {_plain(block.breach)}**" if block.breach else ""
    read = [
        f"{_code(each.path)} {_code(each.sha256[:DIGEST] or 'too large')}" for each in block.read
    ]
    return (
        block.time[:19].replace("T", " "),
        _plain(block.by),
        _code(block.code),
        _code(digest(block.code)[:DIGEST]),
        block.fate,
        block.allowed,
        ", ".join(map(_code, block.new)),
        ", ".join(map(_code, changed)) + breach,
        ", ".join(read),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Without columns that are empty."""
    listed = list(rows)
    columns = [at for at in range(len(head)) if any(row[at] for row in listed)]
    lines = [head, ["---"] * len(head), *listed]
    return ["| " + " | ".join(each[at] for at in columns) + " |" for each in lines]


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines of one table or list stand together, all others alone."""
    group: list[str] = []
    for line in lines:
        if group and not (line[:1] in "|-" and line[:1] == group[-1][:1]):
            yield group
            group = []
        group.append(line)
    yield group


_SAYS_LITTLE = re.compile(r"\s*(?:import\b|from\b.*\bimport\b|#|//|--|$)")


def _code(text: str) -> str:
    """A line of a text as code in a cell of a table: the first that is no import or comment."""
    lines = text.strip().split("\n")
    first = next((line for line in lines if not _SAYS_LITTLE.match(line)), lines[0])
    first = shorten.line(first.strip(), MOST_CODE)
    plain = " ".join(first.replace("|", "\\|").split())
    if "`" in plain:
        return f"`` {plain.replace('``', '` `')} ``"
    return f"`{plain}`" if plain else "(empty)"


def _plain(text: str) -> str:
    """Text of others as plain words in a cell of a table."""
    return re.sub(r"[\\|*_<>\[\]#~&!`]", r"\\\g<0>", " ".join(text.split()))


# HTML ---------------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; background: Canvas; color: CanvasText; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
article { border: 1px solid #8886; border-radius: 6px; margin: 1em 0; padding: .6em 1em; }
h3 { font-size: 1em; margin: 0 0 .4em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em; margin: 0; }
dt { opacity: .7; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { background: #8881; padding: .6em .8em; border-radius: 4px; overflow-x: auto; }
img { max-width: 100%; background: #fff; }
"""


def html(methods: Methods) -> str:
    """The page as HTML that needs nothing else: all the code, and the figures."""
    title = escape(f"Who wrote and ran the code of {methods.name}")
    parts = [
        f"<h1>{title}</h1>",
        f"<p>{escape(methods.made)}, from the notebook's file and {methods.talks} "
        f"conversation{'' if methods.talks == 1 else 's'} on this computer.</p>",
        "<h2>The cells, in their order</h2>",
        *(_article(f"Cell {each.number}", each.text, _of_cell(each), each.figures)
          for each in methods.cells),
        "<h2>The code that models and agents wrote</h2>",
        *(_article(f"Block {number}, {each.language}", each.code, _of_block(each), each.figures)
          for number, each in enumerate(methods.blocks, 1)),
        "" if methods.blocks else "<p>None is known.</p>",
        "<h2>What cannot be known</h2>",
        f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in methods.unknown)}</ul>",
    ]  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _of_cell(cell: CellEntry) -> Iterator[tuple[str, str]]:
    yield "text by", cell.by
    yield "since then", cell.since
    yield "run again", cell.again
    yield "SHA-256", digest(cell.text)


def _of_block(block: BlockEntry) -> Iterator[tuple[str, str]]:
    yield "when", block.time[:19].replace("T", " ")
    yield "by", block.by
    yield "what became of it", block.fate
    yield "allowed", block.allowed
    yield "made", ", ".join(block.new)
    yield "changed", ", ".join(block.changed)
    yield "removed", ", ".join(block.removed)
    yield "done unasked", block.breach
    for each in block.read:
        yield "read", f"{each.path}, {each.size:,} bytes, {_sum_of(each.sha256)}"
    yield "SHA-256", digest(block.code)


def _sum_of(sha256: str) -> str:
    return f"SHA-256 {sha256}" if sha256 else "too large for a SHA-256"


def _article(
    title: str, code: str, rows: Iterable[tuple[str, str]], figures: Iterable[Figure]
) -> str:
    listed = "".join(
        f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows if value.strip()
    )
    shown = "".join(
        f'<p><img alt="figure of {escape(title)}" src="data:image/{kind};base64,{data}"></p>'
        for kind, data in ((kind, "".join(data.split())) for kind, data in figures)
        if re.fullmatch(r"[A-Za-z0-9+/=]+", data)
    )
    return (
        f"<article><h3>{escape(title)}</h3><pre><code>{escape(code)}</code></pre>"
        f"<dl>{listed}</dl>{shown}</article>"
    )
