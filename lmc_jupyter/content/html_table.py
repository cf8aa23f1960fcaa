"""A plain table of foreign HTML, cleaned so that it may stand in Jupyter's own page.

One rule: what is more than cells and their words is no plain table, and gets None.
"""

from __future__ import annotations

import re

import nh3

_TABLE_TAGS = {
    *("table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td"),
    *("div", "span", "p", "br", "b", "i", "em", "strong", "small", "sub", "sup", "code"),
}
_TAG = re.compile(r"<[/!?]?(?:([a-zA-Z][\w-]*)(?![\w-]))?([^<>]*)>")
_STYLED = re.compile(r"\bstyle\s*=\s*(?![\"']text-align: ?\w+;?[\"'])", re.IGNORECASE)
_SCOPED = re.compile(r"<style scoped>[^<]*</style>")
"""What pandas writes before each of its frames; only looks are lost with it."""
MOST_TABLE = 200_000
"""Characters of a table that is drawn without a frame."""


def table_html(code: str) -> str | None:
    """The table, cleaned; None for what is more than a table."""
    if len(code) > MOST_TABLE or "<table" not in code:
        return None
    code = _SCOPED.sub("", code)
    for name, attributes in _TAG.findall(code):
        if name.lower() not in _TABLE_TAGS or _STYLED.search(attributes):
            return None
    return nh3.clean(
        code,
        tags=_TABLE_TAGS,
        attributes={tag: {"colspan", "rowspan", "scope"} for tag in ("th", "td")},
    )
