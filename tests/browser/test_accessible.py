"""What axe finds, in three themes and with contrast on; keys, focus and announcements."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_server import Turn, text
from panel_page import press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")

ALL_SORTS = '''
table = "| a | b |\\n|---|---|\\n| 1 | 2 |\\n"
words = f"""# A heading

Some *words*, `code`, a [link](https://example.org), $x^2$ and

{table}
- one
- two

> quoted

```python
def f(x):  # a comment
    return "text" + str(x or 1.5)
```
"""
red = "\\x1b[31mred\\x1b[0m \\x1b[32mgreen\\x1b[0m \\x1b[33myellow\\x1b[0m \\x1b[34mblue\\x1b[0m "
show = (
    "from IPython.display import Image\\n"
    f"print({red!r}, end='')\\nprint('\\x1b[1;36mcyan\\x1b[0m')\\n"
    "Image(data=bytes.fromhex("
    "'89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154"
    "789c6364f8cf500f000361018001' '5a34' '7d6b0000000049454e44ae426082'))"
)
'''


FINDS = """async place => {
  const { violations, passes } = await axe.run(place);
  const faults = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`));
  return { faults, passed: passes.map(({ id }) => id) };
}"""

STILL = """() => document.getAnimations().every(one =>
  one.effect.getTiming().iterations === Infinity || one.playState !== 'running')"""


def themes(chat, place: str) -> None:
    """No violation in this place of the page, in any theme, with contrast really looked at."""
    page = chat.page
    if not page.evaluate("() => 'axe' in window"):
        page.add_style_tag(content="body { height: 100vh }")  # else all of it counts as hidden
        page.add_script_tag(path=AXE)
    # a card that a theme moves waits until it stands still: its buttons would fade in the meantime
    page.emulate_media(reduced_motion="reduce")
    for theme in THEMES:
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
        page.mouse.move(0, 0)
        page.wait_for_function(STILL)  # colours that fade are no colours yet
        found = page.evaluate(FINDS, place)
        assert not found["faults"], "\n".join([theme, *found["faults"]])
        assert "color-contrast" in found["passed"], theme
    page.emulate_media(reduced_motion="null")


# axe ----------------------------------------------------------------------------------------------


def test_axe_finds_nothing_on_the_first_run_screen_and_in_the_pickers(chat):
    expect(chat.panel.get_by_role("heading").first).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.panel.get_by_role("button", name="Model:").last.click()
    expect(chat.panel.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.page.keyboard.press("Escape")
    chat.button("More actions").click()
    expect(chat.panel.get_by_role("menu")).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.page.keyboard.press("Escape")


@pytest.mark.day
def test_axe_finds_nothing_in_a_conversation_and_at_a_question(chat):
    chat.do(ALL_SORTS)
    chat.do(
        "script([said(words), code(show, end=True)], [RuntimeError('broken on purpose')],\n"
        "       [said('Once more.'), code('print(1)', end=True)])"
    )
    chat.ask("Show me all sorts of things.")
    chat.press("Run")
    chat.state("failed")
    expect(chat.record("image").locator("img")).to_be_visible()
    expect(chat.record("note")).to_have_count(0)
    chat.composer.press_sequentially("/")
    expect(chat.panel.get_by_role("listbox")).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.composer.fill("And again?")
    chat.composer.press("Enter")
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    themes(chat, "#lmc-sidebar")
    chat.press("Edit")
    expect(chat.card.get_by_label("The code, to edit")).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.press("Don't run")


def test_axe_finds_nothing_where_it_shows_what_was_sent(chat, model_server):
    model_server.turns = [Turn(text("Hello."))]
    chat.do(
        f"current_session().choose_model('openai/some', api_base={model_server.base!r}, "
        "api_key='none')"
    )
    chat.ask("Hello?")
    chat.state("done")
    chat.button("What was sent").click()
    expect(chat.panel.get_by_role("dialog").locator("pre").last).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.page.keyboard.press("Escape")


def test_axe_finds_nothing_in_the_list_of_conversations_and_the_files(chat):
    chat.do("script([said('The first.')])")
    chat.ask("One?")
    chat.state("done")
    chat.button("New conversation").click()
    expect(chat.panel.locator(".lmc-before").get_by_role("button").first).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.do("script([said('The second.')])")
    chat.ask("Two?")
    chat.state("done")
    chat.record("message", "assistant").hover()
    chat.button("Good answer").click()
    expect(chat.panel.get_by_role("button", name="Good answer", pressed=True)).to_be_visible()
    chat.button("Save or open a file").click()
    expect(chat.panel.get_by_role("menu")).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.page.keyboard.press("Escape")
    chat.panel.locator(".lmc-head-title").click()
    found = chat.panel.get_by_role("dialog", name="Conversations")
    found.get_by_label("Search titles and contents").fill("the")
    expect(found.locator("mark").first).to_be_visible()
    themes(chat, "#lmc-sidebar")
    for key, shown in (("F2", "Rename"), ("Delete", "Keep")):
        found.locator(".lmc-kept-open").last.focus()
        chat.page.keyboard.press(key)
        expect(found.get_by_role("button", name=shown, exact=True)).to_be_visible()
        themes(chat, "#lmc-sidebar")
        chat.page.keyboard.press("Escape")
    chat.page.keyboard.press("Escape")
    expect(found).to_have_count(0)


def test_axe_finds_nothing_in_a_cell_with_its_buttons(chat):
    chat.do(
        "script([said('Let me **see**.'), code('y = 6 * 7  # so\\ny', end=True)], [said('42')])"
    )
    at = chat.run("%%lmc\nWhat is it?")
    cell = chat.notebook.cell(at)
    cell.locator("[data-proposal][data-ready]").wait_for()
    cell.evaluate("cell => cell.querySelector('.jp-OutputArea').id = 'output-of-the-test'")
    themes(chat, "#output-of-the-test")
    press(cell.locator("[data-proposal]"), "Run")
    chat.notebook.wait_done(at)
    themes(chat, "#output-of-the-test")


# Keys and focus -----------------------------------------------------------------------------------

FOCUSED = "() => document.activeElement.ariaLabel || document.activeElement.innerText"


def test_a_turn_can_be_had_by_keys_alone(chat):
    page = chat.page
    chat.do(
        "gate = threading.Event()\n"
        "choose(Held(gate, said('Shall I?'), code('print(6 * 7)', end=True)))"
    )
    chat.composer.focus()
    page.keyboard.type("What is it?")
    page.keyboard.press("Enter")
    expect(chat.composer).to_have_value("")  # else the card finds the person writing
    chat.do("gate.set()")
    chat.card.and_(page.locator("[data-ready]")).wait_for()
    expect(chat.card).to_be_focused()  # the card, and no button of it
    for name in ("Run", "Run everything in this answer"):  # once its code was in sight
        expect(chat.card.get_by_role("button", name=name, exact=True)).to_be_enabled()
    seen = []
    for _ in range(6):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUSED))
    assert seen == ["Run", "Edit", "Don't run", "Run everything in this answer",
                    "Ask only for changes", "Reason for not running it"]  # fmt: skip
    for _ in range(5):
        page.keyboard.press("Shift+Tab")
    assert page.evaluate(FOCUSED) == "Run"
    page.keyboard.press("Enter")
    chat.state("done")
    expect(chat.record("console")).to_have_text("42\n")
    expect(chat.composer).to_be_focused()
    page.keyboard.press("Shift+Tab")  # back through the last turn's tools, and the list
    assert page.evaluate(FOCUSED) == "Remove this question and its answer"


def test_the_focus_stays_where_it_is_while_an_answer_streams(chat):
    chat.do(
        "gates = [threading.Event() for _ in range(3)]\n"
        "choose(Held(said('One. '), gates[0], said('Two. '), gates[1], code('1', end=True)))"
    )
    chat.ask()
    expect(chat.record("message", "assistant")).to_contain_text("One.")
    chat.composer.fill("the next")
    chat.do("gates[0].set()")
    expect(chat.record("message", "assistant")).to_contain_text("Two.")
    expect(chat.composer).to_be_focused()
    chat.do("gates[1].set()")
    chat.card.wait_for()
    expect(chat.composer).to_be_focused()  # in the middle of a sentence
    chat.notebook.cell(0).locator(".cm-content").click()
    chat.press("Don't run")
    chat.state("done")


def test_only_whole_messages_and_questions_are_announced(chat):
    status = chat.panel.locator("[role=status].lmc-offscreen")
    expect(chat.panel.locator("[role=log]")).to_have_attribute("aria-live", "off")
    chat.do(
        "gate = threading.Event()\n"
        "choose(Held(said('One. '), gate, said('Two.'), code('1', end=True)))"
    )
    before = status.text_content()
    chat.ask()
    expect(chat.record("message", "assistant")).to_contain_text("One.")
    expect(chat.record("message", "assistant")).to_have_attribute("aria-busy", "true")
    assert status.text_content() == before
    chat.page.evaluate(
        "() => { window.announced = []; const status = [...document.querySelectorAll("
        "'[role=status].lmc-offscreen')].pop(); new MutationObserver(() => "
        "window.announced.push(status.textContent)).observe(status, { childList: true }); }"
    )
    chat.do("gate.set()")
    chat.press("Don't run")
    chat.state("done")
    expect(status).to_contain_text("Here I am again.")
    assert new_lines(before, chat.page.evaluate("() => window.announced")) == [
        "One. Two.",
        "The model wants to run python code: run it or not?",
        "Not run: you declined it.",
        "Here I am again.",
    ]


def new_lines(before, texts):
    """What each text says that the one before did not end with: sentences are read together."""
    said, last = [], before.split("\n")
    for each in texts:
        lines = each.split("\n")
        carried = [k for k in range(1, len(lines) + 1) if last[-k:] == lines[:k]]
        said += lines[max(carried, default=0) :]
        last = lines
    return said
