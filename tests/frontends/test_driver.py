"""The driver of a panel's answers: one at a time, asked for clicks and keys, ended by a stop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scripted import EchoComputer, ScriptedModel, Waiting, code, said

from lmc_jupyter.conversation.events import Ended, Event
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.config.place import Place
from lmc_jupyter.frontends.magic.commands import Commands
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.driver import Driver
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.session import Session

CANARY = "Be <b>kind</b>."
ASK = {"kind": "ask", "text": "Go.", "attachments": []}


class Panel:
    """A driver with all that it needs, and the events of its front end."""

    def __init__(self, model: Any, folder: Path | None = None) -> None:
        self.computer = EchoComputer()
        self.session = Session(model=model, computer=self.computer, keep=False)
        self.sent: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.batch = Batch(self._take)
        self.threads: list[threading.Thread] = []
        mirror = Mirror(self.session, self.batch, dict)
        self.driver = Driver(
            Commands(self.session, place=Place(folder)),
            mirror,
            self._start_thread,
            lambda work: work(),
            lambda work: work(),
        )
        self.batch.start()

    def _take(self, message: dict[str, Any]) -> None:
        for event in message["events"]:
            self.sent.put(event)

    def _start_thread(self, work: Callable[[], None]) -> None:
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def event(self, name: str) -> Any:
        """Wait for the next event of this name; its value."""
        while True:
            event = self.sent.get(timeout=60)
            if event.get(name) is not None:
                return event[name]

    def over(self) -> list[Any]:
        """Wait until nothing is driven; the contents of the conversation."""
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        return [message.content for message in self.session.messages]


@pytest.fixture
def start() -> Iterator[Callable[[Any], Panel]]:
    started: list[Panel] = []

    def start(model: Any, folder: Path | None = None) -> Panel:
        started.append(Panel(model, folder))
        return started[-1]

    yield start
    for panel in started:
        panel.driver.close()
        panel.over()
        panel.batch.close()


def test_a_question_that_cannot_be_put_says_why_and_the_next_one_is_answered(start):
    panel = start(ScriptedModel([said("Hi.")]))
    broken = {"name": "a.png", "mime": "image/png", "data": "%%%"}
    with pytest.raises(LMCError, match="not base64"):
        panel.driver.answer({**ASK, "attachments": [broken]})
    panel.driver.answer(ASK)
    assert panel.over() == ["Go.", "Hi."]


def test_while_an_answer_is_given_another_question_is_refused(start):
    model = Waiting(said("A word."))
    panel = start(model)
    panel.driver.answer(ASK)
    assert model.silent.wait(60)
    for again in (lambda: panel.driver.answer(ASK), panel.driver.resume):
        with pytest.raises(SessionError, match="another answer is in progress"):
            again()
    panel.driver.stop()
    assert panel.over() == ["Go.", "A word."]
    panel.driver.ask("And now?", insert=False)
    assert panel.over()[2:] == ["And now?", "Here I am again."]


def test_what_is_put_in_the_queue_while_an_answer_ends_is_asked(start):
    panel = start(ScriptedModel([said("Hi.")], [said("Ho.")]))
    later = {"kind": "queue", "do": "add", "text": "And then?", "entry": ""}

    def hear(event: Event) -> None:  # behind the driver, which found nothing in the queue
        if isinstance(event, Ended) and later:
            content = later.copy()
            later.clear()
            assert panel.session.busy
            panel.driver.change_queue(content)

    panel.session.history.subscribe(hear)
    panel.driver.answer(ASK)
    assert panel.over() == ["Go.", "Hi.", "And then?", "Ho."]
    assert panel.session.queue.entries == []


def test_only_a_click_on_the_very_code_runs_it(start):
    panel = start(ScriptedModel([code("1")], [said("ok")]))
    panel.driver.answer(ASK)
    question = panel.event("waits")
    click = {"kind": "decision", "decision": "run", "proposal": question["proposal"]}
    panel.driver.decide({**click, "digest": "another"})
    assert panel.computer.ran == []
    panel.driver.decide({**click, "digest": question["digest"]})
    panel.over()
    assert panel.computer.ran == [("python", "1")]


@pytest.mark.parametrize("end", ["stop", "close"])
def test_a_stop_and_a_panel_that_closes_end_the_wait_for_a_click(start, end):
    panel = start(ScriptedModel([code("1")], [said("ok")]))
    panel.driver.answer(ASK)
    panel.event("waits")
    getattr(panel.driver, end)()
    panel.over()
    assert panel.computer.ran == []
    assert panel.session.computer.screen is None


def test_a_panel_that_closes_does_not_stop_an_answer_of_a_cell(start):
    panel = start(ScriptedModel([said("Hi.")]))
    reply = panel.session.ask("Go.")
    next(reply)
    panel.driver.close()
    assert not panel.session.stopped
    reply.close()


def test_one_key_is_asked_for_at_a_time_and_a_stop_leaves_it_empty(start):
    panel = start(ScriptedModel())
    with ThreadPoolExecutor() as pool:
        typed = pool.submit(panel.driver.secret, "SOME_KEY")
        asked = panel.event("input")
        assert (asked["prompt"], asked["password"], asked["key"]) == ("SOME_KEY", True, True)
        with pytest.raises(SessionError, match="asked for already"):
            panel.driver.secret("OTHER_KEY")
        panel.driver.enter({"input": asked["id"], "text": "sk-1"})
        assert typed.result(60) == "sk-1"
        stopped = pool.submit(panel.driver.secret, "SOME_KEY")
        panel.event("input")
        panel.driver.stop()
        assert stopped.result(60) == ""


def test_instructions_of_the_folder_are_offered_with_a_question_once(start, tmp_path):
    panel = start(ScriptedModel([said("Hi.")], [said("Ho.")]), tmp_path)
    (tmp_path / "AGENTS.md").write_text(CANARY)
    offer = "`%lmc instructions` shows them and asks"
    for times in (1, 0):
        panel.driver.answer(ASK)
        events = [panel.sent.get(timeout=60)]
        while "ended" not in events[-1]:
            events.append(panel.sent.get(timeout=60))
        assert str(events).count(offer) == times
        panel.over()
    assert CANARY not in str(panel.session.brief())
