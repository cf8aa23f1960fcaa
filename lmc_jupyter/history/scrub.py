"""Keys are taken out of what is written down.

One rule: text that goes to a journal comes through here, images and sound excepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lmc_jupyter.models.keys import Secret, known, redacted, unfinished


def is_text(type_: str, format_: str | None) -> bool:
    """Whether the content of such a message is text: all but images and sound themselves."""
    return type_ not in ("image", "audio") or format_ == "path"


_BEGINS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|r8|gh[a-z]|github_pat|glpat|fw|xox[a-z])"
    r"[-_]|AIza|A[KS]IA|eyJ|Bearer )[^\s\"'<>]*\Z"
)
_SHORTEST = 4
"""So many characters of a known key are recognised as its beginning."""
_LONGEST = 4096
_BEFORE = 16
"""So many characters of what was written are looked at again."""
_NO_TEXT = re.compile(
    r"[0-9a-f]{1,32}|[0-9T:.+Z-]{10,40}|user|assistant|computer|message|console|code"
)
"""Ids, times, words of the protocol."""
_DEEPEST = 100


class Scrub:
    """Takes keys out of records: `Scrub(secrets)(record)`."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._secrets = tuple(secrets)
        self._sure = known()
        self.known = {**{each.reveal(): "api_key" for each in self._secrets}, **self._sure}

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
        if _NO_TEXT.fullmatch(text) and text not in self._sure:
            return text
        return self.part(text)

    def part(self, text: str) -> str:
        """A part of a longer text."""
        return text if len(text) <= _SHORTEST else redacted(text, self._secrets, self.known)

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


class Pieces:
    """Takes keys out of text that comes in pieces: what may be a key's beginning waits.

    What waits is written with the whole message at the latest.
    """

    def __init__(self, scrub: Scrub) -> None:
        self._scrub = scrub
        self._values = [value for value in scrub.known if len(value) > _SHORTEST]
        self._before = self._waits = ""

    def feed(self, piece: str) -> str:
        """The text that can be written now."""
        before, text = self._before, self._before + self._waits + piece
        at = max(len(before), self._beginning(text))
        self._waits, text = text[at:], text[:at]
        if len(text) == len(before):
            return ""
        clean = self._scrub.part(text)
        same = 0  # a key may begin in what was written
        while same < len(before) and clean[same : same + 1] == before[same]:
            same += 1
        self._before = clean[-_BEFORE:]
        return clean[same:]

    def _beginning(self, text: str) -> int:
        """Where a key may begin that has not ended yet; the length when there is none."""
        found = _BEGINS.search(text, max(0, len(text) - _LONGEST))
        at = len(text) if found is None else found.start()
        return unfinished(text, self._values, at, _SHORTEST)
