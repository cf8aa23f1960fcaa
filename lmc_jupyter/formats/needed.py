"""How much of a block of python that failed has to run again, because later code needs it.

One rule: only whole statements before the one that failed, as the traceback tells it; where that
cannot be told, nothing.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from lmc_jupyter.formats.blocks import Block, is_text
from lmc_jupyter.lmc import canonical

_LINE = re.compile(
    r"^Traceback \(most recent call last\):\n  line (\d+)$|Cell In\s?\[\d+\], line (\d+)|"
    r'^  File "<[^>\n]+>", line (\d+), in <module>$',
    re.MULTILINE,
)
_MAGIC = re.compile(r"^([ \t]*)(?:(\w+)[ \t]*=[ \t]*)?[%!].*$", re.MULTILINE)


def lines_needed(blocks: Sequence[Block]) -> dict[int, int]:
    """Place of a block that failed -> how many of its lines run again."""
    found = {}
    live: set[str] = set()  # names that are read behind this place before they are made anew
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if not (block.is_code and _is_python(block) and block.fate in ("ran", "failed")):
            continue
        done = _done(block)
        if block.fate == "failed":
            made = {name for statement in done for name in _made(statement)}
            if not made & live:
                continue
            found[place] = max(each.end_lineno or each.lineno for each in done)
        for statement in reversed(done):
            live -= set(_names(statement, ast.Store))
            live |= set(_names(statement, ast.Load))
    return found


def _is_python(block: Block) -> bool:
    return canonical(block.first.format or "") == "python"


def _done(block: Block) -> list[ast.stmt]:
    """Its statements; of a block that failed, those before the one that did."""
    tree = _parsed(str(block.first.content))
    if tree is None or block.fate == "ran":
        return [] if tree is None else tree.body
    text = "".join(str(each.content) for each in block.results if is_text(each))
    places = list(_LINE.finditer(text))
    if not places:
        return []
    failed = int(next(filter(None, places[-1].groups()))[:9])
    ends = ((each, each.end_lineno or each.lineno) for each in tree.body)
    return [each for each, _ in itertools.takewhile(lambda pair: pair[1] < failed, ends)]


def _parsed(code: str) -> ast.Module | None:
    if code.startswith("%%"):
        return None
    try:
        return ast.parse(_MAGIC.sub(_without_magic, code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _without_magic(found: re.Match[str]) -> str:
    space, name = found.groups()
    return f"{space}{name} = None" if name else f"{space}pass"


def _made(tree: ast.AST) -> Iterator[str]:
    """Names that are bound, or whose value may be changed in place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            base: ast.expr = node
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name):
                yield base.id


def _names(tree: ast.AST, context: type[ast.expr_context]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, context):
            yield node.id
