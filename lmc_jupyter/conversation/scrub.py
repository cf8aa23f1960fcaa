"""A record for the journal: with keys redacted, and with JSON values only.

One rule: every record of a journal comes through here; images and sound are not redacted. A value
that JSON cannot have becomes a text that says so: it must not keep the rest of the conversation
from being saved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import NoneType
from typing import Any

from lmc_jupyter.conversation.records import as_text
from lmc_jupyter.keys.redactor import RedactingStream, Redactor
from lmc_jupyter.keys.secret import Secret


def is_text(type_: str, format_: str | None) -> bool:
    """Whether the content of such a message is text: all but images and sound themselves."""
    return type_ not in ("image", "audio") or format_ == "path"


_NO_TEXT = re.compile(
    r"[0-9a-f]{1,32}|[0-9T:.+Z-]{10,40}|user|assistant|computer|message|console|code"
)
"""Ids, times, words of the protocol."""
_MAX_DEPTH = 100
"""Lists and mappings within each other."""
_MAX_BITS = 10_000
"""Of a whole number: Python reads no longer one from a text."""


class Scrub:
    """Redacts records: `Scrub(secrets)(record)`."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._redactor = Redactor(secrets)

    def stream(self) -> RedactingStream:
        """A redactor of the text of one message that arrives in pieces."""
        return self._redactor.stream()

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        if record.get("kind") in ("message", "instead"):
            return {**record, "message": self.message(record["message"])}
        return {key: self._value(value, 0) for key, value in record.items()}

    def message(self, wire: dict[str, Any]) -> dict[str, Any]:
        """A message in its stored form."""
        whole = not is_text(wire["type"], wire.get("format"))
        return {
            self._key(key): value if whole and key == "content" else self._value(value, 0)
            for key, value in wire.items()
        }

    def text(self, text: str) -> str:
        if _NO_TEXT.fullmatch(text) and text not in self._redactor.secrets:
            return text
        return self._redactor.text(text)

    def _key(self, key: Any) -> Any:
        return key if isinstance(key, (int, float, NoneType)) else self.text(as_text(key))

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (dict, list, tuple)):
            if depth == _MAX_DEPTH:
                return f"(not saved: it is nested more than {_MAX_DEPTH} levels deep)"
            if isinstance(value, dict):
                return {self._key(key): self._value(each, depth + 1) for key, each in value.items()}
            clean = [self._value(each, depth + 1) for each in value]
            return value if clean == list(value) else clean  # a tuple is no other value
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            return f"(not saved: a whole number of {value.bit_length():,} bits)"
        if isinstance(value, (int, float, NoneType)):
            return value
        text = as_text(value)
        without = self.text(text)
        return value if without == text else without
