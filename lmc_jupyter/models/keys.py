"""Keys: held so that nobody sees them, and taken out of what anybody reads.

One rule: a key is plain text only in the arguments of the one call that needs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_CREDENTIALS = re.compile(r"CREDENTIAL", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|r8|ghp|github_pat|glpat|fw)[-_][A-Za-z0-9_\-]{12,}"
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+"
    r"|(?<=Bearer )[A-Za-z0-9_\-.~+/]{8,}"
)
_SHORTEST = 12
_SHORTEST_HELD = 6  # a shorter word is no key: `none`, `x`


class Secret:
    """A key that neither print, a traceback nor pickle shows; `reveal` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "<secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a <secret> cannot be pickled or copied to a file: pass the key again")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self


def known() -> dict[str, str]:
    """The secrets of the environment: value -> name of the variable, the longest first."""
    found = {
        value: name
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST and _NAMES.search(name)
    }
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))


def without_known(text: str, secrets: dict[str, str]) -> str:
    """The text with each of these values replaced by the name of its variable."""
    for value, name in secrets.items():
        if value in text:
            text = text.replace(value, f"[redacted: {name}]")
    return text


def is_secret(name: str, value: object) -> bool:
    """Whether an option of this name holds a key, such as `aws_secret_access_key`."""
    if _CREDENTIALS.search(name):
        return value is not None
    return isinstance(value, str) and _NAMES.search(name) is not None


def held(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with each key held so that nobody sees it; `plain` gives them to the call."""
    return {name: _held(name, value) for name, value in options.items()}


def _held(name: str, value: Any) -> Any:
    return Secret(value) if isinstance(value, str) and value and is_secret(name, value) else value


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the one call needs them."""
    return {
        name: value.reveal() if isinstance(value, Secret) else value
        for name, value in options.items()
    }


def redacted(text: str, held: Iterable[Secret] = ()) -> str:
    """The text of an error without any key: those held, those known, and what looks like one."""
    for secret in held:
        if len(secret.reveal()) >= _SHORTEST_HELD:
            text = text.replace(secret.reveal(), "[redacted]")
    return _SHAPES.sub("[redacted]", without_known(text, known()))
