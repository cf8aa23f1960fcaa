"""Keys as values that no output shows, and the list of the known ones.

One rule: a key is plain text only in the arguments of the one call that needs it.
"""

from __future__ import annotations

import html
import json
import os
import re
import weakref
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_CREDENTIALS = re.compile(r"CREDENTIAL", re.IGNORECASE)
SHORTEST = 6
"""Characters of a key at least; a shorter word, such as `none` or `x`, is none."""
_SURE = 12
_MOST_LINES = 100
_TELLS = re.compile(r".*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE)S?")
_OF_DATA = re.compile(r"CACHE|FOREIGN|GROUP|INDEX|PARTITION|PRIMARY|PUBLIC|ROW|SORT|UNIQUE")
_NAME_ONLY = re.compile(r"[a-z_]+|[A-Z_]+")
_PLAIN = re.compile(
    r"[\d.,:_+-]*"  # a number, a date
    r"|[A-Za-z]*[-_]?v?\d+(?:\.\d+)+"  # python3.11
    r"|(?:~|\.{0,2})(?:/[A-Z]?[a-z0-9_.-]+)+/?"  # a path
    r"|\w+://[^@?\s]*|localhost(?::\d+)?"
    r"|(?:%-?[A-Za-z]|[-/:.,T])*"  # the format of a date
)
"""What other text has as well; names and words too."""
_PAIR = re.compile(r"\s*[\"']?[\w.-]+[\"']?\s*[:=]\s+(\S+?)[,;]?\s*")


class Secret:
    """A key that neither print, a traceback nor pickle shows; `reveal` gives it.

    Parameters
    ----------
    value : the key; blanks around it are ignored
    name : what stands where it was redacted: OPENAI_API_KEY
    """

    __slots__ = ("__weakref__", "_value", "name")

    def __init__(self, value: str, name: str = "api_key") -> None:
        self._value, self.name = value.strip(), name
        _alive.add(self)

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


_alive: weakref.WeakSet[Secret] = weakref.WeakSet()
"""Every `Secret` that exists, so that its value is recognised wherever it turns up."""


def known_secrets() -> dict[str, str]:
    """The secrets of the environment and of this process: text -> name, the longest first.

    Of each there are the forms in which a program, a page or a file would write it.
    """
    names = _names_among(tuple(os.environ))  # to read all values would take five times as long
    forms = dict(_of_environment(tuple((name, os.environ.get(name, "")) for name in names)))
    for each in list(_alive):  # what a server of one's own takes for a key may be any word
        if len(value := each.reveal()) >= _SURE:
            _add_forms(forms, value, each.name)
    return dict(sorted(forms.items(), key=lambda each: -len(each[0])))


@lru_cache(maxsize=1)
def _names_among(variables: tuple[str, ...]) -> list[str]:
    """The variables that hold a secret; the environment rarely changes between two calls."""
    return [name for name in variables if _NAMES.search(name)]


@lru_cache(maxsize=1)
def _of_environment(variables: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """The secrets that these variables hold, in all their forms."""
    forms: dict[str, str] = {}
    for name, value in variables:
        _add_forms(forms, value, name)
    return forms


def _add_forms(forms: dict[str, str], value: str, name: str) -> None:
    for part in _parts(value, name):
        for form in _forms(part):
            forms.setdefault(form, name)


def _parts(value: str, name: str) -> Iterator[str]:
    """The value, or those lines of it, that are a secret wherever they stand.

    A value of 12 characters is one, unless it is a name and its own name says no more than that
    it has to do with keys (SECRET_NAME). A shorter one, and a line, has to look like a key too.
    """
    bare, tells = value.strip(_AROUND), _tells(name)
    is_sure = len(bare) >= _SURE and (tells or not _NAME_ONLY.fullmatch(bare))
    if is_sure or (tells and looks_like_key(bare)):
        yield value
    lines = value.splitlines()
    if len(lines) > 1 and (tells or "-----BEGIN " in value):
        for line in lines[:_MOST_LINES]:
            pair = _PAIR.fullmatch(line)
            part = line if pair is None else pair[1]
            if looks_like_key(part.strip(_AROUND)):
                yield part


def _tells(name: str) -> bool:
    """Whether the last word of the name says that its value is a secret."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper().rstrip("_0123456789").split("_")
    of_data = words[-1].startswith("KEY") and _OF_DATA.fullmatch("".join(words[-2:-1]))
    return _TELLS.fullmatch(words[-1]) is not None and not of_data and not name.startswith("BASH_")


def looks_like_key(text: str) -> bool:
    """Whether this is one word, and no name, path or number that other text is likely to have."""
    if text.isdigit():
        return len(text) >= 8
    text = text.rstrip("()[]{};,:")
    words = re.split(r"[-_./*]+", text)
    if all(not word or (word.isalpha() and _is_one_case(word)) for word in words):
        return False
    is_word = not re.search(r"\s", text)
    return len(text) >= SHORTEST and is_word and not _PLAIN.fullmatch(text)


def _is_one_case(word: str) -> bool:
    return word.islower() or word.isupper() or word.istitle()


def _forms(value: str) -> set[str]:
    """The value as it is, and as repr, JSON, HTML and addresses write it."""
    bare = value.strip(_AROUND)
    if bare.isascii() and bare.isalnum():
        return {value, bare}
    forms = {value, value.strip(), bare}
    for each in list(forms):
        clean = each.encode("utf-8", "replace").decode("utf-8")
        forms |= {
            repr(each)[1:-1],
            json.dumps(each)[1:-1],
            json.dumps(each, ensure_ascii=False)[1:-1],
        }
        forms |= {
            repr(clean.encode())[2:-1],
            html.escape(each),
            quote(clean, safe=""),
            quote_plus(clean),
        }
    return {form for form in forms if len(form) >= SHORTEST}


_AROUND = " \t\r\n\"'`\u201c\u201d\u2018\u2019\xab\xbb"
"""Characters that people copy along with a key."""


def is_secret(name: str, value: object) -> bool:
    """Whether an option of this name holds a key, such as `aws_secret_access_key`."""
    if _CREDENTIALS.search(name):
        return value is not None
    return isinstance(value, str) and _NAMES.search(name) is not None


def hide(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with each key as a `Secret`; `reveal` gives them to the call."""
    return {name: _hide(name, value) for name, value in options.items()}


def _hide(name: str, value: Any) -> Any:
    if isinstance(value, str):
        secret = bool(value) and (is_secret(name, value) or _IN_HEADERS.search(name) is not None)
        return Secret(value, name) if secret else value
    if isinstance(value, Mapping) and not isinstance(value, Secret):
        return {key: _hide(str(key), each) for key, each in value.items()}
    return value


_IN_HEADERS = re.compile(r"^authorization$|^cookie$|^proxy-authorization$", re.IGNORECASE)


def reveal(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with each key as plain text, for the one call that needs it."""
    return {name: _reveal(value) for name, value in options.items()}


def _reveal(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    if type(value) is dict and any(isinstance(each, (Secret, dict)) for each in value.values()):
        return {key: _reveal(each) for key, each in value.items()}
    return value
