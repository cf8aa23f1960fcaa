"""What does not move, and is not mistaken: a cell's box, the row below an answer, broken lines,
the slash menu.
"""

from __future__ import annotations

import pytest
from model_server import Turn, text
from panel_page import SETUP, press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

LONG = "for n in range(2):\n    print(" + ", ".join(f"'word {n}'" for n in range(30)) + ")"

ROWS = """line => {
  const style = getComputedStyle(line), mark = getComputedStyle(line, '::after');
  const ch = parseFloat(style.paddingLeft) / 10;  // 6 and the 4 of its indent
  const range = document.createRange();
  range.selectNodeContents(line);
  const left = line.getBoundingClientRect().left;
  const starts = new Map();
  for (const box of range.getClientRects()) {
    const row = Math.round(box.top);
    starts.set(row, Math.min(starts.get(row) ?? Infinity, box.left - left));
  }
  const [, ...more] = [...starts.entries()].sort((a, b) => a[0] - b[0]).map(([, x]) => x / ch);
  return { more, mark: mark.content };
}"""


BOX = """box => {
  const { x, y, width } = box.getBoundingClientRect();
  const cell = box.closest('.jp-Cell').getBoundingClientRect();
  const inset = text => {
    const range = document.createRange();
    range.selectNodeContents(document.createTreeWalker(text, NodeFilter.SHOW_TEXT).nextNode());
    const { left, top } = range.getClientRects()[0];
    return [left - x, top - y].map(Math.round);
  };
  return { x, y: Math.round(y - cell.y), width, corner: getComputedStyle(box).borderRadius,
           title: inset(box.querySelector('b'))[0], code: inset(box.querySelector('code')) };
}"""


@pytest.mark.parametrize("where", ["JupyterLab", "Notebook 7"])
def test_the_box_of_a_cell_stays_where_it_is_at_run(where, request):
    fixture, server = {
        "JupyterLab": ("open_notebook", "lab"),
        "Notebook 7": ("open_in_notebook7", "notebook7"),
    }[where]
    name = request.getfixturevalue(server).write("steady.ipynb", SETUP, "%%lmc\nGo.")
    notebook = request.getfixturevalue(fixture)(name)
    page = notebook.page
    page.set_viewport_size({"width": 1400, "height": 900})
    notebook.run(0)
    notebook.wait_done(0)
    page.evaluate(
        "code => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        ".requestExecute({ code }).done.then(() => {})",
        f"script([code({LONG!r}, end=True)], [said('There.')])",
    )
    notebook.run(1)
    card = notebook.cell(1).locator("[data-proposal]")
    card.and_(page.locator("[data-ready]")).wait_for()
    before = card.evaluate(BOX)
    press(card, "Run")
    notebook.wait_done(1)
    after = notebook.cell(1).locator(".lmc-code").evaluate(BOX)
    assert after == before


def test_the_card_of_one_line_has_no_room_for_a_second(chat):
    chat.do("script([code('x = 1', end=True)], [said('There.')])")
    at = chat.run("%%lmc\nGo.")
    in_cell = chat.notebook.cell(at).locator("[data-proposal]")
    in_cell.and_(chat.page.locator("[data-ready]")).wait_for()
    chat.composer.focus()
    heights = [in_cell.locator(".lmc-card-code").bounding_box()["height"]]
    press(in_cell, "Don't run")
    chat.state("done")
    chat.do("script([code('x = 1', end=True)], [said('There.')])")
    chat.ask()
    chat.card.and_(chat.page.locator("[data-ready]")).wait_for()
    heights.append(chat.card.locator(".lmc-card-code").bounding_box()["height"])
    line = chat.card.locator(".lmc-line").bounding_box()["height"]
    assert max(heights) < 2 * line, (heights, line)
    chat.press("Don't run")
    chat.state("done")


LOOK = """notice => {
  const { left, width } = notice.getBoundingClientRect();
  const style = getComputedStyle(notice);
  const names = ['borderLeft', 'borderRadius', 'padding', 'fontFamily', 'fontSize', 'lineHeight',
                 'color', 'backgroundColor'];
  return [left, width > 0, ...names.map(name => style[name])];
}"""


def test_what_we_say_ourselves_has_one_look(pages):
    chat = pages.open(pages.page(), "one_look.ipynb")
    chat.do("choose(Waiting(said('Half a word')))")
    chat.ask()
    chat.log.get_by_text("Half a word").wait_for()
    chat.button("Stop").click()
    chat.state("stopped")
    chat.do("script([code('y = 1', end=True)], [said('As you like.')])")
    chat.ask("Two.")
    chat.press("Don't run")
    chat.state("done")
    chat.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    notices = "Stopped here.", "ou declined", "The kernel was restarted", "Model changed"
    ours = chat.log.locator(".lmc-said, .lmc-fate, .lmc-console")
    looks = [ours.filter(has_text=each).evaluate(LOOK) for each in notices]
    assert looks[1:] == looks[:-1]
    pages.end(chat.page)


GAP = """([above, below]) =>
  below.getBoundingClientRect().top - above.getBoundingClientRect().bottom"""


def test_what_follows_printed_output_is_as_far_from_it_in_a_cell_as_in_the_panel(chat):
    chat.page.set_viewport_size({"width": 1400, "height": 1000})
    chat.do("script([code('print(1)', end=True)], [said('There.')])")
    at = chat.run("%%lmc\nGo.")
    cell = chat.page.locator(".jp-Notebook .jp-Cell").nth(at)
    press(cell.locator("[data-proposal]"), "Run")
    cell.get_by_text("There.").wait_for()
    chat.state("done")

    def gap(above, below):
        return chat.page.evaluate(GAP, [each.element_handle() for each in (above, below)])

    in_cell = gap(
        cell.locator(".jp-OutputArea-output.jp-RenderedText").last, cell.get_by_text("There.")
    )
    printed = chat.record("console").locator(".lmc-console")
    in_panel = gap(printed, chat.record("message", "assistant").get_by_text("There."))
    assert abs(in_cell - in_panel) <= 2, (in_cell, in_panel)
    assert 8 <= in_panel <= 16


def test_a_line_that_is_broken_goes_on_deeper_than_it_begins_behind_a_mark(chat):
    chat.do(f"script([code({LONG!r}, end=True)], [said('There.')])")
    chat.ask()
    chat.card.wait_for()
    rows = chat.card.locator(".lmc-line").nth(1).evaluate(ROWS)
    assert len(rows["more"]) > 2
    assert min(rows["more"]) > 4, "the text of the line begins at the fourth column"
    assert "↪" in rows["mark"]
    chat.press("Don't run")
    chat.state("done")
    block = chat.record("code").locator(".lmc-line").nth(1).evaluate(ROWS)
    assert len(block["more"]) > 2
    assert "↪" in block["mark"], "in the conversation as in the question"


def test_what_can_be_done_with_an_answer_stands_in_one_row_below_it(chat):
    chat.do("script([said('Yes.')])")
    chat.ask()
    chat.state("done")
    answer = chat.record("message", "assistant")
    answer.hover()
    tools = answer.get_by_role("button", name="Copy", exact=True).bounding_box()
    again = chat.button("Ask again").bounding_box()
    assert abs(tools["y"] - again["y"]) < 3
    text = answer.locator("p").bounding_box()
    assert again["y"] - (text["y"] + text["height"]) < 16


@pytest.mark.parametrize("width", [360, 400])
def test_it_stands_in_one_row_below_an_answer_whose_tokens_are_counted(chat, model_server, width):
    model_server.turns = [Turn(text("Yes."))]
    chat.do(
        f"current_session().choose_model('openai/m', api_base={model_server.base!r}, "
        "api_key='not-a-key', free=True)"
    )
    chat.ask()
    chat.state("done")
    chat.panel.evaluate("(panel, width) => { panel.style.width = `${width}px`; }", width)
    answer = chat.record("message", "assistant")
    answer.hover()
    tools = answer.get_by_role("button", name="Copy", exact=True).bounding_box()
    again = chat.button("Ask again").bounding_box()
    sent = chat.button("What was sent").bounding_box()
    facts = chat.panel.locator(".lmc-turn-facts").bounding_box()
    chat.panel.evaluate("panel => { panel.style.width = ''; }")
    assert abs(tools["y"] - again["y"]) < 3
    assert sent["x"] + sent["width"] <= tools["x"] < again["x"]
    body = answer.locator("p").bounding_box()
    assert facts["y"] - (body["y"] + body["height"]) < 16, "no empty row between them"


EDGES = """options => options.map(option => {
  const text = document.createRange();
  text.selectNodeContents(option.querySelector('.lmc-option-detail'));
  const name = document.createRange();
  name.selectNodeContents(option.querySelector('.lmc-option-name'));
  const box = option.getBoundingClientRect(), end = name.getBoundingClientRect().right;
  const rows = [...text.getClientRects()].filter(row => row.width);
  return { starts: rows.map(row => Math.round(row.left)),
           is_clear: rows.every(row => row.left > end && row.right <= box.right) };
})"""


@pytest.mark.parametrize("width", [900, 1400])
def test_the_descriptions_of_the_slash_menu_begin_at_one_edge_in_each_row(chat, width):
    chat.page.set_viewport_size({"width": width, "height": 900})
    assert chat.panel.bounding_box()["width"] == 400
    chat.composer.fill("")
    chat.composer.press_sequentially("/")
    options = chat.panel.get_by_role("option")
    options.first.wait_for()
    edges = options.evaluate_all(EDGES)
    assert len(edges) > 20
    assert max(len(each["starts"]) for each in edges) > 1, "one is broken, else this tells nothing"
    assert len({start for each in edges for start in each["starts"]}) == 1
    assert all(each["is_clear"] for each in edges)
    chat.composer.fill("")


def test_in_a_narrow_window_the_card_is_in_line_and_words_stand_near_their_code(chat):
    size = chat.page.viewport_size
    chat.page.set_viewport_size({"width": 900, "height": 800})
    chat.do("script([said('Let me see.'), code('1 + 1', end=True)], [said('Two.')])")
    chat.ask()
    run = chat.card.get_by_role("button", name="Run", exact=True)
    everything = chat.card.get_by_role("button", name="Run everything in this answer")
    expect(everything).to_be_visible()
    left = everything.evaluate(
        "button => { const range = document.createRange(); range.selectNodeContents(button); "
        "return range.getBoundingClientRect().left; }"
    )
    assert abs(left - run.bounding_box()["x"]) < 3
    chat.press("Run")
    chat.state("done")
    talk = chat.record("message", "assistant").first.locator("p").bounding_box()
    block = chat.record("code").bounding_box()
    assert 0 < block["y"] - talk["y"] - talk["height"] < 16
    chat.page.set_viewport_size(size)
