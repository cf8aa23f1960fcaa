"""What running programs ask the person for: one after the other, answered once, ended by a stop."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lmc_jupyter.frontends.inputs import MOST_PROMPT, Inputs


@pytest.fixture
def shown():
    """The question that is shown, as whoever draws is told of it."""

    class Shown:
        def __init__(self) -> None:
            self.inputs = Inputs(self.changed)
            self.news = threading.Condition()

        def changed(self) -> None:
            with self.news:
                self.news.notify_all()

        def another(self, *but):
            with self.news:
                found = lambda: (now := self.inputs.current()) is not None and now not in but  # noqa: E731
                assert self.news.wait_for(found, 60)
                return self.inputs.current()

    return Shown()


@pytest.fixture
def threads():
    with ThreadPoolExecutor() as pool:
        yield pool


def test_an_answer_goes_to_its_question_and_the_first_one_counts(shown, threads):
    inputs = shown.inputs
    assert inputs.current() is None
    first = threads.submit(inputs.ask, "a? ")
    a = shown.another()
    second = threads.submit(inputs.ask, "b? ", True)
    assert (a["prompt"], a["password"]) == ("a? ", False)
    inputs.answer({"input": "another", "text": "no"})
    for wrong in (7, ["x"], {"text": "x"}):
        inputs.answer({"input": a["id"], "text": wrong})
    inputs.answer({"input": a["id"], "text": "1"})
    inputs.answer({"input": a["id"], "text": "too late"})
    assert first.result(60) == "1"
    b = shown.another(a)
    assert (b["prompt"], b["password"]) == ("b? ", True)
    inputs.answer({"input": b["id"], "text": None})
    with pytest.raises(EOFError):
        second.result(60)
    assert inputs.current() is None


def test_a_stop_interrupts_all_who_wait_and_the_next_may_ask(shown, threads):
    asking = [threads.submit(shown.inputs.ask, "?") for _ in range(3)]
    shown.another()
    with shown.news:
        assert shown.news.wait_for(lambda: len(shown.inputs._open) == 3, 60)
    shown.inputs.stop()
    for each in asking:
        with pytest.raises(KeyboardInterrupt):
            each.result(60)
    assert shown.inputs.current() is None
    later = threads.submit(shown.inputs.ask, "again? ")
    shown.inputs.answer({"input": shown.another()["id"], "text": "yes"})
    assert later.result(60) == "yes"


def test_after_the_end_nobody_is_asked(shown, threads):
    asking = threads.submit(shown.inputs.ask, "?")
    shown.another()
    shown.inputs.close()
    with pytest.raises(EOFError):
        asking.result(60)
    with pytest.raises(EOFError):
        shown.inputs.ask("?")
    assert shown.inputs.current() is None


def test_a_prompt_is_bounded_and_what_no_text_holds_is_taken_out_of_its_answer(shown, threads):
    asking = threads.submit(shown.inputs.ask, "x" * 10 * MOST_PROMPT + " name? ")
    question = shown.another()
    assert len(question["prompt"]) <= MOST_PROMPT + 2
    assert question["prompt"].startswith("… xx")
    assert question["prompt"].endswith(" name? ")
    shown.inputs.answer({"input": question["id"], "text": "half \ud800"})
    asking.result(60).encode()
