"""HTML and JavaScript of the page, in the panel and in a cell: shown, heard, and kept in."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from panel_page import PATIENT, press
from panel_page import show as open_panel
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def patient(chat):
    """A busy machine is not a page that says nothing, nor a cell that no browser shows."""
    chat.do(PATIENT)


def frame(place):
    """What is shown: the page in the inner one of the two frames."""
    return place.frame_locator("iframe").frame_locator("iframe")


def read(card):
    """Scroll to the end of the code, as who reads it does: before that there is no Run."""
    card.and_(card.page.locator("[data-ready]")).wait_for()
    card.locator(".lmc-card-code").hover()
    card.page.mouse.wheel(0, 100_000)


def show(chat, source, language="html", more=""):
    """Have a model show this, and press Run."""
    chat.do(f"script([code({source!r}, {language!r}, end=True)], [said('There.')])\n{more}")
    chat.ask()
    read(chat.card)
    chat.press("Run")


def height(frame):
    """The height of a frame, once it is that of its page: that comes after what it shows."""
    tall = "frame => frame.getBoundingClientRect().height > 150"
    frame.page.wait_for_function(tall, arg=frame.element_handle())
    return frame.evaluate("frame => frame.getBoundingClientRect().height")


def results(messages):
    """What the computer said: (type, format, recipient, content)."""
    return [
        (m["type"], m.get("format"), m.get("recipient"), m["content"])
        for m in messages
        if m["role"] == "computer"
    ]


def picture(page, name):
    """A screenshot for whoever asked for them."""
    if folder := os.environ.get("LMC_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


PAGE = """<!doctype html>
<html><head><title>Sales</title>
<style>body { font-family: sans-serif; padding: 12px } .bar { background: teal; color: white;
  padding: 4px 8px; margin: 4px 0 }</style></head>
<body><h2>Sales by year</h2><div id="bars"></div>
<img src="https://example.org/logo.png" alt="logo">
<script>
for (const [year, value] of [[2023, 120], [2024, 180], [2025, 260]]) {
  const bar = document.createElement("div");
  bar.className = "bar"; bar.style.width = value + "px"; bar.textContent = year;
  document.getElementById("bars").append(bar);
}
console.log("drawn", {bars: 3});
undefinedFunction();
</script></body></html>
"""


@pytest.mark.day
def test_html_is_shown_and_what_it_said_comes_back(chat):
    show(chat, PAGE)
    chat.state("done")
    shown = chat.record("code", "computer")
    expect(frame(shown).get_by_text("2025")).to_be_visible()
    assert height(shown.locator("iframe")) < 400
    picture(chat.page, "panel-html")
    html, console, told = results(chat.messages())
    assert html == ("code", "html", "user", PAGE)
    assert console[:3] == ("console", "output", None)
    lines = console[3].splitlines()
    assert 'drawn {"bars":3}' in lines
    assert any("https://example.org/logo.png" in line and "no network" in line for line in lines)
    assert "error: ReferenceError: undefinedFunction is not defined (line 14)" in lines
    assert len(lines) == 3
    assert told[:3] == ("console", "output", "assistant")
    assert "Sales by year" in told[3]
    assert "2025" in told[3]


def test_html_without_anything_to_say_brings_its_text_only(chat):
    show(chat, "<p>Only <b>this</b>.</p>")
    chat.state("done")
    html, told = results(chat.messages())
    assert html[1:3] == ("html", "user")
    assert told[2] == "assistant"
    assert told[3].endswith("Only this.\n")


def test_javascript_of_the_page_runs_in_a_page_of_its_own(chat):
    source = (
        "const box = document.createElement('p');\n"
        "box.textContent = await Promise.resolve('from the page');\n"
        "document.body.append(box);\nconsole.warn('careful');\nnothing.here"
    )
    show(chat, source, "browser")
    chat.state("done")
    shown = chat.record("code", "computer")
    expect(frame(shown).get_by_text("from the page")).to_be_visible()
    code, console, told = results(chat.messages())
    assert code == ("code", "javascript", "user", source)
    assert console[3].splitlines() == [
        "warning: careful",
        "error: unhandled rejection: ReferenceError: nothing is not defined",
    ]
    assert "from the page" in told[3]


def test_javascript_that_draws_nothing_says_its_value(chat):
    show(chat, "[1, 2, 3].map(x => x * x)", "dom")
    chat.state("done")
    assert results(chat.messages())[1][3] == "[1,4,9]\n"
    chat.do("script([code('let x = ;', 'browser', end=True)], [said('k')])")
    chat.ask()
    chat.press("Run")
    expect(chat.record("message", "assistant")).to_have_count(2)
    chat.state("done")
    assert "SyntaxError" in results(chat.messages())[-1][3]


def test_an_error_of_the_page_is_told_with_its_own_line(chat):
    show(chat, "let first = 1;\nnothing.here;", "browser")
    chat.state("done")
    said = "error: ReferenceError: nothing is not defined (line 2)\n"
    assert results(chat.messages())[1][3] == said


def test_a_page_that_is_out_of_sight_is_heard_at_once(chat):
    chat.do(
        "model = script([said('long\\n\\n' * 200), code('1', 'python', end=True)], [said('k')])"
    )
    chat.ask()
    chat.press("Run")
    chat.state("done")
    show(chat, "<script>console.log('heard')</script>" + "<p>tall</p>" * 100)
    chat.log.hover()
    chat.page.mouse.wheel(0, -100_000)
    expect(chat.record("message", "assistant")).to_have_count(3)
    chat.state("done")
    assert results(chat.messages())[-2][3] == "heard\n"


def test_what_was_shown_before_is_not_reported_again(chat):
    show(chat, "<script>console.log('once')</script><p>shown</p>")
    chat.state("done")
    before = results(chat.messages())
    chat.page.reload()
    chat.page.wait_for_function("() => window.jupyterapp")
    open_panel(chat.page, chat.notebook)  # the workspace may not have been saved yet
    chat.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
        "?.connectionStatus === 'connected'"
    )
    shown = chat.record("code", "computer")
    expect(frame(shown).get_by_text("shown")).to_be_visible()
    expect(shown.locator(".lmc-console")).to_be_hidden()  # it stands in the record behind
    assert results(chat.messages()) == before


# What a page may try ------------------------------------------------------------------------------


@pytest.fixture
def collector():
    """(the address of a server, what was asked of it)."""
    asked: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            """Nothing on the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.day
def test_what_a_page_may_not_do_is_said_and_harms_nothing(chat, collector):
    where = chat.page.url
    at, requests = collector
    source = """<p id="p">calm</p><iframe src="{at}/inner"></iframe>
<script>
alert("boo"); p.textContent += confirm("sure?"); open("{at}/popup");
fetch("{at}/data").catch(() => 0);
const link = document.createElement("a"); link.href = "data:,x"; link.download = "x"; link.click();
try { parent.document.title = "mine" } catch (error) { console.log(error.name) }
try { top.location = "{at}/top" } catch (error) { console.log(error.name) }
for (let i = 0; i < 3; i++) new Image().src = "{at}/same.png";
</script>""".replace("{at}", at)
    chat.page.on("popup", lambda popup: requests.append(popup.url))
    chat.page.on("download", lambda download: requests.append(download.url))
    show(chat, source)
    chat.state("done")
    console = results(chat.messages())[1][3]
    lines = console.splitlines()
    assert "blocked: alert(boo)" in lines
    assert "blocked: confirm(sure?)" in lines
    assert f"blocked: open({at}/popup)" in lines
    assert "SecurityError  (2 times)" in lines
    for blocked in ("/data (connect-src", "/same.png (img-src", " (frame-src"):
        assert console.count(f"blocked: {at}{blocked}") == 1, console
    expect(frame(chat.record("code", "computer")).locator("#p")).to_have_text("calmfalse")
    assert chat.page.url == where
    assert requests == []


def test_a_page_that_goes_away_is_said_at_once(chat):
    show(chat, "<script>location.href = 'https://example.org/gone?' + 1</script><p>here</p>")
    chat.state("done")
    said = results(chat.messages())[1][3]
    assert said == "blocked: the page tried to go to https://example.org\n"


TIMER = """() => {
  let last = performance.now();
  window.longestGap = 0;
  clearInterval(window.gapTimer);
  window.gapTimer = setInterval(() => {
    const now = performance.now();
    window.longestGap = Math.max(window.longestGap, now - last);
    last = now;
  }, 50);
}"""


def longest_gap(page) -> float:
    """Milliseconds between two ticks of the page's own timer of 50."""
    return page.evaluate("() => { clearInterval(window.gapTimer); return window.longestGap; }")


def test_an_endless_loop_leaves_the_panel_alive_and_is_said(chat, record_property):
    chat.page.evaluate(TIMER)
    show(chat, "<p>before</p><script>for (;;) {}</script>")
    chat.state("done")
    record_property(
        "figure", f"longest gap of a timer in the page {longest_gap(chat.page):,.0f} ms"
    )
    (_, told, *_) = results(chat.messages())
    assert "It had not finished loading after 10 s." in told[3]
    chat.do("script([said('Still here.')])")
    chat.ask("Are you there?")
    expect(chat.record("message", "assistant").last).to_have_text("Still here.")
    expect(chat.record("code", "computer")).to_contain_text("This HTML was stopped")


def test_control_the_same_loop_in_a_frame_of_the_page_itself_stops_it(chat, record_property):
    chat.page.evaluate(TIMER)
    chat.page.evaluate("""() => new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.srcdoc = '<script>const end = performance.now() + 3000;'
        + 'while (performance.now() < end);</' + 'script>';
      frame.onload = () => setTimeout(() => { frame.remove(); resolve(); }, 200);
      document.body.append(frame);
    })""")
    gap = longest_gap(chat.page)
    assert gap > 2_500
    record_property("figure", f"in a frame without a sandbox, for 3 s: a gap of {gap:,.0f} ms")


def test_stop_ends_the_wait_for_a_page(chat):
    show(chat, "<p>before</p><script>for (;;) {}</script>")
    chat.record("code", "computer").wait_for()
    chat.button("Stop").click()
    chat.state("stopped")
    assert [each[1] for each in results(chat.messages())] == ["html"]


def test_a_flood_of_lines_and_five_megabytes_are_bounded(chat):
    chat.do("current_session().auto_run = ['html']")
    flood = "<script>for (let i = 0; i < 20000; i++) console.log(i, 'x'.repeat(2000))</script>"
    chat.do(f"script([code({flood!r}, 'html', end=True)], [said('k')])")
    chat.ask()
    chat.state("done")
    console = results(chat.messages())[1][3]
    assert 90_000 < len(console) < 102_000
    assert console.startswith("0 xx")
    large = "'<pre>' + 'many words ' * 500_000 + '</pre><p>the end</p>'"
    chat.do(f"script([code({large}, 'html', end=True)], [said('the last words')])")
    chat.ask()
    expect(chat.record("message", "assistant").last).to_have_text("the last words")
    chat.state("done")
    chat.do("current_session().auto_run = False")
    told = results(chat.messages())[-1]
    late = told[3].strip() == "It had not finished loading after 10 s."  # as on a slow machine
    assert late or told[2] == "assistant", told[3][-500:]
    assert len(told[3]) < 10_200


# In a cell ----------------------------------------------------------------------------------------


def test_html_in_a_cell_is_live_and_leaves_a_frame_that_needs_no_kernel(chat):
    chat.do(f"script([code({PAGE!r}, 'html', end=True)], [said('There.')])")
    at = chat.run("%%lmc\nShow the sales.")
    cell = chat.notebook.cell(at)
    card = cell.locator("[data-proposal]")
    read(card)
    press(card, "Run")
    chat.notebook.wait_done(at)
    html, console, told = results(chat.messages())
    assert html == ("code", "html", "user", PAGE)
    assert "error: ReferenceError: undefinedFunction is not defined (line 14)" in console[3]
    assert "2025" in told[3]
    record = cell.locator(".lmc-frame")
    expect(frame(record).get_by_text("2025")).to_be_visible()
    assert height(record) < 400
    record.scroll_into_view_if_needed()
    picture(chat.page, "cell-html")
    outputs = json.dumps(chat.notebook.outputs(at))
    assert "widget-view" not in outputs
    assert "frame-src 'none'" in outputs


def test_a_script_that_only_speaks_leaves_no_frame_in_the_cell(chat):
    chat.do("script([code('console.log(6 * 7)', 'browser', end=True)], [said('There.')])")
    at = chat.run("%%lmc --auto-run\nSay it.")
    chat.notebook.wait_done(at)
    cell = chat.notebook.cell(at)
    assert results(chat.messages())[1][:4] == ("console", "output", None, "42\n")
    expect(cell.locator(".lmc-frame")).to_have_count(0)
    expect(cell.get_by_text("JavaScript source")).to_be_visible()


def test_the_record_of_a_cell_shows_the_page_again_without_a_kernel_and_is_safe_untrusted(
    chat, pages, lab
):
    source = "<h2>Kept</h2><script>document.body.append('drawn ' + 6 * 7)</script>"
    chat.do(f"script([code({source!r}, 'html', end=True)], [said('There.')])")
    at = chat.run("%%lmc --auto-run\nShow it.")
    chat.notebook.wait_done(at)
    outputs = chat.notebook.outputs(at)
    name = lab.write("kept.ipynb", "")
    kept = json.loads((lab.root / name).read_text("utf-8"))
    kept["cells"][0]["outputs"] = outputs
    (lab.root / name).write_text(json.dumps(kept), "utf-8")

    page = pages.page()
    notebook = pages.visit(page, lab, name)
    cell = notebook.cell(0)
    expect(cell).to_contain_text("There.")
    expect(cell).to_contain_text("HTML source")
    picture(page, "untrusted")
    assert "drawn 42" not in cell.inner_text()

    lab.api("POST", f"contents/{name}/trust")
    trusting = pages.page()
    cell = pages.visit(trusting, lab, name).cell(0)
    expect(frame(cell.locator(".lmc-frame")).get_by_text("drawn 42")).to_be_visible()
    picture(trusting, "trusted")
    pages.end(page, trusting)


def test_a_page_as_tall_as_its_window_does_not_grow_for_ever(chat):
    show(
        chat,
        "<style>body { margin: 0 } .all { min-height: 100vh; padding: 20px; background: teal }"
        "</style><div class='all'>tall</div>",
    )
    chat.state("done")
    shown = chat.record("code", "computer").locator("iframe")
    heights = (
        "frame => new Promise(done => { const seen = []; const look = () => { seen.push("
        "frame.getBoundingClientRect().height); seen.length < 60 ? requestAnimationFrame(look) : "
        "done(seen) }; look() })"
    )
    assert max(shown.evaluate(heights)) < 600
    (_, told) = results(chat.messages())
    assert "tall" in told[3]


def test_a_page_in_a_closed_sidebar_is_heard_too(chat):
    page = "<p>tall</p><script>console.log(1)</script>"
    chat.do(
        "go = threading.Event()\ncurrent_session().auto_run = True\n"
        f"choose(Held(said('wait'), go, code({page!r}, 'html', end=True)))"
    )
    chat.ask()
    expect(chat.record("message", "assistant")).to_be_visible()
    toggle = "() => { window.jupyterapp.commands.execute('lmc:toggle'); }"
    chat.page.evaluate(toggle)
    expect(chat.root).to_be_hidden()
    chat.do("go.set(); current_session().wait(60); current_session().auto_run = False")
    chat.page.evaluate(toggle)
    chat.state("done")
    (_, console, told) = results(chat.messages())
    assert console[3] == "1\n"
    assert told[3] == "(It is shown to the person, though out of sight now. Its text:)\ntall\n"
