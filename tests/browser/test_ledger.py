"""The ledger above the composer: what a model server gets is what the panel listed before."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from model_server import ModelServer, Turn, text
from playwright.sync_api import Locator, expect
from test_accessible import themes

pytestmark = pytest.mark.browser

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture
def panel(chat: Any, model_server: ModelServer) -> Any:
    """The panel of a model on a server, in a conversation that has the cells so far."""
    model_server.turns = [Turn(text("Seen."))] * 9
    chat.do(
        "current_session().configure(context='notebook')\n"
        f"current_session().choose_model('openai/m', api_base={model_server.base!r}, "
        "api_key='not-a-key', free=True, vision=True)"
    )
    select(chat, -1)
    ask(chat, "Before.")
    return chat


def ask(panel: Any, question: str) -> None:
    """Ask, and wait for the answer."""
    count = panel.record("message", "assistant").count()
    panel.ask(question)
    expect(panel.record("message", "assistant")).to_have_count(count + 1)
    panel.state("done")


def select(panel: Any, at: int, words: str = "") -> None:
    """Select a cell, and these words in it; -1: a new one, with nothing in it."""
    at = panel.cell("") if at < 0 else at
    panel.page.evaluate(
        """async ([at, words]) => {
          const notebook = window.jupyterapp.shell.currentWidget.content;
          notebook.activeCellIndex = at;
          await notebook.activeCell.ready;
          const { editor, model } = notebook.activeCell;
          const from = model.sharedModel.getSource().indexOf(words);
          editor.setSelection({ start: editor.getPositionAt(from),
                                end: editor.getPositionAt(from + words.length) });
        }""",
        [at, words],
    )


def run(panel: Any, source: str) -> int:
    """Run a new cell as a person does, and wait for its end; the number of its In [N]."""
    at = panel.run(source)
    number = panel.page.wait_for_function(
        """at => {
          const { model } = window.jupyterapp.shell.currentWidget.content.widgets[at];
          return model.executionState === "running" ? null : model.executionCount;
        }""",
        arg=at,
    )
    return int(number.json_value())


def line(panel: Any) -> Locator:
    return panel.panel.locator(".lmc-ledger-line")


def row(panel: Any, title: str) -> Locator:
    return panel.panel.locator(".lmc-ledger-parts li").filter(has_text=title)


def sent(server: ModelServer) -> str:
    """The last message of the user as the server got it, its images as [image]."""
    message = [each for each in server.requests[-1].body["messages"] if each["role"] == "user"][-1]
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n\n".join(each.get("text", "[image]") for each in content)


@pytest.mark.day
def test_a_cell_that_ran_is_listed_and_sent_and_stands_below_the_question(panel, model_server):
    number = run(panel, "rate = 3\nprint('canary', rate)")
    expect(line(panel)).to_contain_text("1 cell")
    line(panel).click()
    cell = row(panel, f"In [{number}]")
    cell.get_by_role("button", name=f"Show its exact text: In [{number}]").click()
    expect(cell.locator("pre")).to_contain_text("canary 3")  # the list is asked for anew
    shown = cell.locator("pre").inner_text()
    for always in ("names of your variables", "instructions"):
        expect(row(panel, always)).to_be_visible()
        expect(row(panel, always).get_by_role("checkbox")).to_have_count(0)
    ask(panel, "Why is it 3?")
    assert shown in sent(model_server)
    expect(line(panel)).to_have_count(0)  # the next question takes nothing along
    below = panel.record("message", "user").last.locator("details")
    expect(below.locator("summary")).to_contain_text("Sent with the question: 1 cell · ")
    below.locator("summary").click()
    assert below.locator("pre").inner_text() in sent(model_server)


def test_what_is_unticked_is_not_sent(panel, model_server):
    first, second = run(panel, "one = 'canary-one'"), run(panel, "two = 'canary-two'")
    expect(line(panel)).to_contain_text("2 cells")
    line(panel).click()
    row(panel, f"In [{first}]").get_by_role("checkbox").uncheck()
    expect(line(panel)).to_contain_text("1 cell")
    ask(panel, "What is it?")
    assert "canary-one" not in json.dumps(model_server.requests[-1].body)
    assert "canary-two" in sent(model_server)
    assert f"In [{second}]" in sent(model_server)
    # it stays unticked for questions that would take it along, until it runs again
    run(panel, "three = one + two")
    expect(line(panel)).to_contain_text("1 cell")
    line(panel).click()
    expect(row(panel, f"In [{first}]").get_by_role("checkbox")).not_to_be_checked()
    ask(panel, "And now?")
    assert "canary-one" not in json.dumps(model_server.requests[-1].body)
    run(panel, "four = one")
    expect(panel.panel.get_by_role("button", name="Reset")).to_be_visible()
    panel.panel.get_by_role("button", name="Reset").click()
    expect(line(panel)).to_contain_text("2 cells")
    ask(panel, "And with it?")
    assert "canary-one" in sent(model_server)


def test_a_selected_cell_goes_as_it_stands_and_its_selection_where_it_is_pointed_at(
    panel, model_server
):
    at = panel.cell("heights = [150, 164]\nweights = 'canary-unrun'")
    select(panel, at, "canary-unrun")
    panel.composer.fill("What is @selection?")
    expect(line(panel)).to_contain_text("1 cell")
    expect(line(panel)).to_contain_text("selection")
    line(panel).click()
    expect(row(panel, "selected cell").get_by_role("checkbox")).to_be_checked()
    ask(panel, "What is @selection?")
    selected = re.search(
        r"The selected cell \((.*); it has not run\):\nheights", sent(model_server)
    )
    assert selected is not None
    assert re.match(rf"cell {at + 1} of \d+", selected[1])
    assert "Selected in the selected cell:\ncanary-unrun" in sent(model_server)


def test_the_markdown_above_the_selected_cell_goes_with_it(panel, model_server):
    at = panel.cell("# What we **want**")
    panel.page.evaluate(
        "() => window.jupyterapp.commands.execute('notebook:change-cell-to-markdown')"
    )
    assert panel.cell("") == at + 1
    expect(line(panel)).to_contain_text("markdown")
    ask(panel, "Do it.")
    assert "Markdown above the selected cell:\n# What we **want**" in sent(model_server)
    number = run(panel, "placed = 'canary-placed'")
    ask(panel, "And then?")
    place = re.search(rf"In \[{number}\] \((.*)\):\nplaced = ", sent(model_server))
    assert place is not None
    assert re.match(r"cell \d+ of \d+, below 'What we \*\*want\*\*'$", place[1])


def test_a_pinned_cell_goes_with_every_question_until_it_is_unpinned(panel, model_server):
    number = run(panel, "pinned = 'canary-pinned'")
    line(panel).click()
    pin = panel.panel.get_by_role("button", name=f"Send with every question: In [{number}]")
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    select(panel, -1)
    for question in ("One?", "Two?"):
        ask(panel, question)
        assert "canary-pinned" in sent(model_server)
        expect(line(panel)).to_contain_text("1 cell")
    line(panel).click()
    pin.click()
    expect(line(panel)).to_have_count(0)
    ask(panel, "Three?")
    assert sent(model_server) == "Three?"


def test_a_hidden_cell_has_the_tag_and_goes_to_no_model(panel, model_server):
    number = run(panel, "hidden = 'canary-hidden'")
    line(panel).click()
    panel.panel.get_by_role("button", name=f"Hide from all models: In [{number}]").click()
    panel.noticed("has the tag lmc-hide now")
    expect(row(panel, f"In [{number}]")).to_have_count(0)
    tags = (
        "() => window.jupyterapp.shell.currentWidget.content.activeCell.model.getMetadata('tags')"
    )
    assert panel.page.evaluate(tags) == ["lmc-hide"]
    ask(panel, "What is there?")
    assert "canary-hidden" not in json.dumps(model_server.requests[-1].body)
    panel.ask(f"What is @cell {number}?")
    expect(panel.notice).to_contain_text("lmc-hide, so no model gets it")


def test_a_tag_that_is_set_after_the_run_hides_the_cell(panel, model_server):
    run(panel, "late = 'canary-late'")
    expect(line(panel)).to_contain_text("1 cell")
    panel.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.activeCell.model"
        ".setMetadata('tags', ['lmc-hide'])"
    )
    ask(panel, "What is there?")
    assert "canary-late" not in json.dumps(model_server.requests[-1].body)


def test_a_cell_that_is_dragged_into_the_panel_is_pointed_at(panel, model_server):
    number = run(panel, "dragged = 'canary-dragged'")
    ask(panel, "Seen?")
    prompt = panel.page.locator(".jp-Notebook .jp-mod-active .jp-InputPrompt").bounding_box()
    there = panel.composer.bounding_box()
    mouse = panel.page.mouse
    mouse.move(prompt["x"] + 20, prompt["y"] + 8)
    mouse.down()
    mouse.move(prompt["x"] + 60, prompt["y"] + 30, steps=4)
    mouse.move(there["x"] + 40, there["y"] + 8, steps=8)
    mouse.up()
    expect(panel.composer).to_have_value(f"@cell {number} ")
    expect(line(panel)).to_contain_text("1 cell")
    ask(panel, f"@cell {number} again?")
    assert "canary-dragged" in sent(model_server)


def test_words_that_point_at_the_notebook_complete(panel):
    number = run(panel, "complete = 1")
    options = panel.panel.get_by_role("option")
    for typed, word in {"@abo": "above", "@sel": "selection", "@out": "output"}.items():
        panel.composer.fill("")
        panel.composer.press_sequentially(typed)
        expect(options.filter(has_text=word)).to_be_visible()
    panel.composer.fill("")
    panel.composer.press_sequentially("@cell")
    expect(options.filter(has_text=f"cell {number}")).to_contain_text("complete = 1")
    options.filter(has_text=f"cell {number}").click()
    expect(panel.composer).to_have_value(f"@cell {number} ")


def test_axe_finds_nothing_in_the_ledger_and_keys_work_it(panel, model_server):
    number = run(panel, "by_keys = 'canary-keys'")
    expect(line(panel)).to_contain_text("1 cell")
    line(panel).focus()
    panel.page.keyboard.press("Enter")
    expect(line(panel)).to_have_attribute("aria-expanded", "true")
    expect(row(panel, f"In [{number}]")).to_be_visible()  # before it ran it was the selected cell
    line(panel).focus()
    panel.page.keyboard.press("Tab")
    panel.page.keyboard.press("Space")
    expect(line(panel)).not_to_contain_text("1 cell")
    for _ in range(3):
        panel.page.keyboard.press("Tab")
    panel.page.keyboard.press("Enter")
    expect(panel.panel.locator(".lmc-ledger pre")).to_contain_text("canary-keys")
    themes(panel, "#lmc-sidebar")
    ask(panel, "What?")
    assert "canary-keys" not in json.dumps(model_server.requests[-1].body)


def test_in_notebook_7_too(notebook7, own_page):
    page = own_page
    name = notebook7.write("ledger.ipynb", "%load_ext lmc_jupyter", "seven = 'canary-seven'")
    page.goto(f"{notebook7.url}/notebooks/{name}?token={notebook7.token}")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('lmc:toggle')")
    page.evaluate("() => { window.jupyterapp.commands.execute('lmc:toggle'); }")
    panel = page.locator("#lmc-sidebar .lmc[data-ready]:visible")
    panel.wait_for()
    page.evaluate(
        "async () => { const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext"
        ".session; await kernel.requestExecute({ code: 'from scripted import ScriptedModel\\n"
        "from lmc_jupyter import current_session\\n"
        "current_session().choose_model(ScriptedModel())', store_history: false }).done; "
        "window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }"
    )
    panel.get_by_role("textbox").focus()
    panel.locator(".lmc-ledger-line").click()
    expect(panel.locator(".lmc-ledger-parts")).to_contain_text("selected cell")
    for session in notebook7.api("GET", "sessions"):
        notebook7.api("DELETE", f"sessions/{session['id']}")


def test_a_figure_that_is_not_sent_is_named_before_and_after_and_goes_where_the_person_says_so(
    panel, model_server
):
    panel.do(
        "settings = current_session() and get_ipython().magics_manager"
        ".registry['LMCMagics'].settings\n"
        f"settings.api_base, settings.options = {model_server.base!r}, "
        "{'api_key': 'not-a-key', 'free': True}\nsettings.model = 'openai/strong-1'"
    )
    number = run(
        panel,
        "import base64\nfrom IPython.display import Image\n"
        f"Image(base64.b64decode({PNG!r}), format='png')",
    )
    above = panel.panel.locator(".lmc-ledger .lmc-not-sent")
    expect(above).to_contain_text("openai/strong-1 is not known to see images")
    expect(above.locator("s")).to_have_text(f"figure of In [{number}]")
    ask(panel, "What is on the figure?")
    assert "[image]" not in sent(model_server)
    below = panel.record("message", "user").last.locator(".lmc-not-sent")
    expect(below.locator("s")).to_have_text(f"figure of In [{number}]")
    count = panel.record("message", "assistant").count()
    below.get_by_role("button", name="Send anyway").click()
    expect(panel.record("message", "assistant")).to_have_count(count + 1)
    panel.state("done")
    assert "[image]" in sent(model_server)
    folded = "all => all.map(each => each.querySelector('summary').offsetLeft)"
    bubbles = panel.panel.locator(".lmc-record:has(> .lmc-folded)")
    image, question = bubbles.evaluate_all(folded)[-2:]
    assert image == question > 8, "the words do not touch the edge of their bubble"
    expect(bubbles.last.locator("summary")).to_contain_text("figure of")  # below its question
    expect(above).to_have_count(0)
    number = run(panel, f"Image(base64.b64decode({PNG!r}), format='png')")
    expect(line(panel)).to_contain_text("1 figure")  # for the model, from now on


END_IN_SIGHT = """text => text.getBoundingClientRect().bottom
  <= text.closest('.lmc-request-list').getBoundingClientRect().bottom + 1"""


def test_what_was_sent_is_read_role_by_role_opened_at_the_question(panel, model_server):
    run(panel, "rate = 3\nprint('canary', rate, *range(60), sep='\\n')")
    ask(panel, "Why is it 3?\nSay it in a line.")
    panel.panel.get_by_role("button", name="What was sent").last.click()
    request = panel.panel.locator(".lmc-request")
    roles = [each["role"] for each in model_server.requests[-1].body["messages"]]
    expect(request.locator("summary b")).to_have_text(["settings", *roles])
    opened = request.locator("details[open] pre")
    expect(opened).to_have_count(1)
    assert opened.inner_text() == sent(model_server)
    expect(opened).to_be_in_viewport()
    assert opened.evaluate(END_IN_SIGHT), "the question is its last line"
    request.get_by_role("button", name="Raw JSON").click()
    assert json.loads(request.locator("pre").inner_text()) == model_server.requests[-1].body
