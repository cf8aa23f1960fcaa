"""Code of the panel that asks the person: `input()`, `getpass()`, `sys.stdin`, a debugger."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest
from IPython.core.error import StdinNotImplementedError
from panel_view import Panel

from lmc_jupyter.kernel.keyboard import Keyboard

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

TESTS = Path(__file__).parents[1]
SECRET = "hunter2-battery-staple"

SET_UP = f"""
import sys, threading
sys.path.insert(0, {str(TESTS)!r})
import lmc_jupyter
model_id = lmc_jupyter.panel_model_id()
from lmc_jupyter import current_session
from scripted import ScriptedModel, assert_valid, code, printed, said
session = current_session()
session.auto_run = True

def scripted(*codes):
    session.reset()
    model = ScriptedModel(*[[code(each)] for each in codes], [said('ok')])
    session.choose_model(model)
    return model

def everything():
    '''All that is kept or was sent anywhere.'''
    folder = session.journal.conversations.folder
    files = [path.read_text('utf-8') for path in folder.glob(session.journal.id + '.*')]
    bodies = [request.body for turn in session.turns for request in turn.requests]
    kept = [message.to_dict() for message in session.messages]
    seen = [[m.to_dict() for m in messages] for messages in session.model.seen]
    return repr((kept, seen, bodies, files))
"""


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture(params=["control", "comm"])
def panel(lab, request):
    it = Panel(lab, lab.value("model_id"), way=request.param)
    yield it
    if it.view.state["state"] not in ("idle", "done", "stopped", "failed"):
        it.tell({"kind": "stop"})
    lab.run("assert session.wait(60); session.reset()")


def begin(lab, panel, *codes):
    lab.run(f"model = scripted(*{codes!r})")
    panel.ask()


def asked(panel, *but):
    """Wait for a question; none of these."""
    return panel.until(
        lambda: panel.view.input if panel.view.input and panel.view.input not in but else None,
        "a program's question",
    )


def answer(panel, question, text):
    panel.tell({"kind": "input", "input": question["id"], "text": text})


def console(panel):
    return [
        each["message"]["content"]
        for each in panel.view.records
        if each.get("message", {}).get("type") == "console"
    ]


def test_input_asks_and_person_and_model_see_the_flow(lab, panel):
    begin(lab, panel, "print('hello')\nname = input('name? ')\nprint('so,', name)")
    question = asked(panel)
    assert (question["prompt"], question["password"]) == ("name? ", False)
    panel.until(lambda: panel.view.state["note"] == "Waiting for your input…", "the note")
    assert panel.view.state["state"] == "running"
    panel.until(lambda: console(panel) == ["hello\nname? "], "the prompt, as in a terminal")
    answer(panel, question, "Ada Lovelace é😀")
    panel.over()
    panel.until(lambda: panel.view.input is None, "the end of the input")
    assert panel.view.state["note"] == ""
    assert lab.value("name") == "Ada Lovelace é😀"
    assert console(panel) == ["hello\nname? Ada Lovelace é😀\nso, Ada Lovelace é😀\n"]
    assert lab.value("model.seen[1][-1].content") == console(panel)[0]


def test_a_password_is_nowhere_but_in_the_code(lab, panel):
    begin(lab, panel, "from getpass import getpass\nkey = getpass('API key: ')\nprint(len(key))")
    question = asked(panel)
    assert (question["prompt"], question["password"]) == ("API key: ", True)
    answer(panel, question, SECRET)
    panel.over()
    digest = "__import__('hashlib').sha256(key.encode()).hexdigest()"  # a cell's output is sent
    assert lab.value(digest) == hashlib.sha256(SECRET.encode()).hexdigest()
    assert console(panel) == [f"API key: \n{len(SECRET)}\n"]
    assert "API key" in lab.value("everything()")
    assert SECRET not in lab.value("everything()")
    fresh = Panel(lab, panel.id)
    assert SECRET not in json.dumps(fresh.view.records)
    lab.run("del key")


def test_a_key_is_typed_into_a_field_of_the_panel_and_is_nowhere_else(lab, panel):
    lab.run("model = scripted()\nfrom lmc_jupyter import keys")
    said = panel.tell({"kind": "command", "line": "/key SOME_API_KEY"})
    question = asked(panel)
    assert question | {"id": ""} == {
        "id": "",
        "prompt": "SOME_API_KEY",
        "password": True,
        "key": True,
    }
    assert "asked for already" in panel.refused("command", line="key SOME_API_KEY")
    answer(panel, question, SECRET)
    panel.until(lambda: panel.view.input is None, "the end of the question")
    assert lab.value(f"keys.look_up('SOME_API_KEY').reveal() == {SECRET!r}") is True
    reply, _ = panel.until(lambda: panel.replies.get(said), "the reply")
    assert reply["value"] == "SOME_API_KEY stays in memory until this kernel ends."
    panel.ask()
    panel.over()
    assert SECRET not in lab.value("everything()")
    fresh = Panel(lab, panel.id)
    assert SECRET not in json.dumps(fresh.view.records)
    sent = [each["content"] for each in lab.messages if each["msg_type"].startswith("comm")]
    assert SECRET not in str(sent)


def test_code_cannot_take_the_place_of_the_field_for_a_key(lab, panel):
    panel.tell({"kind": "command", "line": "/key SOME_API_KEY"})
    key = asked(panel)
    begin(lab, panel, "import getpass\ngot = getpass.getpass('SOME_API_KEY: ')")
    panel.until(lambda: panel.view.state["note"] == "Waiting for your input…", "the code to ask")
    panel.value("names", prefix="")  # what was shown before is here now
    assert panel.view.input == key
    answer(panel, key, SECRET)
    question = asked(panel, key)
    assert question["key"] is False
    answer(panel, question, "for the code")
    panel.over()
    assert lab.value("got") == "for the code"
    lab.run("from lmc_jupyter import keys\nkeys.forget('SOME_API_KEY')")


def test_stop_ends_the_field_for_a_key(panel):
    panel.tell({"kind": "command", "line": "/key SOME_API_KEY"})
    asked(panel)
    panel.tell({"kind": "stop"})
    panel.until(lambda: panel.view.input is None, "the end of the question")


def test_a_key_that_is_not_typed_changes_nothing(lab, panel):
    lab.run("from lmc_jupyter.keys import keyring")
    panel.tell({"kind": "command", "line": "/key OTHER_API_KEY"})
    panel.tell({"kind": "input", "input": asked(panel)["id"], "text": None})
    panel.until(lambda: panel.view.input is None, "the end of the question")
    assert lab.value("'OTHER_API_KEY' in keyring._secrets") is False


def test_a_reload_shows_the_open_question_and_a_second_tab_answers_it_once(lab, panel):
    begin(lab, panel, "a, b = input('a? '), input('b? ')")
    first = asked(panel)
    other = Panel(lab, panel.id)
    assert other.view.input == first
    answer(other, first, "1")
    answer(panel, first, "too late")
    second = asked(panel, first)
    assert second["prompt"] == "b? "
    answer(panel, second, "2")
    panel.over()
    other.over()
    other.until(lambda: other.view.input is None, "the end of the input")
    assert lab.value("[a, b]") == ["1", "2"]
    assert console(panel) == ["a? 1\nb? 2\n"]


def test_no_answer_is_the_end_of_the_input(lab, panel):
    begin(
        lab, panel, "try:\n    input('? ')\nexcept EOFError:\n    print('none')", "input('again? ')"
    )
    first = asked(panel)
    answer(panel, first, None)
    second = asked(panel, first)
    answer(panel, second, None)
    panel.over()
    assert console(panel)[0] == "? \nnone\n"
    assert console(panel)[1].startswith("again? \nTraceback (most recent call last):\n  line 1\n")
    assert console(panel)[1].endswith("EOFError\n")


@pytest.mark.parametrize("way", ["stop", "interrupt"])
def test_stop_and_the_kernels_interrupt_end_a_question(lab, panel, way):
    begin(lab, panel, "got = 0\ngot = input('name? ')", "print('never')")
    asked(panel)
    panel.until(lambda: console(panel) == ["name? "], "the prompt")
    if way == "stop":
        panel.tell({"kind": "stop"})
    else:
        lab.manager.interrupt_kernel()
    panel.over("stopped")
    panel.until(lambda: panel.view.input is None, "the question's end")
    assert console(panel) == ["name? \n"], "the head says that it was stopped"
    assert lab.value("got") == 0
    begin(lab, panel, "got = input('and now? ')")  # the next one is asked like the first
    answer(panel, asked(panel), "fine")
    panel.over()
    assert console(panel) == ["and now? fine\n"]


def test_everything_that_reads_the_keyboard_asks(lab, panel):
    lab.run("kept = input; from builtins import input as kept_too; import getpass as _g")
    begin(
        lab,
        panel,
        "import sys\n"
        "got = [kept('1 '), kept_too('2 '), get_ipython().kernel.raw_input('3 ')]\n"
        "got.append(sys.stdin.readline())\n"
        "got.append(sys.stdin.read(2) + sys.stdin.readline())\n"
        "got += list(sys.stdin)",
    )
    before = []
    for text in ("a", "b", "c", "d", "efg", "h", "i", None):
        question = asked(panel, *before)
        before.append(question)
        answer(panel, question, text)
    panel.over()
    assert lab.value("got") == ["a", "b", "c", "d\n", "efg\n", "h\n", "i\n"]
    assert [each["prompt"] for each in before] == ["1 ", "2 ", "3 ", "", "", "", "", ""]


def test_threads_of_the_code_ask_one_after_the_other(lab, panel):
    begin(
        lab,
        panel,
        "import threading\nheard = []\n"
        "def ask(n):\n    heard.append((n, input(f'{n}? ')))\n"
        "ts = [threading.Thread(target=ask, args=(n,)) for n in range(3)]\n"
        "for t in ts:\n    t.start()\nfor t in ts:\n    t.join()",
        "import asyncio\nheard.append((3, await asyncio.to_thread(input, '3? ')))",
    )
    before = []
    for _ in range(4):
        question = asked(panel, *before)
        before.append(question)
        answer(panel, question, question["prompt"] * 2)
    panel.over()
    assert sorted(map(tuple, lab.value("heard"))) == [(n, f"{n}? {n}? ") for n in range(4)]


def test_what_a_thread_still_asks_at_the_end_of_the_answer_ends(lab, panel):
    begin(
        lab,
        panel,
        "import threading\nended = threading.Event()\n"
        "def ask():\n    try:\n        input('late? ')\n    except EOFError:\n        ended.set()\n"
        "threading.Thread(target=ask).start()",
    )
    panel.over()
    panel.until(lambda: panel.view.input is None, "no question")
    assert lab.value("ended.wait(60)")


def test_a_debugger_is_led_by_the_person(lab, panel):
    begin(lab, panel, "x = 41\nbreakpoint()\ny = x + 1")
    first = asked(panel)
    assert "pdb" in first["prompt"].lower()
    answer(panel, first, "p x * 2")
    second = asked(panel, first)
    panel.until(lambda: "82" in console(panel)[0], "what the debugger says")
    answer(panel, second, "c")
    panel.over()
    assert lab.value("y") == 42


def test_cells_ask_as_ever_afterwards(lab, panel):
    begin(lab, panel, "from getpass import getpass as mine; own = input; own('x')")
    answer(panel, asked(panel), "y")
    panel.over()
    cell = lab.start("name = [input('name? '), own('own? '), mine('key? ')]; import sys")
    for prompt, text in (("name? ", "Ada"), ("own? ", "B"), ("key? ", "C")):
        request = lab.client.get_stdin_msg(timeout=60)["content"]
        assert request["prompt"] == prompt
        lab.client.input(text)
    lab.finish(cell)
    assert lab.value("name") == ["Ada", "B", "C"]
    assert lab.value("type(sys.stdin).__module__") != "lmc_jupyter.kernel.keyboard"
    assert lab.value("'_input_request' in vars(kernel)") is False


def test_a_page_that_is_loaded_anew_meets_the_kernel_while_code_waits(lab, panel):
    """With ipykernel 6 the main thread reads the channel: there a new page waits for the code."""
    reads_by_a_thread = lab.value("getattr(kernel, 'shell_channel_thread', None) is not None")
    begin(lab, panel, "got = [input('a? '), input('b? ')]")
    first = asked(panel)
    if not reads_by_a_thread:
        info = lab.send("kernel_info_request", {})
        answer(panel, first, "1")
        answer(panel, asked(panel, first), "2")
        panel.over()
        while lab.client.get_shell_msg(timeout=60)["parent_header"]["msg_id"] != info:
            pass
        return
    asks = {
        lab.send("kernel_info_request", {}): "kernel_info_reply",
        lab.send("comm_info_request", {"target_name": "jupyter.widget"}): "comm_info_reply",
    }
    while asks:
        reply = lab.client.get_shell_msg(timeout=60)
        of = reply["parent_header"]["msg_id"]
        if of in asks:
            assert reply["msg_type"] == asks.pop(of)
            if reply["msg_type"] == "comm_info_reply":
                assert panel.id in reply["content"]["comms"]
    state = lab.send("comm_msg", {"comm_id": panel.id, "data": {"method": "request_state"}})
    lab.until(
        lambda: [
            message
            for message in lab.messages
            if message["msg_type"] == "comm_msg"
            and message["parent_header"].get("msg_id") == state
            and message["content"]["data"].get("method") == "update"
        ],
        "the widget's state",
    )
    subshell = lab.control("create_subshell_request", {})["subshell_id"]
    cell = lab.send(
        "execute_request",
        {"code": "1", "silent": True, "store_history": False, "allow_stdin": False},
        subshell_id=subshell,
    )
    while lab.client.get_shell_msg(timeout=60)["parent_header"]["msg_id"] != cell:
        pass
    answer(panel, first, "1")  # the subshell's cell has left the keyboard alone
    second = asked(panel, first)
    answer(panel, second, "2")
    panel.over()
    assert lab.value("got") == ["1", "2"]


def test_a_long_prompt_is_shown_from_its_end(lab, panel):
    begin(lab, panel, "got = input('x' * 100_000 + 'name? ')")
    question = asked(panel)
    assert len(question["prompt"]) < 3_000
    assert question["prompt"].endswith("xxname? ")
    for wrong in (7, ["x"], {}):
        panel.tell({"kind": "input", "input": question["id"], "text": wrong})
    panel.tell({"kind": "input", "input": "another", "text": "not to this one"})
    answer(panel, question, "Ada")
    panel.over()
    assert lab.value("got") == "Ada"


def test_a_kernel_without_a_way_for_questions_says_so():
    class Kernel:
        _allow_stdin = True

    kernel = Kernel()
    before = sys.stdin, input
    with Keyboard(kernel, lambda *_: "x"):
        assert not kernel._allow_stdin
        with pytest.raises(StdinNotImplementedError, match=r"input\(\) cannot ask here"):
            input("name? ")
    assert (sys.stdin, input) == before
    assert kernel._allow_stdin
