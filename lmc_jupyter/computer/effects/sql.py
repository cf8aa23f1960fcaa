"""The effects of SQL: whether it changes the database, the files that it writes, the network.

One rule: the first word of a statement decides; texts and comments are none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmc_jupyter.content.effect import Effect

_STATEMENT = re.compile(r"""(?:'(?:[^']|'')*(?:'|\Z)|"[^"]*(?:"|\Z)|[^;])+""")
_COMMENT = re.compile(r"('(?:[^']|'')*')|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_CHANGE = re.compile(
    r"\s*(?:with\b.*?\)\s*)?((?:insert|update|delete|create|drop|alter|replace|truncate|merge|vacuum"
    r"|grant|revoke|attach|detach|call|import)\b"
    r"(?:\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view|index|schema|database))?)",
    re.IGNORECASE | re.DOTALL,
)
_COPY = re.compile(r"\s*(?:copy|export)\b.*?(?:\bto\b|\bdatabase\b)\s*'([^']*)'", re.I | re.DOTALL)
_URL = re.compile(r"\s*install\b|.*'(?:https?|s3|gs|gcs|az|hf)://", re.IGNORECASE | re.DOTALL)


def sql_effects(code: str) -> tuple[Effect, ...]:
    """What these statements will do."""
    return tuple(dict.fromkeys(_effects(code)))


def _effects(code: str) -> Iterator[Effect]:
    changes: list[str] = []
    for statement in _STATEMENT.findall(_COMMENT.sub(lambda match: match[1] or "", code)):
        if target := _COPY.match(statement):
            yield Effect("writes", target[1])
        elif change := _CHANGE.match(statement):
            changes.append(" ".join(change[1].upper().split()))
        if _URL.match(statement):
            yield Effect("network", "sql")
    if changes:
        yield Effect("writes", "database", ", ".join(dict.fromkeys(changes)))
