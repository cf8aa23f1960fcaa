"""The example of the seeds' migration guide, "New Static Messages Structure", from end to end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from panel_page import PATIENT, press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

QUESTION = "Please create a plot from this data and display it as an image and then as HTML."
CODE = "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\ndisplay_as_html(plot)"

NAMES = """
import io
import matplotlib.pyplot as plt
from IPython.display import HTML, Image, display

def create_plot_from_data(name):
    figure, axes = plt.subplots(figsize=(3, 2))
    axes.plot([2021, 2022, 2023, 2024], [1, 3, 2, 5])
    axes.set_title(name)
    plt.close(figure)
    return figure

def display_as_image(plot):
    file = io.BytesIO()
    plot.savefig(file, format="png")
    display(Image(file.getvalue()))

def display_as_html(plot):
    heights = plot.axes[0].lines[0].get_ydata()
    points = " ".join(f"{40 * at},{100 - 20 * y}" for at, y in enumerate(heights))
    display(HTML(
        "<html><p>Plot in HTML format</p><svg width=150 height=100>"
        f"<polyline points='{points}' fill=none stroke=teal /></svg>"
        "<script>draw(1)</script></html>"
    ))
"""

SAID = (
    f"[said('Processing your request to generate a plot.'), code({CODE!r}, end=True)], "
    "[said('Plot generated successfully.')]"
)


def picture(page, name):
    """A screenshot for whoever asked for them."""
    if folder := os.environ.get("LMC_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def rows(messages):
    return [(m["role"], m["type"], m.get("format"), m.get("recipient")) for m in messages]


GIVEN = [
    ("user", "message", None, None),
    ("user", "image", "path", None),
    ("user", "file", None, None),
    ("assistant", "message", None, None),
    ("assistant", "code", "python", None),
    ("computer", "image", "base64.png", None),
    ("computer", "code", "html", None),
    ("computer", "console", "output", None),
    ("assistant", "message", None, None),
]


@pytest.fixture
def asked(chat):
    """The person's three messages, their functions, and a model that answers as in the guide."""
    chat.do(PATIENT + NAMES)
    chat.do(
        "display_as_image(create_plot_from_data('before'))\n"
        "create_plot_from_data('before').savefig('image.png')\n"
        "Path('file.pdf').write_bytes(b'%PDF-1.4 data')"
    )
    given = [
        {"role": "user", "type": "message", "content": QUESTION},
        {"role": "user", "type": "image", "format": "path", "content": "image.png"},
        {"role": "user", "type": "file", "content": "file.pdf"},
    ]
    chat.do(f"current_session().messages = {given!r}\nmodel = script({SAID})")
    return chat


def test_the_guides_messages_come_in_the_guides_order_in_the_panel(asked):
    chat = asked
    expect(chat.record("image", "user")).to_be_visible()
    chat.ask("/resume ")
    chat.press("Run")
    chat.state("done")
    messages = chat.messages()
    assert rows(messages) == GIVEN
    assert [m["content"] for m in messages[3:5]] == [
        "Processing your request to generate a plot.",
        CODE,
    ]
    assert messages[6]["content"].startswith("<html><p>Plot in HTML format</p><svg")
    assert messages[7]["content"] == "error: ReferenceError: draw is not defined (line 1)\n"
    shown = chat.record("code", "computer")
    page = shown.frame_locator("iframe").frame_locator("iframe")
    expect(page.get_by_text("Plot in HTML format")).to_be_visible()
    expect(page.locator("svg").first).to_be_visible()
    expect(chat.record("image", "computer").locator("img")).to_be_visible()
    expect(chat.record("console").last).to_contain_text("draw is not defined (line 1)")
    picture(chat.page, "guide-panel")
    # and the model was told all of it before its last words
    assert chat.value("[m.type for m in model.seen[1]]") == [
        "message", "image", "file", "message", "code", "image", "code", "console",
    ]  # fmt: skip


def test_in_a_cell_the_kernel_itself_shows_what_python_displays(asked):
    """There the HTML is the person's own output, with the rights of their page: nobody listens."""
    chat = asked
    at = chat.run("%lmc resume")
    cell = chat.notebook.cell(at)
    press(cell.locator("[data-proposal]"), "Run")
    chat.notebook.wait_done(at)
    without_console = [row for row in GIVEN if row[1] != "console"]
    assert rows(chat.messages()) == without_console
    expect(cell.get_by_text("Plot in HTML format")).to_be_visible()
    expect(cell.locator("img")).to_be_visible()
    picture(chat.page, "guide-cell")
