"""What of a mime bundle the person sees and the model reads."""

from __future__ import annotations

import base64

import pytest

from lmc_jupyter.computer.bundle import MAX_CODE, pieces

PNG = b"\x89PNG\r\n\x1a\nrest"


def short(bundle):
    return [(p.type, p.format, p.content, p.recipient, p.end) for p in pieces(bundle)]


@pytest.mark.parametrize("value", [PNG, base64.b64encode(PNG), base64.encodebytes(PNG).decode()])
def test_an_image_is_base64_without_line_ends(value):
    assert short({"image/png": value, "text/plain": "<Figure>"}) == [
        ("image", "base64.png", base64.b64encode(PNG).decode(), None, True)
    ]


def test_png_is_preferred_to_jpeg_and_both_to_html():
    assert short({"image/jpeg": "J", "image/png": "P", "text/html": "<p>"})[0][1] == "base64.png"
    assert short({"image/jpeg": "J", "text/html": "<p>"})[0][1] == "base64.jpeg"


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
    assert short({"text/html": "<b>", "text/plain": bare}) == [("code", "html", "<b>", None, True)]


def test_long_html_without_a_text_is_counted_for_the_model():
    html = "x" * (MAX_CODE + 1)
    assert short({"text/html": html}) == [
        ("code", "html", html, "user", True),
        ("console", "output", "(10,001 characters of html were shown)\n", "assistant", False),
    ]


def test_svg_is_html_and_javascript_is_javascript():
    assert short({"image/svg+xml": "<svg/>", "text/plain": "x"})[0][:3] == (
        "code",
        "html",
        "<svg/>",
    )
    assert short({"application/javascript": "f()"}) == [("code", "javascript", "f()", None, True)]


def test_a_widget_is_its_text():
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "IntSlider(value=0)"}
    assert short(widget) == [("console", "output", "IntSlider(value=0)\n", None, False)]


@pytest.mark.parametrize(
    ("bundle", "text"),
    [
        ({"text/plain": "2"}, "2\n"),
        ({"text/plain": "<M object>", "text/markdown": "# a"}, "# a\n"),
        ({"text/latex": "$x$"}, "$x$\n"),
        ({"text/plain": "x**2", "text/latex": "$x^2$"}, "x**2\n"),
        ({"application/json": {"a": "é"}}, '{"a": "é"}\n'),
        ({"application/vnd.plotly.v1+json": {}}, "(application/vnd.plotly.v1+json was shown)\n"),
        ({"text/plain": "<a.B object at 0x7f>"}, "<a.B object at 0x7f>\n"),
    ],
)
def test_everything_else_is_text(bundle, text):
    assert short(bundle) == [("console", "output", text, None, False)]


def test_an_empty_bundle_is_nothing():
    assert pieces({}) == []
