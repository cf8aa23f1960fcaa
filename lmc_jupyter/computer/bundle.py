"""A mime bundle of Jupyter as pieces of LMC: what of it the person sees and the model reads.

One rule: pure functions. An image is given as it is; HTML goes to the person, and its plain
text to the model; what has neither is said in a sentence.

MIME types as front ends and libraries send them: "Messaging in Jupyter", display_data.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from lmc_jupyter.lmc import Chunk

MAX_CODE = 10_000
"""Characters of HTML or JavaScript that the model may read; longer ones are only counted."""

_BARE_REPR = re.compile(r"<[\w.]+(?: at 0x[0-9a-fA-F]+| object(?: at 0x[0-9a-fA-F]+)?)?>\Z")
_IMAGES = {"image/png": "base64.png", "image/jpeg": "base64.jpeg"}


def pieces(bundle: Mapping[str, Any]) -> list[Chunk]:
    """The pieces of one bundle, in order; console text ends with a line end.

    Parameters
    ----------
    bundle : MIME type -> str, bytes or JSON
    """
    for mime, format_ in _IMAGES.items():
        if bundle.get(mime):
            return [Chunk("computer", "image", format_, _base64(bundle[mime]), end=True)]
    plain = _text(bundle.get("text/plain"))
    told = "" if _BARE_REPR.match(plain.strip()) else plain
    widget = "application/vnd.jupyter.widget-view+json" in bundle
    shown = _text(bundle.get("text/html")) or _text(bundle.get("image/svg+xml"))
    if shown and not widget:
        return _code("html", shown, told)
    script = _text(bundle.get("application/javascript"))
    if script and not told:
        return _code("javascript", script, told)
    if not told:
        for mime in ("text/markdown", "text/latex"):
            told = told or _text(bundle.get(mime))
    if not told and "application/json" in bundle:
        told = json.dumps(bundle["application/json"], ensure_ascii=False, default=repr)
    if not told and not plain and bundle:
        told = f"({', '.join(sorted(bundle))} was shown)"
    return [_console(told or plain)] if told or plain else []


def _code(language: str, code: str, told: str) -> list[Chunk]:
    """HTML or JavaScript that was shown; the model reads its text, else a short one itself."""
    if not told and len(code) <= MAX_CODE:
        return [Chunk("computer", "code", language, code, end=True)]
    if not told:
        told = f"({len(code):,} characters of {language} were shown)"
    return [
        Chunk("computer", "code", language, code, "user", end=True),
        _console(told, "assistant"),
    ]


def _console(text: str, recipient: Any = None) -> Chunk:
    text = text if text.endswith("\n") else f"{text}\n"
    return Chunk("computer", "console", "output", text, recipient)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (list, tuple)):  # nbformat's lines
        return "".join(str(line) for line in value)
    return "" if value is None else str(value)


def _base64(value: Any) -> str:
    if isinstance(value, bytes):
        raw = value.startswith((b"\x89PNG", b"\xff\xd8"))
        return (base64.b64encode(value) if raw else value).decode("ascii").replace("\n", "")
    return _text(value).replace("\n", "")
