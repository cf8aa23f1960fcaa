"""Ctrl-C at any line of what keeps a conversation: it comes between two events, never inside one.

A SIGINT is raised at the first and at the last time that each line of `conversation/` is reached,
and at thousands of lines of the whole package. Lines that only enter a `try`, or enter or leave a
`with`, are left out: there the interpreter looks for no signal.
"""

from __future__ import annotations

import io
import json
import linecache
import random
import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from panel_view import Records
from sampling import SEED, amount, sample
from scripted import Machine, assert_valid, code, said
from test_conversations import drive, kept, session
from watcher import Watcher

from lmc_jupyter import Session
from lmc_jupyter.content.remarks import for_person
from lmc_jupyter.conversation import disk, history, writer
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.gate import Decision
from lmc_jupyter.open_interpreter import dicts
from lmc_jupyter.turn import answering

PACKAGE = str(Path(history.__file__).parents[1])
HERE = str(Path(history.__file__).parent)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setattr(disk.calls, "sync", lambda descriptor: None, raising=False)


class Hears(Watcher):
    """Counts the answers that it heard begin and end."""

    def __init__(self):
        self.open = self.over = 0

    def began(self, turn):
        self.open += 1

    def ended(self, turn, error):
        self.open -= 1
        self.over += 1


def talked(it):
    drive(it.ask("First?"), Decision(True, "3"))


def forked(it):
    it.conversation.fork()
    drive(it.ask("In the copy?"), Decision(False))


DONE = {
    "ask": talked,
    "rate": lambda it: it.rate(it.messages[1].id, "up"),
    "rename": lambda it: it.conversation.rename("Mine"),
    "undo": lambda it: it.undo(),
    "reset": lambda it: it.reset(),
    "fork": forked,
    "open": lambda it: it.conversation.open(it.other),
    "delete": lambda it: it.conversation.delete(it.journal.id),
}


def made(done):
    """A session that is ready for this."""
    it = session(
        [said("One "), said("two "), code("1")],
        [said("Ok.")],
        *[[said("Again."), code("2")], [said("Well.")]] * 4,
        computer=Machine(),
    )
    it.history.subscribe(hears := Hears())
    it.hears = hears
    if done != "ask":
        talked(it)
    if done == "open":
        other = session([said("Other.")])
        drive(other.ask("Another?"))
        it.other = other.journal.id
        other.close()
    return it


def is_finalizer(frame):
    """Whether the interpreter calls this where it collects: an error there ends nothing."""
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        if frame.f_code.co_name == "_let_go":
            return True
        frame = frame.f_back
    return False


def traced(do, at=None, visit=0):
    """Do this; at that visit of that line comes a Ctrl-C. How often each line was visited."""
    visits = {}

    def trace(frame, event, _):
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or is_finalizer(frame):
            return None
        line = name, frame.f_lineno
        if event != "line" or not name.startswith(HERE):
            return trace
        visits[line] = visits.get(line, 0) + 1
        if line == at and visits[line] == visit:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    def done():
        """A generator has a place of its own for the error that is being handled: one that comes
        between the interpreter's own steps may stay there."""
        sys.settrace(trace)
        try:
            yield do()
        finally:
            sys.settrace(before)

    before = sys.gettrace()
    next(done())
    return visits


def turns_in(it):
    """How many turns the file says that there were: each has its tokens and its cost."""
    lines = Conversations().path(it.journal.id).read_bytes().splitlines()
    return sum(json.loads(line)["kind"] == "turn" for line in lines)


def is_entry(line):
    return linecache.getline(*line).lstrip().startswith(("with ", "try:"))


@pytest.mark.parametrize("done", DONE)
def test_the_list_and_the_file_stay_good_and_it_goes_on(done, tmp_path, monkeypatch):
    it = made(done)
    visits = traced(lambda: DONE[done](it))
    it.close()
    points = {(line, n) for line, count in visits.items() for n in (1, count) if not is_entry(line)}
    assert len(points) > 20
    for number, (line, visit) in enumerate(sample(sorted(points), 24)):
        for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
            monkeypatch.setenv(name, str(tmp_path / str(number)))
        it = made(done)
        before = {each.id: each.messages for each in Conversations().list()}
        with suppress(KeyboardInterrupt):
            traced(lambda it=it: DONE[done](it), line, visit)
        where = f"{line[0]}:{line[1]}"
        assert not it.busy, where
        assert it.hears.open == 0, where
        drive(it.ask("Last?"), Decision(True))
        assert it.journal.problem == "", (where, visit, it.journal.problem)
        assert_valid(it.messages)
        found = kept(it)
        assert found.losses == [], where
        assert found.messages == it.messages, where
        assert found.events == it.journal.actions, where
        assert turns_in(it) <= it.hears.over, where
        if done in ("open", "reset", "fork"):  # what this session has left stays as it was
            after = {each.id: each.messages for each in Conversations().list()}
            assert set(before) <= set(after), where
            assert all(after[id_] >= count for id_, count in before.items()), where
        it.close()


def restored(it):
    it._restorable.restore = lambda restore, names: (names, "Restored.")
    it.restore()


def assigned(it):
    it.messages = [*it.messages[:2], {**QUESTION, "content": "A?"}, {**QUESTION, "content": "B?"}]


QUESTION = {"role": "user", "type": "message"}
WHOLE = {
    "retry": (lambda it: drive(it.retry(it.turns[-1])), ["First?"]),
    "messages": (assigned, ["One two ", "1"]),
    "restore": (restored, ["1"]),
}
"""What is done, and what may not be gone when it is broken off: else all of it was done."""


def waiting():
    it = session([said("One "), said("two "), code("1")], computer=Machine())
    reply = it.ask("First?")
    next(chunk for chunk in reply if chunk.type == "confirmation")
    reply.close()
    return it


@pytest.mark.parametrize("done", WHOLE)
def test_messages_that_take_the_place_of_others_do_so_in_one_step(done):
    do, stays = WHOLE[done]
    it = waiting()
    visits = traced(lambda: do(it))
    after = [each.content for each in it.messages]
    it.close()
    points = {(line, n) for line, count in visits.items() for n in (1, count) if not is_entry(line)}
    for line, visit in sample(sorted(points), 24):
        it = waiting()
        with suppress(KeyboardInterrupt):
            traced(lambda it=it: do(it), line, visit)
        found = [each.content for each in it.messages]
        assert found == after or set(stays) <= set(found), (line, visit, found)
        it.close()


def test_what_was_shown_of_a_message_stays():
    def shown(it, texts):
        for chunk in it.ask("First?"):
            texts += [chunk.content] if chunk.content else []

    def of_two_pieces():
        return session([said("One "), said("two")], computer=Machine())

    visits = traced(lambda: shown(of_two_pieces(), []))
    points = {(line, n) for line, count in visits.items() for n in (1, count) if not is_entry(line)}
    points = sorted(each for each in points if each[0][0] == history.__file__)
    for line, visit in points:
        it, texts = of_two_pieces(), []
        with suppress(KeyboardInterrupt):
            traced(lambda it=it, texts=texts: shown(it, texts), line, visit)
        there = "".join(each.content for each in it.messages[1:])
        assert there.startswith("".join(texts)), (line, visit, there)
        it.close()


# All readers --------------------------------------------------------------------------------------


class Talks:
    """A model whose words and code occur once in all of its replies."""

    name = label = "a talker"
    number = 0

    def respond(self, messages):
        self.number = n = self.number + 1
        if messages[-1].role == "computer":
            yield said(f"so{n} ")
        else:
            yield said(f"one{n} ")
            yield said(f"two{n} ")
            yield code(f"run({n})")


class Readers:
    """A session and all that read its events."""

    def __init__(self):
        self.session = Session(model=Talks(), computer=Machine())
        self.list = dicts.MessageList(self.session.history)
        self.out, self.view = io.StringIO(), Records()
        TextView(self.session, self.out, None)
        self.batch = Batch(self.view.take)
        self.mirror = Mirror(self.session, self.batch, dict)
        self.batch.snapshot(self.mirror.snapshot)

    def ask(self):
        drive(self.session.ask("Go."), Decision(True))

    def check(self):
        """Each has the conversation."""
        it, messages = self.session, self.session.messages
        assert not it.busy
        assert_valid(messages)
        if it.journal.id:
            found = kept(it)
            assert (found.messages, found.events) == (messages, it.journal.actions)
        else:
            assert messages == []
        self.list.grow()
        assert self.list.list == [each.to_dict() for each in messages]
        self.batch.flush()
        shown = [each["note"] if "note" in each else each["message"]["content"]
                 for each in self.view.records]  # fmt: skip
        said_ = [for_person(each.content) for each in messages]
        assert list(filter(None, shown)) == list(filter(None, said_))
        screen = self.out.getvalue()
        answers = [each.content for each in messages if each.role == "assistant"]
        assert [each for each in answers if screen.count(each) != 1] == [], screen


def pressed(do, at):
    """Do this; at that line of the package comes a Ctrl-C. How many lines there were, and whether
    it ended what was done."""
    count, name = 0, ""

    def trace(frame, event, _):
        nonlocal count, name
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or is_finalizer(frame):
            return None
        if event == "line":
            count += 1
            if count >= at > 0 and not is_entry((name, frame.f_lineno)):
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    except KeyboardInterrupt:
        return count, True
    finally:
        sys.settrace(before)
    return count, False


def press_often(times):
    """Press Ctrl-C so often in an answer, and compare all readers after each."""
    dice, came = random.Random(SEED), 0
    first = Readers()
    lines = min(pressed(first.ask, 0)[0] for _ in range(3))  # the first one loads what it needs
    first.session.close()
    for number in range(times):
        if number % 20 == 0:
            readers = Readers()
        came += pressed(readers.ask, dice.randrange(1, lines))[1]
        readers.check()
        if number % 20 == 19:
            readers.session.close()
    return came


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_thousands_of_ctrl_c_all_readers_have_the_same_conversation():
    """One that falls into a generator which the interpreter itself closes is said, and lost."""
    times = amount(150, 5000)
    assert press_often(times) > times * 0.9


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_the_guard_they_come_apart(monkeypatch):
    for module in (history, writer, dicts, answering):
        monkeypatch.setattr(module, "delay_interrupt", nullcontext)
    with pytest.raises((AssertionError, LMCError, RuntimeWarning)):  # of the panel's batch
        press_often(300)
