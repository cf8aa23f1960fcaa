"""Widgets that code of the panel shows are live for the person, wherever the panel stands."""

from __future__ import annotations

import json

import pytest
from panel_page import Panel, show
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SLIDER = """import ipywidgets
moved = []
slider = ipywidgets.IntSlider(value=3, description='Size')
slider.observe(lambda change: moved.append(change['new']), 'value')
print('before')
display(slider)
print('after')"""


def answers(chat: Panel, *blocks: str) -> None:
    """A model that has these blocks run, whoever asks."""
    replies = ", ".join(f"[code({block!r}, end=True)]" for block in blocks)
    chat.do(f"script({replies}, [said('There.')])\ncurrent_session().auto_run = True")


def live(chat: Panel):
    """The live widgets in the panel, in their order."""
    return chat.panel.locator("article.lmc-has-widget .lmc-widget")


def handle(chat: Panel):
    return live(chat).first.get_by_role("slider")


def value(chat: Panel, of: str, wanted: object) -> None:
    """Wait until this is so in the kernel.

    What the person did comes by the comm, in its time, between two of these requests; a page
    sends a second change only after it has heard that the first was taken.
    """
    for _ in range(2_000):
        if chat.value(of) == wanted:
            return
    assert chat.value(of) == wanted


def reload(chat: Panel) -> None:
    page = chat.page
    page.reload()
    page.wait_for_function("() => window.jupyterapp")  # the page's own event may come before it
    page.evaluate("() => window.jupyterapp.restored")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
        "?.connectionStatus === 'connected'"
    )
    show(page, chat.notebook)  # the workspace may not have been saved yet


def test_a_slider_in_the_sidebar_is_moved_and_the_kernel_hears_of_it(pages):
    page = pages.page()
    chat = pages.open(page, "slider.ipynb")
    answers(chat, SLIDER)
    chat.ask("A slider, please.")
    chat.state("done")
    expect(live(chat)).to_have_count(1)
    expect(chat.record("console").get_by_text("IntSlider(value=3")).to_be_hidden()
    # it stands where it was shown, between what was printed
    assert chat.panel.locator('article[data-type="console"]').evaluate_all(
        "all => all.map(one => one.classList.contains('lmc-has-widget')"
        " ? 'widget' : one.innerText.trim()).filter(Boolean)"
    ) == ["before", "widget", "after"]
    for _ in range(2):
        handle(chat).press("ArrowRight")  # with the focus, which a cell may take back late
    value(chat, "(slider.value, moved)", (5, [4, 5]))
    expect(live(chat).locator(".widget-readout")).to_have_text("5")
    chat.do("slider.value = 9")
    expect(live(chat).locator(".widget-readout")).to_have_text("9")

    # the model and the history have its text, and nothing of the widget
    said = chat.messages()
    consoles = [m["content"] for m in said if m["type"] == "console"]
    assert consoles[0] == "before\n"
    assert consoles[1].startswith("IntSlider(value=3")
    assert consoles[2].startswith("after\n")
    model_id = chat.value("slider.model_id")
    assert model_id not in json.dumps(said)

    # a page that is loaded anew shows it again, with what it is now
    reload(chat)
    expect(live(chat)).to_have_count(1)
    expect(live(chat).locator(".widget-readout")).to_have_text("9")
    handle(chat).press("ArrowLeft")
    value(chat, "slider.value", 8)

    # closed in the kernel: the text is what is left of it
    chat.do("slider.close()")
    expect(live(chat)).to_have_count(0)
    expect(chat.record("console").get_by_text("IntSlider(value=3")).to_be_visible()
    reload(chat)
    expect(chat.record("console").get_by_text("IntSlider(value=3")).to_be_visible()
    expect(live(chat)).to_have_count(0)
    pages.end(page)


def test_several_widgets_and_one_shown_twice_are_live_in_their_order(pages):
    page = pages.page()
    chat = pages.open(page, "widgets.ipynb")
    answers(
        chat,
        "import ipywidgets as w\n"
        "text = w.Text(description='One')\n"
        "box = w.VBox([w.Checkbox(description='Two'), w.Button(description='Three')])\n"
        "display(text)\ndisplay(box)\ndisplay(text)",
        "import anywidget, traitlets\n"
        "class Count(anywidget.AnyWidget):\n"
        "    _esm = '''export default { render({ model, el }) {\n"
        "      const button = document.createElement('button');\n"
        "      const draw = () => { button.textContent = `count ${model.get('n')}`; };\n"
        "      const more = () => { model.set('n', model.get('n') + 1); model.save_changes(); };\n"
        "      button.onclick = more;\n"
        "      model.on('change:n', draw); draw(); el.append(button); } }'''\n"
        "    n = traitlets.Int(0).tag(sync=True)\n"
        "count = Count()\ncount",
    )
    chat.ask("Widgets, please.")
    chat.state("done")
    expect(live(chat)).to_have_count(4)
    expect(live(chat).nth(0)).to_contain_text("One")
    expect(live(chat).nth(1)).to_contain_text("Two")
    expect(live(chat).nth(1).get_by_role("button", name="Three")).to_be_visible()
    expect(live(chat).nth(2)).to_contain_text("One")
    live(chat).nth(0).get_by_role("textbox").fill("both")
    expect(live(chat).nth(2).get_by_role("textbox")).to_have_value("both")
    live(chat).nth(3).get_by_role("button", name="count 0").click()
    expect(live(chat).nth(3).get_by_role("button", name="count 1")).to_be_visible()
    value(chat, "count.n", 1)
    chat.do("%lmc undo")
    expect(live(chat)).to_have_count(0)
    pages.end(page)


def test_in_a_panel_of_a_cell_and_never_a_panel_in_a_panel(pages):
    page = pages.page()
    chat = pages.open(page, "widget-cell.ipynb")
    chat.run("%lmc panel")
    cell = page.locator(".jp-OutputArea .lmc-panel[data-ready]")
    cell.first.wait_for()
    answers(chat, SLIDER, "import lmc_jupyter\nlmc_jupyter.ChatPanel()")
    chat.ask("A slider, please.")
    chat.state("done")
    for place in (chat.panel, cell.first):
        expect(place.locator("article.lmc-has-widget .widget-slider")).to_be_visible()
    cell.first.get_by_role("slider").press("ArrowRight")
    value(chat, "slider.value", 4)
    expect(live(chat).first.locator(".widget-readout")).to_have_text("4")
    # of a second panel there is one, and no widget is in that
    inner = chat.panel.locator(".lmc-panel")
    expect(inner).to_have_count(1)
    expect(inner.locator('article[data-type="console"]').first).to_be_visible()
    expect(inner.locator(".lmc-has-widget")).to_have_count(0)
    pages.end(page)


def test_after_a_restart_its_text_stands_there(pages):
    page = pages.page()
    chat = pages.open(page, "widget-restart.ipynb")
    answers(chat, SLIDER)
    chat.ask("A slider, please.")
    chat.state("done")
    expect(live(chat)).to_have_count(1)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    expect(chat.log).to_contain_text("The kernel was restarted")
    expect(chat.record("console").get_by_text("IntSlider(value=3")).to_be_visible()
    expect(live(chat)).to_have_count(0)
    pages.end(page)
