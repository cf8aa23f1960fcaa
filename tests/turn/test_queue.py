"""What the person writes while an answer is given waits, and is asked once."""

from __future__ import annotations

import pytest
from scripted import ScriptedModel, code, drive, said

from lmc_jupyter import Session
from lmc_jupyter.errors import SessionError
from lmc_jupyter.turn.queue import Entry, Queue


def texts(queue: Queue) -> list[str]:
    return [entry.text for entry in queue.entries]


def test_entries_are_edited_moved_and_taken_back() -> None:
    changes: list[list[str]] = []
    queue = Queue()
    queue.on_change = lambda: changes.append(texts(queue))
    one, two, three = (queue.add(text) for text in ("one", "two", "three"))
    queue.edit(two.id, "zwei")
    queue.move(three.id, 0)
    assert texts(queue) == ["three", "one", "zwei"]
    assert queue.remove(one.id) == "one"
    assert changes[-1] == texts(queue) == ["three", "zwei"]
    assert len(changes) == 6


def test_what_was_asked_or_is_empty_is_refused_and_nothing_changes() -> None:
    queue = Queue()
    entry = queue.add("one")
    for refused in (
        lambda: queue.add("  \n"),
        lambda: queue.edit(entry.id, " "),
        lambda: queue.remove("unknown"),
        lambda: queue.move("unknown", 0),
    ):
        with pytest.raises(SessionError):
            refused()
    assert texts(queue) == ["one"]


def test_an_entry_that_cannot_be_asked_stays_first() -> None:
    queue = Queue()
    queue.add("one")
    queue.add("two")

    def refuse(_: Entry) -> None:
        raise SessionError("busy")

    with pytest.raises(SessionError):
        queue.ask_first(refuse)
    assert texts(queue) == ["one", "two"]
    asked: list[Entry] = []
    assert queue.ask_first(asked.append)
    assert ([each.text for each in asked], texts(queue)) == (["one"], ["two"])


def test_the_next_request_of_the_answer_has_what_was_written_meanwhile() -> None:
    model = ScriptedModel([code("1 + 1")], [said("Two, in French: deux.")])
    session = Session(model, auto_run=True, keep=False)
    reply = session.ask("What is it?")
    for chunk in reply:
        if chunk.type == "code" and chunk.role == "assistant" and chunk.end:
            session.queue.add("In French, please.")
    assert session.queue.entries == []
    assert [each.content for each in model.seen[1] if each.role == "user"] == [
        "What is it?",
        "In French, please.",
    ]
    assert session.messages[-1].content == "Two, in French: deux."


def test_what_is_written_after_the_last_request_waits() -> None:
    session = Session(ScriptedModel([said("Done.")]), keep=False)
    for _ in session.ask("First?"):
        if not session.queue.entries:
            session.queue.add("And then?")
    assert texts(session.queue) == ["And then?"]


def test_a_question_that_cannot_be_asked_now_waits_for_the_end() -> None:
    model = ScriptedModel([code("1 + 1")], [said("Two.")])
    session = Session(model, auto_run=True, keep=False)
    session.queue.add("What is {{no_such_variable}}?")
    drive(session.ask("First?"))
    assert texts(session.queue) == ["What is {{no_such_variable}}?"]
