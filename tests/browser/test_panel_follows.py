"""The panel follows the answer: the newest thing is in sight unless the person has scrolled."""

from __future__ import annotations

import pytest
from panel_page import show
from playwright.sync_api import expect
from sampling import amount

pytestmark = pytest.mark.browser

HEIGHTS = (500, 720, 1100, 600, 900)  # of the window, px
SOURCES = (
    "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 3, 2]);",
    "import pandas as pd\npd.DataFrame({'n': range(12), 'square': [n * n for n in range(12)]})",
    "for n in range(40):\n    print('line', n)",
    "\n".join(f"value_{n} = {n}  # one of many lines of a longer block" for n in range(30)),
    "[][1]",
    "",  # words alone
)
WORDS = "\n\n".join(f"Paragraph {n} of an answer that says a little more." for n in range(6))

PACED = """
def words(text):
    return [said(word + ' ') for word in text.split(' ')]
class Paced(ScriptedModel):
    'Writes as fast as a model: a word at a time.'
    def respond(self, messages):
        for piece in super().respond(messages):
            yield piece
            time.sleep(0.01)
"""

GAP = """() => {
  const log = [...document.querySelectorAll('#lmc-sidebar .lmc-log')]
    .find(one => one.checkVisibility());
  return Math.round(log.scrollHeight - log.scrollTop - log.clientHeight);
}"""
SETTLED = """() => new Promise(done => {
  const log = [...document.querySelectorAll('#lmc-sidebar .lmc-log')]
    .find(one => one.checkVisibility());
  const sizes = () => [log.scrollHeight, log.clientHeight, log.scrollTop].join();
  let [before, since] = [sizes(), 0];
  const look = () => {
    since = sizes() === before ? since + 1 : 0;
    before = sizes();
    if (since > 20) done(); else requestAnimationFrame(look);
  };
  look();
})"""
"""Until nothing in the list has moved for 20 frames."""


def end_is_in_sight(chat) -> None:
    """The end of the list is where the person looks, and stays there."""
    chat.page.evaluate(SETTLED)
    assert chat.page.evaluate(GAP) < 40
    expect(chat.button("Jump to the end")).to_have_count(0)


def test_the_newest_thing_is_in_sight_after_each_question_at_every_height(chat):
    """Each question has a cell that goes with it, so that the line above the composer comes and
    goes, and code that moves from the list into its card and back."""
    chat.do(PACED)
    for number in range(amount(12, 30)):
        height = HEIGHTS[number % len(HEIGHTS)]
        source = SOURCES[number % len(SOURCES)]
        code = f", code({source!r}, end=True)" if source else ""
        after = f", [said({WORDS!r})]" if source else ""
        chat.do(f"script([said('Let me see.\\n\\n' * 8 + {WORDS!r}){code}]{after})")
        chat.page.set_viewport_size({"width": 1400, "height": height})
        own = chat.run(f"x = {number}")
        chat.notebook.wait_done(own)
        chat.panel.locator(".lmc-ledger-line").wait_for()
        chat.ask(f"Question {number}.")
        if source:
            chat.card.wait_for()
            end_is_in_sight(chat)
            unread = chat.card.get_by_role("checkbox", name="Run without reading it all")
            if unread.count():
                unread.click()  # it goes
            chat.press("Run")
        chat.state("done")
        end_is_in_sight(chat)


def test_who_scrolls_up_while_the_answer_grows_stays_there(chat):
    chat.do("model = Held(said('Words.\\n\\n' * 80), threading.Event())\nchoose(model)")
    chat.ask()
    expect(chat.record("message", "assistant").last).to_contain_text("Words.")
    end_is_in_sight(chat)
    chat.log.hover()
    chat.page.mouse.wheel(0, -400)
    expect(chat.button("Jump to the end")).to_be_visible()
    top = chat.log.evaluate("log => log.scrollTop")
    chat.button("Stop").click()
    chat.state("stopped")
    chat.page.evaluate(SETTLED)
    assert abs(chat.log.evaluate("log => log.scrollTop") - top) < 40
    chat.button("Jump to the end").click()
    end_is_in_sight(chat)


LONG = """
from lmc_jupyter.frontends.panel import mirror
from lmc_jupyter.lmc import Message
mirror.EARLIER = 200
earlier = mirror.Mirror.earlier
may_come = {before: threading.Event() for before in (400, 200)}
def wait(self, before):
    may_come[before].wait()
    return earlier(self, before)
mirror.Mirror.earlier = wait
current_session().messages = [
    message for n in range(300) for message in (
        Message("user", "message", None, f"Question {n}?"),
        Message("assistant", "message", None, f"Answer {n}. " + "Some words of it. " * (n % 9)),
    )
]
"""
PLACE = """(log, at) => {
  const record = log.querySelector(`[data-at="${at}"]`);
  return record.getBoundingClientRect().top - log.getBoundingClientRect().top;
}"""
FIRST = "log => Number(log.querySelector('article').dataset.at)"


@pytest.mark.parametrize("reads", ["at the top of what has come", "in its middle", "at its end"])
def test_who_reads_stays_there_while_the_earlier_messages_come(pages, own_page, reads):
    panel = pages.open(own_page, "long.ipynb")
    panel.do(LONG)
    own_page.reload()
    show(own_page, panel.notebook)
    coming = panel.log.get_by_text("The earlier messages are still on their way.")
    expect(panel.log.locator("article").last).to_contain_text("Answer 299.")
    expect(coming).to_have_count(1)
    assert panel.log.evaluate(FIRST) == 400
    at = {"at the top of what has come": 400, "in its middle": 500, "at its end": 599}[reads]
    own_page.evaluate(SETTLED)
    if at < 599:
        panel.log.hover()
        own_page.mouse.wheel(0, -300)
        expect(panel.button("Jump to the end")).to_be_visible()
        panel.log.evaluate("(log, top) => log.scrollTop = top", 0 if at == 400 else 9_000)
    own_page.evaluate(SETTLED)
    place = panel.log.evaluate(PLACE, at)
    for first in (200, 0):
        panel.do(f"may_come[{first + 200}].set()")
        own_page.wait_for_function(
            f"log => ({FIRST})(log) === {first}", arg=panel.log.element_handle()
        )
        own_page.evaluate(SETTLED)
        assert abs(panel.log.evaluate(PLACE, at) - place) < 40
    expect(coming).to_be_hidden()
    panel.log.evaluate("log => log.scrollTop = 0")
    expect(panel.log.locator("article").first).to_be_in_viewport()
    expect(panel.log.locator("article").first).to_contain_text("Question 0?")
