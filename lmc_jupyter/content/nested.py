"""HTML and JavaScript of others as a document that can reach nothing: two nested frames.

One rule: policies and what runs in the frames are those of `frames.json` and
`frames.js`, which the live frames of `js/src/render/sandbox.ts` are made of too. The outer
frame lets the inner one go nowhere (`frame-src 'none'`), the inner one has no network and no
origin. A single frame leaks by navigating itself.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any


def _driver(name: str) -> str:
    return (files("lmc_jupyter.content") / name).read_text("utf-8")


_FRAMES = json.loads(_driver("frames.json"))
INNER_POLICY, OUTER_POLICY = str(_FRAMES["inner"]), str(_FRAMES["outer"])
"""The policies of the frame with the content, and of the frame around it."""
_ATTRIBUTES = dict(_FRAMES["attributes"])
"""The permissions of both frames: scripts only, and never an origin of their own."""

_STYLE = (
    "body{margin:0;font:13px/1.4 system-ui,sans-serif;color:#000;background:#fff}"
    "table{border-collapse:collapse;border:0;font-size:12px}"
    "td,th{border:0;padding:.3em .6em;text-align:right;white-space:nowrap}"
    "thead{border-bottom:1px solid #bbb}tbody tr:nth-child(odd){background:#f5f5f5}"
    "img,svg,canvas{max-width:100%}"
)


def nested_document(code: str, language: str, *, is_still: bool = False, picture: str = "") -> str:
    """The document of the outer frame, which makes the inner one.

    Parameters
    ----------
    language : "html", or "javascript" for a script that gets an empty page
    is_still : no script of it runs before the person presses "Run again"
    picture : HTML, how it looked when it ran; it stands there until then
    """
    options: dict[str, Any] = {
        "page": code if language == "html" else script(code),
        "head": f"<style>{_STYLE}</style>",
        "policy": INNER_POLICY,
        "attributes": _ATTRIBUTES,
        "prelude": f"({_function('before')})()",
        "isStill": is_still,
        "picture": picture,
    }
    return (
        f'<!doctype html><meta charset="utf-8">{_meta(OUTER_POLICY)}'
        f"<style>{_FRAMES['around']}</style><body><script>({_function('outer')})({_json(options)})</script>"
    )


def frame(code: str, language: str, picture: str = "") -> str:
    """A still page as an element that fills its parent."""
    more = ' loading="lazy" style="display:block;width:100%;height:100%;border:0"'
    return element(nested_document(code, language, is_still=True, picture=picture), more)


def element(document: str, more: str = "") -> str:
    """The frame around the document of the outer frame."""
    return around(document.replace("&", "&amp;").replace('"', "&quot;"), more)


def around(document: str, more: str = ' style="width: 100%; height: 400px; border: 0"') -> str:
    """As `element`, for a document that is escaped already."""
    may = " ".join(f'{name}="{value}"' for name, value in _ATTRIBUTES.items())
    return f'<iframe {may} title="HTML output"{more} srcdoc="{document}"></iframe>'


def script(code: str) -> str:
    """JavaScript as a script element; no text of it can end the element."""
    return f"<script>(0,eval)({_json(code)})</script>"


@cache
def _function(name: str) -> str:
    """A function of `frames.js`, without its comments."""
    match = re.search(rf"^export (function {name}\(.*?^\}})$", _driver("frames.js"), re.M | re.S)
    assert match is not None, f"frames.js has no function {name}"
    text = re.sub(r"^\s*/\*\*.*?\*/$|\s// .*?$", "", match[1], flags=re.M | re.S)
    return re.sub(r"\n\s*", "\n", text)


def _json(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")


def _meta(rules: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
