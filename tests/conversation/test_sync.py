"""A question is on the disk before the model is asked."""

from __future__ import annotations

import threading

import pytest
from scripted import Machine, said
from test_conversations import drive, kept
from watcher import Watcher

from lmc_jupyter import Session
from lmc_jupyter.conversation import disk


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))


class Disk:
    """A disk whose syncs wait for `end`, and then raise `error`."""

    def __init__(self):
        self.begun, self.end, self.error = threading.Event(), threading.Event(), None
        self.count = 0
        self.end.set()

    def sync(self, descriptor):
        self.count += 1
        self.begun.set()
        assert self.end.wait(60)
        if self.error is not None:
            raise self.error


@pytest.fixture
def slow(monkeypatch):
    """The disk of this test; nothing waits for it until its `end` is cleared."""
    it = Disk()
    monkeypatch.setattr(disk.calls, "sync", it.sync, raising=False)
    return it


class Model:
    name = label = "a script"

    def __init__(self):
        self.asked = threading.Event()

    def respond(self, messages):
        self.asked.set()
        yield said("One ")
        yield said("two.")


class Shown(Watcher):
    """What a view is told, in order."""

    def __init__(self):
        self.all, self.first = [], threading.Event()

    def shown(self, chunk):
        self.all.append(chunk.content)
        self.first.set()

    def saved(self, problem):
        self.all.append(problem)


@pytest.fixture
def talk(slow):
    """A session that has answered one question already, so that its file is there."""
    it = Session(model=Model(), computer=Machine())
    drive(it.ask("First?"))
    it.model.asked.clear()
    it.history.subscribe(shown := Shown())
    it.seen = shown
    slow.begun.clear()
    slow.end.clear()
    yield it
    slow.end.set()
    it.close()


@pytest.fixture
def asking(talk, slow):
    """The second question, which is asked on another thread."""
    thread = threading.Thread(target=lambda: drive(talk.ask("Second?")))
    thread.start()
    yield thread
    slow.end.set()
    thread.join(60)
    assert not thread.is_alive()


def test_the_question_is_on_the_disk_before_the_model_is_asked(talk, slow, asking):
    assert slow.begun.wait(60)
    assert not talk.model.asked.is_set()
    assert talk.seen.all == []
    assert kept(talk).messages[-1].content == "Second?"
    slow.end.set()
    asking.join(60)
    assert talk.model.asked.is_set()
    assert "".join(filter(None, talk.seen.all)) == "One two."
    assert talk.journal.problem == ""


def test_a_disk_that_refuses_the_question_is_said_before_the_answer(talk, slow, asking):
    assert slow.begun.wait(60)
    slow.error = OSError(5, "Input/output error")
    slow.end.set()
    asking.join(60)
    assert "is not being saved" in talk.seen.all[0]
    assert "Input/output error" in talk.seen.all[0]
    assert "".join(filter(None, talk.seen.all[1:])).startswith("One two.")
    slow.error = None
    drive(talk.ask("Third?"))
    assert talk.journal.problem == ""
    assert kept(talk).messages == talk.messages


@pytest.mark.usefixtures("asking")
def test_a_stop_does_not_wait_for_the_disk(talk, slow):
    assert slow.begun.wait(60)
    stopping = threading.Thread(target=talk.stop)
    stopping.start()
    stopping.join(60)
    assert not stopping.is_alive()
    assert not slow.end.is_set()


def test_a_question_is_synced_once_and_its_answer_once(slow):
    it = Session(model=Model(), computer=Machine())
    for number in range(2):  # the first makes the file
        slow.count = 0
        reply = it.ask(f"{number}?")
        next(reply)
        assert slow.count == 1
        drive(reply)
        assert slow.count == 2
    it.close()
