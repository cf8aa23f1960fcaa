"""%%lmc in a real JupyterLab, answered by a scripted model, pressed by a real mouse."""

from __future__ import annotations

import pytest
from panel_page import SETUP, press
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def ask_card(cell):
    return cell.locator("[data-proposal][data-ready]")


class Asked:
    """A question in a `%%lmc` cell of the module's notebook."""

    def __init__(self, chat, set_up: str) -> None:
        chat.do(set_up)
        self.chat, self.at = chat, chat.run("%%lmc\nGo.")
        self.cell = chat.notebook.cell(self.at)

    def press(self, name: str) -> None:
        """A button of its question, once it takes a press."""
        press(self.cell.locator("[data-proposal]"), name)

    def done(self) -> None:
        self.chat.notebook.wait_done(self.at)

    def printed(self) -> list[str]:
        outputs = self.chat.notebook.outputs(self.at)
        return [one["text"] for one in outputs if one["output_type"] == "stream"]


@pytest.fixture
def asking(chat):
    return lambda set_up: Asked(chat, set_up)


@pytest.mark.day
def test_run_is_pressed_while_the_cell_is_busy_and_the_next_cell_waits(pages, lab):
    page = pages.page()  # without our sidebar
    name = lab.write(
        "run.ipynb",
        SETUP + "script([said('Let me see.'), code('y = x * 2\\nprint(y)', end=True)],\n"
        "       [said('It is **42**.')])\nx = 21",
        "%%lmc\nWhat is {x} times two?",
        "print('after', y)",
    )
    notebook = pages.visit(page, lab, name)
    notebook.command("notebook:run-all-cells")
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    expect(cell).to_contain_text("Waiting for your decision")
    assert notebook.outputs(2) == []
    press(cell.locator("[data-proposal]"), "Run")
    notebook.wait_done(2)
    expect(cell).to_contain_text("you ran this")
    expect(cell.locator("strong")).to_have_text("42")
    expect(notebook.cell(2)).to_contain_text("after 42")
    kinds = [set(output.get("data", {})) for output in notebook.outputs(1)]
    assert not any("application/vnd.jupyter.widget-view+json" in kind for kind in kinds)
    pages.end(page)


def test_formulas_are_typeset_as_written_and_money_is_not(asking):
    text = r"Of $\{1, 2\}$ and \(a*b*c\), which cost $5 or $6."
    asked = asking(f"script([said({text!r})])")
    asked.done()
    expect(asked.cell.locator("mjx-container")).to_have_count(2)
    expect(asked.cell.locator("mjx-assistive-mml").first).to_contain_text("{1,2}")
    expect(asked.cell).to_contain_text("which cost $5 or $6.")


@pytest.mark.day
def test_an_edit_runs_as_edited_and_says_so(asking):
    asked = asking("script([code('print(1)', end=True)], [said('ok')])")
    asked.press("Edit")
    area = asked.cell.get_by_label("The code, to edit")
    expect(area).to_be_focused()
    area.fill("print('edited')")
    area.press("Shift+Enter")  # runs it, and not the notebook's cell
    asked.done()
    expect(asked.cell).to_contain_text("you edited and ran this")
    assert asked.printed() == ["edited\n"]
    (code,) = (m for m in asked.chat.messages() if m["type"] == "code")
    assert (code["content"], code["edited"]) == ("print('edited')", True)


def test_dont_run_runs_nothing_and_tells_the_model_why(asking):
    asked = asking("script([code('ran = True', end=True)], [said('Understood.')])")
    ask_card(asked.cell).wait_for()
    asked.cell.get_by_label("Reason for not running it").fill("I would rather not")
    asked.press("Don't run")
    asked.done()
    expect(asked.cell).to_contain_text("Not run: I would rather not.")
    expect(asked.cell).to_contain_text("Understood.")
    assert asked.chat.value("'ran' in globals()") is False


def test_run_all_runs_what_comes_in_this_turn(asking):
    asked = asking(
        "script([code('print(1)', end=True)], [code('print(2)', end=True)], [said('Both.')])"
    )
    asked.press("Run everything in this answer")
    asked.done()
    expect(asked.cell).to_contain_text("Both.")
    assert asked.printed() == ["1\n", "2\n"]


def stop_and_go_on(asked, shows):
    """Press Stop in the cell once it shows this text; the text stays and the next cell runs."""
    output = asked.cell.locator(".jp-OutputArea")
    expect(output).to_contain_text(shows)
    asked.cell.get_by_role("button", name="Stop", exact=True).first.click()
    asked.done()
    expect(output).to_contain_text("Stopped")
    expect(output).to_contain_text(shows)
    after = asked.chat.run("print('the next cell')")
    asked.chat.notebook.wait_done(after)
    assert asked.chat.notebook.outputs(after)[0]["text"] == "the next cell\n"


def test_stop_while_the_model_writes_keeps_its_words(asking):
    stop_and_go_on(asking("choose(Held(said('First words, '), threading.Event()))"), "First words")


def test_stop_while_code_runs_keeps_its_output(asking):
    code = 'import time\\nprint("be" "gun")\\nwhile True: time.sleep(0.01)'
    asked = asking(f"script([code('{code}', end=True)])")
    asked.press("Run")
    stop_and_go_on(asked, "begun")


def test_a_block_that_runs_has_its_seconds_and_a_stop_below_it(asking):
    code = "import time\nprint('be' 'gun')\nwhile True:\n" + "    time.sleep(0.01)\n" * 12
    asked = asking(f"script([code({code!r}, end=True)], [said('It was long.')])")
    asked.press("Run")
    row = asked.cell.locator(".lmc-runs")
    expect(row).to_contain_text(" s")
    expect(asked.cell.get_by_text("begun", exact=True)).to_be_visible()
    places = asked.cell.evaluate(  # in one look: the card is drawn anew all the time
        "cell => { const at = each => each.getBoundingClientRect();"
        " return [at(cell.querySelector('.lmc-code.running')).bottom,"
        " at(cell.querySelector('.lmc-runs')).top, at(cell.querySelector('.lmc-runs')).bottom,"
        " at([...cell.querySelectorAll('pre')].find(e => e.innerText.trim() === 'begun')).top]; }"
    )
    assert places == sorted(places)
    assert row.locator(".lmc-bar-state").bounding_box()["height"] < 22, "in one line"
    row.get_by_role("button", name="Stop", exact=True).click()  # while the line that runs changes
    asked.done()
    expect(row).to_have_count(0)
    expect(asked.cell).to_contain_text("stopped after")


def test_code_in_a_cell_is_broken_between_words(asking):
    line = f"names = {['American', 'carrier', 'planes', 'reinstrument'] * 6}"
    asked = asking(f"script([code({line!r}, end=True)], [said('ok')])")
    ask_card(asked.cell).wait_for()
    breaks = "box => getComputedStyle(box.querySelector('pre')).wordBreak"
    assert asked.cell.locator(".lmc-card-code").evaluate(breaks) == "normal"
    asked.press("Run")
    asked.done()
    assert asked.cell.locator(".lmc-code").evaluate(breaks) == "normal"


def test_where_a_cell_is_narrow_the_name_of_the_model_gives_way_first(asking):
    asked = asking("script([code('1 + 1', end=True)], [said('Two.')])")
    ask_card(asked.cell).wait_for()
    bar = asked.cell.locator(".lmc-bar").first
    bar.evaluate("bar => { bar.style.width = '300px'; }")
    state = bar.locator(".lmc-bar-state")
    expect(state).to_have_text("Waiting for your decision")
    assert state.bounding_box()["height"] < 22, "in one line"
    asked.press("Run")
    asked.done()


def test_stop_at_a_question_runs_nothing(asking):
    asked = asking("script([said('Shall I?'), code('ran = True', end=True)])")
    ask_card(asked.cell).wait_for()
    stop_and_go_on(asked, "Shall I?")
    assert asked.chat.value("'ran' in globals()") is False


FORGED = """card => {
  const bubbling = { bubbles: true, cancelable: true, composed: true, view: window, detail: 1 };
  const kinds = {
    MouseEvent: ['click', 'dblclick', 'auxclick', 'mousedown', 'mouseup', 'mouseover'],
    PointerEvent: ['click', 'pointerdown', 'pointerup', 'pointerover'],
    Event: ['click', 'submit', 'change', 'input', 'focus', 'touchstart', 'touchend'],
  };
  const before = document.activeElement;
  let count = 0;
  const send = (target, event) => {
    target.dispatchEvent(event);
    count += 1;
  };
  for (const target of [card, ...card.querySelectorAll('button')]) {
    for (const [type, names] of Object.entries(kinds))
      for (const name of names) send(target, new window[type](name, bubbling));
    for (const key of ['Enter', ' ', 'y', 'r'])
      for (const name of ['keydown', 'keypress', 'keyup'])
        for (const shiftKey of [false, true])
          send(target, new KeyboardEvent(name, { ...bubbling, key, shiftKey }));
    target.focus();
    target.click();
    count += 1;
  }
  before.focus();
  const { proposal, digest } = card.dataset;
  for (const decision of ['run', 'all'])
    for (const kind of ['decision', 'lmc_request', 'ask', 'comm_msg', 'custom']) {
      window.postMessage({ kind, decision, proposal, digest }, '*');
      count += 1;
    }
  return count;
}"""


@pytest.mark.day
def test_a_click_that_a_script_makes_decides_nothing(asking, record_property):
    asked = asking("script([code('ran = True', end=True)], [said('ok')])")
    card = ask_card(asked.cell)
    card.wait_for()
    asked.cell.locator("[data-proposal][data-ready]").wait_for()  # from now on a press counts
    events = asked.cell.locator("[data-proposal]").evaluate(FORGED)
    asked.chat.page.keyboard.press("Enter")
    assert events >= 200
    asked.press("Don't run")
    asked.done()
    expect(asked.cell).to_contain_text("Not run: you declined it.")
    assert asked.chat.value("'ran' in globals()") is False
    record_property("figure", f"{events} events of a script: 0 decisions")


@pytest.mark.day
def test_the_saved_record_needs_no_kernel_and_holds_no_widget(pages, lab):
    page = pages.page()
    name = lab.write(
        "record.ipynb",
        SETUP + "script([said('First.'), code('6 * 7', end=True)], [said('It is **42**.')])",
        "%%lmc\nGo.",
    )
    notebook = pages.visit(page, lab, name)
    for at in (0, 1):
        notebook.run(at)
        if at == 1:
            press(notebook.cell(1).locator("[data-proposal]"), "Run")
        notebook.wait_done(at)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    saved = (lab.root / name).read_text("utf-8")
    assert "widget-view" not in saved
    assert "you ran this" in saved
    for session in lab.api("GET", "sessions"):
        if session["path"] == name:
            lab.api("DELETE", f"sessions/{session['id']}")
    page.goto("about:blank")  # nothing of JupyterLab is left either
    cell = pages.visit(page, lab, name).cell(1)
    expect(cell).to_contain_text("First.")
    expect(cell).to_contain_text("you ran this")
    expect(cell.locator("strong")).to_have_text("42")
    expect(cell).not_to_contain_text("widget")
    pages.end(page)


def test_a_cell_says_that_its_kernel_ended_in_the_middle_of_an_answer(pages, lab):
    page = pages.page()
    set_up = SETUP + "script([said('I ask.'), code('1 + 1', end=True)])"
    notebook = pages.visit(page, lab, lab.write("ended.ipynb", set_up, "%%lmc\nGo."))
    notebook.command("notebook:run-all-cells")
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    expect(cell).to_contain_text("Stopped here: the kernel ended")
    expect(cell).to_contain_text("not run: the kernel ended")
    expect(cell).to_contain_text("1 + 1")
    expect(cell.locator(".lmc-live").get_by_role("button")).to_have_count(0)
    pages.end(page)


def wait_focused(page, at: int) -> None:
    """Until the notebook has the focus in command mode, and its active cell is this one."""
    page.wait_for_function(
        "at => { const notebook = window.jupyterapp.shell.currentWidget.content; "
        "return notebook.activeCellIndex === at && notebook.mode === 'command' "
        "&& notebook.activeCell.node.contains(document.activeElement); }",
        arg=at,
    )


class WithNext:
    """A question in a `%%lmc` cell that was run with Shift+Enter; the cell below it is active."""

    def __init__(self, chat) -> None:
        chat.do("script([code('a = 1', end=True)], [said('ok')])\nwas_next = False")
        self.chat, self.page = chat, chat.page
        self.at = chat.cell("%%lmc\nGo.")
        chat.cell("was_next = True")
        self.page.evaluate(
            "at => { const { content } = window.jupyterapp.shell.currentWidget; "
            "content.activeCellIndex = at; content.mode = 'command'; content.activate(); }",
            self.at,
        )
        wait_focused(self.page, self.at)
        chat.notebook.command("notebook:run-cell-and-select-next")
        self.cell = chat.notebook.cell(self.at)
        ask_card(self.cell).wait_for()

    def go_on_by_keyboard(self) -> None:
        """Shift+Enter runs the cell below."""
        self.chat.notebook.wait_done(self.at)
        wait_focused(self.page, self.at + 1)
        self.page.keyboard.press("Shift+Enter")
        self.chat.notebook.wait_done(self.at + 1)
        assert self.chat.value("was_next") is True


@pytest.mark.parametrize("button", ["Run", "Don't run", "Run everything in this answer"])
def test_after_a_press_of_the_mouse_the_keyboard_is_the_notebooks(chat, button):
    asked = WithNext(chat)
    press(asked.cell.locator("[data-proposal]"), button)
    asked.go_on_by_keyboard()


def test_after_an_edit_the_keyboard_is_the_notebooks(chat):
    asked = WithNext(chat)
    card = asked.cell.locator("[data-proposal]")
    press(card, "Edit")
    card.get_by_label("The code, to edit").fill("a = 2")
    press(card, "Run edited")
    asked.go_on_by_keyboard()
    assert chat.value("a") == 2


def test_the_buttons_are_pressed_by_the_keyboard_and_it_goes_back_to_the_notebook(chat):
    asked = WithNext(chat)
    wait_focused(asked.page, asked.at + 1)
    run = ask_card(asked.cell).get_by_role("button", name="Run", exact=True)
    run.evaluate("button => button.focus()")
    expect(run).to_be_focused()
    asked.page.keyboard.press("Enter")
    asked.go_on_by_keyboard()


def test_buttons_that_come_late_take_the_place_of_the_input_field(pages, lab):
    page = pages.page()  # a new kernel, which has heard no browser yet
    impatient = "\nfrom lmc_jupyter.frontends.cell import asking\nasking.HELLO_SECONDS = 0.0"
    set_up = SETUP + impatient + "\nscript([said('So:'), code('a = 1', end=True)], [said('ok')])"
    notebook = pages.visit(page, lab, lab.write("late.ipynb", set_up, "%%lmc\nGo.", "print(a)"))
    notebook.command("notebook:run-all-cells")
    cell = notebook.cell(1)
    press(cell.locator("[data-proposal]"), "Run")
    notebook.wait_done(2)
    expect(cell.locator(".jp-Stdin")).to_have_count(0)
    expect(cell).to_contain_text("So:")
    expect(cell).to_contain_text("you ran this")
    expect(notebook.cell(2)).to_contain_text("1")
    pages.end(page)
