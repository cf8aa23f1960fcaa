"""What a person would read of HTML, about, as plain text.

One rule: each character is looked at once; hostile HTML costs no more than its length.
"""

from __future__ import annotations

import re
from html import unescape

MAX_HTML = 200_000
"""Characters of HTML that are looked at."""

_HIDDEN = {
    "<!--": re.compile("-->"),
    "<scr": re.compile("</script", re.IGNORECASE),
    "<sty": re.compile("</style", re.IGNORECASE),
}
_BREAKS = re.compile(r"</?(?:br|p|div|tr|li|ul|ol|table|pre|h[1-6])\b", re.IGNORECASE)


def html_text(html: str) -> str:
    """Its text, a line for each of its lines, without scripts, styles and comments."""
    html = html[:MAX_HTML]
    parts, at = [], 0
    while (start := html.find("<", at)) >= 0:
        parts.append(html[at:start])
        ending = _HIDDEN.get(html[start : start + 4].lower())
        found = ending.search(html, start) if ending is not None else None
        if ending is not None and found is None:
            break
        close = html.find(">", found.end() - 1 if found is not None else start)
        if close < 0:
            break
        parts.append("\n" if _BREAKS.match(html, start) else " ")
        at = close + 1
    else:
        parts.append(html[at:])
    lines = (" ".join(line.split()) for line in unescape("".join(parts)).split("\n"))
    return "\n".join(filter(None, lines))
