"""%%lmc in a real JupyterLab, answered by a scripted model, pressed by a real mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SETUP = """
%load_ext lmc_jupyter
from scripted import ScriptedModel, code, said
from lmc_jupyter import current_session
def script(*replies):
    current_session().choose_model(ScriptedModel(*replies))
x = 21
"""


def ask_card(cell):
    return cell.locator("[data-proposal][data-ready]")


@pytest.fixture
def asking(lab, open_notebook):
    """Opens a notebook (what is set up, a question, what comes after) and asks the question."""

    def ask(name, set_up, *after):
        notebook = open_notebook(lab.write(name, SETUP + set_up, "%%lmc\nGo.", *after))
        notebook.run(0)
        notebook.wait_done(0)
        notebook.run(1)
        return notebook

    return ask


def test_run_is_pressed_while_the_cell_is_busy_and_the_next_cell_waits(lab, open_notebook):
    name = lab.write(
        "run.ipynb",
        SETUP + "script([said('Let me see.'), code('y = x * 2\\nprint(y)', end=True)],\n"
        "       [said('It is **42**.')])",
        "%%lmc\nWhat is {x} times two?",
        "print('after', y)",
    )
    notebook = open_notebook(name)
    notebook.command("notebook:run-all-cells")
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    expect(cell).to_contain_text("Waiting for you")
    assert notebook.outputs(2) == []
    cell.get_by_role("button", name="Run", exact=True).click()
    notebook.wait_done(2)
    expect(cell).to_contain_text("you ran this")
    expect(cell.locator("strong")).to_have_text("42")
    expect(notebook.cell(2)).to_contain_text("after 42")
    kinds = [set(output.get("data", {})) for output in notebook.outputs(1)]
    assert not any("application/vnd.jupyter.widget-view+json" in kind for kind in kinds)


def test_an_edit_runs_as_edited_and_says_so(asking):
    notebook = asking(
        "edit.ipynb",
        "script([code('print(1)', end=True)], [said('ok')])",
        "[(m.content, dict(m.extra)) for m in current_session().messages if m.type == 'code']",
    )
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    cell.get_by_role("button", name="Edit", exact=True).click()
    area = cell.get_by_label("The code, to edit")
    expect(area).to_be_focused()
    area.fill("print('edited')")
    area.press("Shift+Enter")  # must neither run the notebook's cell nor approve anything
    area.fill("print('edited')")
    cell.get_by_role("button", name="Run edited", exact=True).click()
    notebook.wait_done(1)
    expect(cell).to_contain_text("you edited and ran this")
    texts = [o.get("text") for o in notebook.outputs(1) if o["output_type"] == "stream"]
    assert texts == ["edited\n"]
    notebook.run(2)
    notebook.wait_done(2)
    expect(notebook.cell(2)).to_contain_text("{'edited': True}")


def test_dont_run_runs_nothing_and_tells_the_model_why(asking):
    notebook = asking(
        "decline.ipynb",
        "script([code('ran = True', end=True)], [said('Understood.')])",
        "'ran' in globals()",
    )
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    cell.get_by_label("Reason for not running it").fill("I would rather not")
    cell.get_by_role("button", name="Don't run", exact=True).click()
    notebook.wait_done(1)
    expect(cell).to_contain_text("This code was not run: I would rather not.")
    expect(cell).to_contain_text("Understood.")
    notebook.run(2)
    notebook.wait_done(2)
    assert notebook.outputs(2)[0]["data"]["text/plain"] == "False"


ENDLESS = """
import threading
class Endless:
    def respond(self, messages):
        yield said('First words, ')
        while True:
            threading.Event().wait(0.02)
            yield said('and more, ')
current_session().choose_model(Endless())
"""


def stop_and_go_on(notebook, shows):
    """Press Stop in cell 1 once it shows this text; the text stays and cell 2 runs."""
    output = notebook.cell(1).locator(".jp-OutputArea")
    expect(output).to_contain_text(shows)
    notebook.cell(1).get_by_role("button", name="Stop", exact=True).click()
    notebook.wait_done(1)
    expect(output).to_contain_text("Stopped")
    expect(output).to_contain_text(shows)
    notebook.run(2)
    notebook.wait_done(2)
    expect(notebook.cell(2)).to_contain_text("the next cell")


def test_stop_while_the_model_writes_keeps_its_words(asking):
    notebook = asking("stop-text.ipynb", ENDLESS, "'the next cell'")
    stop_and_go_on(notebook, "First words")


def test_stop_while_code_runs_keeps_its_output(asking):
    code = 'import time\\nprint("begun")\\nwhile True: time.sleep(0.01)'
    notebook = asking(
        "stop-code.ipynb",
        f"script([code('{code}', end=True)])",
        "'the next cell'",
    )
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    cell.get_by_role("button", name="Run", exact=True).click()
    stop_and_go_on(notebook, "begun")


def test_the_saved_record_needs_no_kernel_and_holds_no_widget(asking, lab, open_notebook, page):
    notebook = asking(
        "record.ipynb",
        "script([said('First.'), code('x + 1', end=True)], [said('It is **22**.')])",
    )
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    cell.get_by_role("button", name="Run", exact=True).click()
    notebook.wait_done(1)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    saved = (lab.root / "record.ipynb").read_text("utf-8")
    assert "widget-view" not in saved
    assert "you ran this" in saved
    for session in lab.api("GET", "sessions"):
        lab.api("DELETE", f"sessions/{session['id']}")
    cell = open_notebook("record.ipynb").cell(1)
    expect(cell).to_contain_text("First.")
    expect(cell).to_contain_text("you ran this")
    expect(cell.locator("strong")).to_have_text("22")
    expect(cell).not_to_contain_text("widget")


def test_a_click_that_a_script_makes_decides_nothing(asking, page):
    notebook = asking(
        "forged.ipynb",
        "script([code('ran = True', end=True)], [said('ok')])",
    )
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    page.evaluate("() => document.querySelectorAll('.lmc-ask button').forEach(b => b.click())")
    page.keyboard.press("Enter")
    cell.get_by_role("button", name="Don't run", exact=True).click()
    notebook.wait_done(1)
    expect(cell).to_contain_text("This code was not run: the user declined.")
