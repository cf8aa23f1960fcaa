"""History: every change is an event, and whoever folds the events has the messages."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.conversation import Conversation, events
from lmc_jupyter.conversation.history import History
from lmc_jupyter.lmc import Chunk, Message

QUESTION = Message("user", "message", content="6*7?").stamped()
ANSWER = Message("assistant", "message", content="42").stamped()
EMPTY = Message("computer", "console", "output", "").marked(partial=True).stamped()


def words(text: str, **flags: Any) -> Chunk:
    return Chunk("assistant", "message", None, text or None, None, **flags)


class Fold:
    """A reader that knows nothing but the events."""

    def __init__(self, history: History) -> None:
        self.messages: list[Message] = history[:]
        self.kinds: list[str] = []
        history.subscribe(self.hear)

    def hear(self, event: events.Event) -> None:
        self.kinds.append(type(event).__name__)
        match event:
            case events.Appended(at, message):
                assert at == len(self.messages)
                self.messages.append(message)
            case events.Rewritten(at, message) | events.Marked(at, message):
                self.messages[at] = message
            case events.Cut(length):
                del self.messages[length:]
            case events.Replaced(conversation):
                self.messages = list(conversation.messages)


def change(history: History, what: str, number: int) -> None:
    at = number % max(1, len(history))
    if what == "append":
        history.append(Message("user", "message", content=str(number)).stamped())
    elif what == "grow":
        history.grow(words("", start=True))
        history.grow(words(str(number)))
        history.grow(words("", end=True))
    elif what == "stopped":
        history.grow(words("", start=True))
        history.grow(words(str(number)))
        history.flush()
    elif what == "cut":
        history.cut(at)
    elif what == "replace":
        history.replace([*history[:at], QUESTION])
    elif what == "another":
        history.tell(events.Replaced(Conversation([ANSWER] * (number % 4))))
    elif history:
        if what == "mark":
            history.mark(at, {"feedback": "up"})
        else:
            history.rewrite(at, ANSWER)


CHANGES = ["append", "grow", "stopped", "cut", "replace", "another", "mark", "rewrite"]


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 50)), max_size=30))
def test_folding_the_events_gives_the_messages(changes):
    history = History([QUESTION])
    fold, revision = Fold(history), history.revision
    for what, number in changes:
        change(history, what, number)
        assert fold.messages == history[:]
        assert history.revision >= revision
        revision = history.revision


def test_a_message_grows_chunk_by_chunk_and_is_appended_when_it_is_whole():
    history = History()
    fold = Fold(history)
    history.grow(words("", start=True))
    assert history.grow(words("Hel")) is None
    unfinished = history.growing_message()
    assert unfinished.content == "Hel"
    assert unfinished.extra == {"partial": True}
    assert not history
    history.grow(words("lo"))
    whole = history.grow(words("", end=True))
    assert whole is history.last
    assert whole.content == "Hello"
    assert fold.kinds == ["Grown"] * 3 + ["Appended", "Grown"]


def test_output_takes_the_place_of_the_empty_result():
    history = History([QUESTION, EMPTY])
    fold = Fold(history)
    history.grow(Chunk("computer", "console", None, None, None, start=True))
    history.grow(Chunk("computer", "console", "output", "7\n"))
    assert history.growing_message().content == "7\n"
    history.grow(Chunk("computer", "console", None, None, None, end=True))
    assert [each.content for each in history] == ["6*7?", "7\n"]
    assert fold.kinds[-2:] == ["Rewritten", "Grown"]
    history.grow(Chunk("computer", "console", None, None, None, start=True))
    history.grow(Chunk("computer", "console", None, None, None, end=True))
    assert len(history) == 2, "output that is empty is no message"


def test_messages_that_are_given_back_are_the_same_whether_they_have_their_ids_or_not() -> None:
    bare = Message("user", "message", content="6*7?")
    other = Message("assistant", "message", content="43")
    assert History([QUESTION, ANSWER]).same_until([bare, ANSWER]) == 2
    assert History([QUESTION, ANSWER]).same_until([bare, other]) == 1
    assert History([QUESTION]).same_until([bare.stamped()]) == 0, "this has an id of its own"
    assert History().same_until([QUESTION]) == 0


def test_a_ctrl_c_while_an_event_is_told_comes_when_all_have_heard_it():
    history, heard = History(), []

    def hear(event: events.Event) -> None:
        signal.raise_signal(signal.SIGINT)
        heard.append(event)

    history.subscribe(hear)
    other = Fold(history)
    with pytest.raises(KeyboardInterrupt):
        history.put(0, [QUESTION, ANSWER])
    assert [each.message for each in heard] == [QUESTION, ANSWER]
    assert other.messages == history[:] == [QUESTION, ANSWER]


def test_a_reader_may_tell_something_and_all_hear_it_in_order():
    history, heard = History(), []

    def answers(event: events.Event) -> None:
        if isinstance(event, events.Asked):
            history.tell(events.Noted("loading"))

    history.subscribe(answers)
    history.subscribe(lambda event: heard.append(type(event).__name__))
    history.tell(events.Asked())
    assert heard == ["Asked", "Noted"]


def test_two_threads_tell_and_every_reader_hears_one_order():
    history = History()
    orders: list[list[str]] = [[], []]
    for order in orders:
        history.subscribe(lambda event, order=order: order.append(event.text))

    def work(name: str) -> None:
        for number in range(200):
            history.tell(events.Noted(f"{name}{number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(f"{name}{i}" for name in "ab" for i in range(200))


def test_a_reader_that_fails_is_dropped_with_a_sentence():
    history = History()

    def fails(event: events.Event) -> None:
        raise ValueError("my fault")

    history.subscribe(fails)
    fold = Fold(history)
    with pytest.warns(RuntimeWarning, match="stopped watching.*Appended.*my fault"):
        history.append(QUESTION)
    history.append(ANSWER)
    assert fold.messages == [QUESTION, ANSWER]


def test_the_list_that_was_given_grows_with_the_conversation():
    mine = [QUESTION]
    history = History(mine)
    history.append(ANSWER)
    assert mine == [QUESTION, ANSWER]
    taken = history[:]
    taken.append(QUESTION)
    assert len(history) == 2
