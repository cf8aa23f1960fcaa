"""A file that was cut or changed anywhere is read up to there, and stays as it is."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from sampling import SEED, amount, sample
from scripted import Machine, ScriptedModel, code, said
from test_conversations import drive

from lmc_jupyter import Session
from lmc_jupyter.conversation import records
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.journal import DamagedError
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
    assert kinds == {
        "head", "message", "instead", "back", "mark", "event", "title", "turn", "block",
    }  # fmt: skip


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
            writer, folded = conversations.open(talk.stem)
            writer.close()
            assert folded.messages == after[good]
            assert talk.stat().st_size == good


def test_control_a_reader_of_json_lines_fails_where_the_file_was_cut(talk, record_property):
    data = talk.read_bytes()
    sizes, failed = range(0, len(data), 7), 0
    for size in sizes:
        try:
            list(map(json.loads, data[:size].decode("utf-8").splitlines()))
        except ValueError:
            failed += 1
    assert failed > len(sizes) / 2
    record_property("figure", f"reading the lines as JSON fails for {failed} of {len(sizes)} cuts")


def test_a_byte_that_was_changed_takes_nothing_of_what_stands_before_it(talk):
    """A text that is another one is not found out; what cannot be read ends the conversation."""
    data = talk.read_bytes()
    after = states(data)
    dice, conversations, damaged = random.Random(SEED), Conversations(), 0
    for _ in range(amount(300, 2000)):
        at, bit = dice.randrange(len(data)), 1 << dice.randrange(8)
        broken = bytearray(data)
        broken[at] ^= bit
        talk.write_bytes(broken)
        good = max((end for end in after if end <= at), default=0)
        try:
            found = conversations.read(talk.stem)
        except SessionError:
            assert good == 0
            continue
        if not found.losses:
            conversations.open(talk.stem)[0].close()
            continue
        damaged += 1
        assert found.messages == after[good]
        with pytest.raises(DamagedError):
            conversations.open(talk.stem)
        with pytest.raises(SessionError, match="damaged"):
            conversations.rename(talk.stem, "Mine")
        assert talk.read_bytes() == broken
    assert damaged > 30


@pytest.mark.parametrize("line", [b"\0" * 4096, b"\0" * 99 + b"\n", b"{}\n", b'"half\n', b"\n"])
def test_a_line_that_says_nothing_is_the_end(talk, line):
    lines = talk.read_bytes().splitlines(keepends=True)
    before = states(b"".join(lines[:4]))
    rest = lines[4:] if line.endswith(b"\n") else []
    talk.write_bytes(b"".join([*lines[:4], line, *rest]))
    found = Conversations().read(talk.stem)
    assert found.messages == before[max(before)]
    assert bool(found.losses) == line.endswith(b"\n")
    assert [each.messages for each in Conversations().list()] == [len(found.messages)]


def test_one_goes_on_with_a_copy_of_what_can_be_read_and_the_damaged_one_stays(talk):
    broken = talk.read_bytes()[:-40] + b"\xff" * 20 + b"\n"
    talk.write_bytes(broken)
    before = Conversations().read(talk.stem).messages
    it = Session(model=ScriptedModel([said("New.")]))
    assert "a copy, because the original is damaged" in it.conversation.open(talk.stem)
    assert "bytes cannot be read" in it.conversation.notice
    assert it.messages == before
    assert it.journal.id == "", "one that is only looked at has no file"
    drive(it.ask("Third?"))
    found = it.journal.conversations.read(it.journal.id)
    assert found.losses == []
    assert found.messages == it.messages
    assert [m.content for m in found.messages] == [*(m.content for m in before), "Third?", "New."]
    assert talk.read_bytes() == broken
    assert {each.id for each in Conversations().list()} == {talk.stem, it.journal.id}
    it.close()


OLD = Path(__file__).parents[1] / "files/journal_with_checksums.jsonl"


def test_a_file_of_an_older_version_goes_on_with_its_unfinished_message():
    folder = Conversations().folder
    folder.mkdir(parents=True)
    path = folder / "51a7e3f514cf.jsonl"
    for suffix in (".jsonl", ".part"):
        path.with_suffix(suffix).write_bytes(OLD.with_suffix(suffix).read_bytes())
    [entry] = Conversations().list("third")
    assert (entry.title, entry.messages) == ("With checksums", 6)
    it = Session(model=ScriptedModel([said("Go on.")]), computer=Machine())
    it.conversation.open(path.stem)
    texts = ["First?", "Öne ", "3", "done\n", "Ok.", "Third?", "Half an answer"]
    assert [each.content for each in it.messages] == texts
    assert it.messages[4].extra == {"feedback": "up"}
    assert it.messages[-1].extra == {"partial": True}
    assert [each.data["action"] for each in it.journal.actions] == ["edit"]
    drive(it.ask("And?"))
    assert path.read_bytes().startswith(OLD.read_bytes())
    found = it.journal.conversations.read(it.journal.id)
    assert (found.losses, found.messages) == ([], it.messages)
    it.close()


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
