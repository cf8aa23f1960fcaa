"""Promises that only a real JupyterLab can show: what a saved notebook holds, what reloads, a noisy
cell and a tab that stands still lose."""

from __future__ import annotations

import itertools
import json
import random
import re
import time

import pytest
from panel_page import SETUP, press, show
from playwright.sync_api import expect
from sampling import SEED, amount
from test_panel_turns import COUNTING

pytestmark = [pytest.mark.browser, pytest.mark.long]

# What a saved notebook holds ----------------------------------------------------------------------

SAVES_STATE = "@jupyter-widgets/jupyterlab-manager:plugin"
CANARIES = ("canary-question", "canary-code", "canary-output", "canary-answer")
TALK = """
script([said('Let me see.'), code("print('canary-' + 'output')  # canary-code", end=True)],
       [said('canary-answer')], [said('canary-answer again')])
"""
PLANTED = """
import ipywidgets
planted = ipywidgets.HTML("canary-planted")
planted
"""


def save(page) -> None:
    """Save what is in front, as a person does."""
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")


@pytest.fixture
def state_is_saved(lab):
    """JupyterLab's *Save Widget State Automatically*."""
    lab.api("PUT", f"settings/{SAVES_STATE}", {"raw": '{"saveState": true}'}, base="lab/api")
    yield
    lab.api("PUT", f"settings/{SAVES_STATE}", {"raw": "{}"}, base="lab/api")


def state_after_a_talk(pages, lab, own_page, name: str, *cells: str) -> str:
    """What a notebook holds of widgets, after a talk in a cell and in the panel."""
    name = lab.write(name, f"{SETUP}{TALK}", "%%lmc\ncanary-question", *cells)
    notebook = pages.visit(own_page, lab, name)
    panel = show(own_page, notebook)
    for at in range(len(cells) + 2):
        notebook.run(at)
        if at == 1:
            press(notebook.cell(1).locator("[data-proposal]"), "Run")
        notebook.wait_done(at)
    panel.ask("canary-question again")
    expect(panel.record("message", "assistant").last).to_have_text("canary-answer again")
    panel.state("done")
    save(own_page)
    saved = json.loads((lab.root / name).read_text("utf-8"))
    assert "canary-answer" in json.dumps(saved["cells"]), "the answer itself stands in its cell"
    return json.dumps(saved["metadata"].get("widgets", {}))


def test_no_state_of_widgets_holds_the_talk(pages, lab, own_page, state_is_saved, record_property):
    state = state_after_a_talk(pages, lab, own_page, "state.ipynb", PLANTED)
    assert "canary-planted" in state, "control: what a widget holds is saved, and found"
    found = [canary for canary in CANARIES if canary in state]
    assert found == []
    record_property("figure", f"{len(found)} of {len(CANARIES)} words of the talk in {len(state):,}"
                    " characters of saved widgets; a planted one is found")  # fmt: skip


# Reloads ------------------------------------------------------------------------------------------

TALKING = """
class Talking:
    'Counts to 400, a number at a time.'
    def respond(self, messages):
        for number in range(400):
            time.sleep(0.02)
            yield said(f'{number} ')
choose(Talking())
"""


def shown(panel) -> list[dict[str, str]]:
    """The records as they are drawn, in a conversation that is over."""
    panel.state("done")
    return panel.shown()


@pytest.mark.timeout(2_400)
def test_reloads_at_any_moment_and_a_second_tab_show_what_one_that_was_never_reloaded_shows(
    pages, lab, record_property
):
    """The reloads of a few answers are at random moments of them."""
    moments = random.Random(SEED)
    page, second_page = pages.page(), pages.page()
    panel = pages.open(page, "reloads.ipynb")
    panel.do(TALKING)
    still = show(second_page, pages.visit(second_page, lab, "reloads.ipynb"))
    reloads, in_answers = amount(6, 100), 0
    for questions in itertools.count(1):
        if not reloads:
            break
        panel.ask("Count.")
        expect(panel.composer).to_have_value("")  # else it was not sent, or refused
        for each in (panel, still):  # the answer may be over
            expect(each.record("message", "user")).to_have_count(questions)
        for _ in range(min(reloads, 3)):
            page.wait_for_timeout(moments.uniform(0, 1_000))  # a moment is what is tried here
            in_answers += still.panel.get_attribute("data-state") == "writing"
            page.reload()
            panel = show(page, panel.notebook)
            reloads -= 1
        assert shown(panel) == shown(still)
        texts = [one["text"].split() for one in panel.shown() if one["role"] == "assistant"]
        assert texts == [[str(n) for n in range(400)]] * len(texts)
    pages.end(page, second_page)
    record_property(
        "figure", f"{amount(6, 100)} reloads, {in_answers} in mid-answer: 0 records differ"
    )


def without_asking_again(page):
    """From the call of what this returns on, nobody hears this page ask for what it missed."""
    asks_nobody = []

    def route(socket) -> None:
        server = socket.connect_to_server()

        def send(message: str | bytes) -> None:
            data = message if isinstance(message, bytes) else message.encode()
            if not (asks_nobody and b'"kind":"sync"' in data):
                server.send(message)

        socket.on_message(send)

    page.route_web_socket(re.compile(r"/channels\b"), route)
    return lambda: asks_nobody.append(True)


SILENT = "The kernel did not answer."
OPEN_SIDEBAR = """async () => {
  while (!window.jupyterapp) await new Promise((resolve) => setTimeout(resolve, 50));
  await window.jupyterapp.restored;
  window.jupyterapp.shell.activateById('lmc-sidebar');
}"""


def test_control_a_page_that_asks_for_nothing_shows_nothing_of_before(
    pages, lab, own_page, record_property
):
    stop = without_asking_again(own_page)
    panel = pages.open(own_page, "deaf.ipynb")
    panel.do("script([said('One.')])")
    panel.ask("Go.")
    expect(panel.record("message", "assistant").last).to_have_text("One.")
    panel.state("done")
    before = panel.shown()
    assert len(before) == 2
    stop()
    own_page.reload()
    own_page.evaluate(OPEN_SIDEBAR)
    expect(panel.root).to_contain_text(SILENT)
    assert panel.root.locator("article").count() == 0
    record_property("figure", f"a page that asks for nothing shows 0 of {len(before)} records")


# A noisy cell, and a tab that stands still --------------------------------------------------------

NOISE = """
import sys, time
for _ in range(300):  # 6 MB a second
    sys.stdout.write("".join("noise " * 166 + "\\n" for _ in range(60)))
    sys.stdout.flush()
    time.sleep(0.01)
"""


def test_beside_a_noisy_cell_no_record_is_missing(pages, lab, record_property):
    """Jupyter's server drops most of what the panel is sent meanwhile, so that it asks again."""
    page = pages.page()
    panel = pages.open(page, "noisy.ipynb")
    panel.do(TALKING.replace("400", "1_500"))
    panel.ask("Count.")
    answer = panel.record("message", "assistant").last
    expect(answer).to_contain_text("20 ")
    at = panel.run(NOISE)
    panel.notebook.wait_done(at, 300_000)  # 18 MB, on a machine with other work
    panel.do("assert current_session().wait(60)")
    begun = time.monotonic()
    panel.state("done")
    late = time.monotonic() - begun
    words = answer.inner_text().split()
    assert words == [str(n) for n in range(1_500)]
    assert [one["type"] for one in panel.shown()] == [m["type"] for m in panel.messages()]
    pages.end(page)
    record_property(
        "figure",
        f"1,500 pieces while a cell prints 18 MB: 0 missing, all drawn {late:.1f} s after both",
    )
    if late > 2:
        record_property("falls short", "the bar is 2 s")


def test_control_a_page_that_does_not_ask_again_misses_some(pages, lab, own_page, record_property):
    stop = without_asking_again(own_page)
    panel = pages.open(own_page, "noisy-deaf.ipynb")
    panel.do(TALKING.replace("400", "1_500"))
    panel.ask("Count.")
    answer = panel.record("message", "assistant").last
    expect(answer).to_contain_text("20 ")
    stop()
    at = panel.run(NOISE)
    panel.notebook.wait_done(at, 300_000)  # 18 MB, on a machine with other work
    panel.do("assert current_session().wait(60)")
    expect(panel.panel).to_contain_text(SILENT)
    words = answer.inner_text().split()
    assert len(words) < 1_500
    record_property("figure", f"without asking again {1_500 - len(words):,} of 1,500 are missing")


RSS = "__import__('psutil').Process().memory_info().rss"
STILL_SECONDS = 60


def test_a_tab_that_stands_still_costs_the_kernel_little_and_catches_up(
    pages, lab, own_page, record_property
):
    panel = pages.open(own_page, "still.ipynb")
    second_page = pages.page()
    watching = show(second_page, pages.visit(second_page, lab, "still.ipynb"))
    panel.do(COUNTING)  # two hundred pieces a second
    panel.ask("Go.")
    expect(panel.record("message", "assistant").last).to_contain_text("200 ")
    before = watching.value(RSS)
    client = own_page.context.new_cdp_session(own_page)
    client.send("Page.enable")
    client.send("Page.setWebLifecycleState", {"state": "frozen"})
    second_page.wait_for_timeout(STILL_SECONDS * 1_000)
    grown = (watching.value(RSS) - before) / 1_000_000
    client.send("Page.setWebLifecycleState", {"state": "active"})
    watching.do("counting.enough.set()")
    watching.state("done")
    panel.state("done")
    # of what is far out of sight there is no layout, and no `innerText`
    words = (panel.record("message", "assistant").last.text_content() or "").split()
    assert words == [*map(str, range(1, len(words))), "over."]
    assert len(words) > STILL_SECONDS * 50
    assert grown < 16
    pages.end(second_page)
    record_property(
        "figure",
        f"{STILL_SECONDS} s still, {len(words):,} pieces: {grown:.1f} MB more in the kernel, "
        "0 pieces missing",
    )


# A huge conversation ------------------------------------------------------------------------------

MESSAGES = amount(2_000, 100_000)
FILLED = f"""
from lmc_jupyter.lmc import Message
words = "It is a line of some words, as people and models write them. " * 6
current_session().messages = [
    Message("user" if n % 2 == 0 else "assistant", "message", None, f"{{n}}: {{words}}")
    for n in range({MESSAGES})
]
"""
TIMES_FIRST_PAINT = """
const { send } = WebSocket.prototype;
const times = (window.lmcTimes = {});
WebSocket.prototype.send = function (data) {
  const text = typeof data === "string" ? data : new TextDecoder().decode(data);
  if (text.includes('"kind":"sync"')) times.asked ??= performance.now();
  return send.call(this, data);
};
new MutationObserver(() => {
  if (document.querySelector(".lmc-panel article")) times.drawn ??= performance.now();
}).observe(document, { childList: true, subtree: true });
"""
SCROLL = """async () => {
  const log = document.querySelector('.lmc-panel [role=log]');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const times = [await frame()];
  log.scrollTop = log.scrollHeight / 2;
  for (let n = 0; n < 120; n++) {
    log.scrollTop -= 120;
    times.push(await frame());
  }
  const gaps = times.slice(1).map((time, n) => time - times[n]).sort((a, b) => a - b);
  return { height: log.scrollHeight, gap: gaps[60] };
}"""


def test_a_huge_conversation_is_drawn_and_scrolled(pages, lab, own_page, record_property):
    own_page.add_init_script(TIMES_FIRST_PAINT)
    panel = pages.open(own_page, "huge.ipynb")
    panel.notebook.wait_done(panel.run(FILLED), 600_000)
    own_page.reload()
    show(own_page, panel.notebook)
    last = panel.panel.locator("article").last
    expect(last).to_contain_text(f"{MESSAGES - 1}: ", timeout=300_000)
    count = "() => document.querySelectorAll('.lmc-panel article').length"
    own_page.wait_for_function(f"({count})() === {MESSAGES}", timeout=300_000)
    seconds = own_page.evaluate("() => lmcTimes.drawn - lmcTimes.asked") / 1_000
    scrolled = own_page.evaluate(SCROLL)
    assert scrolled["height"] > MESSAGES * 50
    frames = 1_000 / scrolled["gap"]
    record_property(
        "figure",
        f"{MESSAGES:,} messages: the panel draws first after {seconds:.1f} s, and scrolls with "
        f"{frames:.0f} frames a second",
    )
    if seconds > 1 or frames < 30:
        record_property("falls short", "the bar of the panel is 1 s, and 30 frames a second")
