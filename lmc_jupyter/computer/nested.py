"""HTML and JavaScript of others as a document that can reach nothing: two nested frames.

One rule: the same frames as the live ones of `js/src/render/sandbox.ts`, for places without our
script: the record in a notebook, and a picture. The outer frame lets the inner one go nowhere
(`frame-src 'none'`), the inner one has no network and no origin. A single frame leaks by
navigating itself (security.md, 0.4).
"""

from __future__ import annotations

import json

_SOURCES = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data: blob:; form-action 'none'; "
    "base-uri 'none'"
)
INNER_POLICY = _SOURCES
"""Of the frame that holds what is shown."""
OUTER_POLICY = f"{_SOURCES}; frame-src 'none'; child-src 'none'"
"""Of the frame around it."""

_BEFORE = (
    'for(const name of["RTCPeerConnection","webkitRTCPeerConnection","RTCDataChannel",'
    '"WebTransport"])try{Object.defineProperty(window,name,'
    "{value:undefined,configurable:false,writable:false})}catch{}"
)
_STYLE = (
    "body{margin:0;font:13px/1.4 system-ui,sans-serif;color:#000;background:#fff}"
    "table{border-collapse:collapse;border:0;font-size:12px}"
    "td,th{border:0;padding:.3em .6em;text-align:right;white-space:nowrap}"
    "thead{border-bottom:1px solid #bbb}tbody tr:nth-child(odd){background:#f5f5f5}"
    "img,svg,canvas{max-width:100%}"
)


def nested(code: str, language: str) -> str:
    """The document of the outer frame, with the inner one in it.

    Parameters
    ----------
    language : "html", or "javascript" for a script that gets an empty page
    """
    inner = (
        f'<!doctype html><meta charset="utf-8">{_policy(INNER_POLICY)}'
        f'<meta name="referrer" content="no-referrer"><style>{_STYLE}</style>'
        f"<script>{_BEFORE}</script><body>{code if language == 'html' else script(code)}"
    )
    return (
        f'<!doctype html><meta charset="utf-8">{_policy(OUTER_POLICY)}'
        "<style>html,body,iframe{margin:0;border:0;padding:0;width:100%;height:100%;"
        f"display:block}}</style><body>{_frame(inner)}"
    )


def frame(code: str, language: str) -> str:
    """The same as an element of a page, as large as what it stands in."""
    style = "display:block;width:100%;height:100%;border:0"
    return _frame(nested(code, language), f' loading="lazy" style="{style}"')


def script(code: str) -> str:
    """JavaScript as a script element; no text of it can end the element."""
    text = json.dumps(code).replace("<", "\\u003c")
    return f"<script>(0,eval)({text})</script>"


def _frame(document: str, more: str = "") -> str:
    source = document.replace("&", "&amp;").replace('"', "&quot;")
    return (
        '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" allow="" '
        f'title="HTML output"{more} srcdoc="{source}"></iframe>'
    )


def _policy(policy: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
