"""Hundreds of turns and sessions leave nothing behind: no descriptor, thread, object, file."""

from __future__ import annotations

import gc
import os
import threading

import psutil
import pytest
from sampling import amount
from scripted import Machine, code, said
from test_conversations import drive

from lmc_jupyter import Session
from lmc_jupyter.conversation import disk
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Message

pytestmark = pytest.mark.long

DESCRIPTORS = "/proc/self/fd"


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setattr(disk.calls, "sync", lambda descriptor: None, raising=False)


class Model:
    """Writes code, and a word when it has run."""

    name = label = "m"

    def respond(self, messages):
        yield said("Well. ")
        if messages[-1].role == "user":
            yield code("1")


def there(before):
    """Descriptors of this process, its threads that were not there before, and messages."""
    gc.collect()
    return (
        len(os.listdir(DESCRIPTORS)) if os.path.isdir(DESCRIPTORS) else 0,  # noqa: PTH112, PTH208
        sorted(each.name for each in threading.enumerate() if each not in before),
        sum(isinstance(each, Message) for each in gc.get_objects()),
    )


def test_many_turns_in_one_session_hold_no_more_than_one(tmp_path):
    before = threading.enumerate()  # of earlier tests: they may end meanwhile
    it, found = Session(model=Model(), computer=Machine()), []
    for _ in range(6):
        it.reset()
        for _ in range(50):
            drive(it.ask("What?"), Decision(True))
        assert len(it.messages) == 250
        found.append(there(before))
    assert found[1] == found[-1]
    it.close()
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".jsonl"}


class Shell(Model):
    """Writes code for a real shell."""

    def respond(self, messages):
        yield said("Well. ")
        if messages[-1].role == "user":
            yield code(f"number={len(messages)}; echo $number", "shell")


@pytest.mark.skipif(os.name == "nt", reason="bash")
def test_thousands_of_turns_with_a_real_shell_hold_no_more_than_hundreds(record_property):
    before, rounds, count = threading.enumerate(), 5, amount(100, 3_000)
    it, found = Session(model=Shell()), []
    for _ in range(rounds):
        it.reset()
        for _ in range(count // rounds):
            drive(it.ask("What?"), Decision(True))
        results = [each.content for each in it.messages if each.role == "computer"]
        assert results == [f"{5 * number + 1}\n" for number in range(count // rounds)]
        children = len(psutil.Process().children(recursive=True))
        found.append((*there(before), children))
    assert found[1] == found[-1]
    it.close()
    record_property(
        "figure",
        f"{count:,} turns with a real bash: {found[-1][0] - found[1][0]} descriptors, "
        f"{len(found[-1][1]) - len(found[1][1])} threads, {found[-1][3] - found[1][3]} processes "
        "more at the end",
    )


@pytest.mark.parametrize("ends", ["closed", "dropped", "dropped in the middle"])
def test_many_sessions_leave_only_their_files(ends, tmp_path):
    found, before = [], threading.enumerate()
    for _ in range(3):
        for _ in range(20):
            it = Session(model=Model(), computer=Machine())
            drive(it.ask("What?"), Decision(True))
            if ends == "closed":
                it.close()
            elif ends == "dropped in the middle":
                reply = it.ask("And?")
                next(reply)
                del reply
            del it
        found.append(there(before))
    assert found[1] == found[-1]
    left = [path.suffix for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [".jsonl"] * 60


class Leaking(Machine):
    """Keeps a descriptor of each run."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def run(self, language, code):
        self.kept.append(open(os.devnull))  # noqa: PTH123, SIM115 - that is the leak
        return super().run(language, code)


def test_control_a_descriptor_that_a_turn_keeps_is_seen(record_property):
    before, machine = threading.enumerate(), Leaking()
    it, found = Session(model=Model(), computer=machine), []
    for _ in range(2):
        it.reset()
        for _ in range(10):
            drive(it.ask("What?"), Decision(True))
        found.append(there(before))
    it.close()
    for each in machine.kept:
        each.close()
    assert found[1][0] - found[0][0] == 10
    record_property("figure", "10 turns that keep one: 10 descriptors more")
