"""A conversation of 100,000 messages opens, is appended to and is undone as a small one is.

The figures are of CPU time, beside what it takes to read the same lines as JSON.
"""

from __future__ import annotations

import json
import time
import tracemalloc

import pytest
from sampling import amount
from scripted import Machine, ScriptedModel, said
from test_conversations import drive

from lmc_jupyter import Session
from lmc_jupyter.conversation import disk
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.lmc import Message

pytestmark = pytest.mark.long
COUNT = amount(5_000, 100_000)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setattr(disk.calls, "sync", lambda descriptor: None, raising=False)


def cpu(act) -> float:
    begun = time.process_time()
    act()
    return time.process_time() - begun


def test_a_hundred_thousand_messages(record_property):
    it = Session(model=ScriptedModel(*[[said("Yes.")] for _ in range(20)]), computer=Machine())
    words = "It is a line of some words, as people and models write them. " * 6
    it.messages = [
        Message("user" if n % 2 == 0 else "assistant", "message", None, f"{n}: {words}")
        for n in range(COUNT)
    ]
    id_, path = it.journal.id, Conversations().path(it.journal.id)
    it.close()
    size = path.stat().st_size
    plain = cpu(lambda: [json.loads(line) for line in path.read_bytes().splitlines()])
    again = Session(model=ScriptedModel(*[[said("Yes.")] for _ in range(20)]), computer=Machine())
    opening = cpu(lambda: again.conversation.open(id_))
    assert len(again.messages) == COUNT
    turns = sorted(cpu(lambda: drive(again.ask("And?"))) for _ in range(20))
    again.close()
    tracemalloc.start()
    third = Session(model=ScriptedModel(), computer=Machine())
    third.conversation.open(id_)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(third.messages) == COUNT + 40
    third.close()
    assert opening < 20 * plain
    assert memory < 6 * size
    record_property(
        "figure",
        f"{COUNT:,} messages, {size / 1e6:.0f} MB: opened in {opening:.1f} s, which is "
        f"{opening / plain:.1f} of reading the JSON; memory {memory / size:.1f} of the file, "
        f"a turn on it {turns[18] * 1e3:.0f} ms (19th of 20)",
    )
    if opening > max(1.5, 4 * plain) or memory > 3 * size:
        record_property("falls short", "the bar is 1.5 s, and three times the file in memory")


def test_control_a_list_that_is_made_anew_for_each_message_is_over_the_bar(record_property):
    """As a history would be opened whose messages nobody may change."""
    message = Message("user", "message", None, "It is a line.")
    line = json.dumps(message.to_dict())
    plain = cpu(lambda: [json.loads(line) for _ in range(100_000)])

    def open_it() -> None:
        messages: list[Message] = []
        for _ in range(100_000):
            messages = [*messages, message]

    opening = cpu(open_it)
    assert opening > max(1.5, 4 * plain)
    record_property(
        "figure", f"100,000 lists take {opening:.0f} s, which is {opening / plain:.0f} of "
        "reading the JSON"
    )  # fmt: skip
