"""Foreign text as Markdown that loads nothing when somebody opens it.

One rule: an image or a tag that fetches something becomes the characters it is made of, outside
of code; `plain` takes that back.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_TAGS = (  # that load something by an attribute
    "img|image|video|audio|source|track|picture|iframe|frame|frameset|object|embed|link|input|"
    "base|meta|form|a|button|table|tbody|tr|td|th|body|html|head"
)
_RAW = (  # or after which other rules hold
    "svg|math|style|script|template|noscript|textarea|title|xmp|plaintext|details|summary"
)
_LOADING = rf"!\[|<(?=/?(?:{_TAGS})\b(?!\s{{0,9}}/?>)|/?(?:{_RAW})\b|[!?])"
_LOADS = re.compile(rf"(\\*)({_LOADING})", re.IGNORECASE)
_ESCAPED = re.compile(rf"\\({_LOADING})", re.IGNORECASE)


def safe(text: str) -> str:
    """The text, with a backslash before whatever would load something."""
    return _outside_of_code(text, lambda part: _LOADS.sub(_escaped, part))


def _escaped(found: re.Match[str]) -> str:
    before, loads = found.groups()
    return f"{before}{'' if len(before) % 2 else chr(92)}{loads}"


def plain(text: str) -> str:
    """The text without those backslashes."""
    return _outside_of_code(text, lambda part: _ESCAPED.sub(r"\1", part))


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    found, at = [], 0
    for fence in _FENCE.finditer(text):
        found += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*found, change(text[at:])])


def quoted(text: str) -> str:
    """The text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def unquoted(text: str) -> str:
    """What was quoted."""
    return "\n".join(re.sub(r"^> ?", "", line) for line in text.split("\n"))


def folded(summary: str, inner: str) -> str:
    """Markdown of ours, folded away under a summary."""
    return f"<details>\n<summary>{summary}</summary>\n\n{inner}\n\n</details>"
