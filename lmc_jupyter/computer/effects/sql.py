"""The effects of SQL: whether it changes the database, the files that it writes, the network.

One rule: the first word of a statement decides; texts and comments are none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmc_jupyter.content.effect import Effect

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"[^"]*(?:"|\Z)|;|[^;'"/-]+|.""", re.DOTALL
)
_CHANGE = re.compile(
    r"\s*(?:with\b.*?\)\s*)?((?:insert|update|delete|create|drop|alter|replace|truncate|merge|vacuum"
    r"|grant|revoke|attach|detach|call|import)\b"
    r"(?:\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view|index|schema|database))?)",
    re.IGNORECASE | re.DOTALL,
)
_COPY = re.compile(r"\s*(?:copy|export)\b.*?(?:\bto\b|\bdatabase\b)\s*'([^']*)'", re.I | re.DOTALL)
_URL = re.compile(r"'(?:https?|s3|gs|gcs|az|hf)://", re.IGNORECASE)
_INSTALL = re.compile(r"\s*install\b", re.IGNORECASE)


def sql_effects(code: str) -> tuple[Effect, ...]:
    """What these statements will do."""
    return tuple(dict.fromkeys(_effects(code)))


def change_of(statement: str) -> str:
    """The words with which a statement changes the database: "CREATE TABLE"; "" for none."""
    match = _CHANGE.match(statement)
    return "" if match is None else " ".join(match[1].upper().split())


def _effects(code: str) -> Iterator[Effect]:
    words: list[str] = []
    for statement in _statements(code):
        if target := _COPY.match(statement):
            yield Effect("writes", target[1])
        elif word := change_of(statement):
            words.append(word)
        if _URL.search(statement) or _INSTALL.match(statement):
            yield Effect("network", "sql")
    if words:
        yield Effect("writes", "database", ", ".join(dict.fromkeys(words)))


def _statements(code: str) -> Iterator[str]:
    """The statements without comments."""
    parts: list[str] = []
    for token in _TOKEN.findall(code):
        if token == ";":
            yield "".join(parts)
            parts = []
        elif not token.startswith(("--", "/*")):
            parts.append(token)
    yield "".join(parts)
