"""Terminal output as plain text.

One rule: no escape sequence and no control character is left but tab and line feed, and each
character is looked at once.

Source: ECMA-48, sections 5.3 to 5.6; OSC 8 of links is ended by BEL as well (xterm).
"""

from __future__ import annotations

import re

_STRING = r"[^\x07\x18\x1a\x1b\x80-\x9f]*"
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, the cursor
    rf"|(?:\x1b\]|\x9d){_STRING}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_STRING}(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|(?:\x1b[\[\]]|[\x9b\x9d])[0-9;?]*"  # one of these without its end
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_ORDERS = re.compile(r"[\x1b\x80-\x9f]")


def plain(text: str) -> str:
    """The text that a terminal would show at the end: a carriage return starts the line over."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        text = "\n".join(lines)
    return _CONTROLS.sub("", text)


def without_escapes(text: str) -> str:
    """The text as it is, but for what a terminal would obey: escape sequences, ESC, C1."""
    return _ORDERS.sub("", _ESCAPES.sub("", text))
