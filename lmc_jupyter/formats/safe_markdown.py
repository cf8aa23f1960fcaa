"""Foreign text as Markdown that loads nothing when somebody opens it.

One rule: an image or a tag that fetches something becomes the characters it is made of, outside
of code; `plain` takes that back.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_OPENS = re.compile(r"(?:(`{3,})[^`\r\n]*|(~{3,})[^\r\n]*)[\r\n]*\Z")
_TAGS = (  # that load something by an attribute
    "img|image|video|audio|source|track|picture|iframe|frame|frameset|object|embed|link|input|"
    "base|meta|form|a|button|table|tbody|tr|td|th|body|html|head"
)
_RAW = (  # or after which other rules hold
    "svg|math|style|script|template|noscript|textarea|title|xmp|plaintext|details|summary"
)
_LOADING = rf"!\[|<(?=/?(?:{_TAGS})\b(?!\s{{0,9}}/?>)|/?(?:{_RAW})\b|[!?])"
_LOADS = re.compile(rf"(?<!\\)(\\*)({_LOADING})", re.IGNORECASE)
_ESCAPED = re.compile(rf"\\({_LOADING})", re.IGNORECASE)


_BLOCK = re.compile(r"((?:^|[\r\n]) {0,3})<(?=/?[a-z])(?!https?:)", re.IGNORECASE)
_ESCAPED_BLOCK = re.compile(r"((?:^|[\r\n]) {0,3})\\<(?=/?[a-z])(?!https?:)", re.IGNORECASE)
"""A tag at the beginning of a line opens a block of HTML, in which a fence is none."""


def safe(text: str) -> str:
    """The text, with a backslash before whatever would load something."""
    return _outside_of_code(text, lambda part: _BLOCK.sub(r"\1\\<", _LOADS.sub(_escaped, part)))


def _escaped(found: re.Match[str]) -> str:
    before, loads = found.groups()
    return f"{before}{'' if len(before) % 2 else chr(92)}{loads}"


def plain(text: str) -> str:
    """The text without those backslashes."""
    return _outside_of_code(
        text, lambda part: _ESCAPED.sub(r"\1", _ESCAPED_BLOCK.sub(r"\1<", part))
    )


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """Changes all but whole fences that begin at the first column; one without end is no code."""
    found: list[str] = []
    prose: list[str] = []
    code: list[str] = []
    closes: re.Pattern[str] | None = None
    for line in _LINES.findall(text):
        opens = _OPENS.match(line) if closes is None else None
        if opens is not None:
            mark = opens[1] or opens[2]
            closes, code = re.compile(rf" {{0,3}}{mark}{mark[0]}*[ \t]*[\r\n]*\Z"), [line]
        elif closes is None:
            prose.append(line)
        else:
            code.append(line)
            if closes.match(line):
                found += [change("".join(prose)), *code]
                prose, code, closes = [], [], None
    return "".join([*found, change("".join(prose + code))])


def quoted(text: str) -> str:
    """The text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def unquoted(text: str) -> str:
    """What was quoted."""
    return "\n".join(re.sub(r"^> ?", "", line) for line in text.split("\n"))


def folded(summary: str, inner: str) -> str:
    """Markdown of ours, folded away under a summary."""
    return f"<details>\n<summary>{summary}</summary>\n\n{inner}\n\n</details>"
