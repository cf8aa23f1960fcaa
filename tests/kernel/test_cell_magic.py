"""`%%lmc` in a real kernel, with a stand-in for the front end that speaks its real protocol."""

from __future__ import annotations

import itertools
import json
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from model_server import STALL, ModelServer, Turn, text

from lmc_jupyter.conversation.conversations import Conversations

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

TESTS = Path(__file__).parents[1]

READ = "read"
"""A comm of the tests' own: whatever comes to it is acknowledged as soon as it is read."""

SET_UP = f"""
import sys, threading
sys.path.insert(0, {str(TESTS)!r})
%load_ext lmc_jupyter
from lmc_jupyter import current_session
from scripted import Endless, ScriptedModel, Waiting, assert_valid, code, printed, said
from lmc_jupyter.kernel.mailbox import Mailbox
from lmc_jupyter.frontends.cell import asking as cell_view
Mailbox.of(get_ipython().kernel).open({READ!r}, lambda content: None)
cell_view.HELLO_SECONDS = 60.0  # a busy machine is not a front end without buttons
session = current_session()

def scripted(*replies):
    session.reset()
    model = ScriptedModel(*replies)
    session.choose_model(model)
    return model

def use(model):
    session.reset()
    session.choose_model(model)

def contents():
    assert_valid(session.messages)
    assert not session.busy
    return [message.content for message in session.messages]
"""

WIDGET = "application/vnd.jupyter.widget-view+json"


class Person:
    """Somebody in front of JupyterLab: what `js/src/widget.ts` does, and clicks.

    It looks at the messages only within its own methods, so that all sockets stay on one thread.
    """

    def __init__(self, frontend: Any, ways: tuple[str, ...] = ("comm", "control")) -> None:
        self.frontend, self.ways = frontend, ways
        self.at = len(frontend.messages)
        self.kinds: dict[str, str] = {}  # comm id -> bar or ask, of those that are open
        self.ids: dict[str, str] = {}  # the last one of each kind
        self.heard: list[dict[str, Any]] = []
        self.acknowledged: set[str] = set()
        self.answered = 0

    def look(self) -> None:
        """Take in what has come, and answer it as the front end would."""
        messages = self.frontend.messages
        while self.at < len(messages):
            message, self.at = messages[self.at], self.at + 1
            content = message["content"]
            if message["msg_type"] == "comm_open":
                state = content["data"].get("state", {})
                if state.get("kind") in ("bar", "ask"):
                    self.kinds[content["comm_id"]] = state["kind"]
                    self.ids[state["kind"]] = content["comm_id"]
                    self._by_comm(content["comm_id"], {"kind": "hello", "id": uuid.uuid4().hex})
            elif message["msg_type"] == "comm_close":
                self.kinds.pop(content["comm_id"], None)
            elif message["msg_type"] == "comm_msg" and content["comm_id"] in self.kinds:
                custom = content["data"].get("content", {})
                if custom.get("kind") == "ack":
                    self.acknowledged.add(custom["of"])
                elif custom:
                    self.heard.append(custom)
            elif WIDGET in content.get("data", {}):
                self.tell(content["data"][WIDGET]["model_id"], {"kind": "ready"})

    def until(self, true: Any, what: str) -> Any:
        def looked() -> Any:
            self.look()
            return true()

        return self.frontend.until(looked, what)

    def tell(self, comm_id: str, content: dict[str, Any]) -> str:
        """Say something by each way, under one id, as the front end does; returns the id."""
        content = {"id": uuid.uuid4().hex, **content}
        if "comm" in self.ways:
            self._by_comm(comm_id, content)
        if "control" in self.ways:
            self.frontend.control("lmc_request", {"comm_id": comm_id, "content": content})
        return str(content["id"])

    def _by_comm(self, comm_id: str, content: dict[str, Any]) -> None:
        data = {"method": "custom", "content": content}
        self.frontend.send("comm_msg", {"comm_id": comm_id, "data": data})

    def id_of(self, kind: str) -> str:
        return self.ids[kind]

    def waits(self) -> list[str]:
        """The proposals that have been asked about and not been answered."""
        ids = list(dict.fromkeys(m["proposal"] for m in self.heard if m["kind"] == "ask"))
        return ids[self.answered :]

    def question(self) -> dict[str, Any]:
        """Wait for the next question."""
        proposal = self.until(self.waits, "a question")[0]
        self.answered += 1
        return next(m for m in self.heard if m.get("proposal") == proposal)

    def click(self, question: dict[str, Any], decision: str = "run", **more: Any) -> None:
        """Press a button and wait until the kernel has heard it."""
        content = {"kind": "decision", "decision": decision, **more}
        for key in ("proposal", "digest"):
            content.setdefault(key, question[key])
        said = self.tell(self.id_of("ask"), content)
        self.until(lambda: said in self.acknowledged or not self.kinds, "the ack")

    def stop(self) -> None:
        self.until(lambda: "bar" in self.kinds.values(), "the Stop button")
        self.tell(self.id_of("bar"), {"kind": "stop"})


def page(frontend: Any, cell: str) -> list[dict[str, Any]]:
    """What stands under the cell: the bundles in order, updated, cleared."""
    shown: dict[str, dict[str, Any]] = {}
    for message in frontend.of(cell):
        content = message["content"]
        if message["msg_type"] == "clear_output":
            shown.clear()
        elif message["msg_type"] in ("display_data", "update_display_data"):
            at = content.get("transient", {}).get("display_id") or uuid.uuid4().hex
            if message["msg_type"] == "display_data" or at in shown:
                shown[at] = content["data"]
        elif message["msg_type"] == "stream":
            shown[uuid.uuid4().hex] = {"text/plain": content["text"]}
    return list(shown.values())


def words(frontend: Any, cell: str) -> str:
    return "\n".join(str(bundle.get("text/plain", "")) for bundle in page(frontend, cell))


def errors(frontend: Any, cell: str) -> list[dict[str, Any]]:
    return [m["content"] for m in frontend.of(cell) if m["msg_type"] == "error"]


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def person(lab):
    return Person(lab)


def ask(lab: Any, model: str, line: str = "%%lmc", **options: Any) -> str:
    """Run the line that makes the model, then start the cell; its id."""
    lab.run(model)
    return lab.start(f"{line}\nGo.", **options)


# The notebook's own names and order ---------------------------------------------------------------


def test_the_code_sees_the_notebook_and_the_next_cell_sees_the_code(lab, person):
    lab.run("x = 40")
    cell = ask(lab, "scripted([said('I add.'), code('y = x + 2\\nprint(y)')], [said('It is 42.')])")
    person.click(person.question())
    lab.finish(cell)
    assert lab.value("y") == 42
    assert lab.text(cell) == "42\n"
    shown = words(lab, cell)
    assert shown.index("I add.") < shown.index("y = x + 2") < shown.index("It is 42.")
    assert lab.value("contents()") == ["Go.", "I add.", "y = x + 2\nprint(y)", "42\n", "It is 42."]


def test_run_all_keeps_its_order(lab):
    lab.run("scripted([code('order.append(2)')], [said('ok')], [code('order.append(4)')])")
    cells = ["order = [1]", "%%lmc --auto-run\nGo.", "order.append(3)", "%%lmc --auto-run\nGo.",
             "order.append(5)"]  # fmt: skip
    started = [lab.start(cell) for cell in cells]
    for cell in started:
        lab.finish(cell)
        assert lab.status == "ok"
    assert lab.value("order") == [1, 2, 3, 4, 5]


def test_code_that_awaits_loses_no_cell_that_waits_behind_it(lab, tmp_path):
    sent = tmp_path / "sent"
    wait = f"while not Path({str(sent)!r}).exists(): await asyncio.sleep(0.01)"
    source = f"import asyncio\nfrom pathlib import Path\n{wait}\norder.append(2)"
    lab.run(f"scripted([code({source!r})])")
    cells = ["order = [1]", "%%lmc --auto-run\nGo.", "order.append(3)", "order.append(4)"]
    started = [lab.start(cell) for cell in cells]
    sent.touch()
    for cell in started:
        lab.finish(cell)
        assert lab.status == "ok"
    assert lab.value("order") == [1, 2, 3, 4]


def test_two_cells_share_one_conversation(lab):
    lab.run("model = scripted([said('One.')], [said('Two.')])")
    lab.run("%%lmc\n1")
    lab.run("%%lmc\n2")
    assert lab.value("[m.content for m in model.seen[1]]") == ["1", "One.", "2"]


def test_prompts_and_counts_stay_sane(lab):
    before = lab.value("get_ipython().execution_count")
    lab.run("scripted([code('11')], [said('ok')])")
    lab.run("%%lmc --auto-run\nGo.")
    assert lab.value("get_ipython().execution_count") == before + 3
    assert lab.value("'%%lmc' in In[-3] or 'run_cell_magic' in In[-3]") is True


# Buttons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ways", [("comm",), ("control",), ("comm", "control")], ids="+".join)
def test_run_by_each_way_while_the_cell_is_busy(lab, ways):
    person = Person(lab, ways)
    cell = ask(lab, "ran = 0; scripted([code('ran += 1')], [said('ok')])")
    question = person.question()
    assert question["code"] == "ran += 1"
    assert question["language"] == "python"
    person.click(question)
    lab.finish(cell)
    assert lab.status == "ok"
    assert lab.value("ran") == 1
    assert "you ran this" in words(lab, cell)


def test_an_edit_runs_and_is_what_the_history_keeps(lab, person):
    cell = ask(lab, "scripted([code('z = 1')], [said('ok')])")
    person.click(person.question(), code="z = 2")
    lab.finish(cell)
    assert lab.value("z") == 2
    assert lab.value("contents()")[1] == "z = 2"
    assert "you edited and ran this" in words(lab, cell)
    assert "z = 2" in words(lab, cell)


def test_a_reason_not_to_run_reaches_the_model(lab, person):
    cell = ask(lab, "z = 0; model = scripted([code('z = 1')], [said('ok')])")
    person.click(person.question(), "decline", reason="use numpy")
    lab.finish(cell)
    assert lab.value("z") == 0
    assert lab.value("model.seen[1][-1].content") == "This code was not run: use numpy."
    assert "not run" in words(lab, cell)


def test_each_block_is_asked_and_a_click_counts_for_its_own_block_only(lab, person):
    cell = ask(lab, "a = b = 0; scripted([code('a += 1')], [code('b += 1')], [said('ok')])")
    first = person.question()
    person.click(first)
    person.click(first)  # again, as an impatient person does
    second = person.question()
    person.click(first)  # and late
    assert second["proposal"] != first["proposal"]
    person.click(second, "decline")
    person.click(second)  # the other button after it
    lab.finish(cell)
    assert lab.value("(a, b)") == (1, 0)


def test_run_all_counts_for_the_rest_of_this_answer_but_not_for_what_must_be_seen(lab, person):
    cell = ask(
        lab,
        "a = b = c = 0; scripted([code('a = 1')], [code('b = 1')],"
        " [code('c = 1  # \\u202e')], [said('ok')])",
    )
    person.click(person.question(), "all")
    seen = person.question()
    assert seen["code"].startswith("c = 1")
    person.click(seen, "decline")
    lab.finish(cell)
    assert lab.value("(a, b, c)") == (1, 1, 0)
    assert "ran without asking" in words(lab, cell)


def test_forged_clicks_decide_nothing(lab, person):
    cell = ask(lab, "a = 0; scripted([code('a = 1')], [said('ok')])")
    question = person.question()
    for forged in (
        {"proposal": "0" * 32},
        {"digest": "0" * 64},
        {"digest": None},
        {"code": 7},
        {"decision": "yes"},
        {"decision": None},
    ):
        person.click(question, **{"decision": "run", **forged})
    person.tell(person.id_of("bar"), {"kind": "decision", "decision": "run"})
    person.click(question, "decline")
    lab.finish(cell)
    assert lab.value("a") == 0


def test_one_message_that_is_said_twice_is_one_click(lab, person):
    cell = ask(lab, "a = 0; scripted([code('a += 1')], [code('a += 10')], [said('ok')])")
    question = person.question()
    click = {"kind": "decision", "decision": "run", "id": "the-same",
             "proposal": question["proposal"], "digest": question["digest"]}  # fmt: skip
    for _ in range(3):
        person.tell(person.id_of("ask"), click)
    second = person.question()
    person.click(second, "decline")
    lab.finish(cell)
    assert lab.value("a") == 1


def test_what_an_edit_would_do_is_told_of_the_code_that_waits_alone(lab, person):
    cell = ask(lab, "a = [1]; scripted([code('b = 1')], [said('ok')])")
    question = person.question()

    def told(**content):
        said = person.tell(person.id_of("ask"), {"kind": "effects", **content})
        replies = person.until(lambda: [m for m in person.heard if m.get("of") == said], "a reply")
        return replies[0]

    (effect,) = told(proposal=question["proposal"], code="a = 2\r\n")["value"]
    assert effect["warns"] is True
    assert ["name", "a"] in effect["parts"]
    assert told(proposal="0" * 32, code="a = 2")["ok"] is False
    assert told(proposal=question["proposal"], code=None)["ok"] is False
    person.click(question)
    lab.finish(cell)
    assert lab.value("a, b") == ([1], 1)


def test_a_click_after_the_cell_is_refused_and_does_nothing(lab, person):
    cell = ask(lab, "a = 0; scripted([code('a += 1')], [said('ok')])")
    question = person.question()
    comm_id = person.id_of("ask")
    person.click(question)
    lab.finish(cell)
    click = {"kind": "decision", "decision": "run", "id": "late",
             "proposal": question["proposal"], "digest": question["digest"]}  # fmt: skip
    reply = lab.control("lmc_request", {"comm_id": comm_id, "content": click})
    assert reply["status"] == "error"
    assert "the cell has ended" in reply["evalue"]
    assert lab.value("a") == 1


def test_the_state_line_follows_the_answer(lab, person):
    cell = ask(lab, "scripted([said('I add.'), code('1')], [said('ok')])")
    question = person.question()
    person.until(
        lambda: any(m["kind"] == "state" and m["state"] == "waiting" for m in person.heard),
        "the state",
    )
    person.click(question)
    lab.finish(cell)
    assert "Done" in words(lab, cell)


# What is left -------------------------------------------------------------------------------------


def test_the_record_is_static_html_without_a_widget(lab, person):
    cell = ask(lab, "scripted([said('**Bold**'), code('1 + 1')], [said('<script>x</script>')])")
    person.click(person.question())
    messages = lab.finish(cell)
    for bundle in page(lab, cell):
        assert WIDGET not in bundle
        assert "<script" not in bundle.get("text/html", "")
    assert "<strong>Bold</strong>" in "".join(b.get("text/html", "") for b in page(lab, cell))
    opened = {m["content"]["comm_id"] for m in messages if m["msg_type"] == "comm_open"}
    closed = {m["content"]["comm_id"] for m in messages if m["msg_type"] == "comm_close"}
    assert opened <= closed, "a widget stays open, and would be saved with the notebook"


def test_no_synced_state_of_a_widget_holds_a_word_of_the_conversation(lab, person):
    lab.run("scripted([said('secret words'), code('secret_code = 1')], [said('ok')])")
    cell = lab.start("%%lmc\nsecret question")
    person.click(person.question(), "decline", reason="secret reason")
    for message in lab.finish(cell):
        if message["msg_type"] == "comm_open":
            state = {k: v for k, v in message["content"]["data"]["state"].items() if k[0] != "_"}
            assert "secret" not in json.dumps(state)
        if message["msg_type"] == "comm_msg":
            data = message["content"]["data"]
            assert data.get("method") != "update" or "secret" not in json.dumps(data)


# Stopping -----------------------------------------------------------------------------------------

PRESS = pytest.mark.parametrize("press", ["button", "kernel"])


def queue_behind(lab: Any, code: str) -> str:
    """Send a cell while another runs, and wait until the kernel has read it.

    An error aborts the cells that the kernel has read. One that is still on its way runs.
    """
    cell = str(lab.start(code))
    sent = uuid.uuid4().hex  # on the same channel: it is read after the cell
    data = {"method": "custom", "content": {"kind": "hello", "id": sent}}
    lab.send("comm_msg", {"comm_id": READ, "data": data})

    def is_read() -> bool:
        comms = [m["content"] for m in lab.messages if m["msg_type"] == "comm_msg"]
        return any(
            each["comm_id"] == READ and each["data"]["content"] == {"kind": "ack", "of": sent}
            for each in comms
        )

    lab.until(is_read, "the sign that the kernel has read the queued cell")
    return cell


def stop(lab: Any, person: Person, press: str, cell: str) -> None:
    """Stop by the button or by the kernel's interrupt; the cell ends, a queued one waits."""
    behind = queue_behind(lab, "behind = 'ran'")
    if press == "button":
        person.stop()
    else:
        person.until(lambda: "bar" in person.kinds.values(), "the widgets")
        lab.interrupt()
    lab.finish(cell)
    assert lab.status == ("ok" if press == "button" else "error")
    assert "Stopped" in words(lab, cell)
    lab.finish(behind)
    assert lab.status == ("ok" if press == "button" else "aborted")
    for error in errors(lab, cell):
        assert error["ename"] == "Interrupted"
        said = "\n".join(error["traceback"])
        assert "the answer was stopped; the text so far stays" in said
        assert ".py" not in said
    assert bool(errors(lab, cell)) is (press == "kernel")
    assert lab.value("behind") == ("ran" if press == "button" else "no")


@pytest.fixture
def queued(lab):
    lab.run("behind = 'no'")


def goes_on(lab: Any) -> None:
    """The next cell asks and is answered, and runs code."""
    lab.run("session.choose_model(ScriptedModel([code('again = 1')], [said('Back.')]))")
    cell = lab.start("%%lmc --auto-run\nAre you there?")
    lab.finish(cell)
    assert lab.status == "ok", errors(lab, cell)
    assert lab.value("contents()")[-1] == "Back."
    lab.run("del again")


@PRESS
def test_stop_while_the_model_is_silent(lab, person, queued, press):
    cell = ask(lab, "use(Waiting(on_silent=lambda: print('silent')))")
    lab.shows(cell, "silent\n")
    stop(lab, person, press, cell)
    assert lab.value("contents()") == ["Go."]
    goes_on(lab)


@PRESS
def test_stop_in_a_sentence_keeps_what_came(lab, person, queued, press):
    cell = ask(lab, "use(Waiting(said('Half a sen'), on_silent=lambda: print('silent')))")
    lab.shows(cell, "silent\n")
    stop(lab, person, press, cell)
    assert lab.value("contents()") == ["Go.", "Half a sen"]
    assert "Half a sen" in words(lab, cell)
    goes_on(lab)


@PRESS
def test_stop_while_the_model_talks_without_end(lab, person, queued, press):
    cell = ask(lab, "use(Endless())")
    person.until(lambda: "la la" in words(lab, cell), "the words")
    stop(lab, person, press, cell)
    assert lab.value("contents()")[1].startswith("la la")
    goes_on(lab)


@pytest.mark.long
@PRESS
def test_stop_while_a_real_server_streams(lab, person, queued, press):
    with ModelServer() as server:
        server.turns = [Turn(text("Half a sentence"), STALL, cut="all")]
        lab.run(
            "session.reset(); session.choose_model('openai/m', "
            f"api_base={server.base!r}, api_key='none')"
        )
        cell = lab.start("%%lmc\nGo.")
        person.until(lambda: "Half a sentence" in words(lab, cell), "the words")
        stop(lab, person, press, cell)
        assert server.dropped.wait(60), "the connection stays open"
    assert lab.value("contents()") == ["Go.", "Half a sentence"]
    assert lab.value("session.messages[-1].extra") == {"partial": True}
    goes_on(lab)


@PRESS
def test_stop_while_code_waits_for_a_decision(lab, person, queued, press):
    cell = ask(lab, "ran = 0; scripted([code('ran = 1')])")
    person.question()
    stop(lab, person, press, cell)
    assert "not run" in words(lab, cell)
    assert lab.value("(ran, session.pending.content)") == (0, "ran = 1")
    again = lab.start("%lmc resume")
    person.click(person.question())
    lab.finish(again)
    assert lab.value("ran") == 1
    goes_on(lab)


@PRESS
@pytest.mark.parametrize(
    "endless",
    [
        "print('begun', flush=True)\nwhile True: pass",
        "import time\nprint('begun', flush=True)\ntime.sleep(1000)",
        "import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(1000)",
        "import asyncio\nawait asyncio.sleep(0)\nprint('begun', flush=True)\nwhile True: pass",
    ],
    ids=["loop", "sleep", "await", "loop-in-await"],
)
def test_stop_while_code_runs(lab, person, queued, press, endless):
    begun = time.time()
    cell = ask(lab, f"scripted([code({endless!r})])")
    question = person.question()
    behind = queue_behind(lab, "behind = 'ran'")
    person.click(question)
    lab.shows(cell, "begun\n")
    # the kernel shows it by itself, a moment before the conversation has it
    person.until(lambda: is_written("begun", since=begun), "the text in the conversation")
    stop_in_code(lab, person, press, cell, behind)
    assert "begun" in lab.value("contents()")[2]
    goes_on(lab)


def test_the_button_ends_a_process_of_the_code(lab, person, queued):
    cell = ask(lab, "scripted([code('!echo begun; sleep 1000')])")
    question = person.question()
    behind = queue_behind(lab, "behind = 'ran'")
    person.click(question)
    lab.shows(cell, "begun")
    stop_in_code(lab, person, "button", cell, behind)
    goes_on(lab)


def test_the_kernels_interrupt_of_a_process_is_the_processs_own_as_in_any_cell(lab, person):
    cell = ask(lab, "scripted([code('!echo begun; sleep 1000')], [said('It was stopped.')])")
    person.click(person.question())
    lab.shows(cell, "begun")
    lab.interrupt()
    lab.finish(cell)
    assert lab.value("contents()")[-1] == "It was stopped."
    goes_on(lab)


def is_written(text: str, since: float) -> bool:
    """Whether this is in a message that is being written now."""
    parts = Conversations().folder.glob("*.part")
    return any(each.stat().st_mtime >= since and text in each.read_text() for each in parts)


def stop_in_code(lab: Any, person: Person, press: str, cell: str, behind: str) -> None:
    """As `stop`; the code's own KeyboardInterrupt is shown above it, without a frame of ours.

    The cell `behind` was queued before the code began: ipykernel 6 reads nothing in a loop.
    """
    if press == "button":
        person.stop()
    else:
        lab.interrupt_wait(lambda: lab.is_idle(cell))
    lab.finish(cell)
    assert lab.status == ("ok" if press == "button" else "error")
    assert "Stopped" in words(lab, cell)
    lab.finish(behind)
    assert lab.status == ("ok" if press == "button" else "aborted")
    for error in errors(lab, cell):
        assert "lmc_jupyter" not in "\n".join(error["traceback"])
    assert lab.value("behind") == ("ran" if press == "button" else "no")


@PRESS
def test_stop_in_a_shell_block(lab, person, queued, press):
    cell = ask(lab, "scripted([code('echo begun; sleep 1000', 'shell')])")
    person.click(person.question())
    person.until(lambda: "begun" in words(lab, cell).split("sleep 1000")[-1], "the output")
    stop(lab, person, press, cell)
    assert lab.value("contents()")[2].strip() == "begun"
    goes_on(lab)


def test_a_second_stop_does_no_harm(lab, person):
    cell = ask(lab, "use(Waiting(said('Half'), on_silent=lambda: print('silent')))")
    lab.shows(cell, "silent\n")
    person.stop()
    person.tell(person.id_of("bar"), {"kind": "stop"})
    lab.finish(cell)
    assert lab.status == "ok"
    goes_on(lab)


# Keyboard -----------------------------------------------------------------------------------------


def test_input_in_code_asks_the_person(lab):
    cell = ask(lab, "scripted([code('name = input(\"Who? \")')], [said('ok')])", "%%lmc --auto-run")
    request = lab.client.get_stdin_msg(timeout=60)
    assert request["content"]["prompt"] == "Who? "
    lab.client.input("Ada")
    lab.finish(cell)
    assert lab.value("name") == "Ada"


@pytest.fixture
def impatient(lab):
    """A cell that does not wait for a front end to say hello: there is none here."""
    lab.run("cell_view.HELLO_SECONDS = cell_view.EXPECTED_SECONDS = 0.01")
    yield
    lab.run("cell_view.HELLO_SECONDS, cell_view.EXPECTED_SECONDS = 60.0, 20.0")


def test_buttons_that_come_late_take_the_question_over(lab, impatient, person):
    cell = ask(lab, "ran = 0; scripted([code('ran += 1')], [code('ran += 1')], [said('ok')])")
    lab.client.get_stdin_msg(timeout=60)
    person.click(person.question())
    # it is drawn again, where the input field was
    person.until(lambda: "ran += 1" in words(lab, cell), "the code")
    person.click(person.question())  # and what comes next is asked by buttons at once
    lab.finish(cell)
    assert lab.status == "ok"
    assert lab.value("ran") == 2
    goes_on(lab)


def test_a_browser_that_comes_late_leaves_the_keyboards_question_below_what_python_showed(
    lab, impatient, person
):
    cell = ask(lab, "scripted([code('print(1)')], [code('print(2)')], [said('ok')])")
    lab.client.get_stdin_msg(timeout=60)
    lab.client.input("y")
    lab.client.get_stdin_msg(timeout=60)
    person.look()  # it says hello
    lab.until(lambda: any(WIDGET in bundle for bundle in page(lab, cell)), "its state line")
    lab.client.input("y")
    lab.finish(cell)
    assert lab.text(cell) == "1\n2\n"


def test_a_kernel_that_has_heard_a_browser_waits_longer_for_it(lab, person):
    goes_on(lab)
    first = ask(lab, "scripted([code('1')], [said('ok')])")
    person.click(person.question())
    lab.finish(first)
    lab.run("cell_view.HELLO_SECONDS, cell_view.EXPECTED_SECONDS = 0.01, 60.0")
    cell = ask(lab, "scripted([code('2')], [said('ok')])")
    lab.until(lambda: "Waiting for your decision" in words(lab, cell), "the question")
    person.click(person.question())
    with pytest.raises(Empty):
        lab.client.get_stdin_msg(timeout=0.1)
    lab.finish(cell)
    lab.run("cell_view.HELLO_SECONDS, cell_view.EXPECTED_SECONDS = 60.0, 20.0")


@pytest.mark.parametrize(("typed", "ran"), [("y", 1), ("n", 0), ("not now", 0)])
def test_without_buttons_the_question_comes_by_input(lab, impatient, typed, ran):
    cell = ask(lab, "ran = 0; model = scripted([code('ran = 1')], [said('ok')])")
    request = lab.client.get_stdin_msg(timeout=60)
    assert "Run this python code?" in request["content"]["prompt"]
    lab.until(lambda: "ran = 1" in words(lab, cell), "the code")  # on a channel of its own
    lab.client.input(typed)
    lab.finish(cell)
    assert lab.value("ran") == ran
    if typed == "not now":
        assert lab.value("contents()")[2] == "This code was not run: not now."


def test_the_kernels_interrupt_ends_a_question_by_input(lab, impatient, queued):
    cell = ask(lab, "ran = 0; scripted([code('ran = 1')])")
    lab.client.get_stdin_msg(timeout=60)
    behind = queue_behind(lab, "behind = 'ran'")
    lab.interrupt()
    lab.finish(cell)
    assert lab.status == "error"
    assert [error["ename"] for error in errors(lab, cell)] == ["Interrupted"]
    lab.finish(behind)
    assert lab.status == "aborted"
    assert lab.value("(ran, session.pending.content)") == (0, "ran = 1")
    goes_on(lab)


# Nobody there -------------------------------------------------------------------------------------


@pytest.fixture
def unseen(lab):
    """A kernel to which no front end has spoken."""
    lab.run("mailbox = Mailbox.of(get_ipython().kernel); mailbox.has_received = False")
    assert not lab.value("mailbox.has_page")


def test_where_nobody_can_answer_nothing_runs_and_it_says_so(lab, unseen):
    cell = ask(lab, "ran = 0; scripted([code('ran = 1')], [said('Well.')])", allow_stdin=False)
    messages = lab.finish(cell)
    assert lab.status == "ok"
    assert "Not run: nobody can be asked here" in words(lab, cell)
    assert "--auto-run" in words(lab, cell)
    assert "ask in the chat panel" in words(lab, cell)
    assert "comm_open" not in [m["msg_type"] for m in messages]
    assert lab.value("ran") == 0


def test_where_nobody_can_answer_auto_run_runs(lab, unseen):
    model = "ran = 0; scripted([code('ran = 1')], [said('Well.')])"
    cell = ask(lab, model, "%%lmc --auto-run", allow_stdin=False)
    messages = lab.finish(cell)
    assert "comm_open" not in [m["msg_type"] for m in messages]
    assert lab.value("ran") == 1


# A server runs the cell, as Jupyter AI's does: a comm and no keyboard -----------------------------


def shown(lab, cell):
    """What stands below a cell where an update is one more output, and a clear takes all away.

    What a block writes may come in pieces (`print` writes its text and its end of line): a page
    joins them, and so does this.
    """
    outputs, clears = [], False
    for message in lab.of(cell):
        kind, content = message["msg_type"], message["content"]
        if kind == "clear_output":
            clears = True
        elif kind in ("stream", "display_data", "update_display_data", "execute_result"):
            outputs, clears = ([] if clears else outputs), False
            data = content.get("data", {})
            text = content.get("text", data.get("text/plain"))
            outputs.append((kind == "stream", "buttons" if WIDGET in data else text))
    found = []
    for streams, group in itertools.groupby(outputs, key=lambda output: output[0]):
        texts = [text for _, text in group]
        found += ["".join(texts)] if streams else texts
    return found


def run_by_a_server(lab, replies):
    """Have a cell run without a keyboard, once a front end has said what stands above it."""
    data = {"cell": "c1", "above": ""}
    opened = {"comm_id": uuid.uuid4().hex, "target_name": "lmc-jupyter:document", "data": data}
    lab.send("comm_open", opened)
    model = f"mailbox.has_received = False; scripted({replies})"
    return ask(lab, model, "%%lmc --context none", allow_stdin=False)


@pytest.fixture
def seen(lab, unseen):
    yield
    lab.run("mailbox.has_page = False")


def test_where_a_server_runs_the_cell_a_front_end_that_has_spoken_is_asked_by_buttons(lab, seen):
    person = Person(lab)
    cell = run_by_a_server(lab, "[code('ran = 1; print(ran)')], [said('Well.')]")
    person.click(person.question())
    lab.finish(cell)
    assert lab.value("ran") == 1
    person.until(lambda: not person.kinds, "the end of its widgets")


def test_where_updates_are_repeated_each_message_stands_there_once(lab, seen):
    person = Person(lab)
    replies = "[said('Let me see.'), code('print(40)')], [code('print(41)')], [said('Well.')]"
    cell = run_by_a_server(lab, replies)
    first = person.question()
    lab.until(lambda: shown(lab, cell) == ["Let me see.", "buttons"], "the text and its buttons")
    person.click(first, code="print(42)")
    person.click(person.question(), "decline", reason="no more")
    lab.finish(cell)
    talk, code, output, *rest, done = shown(lab, cell)
    assert (talk, output) == ("Let me see.", "42\n")
    assert code.startswith("[python, ")
    assert "\nprint(42)" in code
    assert [each.partition("\n")[0] for each in rest] == [
        "buttons", "[python, not run]", "Not run: no more.", "Well."
    ]  # fmt: skip
    assert done.startswith("[Done")


def notebook(*cells: str) -> nbformat.NotebookNode:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book.metadata["kernelspec"] = kernel
    return book


CELLS = (
    "%load_ext lmc_jupyter",
    "from lmc_jupyter import current_session\nfrom scripted import ScriptedModel, code, said\n"
    "current_session().choose_model(ScriptedModel([code('y = 1')], [said('One.')], "
    "[code('z = 1/0')], [code('z = 1')], [said('Two.')]))",
    "%%lmc\nOne",
    "%%lmc --auto-run\nTwo",
    "print('y' in globals(), z)",
)


def check_executed(book: nbformat.NotebookNode) -> None:
    assert "widgets" not in book.metadata
    asked, unasked, last = book.cells[-3:]
    assert "nobody can be asked here" in str(asked.outputs)
    assert "[creates `y`]" in str(asked.outputs)
    assert "[creates `z`]" in str(unasked.outputs)
    assert "Done" in str(asked.outputs)
    assert "ran without asking" in str(unasked.outputs)
    assert "ZeroDivisionError" in str(unasked.outputs)
    assert WIDGET not in str(book)
    assert "".join(output.text for output in last.outputs) == "False 1\n"


@pytest.fixture
def paths(monkeypatch):
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS.parent), str(TESTS), before]))
    monkeypatch.delenv("LMC_MODEL", raising=False)


@pytest.mark.long
def test_nbclient_says_what_it_did_not_run(paths):
    nbclient = pytest.importorskip("nbclient")
    book = notebook(*CELLS)
    nbclient.NotebookClient(book, timeout=120, iopub_timeout=60, kernel_name="python3").execute()
    check_executed(book)


@pytest.mark.long
def test_papermill_says_what_it_did_not_run(paths, tmp_path):
    papermill = pytest.importorskip("papermill")
    nbformat.write(notebook(*CELLS), tmp_path / "in.ipynb")
    papermill.execute_notebook(
        str(tmp_path / "in.ipynb"),
        str(tmp_path / "out.ipynb"),
        progress_bar=False,
        iopub_timeout=60,
    )
    check_executed(nbformat.read(tmp_path / "out.ipynb", as_version=4))


# Odd places ---------------------------------------------------------------------------------------


def test_run_cell_magic_is_the_same(lab, person):
    lab.run("scripted([code('nested = 1')], [said('ok')])")
    cell = lab.start("get_ipython().run_cell_magic('lmc', '', 'Hello {x} $x')")
    person.click(person.question())
    lab.finish(cell)
    assert lab.value("(nested, session.messages[0].content)") == (1, "Hello {x} $x")


def test_a_question_asked_by_the_code_of_an_answer_is_refused_with_a_sentence(lab):
    nested = 'get_ipython().run_cell_magic("lmc", "", "again")'
    lab.run(f"scripted([code({nested!r})], [said('So I cannot.')])")
    cell = lab.start("%%lmc --auto-run\nGo.")
    lab.finish(cell)
    assert lab.status == "ok"
    said = lab.value("contents()")
    assert "while an answer is in progress" in said[2]
    assert said[-1] == "So I cannot."


def test_a_captured_cell_answers_and_its_output_is_captured(lab, person):
    lab.run("scripted([code('print(\"inner\")')], [said('Captured.')])")
    cell = lab.start("%%capture out\n%%lmc\nGo.")
    person.click(person.question())
    lab.finish(cell)
    assert lab.status == "ok"
    assert "inner" not in lab.text(cell)
    assert lab.value("out.stdout") == "inner\n"
    assert lab.value("contents()")[2] == "inner\n"


@pytest.mark.long
def test_a_long_traceback_of_a_block_is_short_and_the_whole_is_folded(lab, person):
    block = "import pandas\n\nframe = pandas.DataFrame({'a': [1]})\nframe['date']"
    cell = ask(lab, f"scripted([code({block!r})], [said('No date.')])")
    person.click(person.question())
    lab.finish(cell)
    (error,) = errors(lab, cell)
    shown = "\n".join(error["traceback"])
    assert "line 4" in shown
    assert "KeyError: 'date'" in shown
    assert shown.count("\n") < 12, shown
    texts = [one.get("text/html", "") for one in page(lab, cell)]
    (whole,) = (text for text in texts if "hashtable" in text)
    assert "<details><summary>The whole traceback" in whole
    assert "No date." in words(lab, cell)


@pytest.mark.parametrize("wait", [False, True])
def test_code_that_clears_the_output_leaves_the_answer_there(lab, person, wait):
    clear = f"from IPython.display import clear_output\\nclear_output(wait={wait})"
    lab.run(f"scripted([said('I clear.'), code('print(1)\\n{clear}\\nprint(2)')], [said('Bye.')])")
    cell = lab.start("%%lmc\nGo.")
    person.click(person.question())
    lab.finish(cell)
    shown = words(lab, cell)
    for each in ("Done", "I clear.", "clear_output", "2\n", "Bye."):
        assert each in shown
    assert "1\n" not in shown.replace("print(1)\n", "")
    assert shown.index("I clear.") < shown.index("2\n") < shown.index("Bye.")
    assert lab.value("session.computer.languages['python'].on_clear is None") is True


def test_a_cleared_output_widget_draws_no_second_card(lab, person):
    inner = "out = ipywidgets.Output()\nwith out: out.clear_output(); print('in')\nout"
    lab.run(f"import ipywidgets; scripted([code({inner!r})], [said('Bye.')])")
    cell = lab.start("%%lmc\nGo.")
    person.click(person.question())
    lab.finish(cell)
    shown = [m["content"] for m in lab.of(cell) if m["msg_type"] == "display_data"]
    ids = [content.get("transient", {}).get("display_id") for content in shown]
    ours = [each for each in ids if each]
    assert len(ours) == len(set(ours))


def test_output_of_python_is_shown_once_and_by_the_kernel(lab, person):
    cell = ask(lab, "scripted([code('print(\"hello once\")')], [said('ok')])")
    person.click(person.question())
    lab.finish(cell)
    assert words(lab, cell).replace('print("hello once")', "").count("hello once") == 1


@pytest.mark.long
def test_unloading_while_nothing_runs_leaves_a_kernel_that_works(make_frontend):
    own = make_frontend()
    own.run(SET_UP)
    person = Person(own)
    cell = ask(own, "a = 0; scripted([code('a = 1')], [said('ok')])")
    person.click(person.question())
    own.finish(cell)
    own.run("%unload_ext lmc_jupyter")
    assert own.value("a") == 1
    assert own.value("'lmc_request' in get_ipython().kernel.control_handlers") is False
    own.run("%load_ext lmc_jupyter\nfrom lmc_jupyter import current_session\n"
            "session = current_session()\nscripted([said('Again.')])")  # fmt: skip
    own.run("%%lmc\nGo.")


# Loading ------------------------------------------------------------------------------------------


@pytest.mark.local_model
def test_who_loads_the_extension_reads_in_a_line_who_answers_and_where_to_go_on(lab):
    cell = lab.start("%reload_ext lmc_jupyter")
    lab.finish(cell)
    assert lab.text(cell) == (
        "Model: Qwen2.5-Coder 0.5B (runs on this machine, makes mistakes). %lmc help lists the "
        "commands.\nCtrl+Alt+L (⌘ ⌥ L) opens the chat panel.\n"
    )
    lab.run(SET_UP)


def test_without_weights_and_key_loading_and_model_say_what_to_do_before_a_question(lab, tmp_path):
    lab.run(
        "import os\nkept = {name: os.environ.pop(name) for name in list(os.environ)"
        " if name == 'LMC_CACHE' or name.endswith('_API_KEY')}\n"
        f"os.environ['LMC_CACHE'] = {str(tmp_path)!r}"
    )
    try:
        for code in ("%reload_ext lmc_jupyter", "%lmc model", "%lmc"):
            cell = lab.start(code)
            lab.finish(cell)
            said = lab.text(cell)
            assert said.startswith("No model yet: ")  # what it runs by may be missing, too
            assert "%lmc model local downloads a small one (491 MB)" in said
            assert "%lmc model openai/gpt-5-mini and %lmc key" in said
            assert "Qwen" not in said
    finally:
        lab.run("del os.environ['LMC_CACHE']\nos.environ.update(kept)")
        lab.run("%reload_ext lmc_jupyter")
        lab.run(SET_UP)
