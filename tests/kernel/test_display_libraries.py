"""Each library that shows something, in a real kernel: it reaches both sides.

The person sees what the kernel itself sends (display_data and the like), the model what the
block yields. This file needs every library; what also runs where only some of them are is in
`test_display_media.py`.
"""

from __future__ import annotations

import base64
import io

import pytest
from display_sides import Sides, both_sides
from PIL import Image

from lmc_jupyter.content import charts

pytestmark = [pytest.mark.kernel, pytest.mark.long]

DATA = "import pandas as pd; df = pd.DataFrame({'year': [2020, 2021, 2022], 'tea': [3, 1, 2]})\n"


@pytest.fixture(scope="module")
def prepared(frontend):
    frontend.run("%matplotlib inline")
    frontend.run(DATA)
    return frontend


def sides(prepared, code: str) -> Sides:
    return both_sides(prepared, code)


def size(image: str) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(image))).size


def test_seaborn(prepared):
    found = sides(
        prepared,
        "import seaborn as sns\nsns.barplot(df, x='year', y='tea').set_title('Tea')\nNone",
    )
    assert found.person == ["image/png"]
    (image,) = found.images
    assert image["format"] == "base64.png"
    assert size(image["content"]) > (100, 100)


def test_plotly(prepared):
    found = sides(
        prepared,
        "import plotly.express as px\npx.line(df, x='year', y='tea', title='Prices of tea')",
    )
    assert found.person == [charts.PLOTLY]
    assert found.images == []
    assert found.html.count('<script data-lmc="plotly.js"></script>') == 1
    assert found.told.startswith("(A Plotly figure was shown: 'Prices of tea'; x axis 'year'; ")
    assert "y axis 'tea'; scatter" in found.told


def test_plotly_as_html(prepared):
    found = sides(
        prepared,
        "from IPython.display import HTML\n"
        "fig = px.bar(df, x='year', y='tea', title='Bars')\n"
        "HTML(fig.to_html(include_plotlyjs='cdn'))",
    )
    assert "text/html" in found.person
    assert "Plotly.newPlot" in found.html
    assert "cdn" not in found.html
    assert found.chunk("code")["recipient"] == "user"


@pytest.mark.parametrize("renderer", ["default", "mimetype", "png"])
def test_altair(prepared, renderer):
    found = sides(
        prepared,
        f"import altair as alt\nalt.renderers.enable({renderer!r})\n"
        "alt.Chart(df).mark_bar().encode(x='year:O', y='tea').properties(title='Tea')",
    )
    (image,) = found.images
    assert size(image["content"])[0] > 50
    if renderer == "png":
        assert "image/png" in found.person
    else:
        assert found.told == ("(An Altair chart was shown: 'Tea'; bar where x is year, y is tea)\n")
    if renderer == "default":
        assert "text/html" in found.person


def test_an_altair_chart_with_data_of_the_network_is_said_and_nothing_is_fetched(prepared):
    found = sides(
        prepared,
        "alt.renderers.enable('default')\n"
        "alt.Chart('http://127.0.0.1:9/none.csv').mark_point().encode(x='a:Q', y='b:Q')",
    )
    assert found.images == []
    assert found.told == "(An Altair chart was shown: point where x is a, y is b)\n"


def test_bokeh(prepared):
    loading = sides(prepared, "from bokeh.io import output_notebook\noutput_notebook()")
    assert "application/javascript" in loading.person
    found = sides(
        prepared,
        "from bokeh.plotting import figure, show\n"
        "p = figure(title='Prices', x_axis_label='Year')\n"
        "p.line([1, 2], [3, 4], legend_label='tea'); p.scatter([1], [3])\nshow(p)",
    )
    assert {"text/html", "application/javascript"} <= set(found.person)
    assert "data-root-id" in found.html
    assert found.told.startswith("(A Bokeh figure was shown: 'Prices'; ")
    for word in ("'Year'", "'tea'", "; line", "; scatter"):
        assert word in found.told


def test_svg_is_a_picture_for_the_model(prepared):
    found = sides(
        prepared,
        "from IPython.display import SVG\n"
        'SVG(\'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80">\'\n'
        '    \'<circle cx="60" cy="40" r="30"/></svg>\')',
    )
    assert found.person == ["image/svg+xml"]
    assert "<circle" in found.html
    (image,) = found.images
    assert image["recipient"] == "assistant"
    assert size(image["content"]) == (120, 80)


def test_matplotlib_as_svg(prepared):
    found = sides(
        prepared,
        "%config InlineBackend.figure_formats = ['svg']\n"
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\n"
        "%config InlineBackend.figure_formats = ['png']",
    )
    assert found.person == ["image/svg+xml"]
    (image,) = found.images
    assert size(image["content"]) > (300, 200)


def test_a_widget_is_live_for_the_person_and_text_for_the_model(prepared):
    found = sides(prepared, "import ipywidgets\nipywidgets.IntSlider(3, description='n')")
    assert found.person == ["application/vnd.jupyter.widget-view+json"]
    assert found.told == "IntSlider(value=3, description='n')\n"
