"""A cell's source without the passwords that are written into it.

One rule: any string that is assigned to a name such as `password` or `token` is a password.

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
_ASSIGNMENT = re.compile(
    rf"(?P<name>{_NAME})(?P<to>[\"']?\]?(?:[ \t]*:[ \t]*[\w.\[\]|][\w.\[\]| \t]*|\s*)={_GAP}"
    rf"(?:[\w.\[\]\"']{{1,99}}\s*={_GAP}){{0,9}}(?:\({_GAP})?)(?P<value>{_STRING}(?:\s*{_STRING})*)"
    rf"|[\"'](?={_NAME}[\"']\]\s*=)|[fF]?{_STRING}|#[^\n]*",
    re.IGNORECASE | re.DOTALL,
)
"""A string assigned to such a name; or another string or comment, which is skipped."""
_WORDS = re.compile(r"[\"'][A-Za-z_ ]*[\"']")
_EMPTY = re.compile(r"[rRuUbB]{0,2}(?:''|\"\"|'{6}|\"{6})")
_CONDITION = re.compile(r"\s*(?:if|elif|while|for|with|except|case)\b")


def without_passwords(source: str) -> str:
    """The source without the strings that are assigned to names such as `password` or `token`.

    A key may be the name of a column: a string of letters alone stays where the name is a key.
    """
    return _ASSIGNMENT.sub(_redact, source)


def _redact(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if name is None or _EMPTY.fullmatch(value):
        return match[0]
    line = match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()]
    if ":" in match["to"] and _CONDITION.match(line):  # `if token: mode = "a"`
        return name + without_passwords(match[0][len(name) :])
    if name.lower().endswith("key") and _WORDS.fullmatch(value):
        return match[0]
    return f'{name}{match["to"]}"[redacted]"'
