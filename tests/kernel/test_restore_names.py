"""The names that code changed, in a real kernel: from the panel, in a cell, beside a cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from panel_view import Panel

pytestmark = pytest.mark.kernel

TESTS = Path(__file__).parents[1]

SET_UP = f"""
import sys, threading
sys.path.insert(0, {str(TESTS)!r})
import lmc_jupyter
model_id = lmc_jupyter.panel_model_id()
from lmc_jupyter import current_session
from scripted import ScriptedModel, assert_valid, code, said
from lmc_jupyter.computer.languages import python as live
live.FREE_SECONDS = 30.0  # a busy machine is not a running cell
session = current_session()
gate = threading.Event()

def scripted(*blocks):
    session.choose_model(ScriptedModel(*[[code(block)] for block in blocks], [said("Done.")]))

def open_gate(stream, ident, message):
    gate.set()
    kernel.session.send(stream, "open_gate_reply", {{"status": "ok"}}, message, ident)

kernel.control_handlers["open_gate"] = open_gate
"""


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def panel(lab):
    lab.run("session.auto_run = True")
    yield Panel(lab, lab.value("model_id"))
    lab.run("assert session.wait(60); session.auto_run = False; session.reset(); gate.clear()")


def ask(lab, panel, *blocks):
    lab.run(f"scripted(*{blocks!r})")
    panel.ask()
    panel.over()


def names(panel):
    return [each["names"] for each in panel.view.records if "names" in each]


def test_what_code_of_the_panel_changed_is_seen_and_taken_back_on_the_main_thread(lab, panel):
    lab.run(
        "import pandas as pd\n"
        "if pd.__version__ < '3': pd.options.mode.copy_on_write = True\n"  # else it always is
        "where, main = [], threading.get_ident()\n"
        "class Told:\n"
        "    def __del__(self): where.append(threading.get_ident() == main)\n"
        "df = pd.DataFrame({'a': [1, 2]}); x = 1; rows = [1]"
    )
    ask(lab, panel, "df.loc[0, 'a'] = 9; x = 2; rows.append(2); fresh = Told()", "del x")
    assert [(each["new"], each["changed"], each["removed"]) for each in names(panel)] == [
        (["fresh"], ["df", "x", "rows"], []),
        ([], [], ["x"]),
    ]
    first, second = (at for at, each in enumerate(panel.view.records) if "names" in each)
    assert panel.value("restore", at=second).startswith("Restored `x`.")
    assert lab.value("x") == 2
    said = panel.value("restore", at=first)
    assert said.startswith("Restored `df`, `rows` and `x`. Removed the variable `fresh`.")
    assert said.endswith("Files, the network and other programs were not restored.")
    assert lab.value("(df['a'].tolist(), x, rows, 'fresh' in globals())") == ([1, 2], 1, [1], False)
    assert lab.value("where") == [True]
    panel.until(lambda: names(panel) == [None, None], "the restored names")
    assert "user restored" in panel.texts()[-1]
    assert (
        lab.value("assert_valid(session.messages); session.messages[-1].content")
        == (panel.texts()[-1])
    )
    assert "no names to restore" in panel.refused("restore", at=first)


def test_it_is_done_once_and_leaves_what_a_cell_has_changed_since(lab, panel):
    lab.run("a = b = 1")
    ask(lab, panel, "a = b = 2")
    lab.run("b = 3")
    at = next(at for at, each in enumerate(panel.view.records) if "names" in each)
    said = panel.value("restore", at=at)
    assert said.startswith("Restored `a`. `b` has changed since then and stays unchanged.")
    assert lab.value("(a, b)") == (1, 3)


def test_while_a_cell_runs_it_says_so_and_does_nothing(lab, panel):
    lab.run("x = 1; live.FREE_SECONDS = 0.2")
    ask(lab, panel, "x = 2")
    at = next(at for at, each in enumerate(panel.view.records) if "names" in each)
    cell = lab.start("print('begun'); gate.wait(60); print(x)")
    lab.shows(cell, "begun\n")
    assert "a cell is running" in panel.refused("restore", at=at)
    lab.control("open_gate", {})
    lab.finish(cell)
    assert lab.text(cell).endswith("2\n")
    lab.run("live.FREE_SECONDS = 30.0")
    assert panel.value("restore", at=at).startswith("Restored `x`.")
    assert lab.value("x") == 1


def test_while_an_answer_is_given_it_says_so(lab, panel):
    lab.run("x = 1")
    ask(lab, panel, "x = 2")
    at = next(at for at, each in enumerate(panel.view.records) if "names" in each)
    lab.run("session.auto_run = False; scripted('x = 3')")
    panel.ask()
    question = panel.question()
    assert "while an answer is in progress" in panel.refused("restore", at=at)
    panel.decide(question, "decline")
    panel.over()


def test_in_a_cell_a_line_of_them_stays_and_the_magic_takes_them_back(lab, panel):
    lab.run("x = 1; gone = 1; scripted('x = 2; y = 3; del gone')")
    cell = lab.start("%%lmc\nGo.", allow_stdin=False)
    lab.finish(cell)
    bundles = [
        each["content"]["data"]
        for each in lab.of(cell)
        if each["msg_type"] in ("display_data", "update_display_data")
    ]
    drawn = [bundle for bundle in bundles if 'class="lmc-names"' in bundle.get("text/html", "")]
    assert '<code class="new">+ y</code> <code class="changed">~ x</code>' in drawn[-1]["text/html"]
    assert "names: + y  ~ x  - gone" in drawn[-1]["text/plain"]
    panel.until(lambda: [each and each["new"] for each in names(panel)] == [["y"]], "the names")
    back = lab.start("%lmc restore")
    lab.finish(back)
    assert lab.text(back).startswith("Restored x and gone. Removed the variable y.")
    assert lab.value("(x, gone, 'y' in globals())") == (1, 1, False)
    panel.until(lambda: names(panel) == [None], "the restored names")


def test_the_command_of_the_panel_takes_back_the_last_block(lab, panel):
    lab.run("x = 1")
    ask(lab, panel, "x = 2")
    assert panel.value("command", line="restore").startswith("Restored `x`.")
    assert lab.value("x") == 1
    panel.until(lambda: names(panel) == [None], "the restored names")
