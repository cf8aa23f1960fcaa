"""A cell's source without the passwords that are written into it.

One rule: a text that is given to a name such as `password` or `token` is one, whatever it is.

It looks at the characters and does not parse: a cell may hold magics, or be half written.
"""

from __future__ import annotations

import re

_STRING = (
    r"[rRuUbB]{0,2}(?:"
    + "|".join(rf"{q}{{3}}(?:[^\\]|\\.)*?{q}{{3}}|{q}(?:[^{q}\\\n]|\\.)*{q}" for q in "'\"")
    + ")"
)
_NAME = r"\b(?:\w*_)?(?:password|passwd|passphrase|pwd|secret|token|key|apikey)\b"
_GAP = r"(?:\s|\\\n|#[^\n]*\n)*"
# No two of its parts may share what they can match: a long run of spaces would take minutes.
_GIVEN = re.compile(
    rf"(?P<name>{_NAME})(?P<to>[\"']?\]?(?:[ \t]*:[ \t]*[\w.\[\]|][\w.\[\]| \t]*|\s*)={_GAP}"
    rf"(?:[\w.\[\]\"']{{1,99}}\s*={_GAP}){{0,9}}(?:\({_GAP})?)(?P<value>{_STRING}(?:\s*{_STRING})*)"
    rf"|[\"'](?={_NAME}[\"']\]\s*=)|[fF]?{_STRING}|#[^\n]*",
    re.IGNORECASE | re.DOTALL,
)
"""A string that is given to such a name; or a string or comment, in which nothing is looked for."""
_WORDS = re.compile(r"[\"'][A-Za-z_ ]*[\"']")
_EMPTY = re.compile(r"[rRuUbB]{0,2}(?:''|\"\"|'{6}|\"{6})")
_CONDITION = re.compile(r"\s*(?:if|elif|while|for|with|except|case)\b")


def without_passwords(source: str) -> str:
    """The source without the strings that are given to names such as `password` or `token`.

    A key may be the name of a column: a string of letters alone stays where the name is a key.
    """
    return _GIVEN.sub(_redacted, source)


def _redacted(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if name is None or _EMPTY.fullmatch(value):
        return found[0]
    line = found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.start()]
    if ":" in found["to"] and _CONDITION.match(line):  # `if token: mode = "a"`
        return name + without_passwords(found[0][len(name) :])
    if name.lower().endswith("key") and _WORDS.fullmatch(value):
        return found[0]
    return f'{name}{found["to"]}"[redacted]"'
