"""The queue of the panel in a real kernel: what is written while an answer is given."""

from __future__ import annotations

from typing import Any

import pytest
from panel_view import Panel
from test_panel import SET_UP

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


@pytest.fixture(scope="module")
def lab(frontend: Any) -> Any:
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def panel(lab: Any) -> Any:
    it = Panel(lab, lab.value("model_id"))
    yield it
    for entry in it.view.queued:
        it.request("queue", do="remove", entry=entry["id"])
    if it.view.state["state"] not in ("idle", "done", "stopped", "failed"):
        it.tell({"kind": "stop"})
    lab.run("assert session.wait(60); session.reset()")


def texts(panel: Panel) -> list[str]:
    return [entry["text"] for entry in panel.view.queued]


def add(panel: Panel, text: str) -> str:
    panel.request("queue", do="add", text=text)
    panel.until(lambda: text in texts(panel), "the entry")
    return str(panel.view.queued[texts(panel).index(text)]["id"])


def test_what_waits_can_be_changed_and_goes_to_the_next_request(lab, panel):
    lab.run("model = scripted([code('1 + 1')], [said('Two.')])")
    panel.ask("First?")
    question = panel.question()
    one, two, three = (add(panel, text) for text in ("one", "two", "three"))
    panel.request("queue", do="edit", entry=two, text="zwei")
    panel.request("queue", do="move", entry=three, to=0)
    panel.request("queue", do="remove", entry=one)
    panel.until(lambda: texts(panel) == ["three", "zwei"], "the changes")
    assert [e["text"] for e in Panel(lab, panel.id).view.queued] == ["three", "zwei"]
    panel.decide(question)
    panel.over()
    panel.until(lambda: texts(panel) == [], "an empty queue")
    assert panel.texts() == ["First?", "1 + 1", "2\n", "three", "zwei", "Two."]
    assert lab.value("[m.content for m in model.seen[1] if m.role == 'user']") == [
        "First?", "three", "zwei",
    ]  # fmt: skip


def test_what_waits_at_the_end_is_asked_next(lab, panel):
    lab.run("gate.clear(); model = use(Held(said('One.'), gate))")
    panel.ask("Is it long?")
    add(panel, "And then?")
    lab.control("open_gate", {})
    panel.until(lambda: panel.texts()[-1:] == ["Here I am again."], "the next answer")
    assert panel.texts() == ["Is it long?", "One.", "And then?", "Here I am again."]
    panel.until(lambda: texts(panel) == [], "an empty queue")
    panel.over()


def test_now_stops_the_answer_and_asks_at_once(lab, panel):
    lab.run("model = use(Waiting(said('One.')))")
    panel.ask("First?")
    add(panel, "later")
    urgent = add(panel, "at once")
    panel.request("queue", do="now", entry=urgent)
    panel.until(lambda: panel.texts().count("Here I am again.") == 2, "both answers")
    assert panel.texts()[-4:] == ["at once", "Here I am again.", "later", "Here I am again."]
    panel.until(lambda: texts(panel) == [], "an empty queue")
    panel.over()


def test_after_stop_nothing_of_the_queue_is_asked(lab, panel):
    lab.run("model = scripted([code('1 + 1')], [said('Two.')])")
    panel.ask("First?")
    panel.question()
    add(panel, "Not after a stop.")
    panel.tell({"kind": "stop"})
    panel.over("stopped")
    lab.run("assert session.wait(60)")
    assert texts(panel) == ["Not after a stop."]
    assert len(lab.value("[t.id for t in session.turns]")) == 1


def test_a_cell_that_waits_behind_another_keeps_its_place(lab, panel):
    lab.run("gate.clear(); model = use(Held(said('One.'), gate))")
    first = lab.start("%%lmc\nFirst?")
    panel.until(lambda: "One." in panel.texts(), "the first words")
    add(panel, "From the panel?")
    second = lab.start("%%lmc\nSecond?")
    panel.wait_for_shell()
    lab.control("open_gate", {})
    for cell in (first, second):
        lab.finish(cell)
        assert lab.status == "ok"
    last = "Here I am again."
    panel.until(lambda: len(panel.texts()) == 6 and panel.texts()[-1] == last, "the last answer")
    assert panel.texts() == [
        "First?", "One.", "Second?", "Here I am again.", "From the panel?", "Here I am again.",
    ]  # fmt: skip
    panel.over()


def test_a_question_that_has_been_asked_cannot_be_changed(lab, panel):
    lab.run("model = scripted([said('One.')])")
    assert "no longer in the queue" in panel.refused("queue", do="edit", entry="x", text="y")
    assert "empty" in panel.refused("queue", do="add", text="  ")
