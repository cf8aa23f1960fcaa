"""Turns that something happens to: other notebooks, restarts, reloads, two tabs, cells, a flood."""

from __future__ import annotations

import json
import re

import pytest
from model_server import Turn, text, tool
from panel_page import SETUP, press, show
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

COUNTING = """
class Counting:
    'Counts until the test ends it.'
    enough = threading.Event()
    def respond(self, messages):
        number = 0
        while not self.enough.wait(0.005):
            number += 1
            yield said(f'{number} ')
        yield said('over.')
counting = choose(Counting())
"""


def last(chat):
    """The answer's last words."""
    return chat.record("message", "assistant").last


def same(chat) -> None:
    """What is shown is what the kernel has, once each."""
    broken = "Stopped here."  # what the panel says below an answer that was
    texts = [one["text"] for one in chat.shown() if one["type"] == "message"]
    shown = [text.strip().removesuffix(broken).strip() for text in texts]
    assert shown == [m["content"].strip() for m in chat.messages() if m["type"] == "message"]


# Two notebooks ------------------------------------------------------------------------------------


def bring(chat, name: str) -> None:
    """The notebook of this name comes to the front."""
    chat.page.evaluate(
        """async path => {
          await window.jupyterapp.commands.execute('docmanager:open', { path });
          const { shell } = window.jupyterapp;
          const isThere = () => shell.currentWidget?.context?.path === path;
          if (!isThere()) {
            await new Promise(done => shell.currentChanged.connect(() => isThere() && done()));
          }
        }""",
        name,
    )


def test_two_notebooks_have_two_conversations_that_go_on_side_by_side(pages, lab):
    page = pages.page()
    chat = pages.open(page, "one.ipynb")
    chat.do("gate = threading.Event(); choose(Held(said('One '), gate, said('is done.')))")
    chat.ask("To one.")
    expect(last(chat)).to_contain_text("One")
    bring(chat, lab.write("two.ipynb"))
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.sessionContext.isReady")
    expect(chat.panel).to_have_attribute("data-state", "idle")
    chat.do(SETUP)
    chat.do("script([said('Two is done.')])")
    chat.ask("To two.")
    chat.state("done")
    same(chat)
    bring(chat, "one.ipynb")
    expect(last(chat)).to_contain_text("One")
    expect(chat.panel.get_by_text("Two is done.")).to_have_count(0)
    chat.do("gate.set()")
    chat.state("done")
    same(chat)

    # what is typed in the moment of the switch belongs to nobody else
    for front, behind in (("two.ipynb", "one.ipynb"), ("one.ipynb", "two.ipynb")) * 3:
        chat.composer.focus()
        bring(chat, front)
        page.keyboard.type("\N{LATIN SMALL LETTER O WITH STROKE}")
        page.keyboard.press("Enter")
        expect(chat.panel).to_have_attribute("data-ready", "1")
        chat.composer.fill(f"a draft for {front}")
        bring(chat, behind)
        if behind == "one.ipynb":
            expect(chat.composer).not_to_have_value("a draft for two.ipynb")
        bring(chat, front)
        expect(chat.composer).to_have_value(f"a draft for {front}")
    for name in ("one", "two"):
        bring(chat, f"{name}.ipynb")
        expect(chat.composer).to_have_value(f"a draft for {name}.ipynb")
        assert [m["content"] for m in chat.messages() if m["role"] == "user"] == [f"To {name}."]
    pages.end(page)


# Restart, reload, two tabs ------------------------------------------------------------------------


def test_a_restart_in_the_middle_of_an_answer_keeps_the_conversation(pages):
    page = pages.page()
    chat = pages.open(page, "restart-turn.ipynb")
    chat.do("script([said('One.')])")
    chat.ask("Before.")
    expect(last(chat)).to_have_text("One.")
    chat.state("done")
    chat.do("choose(Held(said('First words, '), threading.Event()))")
    chat.ask("In the middle.")
    expect(last(chat)).to_contain_text("First words,")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    expect(chat.log).to_contain_text("The kernel was restarted")
    chat.state("idle")
    expect(chat.record("message", "user")).to_have_text(["Before.", "In the middle."])
    expect(chat.record("message", "assistant").first).to_have_text("One.")
    chat.do(SETUP)
    chat.do("script([said('Here again.'), code('print(6 * 7)', end=True)], [said('So.')])")
    chat.ask("After.")
    chat.press("Run")
    chat.state("done")
    expect(chat.record("console").last).to_have_text("42\n")
    same(chat)
    pages.end(page)


def test_a_reload_in_the_middle_of_an_answer_loses_and_doubles_nothing(pages):
    page = pages.page()
    chat = pages.open(page, "reload-turn.ipynb")
    chat.do(COUNTING)
    chat.ask("Count.")
    expect(last(chat)).to_contain_text("20 ")
    page.reload()
    page.wait_for_function("() => window.jupyterapp")  # the page's own event may come before it
    page.evaluate("() => window.jupyterapp.restored")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
        "?.connectionStatus === 'connected'"
    )
    show(page, chat.notebook)  # the workspace may not have been saved yet
    chat.state("writing")
    chat.do("counting.enough.set()")
    chat.state("done")
    expect(last(chat)).to_contain_text("over.")
    same(chat)
    words = chat.messages()[-1]["content"].split()
    assert words == [*map(str, range(1, len(words))), "over."]
    pages.end(page)


def test_two_tabs_show_one_conversation_and_one_answer_counts_in_both(pages, lab):
    first_page, second_page = pages.page(), pages.page()
    first = pages.open(first_page, "tabs.ipynb")
    first.do("script([said('Shall I?'), code('print(6 * 7)', end=True)], [said('I did.')])")
    first.ask("In the first tab.")
    first.card.wait_for()
    notebook = pages.visit(second_page, lab, "tabs.ipynb")
    second = show(second_page, notebook)
    second.card.wait_for()
    expect(last(second)).to_have_text("Shall I?")
    second.press("Run")
    for chat in (first, second):
        chat.state("done")
        expect(chat.card).to_have_count(0)
        expect(chat.record("code")).to_contain_text("you ran this")
        expect(chat.record("console")).to_have_text("42\n")
        expect(last(chat)).to_have_text("I did.")
        same(chat)
    second.do("script([said('To both.')])")
    second.ask("In the second tab.")
    for chat in (first, second):
        expect(last(chat)).to_have_text("To both.")
        chat.state("done")
        same(chat)
    pages.end(first_page, second_page)


# A turn of a cell ---------------------------------------------------------------------------------


def test_a_turn_of_a_cell_is_seen_in_the_panel_and_answered_in_the_cell(chat):
    chat.do("script([said('Let me see.'), code('y = 6 * 7\\ny', end=True)], [said('**42**')])")
    at = chat.run("%%lmc\nWhat is it?")
    chat.state("waiting")
    expect(chat.record("message", "user")).to_have_text("What is it?")
    expect(last(chat)).to_have_text("Let me see.")
    expect(chat.record("code")).to_contain_text("waits for your decision")
    expect(chat.panel).to_contain_text("waits for you in the notebook cell")
    expect(chat.card).to_have_count(0)
    card = chat.notebook.cell(at).locator("[data-proposal]")
    card.and_(chat.page.locator("[data-ready]")).wait_for()  # the cell may draw it later
    chat.button("Go to the cell").click()
    expect(card).to_be_focused()
    press(card, "Run")
    chat.state("done")
    chat.notebook.wait_done(at)
    expect(chat.record("code")).to_contain_text("you ran this")
    expect(last(chat).locator("strong")).to_have_text("42")
    expect(chat.panel).not_to_contain_text("waits for you in the notebook cell")


# A flood ------------------------------------------------------------------------------------------

FLOOD = """
import sys, time
begun, number = time.monotonic(), 0
while number < 240_000:  # 24 MB, 8 MB a second at most
    sys.stdout.write("".join(f"{n:08} {'flood ' * 15}\\n" for n in range(number, number + 400)))
    number += 400
    time.sleep(max(0, begun + number / 80_000 - time.monotonic()))
"""


def test_after_a_flood_nothing_is_missing(chat):
    chat.do(f"flood = {FLOOD!r}; script([code(flood, end=True)], [said('After the flood.')])")
    chat.ask()
    chat.press("Run")
    chat.state("done")
    expect(last(chat)).to_have_text("After the flood.")
    shown = chat.record("console").locator("pre").first.text_content()
    head, *rest = re.split("… ([0-9,]+) characters left out …", shown)
    assert rest, shown[:200]
    gaps, parts = rest[::2], rest[1::2]
    left_out = sum(int(each.replace(",", "")) for each in gaps)
    # but for the first one, a gap stands in a line of its own
    length = len(head) + sum(map(len, parts)) - 2 * (len(gaps) - 1)
    assert length + left_out == chat.value("len(current_session().messages[2].content)")
    numbers = [line[:8] for line in head.splitlines()]
    assert len(numbers) > 150
    assert numbers == [f"{n:08}" for n in range(len(numbers))]
    assert parts[-1].endswith(f"00239999 {'flood ' * 15}\n")
    kinds = [(one["role"], one["type"]) for one in chat.shown()]
    assert kinds == [(m["role"], m["type"]) for m in chat.messages()]


# What was sent ------------------------------------------------------------------------------------


def test_what_was_sent_is_the_very_body_that_the_model_got(chat, model_server):
    model_server.turns = [Turn(text("I look."), tool("python", "1 + 1")), Turn(text("It is 2."))]
    key = "sk-not-for-anyone-0123456789"
    chat.do(
        f"current_session().choose_model('openai/some', api_base={model_server.base!r}, "
        f"api_key={key!r}, tools=True)"
    )
    chat.ask("Add.")
    chat.press("Run")
    chat.state("done")
    footer = chat.log.locator(".lmc-turn")
    expect(footer).to_contain_text("36 tokens (counted)")
    expect(footer).to_contain_text(re.compile(r"\d s"))
    chat.button("What was sent").click()
    sent = chat.panel.get_by_role("dialog", name="What was sent to the model")
    raw = sent.get_by_role("button", name="Raw JSON")
    expect(raw).to_have_count(2)
    for each in raw.all():
        each.click()
    expect(sent.locator("pre")).to_have_count(2)
    got = [request.body for request in model_server.requests if "messages" in request.body]
    assert [json.loads(each) for each in sent.locator("pre").all_inner_texts()] == got
    assert key not in chat.page.content()
    chat.page.keyboard.press("Escape")
    expect(sent).to_have_count(0)
    expect(chat.button("What was sent")).to_be_focused()


APART = """([one, other]) => {
  const [a, b] = [one, other].map(each => each.getBoundingClientRect());
  return a.bottom <= b.top || b.bottom <= a.top || a.right <= b.left || b.right <= a.left;
}"""


def test_no_button_covers_text(chat):
    answer = "An answer that reaches the right edge of the panel. " * 8
    chat.do(
        f"model = script([said({answer!r}), code('for i in range(99): print(i)')], [said('!')])"
    )
    chat.ask("A question that is long enough to need more than one line of its bubble. " * 2)
    chat.press("Run")
    chat.state("done")
    for record in (
        chat.record("message", "assistant").first,
        chat.record("console").first,
        chat.record("message", "user").first,
    ):
        record.hover()
        copy = record.get_by_role("button", name="Copy", exact=True)
        expect(copy).to_be_visible()
        text = record.locator(":scope > :not(.lmc-tools)").first
        assert chat.page.evaluate(APART, [copy.element_handle(), text.element_handle()])
    chat.log.hover()
    chat.page.mouse.wheel(0, -5_000)
    to_end = chat.panel.locator(".lmc-to-end")
    expect(to_end).to_be_visible()
    assert chat.page.evaluate(APART, [to_end.element_handle(), chat.log.element_handle()])
    to_end.click()
    expect(to_end).to_have_count(0)
