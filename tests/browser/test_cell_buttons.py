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


def test_run_is_pressed_while_the_cell_is_busy_and_the_next_cell_waits(lab, open_notebook):
    name = lab.write(
        "run.ipynb",
        SETUP + "script([said('Let me see.'), code('y = x * 2\\nprint(y)', end=True)], [said('It is **42**.')])",
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


def test_an_edit_runs_as_edited_and_says_so(lab, open_notebook):
    name = lab.write(
        "edit.ipynb",
        SETUP + "script([code('print(1)', end=True)], [said('ok')])",
        "%%lmc\nGo.",
        "[(m.content, dict(m.extra)) for m in current_session().messages if m.type == 'code']",
    )
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
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


def test_dont_run_runs_nothing_and_tells_the_model_why(lab, open_notebook):
    name = lab.write(
        "decline.ipynb",
        SETUP + "script([code('ran = True', end=True)], [said('Understood.')])",
        "%%lmc\nGo.",
        "'ran' in globals()",
    )
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
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


@pytest.mark.parametrize(
    ("reply", "shows"),
    [
        ("[said('word '), *(said(f'{n} ') for n in slow())]", "word"),
        ("[code('import time\\nprint(\"begun\")\\nwhile True: time.sleep(0.01)', end=True)]", "begun"),
    ],
    ids=["while the model writes", "while code runs"],
)
def test_stop_ends_the_answer_and_keeps_what_came(lab, open_notebook, reply, shows):
    slow = """
import threading
class Slow:
    def respond(self, messages):
        for piece in REPLY: yield piece
def slow():
    n = 0
    while True:
        threading.Event().wait(0.02)
        n += 1
        yield n
"""
    name = lab.write(
        "stop.ipynb",
        SETUP + slow.replace("REPLY", f"({reply[1:-1]},)" if "slow" not in reply else "endless()")
        + "\ndef endless():\n    yield said('word ')\n    yield from (said(f'{n} ') for n in slow())\n"
        + "current_session().choose_model(Slow())",
        "%%lmc\nGo.",
        "'the next cell'",
    )
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
    cell = notebook.cell(1)
    if shows == "begun":
        ask_card(cell).wait_for()
        cell.get_by_role("button", name="Run", exact=True).click()
    expect(cell.locator(".jp-OutputArea")).to_contain_text(shows)
    cell.get_by_role("button", name="Stop", exact=True).click()
    notebook.wait_done(1)
    expect(cell).to_contain_text("Stopped")
    expect(cell.locator(".jp-OutputArea")).to_contain_text(shows)
    notebook.run(2)
    notebook.wait_done(2)
    expect(notebook.cell(2)).to_contain_text("the next cell")


def test_the_saved_record_needs_no_kernel_and_holds_no_widget(lab, open_notebook, page):
    name = lab.write(
        "record.ipynb",
        SETUP + "script([said('First.'), code('x + 1', end=True)], [said('It is **22**.')])",
        "%%lmc\nGo.",
    )
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    cell.get_by_role("button", name="Run", exact=True).click()
    notebook.wait_done(1)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    saved = (lab.root / name).read_text("utf-8")
    assert "widget-view" not in saved
    assert "you ran this" in saved
    for session in lab.api("GET", "sessions"):
        lab.api("DELETE", f"sessions/{session['id']}")
    notebook = open_notebook(name)
    cell = notebook.cell(1)
    expect(cell).to_contain_text("First.")
    expect(cell).to_contain_text("you ran this")
    expect(cell.locator("strong")).to_have_text("22")
    expect(cell).not_to_contain_text("widget")


def test_a_click_that_a_script_makes_decides_nothing(lab, open_notebook, page):
    name = lab.write(
        "forged.ipynb",
        SETUP + "script([code('ran = True', end=True)], [said('ok')])",
        "%%lmc\nGo.",
    )
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.wait_done(0)
    notebook.run(1)
    cell = notebook.cell(1)
    ask_card(cell).wait_for()
    page.evaluate("() => document.querySelectorAll('.lmc-ask button').forEach(b => b.click())")
    page.keyboard.press("Enter")
    cell.get_by_role("button", name="Don't run", exact=True).click()
    notebook.wait_done(1)
    expect(cell).to_contain_text("This code was not run: the user declined.")
