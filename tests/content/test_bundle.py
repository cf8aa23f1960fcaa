"""What of a mime bundle the person sees and the model reads."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys

import pytest
from PIL import Image

from lmc_jupyter.content import bundle as ours
from lmc_jupyter.content import charts
from lmc_jupyter.content.bundle import MAX_CODE, MAX_HTML, MAX_TEXT, pieces
from lmc_jupyter.content.images import MAX_STORED, ImageError
from lmc_jupyter.errors import LMCError

PNG = b"\x89PNG\r\n\x1a\nrest"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"><text>Tea</text></svg>'


def short(bundle):
    return [(p.type, p.format, p.content, p.recipient, p.end) for p in pieces(bundle)]


def kinds(bundle):
    return [(p.type, p.format, p.recipient) for p in pieces(bundle)]


def packed(image, format_):
    out = io.BytesIO()
    image.save(out, format_)
    return out.getvalue()


def b64(data):
    return base64.b64encode(data).decode()


# Images -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [PNG, base64.b64encode(PNG), base64.encodebytes(PNG).decode()])
def test_an_image_is_base64_without_line_ends(value):
    assert short({"image/png": value, "text/plain": "<Figure>"}) == [
        ("image", "base64.png", b64(PNG), None, True)
    ]


def test_png_is_preferred_to_jpeg_and_both_to_html():
    assert short({"image/jpeg": "J", "image/png": "P", "text/html": "<p>"})[0][1] == "base64.png"
    assert short({"image/jpeg": "J", "text/html": "<p>"})[0][1] == "base64.jpeg"


@pytest.mark.parametrize("kind", ["gif", "webp", "bmp", "tiff"])
@pytest.mark.parametrize("as_text", [True, False])
def test_an_image_of_another_format_becomes_a_png(kind, as_text):
    data = packed(Image.new("RGB", (5, 4), "red"), kind.upper())
    [piece] = pieces({f"image/{kind}": b64(data) if as_text else data})
    assert (piece.type, piece.format, piece.end) == ("image", "base64.png", True)
    assert Image.open(io.BytesIO(base64.b64decode(piece.content))).size == (5, 4)


def test_an_image_that_is_too_large_to_keep_is_scaled():
    data = packed(Image.effect_noise((1800, 1700), 90), "PNG")
    assert len(data) > MAX_STORED
    for value in (data, b64(data)):
        [piece] = pieces({"image/png": value})
        assert piece.format == "base64.jpeg"
        assert len(piece.content) < 4 * MAX_STORED / 3


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b"GIF89a" + bytes(10), "broken"),
        (b"\xff\x00nonsense", "not a png"),
        ("%%%", "not base64"),
        (b64(b"text"), "not a png"),
    ],
)
def test_an_image_that_cannot_be_kept_is_said(value, sentence):
    [piece] = pieces({"image/gif": value})
    assert piece.type == "console"
    assert sentence in piece.content


# HTML and SVG -------------------------------------------------------------------------------------


def test_html_is_for_the_person_and_its_text_for_the_model():
    assert short({"text/html": "<b>1</b>", "text/plain": "1"}) == [
        ("code", "html", "<b>1</b>", "user", True),
        ("console", "output", "1\n", "assistant", False),
    ]


@pytest.mark.parametrize(
    "bare",
    [
        "<IPython.core.display.HTML object>",
        "<pandas.io.formats.style.Styler at 0x7f00>",
        "<a.B object at 0x7f>",
        "",
    ],
)
def test_a_repr_that_says_nothing_is_not_a_text(bare):
    assert short({"text/html": "<b>x", "text/plain": bare}) == [
        ("code", "html", "<b>x", None, True)
    ]


def test_of_long_html_the_model_reads_the_text():
    html = f"<p>first</p>{'<i></i>' * MAX_CODE}<p>last</p>"
    assert short({"text/html": html}) == [
        ("code", "html", html, "user", True),
        ("console", "output", "first\nlast\n", "assistant", False),
    ]


def test_long_html_without_a_text_is_counted_for_the_model():
    html = f"<canvas></canvas><script>{'x' * MAX_CODE}</script>"
    assert short({"text/html": html}) == [
        ("code", "html", html, "user", True),
        ("console", "output", "(10,034 characters of html were shown)\n", "assistant", False),
    ]


def test_html_that_shows_nothing_is_not_for_the_model():
    assert short({"text/html": '<div id="x"></div>'}) == [
        ("code", "html", '<div id="x"></div>', "user", True)
    ]


def test_html_that_is_too_large_to_keep_is_said():
    html = f"<p>Tea</p><script>{'x' * MAX_HTML}</script>"
    [(type_, _, text, recipient, _)] = short({"text/html": html})
    assert (type_, recipient) == ("console", None)
    assert "(HTML of 8,000,027 characters was shown)" in text
    assert "Tea" in text


def test_the_text_of_a_long_table_is_its_head_and_tail():
    text = "first\n" + "x" * 3 * MAX_TEXT + "\nlast"
    told = pieces({"text/html": "<table></table>", "text/plain": text})[1].content
    assert len(told) < MAX_TEXT + 100
    assert told.startswith("first")
    assert told.endswith("last\n")
    assert f"{len(text) - MAX_TEXT:,} characters left out" in told


def test_images_within_html_are_for_the_model():
    data = b64(packed(Image.new("RGB", (5, 4)), "GIF"))
    html = f'<p>Tea</p><img src="data:image/gif;base64,{data}">' * 9
    found = pieces({"text/html": html})
    assert kinds({"text/html": html}) == [
        ("code", "html", "user"),
        *[("image", "base64.png", "assistant")] * 4,
        ("console", "output", "assistant"),
    ]
    assert found[-1].content.startswith("Tea")


def test_an_image_with_an_address_is_said_and_not_fetched():
    html = '<img src="http://127.0.0.1:9/x.png"/>'
    assert (
        short({"text/html": html, "text/plain": "<a.Image object>"})[1][2]
        == "(An image was shown, from http://127.0.0.1:9/x.png)\n"
    )


def test_an_svg_is_html_for_the_person_and_a_picture_for_the_model(monkeypatch):
    monkeypatch.setattr(ours, "from_svg", lambda svg: packed(Image.new("RGB", (4, 3)), "PNG"))
    assert kinds({"image/svg+xml": SVG, "text/plain": "<a.SVG object>"}) == [
        ("code", "html", "user"),
        ("image", "base64.png", "assistant"),
    ]


@pytest.mark.parametrize("fails", [True, False])
def test_an_svg_that_cannot_be_drawn_is_read(monkeypatch, fails):
    def not_drawn(_):
        if fails:
            raise ImageError("the SVG refers to something outside of it")

    monkeypatch.setattr(ours, "from_svg", not_drawn)
    assert short({"image/svg+xml": SVG}) == [("code", "html", SVG, None, True)]


def test_javascript_is_javascript():
    assert short({"application/javascript": "f()"}) == [("code", "javascript", "f()", None, True)]
    assert kinds({"application/javascript": "f" * (MAX_CODE + 1)}) == [
        ("code", "javascript", "user"),
        ("console", "output", "assistant"),
    ]


def test_a_widget_is_its_text():
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "IntSlider(value=0)"}
    assert short(widget) == [("console", "output", "IntSlider(value=0)\n", None, False)]


# Charts -------------------------------------------------------------------------------------------

PLOTLY = {
    "data": [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "tea",
            "x": ["2020", "2021", "2022", "2023"],
            "y": {"dtype": "f8", "bdata": "AAAAAAAA8D8AAAAAAAAAQAAAAAAAAAhAAAAAAAAAEEA="},
        },
        {"type": "bar", "y": [1, None, 2]},
    ],
    "layout": {
        "title": {"text": "Prices<br>of tea"},
        "xaxis": {"title": {"text": "Year"}},
        "yaxis": {"title": "€"},
    },
}
PLOTLY_SAID = (
    "(A Plotly figure was shown: 'Prices of tea'; x axis 'Year'; y axis '€'; scatter 'tea'; bar)\n"
)
VEGA = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "title": "Prices",
    "data": {"name": "d"},
    "datasets": {"d": [{"a": 1, "b": 3}, {"a": 2, "b": 4}]},
    "layer": [
        {"mark": {"type": "bar"}, "encoding": {"x": {"field": "a"}, "y": {"field": "b"}}},
        {"mark": "rule", "encoding": {"y": {"aggregate": "mean", "field": "b", "title": "Mean"}}},
    ],
}
VEGA_SAID = "(An Altair chart was shown: 'Prices'; bar where x is a, y is b; rule where y is b)\n"
BOKEH = {
    "u": {
        "roots": [
            {
                "name": "Figure",
                "attributes": {
                    "title": {"name": "Title", "attributes": {"text": "Prices"}},
                    "below": [{"name": "LinearAxis", "attributes": {"axis_label": "Year"}}],
                    "renderers": [
                        {"name": "GlyphRenderer", "attributes": {"glyph": {"name": "Line"}}},
                        {"name": "GlyphRenderer", "attributes": {"glyph": {"name": "Line"}}},
                    ],
                    "legend": {"name": "LegendItem", "attributes": {"label": {"value": "tea"}}},
                },
            }
        ]
    }
}


@pytest.fixture
def no_picture(monkeypatch):
    monkeypatch.setattr(charts, "picture", lambda bundle: None)


def test_what_a_plotly_figure_shows_is_said_and_drawn_without_the_web(no_picture):
    page, told = pieces({charts.PLOTLY: PLOTLY})
    assert (page.type, page.format, page.recipient) == ("code", "html", "user")
    assert '<script data-lmc="plotly.js"></script>' in page.content
    assert "http" not in page.content
    assert (told.content, told.recipient) == (PLOTLY_SAID, "assistant")
    assert pieces({charts.PLOTLY: PLOTLY, "text/html": "<p>by the web</p>"}) == [page, told]
    assert kinds({charts.PLOTLY: PLOTLY, "image/png": "P"}) == [
        ("image", "base64.png", None),
        ("console", "output", "assistant"),
    ]


def test_html_that_is_a_plotly_figure_is_one(no_picture):
    data, layout = json.dumps(PLOTLY["data"]), json.dumps(PLOTLY["layout"])
    html = f'<div id="a"></div><script>Plotly.newPlot(  "a",   {data},  {layout},  {{}} )</script>'
    figure = pieces({charts.PLOTLY: PLOTLY})
    assert pieces({"text/html": html, "text/plain": "<a.HTML object>"}) == figure
    for other in (html[:300], f"<p>A report</p>{html}"):
        assert short({"text/html": other})[0][:4] == ("code", "html", other, None)


def test_a_page_of_a_chart_holds_its_data_and_no_more_tags(no_picture):
    hostile = "</script><script>alert(1)</script><!--"
    figure = {"data": [{"name": hostile}], "layout": {"height": 10**9}}
    page = pieces({charts.PLOTLY: figure})[0].content
    assert page.count("<script") == page.count("</script>") == 2
    assert "alert(1)\\u003c/script" in page
    items = json.dumps([{"roots": {'"><b>': "x"}}])
    script = f"const docs_json = {json.dumps({'a': hostile})}; const render_items = {items};"
    page = charts.page({charts.BOKEH: "", "application/javascript": script})
    assert page.count("</script>") == 2
    assert "<!--" not in page
    assert "<b>" not in page.partition("<script")[0]


@pytest.mark.parametrize("name", charts.LIBRARIES)
def test_a_library_is_the_one_that_is_installed(name, tmp_path, monkeypatch):
    package, path = charts.LIBRARIES[name]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, package)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(LMCError, match=f"{package}, which draws it, is not installed"):
        charts.library(name)
    file = tmp_path / package / path
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / package / "__init__.py").touch()
    assert charts.library(name) == file


@pytest.mark.parametrize("mime", ["application/vnd.vegalite.v6+json", "text/html"])
def test_what_an_altair_chart_shows_is_said(no_picture, mime):
    html = f"<div></div><script>vega-embed(function() {{}})({json.dumps(VEGA)}, {{}});</script>"
    html = html.replace("function() {}", "(function() {}").replace("(((", "((")
    bundle = {mime: html if mime == "text/html" else VEGA, "text/plain": "alt.Chart(...)"}
    said = [p.content for p in pieces(bundle) if p.type == "console"]
    assert said == [VEGA_SAID]


def test_what_a_bokeh_figure_shows_is_said(no_picture):
    script = f"(function(root) {{ const docs_json = {json.dumps(BOKEH)}; }})(window);"
    said = "(A Bokeh figure was shown: 'Prices'; axis 'Year'; 2 x line; legend 'tea')\n"
    bundle = {"application/javascript": script, charts.BOKEH: ""}
    assert short(bundle) == [("console", "output", said, None, False)]
    items = '[{"docid": "u", "roots": {"p1": "place-1"}}]'
    bundle["application/javascript"] = script + f"const render_items = {items};"
    page, told = pieces(bundle)
    assert page.content.startswith('<div id="place-1" data-root-id="p1"></div>')
    assert '<script data-lmc="bokeh.js"></script>' in page.content
    assert (told.content, told.recipient) == (said, "assistant")
    place = '\n  <div id="a-b" data-root-id="p1" style="display: contents;"></div>\n'
    assert pieces({"text/html": place}) == []
    assert short({"application/javascript": "load()", charts.BOKEH_LOADS: "load()"}) == []


def test_a_chart_with_a_picture_is_seen_by_both(monkeypatch):
    png = packed(Image.new("RGB", (4, 3)), "PNG")
    monkeypatch.setattr(charts, "picture", lambda bundle: png)
    image = ("image", "base64.png", b64(png), None, True)
    found = short({charts.PLOTLY: PLOTLY})
    assert found[0] == image
    assert [each[0] for each in found] == ["image", "code", "console"]
    vega = "application/vnd.vegalite.v6+json"
    assert short({vega: VEGA, "text/html": "<div>"}) == [
        image,
        ("console", "output", VEGA_SAID, "assistant", False),
    ]


def nested(depth: int) -> object:
    """A tree as deep as that, whose parts are many more."""
    found: object = []
    for _ in range(depth):
        found = {"spec": found, "layer": [found, found]}
    return found


FOREST = nested(40)
"""It has more parts than could ever be looked at."""


@pytest.mark.parametrize(
    "bad",
    [
        None, 7, "", "x", [], {}, {"data": 3, "layout": []}, {"data": [None, [], {"x": 1}]},
        {"layout": {"title": {"text": ["a", {}]}, "xaxis": 3}},
        {"data": [{"x": {"dtype": "f8", "bdata": "%%"}, "y": {"dtype": [], "bdata": "AAAA"}}]},
        {"data": [{"x": [10**400, float("nan"), float("inf"), True], "type": {}}]},
        {"mark": [], "encoding": {"x": [], "y": 3}, "datasets": [], "$schema": 4},
        {"layer": {"a": 1}, "title": True, "data": {"values": 3}},
        "[" * 100_000, '{"a":' * 100_000, FOREST, nested(10),
        {"name": "Title", "attributes": {"text": "x" * 10_000}},
        {"mark": "point", "encoding": {f"{n}" * 50: {"field": f"f{n}"} for n in range(1_000)}},
        {"data": [{"name": f"{n}" * 500} for n in range(12)]},
    ],
)  # fmt: skip
def test_whatever_a_chart_is_made_of_it_is_a_short_text(no_picture, bad):
    as_text = bad if isinstance(bad, str) else "{" if bad is FOREST else json.dumps(bad)
    for bundle in (
        {charts.PLOTLY: bad},
        {"application/vnd.vegalite.v6+json": bad},
        {"application/vnd.vega.v5+json": bad},
        {"text/html": "vega-embed })(" + as_text},
        {charts.BOKEH: "", "application/javascript": f"docs_json = {as_text}"},
    ):
        assert len(charts.sentence(bundle)) < 2_000


# The rest -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bundle", "text"),
    [
        ({"text/plain": "2"}, "2\n"),
        ({"application/json": {"a": "é"}}, '{"a": "é"}\n'),
        ({"application/vnd.x+json": {}}, "(application/vnd.x+json was shown)\n"),
        ({"text/plain": "<a.B object at 0x7f>"}, "<a.B object at 0x7f>\n"),
    ],
)  # fmt: skip
def test_everything_else_is_text(bundle, text):
    assert short(bundle) == [("console", "output", text, None, False)]


@pytest.mark.parametrize(
    ("bundle", "shown", "told"),
    [
        ({"text/plain": "<M object>", "text/markdown": "# a"}, "# a", "# a\n"),
        ({"text/latex": "$x$"}, "$x$", "$x$\n"),
        (
            {"text/latex": "\\begin{equation}x\\end{equation}"},
            "$$\n\\begin{equation}x\\end{equation}\n$$",
            "$$\n\\begin{equation}x\\end{equation}\n$$\n",
        ),
        ({"text/plain": "x**2", "text/latex": "$x^2$"}, "$x^2$", "x**2\n"),
    ],
)
def test_what_is_written_is_drawn_for_the_person_and_plain_for_the_model(bundle, shown, told):
    assert short(bundle) == [
        ("code", "markdown", shown, "user", True),
        ("console", "output", told, "assistant", False),
    ]


def test_what_is_written_without_end_is_text():
    long = "x" * (MAX_CODE + 1)
    assert short({"text/markdown": long}) == [("console", "output", f"{long}\n", None, False)]


def test_an_empty_bundle_is_nothing():
    assert pieces({}) == []


LONG = """
import sys
from pathlib import Path
from lmc_jupyter.content.bundle import pieces
from lmc_jupyter.computer.process.framed import page
from lmc_jupyter.content.images import ImageError, from_svg

pieces({"text/html": "<img " + "src='' " * 200_000})
try:
    from_svg("<!--" * 200_000)
except ImageError:
    pass
path = Path(sys.argv[1])
for tag in ("<script " + "src='a' " * 200_000, "<link " + "href='a.css' " * 200_000):
    path.write_text(tag)
    page(path)
"""


def test_no_text_is_searched_for_ever(tmp_path):
    """Each of these took minutes, in which nothing could be stopped; only a failure waits."""
    command = [sys.executable, "-c", LONG, str(tmp_path / "page.html")]
    subprocess.run(command, check=True, timeout=120)
