"""The panel in a real JupyterLab, answered by scripted models, pressed by a real mouse."""

from __future__ import annotations

import pytest
from panel_page import press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def last(chat):
    """The answer's last words."""
    return chat.record("message", "assistant").last


# One namespace ------------------------------------------------------------------------------------


@pytest.mark.day
def test_code_of_the_panel_and_cells_share_one_namespace(chat):
    own = chat.run("x = 21")
    chat.notebook.wait_done(own)
    chat.do(
        "script([said('Let me see.'), code('y = x * 2\\nprint(y)', end=True)], [said('**42**')])"
    )
    chat.ask("What is x times two?")
    chat.press("Run")
    chat.state("done")
    expect(last(chat).locator("strong")).to_have_text("42")
    expect(last(chat)).to_be_in_viewport()
    expect(chat.record("console")).to_have_text("42\n")
    after = chat.run("print('the cell has', y)")
    chat.notebook.wait_done(after)
    assert chat.notebook.outputs(after)[0]["text"] == "the cell has 42\n"
    kinds = [message["type"] for message in chat.messages()]
    assert kinds == ["message", "message", "code", "console", "message"]


@pytest.mark.day
def test_a_figure_is_shown_once_and_enlarged_by_mouse_and_by_key(chat):
    plot = "import matplotlib.pyplot as plt\\nplt.plot([1, 3, 2]);"
    chat.do(f"script([code('{plot}', end=True)], [said('There.')])")
    chat.ask("Plot it.")
    chat.press("Run")
    chat.state("done")
    small = chat.panel.get_by_role("button", name="pixels")
    expect(small).to_have_count(1)
    expect(small.locator("img")).to_have_js_property("complete", True)
    width = small.locator("img").evaluate("image => image.naturalWidth")
    assert width > 100
    large = chat.panel.get_by_role("dialog", name="Enlarged image")
    for open_ in (small.click, lambda: small.press("Enter")):
        open_()
        expect(large.locator("img")).to_be_visible()
        expect(large.locator("img")).to_have_js_property("complete", True)
        assert large.locator("img").evaluate("image => image.naturalWidth") == width
        chat.page.keyboard.press("Escape")
        expect(large).to_have_count(0)
        expect(small).to_be_focused()
    assert [m["type"] for m in chat.messages()].count("image") == 1
    chat.state("done")  # Escape closed the image and stopped nothing


def test_a_table_that_code_shows_is_seen_by_the_person_and_its_text_by_the_model(chat):
    chat.do("import pandas; table = pandas.DataFrame({'fruit': ['pear', 'plum']})")
    chat.do("script([code('table', end=True)], [said('There.')])")
    chat.ask("Show it.")
    chat.press("Run")
    chat.state("done")
    shown = chat.record("code", "computer")
    outer = shown.frame_locator("iframe")
    expect(outer.frame_locator("iframe").get_by_role("cell", name="plum")).to_be_visible()
    source, told = shown.get_by_text("HTML source"), chat.record("console").locator("summary")
    expect(source).to_be_hidden()
    expect(told).to_be_hidden()
    more = shown.get_by_role("button", name="Source, and what the model reads")
    more.press("Enter")
    expect(more).to_have_attribute("aria-expanded", "true")
    expect(source).to_be_visible()
    expect(told).to_have_text("For the model")
    expect(chat.record("console").get_by_text("plum")).to_be_hidden()
    told.click()
    expect(chat.record("console").get_by_text("plum")).to_be_visible()
    more.press(" ")
    expect(source).to_be_hidden()
    expect(told).to_be_hidden()


def test_a_table_wider_than_the_panel_says_how_many_columns_are_in_sight(chat):
    chat.do(
        "import pandas; table = pandas.DataFrame({f'column {n}': [n * 10**6] for n in range(20)})"
    )
    chat.do("script([code('table', end=True)], [said('There.')])")
    chat.ask()
    chat.press("Run")
    chat.state("done")
    shown = chat.record("code", "computer")
    line = shown.get_by_text("of 20 columns in sight")
    assert 0 < int(line.text_content().split(" ")[0]) < 20
    chat.do("table = table.iloc[:, :2]")
    chat.do("script([code('table', end=True)], [said('There.')])")
    chat.ask()
    chat.press("Run")
    chat.state("done")
    narrow = shown.last.frame_locator("iframe").frame_locator("iframe")
    expect(narrow.get_by_role("cell", name="1000000")).to_be_visible()
    expect(shown.last).not_to_contain_text("in sight")


# The question about code --------------------------------------------------------------------------


def test_code_whose_end_is_out_of_sight_waits_until_that_was_seen(chat):
    chat.do("script([code('x = \"' + 'a' * 20_000 + '\"; y = 1', end=True)], [said('k')])")
    chat.ask()
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    run = chat.card.get_by_role("button", name="Run", exact=True)
    expect(run).to_be_disabled()
    expect(chat.card.get_by_role("checkbox", name="Run without reading it all")).to_be_visible()
    chat.card.locator(".lmc-card-code").hover()
    chat.page.mouse.wheel(0, 100_000)
    expect(run).to_be_enabled()
    chat.press("Run")
    chat.state("done")
    assert chat.value("y") == 1


BROKEN_WORDS = """root => [...root.querySelectorAll('.lmc-line')].flatMap(line => {
  const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    for (const word of node.data.matchAll(/\\w+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
      if (new Set(tops).size > 1) broken.push(word[0]);
    }
  return broken;
})"""
LONG_LINES = (
    "table = dict(" + ", ".join(f"name_{n}='American Eagle'" for n in range(40)) + ")\n"
    "text = 'American'" + ".upper().lower().strip()" * 9
)


def test_code_of_forty_lines_runs_without_a_look_and_breaks_between_words(chat):
    chat.page.set_viewport_size({"width": 1400, "height": 700})
    lines = [*(f"value_{n} = {n}" for n in range(41)), LONG_LINES]
    chat.do(f"script([code({chr(10).join(lines)!r}, end=True)], [said('k')])")
    chat.ask()
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    code = chat.card.locator(".lmc-card-code")
    assert code.evaluate("box => box.scrollHeight - box.clientHeight") > 100
    assert chat.card.evaluate(BROKEN_WORDS) == []
    room = chat.panel.bounding_box()["height"]
    assert 0.6 * room < chat.card.bounding_box()["height"] <= 0.7 * room + 1
    chat.press("Run")
    chat.state("done")
    assert chat.value("value_40") == 40
    assert chat.record("code", "assistant").evaluate(BROKEN_WORDS) == []
    block = chat.record("code", "assistant").locator(".lmc-source")
    assert block.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_long_code_in_a_cell_breaks_between_words_and_runs_without_a_look(chat):
    chat.do(f"script([code({LONG_LINES!r}, end=True)], [said('k')])")
    chat.run("%%lmc\nGo.")
    card = chat.page.locator(".jp-Notebook [data-proposal]")
    card.and_(chat.page.locator("[data-ready]")).wait_for()
    assert card.evaluate(BROKEN_WORDS) == []
    press(card, "Run")
    chat.state("done")


def test_code_that_words_only_show_is_run_as_a_cell_of_the_persons(chat):
    words = "You could write:\n\n```python\nshown = 6 * 7\nshown\n```\n"
    chat.do(f"script([said({words!r})])")
    chat.ask()
    chat.state("done")
    record = chat.record("message", "assistant")
    count = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
    before = chat.page.evaluate(count)
    record.get_by_role("button", name="Insert", exact=True).click()
    chat.page.wait_for_function(f"before => ({count})() === before + 1", arg=before)
    chat.page.keyboard.type("# mine")  # the keys are the cell's
    record.get_by_role("button", name="Run", exact=True).click()
    chat.page.wait_for_function(f"before => ({count})() === before + 2", arg=before)
    chat.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.content.activeCell.model.executionCount"
    )
    assert chat.value("shown") == 42
    inserted = chat.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets.slice(-2)"
        ".map(cell => cell.model.sharedModel.source)"
    )
    assert sorted(inserted) == ["# mineshown = 6 * 7\nshown", "shown = 6 * 7\nshown"]
    assert len(chat.messages()) == 2  # it is no block of the model's


@pytest.mark.day
def test_an_edit_runs_as_edited_and_the_history_says_so(chat):
    chat.do("model = script([code('print(1)', end=True)], [said('ok')])")
    chat.ask()
    chat.press("Edit")
    area = chat.card.get_by_label("The code, to edit")
    expect(area).to_be_focused()
    area.fill("print('as edited')")
    area.press("Enter")  # a line, and no decision
    chat.press("Run edited")
    chat.state("done")
    expect(chat.record("code")).to_contain_text("print('as edited')")
    expect(chat.record("code")).to_contain_text("you edited and ran this")
    expect(chat.record("console")).to_have_text("as edited\n")
    (code,) = (m for m in chat.messages() if m["type"] == "code")
    assert code["content"] == "print('as edited')\n"
    assert code["edited"] is True
    assert chat.value("[m.content for m in model.seen[1]]")[1] == "print('as edited')\n"


def test_dont_run_runs_nothing_and_tells_the_model_why(chat):
    chat.do("model = script([code('ran = True', end=True)], [said('Understood.')])")
    chat.ask()
    chat.card.get_by_label("Reason for not running it").fill("I would rather not")
    chat.press("Don't run")
    chat.state("done")
    expect(chat.record("code")).to_contain_text("not run")
    expect(last(chat)).to_have_text("Understood.")
    told = "This code was not run: I would rather not."
    assert chat.value("model.seen[1][-1].content") == told
    assert chat.value("'ran' in globals()") is False


def test_run_all_runs_what_comes_in_this_turn_and_not_in_the_next(chat):
    chat.do(
        "script([code('print(1)', end=True)], [code('print(2)', end=True)], [said('Both.')],\n"
        "       [code('print(3)', end=True)], [said('No?')])"
    )
    chat.ask()
    chat.press("Run everything in this answer")
    chat.state("done")
    expect(chat.record("console")).to_have_text(["1\n", "2\n"])
    chat.ask("Another.")
    chat.press("Don't run")
    chat.state("done")
    expect(chat.record("console")).to_have_count(2)
    expect(chat.panel.locator(".lmc-said")).to_have_text("Not run: you declined it.")


@pytest.mark.day
def test_what_a_script_clicks_decides_nothing_and_enter_in_the_composer_neither(chat):
    chat.do("script([code('ran = True', end=True)], [said('ok')])")
    chat.ask()
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    chat.card.evaluate(
        """card => {
          for (const button of card.querySelectorAll('button')) {
            button.click();
            button.dispatchEvent(new MouseEvent('click', { bubbles: true, composed: true }));
            button.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
            for (const key of ['Enter', ' ']) {
              button.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
              button.dispatchEvent(new KeyboardEvent('keyup', { key, bubbles: true }));
            }
          }
        }"""
    )
    for key, left in (("Enter", ""), ("Control+Enter", ""), ("Shift+Enter", "the next question\n")):
        chat.composer.fill("the next question")
        chat.composer.press(key)
        expect(chat.composer).to_have_value(left)
    queue = chat.panel.get_by_role("region", name="Questions that wait")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    chat.state("waiting")
    chat.press("Don't run")
    chat.state("done")
    assert [m["content"] for m in chat.messages() if m["type"] == "console"] == [
        "This code was not run: the user declined."
    ]
    assert chat.value("'ran' in globals()") is False


# Stop ---------------------------------------------------------------------------------------------


def goes_on(chat) -> None:
    """After a stop the conversation goes on."""
    chat.ask("Still there?")
    chat.state("done")
    expect(last(chat)).to_have_text("Here I am again.")


def test_stop_while_the_model_writes_keeps_its_words(chat):
    chat.do("choose(Held(said('First words, '), threading.Event()))")
    chat.ask()
    expect(last(chat)).to_contain_text("First words,")
    chat.button("Stop").click()
    chat.state("stopped")
    expect(last(chat)).to_contain_text("First words,")
    expect(last(chat)).to_contain_text("Stopped here.")
    (*_, kept) = chat.messages()
    assert (kept["content"], kept["partial"]) == ("First words, ", True)
    goes_on(chat)


@pytest.mark.day
@pytest.mark.parametrize(
    "forever", ["while True: pass", "time.sleep(1000)"], ids=["busy loop", "sleep"]
)
def test_stop_while_code_runs_ends_it_and_keeps_its_output(chat, forever):
    source = f'import time\\nprint("begun")\\n{forever}'
    chat.do(f"choose(Held(code('{source}', end=True)))")
    chat.ask()
    chat.press("Run")
    expect(chat.record("console")).to_contain_text("begun")
    chat.button("Stop").click()
    chat.state("stopped")
    expect(chat.record("code")).to_contain_text("stopped")
    expect(chat.record("console")).to_contain_text("begun")
    goes_on(chat)


def test_stop_at_a_question_runs_nothing(chat):
    chat.do("choose(Held(code('ran = True', end=True)))")
    chat.ask()
    chat.card.wait_for()
    chat.button("Stop").click()
    chat.state("stopped")
    expect(chat.card).to_have_count(0)
    assert chat.value("'ran' in globals()") is False
    goes_on(chat)


def test_escape_stops_from_the_composer(chat):
    chat.do("choose(Held(said('First words, '), threading.Event()))")
    chat.ask()
    expect(last(chat)).to_contain_text("First words,")
    chat.composer.press("Escape")
    chat.state("stopped")


# The person's own cells ---------------------------------------------------------------------------


def test_a_cell_runs_while_the_model_thinks(chat):
    chat.do("gate = threading.Event(); choose(Held(gate, said('Now.')))")
    chat.ask()
    chat.state("thinking")
    own = chat.run("print('mine')")
    chat.notebook.wait_done(own)
    assert chat.notebook.outputs(own)[0]["text"] == "mine\n"
    chat.state("thinking")
    chat.do("gate.set()")
    chat.state("done")


def test_code_waits_for_a_running_cell_and_stop_leaves_that_alone(chat, lab):
    chat.do("choose(Held(code('ran = True', end=True)))")
    own = chat.run(
        "while not Path('the cell may end').exists(): time.sleep(0.02)\nprint('undisturbed')"
    )
    chat.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
        " === 'busy'"
    )
    chat.ask()
    chat.press("Run")
    expect(chat.panel.locator(".lmc-bar")).to_contain_text("running cell")
    chat.button("Stop").click()
    chat.state("stopped")
    (lab.root / "the cell may end").touch()
    chat.notebook.wait_done(own)
    assert [o.get("text") for o in chat.notebook.outputs(own)] == ["undisturbed\n"]
    assert chat.value("'ran' in globals()") is False
    goes_on(chat)


# The composer -------------------------------------------------------------------------------------


@pytest.mark.day
def test_enter_sends_shift_enter_adds_a_line_and_no_cell_runs(chat):
    chat.do("script([said('a')], [said('b')])")
    chat.composer.fill("one")
    chat.composer.press("Shift+Enter")
    chat.page.keyboard.type("two")
    chat.composer.press("Enter")
    chat.state("done")
    expect(chat.composer).to_have_value("")
    expect(chat.composer).to_be_focused()
    assert chat.messages()[0]["content"] == "one\ntwo"


def test_arrow_up_brings_back_what_was_asked(chat):
    chat.do("script([said('a')], [said('b')])")
    for question, answer in (("the first", "a"), ("the second", "b")):
        chat.ask(question)
        expect(last(chat)).to_have_text(answer)
        expect(chat.composer).to_have_value("")
        chat.state("done")
    chat.composer.fill("a draft")
    chat.composer.press("Home")
    for shows in ("the second", "the first"):
        chat.composer.press("ArrowUp")
        expect(chat.composer).to_have_value(shows)
    for shows in ("the second", "a draft"):
        chat.composer.press("ArrowDown")
        expect(chat.composer).to_have_value(shows)


def test_at_completes_a_variable_with_its_type_and_shape(chat):
    chat.do("import pandas; table_of_sales = pandas.DataFrame({'a': [1, 2, 3], 'b': 0})")
    chat.composer.press_sequentially("What is in @table_")
    option = chat.panel.get_by_role("option", name="table_of_sales")
    expect(option).to_contain_text("DataFrame")
    expect(option).to_contain_text("(3, 2)")
    expect(chat.panel.get_by_role("option")).to_have_count(1)  # those of the whole word
    chat.composer.press("Enter")  # completes, and sends nothing
    expect(chat.composer).to_have_value("What is in @table_of_sales ")
    assert chat.messages() == []


def test_slash_completes_a_command_and_does_it(chat):
    chat.do("script([said('Hi.')])")
    chat.ask("Hello.")
    chat.state("done")
    chat.composer.press_sequentially("/un")
    expect(chat.panel.get_by_role("option")).to_have_count(1)
    chat.composer.press("Tab")
    expect(chat.composer).to_have_value("/undo ")
    chat.composer.press("Enter")
    chat.noticed("Removed the last question and its answer")
    expect(chat.composer).to_have_value("")
    expect(chat.panel.locator("article")).to_have_count(0)
    assert chat.messages() == []


def test_a_refused_question_stays_in_the_composer(chat):
    chat.do("current_session().choose_model('replay/no such recording')")
    chat.ask("Keep these words.")
    expect(chat.notice).to_contain_text("no such recording")
    expect(chat.composer).to_have_value("Keep these words.")
    chat.ask("/nothing")
    expect(chat.notice).to_contain_text("/nothing")
    expect(chat.composer).to_have_value("/nothing")
    chat.do("script([said('Now it works.')])")
    chat.ask("And now?")
    expect(last(chat)).to_have_text("Now it works.")
    expect(chat.notice).to_have_count(0)


# Under a message ----------------------------------------------------------------------------------


def tool(chat, record, name: str) -> None:
    """A button of a record, which is shown while the mouse is there."""
    record.hover()
    record.get_by_role("button", name=name, exact=True).click()


def test_copy_takes_the_text_as_it_was_written(chat):
    chat.do("script([said('It is **42**.'), code('print(42)', end=True)])")
    chat.ask()
    chat.press("Don't run")
    chat.state("done")
    for record, name, text in (
        (chat.record("message", "assistant").first, "Copy", "It is **42**."),
        (chat.record("code"), "Copy the code", "print(42)"),
    ):
        tool(chat, record, name)
        chat.page.wait_for_function(
            "async text => await navigator.clipboard.readText() === text", arg=text
        )


def test_retry_edit_and_undo(chat):
    chat.do("script(*[[said(f'Answer {n}.')] for n in 'ABCD'])")
    chat.ask("First?")
    expect(last(chat)).to_have_text("Answer A.")
    chat.button("Ask again").click()
    expect(last(chat)).to_have_text("Answer B.")
    expect(chat.panel.locator("article")).to_have_count(2)
    chat.state("done")
    chat.ask("Second?")
    expect(last(chat)).to_have_text("Answer C.")
    chat.state("done")
    tool(chat, chat.record("message", "user").first, "Edit the question")
    area = chat.panel.get_by_label("Your question, to edit")
    expect(area).to_have_value("First?")
    area.fill("First, said better?")
    chat.button("Ask this instead").click()
    expect(last(chat)).to_have_text("Answer D.")
    chat.state("done")
    assert [m["content"] for m in chat.messages()] == ["First, said better?", "Answer D."]
    expect(chat.panel.locator("article")).to_have_count(2)
    chat.button("Remove this question and its answer").click()
    expect(chat.panel.locator("article")).to_have_count(0)
    assert chat.messages() == []
