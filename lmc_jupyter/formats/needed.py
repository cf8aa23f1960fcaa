"""How much of a block of python that failed has to run again, because later code needs it.

One rule: only whole statements before the one that failed, as the traceback tells it; where that
cannot be told, nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from lmc_jupyter.formats.blocks import Block, is_text
from lmc_jupyter.lmc import canonical

_LINE = re.compile(
    r"^Traceback \(most recent call last\):\n  line (\d+)$|Cell In\s?\[\d+\], line (\d+)|"
    r'^  File "<[^>\n]+>", line (\d+), in <module>$',
    re.MULTILINE,
)
_MAGIC = re.compile(r"^(\s*)(?:(\w+)\s*=\s*)?[%!].*$", re.MULTILINE)


def lines_needed(blocks: Sequence[Block]) -> dict[int, int]:
    """Place of a block that failed -> how many of its lines run again."""
    found = {}
    for place, block in enumerate(blocks):
        if block.is_code and _is_python(block) and block.fate == "failed":
            lines, made = _done(block)
            if lines and _is_used(made, blocks[place + 1 :]):
                found[place] = lines
    return found


def _is_python(block: Block) -> bool:
    return canonical(block.first.format or "") == "python"


def _done(block: Block) -> tuple[int, set[str]]:
    """How many lines of it were done, and the names that they made or changed."""
    text = "".join(str(each.content) for each in block.results if is_text(each))
    tree, places = _parsed(str(block.first.content)), list(_LINE.finditer(text))
    if tree is None or not places:
        return 0, set()
    failed = int(next(filter(None, places[-1].groups())))
    lines, made = 0, set[str]()
    for statement in tree.body:
        if (statement.end_lineno or statement.lineno) >= failed:
            break
        lines = statement.end_lineno or statement.lineno
        made.update(_made(statement))
    return lines, made


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


def _is_used(made: set[str], later: Sequence[Block]) -> bool:
    """Whether a block that runs again reads one of these names before it is made anew."""
    for block in later:
        if not (block.is_code and _is_python(block) and block.fate == "ran"):
            continue
        tree = _parsed(str(block.first.content))
        if tree is None:
            continue
        for statement in tree.body:
            if any(
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in made
                for node in ast.walk(statement)
            ):
                return True
            made = made - {
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
    return False
