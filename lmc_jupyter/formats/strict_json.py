"""JSON from a stranger: read within bounds of time and memory, or refused in a sentence.

One rule: what is too large, too deep or ambiguous is found by passes over the bytes that run at
the speed of memory, before anything is built of it.

Source: RFC 8259; limits as in "Loaders" of OWASP's notes on deserialisation.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from lmc_jupyter.errors import FormatError
from lmc_jupyter.lmc import clean

MAX_BYTES = 64 << 20
"""Bytes of a file."""
MAX_DEPTH = 64
"""Lists and objects within each other."""
MAX_VALUES = 3_000_000
"""Strings, and separately the other values, of one file; a message has about fifteen."""
MAX_DIGITS = 300
"""Digits in a row in a number: a double has no more before its point."""

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LARGE_EXPONENT = re.compile(rb"[eE]\+?[0-9]{3}")


def loads(data: bytes, notes: list[str] | None = None) -> Any:
    """The value of one JSON text.

    Parameters
    ----------
    data : UTF-8, or UTF-16 and UTF-32 with their marks
    notes : takes sentences on what could not be kept

    Raises
    ------
    FormatError
        When it is no JSON, has a key twice, a number that is none, or is over a limit.
    """
    text, large = _checked(data)
    return _cleaned(_parsed(text, large), data, notes)


def lines(data: bytes, notes: list[str] | None = None) -> list[Any]:
    """The values of JSON Lines: one in each line that is not empty; else as `loads`."""
    text, large = _checked(data)
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(_parsed(line, large))
            except FormatError as error:
                raise FormatError(f"in line {number}: {error}") from None
    return list(_cleaned(found, data, notes))


def _checked(data: bytes) -> tuple[str, bool]:
    """The text, and whether it may have a number too large for a float."""
    if len(data) > MAX_BYTES:
        raise FormatError(
            f"the file has {len(data):,} bytes, and {MAX_BYTES:,} are the most that are read: "
            "it is not a conversation, or should be split"
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = _text(data, "utf-16").encode("utf-8", "surrogatepass")
    text = _text(data, "utf-8-sig")
    outside = _outside(data)
    values = outside.count(b",") + outside.count(b"[") + outside.count(b"{")
    if values > MAX_VALUES:
        raise FormatError(
            f"the JSON has {values:,} values, and {MAX_VALUES:,} are the most that are read"
        )
    _check_depth(outside)
    if b"0" * (MAX_DIGITS + 1) in outside.translate(_DIGITS):
        raise FormatError(
            f"the JSON has a number of more than {MAX_DIGITS} digits: put it in quotation marks"
        )
    return text, _LARGE_EXPONENT.search(outside) is not None


def _text(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"the file is no text in UTF-8 (byte {error.start}): it is not JSON, or damaged"
        ) from None


def _outside(data: bytes) -> bytes:
    """What stands outside of the strings."""
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = bare.count(b'"') // 2
    if strings > MAX_VALUES:
        raise FormatError(
            f"the JSON has {strings:,} strings, and {MAX_VALUES:,} are the most that are read"
        )
    return b"".join(bare.split(b'"')[::2])


def _check_depth(outside: bytes) -> None:
    """Take away the innermost pairs, round by round: as many rounds as it is deep."""
    left = outside.translate(_BRACKETS, _NO_BRACKET)
    for _ in range(MAX_DEPTH):
        inner = left.replace(b"[]", b"")
        if len(inner) == len(left):
            break
        left = inner
    if b"[]" in left or left.count(b"[") > MAX_DEPTH:
        raise FormatError(
            f"the JSON has lists or objects more than {MAX_DEPTH} deep within each other, "
            "or does not close them: it is not a conversation, or damaged"
        )


def _parsed(text: str, large: bool) -> Any:
    try:
        return _FLOATS_CHECKED.decode(text) if large else _DECODER.decode(text)
    except FormatError:
        raise
    except json.JSONDecodeError as error:
        raise FormatError(
            f"it is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is no JSON that can be read: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FormatError(
            f"the key {clean(twice)!r:.80} stands twice in one object: nobody can say which counts"
        )
    return found


def _refuse(word: str) -> NoReturn:
    raise FormatError(f"{word:.40} is no number that JSON has: write null, or a string")


def _float(word: str) -> float:
    number = float(word)
    return number if abs(number) != float("inf") else _refuse(word)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)
_FLOATS_CHECKED = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse, parse_float=_float
)


def _cleaned(value: Any, data: bytes, notes: list[str] | None) -> Any:
    """Escapes may make surrogates that are no characters: they are replaced."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return value
    replaced: list[str] = []
    value = _without_surrogates(value, replaced)
    if replaced and notes is not None:
        count = len(replaced)
        notes.append(
            f"{count} text{'s' if count > 1 else ''} had characters that are none (lone "
            "surrogates): each became \N{REPLACEMENT CHARACTER}."
        )
    return value


def _without_surrogates(value: Any, replaced: list[str]) -> Any:
    if isinstance(value, str):
        text = clean(value)
        if text is not value:
            replaced.append(text)
        return text
    if isinstance(value, list):
        return [_without_surrogates(each, replaced) for each in value]
    if isinstance(value, dict):
        return {
            _without_surrogates(key, replaced): _without_surrogates(each, replaced)
            for key, each in value.items()
        }
    return value
