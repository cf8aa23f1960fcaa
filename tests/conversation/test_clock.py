"""The clock of the system jumps: the order of a conversation stays, and nothing takes less than no
time."""

from __future__ import annotations

import itertools
import json
import time
from types import SimpleNamespace

import pytest
from scripted import Machine, ScriptedModel, code, said
from test_conversations import drive

from lmc_jupyter import Session
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.gate import Decision
from lmc_jupyter.turn import turns

DAY = 86_400.0
JUMPS = {
    "a day ahead": [DAY],
    "a day back": [-DAY],
    "back and ahead": [-DAY, DAY],
    "a second back each time": [-1.0],
    "the same instant": [0.0],
}


@pytest.mark.parametrize("jumps", JUMPS)
def test_whatever_the_clock_does_order_and_durations_hold(
    jumps, tmp_path, monkeypatch, record_property
):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    now, steps = [1_800_000_000.0], itertools.cycle(JUMPS[jumps])

    def clock() -> float:
        now[0] += next(steps)
        return now[0]

    monkeypatch.setattr(time, "time", clock)
    replies = [[said("Well."), code("1")], [said("One.")]]
    it = Session(model=ScriptedModel(*(replies * 3)), computer=Machine())
    for n in range(3):
        drive(it.ask(f"{n}?"), Decision(True))
    messages = [m.content for m in it.messages]
    id_ = it.journal.id
    it.close()
    found = Conversations().read(id_)
    assert [m.content for m in found.messages] == messages
    assert found.losses == []
    lines = map(json.loads, Conversations().path(id_).read_bytes().splitlines())
    turns = [each for each in lines if each["kind"] == "turn"]
    assert len(turns) == 3
    assert all(each["seconds"] >= 0 for each in turns)
    assert [each["id"] for each in map(vars, Conversations().list())] == [id_]
    record_property("figure", f"{len(messages)} messages in order, no duration below 0")


def test_control_durations_by_that_clock_are_below_nothing(tmp_path, monkeypatch, record_property):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    now = itertools.count(1_800_000_000.0, -DAY)
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: next(now)))
    it = Session(model=ScriptedModel([said("Well.")]), computer=Machine())
    drive(it.ask("?"))
    seconds = it.turns[-1].seconds
    it.close()
    assert seconds < 0
    record_property("figure", f"measured by that clock, an answer takes {seconds:,.0f} s")
