"""A file that was cut or changed anywhere is read up to there, and nothing in it is lost for it."""

from __future__ import annotations

import random

import pytest
from sampling import SEED, amount, sample
from scripted import Machine, ScriptedModel, code, said
from test_conversations import drive

from lmc_jupyter import Session
from lmc_jupyter.conversation import records
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Decision


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture
def talk():
    """A file with every kind of record in it, and what it holds after each."""
    it = Session(
        model=ScriptedModel([said("Öne "), code("1")], [said("Ok.")], [said("More.")]),
        computer=Machine(),
    )
    drive(it.ask("First?"), Decision(True, "3"))
    it.rate(it.messages[-1].id, "up")
    it.conversation.rename("Mine")
    drive(it.ask("Second?"))
    it.undo()
    path = it.journal.conversations.path(it.journal.id)
    it.close()
    return path


def states(data: bytes) -> dict[int, list]:
    """The messages after each line, by where it ends."""
    found, folded = {}, records.Fold()
    for body, end in records.lines(data):
        assert folded.take(records.value(body))
        found[end] = folded.messages[:]
    return found


def test_every_kind_of_record_is_there(talk):
    kinds = {records.value(body)["kind"] for body, _ in records.lines(talk.read_bytes())}
    assert kinds == {"head", "message", "instead", "back", "mark", "event", "title", "turn"}


def test_a_file_that_was_cut_at_any_byte_holds_what_came_before(talk):
    data = talk.read_bytes()
    after = states(data)
    ends = sorted(after)
    assert ends[-1] == len(data)
    conversations = Conversations()
    beside = {end + step for end in (0, *ends) for step in (-1, 0, 1)} & {*range(len(data) + 1)}
    for size in sorted({*sample(range(len(data) + 1), 300), *beside}):
        talk.write_bytes(data[:size])
        good = max((end for end in ends if end <= size), default=0)
        if not good:
            with pytest.raises(SessionError, match="first line"):
                conversations.read(talk.stem)
            continue
        assert conversations.read(talk.stem).messages == after[good]
        assert len(conversations.list()) == 1
        if size % 7 == 0:
            writer, folded, said_so = conversations.open(talk.stem)
            writer.close()
            assert folded.messages == after[good]
            assert said_so == ""
            assert talk.stat().st_size == good


def test_a_byte_that_was_changed_ends_it_there_and_the_rest_is_kept_aside(talk):
    data = talk.read_bytes()
    after = states(data)
    dice, conversations = random.Random(SEED), Conversations()
    bad = talk.with_suffix(".bad")
    for _ in range(amount(300, 2000)):
        at, bit = dice.randrange(len(data)), 1 << dice.randrange(8)
        broken = bytearray(data)
        broken[at] ^= bit
        talk.write_bytes(broken)
        good = max((end for end in after if end <= at), default=0)
        try:
            writer, folded, said_so = conversations.open(talk.stem)
        except SessionError:
            assert good == 0
            continue
        writer.close()
        assert folded.messages == after[good]
        assert talk.read_bytes() == data[:good]
        assert bad.read_bytes() == broken[good:]
        assert "damaged" in said_so or b"\n" not in broken[good:]
        bad.unlink()


@pytest.mark.parametrize("change", ["zeros", "twice", "swapped", "left out"])
def test_lines_that_are_whole_but_not_in_their_place_are_not_taken(talk, change):
    lines = talk.read_bytes().splitlines(keepends=True)
    if change == "zeros":
        lines[4:] = [b"\0" * 4096]
    elif change == "twice":
        lines.insert(4, lines[3])
    elif change == "swapped":
        lines[4], lines[5] = lines[5], lines[4]
    else:
        del lines[4]
    before = states(b"".join(lines[:4]))
    talk.write_bytes(b"".join(lines))
    found = Conversations().read(talk.stem)
    assert found.messages == before[max(before)]
    assert found.losses or change == "zeros"


def test_a_damaged_one_goes_on(talk):
    data = talk.read_bytes()
    talk.write_bytes(data[:-40] + b"\xff" * 20 + b"\n")
    it = Session(model=ScriptedModel([said("New.")]))
    assert "damaged" in it.conversation.open(talk.stem)
    assert "damaged" in it.conversation.notice
    drive(it.ask("Third?"))
    found = it.journal.conversations.read(talk.stem)
    assert found.messages == it.messages
    assert found.losses == []
    assert [m.content for m in found.messages][-2:] == ["Third?", "New."]


def test_a_part_without_its_journal_or_of_another_moment_is_not_taken(talk):
    conversations, part = Conversations(), talk.with_suffix(".part")
    before = conversations.read(talk.stem).messages
    folded, _ = records.fold(talk.read_bytes())
    message = before[0]
    for n, taken in ((folded.n, True), (folded.last_change + 1, True), (folded.last_change, False)):
        lines = [records.part_head(n, message), "so ", "far"]
        part.write_bytes(b"".join(map(records.line, lines)))
        found = conversations.read(talk.stem).messages
        assert len(found) == len(before) + taken
        if taken:
            assert (found[-1].content, found[-1].extra["partial"]) == ("so far", True)
    for wrong in (b"", b"x", records.line([1]), records.line({"n": "1"}), records.line("x")):
        part.write_bytes(wrong)
        assert conversations.read(talk.stem).messages == before
    for head in ({"role": "robot"}, {"role": "user", "type": "message", "id": []}, 5):
        part.write_bytes(records.line({"n": 99, "head": head}) + records.line("x"))
        assert conversations.read(talk.stem).messages == before
