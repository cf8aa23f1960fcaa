"""Agents outside the notebook come in through the gate: `lmc-jupyter mcp` and a real kernel."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

import psutil
import pytest
from agent import PATIENCE, Agent, text_of
from kernel.conftest import Frontend
from panel_view import Panel

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

TESTS = Path(__file__).parents[1]
SET_UP = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
get_ipython().run_line_magic("load_ext", "lmc_jupyter")
import lmc_jupyter
from lmc_jupyter import current_session
from scripted import Held, ScriptedModel, code, said
session = current_session()
model_id = lmc_jupyter.panel_model_id()

def scripted(*replies):
    session.reset()
    model = ScriptedModel(*replies)
    session.choose_model(model)
    return model
"""
RELEASE = """
import threading
release = threading.Event()

def on_release(stream, ident, message):
    release.set()
    kernel.session.send(stream, "released", {}, message, ident)

kernel = get_ipython().kernel
kernel.control_handlers["release"] = on_release
"""
COUNT = """
asked = 0

def count(stream, ident, message):
    global asked
    asked += 1

get_ipython().kernel.control_handlers["lmc_agent_request"] = count
"""
CLOCK = """
import threading
from lmc_jupyter.frontends.agents import door
release = threading.Event()
is_late, looks = threading.Event(), []
was = door._DoorRequest.is_late, door._LOOK_SECONDS

def look(call):
    if is_late.is_set():
        looks.append(call)
        if len(looks) > 2:
            release.set()
    return is_late.is_set()

def on_late(stream, ident, message):
    is_late.set()
    kernel.session.send(stream, "is_late", {}, message, ident)

door._DoorRequest.is_late, door._LOOK_SECONDS = look, 0.05
kernel = get_ipython().kernel
kernel.control_handlers["is_late"] = on_late
"""
DOOR = "get_ipython().magics_manager.registry['LMCMagics']._door"
PNG = (  # one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)

SHOW_IMAGE = (
    "import base64\nfrom IPython.display import Image, display\n"
    f"display(Image(base64.b64decode({PNG!r})))"
)


@pytest.fixture(scope="module")
def lab():
    it = Frontend(env={"JPY_SESSION_NAME": "/home/ada/penguins.ipynb"}, listed=True)
    try:
        it.run(SET_UP)
        yield it
    finally:
        it.close()


@pytest.fixture
def panel(lab):
    it = Panel(lab, lab.value("model_id"))
    yield it
    if it.view.state["state"] not in ("idle", "done", "stopped", "failed"):
        it.tell({"kind": "stop"})
    lab.run(
        "assert session.wait(60); session.auto_run = False; session.context = 'notebook'\n"
        "get_ipython().run_line_magic('config', 'LMC.agents = \"ask\"'); session.reset()"
    )


@pytest.fixture(scope="module")
def agent(lab):
    it = Agent()
    yield it
    it.close()


@pytest.fixture
def make_agent():
    made: list[Agent] = []

    def make(*arguments: str, **options: str) -> Agent:
        made.append(Agent(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def clock(lab):
    """An agent's time is over when the kernel is told so, and no sooner; then it is looked at
    three times before `release` is set."""
    lab.run(CLOCK)
    yield
    lab.run("door._DoorRequest.is_late, door._LOOK_SECONDS = was")


def run(agent: Agent, panel: Panel, code: str, **options: str):
    """Bring a block, and press Run; its result."""
    call = agent.begin("run_code", code=code, **options)
    panel.decide(panel.question())
    return call.result(PATIENCE)


def wait_until(true, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)  # of what another process does no event tells


# A block ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_notebooks_and_tools_are_listed(lab, make_agent, mode):
    agent = make_agent("Claude Code", mode=mode)
    result = agent.call("list_notebooks")
    (notebook,) = result.structured_content["notebooks"]
    assert notebook["open"] is True
    assert (notebook["name"], text_of(result)) == ("penguins.ipynb", "/home/ada/penguins.ipynb")
    tools = agent.run(lambda client: client.list_tools()).tools
    assert {each.name for each in tools} == {
        "list_notebooks", "run_code", "list_variables", "inspect_variable", "read_cells",
        "add_cell", "stop",
    }  # fmt: skip
    assert all(len(each.description) > 40 for each in tools)


def test_a_block_runs_after_a_click_and_its_result_goes_to_the_agent(agent, lab, panel):
    lab.run("x = 20")
    call = agent.begin("run_code", code="y = x + 1\nprint('got', y)")
    question = panel.question()
    assert question["code"] == "y = x + 1\nprint('got', y)"
    assert panel.view.turns[-1]["model"] == "Claude Code"
    assert panel.view.turns[-1]["where"] == panel.view.state["where"] == "agent"
    panel.decide(question)
    result = call.result(PATIENCE)
    assert "got 21" in text_of(result)
    assert result.structured_content["ran"] is True
    assert result.structured_content["names"] == {"new": ["y"], "changed": [], "removed": []}
    assert not result.is_error
    assert lab.value("y") == 21
    panel.over()
    assert panel.fates() == ["ran"]


TOOLS_THAT_READ = {
    "list_notebooks": ({}, "penguins.ipynb"),
    "list_variables": ({}, "islands: list"),
    "inspect_variable": ({"name": "islands"}, "Biscoe"),
    "read_cells": ({}, "islands ="),
    "stop": ({}, "top"),
}


@pytest.mark.parametrize("tool", TOOLS_THAT_READ)
def test_an_agent_that_reads_one_form_of_a_result_has_all_of_it(agent, lab, tool):
    lab.run("islands = ['Biscoe', 'Dream']")
    arguments, shown = TOOLS_THAT_READ[tool]
    result = agent.call(tool, **arguments)
    assert shown in text_of(result)
    assert result.structured_content["text"] == text_of(result)


def test_an_agent_that_reads_one_form_of_what_a_block_did_has_all_of_it(agent, lab, panel):
    result = run(agent, panel, f"{SHOW_IMAGE}\nwhale = 1\nprint('a figure')")
    for text in (text_of(result), result.structured_content["text"]):
        assert "a figure" in text
        assert "new names: whale\n" in text
        assert "It ran; 1 image." in text
    declined = agent.begin("run_code", code="never = 1")
    panel.decide(panel.question(), "decline", reason="use polars")
    result = declined.result(PATIENCE)
    assert "use polars" in text_of(result)
    assert result.structured_content["text"] == text_of(result)


def test_an_edit_is_what_runs_and_the_agent_reads_it(agent, lab, panel):
    call = agent.begin("run_code", code="z = 1")
    panel.decide(panel.question(), code="z = 2")
    result = call.result(PATIENCE)
    assert result.structured_content["code"] == "z = 2"
    assert "z = 2" in text_of(result)
    assert lab.value("z") == 2


def test_a_reason_not_to_run_reaches_the_agent(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    panel.decide(panel.question(), "decline", reason="use polars")
    result = call.result(PATIENCE)
    assert result.is_error
    assert result.structured_content["ran"] is False
    assert result.structured_content["reason"] == "use polars"
    assert not lab.value("'never' in globals()")


def test_an_error_and_an_image_reach_the_agent(agent, lab, panel):
    result = run(agent, panel, "1 / 0")
    assert result.is_error
    assert result.structured_content["error"] == "ZeroDivisionError: division by zero"
    shown = run(agent, panel, SHOW_IMAGE)
    (image,) = [each for each in shown.content if each.type == "image"]
    assert base64.b64decode(image.data).startswith((b"\x89PNG", b"\xff\xd8"))


def test_names_that_a_block_changed_are_restored_as_those_of_a_model(agent, lab, panel):
    lab.run("price = 1")
    run(agent, panel, "price = 2")
    panel.over()
    at = [each for each, record in enumerate(panel.view.records) if record.get("names")][-1]
    panel.value("restore", at=at)
    assert lab.value("price") == 1


def test_a_key_in_the_name_of_a_variable_does_not_go_to_the_agent(agent, lab, panel):
    lab.run("import os\nos.environ['MY_API_KEY'] = 'sk-canary-1234567890'")
    result = run(agent, panel, "globals()['\\u202e' + os.environ['MY_API_KEY']] = 1")
    (name,) = result.structured_content["names"]["new"]
    assert name.startswith("⟨U+202E⟩")
    assert "canary" not in name


def test_a_long_output_is_given_by_its_head_and_tail(agent, lab, panel):
    text = text_of(run(agent, panel, "print('first'); print('x' * 100_000); print('last')"))
    assert "first" in text
    assert "last" in text
    assert len(text) < 12_000


def test_the_model_of_the_person_reads_that_an_agent_ran_code(agent, lab, panel):
    lab.run("model = scripted([said('I see.')])")
    run(agent, panel, "w = 1")
    panel.over()
    panel.ask("What was that?")
    panel.over()
    seen = lab.value("[message.content for message in model.seen[0]]")
    assert seen[:2] == ["Claude Code, an agent outside this notebook, runs code here.", "w = 1"]
    assert lab.value("[turn.model for turn in session.turns][0]") == "Claude Code"
    assert lab.value("session.conversation.other_model") == ""


# Nobody says yes ----------------------------------------------------------------------------------


def test_auto_run_does_not_let_it_run(agent, lab, panel):
    lab.run("session.auto_run = True")
    call = agent.begin("run_code", code="never = 1")
    question = panel.question()
    assert "Claude Code" in question["warning"]
    panel.decide(question, "decline")
    assert call.result(PATIENCE).is_error
    assert not lab.value("'never' in globals()")


def test_what_policy_denies_never_runs(agent, lab, panel):
    lab.run("session.deny = ['shell']")
    text = agent.refused("run_code", code="!touch denied.txt")
    lab.run("session.deny = []")
    assert "not run" in text


def test_when_nobody_answers_in_time_the_card_is_taken_away(lab, panel, make_agent, clock):
    hasty = make_agent("Hasty", "--wait", "1")
    call = hasty.begin("run_code", code="never = 1")
    panel.question()
    wait_until(lambda: "The code waits for the person." in hasty.progress, "its state")
    lab.control("is_late", {})
    result = call.result(PATIENCE)
    assert result.is_error
    assert text_of(result) == "This code was not run: nobody answered within 1 second."
    panel.until(lambda: panel.view.ask is None, "the end of the question")
    panel.over()
    assert not lab.value("'never' in globals()")


@pytest.mark.long
def test_a_yes_counts_though_the_block_waits_longer_for_a_cell(lab, panel, make_agent, clock):
    hasty = make_agent("Hasty", "--wait", "1")
    cell = lab.start("print('busy'); release.wait(60)")
    lab.shows(cell, "busy\n")
    call = hasty.begin("run_code", code="late = 1")
    panel.decide(panel.question())
    panel.until(lambda: hasty.progress[-1:] == ["The code begins."], "the yes")
    lab.control("is_late", {})  # which releases the cell, once the block has been looked at
    assert not call.result(PATIENCE).is_error
    lab.finish(cell)
    assert lab.value("late") == 1


def test_the_agent_stops_its_own_block_while_it_waits(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    panel.question()
    assert agent.text("stop") == "Stopped 1 block of yours."
    assert "the agent stopped it" in text_of(call.result(PATIENCE))
    panel.until(lambda: panel.view.ask is None, "the end of the question")


def test_a_call_that_is_cancelled_is_withdrawn(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    panel.question()
    call.cancel()
    panel.until(lambda: panel.view.ask is None, "the end of the question")
    panel.over()
    assert "the agent cancelled its request" in panel.texts()[-1]


def test_a_block_that_runs_is_stopped_by_a_cancelled_call(agent, lab, panel):
    call = agent.begin("run_code", code="import time\nfor _ in range(10_000): time.sleep(0.01)")
    panel.decide(panel.question())
    panel.until(lambda: panel.view.state["state"] == "running", "the block")
    call.cancel()
    panel.over("stopped")
    assert lab.value("session.wait(60)")


def test_a_stop_in_the_panel_takes_a_card_away(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    panel.question()
    panel.tell({"kind": "stop"})
    assert text_of(call.result(PATIENCE)) == "This code was not run: the user stopped it."


def test_code_that_was_stopped_on_its_card_is_never_offered_as_the_models(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    panel.question()
    panel.tell({"kind": "stop"})
    assert call.result(PATIENCE).is_error
    lab.run("assert session.wait(60); scripted_model = ScriptedModel([said('Well.')])")
    lab.run("session.choose_model(scripted_model); session.auto_run = True")
    assert lab.value("session.pending is None")
    lab.run("%lmc resume")
    assert not lab.value("'never' in globals()")


def test_a_stop_in_the_panel_stops_the_block_of_an_agent(agent, lab, panel):
    call = agent.begin("run_code", code="import time\nfor _ in range(10_000): time.sleep(0.01)")
    panel.decide(panel.question())
    panel.until(lambda: panel.view.state["state"] == "running", "the block")
    panel.tell({"kind": "stop"})
    result = call.result(PATIENCE)
    assert result.is_error
    assert result.structured_content["error"] == "it was stopped while it ran"


@pytest.mark.long
def test_a_client_that_is_killed_in_mid_block_stops_it(lab, panel, make_agent):
    doomed = make_agent("Doomed")
    doomed.begin("run_code", code="import time\nfor _ in range(10_000): time.sleep(0.01)")
    panel.decide(panel.question())
    panel.until(lambda: panel.view.state["state"] == "running", "the block")
    servers = [each for each in psutil.Process().children() if each.cmdline()[-1:] == ["mcp"]]
    max(servers, key=lambda each: each.create_time()).kill()
    panel.over("stopped")


def test_a_client_that_ends_while_its_card_is_open_withdraws_it(lab, panel):
    short = Agent("Short")
    short.begin("run_code", code="never = 1")
    panel.question()
    short.close()
    panel.until(lambda: panel.view.ask is None, "the end of the question")
    panel.over()


# One after another --------------------------------------------------------------------------------


def test_two_agents_take_turns(agent, lab, panel, make_agent):
    other = make_agent("Codex")
    first = agent.begin("run_code", code="order = ['first']")
    question = panel.question()
    second = other.begin("run_code", code="order.append('second')")
    panel.decide(question)
    assert not first.result(PATIENCE).is_error
    next_question = panel.question(question["proposal"])
    assert panel.view.turns[-1]["model"] == "Codex"
    panel.decide(next_question)
    assert not second.result(PATIENCE).is_error
    assert lab.value("order") == ["first", "second"]


def test_an_agent_waits_while_the_person_s_question_is_answered(agent, lab, panel):
    lab.run("scripted([code('mine = 1')], [said('Done.')])")
    panel.ask("Set mine.")
    question = panel.question()
    call = agent.begin("run_code", code="theirs = mine + 1")
    panel.decide(question)
    panel.decide(panel.question(question["proposal"]))
    assert not call.result(PATIENCE).is_error
    assert lab.value("theirs") == 2


@pytest.mark.parametrize("end", ["decline", "cancel"])
def test_a_question_in_the_queue_is_asked_after_the_block_of_an_agent(agent, lab, panel, end):
    lab.run("model = scripted([said('Late.')])")
    call = agent.begin("run_code", code="import time\nfor _ in range(10_000): time.sleep(0.01)")
    question = panel.question()
    panel.value("queue", do="add", text="And then?", entry="")
    assert lab.value("len(model.seen)") == 0
    if end == "decline":
        panel.decide(question, "decline")
        assert call.result(PATIENCE).is_error
    else:
        panel.decide(question)
        panel.until(lambda: panel.view.state["state"] == "running", "the block")
        call.cancel()
    panel.until(lambda: "Late." in panel.texts(), "the answer")
    panel.over()


@pytest.fixture
def press(panel):
    """Presses a button of the next card."""
    seen: list[str] = []

    def press(decision: str) -> None:
        question = panel.question(*seen)
        seen.append(question["proposal"])
        panel.decide(question, decision)

    return press


def test_run_all_lets_the_next_blocks_of_this_agent_run_and_no_others(
    agent, lab, press, make_agent
):
    call = agent.begin("run_code", code="a = 1")
    press("all")
    assert not call.result(PATIENCE).is_error
    assert agent.call("run_code", code="b = a + 1").structured_content["ran"] is True
    hidden = agent.begin("run_code", code="c = 'x\u202ey'")
    press("decline")
    assert hidden.result(PATIENCE).is_error
    other = make_agent("Codex").begin("run_code", code="d = 1")
    press("decline")
    assert other.result(PATIENCE).is_error
    agent.text("stop")
    last = agent.begin("run_code", code="e = 1")
    press("decline")
    assert last.result(PATIENCE).is_error
    assert lab.value("(b, 'c' in globals(), 'd' in globals(), 'e' in globals())") == (
        2, False, False, False,
    )  # fmt: skip


@pytest.fixture
def free(agent, press):
    """The person lets all code of the agent run; presses a button of the next card."""
    call = agent.begin("run_code", code="first = 1")
    press("all")
    assert not call.result(PATIENCE).is_error
    return press


def is_asked(agent: Agent, press) -> None:
    """Its next block waits for the person, who declines."""
    call = agent.begin("run_code", code="unasked = 1")
    press("decline")
    assert call.result(PATIENCE).is_error


def test_a_run_does_not_bring_back_a_run_all_that_has_expired(agent, lab, press):
    quiet = "from lmc_jupyter.frontends.agents import door; door.QUIET_SECONDS = "
    lab.run(f"{quiet}0.0")
    call = agent.begin("run_code", code="first = 1")
    press("all")
    assert not call.result(PATIENCE).is_error
    lab.run(f"{quiet}60.0")
    call = agent.begin("run_code", code="second = 1")
    press("run")
    assert not call.result(PATIENCE).is_error
    is_asked(agent, press)


def test_a_door_that_was_shut_has_no_run_all_when_it_is_open_again(agent, lab, panel, free):
    lab.run("%config LMC.agents = 'off'")
    lab.run("%config LMC.agents = 'ask'")
    is_asked(agent, free)


def test_another_conversation_has_no_run_all(agent, lab, panel, free):
    lab.run("session.reset()")
    is_asked(agent, free)


def test_a_stop_of_any_answer_ends_run_all(agent, lab, panel, free):
    lab.run("session.choose_model(ScriptedModel([code('1')], [said('ok')]))")
    panel.ask()
    question = panel.question()
    call = agent.begin("run_code", code="unasked = 1")
    wait_until(lambda: agent.progress[-1:] == ["The code waits for its turn."], "its turn")
    panel.tell({"kind": "stop"})
    panel.decide(panel.question(question["proposal"]), "decline")
    assert call.result(PATIENCE).is_error


def test_a_block_that_waits_for_its_turn_does_not_start_when_the_door_is_shut(
    agent, lab, panel, free
):
    lab.run("session.choose_model(ScriptedModel([code('1')], [said('ok')]))")
    panel.ask()
    question = panel.question()
    call = agent.begin("run_code", code="after_off = 1")
    wait_until(lambda: agent.progress[-1:] == ["The code waits for its turn."], "its turn")
    lab.run("%config LMC.agents = 'off'")
    panel.decide(question)
    panel.over()
    assert "lets no agent in" in text_of(call.result(PATIENCE))
    assert not lab.value("'after_off' in globals()")


def test_an_agent_reads_and_its_card_opens_while_a_cell_is_busy(agent, lab, panel):
    lab.run("busy_x = 1")
    lab.run(RELEASE)
    cell = lab.start("print('busy'); release.wait(60)")
    lab.shows(cell, "busy\n")
    assert "busy_x" in agent.text("list_variables")
    call = agent.begin("run_code", code="after = busy_x + 1")
    panel.decide(panel.question())
    lab.control("release", {})
    assert not call.result(PATIENCE).is_error
    lab.finish(cell)
    assert lab.value("after") == 2


# What is read -------------------------------------------------------------------------------------


def test_variables_and_cells_are_read_by_the_levels_of_context(agent, lab, panel):
    lab.run("import os\nos.environ['MY_API_KEY'] = 'sk-canary-1234567890'")
    lab.run("weights = [3, 1, 2]\nprint('cell says', sum(weights), os.environ['MY_API_KEY'])")
    assert "weights: list" in agent.text("list_variables")
    assert agent.text("inspect_variable", name="weights") == "[3, 1, 2]"
    cells = agent.text("read_cells")
    assert "cell says 6" in cells
    assert "sk-canary" not in cells
    assert "there is no variable" in agent.refused("inspect_variable", name="os.environ")
    lab.run("session.context = 'names'")
    assert "weights: list" in agent.text("list_variables")
    assert "the names of variables alone" in agent.refused("inspect_variable", name="weights")
    assert "the names of variables alone" in agent.refused("read_cells")
    lab.run("session.context = 'none'")
    for tool in ("list_variables", "read_cells"):
        assert "nothing of this notebook" in agent.refused(tool)


@pytest.mark.parametrize("error", ["SystemExit", "KeyboardInterrupt", "BaseException"])
def test_a_value_whose_repr_raises_anything_is_answered(agent, lab, panel, error):
    lab.run("import os\nos.environ['MY_API_KEY'] = 'sk-canary-1234567890'")
    lab.run(f"class Bad:\n    def __repr__(self): raise {error}(os.environ['MY_API_KEY'])")
    lab.run("bad = Bad()")
    call = agent.begin("inspect_variable", name="bad")
    answer = text_of(call.result(PATIENCE))
    assert f"could not do this: {error}: [redacted: MY_API_KEY]" in answer
    assert "bad" in agent.text("list_variables")
    lab.run("del bad")


def test_a_hidden_cell_is_never_read(agent, lab, panel):
    cell = lab.start("# CANARY\nprint('CANARY-OUTPUT')")
    lab.finish(cell)
    number = lab.reply(cell)["content"]["execution_count"]
    lab.run(f"get_ipython().magics_manager.registry['LMCMagics'].cells.hide(number={number})")
    assert f"In [{number}]" not in agent.text("read_cells")
    assert "CANARY" not in agent.text("read_cells")
    assert "no cell that may be read" in agent.refused("read_cells", cells=str(number))


def test_the_source_of_what_a_hidden_cell_defines_is_never_read(agent, lab, panel):
    lab.run("def open_fn(x):\n    return x + 41")
    source = (
        "import functools\n"
        "def secret_fn(x):\n    '''CANARY-DOC'''\n    return x  # CANARY\n"
        "class Secret:\n    '''CANARY-DOC'''\n"
        "@functools.wraps(secret_fn)\ndef secret_wrap(x): return x  # CANARY\n"
        "secret_lambda = lambda: 'CANARY'"
    )
    cell = lab.start(source)
    lab.finish(cell)
    number = lab.reply(cell)["content"]["execution_count"]
    lab.run(f"get_ipython().magics_manager.registry['LMCMagics'].cells.hide(number={number})")
    for name in ("secret_fn", "Secret", "secret_wrap", "secret_lambda"):
        text = agent.text("inspect_variable", name=name)
        assert "a hidden cell has its source, which is not read" in text
        assert "CANARY" not in text
    assert "return x + 41" in agent.text("inspect_variable", name="open_fn")


@pytest.mark.long
def test_without_a_page_no_cell_is_added(agent, lab, panel):
    text = agent.refused("add_cell", source="x = 1")
    assert "no JupyterLab page has answered" in text


def test_a_page_adds_the_cell_and_says_so(agent, lab, panel):
    lab.run("from lmc_jupyter.frontends.agents import page; page.ANSWER_SECONDS = 60.0")
    before = len(lab.messages)
    call = agent.begin("add_cell", source="x = 1")

    def opened():
        return [
            each["content"]
            for each in lab.messages[before:]
            if each["msg_type"] == "comm_open"
            and each["content"]["target_name"] == "lmc-jupyter:agents"
        ]

    (comm,) = lab.until(opened, "the comm")
    assert comm["data"] == {"kind": "add", "agent": "Claude Code", "source": "x = 1"}
    answer = {"kind": "added", "cell": "c1", "id": "1"}
    lab.control("lmc_request", {"comm_id": comm["comm_id"], "content": answer})
    added = call.result(PATIENCE)
    assert added.structured_content["cell"] == "c1"
    assert added.structured_content["text"] == text_of(added) != ""
    lab.run("page.ANSWER_SECONDS = 5.0")
    assert "hidden characters" in agent.refused("add_cell", source="x = 'a\u202eb'")


def test_a_cell_of_markdown_is_refused_because_it_would_be_rendered_unasked(agent, lab, panel):
    before = len(lab.messages)
    source = "![x](http://127.0.0.1:1/?d=data)"
    text = agent.refused("add_cell", source=source, type="markdown")
    assert "cells of code alone, not of 'markdown'" in text
    assert lab.value("1") == 1
    opened = [each for each in lab.messages[before:] if each["msg_type"] == "comm_open"]
    assert not [each for each in opened if "agents" in each["content"]["target_name"]]


def test_the_page_is_told_while_a_block_waits(agent, lab, panel):
    before = len(lab.messages)
    call = agent.begin("run_code", code="p = 1")
    panel.decide(panel.question(), "decline")
    call.result(PATIENCE)

    def seen():
        return [
            (each["msg_type"], each["content"].get("data"))
            for each in lab.messages[before:]
            if each["msg_type"] in ("comm_open", "comm_close")
        ]

    lab.until(lambda: len(seen()) == 2, "the end")
    opened, (closed, _) = seen()
    assert opened == ("comm_open", {"kind": "asks", "agent": "Claude Code"})
    assert closed == "comm_close"


# The door -----------------------------------------------------------------------------------------


def test_a_shut_door_refuses_everything_and_takes_away_what_waits(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    panel.question()
    lab.run("%config LMC.agents = 'off'")
    assert "lets no agent in" in text_of(call.result(PATIENCE))
    listed = agent.call("list_notebooks")
    (notebook,) = listed.structured_content["notebooks"]
    assert notebook["open"] is False
    assert "penguins" not in str(notebook) + text_of(listed)
    hello = lab.control("lmc_agent_request", {"kind": "hello", "call": "h"})
    assert set(hello) - {"msg_type"} == {"kind", "call", "open"}
    assert "some let no agent in" in agent.refused("list_variables", notebook="penguins.ipynb")
    for tool, arguments in {
        "run_code": {"code": "never = 1"}, "list_variables": {}, "read_cells": {},
        "inspect_variable": {"name": "x"}, "add_cell": {"source": "x"}, "stop": {},
    }.items():  # fmt: skip
        assert agent.refused(tool, **arguments).startswith("the notebook lets no agent in: ")
    content = {"kind": "run", "call": "1", "agent": "x", "pid": os.getpid(), "code": "never = 1"}
    assert "lets no agent in" in lab.control("lmc_agent_request", content)["text"]
    assert not lab.value("'never' in globals()")


@pytest.mark.long
def test_an_unload_tells_the_agent_whose_card_is_open(lab, agent, panel):
    other = Frontend(env={"JPY_SESSION_NAME": "/home/ada/unloads.ipynb"}, listed=True)
    try:
        other.run(SET_UP)
        call = agent.begin("run_code", code="never = 1", notebook="unloads.ipynb")
        Panel(other, other.value("model_id")).question()
        other.run("%unload_ext lmc_jupyter")
        text = text_of(call.result(PATIENCE))
        assert text == "This code was not run: lmc-jupyter was unloaded in this notebook."
    finally:
        other.close()


def test_code_of_an_agent_does_not_open_or_widen_anything(agent, lab, panel):
    code = (
        "for line in ('LMC.agents = \"off\"', 'LMC.auto_run = True'):\n"
        "    get_ipython().run_line_magic('config', line)"
    )
    result = run(agent, panel, code)
    assert "to change what may run: code that a model wrote cannot do that" in text_of(result)
    assert lab.value("(session.agents, session.auto_run)") == ("ask", False)
    settings = "get_ipython().magics_manager.registry['LMCMagics'].settings"
    assert lab.value(f"({settings}.agents, {settings}.auto_run)") == ("ask", False)


def test_it_is_said_once_that_an_agent_has_connected(lab, panel, make_agent):
    newcomer = make_agent("Newcomer")
    newcomer.text("list_variables")
    newcomer.text("list_variables")
    said = [text for text in panel.texts() if text.startswith("Newcomer, an agent outside")]
    panel.until(
        lambda: [each for each in panel.texts() if each.startswith("Newcomer, an agent")], "a note"
    )
    said = [each for each in panel.texts() if each.startswith("Newcomer, an agent")]
    assert len(said) == 1


@pytest.mark.long
def test_the_name_of_an_agent_is_short_and_its_hidden_characters_are_marked(lab, panel, make_agent):
    odd = make_agent("<b>Ev\u202eil</b>\nApproved by Ada " + "x" * 500)
    call = odd.begin("run_code", code="n = 1")
    panel.decide(panel.question(), "decline")
    call.result(PATIENCE)
    name = panel.view.turns[-1]["model"]
    assert name.startswith("<b>Ev⟨U+202E⟩il</b> Approved by Ada")
    assert "\n" not in name
    assert len(name) < 100


# Hostile clients ----------------------------------------------------------------------------------


def test_ten_megabytes_are_refused_with_a_sentence(agent, lab, panel):
    assert "200,000 are allowed" in agent.refused("run_code", code="x" * 10_000_000)
    content = {"kind": "run", "call": "2", "pid": os.getpid(), "code": "x" * 10_000_000}
    assert "200,000 are allowed" in lab.control("lmc_agent_request", content)["text"]


def test_a_hundred_calls_at_once_run_nothing_and_leave_the_kernel_usable(agent, lab, panel):
    calls = [agent.begin("run_code", code="never = 1") for _ in range(100)]
    question = panel.question()
    wait_until(lambda: sum(each.done() for each in calls) >= 80, "the refusals")
    assert lab.value("1 + 1") == 2
    panel.decide(question, "decline")
    while True:
        agent.call("stop")
        if all(each.done() for each in calls):
            break
    assert all(each.result(PATIENCE).is_error for each in calls)
    panel.over()
    assert not lab.value("'never' in globals()")


def test_forged_messages_on_the_control_channel_decide_nothing(agent, lab, panel):
    call = agent.begin("run_code", code="never = 1")
    question = panel.question()
    answer = {"decision": "run", "proposal": question["proposal"], "digest": question["digest"]}
    for content in (
        {"kind": "decision", "call": "9", "pid": os.getpid(), **answer},
        {"kind": "run", "call": "10", "pid": 2**40, "code": "never = 1"},
        {"kind": "run", "call": "11", "code": "never = 1"},
        {"kind": "run", "call": "12", "pid": os.getpid(), "code": ["never = 1"]},
        {"kind": "run", "call": "13", "pid": os.getpid(), "code": "never = 1", "wait": "soon",
         "language": {"a": 1}},
        {"kind": None, "call": None, "agent": {"no": "name"}, "pid": True},
    ):  # fmt: skip
        reply = lab.control("lmc_agent_request", content)
        assert reply["failed"] is True
        assert panel.view.ask == question
    message = lab.client.session.msg("lmc_agent_request", {"kind": "cancel", "call": "1"})
    lab.client.control_channel.send(message)  # of a call of somebody else
    assert not lab.value("'never' in globals()")
    assert not call.done()
    panel.decide(question, "decline")
    assert call.result(PATIENCE).is_error


# Several kernels ----------------------------------------------------------------------------------


@pytest.mark.long
def test_of_several_notebooks_one_must_be_named_and_a_restart_is_said(agent, lab, panel):
    other = Frontend(env={"JPY_SESSION_NAME": "/home/ada/other.ipynb"}, listed=True)
    try:
        other.run("%load_ext lmc_jupyter\nmarker = 5")
        text = agent.refused("list_variables")
        assert "/home/ada/other.ipynb, /home/ada/penguins.ipynb" in text
        assert "marker" in agent.text("list_variables", notebook="other.ipynb")
        assert "there is no notebook" in agent.refused("list_variables", notebook="third.ipynb")
        call = agent.begin("run_code", code="1", notebook="ada/other.ipynb")
        other.run("import lmc_jupyter")
        view = Panel(other, other.value("lmc_jupyter.panel_model_id()"))
        view.question()
        other.restart()
        assert "ended or was restarted" in text_of(call.result(PATIENCE))
    finally:
        other.close()


def test_the_name_of_a_notebook_is_on_one_line_with_its_hidden_characters_marked(agent, lab):
    path = "/home/ada/a\u202eb\n/home/ada/trusted.ipynb\r\n\x1b[31mOdd <b>.ipynb"
    odd = Frontend(env={"JPY_SESSION_NAME": path}, listed=True)
    try:
        odd.run("%load_ext lmc_jupyter\nhere = 1")
        text = agent.text("list_notebooks")
        assert len(text.splitlines()) == 2
        assert not set("\u202e\x1b\r") & set(text)
        assert "a⟨U+202E⟩b" in text
        (name,) = [each["name"] for each in listed(agent) if "Odd" in str(each["name"])]
        assert "here" in agent.text("list_variables", notebook=str(name))
    finally:
        odd.close()


@pytest.mark.long
def test_without_a_notebook_that_is_said(tmp_path, monkeypatch, make_agent):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "kernel-broken.json").write_text("{")
    (tmp_path / "kernel-old.json").write_text(
        '{"ip": "127.0.0.1", "control_port": 1, "transport": "tcp", "key": "x"}'
    )
    nobody = make_agent("Nobody")
    assert nobody.text("list_notebooks") == "No notebook is open that has lmc-jupyter loaded."
    assert "no notebook of this user is open" in nobody.refused("run_code", code="1")


@pytest.mark.long
def test_a_kernel_without_us_is_asked_again_only_where_no_other_is_meant(lab, make_agent):
    plain = Frontend(env={"JPY_SESSION_NAME": "/home/ada/plain.ipynb"}, listed=True)
    try:
        plain.run(COUNT)
        newcomer = make_agent("Newcomer", hello=5.0)
        paths = [each["path"] for each in listed(newcomer)]
        assert paths == ["/home/ada/penguins.ipynb"]
        newcomer.text("list_variables")
        assert plain.value("asked") == 1  # it is not waited for
        plain.run("%load_ext lmc_jupyter\nhere = 1")
        assert "here" in newcomer.text("list_variables", notebook="plain.ipynb")
    finally:
        plain.close()


def listed(agent: Agent) -> list[dict[str, object]]:
    return list(agent.call("list_notebooks").structured_content["notebooks"])
