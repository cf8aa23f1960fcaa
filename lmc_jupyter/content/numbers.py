"""Numbers in words, and where they stand in other texts.

One rule: by rules of writing alone, never by a guess of what was computed. A number is found where
a text has it, or has one that rounds to it; a sum or a difference that no text has is not found.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)

MOST_CHARACTERS = 200_000
"""Of the texts that are read; the rest of them has no numbers for us."""
MOST_PROSE = 20_000
"""Characters of the prose that is read."""
_MOST_POWER = 300
"""Of ten; Python's own numbers end there."""

_SPACES = "\u00a0\u2009\u202f"  # no-break, thin, narrow: between thousands
_GROUPED = rf"\d{{1,3}}(?:(?:,\d{{3}})+|(?:[{_SPACES} ]\d{{3}})+|(?:['\u2019_]\d{{3}})+)(?![\d])"
_DOTTED = r"\d{1,3}(?:(?:\.\d{3})+(?=,\d)|(?:\.\d{3}){2,}(?!\d))"
_DIGITS = rf"(?:{_GROUPED}|{_DOTTED}|\d+)"
_UNITS = {
    "ms": (1e-3,), "µs": (1e-6,), "us": (1e-6,), "ns": (1e-9,), "mm": (1e-3,), "cm": (1e-2,),
    "km": (1e3,), "mg": (1e-3,), "kg": (1e3,), "kB": (1e3, 2.0**10), "KB": (1e3, 2.0**10),
    "MB": (1e6, 2.0**20), "GB": (1e9, 2.0**30), "TB": (1e12, 2.0**40),
}  # fmt: skip
"""What an output without them may have multiplied: 0.051 s are 51 ms."""
_NUMBER = re.compile(
    rf"(?<![\w.])(?<!\d,)(?P<digits>{_DIGITS}(?:[.,]\d+)?|\.\d+)(?P<power>[eE][+-]?\d+)?"
    r"(?P<behind>(?:\s?%|\s?(?:percent(?:age)?|per cent)\b|"
    r"\s?(?:thousand|millions?|Millionen|billions?|trillions?|mn|bn)\b|[kKM](?!\w)"
    rf"|\s?(?:{'|'.join(_UNITS)})\b|\s?[\u00d7x·*]\s?10(?:\^?[-\u2212]?\d+|[⁻⁰¹²³⁴-⁹]+)|[A-Za-z]+)?)"
)
"""A number of prose, with what stands right behind it."""

_SCALES = {
    "thousand": 1e3, "million": 1e6, "millions": 1e6, "Millionen": 1e6, "billion": 1e9,
    "billions": 1e9, "trillion": 1e12, "trillions": 1e12, "mn": 1e6, "bn": 1e9, "k": 1e3,
    "K": 1e3, "M": 1e6,
}  # fmt: skip
_NO_CLAIM_BEHIND = re.compile(r"(?:st|nd|rd|th|D|d)\Z")
"""Behind a number that counts a place (2nd) or names a kind (3D)."""
_LABEL = re.compile(
    r"\b(?:step|figure|fig\.?|table|part|section|option|example|chapter|method|approach|question"
    r"|point|note|phase|task|item|plan|version|python|numpy|pandas|exercise|appendix|eq\.?"
    r"|equation|scenario|model|type|level|no\.?|issue|pep|top)\s?#?\Z",
    re.IGNORECASE,
)
"""Before a number that is a name: Step 2."""
_CONVENTION = re.compile(
    r"(?:\b[pP](?:[- ]?values?)?\s*[<>≤≥=]\s*|\b(?:alpha|\u03b1)\s*=\s*"
    r"|significan\w+ (?:level )?(?:of )?|at the |below )\Z",
    re.IGNORECASE,
)
"""Before a bound that everybody uses: p < 0.05."""
_CONVENTIONS = {0.05, 0.01, 0.001, 0.1, 5.0, 1.0}
_CONFIDENCES = {90.0, 95.0, 99.0, 0.95, 0.99, 0.9}
_CONFIDENCE = re.compile(r"\s?(?:%|percent)?[\s-]*(?:confidence|prediction|CI\b|credible|level)")
_HEDGE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|over|above|under|below"
    r"|some|circa|ca\.|passe[sd]|exceed(?:s|ed)|close to|more than|less than|at least|just"
    r"|slightly|well|up to)"
    r"(?:\s(?:over|under|above|below|than|to))?\s|[~≈\u223c]\s?)[$€£]?\Z",
    re.IGNORECASE,
)
"""Before a number that is no exact one."""

_MARKS = re.compile(
    r"(?:^|\n)[ \t]*(?P<fence>```|~~~).*?(?:\n[ \t]*(?P=fence)|\Z)"  # blocks of code
    r"|(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\$\$.+?\$\$|\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?![\d$])|\\\(.+?\\\)|\\\[.+?\\\]"  # formulas
    r"|\]\([^)\n]*\)|https?://\S+"  # addresses
    r"|(?:^|\n)[ \t]*(?:>[ \t]*)*\d{1,9}[.)](?=[ \t])"  # the marks of a list
    r"|\b(?!\d{1,3}(?:\.\d{3})+\b|\d\d?\.\d\d?\.\d{4}\b)(?:\d+\.){2,}\d+\b|\bv\d[\w.]*",
    re.DOTALL,
)
"""What of Markdown has no number that the reader takes for a result."""


_DATE = re.compile(r"\b\d{1,2}\.\d{1,2}\.\d{4}\b")
_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}(?![\d,])")
_DECIMAL_POINT = re.compile(r"\d\.\d{1,2}(?!\d)")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹\u2212", "-0123456789-")


class Number(NamedTuple):
    """A number of prose.

    Parameters
    ----------
    text : its digits as they are written: "1,234.5"
    readings : (what it can mean, the unit of its last digit): 42 % is 42, and 0.42
    is_exact : whether no word says that it is not exact
    """

    text: str
    readings: tuple[tuple[float, float], ...]
    is_exact: bool


def numbers(prose: str) -> Iterator[Number]:
    """The numbers of Markdown that claim something: not those of code, formulas, addresses, lists,
    versions, and of names such as "Step 2".
    """
    text = _DATE.sub(lambda date: date[0].replace(".", " "), _MARKS.sub(_blank, prose[:MOST_PROSE]))
    has_comma = _DECIMAL_COMMA.search(text) is not None and not _DECIMAL_POINT.search(text)
    for match in _NUMBER.finditer(text):
        before, behind = text[max(0, match.start() - 40) : match.start()], match["behind"].strip()
        if _NO_CLAIM_BEHIND.match(behind) or (_LABEL.search(before) and not behind):
            continue
        value, unit = _read(match["digits"], match["power"] or "", has_comma=has_comma)
        if _is_convention(before, text[match.end("digits") :], value):
            continue
        is_exact = _HEDGE.search(before) is None
        if not is_exact:
            unit = max(unit, _last_place(value))
        scales = (1.0, *_scales(behind))
        readings = tuple((value * scale, unit * scale) for scale in scales)
        if all(math.isfinite(part) for reading in readings for part in reading):
            yield Number(match["digits"], readings, is_exact)


def _blank(match: re.Match[str]) -> str:
    """Blanks in the place of what has no number; a number alone in backquotes stays."""
    code = match["code"]
    if code is not None and _NUMBER.fullmatch(code.strip().lstrip("-\u2212")):
        return f" {code} "
    return "\n" if "\n" in match[0] else " x "


def _is_convention(before: str, behind: str, value: float) -> bool:
    if value in _CONVENTIONS and _CONVENTION.search(before):
        return True
    return value in _CONFIDENCES and _CONFIDENCE.match(behind) is not None


def _scales(behind: str) -> Iterator[float]:
    """By how much what stands behind a number multiplies it, in the ways that it can."""
    if behind in _SCALES:  # an output may count in thousands or millions
        yield from (_SCALES[behind] / 1000**n for n in range(4) if _SCALES[behind] >= 1000**n)
    elif behind in _UNITS:
        yield from _UNITS[behind]
    elif behind.startswith(("%", "per")):
        yield 0.01
    elif behind[:1] in ("\u00d7", "x", "·", "*") and "10" in behind:
        power = int(behind.partition("10")[2].strip("^").translate(_SUPERSCRIPTS))
        if abs(power) <= _MOST_POWER:
            yield 10.0**power


def _read(digits: str, power: str, *, has_comma: bool) -> tuple[float, float]:
    """(the value of these digits, the unit of the last one)."""
    plain = re.sub(rf"(?<=\d)[{_SPACES} '\u2019_](?=\d)", "", digits)
    if has_comma:
        plain = re.sub(r"\.(?=\d{3}(?:\D|$))", "", plain).replace(",", ".")
    elif re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    else:
        plain = plain.replace(",", ".")
    decimals = len(plain.partition(".")[2])
    return float(plain + power), float(f"1{power}") * 10.0**-decimals


def _last_place(value: float) -> float:
    """The unit of the last digit that is none of the zeros at the end: 100 for 1200."""
    unit = 1.0
    while value >= unit * 10 and unit <= 1e15 and value % (unit * 10) == 0:
        unit *= 10
    return unit if value >= 10 else 0.0


# The texts in which they stand --------------------------------------------------------------------

_VALUE = re.compile(rf"(?<![A-Za-z_])({_GROUPED}|\d+)?(\.\d+)?([eE][+-]?\d+)?(?![\d])")
_PIECES = re.compile(r"\d+")


class NumberIndex(Generic[Key]):
    """Tells in which of its texts a number stands.

    Parameters
    ----------
    texts : each with its key, the one that is preferred first
    """

    def __init__(self, texts: Iterable[tuple[Key, str]]) -> None:
        found: dict[float, tuple[int, Key]] = {}
        room = MOST_CHARACTERS
        for place, (key, text) in enumerate(texts):
            for value in values(text[:room]):
                found.setdefault(value, (place, key))
            room -= len(text)
            if room <= 0:
                break
        self._keys = found
        self._values = sorted(found)

    def find(self, number: Number) -> Key | None:
        """The key of the first text that has it, or has a number that rounds to it; else None."""
        hits = [hit for value, unit in number.readings for hit in self._near(value, unit, number)]
        return min(hits, key=lambda hit: hit[0])[1] if hits else None

    def _near(self, value: float, unit: float, number: Number) -> Iterator[tuple[int, Key]]:
        # few whole numbers below ten are rounded ones, and every table has one that is near
        rounds = not number.is_exact or unit < 1 or value >= 10
        width = (unit / (2 if number.is_exact else 1) if rounds else 0.0) + 1e-9 * value
        for found in self._values[bisect.bisect_left(self._values, value - width) :]:
            if found > value + width:
                break
            yield self._keys[found]


def values(text: str) -> Iterator[float]:
    """All numbers of a text, however they are written, without their signs."""
    for match in _VALUE.finditer(text):
        whole, decimals, power = match[1] or "", match[2] or "", match[3] or ""
        if not whole and not decimals:
            continue
        plain = re.sub(r"[^\d]", "", whole)
        yield float(f"{plain or 0}{decimals}{power}")
        if plain != whole:  # [1, 200] and 1,200 look alike
            *pieces, last = _PIECES.findall(whole)
            yield from map(float, [*pieces, last, f"{last}{decimals}{power}"])
