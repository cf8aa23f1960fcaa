"""Charts and pictures of each kind, in the panel: drawn as the notebook would draw them."""

from __future__ import annotations

import pytest
from panel_page import press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def show(chat, source: str) -> None:
    """Have a model show this, read it to its end, and press Run."""
    chat.do(f"script([code({source!r}, end=True)], [said('There.')])")
    chat.ask()
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    chat.card.locator(".lmc-card-code").hover()
    chat.page.mouse.wheel(0, 100_000)
    press(chat.card, "Run")
    chat.state("done")


def frame(place):
    """What is shown: the page in the inner one of the two frames."""
    return place.frame_locator("iframe").frame_locator("iframe")


def told(chat) -> str:
    return "".join(
        m["content"]
        for m in chat.messages()
        if m["role"] == "computer" and m["type"] == "console" and m.get("recipient") != "user"
    )


def test_a_plotly_figure(chat):
    source = "import plotly.express as px\npx.bar(x=['a', 'b'], y=[1, 2], title='Prices of tea')"
    show(chat, source)
    shown = frame(chat.record("code", "computer"))
    expect(shown.get_by_text("Prices of tea")).to_be_visible()
    expect(shown.locator(".bars .point")).to_have_count(2)
    assert "'Prices of tea'" in told(chat)
    assert max(len(m["content"]) for m in chat.messages()) < 100_000, "the library is not kept"


def test_a_bokeh_figure(chat):
    show(
        chat,
        "from bokeh.io import output_notebook\nfrom bokeh.plotting import figure, show\n"
        "output_notebook()\np = figure(title='Prices', width=300, height=200)\n"
        "p.line([1, 2], [3, 4])\nshow(p)",
    )
    drawn = chat.record("code", "computer").last
    expect(frame(drawn).locator(".bk-Figure")).to_be_visible()
    assert "'Prices'" in told(chat)
    assert "idle" not in told(chat)


def test_an_altair_chart_is_a_picture(chat):
    show(
        chat,
        "import altair as alt, pandas as pd\n"
        "alt.Chart(pd.DataFrame({'a': [1, 2]})).mark_bar().encode(x='a:O', y='a')",
    )
    expect(chat.record("image", "computer").locator("img")).to_be_visible()
    assert chat.record("code", "computer").count() == 0


def test_an_svg_and_a_gif(chat):
    show(
        chat,
        "import io\nfrom IPython.display import SVG, Image, display\nfrom PIL import Image as P\n"
        "out = io.BytesIO(); P.new('RGB', (40, 30), 'red').save(out, 'gif')\n"
        "display(Image(data=out.getvalue(), format='gif'))\n"
        'SVG(\'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">'
        '<circle cx="30" cy="20" r="10"/></svg>\')',
    )
    expect(chat.record("image", "computer").first.locator("img")).to_be_visible()
    expect(frame(chat.record("code", "computer")).locator("circle")).to_be_visible()
