"""What a chart shows, in a sentence that is made from the chart's own JSON; its picture, if cheap.

One rule: whatever the JSON is, what comes out is short text or nothing. No browser is started
and nothing is fetched: a picture is only made by what is in this process already, or quick.

Shapes: "plotly.js schema", "Vega-Lite specification", "Bokeh document JSON".
"""

from __future__ import annotations

import array
import base64
import binascii
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lmc_jupyter.content import shorten
from lmc_jupyter.content.html import html_text
from lmc_jupyter.errors import LMCError

MAX_PARTS = 12
"""Traces, layers or glyphs that are named; more are counted."""
MAX_VALUES = 100_000
"""Values of a trace that are looked at for their range."""
MAX_WORD = 120
"""Characters of a title or a name."""
MAX_LAYERS = 1_000
"""Parts of a composed chart that are looked at."""
MAX_NODES = 200_000
"""Parts of a document that are looked at for what it shows."""

PLOTLY = "application/vnd.plotly.v1+json"
BOKEH = "application/vnd.bokehjs_exec.v0+json"
BOKEH_LOADS = "application/vnd.bokehjs_load.v0+json"
_QUIET = 'window.Bokeh?.set_log_level?.("warn");'
"""Else each figure says when it is idle, to the model too."""
LIBRARIES = {
    "plotly.js": ("plotly", "package_data/plotly.min.js"),
    "bokeh.js": ("bokeh", "server/static/js/bokeh.min.js"),
}
"""What a page may ask for -> the package that has it, and where."""
_ASKS = '<script data-lmc="{}"></script>'
_PLACED = re.compile(r"\brender_items = (?=\[)")
_VEGA = re.compile(r"application/vnd\.vega(lite)?\.v\d+(?:\.\d+)*[+.]json\Z")
_COMPOSED = ("layer", "hconcat", "vconcat", "concat")
_ALTAIR = re.compile(r"\}\)\((?=\{)")
_PLOTTED = re.compile(r"""\bPlotly\.newPlot\(\s*["'][^"']{0,200}["'],\s*(?=\[)""")
_DOCUMENT = re.compile(r"\bdocs_json = (?=\{)")


def sentence(bundle: Mapping[str, Any]) -> str:
    """What the chart in a mime bundle shows; "" where there is none that is known."""
    try:
        figure = _figure(bundle)
        if figure is not None:
            return _plotly(figure)
        spec = _vega_spec(bundle)
        if spec is not None:
            return _vega(spec)
        if BOKEH in bundle or BOKEH_LOADS in bundle:
            return _bokeh(_found_json(_DOCUMENT, bundle.get("application/javascript")))
    except RecursionError:
        return ""  # nested on purpose: there is nothing to say of it
    return ""


def picture(bundle: Mapping[str, Any]) -> bytes | None:
    """A png of the chart in a mime bundle; None where it cannot be made at once.

    Vega-Lite is drawn by vl_convert if that is installed, without its data from the network;
    Plotly by the server of kaleido, if the person has started it (`start_sync_server`).
    """
    try:
        figure = _figure(bundle)
        if figure is not None:
            return _by_kaleido(figure)
        spec = _vega_spec(bundle)
    except RecursionError:
        return None
    if spec is not None and importlib.util.find_spec("vl_convert") is not None:
        vl_convert: Any = importlib.import_module("vl_convert")
        draw = vl_convert.vega_to_png if _is_vega(spec) else vl_convert.vegalite_to_png
        try:
            return bytes(draw(spec, allowed_base_urls=[]))
        except Exception:  # noqa: BLE001 - it raises what it likes; the sentence is said instead
            return None
    return None


def page(bundle: Mapping[str, Any]) -> str:
    """HTML that draws the chart in a frame without a network; "" where it cannot be made.

    It asks for its library by an empty script, see `library`.
    """
    try:
        figure = _figure(bundle)
        if figure is not None:
            return _plotly_page(figure)
    except (RecursionError, ValueError, TypeError):
        return ""  # it is no JSON
    script = bundle.get("application/javascript")
    placed = _found_json(_PLACED, script)
    if BOKEH in bundle and isinstance(script, str) and isinstance(placed, list):
        roots = {k: v for each in placed for k, v in _dict(_dict(each).get("roots")).items()}
        places = "".join(
            f'<div id="{escape(str(place))}" data-root-id="{escape(str(root))}"></div>'
            for root, place in roots.items()
        )
        code = script.replace("</", "<\\/").replace("<!--", "<\\!--")
        return f"{places}{_ASKS.format('bokeh.js')}<script>{_QUIET}{code}</script>"
    return ""


def _plotly_page(figure: Any) -> str:
    layout = _dict(_dict(figure).get("layout"))
    height = layout.get("height")
    pixels = int(height) if isinstance(height, (int, float)) and 0 < height < 10_000 else 450
    given = ", ".join(
        json.dumps(part).replace("<", "\\u003c")
        for part in (_list(_dict(figure).get("data")), layout, {"responsive": True})
    )
    return (
        f'<div id="chart" style="width: 100%; height: {pixels}px"></div>'
        f'{_ASKS.format("plotly.js")}<script>Plotly.newPlot("chart", {given})</script>'
    )


def library(name: str) -> Path:
    """The file of a library that draws charts, as it is installed here.

    Raises
    ------
    LMCError
        When it is not.
    """
    package, path = LIBRARIES[name]
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        if (file := Path(folder) / path).is_file():
            return file
    raise LMCError(f"{package}, which draws it, is not installed in this kernel")


def _by_kaleido(figure: Any) -> bytes | None:
    kaleido = sys.modules.get("kaleido")
    server = getattr(kaleido, "_global_server", None)
    if kaleido is None or server is None or not server.is_running():
        return None
    try:
        return bytes(kaleido.calc_fig_sync(figure, opts={"format": "png"}))
    except Exception:  # noqa: BLE001 - as above
        return None


# Plotly -------------------------------------------------------------------------------------------

_AXIS = re.compile(r"[xyz]axis\d*\Z")
_DTYPES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d"}


def _figure(bundle: Mapping[str, Any]) -> Any:
    """The figure, as it is or out of Plotly's HTML."""
    if PLOTLY in bundle:
        return _dict(_json(bundle[PLOTLY]))
    html = bundle.get("text/html")
    if not isinstance(html, str) or (found := _PLOTTED.search(html)) is None:
        return None
    if html_text(html):
        return None  # a page that has more in it than the figure
    read = json.JSONDecoder().raw_decode
    try:
        data, end = read(html, found.end())
        layout, _ = read(html, html.index("{", end, end + 100))
    except ValueError:
        return None
    return {"data": data, "layout": layout}


def _plotly(figure: Any) -> str:
    layout, traces = _dict(_dict(figure).get("layout")), _list(_dict(figure).get("data"))
    said = [_titled(layout.get("title"))]
    axes = [(name, _titled(_dict(axis).get("title"))) for name, axis in sorted(layout.items())
            if _AXIS.match(name)]  # fmt: skip
    said += [f"{name.replace('axis', ' axis ').rstrip()} {title}" for name, title in axes if title]
    said += [_trace(_dict(each)) for each in traces[:MAX_PARTS]]
    if len(traces) > MAX_PARTS:
        said.append(f"{len(traces) - MAX_PARTS} more traces")
    return _said("A Plotly figure was shown", said)


def _trace(trace: Mapping[str, Any]) -> str:
    kind = _word(trace.get("type")) or "scatter"
    mode, name = _word(trace.get("mode")), _word(trace.get("name"))
    said = kind + (f" ({mode})" if mode else "") + (f" {name!r}" if name else "")
    ranges = [
        f"{key}: {found}"
        for key in ("x", "y", "z", "labels", "values", "locations", "lat", "lon", "r", "theta")
        if (found := _range(_values(trace.get(key))))
    ]
    return f"{said} with {'; '.join(ranges)}" if ranges else said


def _values(value: Any) -> Sequence[Any]:
    """A list, or an array as Plotly packs it: {"dtype": "f8", "bdata": base64}."""
    if isinstance(value, list):
        return value
    packed = _dict(value)
    code, data = _DTYPES.get(str(packed.get("dtype"))), packed.get("bdata")
    if code is None or not isinstance(data, str):
        return []
    found = array.array(code)
    try:
        raw = base64.b64decode(data[: 16 * MAX_VALUES], validate=True)
    except (binascii.Error, ValueError):
        return []
    found.frombytes(raw[: len(raw) - len(raw) % found.itemsize])
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _range(values: Sequence[Any]) -> str:
    """How many values, and between which two, or the first of them."""
    if not values:
        return ""
    known = [each for each in values[:MAX_VALUES] if _is_known(each)]
    count = f"{len(values):,} value{'' if len(values) == 1 else 's'}"
    if known and all(isinstance(each, (int, float)) for each in known):
        return f"{count} from {min(known):g} to {max(known):g}"
    words = [_word(each) for each in known[:3] if isinstance(each, (str, int, float))]
    more = ", …" if len(values) > len(words) else ""
    return f"{count} ({', '.join(words)}{more})" if words else count


def _is_known(value: Any) -> bool:
    """Neither missing, nor no number, nor one beyond all."""
    return value is not None and not (isinstance(value, (int, float)) and not abs(value) < 1e300)


# Vega-Lite ----------------------------------------------------------------------------------------


def _vega_spec(bundle: Mapping[str, Any]) -> Any:
    """The specification, as it is or out of Altair's HTML."""
    for mime, value in bundle.items():
        if _VEGA.match(mime):
            return _json(value)
    html = bundle.get("text/html")
    if isinstance(html, str) and "vega-embed" in html:
        spec = _found_json(_ALTAIR, html)
        if "$schema" in _dict(spec):
            return spec
    return None


def _is_vega(spec: Any) -> bool:
    return "/vega/" in str(_dict(spec).get("$schema"))


def _vega(spec: Any) -> str:
    said = [_titled(_dict(spec).get("title"))]
    layers = list(_layers(_dict(spec)))
    for layer in layers[:MAX_PARTS]:
        mark = layer.get("mark")
        name = _word(mark if isinstance(mark, str) else _dict(mark).get("type"))
        channels = [
            f"{channel} is {told}"
            for channel, field in _dict(layer.get("encoding")).items()
            if (told := _field(field))
        ]
        said.append(f"{name or 'marks'} where {', '.join(channels)}" if channels else name)
    if len(layers) > MAX_PARTS:
        said.append(f"{len(layers) - MAX_PARTS} more layers")
    rows = sum(len(_list(each)) for each in _dict(_dict(spec).get("datasets")).values())
    rows += len(_list(_dict(_dict(spec).get("data")).get("values")))
    said.append(f"{rows:,} row{'' if rows == 1 else 's'} of data" if rows else "")
    return _said("A Vega chart was shown" if _is_vega(spec) else "An Altair chart was shown", said)


def _layers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Whatever has marks of its own, in order, as many as may be looked at."""
    waiting, seen = [spec], 0
    while waiting and seen < MAX_LAYERS:
        each = waiting.pop()
        seen += 1
        if "mark" in each:
            yield each
        parts = [part for key in _COMPOSED for part in _list(each.get(key))[:MAX_LAYERS]]
        waiting += [_dict(part) for part in reversed([*parts, each.get("spec")]) if part]


def _field(channel: Any) -> str:
    channel = _dict(channel)
    field, how = _word(channel.get("field")), _word(channel.get("aggregate"))
    told = f"{how} of {field}" if how and field else field or how
    title = _word(channel.get("title"))
    return f"{told} ({title})" if told and title and title != told else told


# Bokeh --------------------------------------------------------------------------------------------


def _bokeh(document: Any) -> str:
    """Glyphs, titles, axes and legends, wherever they stand in the document."""
    if document is None:
        return ""
    said, glyphs = [], []
    for node in _nodes(document):
        name, attributes = _word(node.get("name")), _dict(node.get("attributes"))
        if name == "Title":
            said.append(_titled(attributes.get("text")))
        elif name.endswith("Axis") and _word(attributes.get("axis_label")):
            said.append(f"axis {_titled(attributes['axis_label'])}")
        elif name == "GlyphRenderer":
            glyphs.append(_word(_dict(attributes.get("glyph")).get("name")).lower())
        elif name == "LegendItem":
            label = _dict(attributes.get("label"))
            said.append(f"legend {_titled(label.get('value') or label.get('field'))}")
    parts = [each for each in said if each.strip() not in ("", "axis", "legend")]
    parts = [*dict.fromkeys(parts)][:MAX_PARTS]
    kinds = [f"{glyphs.count(each)} x {each}" for each in dict.fromkeys(filter(None, glyphs))]
    return _said("A Bokeh figure was shown", [*parts, *kinds[:MAX_PARTS]])


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object of a tree, from the outside in, as many as may be looked at."""
    waiting, seen = [value], 0
    while waiting and seen < MAX_NODES:
        each = waiting.pop()
        seen += 1
        if isinstance(each, dict):
            yield each
            waiting += reversed(list(each.values()))
        elif isinstance(each, list):
            waiting += reversed(each)


# Words --------------------------------------------------------------------------------------------


def _said(what: str, parts: Sequence[str]) -> str:
    told = "; ".join(filter(None, parts))
    return f"({what}: {told})" if told else f"({what})"


def _titled(title: Any) -> str:
    """A title in quotes, in any of the shapes that the libraries give it."""
    if isinstance(title, dict):
        title = title.get("text")
    if isinstance(title, list):
        title = " ".join(_word(each) for each in title)
    word = _word(title)
    return repr(word) if word else ""


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    word = str(value)[: 4 * MAX_WORD]
    if "<" in word:  # Plotly's titles may have tags
        word = html_text(word)
    word = " ".join(word.split())
    return shorten.line(word, MAX_WORD)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _found_json(before: re.Pattern[str], text: Any) -> Any:
    """The JSON object behind the first match."""
    found = before.search(text) if isinstance(text, str) else None
    if found is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, found.end())[0]
    except ValueError:
        return None
