"""Whether a hint gives the solution away.

One rule: in doubt it does. A hint is checked whole before anybody sees it, whoever wrote it.
"""

from __future__ import annotations

import codecs
import difflib
import io
import keyword
import re
import tokenize
import unicodedata
from collections.abc import Iterator

from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.tutor.exercises import Exercise

LEAST_WORDS, MOST_WORDS = 20, 160
SIMILAR = 0.75
"""How much of the tokens of a line may be those of a line of the solution, from 0 to 1."""
FEW = 4
"""A line of fewer tokens says nothing of a solution."""
MOST_CODE = 60
"""Characters of one piece of code in a hint."""

LONGEST = 30
"""Letters of the longest word of a hint that a model wrote."""
_ASIDE = re.compile(
    r"\b(?:(?:a|the|this|that|your) hint|the pupil|let me|please provide|I (?:am|will))\b"
    r"|\bI['\u2019](?:d|ll|m)\b", re.I,
)  # fmt: skip
"""A model that speaks about the hint, asks for the work, or offers to do it, says no hint."""
_SPELLED = re.compile(r"(?:\b[a-z]\b\W*){4}")
_SIGNS = re.compile(r"[=+*/%<>\[\]{}|\\^~#@&]|\w\(|\d[a-z]|[a-z]\d|;$|_")
_NUMBERS = re.compile(r"\d+")
_SMALL = frozenset(
    re.findall(r"\w+", "and as at by for from if in is it not of on or the to true false none with")
)
"""Words of code that any sentence has."""
_SPOKEN = frozenset(
    re.findall(
        r"\w+", "plus minus times multiplied divided modulo equals bracket brackets parenthesis "
        "parentheses underscore colon semicolon indent",
    )
)  # fmt: skip
"""Signs of code as one reads them aloud."""

_INLINE = re.compile(r"`+([^`]+)`+")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_ODD = re.compile(r"\b(?=\w*[_\d])[A-Za-z_]\w*")
_CODE_LINE = re.compile(
    r"\s*(?:def |class |return\b|for .* in .*:|while .*:|if .*:|elif .*:|else:|import "
    r"|from .* import|[A-Za-z_][\w.\[\]'\"]*\s*[-+*/]?=(?!=))"
)


def find_leak(text: str, exercise: Exercise, code: str) -> str:
    """Why this hint may not be shown, as the end of a sentence; "" where it may.

    Parameters
    ----------
    code : the pupil's own: what stands there is no secret
    """
    if "```" in text or "~~~" in text:
        return "it has a block of code"
    count = len(text.split())
    if not LEAST_WORDS <= count <= MOST_WORDS:
        return f"it has {count} words, and not {LEAST_WORDS} to {MOST_WORDS}"
    if text.count("?") > 1:
        return "it asks more than one question"
    own = [line.replace("`", "'") for line in code.splitlines()]
    lines = [
        tokens for line in exercise.reference.splitlines() if len(tokens := _tokens(line)) >= FEW
    ]
    for piece in _pieces(text):
        if any(piece.strip() in line for line in own):
            continue
        if len(piece) > MOST_CODE:
            return "it has a long piece of code"
        tokens = _tokens(piece)
        if any(_is_like(tokens, line) for line in lines):
            return "it has a line of the solution"
    if names := _secrets(exercise, code) & set(_names(text)):
        return f"it names {min(names)!r}, which only the solution has"
    return ""


def find_leak_of_model(text: str, exercise: Exercise, code: str, hint: str) -> str:
    """Why a model's wording of our hint may not be shown; "" where it may.

    Beside what `find_leak` finds, it brings no word of the solution or of the pupil's cell, in
    whatever spelling, no code, number and sign of code that the hint and the task do not have; it
    asks where the hint asks.

    Parameters
    ----------
    hint : ours, which says nothing of the solution
    """
    if found := find_leak(text, exercise, code):
        return found
    if "?" in hint and "?" not in text:
        return "it asks nothing, and the hint is a question"
    if _ASIDE.search(text) and not _ASIDE.search(hint):
        return "it speaks about the hint or itself"
    if count_hidden(text):
        return "it has hidden characters"
    known = f"{hint}\n{exercise.task}".lower()
    plain = unicodedata.normalize("NFKC", text).lower()
    words = _words(plain)
    if any(len(each) > LONGEST for each in re.findall(r"\S+", plain)):
        return "it has a word that is none"
    if _SPELLED.search(plain):
        return "it spells something letter by letter"
    if pieces := [each for each in _INLINE.findall(plain) if each.strip() not in known]:
        return f"it has the code {pieces[0]!r}, and the hint has not"
    if strange := set(_SIGNS.findall(plain)) - set(_SIGNS.findall(known)):
        return f"it has {min(strange)!r}, a sign of code"
    if strange := set(_NUMBERS.findall(plain)) - set(_NUMBERS.findall(known)):
        return f"it has the number {min(strange)}"
    secret = (_words(f"{exercise.reference}\n{code}".lower()) | _SPOKEN) - _words(known) - _SMALL
    for each in sorted(secret):  # of the cell, too: a small model makes up what is wrong with it
        if words & {each, each[::-1], codecs.encode(each, "rot13")}:
            return f"it has {each!r}, a word of the solution or the cell"
    return ""


def _words(text: str) -> set[str]:
    """The words of a text; of `sum_to` these are `sum` and `to`."""
    return set(re.findall(r"[^\W_]{2,}", text))


def _pieces(text: str) -> Iterator[str]:
    """What of a text may be code: in backquotes, or a line of its own that looks like it."""
    for match in _INLINE.finditer(text):
        yield match[1]
    for line in text.splitlines():
        if _CODE_LINE.match(line):
            yield line
        for sentence in re.split(r"[:;]\s+|\s{2,}", line):  # as in "write this: total = a + b"
            if _CODE_LINE.match(sentence) and sentence != line:
                yield sentence


def _is_like(tokens: list[str], line: list[str]) -> bool:
    """Whether these tokens have most of a line in them, in its order."""
    matcher = difflib.SequenceMatcher(None, tokens, line, False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    return common / len(line) >= SIMILAR


def _tokens(line: str) -> list[str]:
    """The tokens of a line of Python; words where it is none."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    try:
        found = list(tokenize.generate_tokens(io.StringIO(line.strip()).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return re.findall(r"\w+|[^\w\s]", line)
    return [each.string for each in found if each.type not in skipped and each.string]


def _names(text: str) -> Iterator[str]:
    """The names that a text uses as code: in backquotes, called, or of a form that no word has."""
    for match in _INLINE.finditer(text):
        yield from re.findall(r"[A-Za-z_]\w*", match[1])
    yield from _CALL.findall(text)
    yield from _ODD.findall(text)


_COMMON = frozenset({*keyword.kwlist, "print", "type", "len", "self"})


def _secrets(exercise: Exercise, code: str) -> set[str]:
    """The names of the solution that neither the task, nor the tests, nor the pupil has."""
    known = f"{exercise.task}\n{exercise.tests}\n{code}"
    names = set(re.findall(r"[A-Za-z_]\w*", exercise.reference))
    return names - set(re.findall(r"[A-Za-z_]\w*", known)) - _COMMON
