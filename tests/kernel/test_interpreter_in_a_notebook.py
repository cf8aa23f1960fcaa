"""`OpenInterpreter` in a notebook: it works in this kernel, asks here, and is quiet when told."""

from __future__ import annotations

from typing import Any

import pytest
from test_cell_magic import SET_UP, Person, errors, words

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel, pytest.mark.long]

MAKE = """\
from lmc_jupyter import OpenInterpreter
def interpreter(*replies, **options):
    made = OpenInterpreter(conversation_history=False, **options)
    made.llm.model = ScriptedModel(*replies)
    return made
"""


@pytest.fixture(scope="module")
def lab(frontend):
    frontend.run(SET_UP)
    frontend.run(MAKE)
    return frontend


def test_it_shares_the_variables_and_has_a_conversation_of_its_own(lab: Any) -> None:
    lab.run("x = 40")
    lab.run("agent = interpreter([code('y = x + 2\\ny')], [said('It is 42.')], auto_run=True)")
    shown = lab.run("new = agent.chat('Add.', display=False)")
    assert [m["msg_type"] for m in shown if m["msg_type"] not in ("status", "execute_input")] == []
    assert lab.value("y") == 42
    assert lab.value("[each['content'] for each in new]") == ["y = x + 2\ny", "42\n", "It is 42."]
    assert lab.value("len(session.messages)") == 0


def test_a_stream_in_a_cell_shows_nothing_by_itself_and_its_code_may_plot(lab: Any) -> None:
    lab.run(
        "agent = interpreter([code('from IPython.display import HTML, display\\nprint(1)\\n"
        "display(HTML(\"<b>two</b>\"))\\n3')], [said('Done.')])"
    )
    shown = lab.run("chunks = list(agent.chat('Go.', display=False, stream=True))")
    assert [m["msg_type"] for m in shown if m["msg_type"] not in ("status", "execute_input")] == []
    kinds = "[(c['type'], c.get('format')) for c in chunks if c.get('start')]"
    assert ("code", "html") in lab.value(kinds)
    told = lab.value("[c['content'] for c in chunks if c.get('format') == 'output']")
    assert "".join(told).startswith("1\n")


def test_chat_with_display_asks_by_the_buttons_of_the_cell(lab: Any) -> None:
    lab.run("agent = interpreter([said('I set it.'), code('z = 7')], [said('Done.')])")
    person = Person(lab)
    cell = lab.start("new = agent.chat('Go.')")
    person.click(person.question())
    lab.finish(cell)
    assert lab.status == "ok"
    assert lab.value("z") == 7
    shown = words(lab, cell)
    assert shown.index("I set it.") < shown.index("z = 7") < shown.index("Done.")


def test_a_stream_with_display_is_text_in_the_cell(lab: Any) -> None:
    told = "print('printed', 'once')"
    lab.run(f"told = {told!r}\nagent = interpreter([said('Look:'), code(told)], [said('Done.')])")
    cell = lab.start("agent.auto_run = True\nfor _ in agent.chat('Go.', stream=True):\n    pass")
    lab.finish(cell)
    assert lab.status == "ok"
    shown = lab.text(cell)
    assert shown.count("printed once\n") == 1
    assert shown.index("Look:") < shown.index("printed once") < shown.index("Done.")


def test_where_nobody_can_be_asked_the_code_waits(lab: Any) -> None:
    lab.run("ran = []\nagent = interpreter([code('ran.append(1)')], [said('Done.')])")
    shown = lab.run("new = agent.chat('Go.')", allow_stdin=False)
    text = "".join(m["content"].get("text", "") for m in shown if m["msg_type"] == "stream")
    assert "code waits for an answer and was not run" in text
    assert lab.value("ran") == []
    assert lab.value("new[-1]['type']") == "code"


def test_an_answer_on_a_thread_runs_its_code_between_the_cells(lab: Any) -> None:
    lab.run("import threading\nwhere = ''\ntold = 'where = threading.current_thread().name'")
    lab.run("agent = interpreter([code(told)], [said('Done.')], auto_run=True)")
    cell = lab.start("agent.chat('Go.', display=False, blocking=False)\nagent.wait()")
    lab.finish(cell)
    (error,) = errors(lab, cell)
    assert "call wait() in a later cell" in error["evalue"]
    assert lab.value("[each['content'] for each in agent.wait()][-1]") == "Done."
    assert lab.value("where") == "MainThread"


def test_the_guides_loop_over_a_stream_can_be_interrupted(lab: Any) -> None:
    lab.run("agent = interpreter([code('import time\\nprint(\"be\" + \"gun\", flush=True)\\n"
            "while True: time.sleep(0.01)')], [said('Never.')])")  # fmt: skip
    cell = lab.start("for chunk in agent.chat('Go.', stream=True, display=False):\n"
                     "    print(chunk.get('content'), flush=True)")  # fmt: skip
    lab.shows(cell, "begun\n")
    lab.interrupt()
    lab.finish(cell)
    assert errors(lab, cell)[0]["ename"] == "KeyboardInterrupt"
    assert lab.value("agent.messages[-1]['role'], agent.session.busy") == ("computer", False)
    lab.run("agent.llm.model = ScriptedModel([code('print(2)')], [said('Done.')])\n"
            "agent.auto_run = True\nnew = agent.chat('And?', display=False)")  # fmt: skip
    assert lab.value("new[1]['content']") == "2\n"
