"""A chart as a model reads it: a sentence of its titles, axes and marks; its picture, if cheap.

One rule: any JSON becomes short text or nothing. No browser is started
and nothing is fetched: a picture is made only of Vega charts, by vl_convert.

The sentence says what the chart is, not its values: the code that drew it has those.

Shapes: "plotly.js schema", "Vega-Lite specification", "Bokeh document JSON".
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from lmc_jupyter.content import shorten
from lmc_jupyter.content.html import html_text
from lmc_jupyter.errors import LMCError

MAX_PARTS = 12
"""Titles, axes, traces and layers that are named; more are counted."""
MAX_WORD = 120
"""Characters of a title or a name."""
MAX_SENTENCE = 1_800
"""Characters of all of that."""
MAX_NODES = 200_000
"""Parts of a document that are searched."""

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
_RENDER_ITEMS = re.compile(r"\brender_items = (?=\[)")
_VEGA = re.compile(r"application/vnd\.vega(lite)?\.v\d+(?:\.\d+)*[+.]json\Z")
_NOT_DRAWN = ("data", "datasets", "config", "params")
_AXIS = re.compile(r"[xyz]axis\d*\Z")
_ALTAIR = re.compile(r"\}\)\((?=\{)")
_NEW_PLOT = re.compile(r"""\bPlotly\.newPlot\(\s*["'][^"']{0,200}["'],\s*(?=\[)""")
_DOCUMENT = re.compile(r"\bdocs_json = (?=\{)")


def sentence(bundle: Mapping[str, Any]) -> str:
    """A sentence on the chart in a mime bundle; "" where there is no chart of a known library."""
    try:
        figure = _figure(bundle)
        if figure is not None:
            return _plotly(figure)
        spec = _vega_spec(bundle)
        if spec is not None:
            return _vega(spec)
        if BOKEH in bundle or BOKEH_LOADS in bundle:
            return _bokeh(_json_behind(_DOCUMENT, bundle.get("application/javascript")))
    except RecursionError:
        return ""  # nested on purpose: there is nothing to say of it
    return ""


def picture(bundle: Mapping[str, Any]) -> bytes | None:
    """A png of a Vega chart, drawn without data from the network; None where that cannot be."""
    if importlib.util.find_spec("vl_convert") is None:
        return None
    vl_convert: Any = importlib.import_module("vl_convert")
    try:
        spec = _vega_spec(bundle)
        if spec is None:
            return None
        draw = vl_convert.vega_to_png if _is_vega(spec) else vl_convert.vegalite_to_png
        return bytes(draw(spec, allowed_base_urls=[]))
    except Exception:  # noqa: BLE001 - it raises what it likes; the sentence is said instead
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
    items = _json_behind(_RENDER_ITEMS, script)
    if BOKEH in bundle and isinstance(script, str) and isinstance(items, list):
        roots = {k: v for each in items for k, v in _dict(_dict(each).get("roots")).items()}
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
    arguments = ", ".join(
        json.dumps(part).replace("<", "\\u003c")
        for part in (_list(_dict(figure).get("data")), layout, {"responsive": True})
    )
    return (
        f'<div id="chart" style="width: 100%; height: {pixels}px"></div>'
        f'{_ASKS.format("plotly.js")}<script>Plotly.newPlot("chart", {arguments})</script>'
    )


def library(name: str) -> Path:
    """The file of a library that draws charts, as it is installed here.

    Raises
    ------
    LMCError
        When it is not.
    """
    package, path = LIBRARIES[name]
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (file := Path(folder) / path).is_file():
            return file
    raise LMCError(f"{package}, which draws it, is not installed in this kernel")


# Parts of the JSON --------------------------------------------------------------------------------


def _figure(bundle: Mapping[str, Any]) -> Any:
    """The figure, as it is or out of Plotly's HTML."""
    if PLOTLY in bundle:
        return _dict(_json(bundle[PLOTLY]))
    html = bundle.get("text/html")
    if not isinstance(html, str) or (match := _NEW_PLOT.search(html)) is None:
        return None
    if html_text(html):
        return None  # a page that has more in it than the figure
    read = json.JSONDecoder().raw_decode
    try:
        data, end = read(html, match.end())
        layout, _ = read(html, html.index("{", end, end + 100))
    except ValueError:
        return None
    return {"data": data, "layout": layout}


def _vega_spec(bundle: Mapping[str, Any]) -> Any:
    """The specification, as it is or out of Altair's HTML."""
    for mime, value in bundle.items():
        if _VEGA.match(mime):
            return _json(value)
    html = bundle.get("text/html")
    if isinstance(html, str) and "vega-embed" in html:
        spec = _json_behind(_ALTAIR, html)
        if "$schema" in _dict(spec):
            return spec
    return None


def _is_vega(spec: Any) -> bool:
    return "/vega/" in str(_dict(spec).get("$schema"))


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object of a chart that is drawn, each before what is in it; bounded."""
    waiting, count = [value], 0
    while waiting and count < MAX_NODES:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict):
            yield each
            waiting += reversed([part for key, part in each.items() if key not in _NOT_DRAWN])
        elif isinstance(each, list):
            waiting += reversed(each)


# The sentences ------------------------------------------------------------------------------------


def _plotly(figure: Any) -> str:
    layout, traces = _dict(figure.get("layout")), _list(figure.get("data"))
    parts = [_title(layout)]
    for name, axis in sorted(layout.items()):
        if _AXIS.match(name) and (title := _title(_dict(axis))):
            parts.append(f"{name.replace('axis', ' axis ').rstrip()} {title}")
    for trace in map(_dict, traces):
        parts.append(f"{_word(trace.get('type')) or 'scatter'} {_title(trace, 'name')}".rstrip())
    return _sentence("A Plotly figure was shown", parts)


def _vega(spec: Any) -> str:
    parts = [_title(_dict(spec))]
    for layer in _nodes(spec):
        if "mark" in layer:
            mark = layer["mark"]
            fields = [
                f"{channel} is {field}"
                for channel, what in _dict(layer.get("encoding")).items()
                if (field := _word(_dict(what).get("field")))
            ]
            name = _word(mark if isinstance(mark, str) else _dict(mark).get("type")) or "marks"
            parts.append(f"{name} where {', '.join(fields)}" if fields else name)
    return _sentence(
        "A Vega chart was shown" if _is_vega(spec) else "An Altair chart was shown", parts
    )


def _bokeh(document: Any) -> str:
    if document is None:
        return ""
    parts = []
    for node in _nodes(document):
        name, attributes = _word(node.get("name")), _dict(node.get("attributes"))
        if name == "Title":
            parts.append(_title(attributes, "text"))
        elif name.endswith("Axis") and (label := _title(attributes, "axis_label")):
            parts.append(f"axis {label}")
        elif name == "GlyphRenderer":
            parts.append(_word(_dict(attributes.get("glyph")).get("name")).lower())
        elif name == "LegendItem":
            parts.append(f"legend {_title(_dict(attributes.get('label')), 'value')}")
    return _sentence("A Bokeh figure was shown", parts)


def _sentence(what: str, parts: Iterable[str]) -> str:
    """What was shown, and its parts; of equal parts one, with their number."""
    names = list(filter(None, parts))
    counts = [
        f"{names.count(part)} x {part}" if names.count(part) > 1 else part
        for part in [*dict.fromkeys(names)][:MAX_PARTS]
    ]
    more = len(set(names)) - len(counts)
    words = "; ".join([*counts, *([f"{more} more parts"] if more else [])])
    return f"({what}: {shorten.line(words, MAX_SENTENCE)})" if words else f"({what})"


def _title(values: Mapping[str, Any], key: str = "title") -> str:
    """A title in quotes, in any of the shapes that the libraries give it; "" for none."""
    title = values.get(key)
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
    return shorten.line(" ".join(word.split()), MAX_WORD)


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


def _json_behind(before: re.Pattern[str], text: Any) -> Any:
    """The JSON object behind the first match."""
    match = before.search(text) if isinstance(text, str) else None
    if match is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, match.end())[0]
    except ValueError:
        return None
