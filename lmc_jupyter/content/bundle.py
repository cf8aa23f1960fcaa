"""A mime bundle of Jupyter as pieces of LMC, for the person and for the model.

One rule: nothing is run and nothing is fetched. An image stays unchanged, unless it is too large
to store; HTML and Markdown go to the person, and their plain text to the model; a chart becomes a
picture where one can be made, and a sentence; anything else becomes a sentence.

MIME types as front ends and libraries send them: "Messaging in Jupyter", display_data.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.content import charts, shorten
from lmc_jupyter.content.html import html_text
from lmc_jupyter.content.images import MAX_STORED, ImageError, for_history, from_svg, kind
from lmc_jupyter.lmc import Chunk, Recipient

MAX_CODE = 10_000
"""Characters of HTML or JavaScript that the model may read; of longer HTML it reads the text."""
MAX_TEXT = 8_000
"""Characters of the text of a table or a page that go to the model: its head and its tail."""
MAX_HTML = 8_000_000
"""Characters of HTML that a conversation keeps."""
MAX_IMAGES = 4
"""Images within HTML that the model sees."""

_WIDGET = "application/vnd.jupyter.widget-view+json"
_IMAGES = {
    "image/png": "base64.png",
    "image/jpeg": "base64.jpeg",
    "image/gif": "",
    "image/webp": "",
    "image/bmp": "",
    "image/tiff": "",
}
"""As LMC has them; the others are converted."""
_BARE_REPR = re.compile(r"<[\w.]+(?: at 0x[0-9a-fA-F]+| object(?: at 0x[0-9a-fA-F]+)?)?>\Z")
_DATA_URL = re.compile(
    r"""\bsrc\s*=\s*["']?data:image/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/=\s]+)""",
    re.IGNORECASE,
)
_IMAGE_TAG = re.compile(
    r"""\s*<img\b[^<>]*\bsrc\s*=\s*["']([^"'<>]*)["'][^<>]*>\s*\Z""", re.IGNORECASE
)
_PLACE = re.compile(r"""\s*<div id="[\w-]+" data-root-id="[\w-]+"[^<>]*></div>\s*""")
_VISUAL_TAG = re.compile(
    r"<(?:img|svg|script|canvas|video|audio|iframe|object|embed|input|button|math)\b", re.IGNORECASE
)
"""What shows something without any text."""


@dataclass(frozen=True, slots=True)
class WidgetChunk(Chunk):
    """A piece that stands for a live widget; its content is for views that cannot show the widget.

    Parameters
    ----------
    model_id : of the widget's model, in the front ends of the kernel that made it; it is no part
        of a message and never in the wire form
    """

    model_id: str = ""


def pieces(bundle: Mapping[str, Any]) -> list[Chunk]:
    """The pieces of one bundle, in order; console text ends with a line end.

    Parameters
    ----------
    bundle : MIME type -> str, bytes or JSON
    """
    if len(bundle) == 1 and (alone := _text(bundle.get("text/plain"))):
        return [_console(alone)]  # the usual one
    if charts.BOKEH_LOADS in bundle:
        return []  # it shows nothing: figures come after it
    chart = charts.sentence(bundle)
    for mime, format_ in _IMAGES.items():
        if bundle.get(mime):
            image = _image(bundle[mime], format_)
            return [image, _console(chart, "assistant")] if chart else [image]
    if chart:
        return _chart(bundle, chart)
    plain = _text(bundle.get("text/plain"))
    text = "" if _BARE_REPR.match(plain.strip()) else plain
    if _WIDGET not in bundle:
        if _PLACE.fullmatch(_text(bundle.get("text/html"))):
            return []  # where Bokeh puts the figure that comes next, with a place of its own
        html, svg = _text(bundle.get("text/html")), _text(bundle.get("image/svg+xml"))
        if html:
            return _html(html, text)
        if svg:
            return _svg(svg, text)
        script = _text(bundle.get("application/javascript"))
        if script and not text:
            return _script(script)
        markdown = _text(bundle.get("text/markdown")) or _formula(_text(bundle.get("text/latex")))
        if markdown and len(markdown) <= MAX_CODE:
            visible = Chunk("computer", "code", "markdown", markdown, "user", end=True)
            return [visible, _console(text or markdown, "assistant")]
        text = text or markdown
    if not text and "application/json" in bundle:
        text = json.dumps(bundle["application/json"], ensure_ascii=False, default=repr)
    if not text and not plain and bundle:
        text = f"({', '.join(sorted(bundle))} was shown)"
    return [_console(text or plain)] if text or plain else []


# Images -------------------------------------------------------------------------------------------


def _image(value: Any, format_: str, recipient: Recipient | None = None) -> Chunk:
    """The image unchanged, if small and of a format of LMC; else converted, or a sentence."""
    text = _base64(value) if format_ else ""
    if not text or len(text) > 4 * MAX_STORED // 3:
        try:
            picture = for_history(_raw(value))
        except (ImageError, ValueError) as error:
            reason = str(error) if isinstance(error, ImageError) else "its data are not base64"
            return _console(f"(An image was shown that cannot be saved: {reason})", recipient)
        format_, text = picture.format, picture.text
    return Chunk("computer", "image", format_, text, recipient, end=True)


def _chart(bundle: Mapping[str, Any], sentence: str) -> list[Chunk]:
    """The pieces of a chart: its picture, a page that draws it for the person, and a sentence.

    HTML that draws it with a library of the web is of use only where there is no picture: no
    frame of ours has a network.
    """
    png, html = charts.picture(bundle), charts.page(bundle)
    if not html and not png:
        html = _text(bundle.get("text/html"))
    parts = [_image(png, "base64.png")] if png else []
    if html and len(html) <= MAX_HTML:
        parts.append(Chunk("computer", "code", "html", html, "user", end=True))
    return [*parts, _console(sentence, "assistant" if parts else None)]


def _svg(svg: str, text: str) -> list[Chunk]:
    """The pieces of an SVG: itself for the person; for the model a picture, or else its text."""
    try:
        png = from_svg(svg)
    except ImageError:
        png = None
    if png is None:
        return _html(svg, text)
    parts = [Chunk("computer", "code", "html", svg, "user", end=True)]
    return [*parts, _image(png, "base64.png", "assistant")]


# HTML and JavaScript ------------------------------------------------------------------------------


def _html(html: str, plain: str) -> list[Chunk]:
    """HTML for the person; for the model its text, a short one as it is, and images within it."""
    if len(html) > MAX_HTML:
        text = shorten.middle(plain or html_text(html), MAX_TEXT)
        return [_console(f"(HTML of {len(html):,} characters was shown)\n{text}".rstrip())]
    images = [_image(each, "", "assistant") for each in _DATA_URL.findall(html)[:MAX_IMAGES]]
    text = shorten.middle(plain or html_text(html), MAX_TEXT, seen=True)
    if not (images or plain):
        if len(html) <= MAX_CODE and (link := _IMAGE_TAG.match(html)):  # it is slow on long tags
            text = f"(An image was shown, from {link.group(1)[:200]})"
        elif len(html) <= MAX_CODE and (text or _VISUAL_TAG.search(html)):
            return [Chunk("computer", "code", "html", html, end=True)]
        elif not text and _VISUAL_TAG.search(html):
            text = f"({len(html):,} characters of html were shown)"
    page = Chunk("computer", "code", "html", html, "user", end=True)
    return [page, *images, *([_console(text, "assistant")] if text.strip() else [])]


def _formula(latex: str) -> str:
    """LaTeX as Markdown has it: an environment stands between dollars."""
    return f"$$\n{latex.strip()}\n$$" if latex.lstrip().startswith("\\begin{") else latex


def _script(script: str) -> list[Chunk]:
    if len(script) <= MAX_CODE:
        return [Chunk("computer", "code", "javascript", script, end=True)]
    sentence = f"({len(script):,} characters of javascript were shown)"
    if len(script) > MAX_HTML:
        return [_console(sentence)]
    page = Chunk("computer", "code", "javascript", script, "user", end=True)
    return [page, _console(sentence, "assistant")]


# Values -------------------------------------------------------------------------------------------


def _console(text: str, recipient: Recipient | None = None) -> Chunk:
    text = text if text.endswith("\n") else f"{text}\n"
    return Chunk("computer", "console", "output", text, recipient)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (list, tuple)):  # nbformat's lines
        return "".join(str(line) for line in value)
    return "" if value is None else str(value)


def _base64(value: Any) -> str:
    """The data in base64 on one line, as a display has them or from the bytes themselves."""
    if isinstance(value, bytes) and not value.isascii():
        value = base64.b64encode(value)
    return _text(value).replace("\n", "")


def _raw(value: Any) -> bytes:
    """The bytes of an image, which may have come in base64."""
    if isinstance(value, bytes) and (kind(value) or not value.isascii()):
        return value
    return base64.b64decode("".join(_text(value).split()), validate=True)
