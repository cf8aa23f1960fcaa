"""Which parts of a record are redacted before it is written down.

One rule: text that goes to a journal comes through here, images and sound excepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lmc_jupyter.keys.redactor import RedactingStream, Redactor
from lmc_jupyter.keys.secret import Secret


def is_text(type_: str, format_: str | None) -> bool:
    """Whether the content of such a message is text: all but images and sound themselves."""
    return type_ not in ("image", "audio") or format_ == "path"


_NO_TEXT = re.compile(
    r"[0-9a-f]{1,32}|[0-9T:.+Z-]{10,40}|user|assistant|computer|message|console|code"
)
"""Ids, times, words of the protocol."""
_DEEPEST = 100


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
        if _NO_TEXT.fullmatch(text) and text not in self._redactor.known:
            return text
        return self._redactor.text(text)

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) else key

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if depth < _DEEPEST and isinstance(value, dict):
            return {self._key(key): self._value(each, depth + 1) for key, each in value.items()}
        if depth < _DEEPEST and isinstance(value, (list, tuple)):
            return [self._value(each, depth + 1) for each in value]
        return value
