"""JSON from a stranger: a plain value, or a refusal in a sentence, in bounded time and memory.

One rule: the sizes are counted before anything is built, and what is ambiguous is refused: a key
that stands twice, a number that no float holds.

Source: RFC 8259.
"""

from __future__ import annotations

import io
import json
import math
from typing import Any, NoReturn

from lmc_jupyter.errors import FormatError
from lmc_jupyter.lmc import clean

MAX_BYTES = 64 << 20
"""Bytes of a file; a notebook with many figures has some tens of millions."""
MAX_VALUES = 2_000_000
"""Of `_MARKS`, wherever they stand; a message has about twenty. So many take under a second."""
_MARKS = (",", "[", "{", "\n", "\\ud", "\\uD")
"""What begins a value or a line, and escapes of half a character, which are looked at once more."""
MAX_DEPTH = 64
"""Lists and objects within each other: what is made of them goes through recursive functions."""
MAX_DIGITS = 300
"""Digits of a whole number: a float has no more before its point."""


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
    text = _text(data)
    return _check(_parse(text), text, notes)


def lines(data: bytes, notes: list[str] | None = None) -> list[Any]:
    """The values of JSON Lines: one in each line that is not empty; else as `loads`."""
    text = _text(data)
    values = []
    for number, line in enumerate(io.StringIO(text), 1):
        if line.strip():
            try:
                values.append(_parse(line))
            except FormatError as error:
                raise FormatError(f"in line {number}: {error}") from None
    return [*_check(values, text, notes)]  # in one note


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise FormatError(
            f"the file has {len(data):,} bytes, and {MAX_BYTES:,} are the most that are read: "
            "it is not a conversation, or should be split"
        )
    encoding = json.detect_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"the file is no text in {encoding.upper().removesuffix('-SIG')} (byte "
            f"{error.start}): it is not JSON, or damaged"
        ) from None
    values = sum(map(text.count, _MARKS))
    if values > MAX_VALUES:
        raise FormatError(
            f"the JSON has {values:,} commas, brackets and lines, and {MAX_VALUES:,} are the most "
            "that are read"
        )
    return text


def _parse(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"it is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise _too_deep() from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FormatError(
            f"the key {clean(twice)!r:.80} stands twice in one object: nobody can say which counts"
        )
    return result


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise FormatError(
            f"the JSON has a number of more than {MAX_DIGITS} digits: put it in quotation marks"
        )
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _refuse(word: str) -> NoReturn:
    raise FormatError(f"{word:.40} is no number that JSON has: write null, or a string")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse, parse_int=_whole, parse_float=_float
)


def _check(value: Any, text: str, notes: list[str] | None) -> Any:
    """The value, if it is not too deep; lone surrogates, which only escapes make, are replaced."""
    level = [value]
    for _ in range(MAX_DEPTH):  # what is in the lists and objects of one level is the next
        level = [
            each
            for outer in level
            if isinstance(outer, (list, dict))
            for each in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(each, (list, dict))
        ]
    if level:
        raise _too_deep()
    if "\\ud" not in text and "\\uD" not in text:
        return value
    json_text = json.dumps(value, ensure_ascii=False)
    clean_text = clean(json_text)
    if clean_text is json_text:
        return value
    count = clean_text.count("\N{REPLACEMENT CHARACTER}") - json_text.count(
        "\N{REPLACEMENT CHARACTER}"
    )
    if notes is not None:
        notes.append(
            f"{count} character{'s' * (count > 1)} of it {'are' if count > 1 else 'is'} none (lone "
            "surrogates): each became \N{REPLACEMENT CHARACTER}."
        )
    return _parse(clean_text)


def _too_deep() -> FormatError:
    return FormatError(
        f"the JSON has lists or objects more than {MAX_DEPTH} deep within each other: it is not a "
        "conversation, or damaged"
    )
