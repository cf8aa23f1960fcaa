"""Running code that asks the person in the panel, and a reload, two tabs, Stop, a password."""

from __future__ import annotations

import pytest
from panel_page import Panel, show
from playwright.sync_api import expect
from test_accessible import themes

pytestmark = pytest.mark.browser


def begin(chat, *codes: str) -> None:
    replies = ", ".join(f"[code({each!r})]" for each in codes)
    chat.do(f"session = current_session(); model = script({replies}, [said('Done.')])")
    chat.ask()
    chat.press("Run")


def asks(chat, prompt: str):
    """The row of the question, once it is there; and its field."""
    row = chat.panel.get_by_role("form", name="The code asks you")
    field = row.get_by_label(prompt, exact=True)
    expect(field).to_be_visible()
    return row, field


def console(chat):
    return chat.record("console").last


def test_input_is_asked_and_answered_by_enter_and_the_flow_is_seen(chat):
    begin(chat, "name = input('Your name: ')\nprint('Hello,', name)")
    row, field = asks(chat, "Your name:")
    expect(field).to_be_focused()
    expect(chat.panel.get_by_text("Waiting for your input…")).to_be_visible()
    expect(console(chat)).to_contain_text("Your name:")
    field.press_sequentially("Ada <b>")
    field.press("Enter")
    chat.state("done")
    expect(row).to_have_count(0)
    expect(console(chat)).to_contain_text("Your name: Ada <b>")
    expect(console(chat)).to_contain_text("Hello, Ada <b>")
    assert chat.value("name") == "Ada <b>"
    expect(chat.composer).to_be_focused()


def test_a_password_is_not_seen_and_not_kept(chat):
    begin(chat, "import getpass\nkey = getpass.getpass('Key: ')\nprint(len(key))")
    row, field = asks(chat, "Key:")
    assert field.get_attribute("type") == "password"
    field.fill("hunter2-battery")
    row.get_by_role("button", name="Answer").click()
    chat.state("done")
    assert chat.value("key") == "hunter2-battery"
    assert "hunter2" not in chat.value("repr([m.to_dict() for m in session.messages])")
    assert "hunter2" not in chat.value("repr(model.seen)")
    assert "hunter2" not in chat.page.content()


def test_a_key_is_typed_hidden_and_is_nowhere_in_the_page_or_the_conversation(chat):
    chat.do("from lmc_jupyter import keys; session = current_session()")
    chat.ask("/key SOME_API_KEY")
    row = chat.panel.get_by_role("form", name="API key for SOME_API_KEY")
    field = row.get_by_label("API key for SOME_API_KEY", exact=True)
    expect(field).to_be_focused()
    assert field.get_attribute("type") == "password"
    expect(row).not_to_contain_text("The code asks you")
    field.press("Escape")
    chat.noticed("Nothing was changed.")
    chat.ask("/key SOME_API_KEY")
    field.fill("hunter2-battery")
    field.press("Enter")
    chat.noticed("SOME_API_KEY stays in memory until this kernel ends.")
    expect(row).to_have_count(0)
    expect(chat.composer).to_be_focused()
    assert chat.value("keys.look_up('SOME_API_KEY').reveal() == 'hunter2-battery'") is True
    assert "hunter2" not in chat.value("repr([m.to_dict() for m in session.messages])")
    assert "hunter2" not in chat.page.content()
    chat.do("keys.forget('SOME_API_KEY')")


def test_stop_by_escape_ends_the_question_and_the_code(chat):
    begin(chat, "got = 0\ngot = input('Go on? ')")
    _, field = asks(chat, "Go on?")
    field.press("Escape")
    chat.state("stopped")
    expect(field).to_have_count(0)
    assert chat.value("got") == 0


def test_a_debugger_is_led_from_the_panel(chat):
    begin(chat, "x = 6 * 7\nbreakpoint()\ny = x + 1")
    _, field = asks(chat, "ipdb>")
    field.fill("p x")
    field.press("Enter")
    expect(console(chat)).to_contain_text("42")
    _, field = asks(chat, "ipdb>")
    expect(field).to_have_value("")
    field.fill("c")
    field.press("Enter")
    chat.state("done")
    assert chat.value("y") == 43


def test_a_reload_shows_it_again_and_a_second_tab_answers(pages, lab):
    page, other_page = pages.page(), pages.page()
    chat = pages.open(page, "asks.ipynb")
    begin(chat, "name = input('Your name: ')")
    asks(chat, "Your name:")
    other_page.goto(f"{lab.url}/lab/tree/asks.ipynb?token={lab.token}&reset")
    page.reload()
    for one in (other_page, page):  # the kernel is busy all the time
        one.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
            "?.connectionStatus === 'connected'"
        )
        show(one, None)
    other = Panel(other_page, None)
    _, field = asks(other, "Your name:")
    asks(chat, "Your name:")
    field.fill("Grace")
    field.press("Enter")
    for one in (other, chat):
        one.state("done")
        expect(one.panel.get_by_role("form", name="The code asks you")).to_have_count(0)
        expect(console(one)).to_contain_text("Your name: Grace")
    pages.end(page, other_page)


def test_a_cell_asks_natively(chat):
    """`%%lmc` code in a cell: JupyterLab's own field below the cell."""
    chat.do("model = script([code('who = input(\"Who? \")')], [said('Done.')])")
    at = chat.run("%%lmc --auto-run\nAsk.")
    field = chat.page.locator(".jp-Stdin-input")
    field.fill("Ada")
    field.press("Enter")
    chat.notebook.wait_done(at)
    assert chat.value("who") == "Ada"


def test_axe_finds_nothing_where_it_asks(chat):
    begin(chat, "a = input('A name: ')\nb = input()")
    _, field = asks(chat, "A name:")
    themes(chat, "#lmc-sidebar")
    field.press("Enter")
    _, field = asks(chat, "A line of input")
    themes(chat, "#lmc-sidebar")
    field.press("Escape")
    chat.state("stopped")
