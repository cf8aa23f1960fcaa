"""A question goes to the disk while the model is asked; the answer is shown when it is there."""

from __future__ import annotations

import os
import signal
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


@pytest.mark.usefixtures("asking")
def test_the_model_is_asked_before_the_question_is_on_the_disk(talk, slow):
    assert talk.model.asked.wait(60)
    assert slow.begun.wait(60)
    assert not slow.end.is_set()
    assert kept(talk).messages[-1].content == "Second?"


def test_nothing_of_the_answer_is_shown_before_the_question_is_on_the_disk(talk, slow, asking):
    assert talk.model.asked.wait(60)
    assert not talk.seen.first.wait(0.2)
    assert talk.seen.all == []
    slow.end.set()
    asking.join(60)
    assert "".join(filter(None, talk.seen.all)) == "One two."
    assert talk.journal.problem == ""


def test_a_disk_that_refuses_the_question_is_said_before_the_answer(talk, slow, asking):
    assert talk.model.asked.wait(60)
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
    assert talk.model.asked.wait(60)
    stopping = threading.Thread(target=talk.stop)
    stopping.start()
    stopping.join(60)
    assert not stopping.is_alive()
    assert not slow.end.is_set()


def test_to_leave_a_conversation_waits_for_its_question(talk, slow):
    talk.ask("Second?")  # and nobody reads the answer
    assert slow.begun.wait(60)
    leaving = threading.Thread(target=talk.reset)
    leaving.start()
    leaving.join(0.2)
    assert leaving.is_alive()
    slow.end.set()
    leaving.join(60)
    assert talk.messages == []
    assert talk.journal.problem == ""


def test_the_first_question_is_synced_once_while_the_model_is_asked(slow):
    it = Session(model=Model(), computer=Machine())
    slow.end.clear()
    reply = it.ask("First?")
    thread = threading.Thread(target=lambda: drive(reply))
    thread.start()
    assert it.model.asked.wait(60)
    assert slow.begun.wait(60)  # on a thread of its own, which may come later
    assert slow.count == 1
    slow.end.set()
    thread.join(60)
    it.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_fork_does_not_wait_for_the_sync_of_the_process_that_it_comes_from(talk, slow):
    talk.ask("Second?")
    assert slow.begun.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(60)  # ends it where it waits
        drive(talk.ask("In the child?"))
        talk.close()
        os._exit(0 if "fork" in talk.journal.problem else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
