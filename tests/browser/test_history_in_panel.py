"""Conversations in the panel: the list, files, thumbs, what is said when the disk refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser.conftest import jupyter
from panel_page import SETUP, Panel, show
from playwright.sync_api import Locator, expect

from lmc_jupyter import formats

pytestmark = pytest.mark.browser

FULL = """
from lmc_jupyter.conversation.disk import calls
def full(*_):
    raise OSError(28, 'No space left on device')
calls.write = calls.sync = full
"""
ROOM_AGAIN = "del calls.write, calls.sync"


def say(chat, question: str, answer: str) -> None:
    """A question and its whole answer."""
    chat.do(f"script([said({answer!r})])")
    chat.ask(question)
    expect(chat.record("message", "assistant").last).to_contain_text(answer.partition("\n")[0])
    chat.state("done")


def fresh(chat) -> None:
    chat.button("New conversation").click()
    expect(chat.panel.locator(".lmc-welcome")).to_be_visible()


def head(chat) -> Locator:
    return chat.panel.locator(".lmc-head-title")


def listed(chat) -> Locator:
    """The list of conversations, opened."""
    head(chat).click()
    found = chat.panel.get_by_role("dialog", name="Conversations")
    expect(found.get_by_label("Search titles and contents")).to_be_focused()
    return found


def line(found: Locator, title: str) -> Locator:
    return found.locator(".lmc-kept").filter(
        has=found.page.get_by_text(title, exact=True),
    )


def questions(chat) -> Locator:
    return chat.record("message", "user")


def at_end(chat) -> None:
    chat.page.wait_for_function(
        "() => [...document.querySelectorAll('#lmc-sidebar .lmc-log')].filter("
        "log => log.checkVisibility()).every("
        "log => log.scrollHeight - log.scrollTop - log.clientHeight < 40)"
    )


def test_found_opened_copied_renamed_and_deleted(chat):
    say(chat, "Where do quokkas live?", "On Rottnest Island.\n\n" + "A line of it.\n\n" * 60)
    fresh(chat)
    say(chat, "And numbats?", "In the wandoo woodland.")
    expect(head(chat)).to_have_text("And numbats?")

    # found by what was answered, and opened by keys alone
    found = listed(chat)
    expect(line(found, "And numbats?")).to_contain_text("open in this notebook")
    found.get_by_label("Search titles and contents").fill("ROTTNEST")
    expect(found.locator(".lmc-kept")).to_have_count(1)
    expect(found.locator("mark")).to_have_text("Rottnest")
    chat.page.keyboard.press("ArrowDown")
    expect(found.locator(".lmc-kept-open").first).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(found).to_have_count(0)
    expect(questions(chat)).to_have_text(["Where do quokkas live?"])
    expect(chat.composer).to_be_focused()
    expect(head(chat)).to_have_text("Where do quokkas live?")
    at_end(chat)

    # a copy goes on by itself
    found = listed(chat)
    mine = line(found, "Where do quokkas live?")
    mine.hover()
    mine.get_by_role("button", name="Open a copy: Where do quokkas live?").click()
    expect(head(chat)).to_have_text("Where do quokkas live? (copy)")
    say(chat, "Only there?", "Almost.")
    found = listed(chat)
    expect(line(found, "Where do quokkas live? (copy)")).to_contain_text("4 messages")
    expect(line(found, "Where do quokkas live?")).to_contain_text("2 messages")

    # the copy, which is open here, gets another title
    line(found, "Where do quokkas live? (copy)").hover()
    found.get_by_role("button", name="Rename: Where do quokkas live? (copy)").click()
    chat.page.keyboard.insert_text("Marsupials")
    chat.page.keyboard.press("Enter")
    expect(line(found, "Marsupials").locator(".lmc-kept-open")).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(head(chat)).to_have_text("Marsupials")
    expect(head(chat)).to_be_focused()

    # one is deleted, after a question
    found = listed(chat)
    line(found, "And numbats?").locator(".lmc-kept-open").focus()
    chat.page.keyboard.press("Delete")
    expect(found.get_by_role("button", name="Keep")).to_be_focused()
    found.get_by_role("button", name="Delete", exact=True).click()
    expect(found.locator(".lmc-kept-ask")).to_have_count(0)
    expect(line(found, "And numbats?")).to_have_count(0)
    chat.page.keyboard.press("Escape")
    expect(found).to_have_count(0)
    expect(questions(chat)).to_have_text(["Where do quokkas live?", "Only there?"])
    titles = chat.value("[each.title for each in current_session().journal.conversations.list()]")
    assert "And numbats?" not in titles
    assert {"Marsupials", "Where do quokkas live?"} <= set(titles)


def test_the_first_run_screen_goes_on_where_this_notebook_was(chat):
    say(chat, "What is the tallest tree?", "Hyperion.")
    fresh(chat)
    before = chat.panel.locator(".lmc-before")
    before.get_by_role("button", name="What is the tallest tree?").click()
    expect(questions(chat)).to_have_text(["What is the tallest tree?"])
    expect(chat.composer).to_be_focused()
    assert [m["content"] for m in chat.messages()] == ["What is the tallest tree?", "Hyperion."]


def test_while_an_answer_is_given_no_other_is_opened_and_it_is_said(chat):
    say(chat, "A first one?", "Yes.")
    fresh(chat)
    chat.do("gate = threading.Event(); choose(Held(said('Half '), gate, said('done.')))")
    chat.ask("A second one?")
    expect(chat.record("message", "assistant").last).to_contain_text("Half")
    found = listed(chat)
    line(found, "A first one?").locator(".lmc-kept-open").first.click()
    expect(found.get_by_role("alert")).to_contain_text("while an answer is in progress")
    chat.page.keyboard.press("Escape")
    chat.do("gate.set()")
    chat.state("done")
    expect(questions(chat)).to_have_text(["A second one?"])


# Files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Notebook", "LMC JSON", "GLM YAML", "OpenAI JSON"])
def test_what_is_saved_is_read_again(chat, tmp_path, name):
    say(chat, "What is six times seven?", "It is 42.")
    chat.button("Save or open a file").click()
    with chat.page.expect_download() as download:
        chat.panel.get_by_role("menuitem", name=name).click()
    chat.noticed(f"Saved as {download.value.suggested_filename}")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    read = formats.read(path)
    assert [m.content for m in read.messages if m.type == "message"] == [
        "What is six times seven?",
        "It is 42.",
    ]


def opens(chat, path: Path) -> None:
    chat.button("Save or open a file").click()
    with chat.page.expect_file_chooser() as chooser:
        chat.panel.get_by_role("menuitem", name="Open a file…").click()
    chooser.value.set_files(path)


def test_a_file_is_opened_and_its_code_waits_for_nobody(chat, tmp_path):
    say(chat, "The one from before?", "Yes.")
    file = tmp_path / "from elsewhere.json"
    file.write_text(
        json.dumps(
            [
                {"role": "user", "type": "message", "content": "From a file?"},
                {"role": "assistant", "type": "code", "format": "python", "content": "ran = 1"},
            ]
        )
    )
    opens(chat, file)
    expect(questions(chat)).to_have_text(["From a file?"])
    chat.noticed("Opened “from elsewhere.json”")
    expect(chat.card).to_have_count(0)
    assert chat.value("'ran' in globals()") is False
    chat.do("script([said('So it is.')])")
    chat.button("Decide now").click()
    chat.press("Run")
    chat.state("done")
    assert chat.value("ran") == 1
    found = listed(chat)
    expect(line(found, "The one from before?").first).to_be_visible()
    chat.page.keyboard.press("Escape")


def test_a_bad_file_is_a_sentence_and_nothing_is_lost(chat, tmp_path):
    say(chat, "Is it still there?", "Yes.")
    file = tmp_path / "bad.json"
    file.write_text("[" * 100_000)
    opens(chat, file)
    expect(chat.panel.locator(".lmc-notice.error")).to_be_visible()
    expect(questions(chat)).to_have_text(["Is it still there?"])
    assert len(chat.messages()) == 2


# Thumbs and the disk ------------------------------------------------------------------------------


def test_a_thumb_and_the_conversation_outlive_a_reload_and_a_restart(pages):
    page = pages.page()
    chat = pages.open(page, "thumbs.ipynb")
    say(chat, "Is it good?", "I hope so.")
    chat.record("message", "assistant").hover()
    chat.button("Good answer").click()
    thumb = chat.panel.get_by_role("button", name="Good answer", pressed=True)
    expect(thumb).to_be_visible()
    assert chat.messages()[1]["feedback"] == "up"

    page.reload()
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("() => window.jupyterapp.restored")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
        "?.connectionStatus === 'connected'"
    )
    show(page, chat.notebook)  # the workspace may not have been saved yet
    expect(thumb).to_be_visible()

    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    expect(chat.log).to_contain_text("The kernel was restarted")
    chat.state("idle")
    expect(questions(chat)).to_have_text(["Is it good?"])
    expect(thumb).to_be_visible()
    chat.do(SETUP)
    thumb.click()
    expect(thumb).to_have_count(0)
    assert "feedback" not in chat.messages()[1]
    pages.end(page)


@pytest.mark.parametrize(
    ("module", "app", "at"),
    [("jupyterlab", "LabApp", "lab/tree"), ("notebook", "JupyterNotebookApp", "notebooks")],
    ids=["JupyterLab", "Notebook 7"],
)
def test_the_day_after_one_press_goes_on_where_the_notebook_was(
    own_page, tmp_path, module, app, at
):
    page = own_page
    with jupyter(tmp_path, module, app) as server:
        address = f"{server.url}/{at}/{server.write('quokkas.ipynb', '1')}?token={server.token}"

        def opened() -> Panel:
            page.wait_for_function(
                "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
                "?.connectionStatus === 'connected'"
            )
            found = show(page, None)
            found.do(SETUP)
            return found

        page.goto(address)
        chat = opened()
        say(chat, "Where do quokkas live?", "On Rottnest Island.")

        server.restart()
        page.goto(address)  # with the token: the cookie is of the server that ended
        chat = opened()
        expect(questions(chat)).to_have_count(0)
        expect(chat.panel.locator(".lmc-welcome")).to_be_visible()
        chat.panel.get_by_role("button", name="Continue “Where do quokkas live?”").click()
        expect(questions(chat)).to_contain_text(["Where do quokkas live?"])
        expect(chat.record("message", "assistant")).to_have_text("On Rottnest Island.")
        expect(head(chat)).to_have_text("Where do quokkas live?")
        chat.do("model = script([said('Its neighbours are dugites.')])")
        chat.ask("Who else lives there?")
        expect(chat.record("message", "assistant").last).to_contain_text("dugites")
        chat.state("done")
        assert chat.value("[m.content for m in model.seen[0] if m.type == 'message']")[-3:] == [
            "Where do quokkas live?",
            "On Rottnest Island.",
            "Who else lives there?",
        ]


def test_a_banner_stays_while_the_disk_refuses(chat):
    banner = chat.panel.locator(".lmc-banner.lmc-calm")
    expect(banner).to_have_count(0)
    chat.do(FULL)
    try:
        say(chat, "Is there room?", "No.")
        expect(banner).to_contain_text("No space left on device")
    finally:
        chat.do(ROOM_AGAIN)
    say(chat, "And now?", "Yes.")
    expect(banner).to_have_count(0)
    saved = chat.value(
        "[m.content for m in "
        "current_session().journal.conversations.read(current_session().journal.id).messages]"
    )
    assert saved == ["Is there room?", "No.", "And now?", "Yes."]
