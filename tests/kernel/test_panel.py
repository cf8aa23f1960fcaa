"""The chat panel in a real kernel, with a front end that speaks js/src/protocol.ts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from model_server import Turn, text
from panel_view import Panel

from lmc_jupyter.content.error_text import without_stop
from lmc_jupyter.content.remarks import for_person

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

TESTS = Path(__file__).parents[1]
PNG = (  # one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)

SET_UP = f"""
import sys, threading
sys.path.insert(0, {str(TESTS)!r})
import lmc_jupyter
model_id = lmc_jupyter.panel_model_id()
from lmc_jupyter import current_session
from scripted import Endless, Held, ScriptedModel, Waiting, assert_valid, code, printed, said
session = current_session()

def scripted(*replies):
    session.reset()
    model = ScriptedModel(*replies)
    session.choose_model(model)
    return model

def use(model):
    session.reset()
    session.choose_model(model)
    return model

gate = threading.Event()

def open_gate(stream, ident, message):
    gate.set()
    kernel.session.send(stream, "open_gate_reply", {{"status": "ok"}}, message, ident)

kernel.control_handlers["open_gate"] = open_gate

def contents():
    assert session.wait(60)
    assert_valid(session.messages)
    return [message.content for message in session.messages]
"""


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def panel(lab):
    it = Panel(lab, lab.value("model_id"))
    yield it
    if it.view.state["state"] not in ("idle", "done", "stopped", "failed"):
        it.tell({"kind": "stop"})
    lab.run("assert session.wait(60); session.auto_run = False; session.reset()")


def same(lab: Any, panel: Panel) -> None:
    """What the panel shows is the conversation, and a fresh front end sees the same."""
    shown = [text for text in panel.texts() if text]
    contents = lab.value("contents()")
    assert shown == [words for text in contents if (words := without_stop(for_person(text)))]
    fresh = Panel(lab, panel.id)
    assert fresh.texts() == panel.texts()
    assert fresh.fates() == panel.fates()
    assert fresh.view.turns == panel.view.turns


# A turn -------------------------------------------------------------------------------------------


def test_a_question_is_answered_and_its_code_runs_in_the_notebook(lab, panel):
    lab.run(
        "x = 21\n"
        "model = scripted([said('I multiply.'), code('y = x * 2\\nprint(y)')], [said('42.')])"
    )
    panel.ask("What is twice x?")
    question = panel.question()
    assert question["code"] == "y = x * 2\nprint(y)"
    assert question["language"] == "python"
    assert panel.view.records[question["at"]]["message"]["content"] == question["code"]
    assert panel.view.state["state"] == "waiting"
    assert panel.view.state["where"] == "panel"
    panel.decide(question)
    panel.over()
    assert panel.texts() == [
        "What is twice x?",
        "I multiply.",
        "y = x * 2\nprint(y)",
        "42\n",
        "42.",
    ]
    assert panel.fates() == ["ran"]
    assert lab.value("y") == 42
    assert panel.view.ask is None
    same(lab, panel)


def test_messages_reach_it_by_the_comm_too(lab):
    lab.run("scripted([code('y = 1')], [said('ok')])")
    panel = Panel(lab, lab.value("model_id"), way="comm")
    panel.ask()
    panel.decide(panel.question())
    panel.over()
    assert panel.texts() == ["Go.", "y = 1", "", "ok"]


def test_an_edit_is_what_runs_and_what_is_shown(lab, panel):
    lab.run("scripted([code('z = 1')], [said('ok')])")
    panel.ask()
    panel.decide(panel.question(), code="z = 2")
    panel.over()
    assert lab.value("z") == 2
    assert panel.fates() == ["edited"]
    assert panel.texts()[1] == "z = 2"
    same(lab, panel)


def test_a_reason_not_to_run_reaches_the_model(lab, panel):
    lab.run("z = 0; model = scripted([code('z = 1')], [said('ok')])")
    panel.ask()
    panel.decide(panel.question(), "decline", reason="use numpy")
    panel.over()
    assert lab.value("z") == 0
    assert lab.value("model.seen[1][-1].content") == "This code was not run: use numpy."
    assert panel.fates() == ["not run"]
    same(lab, panel)


def test_run_all_in_this_turn_but_not_what_must_be_seen_and_not_the_next(lab, panel):
    lab.run(
        "n = 0; scripted([code('n += 1')], [code('n += 1')], [code('n += 1  # \\u202e')],"
        " [said('ok')], [code('n += 10')], [said('ok')])"
    )
    panel.ask()
    first = panel.question()
    panel.decide(first, "all")
    hidden = panel.question(first["proposal"])
    assert "Hidden characters" in hidden["warning"]
    panel.decide(hidden, "decline")
    panel.over()
    assert lab.value("n") == 2
    assert panel.fates() == ["ran", "ran unasked", "not run"]
    panel.ask()
    panel.decide(panel.question(), "decline")
    panel.over()
    assert lab.value("n") == 2


def test_what_policy_allows_runs_unasked(lab, panel):
    lab.run("n = 0; scripted([code('n += 1')], [said('ok')]); session.auto_run = True")
    panel.until(lambda: panel.view.settings["auto_run"], "the setting")
    panel.ask()
    panel.over()
    assert lab.value("n") == 1
    assert panel.fates() == ["ran unasked"]


def test_the_person_reads_where_a_widget_got_that_is_not_live_in_the_panel(lab, panel):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    source = "import ipywidgets\ns = ipywidgets.IntSlider()\ndisplay(s)\ns.value = 5"
    lab.run(f"scripted([code({source!r}, end=True)], [said('There.')]); session.auto_run = True")
    panel.ask()
    panel.over()
    said = lab.value("[(m.content, m.recipient) for m in session.messages if m.type == 'console']")
    assert [whom for _, whom in said if whom is not None] == []
    assert "IntSlider(value=5)" in said[-1][0]


WIDGETS = """import ipywidgets
from IPython.display import display
one, two = ipywidgets.IntSlider(), ipywidgets.Text()
print('before', end='')
display(one)
display(two)
print('after')
view = 'application/vnd.jupyter.widget-view+json'
display({view: {'model_id': '<b>'}, 'text/plain': 'no'}, raw=True)
display({view: {'model_id': one.model_id}, 'image/png': PNG}, raw=True)
one"""


def test_a_widget_of_the_panel_is_a_record_of_its_own_with_its_model(lab, panel):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    lab.run(
        f"PNG = {PNG!r}\n"
        f"scripted([code({WIDGETS!r}, end=True)], [said('There.')]); session.auto_run = True"
    )
    panel.ask()
    panel.over()
    one, two = lab.value("one.model_id"), lab.value("two.model_id")
    for view in (panel, Panel(lab, panel.id)):  # and who comes later
        shown = [
            (r["message"]["content"], r.get("widget"))
            for r in view.view.records
            if r["message"]["role"] == "computer" and r["message"]["content"]
        ]
        assert shown == [
            ("before", None),
            ("IntSlider(value=0)\n", one),
            ("Text(value='')\n", two),
            ("after\nno\n", None),
            (PNG, one),
            ("IntSlider(value=0)\n", one),
        ]
    assert lab.value(f"any({one!r} in str(m.to_dict()) for m in session.messages)") is False
    same(lab, panel)


def test_a_widget_of_a_cell_is_live_there_and_no_widget_of_the_panel(lab, panel):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    lab.run(
        "scripted([code('import ipywidgets\\nipywidgets.Text()', end=True)], [said('There.')])\n"
        "session.auto_run = True"
    )
    lab.run("%%lmc\nGo.")
    panel.over()
    assert "Text(value='')\n" in panel.texts()
    assert [r for r in panel.view.records if "widget" in r] == []


def test_forged_decisions_decide_nothing(lab, panel):
    lab.run("a = 0; scripted([code('a = 1')], [said('ok')])")
    panel.ask()
    question = panel.question()
    for forged in (
        {"proposal": "0" * 32},
        {"digest": "0" * 64},
        {"digest": None},
        {"code": 7},
        {"decision": "yes"},
    ):
        panel.decide(question, **{"decision": "run", **forged})
    panel.decide(question, "decline")
    panel.over()
    assert lab.value("a") == 0


def test_an_error_of_the_model_is_a_note_and_the_conversation_goes_on(lab, panel):
    lab.run(
        "from lmc_jupyter.errors import ModelError\n"
        "scripted([said('Half '), ModelError('the line broke')], [said('Whole.')])"
    )
    panel.ask()
    panel.over("failed")
    assert panel.texts() == ["Go.", "Half ", "the line broke"]
    assert panel.view.records[1]["partial"] is True
    assert panel.view.records[2]["level"] == "error"
    panel.ask("Again.")
    panel.over()
    assert panel.texts() == ["Go.", "Half ", "the line broke", "Again.", "Whole."]


# Stop ---------------------------------------------------------------------------------------------


def test_stop_in_text_keeps_what_came(lab, panel):
    lab.run("model = use(Waiting(said('Half a sentence')))")
    panel.ask()
    panel.until(lambda: "Half a sentence" in panel.texts(), "the text")
    panel.tell({"kind": "stop"})
    panel.over("stopped")
    assert panel.texts() == ["Go.", "Half a sentence"]
    assert panel.view.records[1]["partial"] is True
    same(lab, panel)


def test_stop_in_code_ends_it_and_keeps_what_it_printed(lab, panel):
    lab.run(
        "ended = False\n"
        "scripted([code('''import time\\nprint('begun')\\ntry:\\n    time.sleep(60)\\n"
        "finally:\\n    ended = True''')], [said('no')])"
    )
    panel.ask()
    panel.decide(panel.question())
    panel.until(lambda: "begun\n" in panel.texts(), "the output")
    assert panel.view.state["state"] == "running"
    panel.tell({"kind": "stop"})
    panel.over("stopped")
    assert lab.value("ended") is True
    assert panel.fates() == ["stopped"]
    same(lab, panel)


def test_stop_at_a_question_runs_nothing_and_it_can_be_resumed(lab, panel):
    lab.run("a = 0; scripted([code('a = 1')], [said('ok')])")
    panel.ask()
    panel.question()
    panel.tell({"kind": "stop"})
    panel.over("stopped")
    assert panel.view.ask is None
    assert lab.value("a") == 0
    assert panel.value("command", line="resume") == ""
    panel.decide(panel.question())
    panel.over()
    assert lab.value("a") == 1
    assert panel.texts() == ["Go.", "a = 1", "", "ok"]


# Going back ---------------------------------------------------------------------------------------


def test_retry_asks_the_same_again(lab, panel):
    lab.run("model = scripted([said('One.')], [said('Two.')], [said('Three.')])")
    panel.ask("1")
    panel.over()
    first = panel.view.turns[0]
    panel.ask("2")
    panel.over()
    panel.begin("retry", turn=first["id"])
    panel.over()
    assert panel.texts() == ["1", "Three."]
    assert len(panel.view.turns) == 1
    assert panel.view.turns[0]["id"] != first["id"]
    assert "no longer" in panel.refused("retry", turn=first["id"])
    same(lab, panel)


def test_an_edited_question_takes_the_place_of_the_old_one(lab, panel):
    lab.run("model = scripted([said('One.')], [said('Two.')])")
    panel.ask("1")
    panel.over()
    panel.begin("edit", turn=panel.view.turns[0]["id"], text="one?")
    panel.over()
    assert panel.texts() == ["one?", "Two."]
    assert lab.value("[m.content for m in model.seen[1]]") == ["one?"]
    same(lab, panel)


def test_undo_and_reset_are_seen(lab, panel):
    lab.run("scripted([said('One.')], [said('Two.')])")
    for number in "12":
        panel.ask(number)
        panel.over()
    assert "Removed the last question and its answer" in panel.value("command", line="%lmc undo")
    panel.until(lambda: panel.texts() == ["1", "One."], "the end of it")
    assert [turn["at"] for turn in panel.view.turns] == [0]
    lab.run("%lmc reset")
    panel.until(lambda: panel.texts() == [], "an empty list")
    assert panel.view.turns == []


# Together with cells ------------------------------------------------------------------------------


def test_the_turn_of_a_cell_is_seen_in_the_panel_and_refuses_a_second_question(lab, panel):
    lab.run("model = use(Waiting(said('From the cell.')))")
    cell = lab.start("%%lmc\nIn a cell.")
    panel.until(lambda: "From the cell." in panel.texts(), "the text of the cell")
    assert panel.view.state["where"] == "cell"
    assert "another answer" in panel.refused("ask", text="And I?", attachments=[])
    panel.tell({"kind": "stop"})
    lab.finish(cell)
    panel.over("stopped")
    assert panel.view.turns[-1]["where"] == "cell"
    assert panel.texts() == ["In a cell.", "From the cell."]


def test_stop_in_the_panel_ends_the_question_of_a_cell(lab, panel):
    lab.run("from lmc_jupyter.frontends.cell import asking; asking.HELLO_SECONDS = 60.0")
    lab.run("a = 0; scripted([code('a = 1')], [said('ok')])")
    cell = lab.start("%%lmc\nGo.")
    panel.until(lambda: panel.view.state["state"] == "waiting", "the question")
    assert panel.view.ask is None  # it is answered in its cell
    panel.tell({"kind": "stop"})
    lab.finish(cell)
    panel.over("stopped")
    lab.run("asking.HELLO_SECONDS = 2.0")
    assert lab.value("a") == 0


def test_stop_in_the_panel_ends_the_question_of_a_cell_on_the_keyboard_too(lab, panel):
    lab.run(
        "from lmc_jupyter.frontends.cell import asking\n"
        "seconds = asking.HELLO_SECONDS, asking.EXPECTED_SECONDS\n"
        "asking.HELLO_SECONDS = asking.EXPECTED_SECONDS = 0.0"
    )
    lab.run("a = 0; scripted([code('a = 1')], [said('ok')])")
    cell = lab.start("%%lmc\nGo.")
    question = lab.client.get_stdin_msg(timeout=60)
    assert "Run this python code?" in question["content"]["prompt"]
    panel.tell({"kind": "stop"})
    lab.finish(cell)
    panel.over("stopped")
    assert lab.value("a") == 0
    lab.run("asking.HELLO_SECONDS, asking.EXPECTED_SECONDS = seconds")


def test_a_turn_goes_on_while_a_cell_runs_and_its_code_waits_for_it(lab, panel):
    lab.run("gate.clear(); model = scripted([said('Hi.'), code('order.append(2)')], [said('ok')])")
    cell = lab.start("order = []\nprint('cell')\ngate.wait(60)\norder.append(1)")
    lab.shows(cell, "cell\n")
    panel.ask()
    panel.decide(panel.question())
    panel.until(lambda: panel.view.state["state"] == "running", "the run")
    assert "Hi." in panel.texts()
    lab.control("open_gate", {})
    lab.finish(cell)
    panel.over()
    assert lab.value("order") == [1, 2]
    same(lab, panel)


# What is asked for --------------------------------------------------------------------------------


def test_names_are_those_of_the_kernel_and_nothing_of_them_is_called(lab, panel):
    lab.run(
        "class Loud:\n    def __len__(self): raise RuntimeError('called')\n"
        "    __repr__ = __str__ = __len__\n    shape = property(__len__)\n"
        "q_loud, q_list, q_text, _q_hidden, Q_BIG = Loud(), [1, 2], 'abc', 1, 2.5"
    )
    found = {each["name"]: each for each in panel.value("names", prefix="q_")}
    assert found["q_list"] == {"name": "q_list", "type": "list", "shape": "2 items"}
    assert found["q_text"]["shape"] == "3 characters"
    assert found["q_loud"] == {"name": "q_loud", "type": "Loud", "shape": ""}
    assert "Q_BIG" in found
    assert "_q_hidden" not in found
    assert [each["name"] for each in panel.value("names", prefix="@_q_")] == ["_q_hidden"]
    assert panel.value("names", prefix="nothing_of_that_name") == []


def test_models_that_can_be_used_are_offered_and_one_is_chosen(lab, panel):
    lab.run("import os; os.environ['GROQ_API_KEY'] = 'gsk_0123456789abcdef'")
    offers = {offer["name"]: offer for offer in panel.value("models")}
    assert offers["local"]["api_base"] is None
    groq = next(offer for name, offer in offers.items() if name.startswith("groq/"))
    assert groq["why"] == "GROQ_API_KEY is in the environment"
    assert groq["label"].endswith("(Groq)")
    assert [offer["current"] for offer in offers.values()].count(True) == 1
    said = panel.value("choose", model=groq["name"])
    assert groq["name"] in said
    panel.until(lambda: panel.view.settings["model"] == groq["name"], "the setting")
    assert panel.view.settings["label"] == groq["name"]
    assert panel.view.settings["chosen"] is True
    assert lab.value("get_ipython().run_line_magic('config', 'LMC.model')") == groq["name"]
    assert (
        next(offer for offer in panel.value("models") if offer["current"])["name"] == groq["name"]
    )
    assert "nowhere.jsonl" in panel.refused("choose", model="replay/nowhere.jsonl")
    assert lab.value("session.choice.spec") == groq["name"]
    lab.run("del os.environ['GROQ_API_KEY']")


def test_a_model_is_chosen_for_all_notebooks_only_where_that_is_said(make_frontend, tmp_path):
    none = dict.fromkeys(("LMC_MODEL", "LMC_API_KEY", "LMC_API_BASE"), "")
    lab = make_frontend(env={"XDG_DATA_HOME": str(tmp_path), **none})
    lab.run(f"{SET_UP}\nfrom lmc_jupyter.frontends.config import saved_model")
    panel = Panel(lab, lab.value("model_id"))
    panel.value("choose", model="openai/one", api_base="http://127.0.0.1:9/v1")
    assert lab.value("saved_model.of_all() is None") is True
    said = panel.value("choose", model="openai/all", api_base="http://127.0.0.1:9/v1", keep=True)
    assert said.endswith("New notebooks start with it too.")
    assert lab.value("(saved_model.of_all().model, saved_model.of_all().api_base)") == (
        "openai/all",
        "http://127.0.0.1:9/v1",
    )


def test_the_embedded_model_is_fetched_only_when_it_is_chosen_twice(lab, panel):
    lab.run(
        "from lmc_jupyter.models import weights\nkept = weights.locate, weights.fetch\n"
        "from lmc_jupyter.models.local import process\n"
        "runtime = weights.has_runtime, process.runtime\n"
        "weights.has_runtime = process.runtime = lambda: True\n"  # not in each environment
        "fetched = []\nweights.locate = lambda *_: None\n"
        "def fetch(name, notify):\n    notify('so far: 50 %')\n    fetched.append(name)\n"
        "weights.fetch = fetch"
    )
    assert "MB are fetched first" in next(
        offer["why"] for offer in panel.value("models") if offer["name"] == "local"
    )
    told = panel.refused("choose", model="local")
    assert "MB" in told
    assert "choose it once more" in told
    assert lab.value("fetched") == []
    assert "Qwen2.5-Coder 0.5B" in panel.value("choose", model="local")
    assert len(lab.value("fetched")) == 1
    lab.run("weights.locate, weights.fetch = kept; weights.has_runtime, process.runtime = runtime")


def test_commands_answer_as_in_a_cell_and_wrong_ones_say_so(lab, panel):
    lab.run("scripted()")
    assert "Conversation: 0 messages" in panel.value("command", line="")
    assert "%lmc reset" in panel.value("command", line="/help")
    assert "no command 'dance'" in panel.refused("command", line="dance")
    assert "cannot be read" in panel.refused("command", line="model 'x")
    assert "no code waits" in panel.refused("command", line="resume")
    assert "does not know the request" in panel.refused("dance")
    assert "must be text" in panel.refused("command", line=7)


def test_a_long_console_comes_bounded_and_whole_when_it_is_asked_for(lab, panel):
    lab.run(
        "session.auto_run = True\n"
        # in one piece: a slow machine would print lines no faster than they are sent
        "scripted([code('print(chr(10).join(map(str, range(60_000))))')], [said('ok')])"
    )
    panel.ask()
    panel.over()
    whole = "".join(f"{i}\n" for i in range(60_000))
    at = panel.texts().index("ok") - 1
    record = panel.view.records[at]
    assert record["tail"].endswith("59998\n59999\n")
    shown = record["message"]["content"]
    assert len(shown) + record["cut"] + len(record["tail"]) == len(whole)
    assert whole.startswith(shown)
    assert panel.value("console", at=at) == whole
    fresh = Panel(lab, panel.id).view.records[at]
    assert len(fresh["message"]["content"]) + len(fresh["tail"]) < 100_000
    assert "no message number" in panel.refused("console", at=999)


@pytest.mark.parametrize("name", ["katex.js", "highlight.js"])
def test_a_file_of_the_bundle_comes_as_one_buffer(lab, panel, name):
    lab.run(
        "from pathlib import Path; from lmc_jupyter.frontends.panel import widget\n"
        "import tempfile; kept, widget.STATIC = widget.STATIC, Path(tempfile.mkdtemp())\n"
        f"_ = (widget.STATIC / '{name}').write_bytes(b'export {{}}')"
    )
    reply, buffers = panel.request("asset", name=name)
    assert reply["ok"]
    assert [bytes(buffer) for buffer in buffers] == [b"export {}"]
    assert "no file" in panel.refused("asset", name="../panel.py")
    assert "no file" in panel.refused("asset", name=["katex.js"])
    lab.run(f"(widget.STATIC / '{name}').unlink()")
    assert "make js" in panel.refused("asset", name=name)
    lab.run("widget.STATIC = kept")


# Attachments --------------------------------------------------------------------------------------


def attached(name: str, data: bytes | str, mime: str = "") -> dict[str, str]:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"name": name, "mime": mime, "data": text}


def test_an_image_and_a_file_go_before_the_question(lab, panel):
    lab.run("model = scripted([said('I see.')])")
    panel.ask(
        "What is it?", [attached("a.png", PNG, "image/png"), attached("../b.csv", b"x,y\n1,2\n")]
    )
    panel.over()
    kinds = [(r["message"]["role"], r["message"]["type"]) for r in panel.view.records]
    assert kinds == [
        ("user", "image"),
        ("user", "file"),
        ("user", "message"),
        ("assistant", "message"),
    ]
    assert panel.view.turns[0]["at"] == 2
    path = Path(panel.texts()[1])
    assert path.name == "b.csv"
    assert path.read_text() == "x,y\n1,2\n"
    assert oct(path.parent.stat().st_mode)[-3:] == "700"
    assert "Removed the last question and its answer" in panel.value("command", line="undo")


@pytest.mark.parametrize(
    ("attachment", "sentence"),
    [
        (attached("a.png", "%%%", "image/png"), "not base64"),
        (attached("a.csv", b""), "is empty"),
        (attached("a.webp", b"RIFFxxxxWEBPno", "image/webp"), "a.webp"),
        ({"name": "a.csv", "mime": ""}, "without its data"),
        (attached("big.bin", bytes(10_000_001)), "at most 10 MB"),
    ],
    ids=["base64", "empty", "image", "data", "large"],
)
def test_what_cannot_be_attached_is_refused_and_the_conversation_goes_on(
    lab, panel, attachment, sentence
):
    lab.run("scripted([said('Hi.')])")
    assert sentence in panel.refused("ask", text="Look.", attachments=[attachment])
    assert panel.texts() == []
    panel.ask("Hello.")
    panel.over()
    assert panel.texts() == ["Hello.", "Hi."]


# What was sent ------------------------------------------------------------------------------------


def test_what_was_sent_is_the_body_that_the_model_got_and_holds_no_key(lab, panel, model_server):
    model_server.turns = [
        Turn(text("I look."), ("call", "execute", '{"language": "python", "code": "1+1"}')),
        Turn(text("It is 2.")),
    ]
    key = "sk-not-for-anyone-0123456789"
    lab.run(
        f"session.reset(); session.choose_model('openai/some', api_base={model_server.base!r},"
        f" api_key={key!r}, tools=True, vision=True, temperature=0)"
    )
    panel.ask(
        "Add.", [attached("notes.txt", b"remember the milk"), attached("a.png", PNG, "image/png")]
    )
    panel.decide(panel.question())
    panel.over()
    sent = panel.value("sent", turn=panel.view.turns[-1]["id"])
    got = [request.body for request in model_server.requests if "messages" in request.body]
    assert [json.loads(each["body"]) for each in sent] == got
    assert len(sent) == 2
    assert got[0]["temperature"] == 0
    assert "remember the milk" in sent[0]["body"]
    assert "data:image/png;base64," in sent[0]["body"]
    assert key not in json.dumps(sent)
    assert [each["prompt_tokens"] for each in sent] == [11, 11]
    turn = panel.view.turns[-1]
    assert (turn["prompt_tokens"], turn["completion_tokens"], turn["requests"]) == (22, 14, 2)
    assert lab.value(f"{key!r} in repr(vars(session))") is False


def test_half_characters_reach_no_front_end(lab, panel):
    half = "chr(0xd83d)"
    hi = f"said('hi ' + {half}), said(chr(0xde00))"
    lab.run(f"scripted([{hi}, code('x = 1  # ' + {half})], [said('k')])")
    panel.ask()
    question = panel.question()
    assert question["code"] == "x = 1  # \ufffd"
    panel.decide(question)
    panel.over()
    assert panel.texts() == ["Go.", "hi \ufffd\ufffd", "x = 1  # \ufffd", "", "k"]
    lab.run(f"session.messages = [*session.messages[:1], code('y = 1  # ' + {half}).to_dict()]")
    panel.request("command", line="resume")
    panel.decide(panel.question(question["proposal"]), "decline")
    panel.over()
    same_texts = [text for text in panel.texts() if text]
    assert same_texts[:2] == ["Go.", "y = 1  # \ufffd"]


def test_a_question_that_another_one_overtakes_is_said_to_have_no_answer(lab, panel):
    lab.run(
        "model = use(Waiting(said('A word.')))\n"
        "usual = session.ask\n"
        "def overtaken(*args, **options):\n"
        "    session.ask = usual\n"
        "    mine, other = usual(*args, **options), usual('Mine is first.')\n"
        "    worker = threading.Thread(target=lambda: list(other))\n"
        "    worker.start()\n"
        "    model.silent.wait(60)\n"
        "    return mine\n"
        "session.ask = overtaken"
    )
    panel.tell({"kind": "ask", "text": "Go.", "attachments": []})
    panel.until(lambda: "A word." in panel.texts(), "the other one's answer")
    assert panel.view.state["where"] == "cell"
    lab.run(
        "from lmc_jupyter.frontends.panel.panel import the_panel\n"
        "while the_panel()._driver._answering.locked(): pass"
    )
    assert panel.view.open
    panel.tell({"kind": "stop"})
    panel.over("stopped")
    assert panel.texts() == [
        "Go.",
        "Mine is first.",
        "A word.",
        "this question has no answer yet: an answer is still in progress: stop it first",
    ]
    fresh = Panel(lab, panel.id)
    assert fresh.texts() == panel.texts()


def test_a_stop_just_after_the_yes_lets_nothing_begin_nor_wait_for_a_cell(lab, panel):
    lab.run(
        "usual = session.gate.run\n"
        "def stopped(grant, computer):\n"
        "    session.gate.run = usual\n"
        "    session.stop()\n"
        "    return usual(grant, computer)\n"
        "session.gate.run = stopped\n"
        "ran = []; gate.clear()\n"
        "scripted([code('ran.append(1)')])"
    )
    panel.ask()
    question = panel.question()
    cell = lab.start("print('busy'); opened = gate.wait(60)")
    lab.shows(cell, "busy\n")
    panel.decide(question)
    panel.over("stopped")
    lab.control("open_gate", {})
    lab.finish(cell)
    assert lab.value("(opened, ran)") == (True, [])
    assert panel.fates() == ["stopped"]


# One panel ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_there_is_one_panel_in_a_kernel_and_a_new_one_when_it_was_closed(make_frontend):
    lab = make_frontend()
    first = lab.value("import lmc_jupyter; lmc_jupyter.panel_model_id()")
    assert lab.value("lmc_jupyter.panel_model_id()") == first
    bundles = [
        m["content"]["data"] for m in lab.run("%lmc panel") if m["msg_type"] == "display_data"
    ]
    assert [b["application/vnd.jupyter.widget-view+json"]["model_id"] for b in bundles] == [first]
    shown = lab.run("lmc_jupyter.ChatPanel(lmc_jupyter.Session(model='replay/none'))")
    results = [m["content"]["data"] for m in shown if m["msg_type"] == "execute_result"]
    other = Panel(lab, results[0]["application/vnd.jupyter.widget-view+json"]["model_id"])
    assert other.id != first
    assert other.view.settings["label"] == ""
    closing = "len(lmc_jupyter.frontends.panel.panel._magics().stage.closing)"
    before = lab.value(closing)
    lab.run("another = lmc_jupyter.ChatPanel(); another.close()")
    assert lab.value(closing) == before
    lab.send("comm_close", {"comm_id": first, "data": {}})
    second = lab.value("lmc_jupyter.panel_model_id()")
    assert second != first
    assert Panel(lab, second).view.state["state"] == "idle"
    lab.run("%unload_ext lmc_jupyter")
    assert lab.value("lmc_jupyter.panel_model_id()") != second


def test_what_an_edit_would_do_is_told_while_a_cell_is_busy(lab, panel):
    lab.run("a = [1]; scripted([code('b = 1')], [said('ok')]); gate.clear()")
    panel.ask()
    question = panel.question()
    cell = lab.start("print('busy'); opened = gate.wait(60)")
    lab.shows(cell, "busy\n")
    (effect,) = panel.value("effects", proposal=question["proposal"], code="a = 2")
    assert effect["warns"] is True
    assert ["name", "a"] in effect["parts"]
    assert "no longer waits" in panel.refused("effects", proposal="0" * 32, code="a = 2")
    lab.control("open_gate", {})
    lab.finish(cell)
    panel.decide(question, "decline")
    panel.over()
    assert lab.value("a") == [1]
