"""Questions that a person writes while an answer is given, in a real JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_what_is_written_meanwhile_waits_is_changed_and_is_asked(chat):
    chat.do("gate = threading.Event()\nmodel = choose(Held(said('I begin.'), gate))")
    chat.ask("Is it long?")
    expect(chat.panel.locator("article").last).to_contain_text("I begin.")
    for text in ("Not this one.", "And in Frnch?"):
        chat.composer.fill(text)
        chat.composer.press("Enter")
        expect(chat.composer).to_have_value("")
    queue = chat.panel.get_by_role("region", name="Questions that wait")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    queue.get_by_role("button", name="Remove Not this one.").click()
    expect(queue.get_by_role("listitem")).to_have_count(1)
    queue.get_by_role("button", name="And in Frnch?", exact=True).click()
    field = queue.get_by_role("textbox")
    expect(field).to_be_focused()
    field.fill("And in French?")
    field.press("Enter")
    expect(queue.get_by_role("button", name="And in French?", exact=True)).to_be_visible()
    chat.do("gate.set()")
    expect(chat.panel.locator("article").last).to_have_text("Here I am again.")
    expect(queue).to_have_count(0)
    chat.state("done")
    assert [m["content"] for m in chat.messages() if m["role"] == "user"] == [
        "Is it long?", "And in French?",
    ]  # fmt: skip


def test_now_stops_the_answer_and_asks(chat):
    chat.do("choose(Waiting(said('I begin.')))")
    chat.ask("Is it long?")
    expect(chat.panel.locator("article").last).to_contain_text("I begin.")
    chat.ask("Something else?")
    chat.panel.get_by_role("button", name="Now").click()
    expect(chat.panel.locator("article").last).to_have_text("Here I am again.")
    chat.state("done")
