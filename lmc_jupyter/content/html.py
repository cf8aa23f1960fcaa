"""Foreign HTML as plain text, about as a person would read it, and plain tables.

One rule: hostile HTML costs no more than its length; a table that is more than cells and their
words is no plain table, and gets None.
"""

from __future__ import annotations

import re
from html import unescape

import nh3

MAX_HTML = 200_000
"""Characters of HTML that are looked at."""

_SKIPS = {
    "<!--": re.compile("-->"),
    "<scr": re.compile("</script", re.IGNORECASE),
    "<sty": re.compile("</style", re.IGNORECASE),
}
_BREAKS = re.compile(r"</?(?:br|p|div|tr|li|ul|ol|table|pre|h[1-6])\b", re.IGNORECASE)


def html_text(html: str) -> str:
    """The text of a page, line by line, without scripts, styles and comments."""
    html = html[:MAX_HTML]
    parts, at = [], 0
    while (start := html.find("<", at)) >= 0:
        parts.append(html[at:start])
        ending = _SKIPS.get(html[start : start + 4].lower())
        match = ending.search(html, start) if ending is not None else None
        if ending is not None and match is None:
            break
        close = html.find(">", match.end() - 1 if match is not None else start)
        if close < 0:
            break
        parts.append("\n" if _BREAKS.match(html, start) else " ")
        at = close + 1
    else:
        parts.append(html[at:])
    lines = (" ".join(line.split()) for line in unescape("".join(parts)).split("\n"))
    return "\n".join(filter(None, lines))


_TABLE_TAGS = {
    *("table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td"),
    *("div", "span", "p", "br", "b", "i", "em", "strong", "small", "sub", "sup", "code"),
}
_TAG = re.compile(r"<[/!?]?(?:([a-zA-Z][\w-]*)(?![\w-]))?([^<>]*)>")
_STYLE = re.compile(r"\bstyle\s*=\s*(?![\"']text-align: ?\w+;?[\"'])", re.IGNORECASE)
_SCOPED_STYLE = re.compile(r"<style scoped>[^<]*</style>")
"""What pandas writes before each of its frames; only looks are lost with it."""
MOST_TABLE = 200_000
"""Characters of a table that is drawn without a frame."""


def plain_table(code: str) -> str | None:
    """The table, cleaned; None for what is more than a table."""
    if len(code) > MOST_TABLE or "<table" not in code:
        return None
    code = _SCOPED_STYLE.sub("", code)
    for name, attributes in _TAG.findall(code):
        if name.lower() not in _TABLE_TAGS or _STYLE.search(attributes):
            return None
    return nh3.clean(
        code,
        tags=_TABLE_TAGS,
        attributes={tag: {"colspan", "rowspan", "scope"} for tag in ("th", "td")},
    )
