"""The writer of one file: what lies on the disk after each call, and after each that is refused."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

from lmc_jupyter.conversation import disk, journal, records
from lmc_jupyter.conversation.journal import AlteredError, DamagedError, Journal, LockedError
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import PARTIAL, Message

HEAD = {"kind": "head", "version": records.VERSION, "id": "abc"}
TITLE = {"kind": "title", "title": "T"}
QUESTION = Message("user", "message", None, "First?", id="a")
EMPTY = Message("computer", "console", "output", "", id="c", extra={PARTIAL: True})
OUTPUT = Message("computer", "console", "output", "1", id="d")
POSIX = pytest.mark.skipif(os.name != "posix", reason="there are no such files here")


def message_line(message: Message) -> dict:
    return {"kind": "message", "message": message.to_dict()}


def text(*lines: dict) -> bytes:
    return b"".join(map(records.line, lines))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "home" / "conversations"


@pytest.fixture
def file(folder):
    """A journal of a head and a question."""
    it = Journal.new(folder, [HEAD, message_line(QUESTION)])
    yield it
    it.close()


class Disk:
    """Calls that are counted, and refused by name from now on."""

    def __init__(self, monkeypatch) -> None:
        self.names: list[str] = []
        self.refused: set[str] = set()
        for name in ("open", "write", "truncate", "close", "status", "unlink", "replace", "sync"):
            monkeypatch.setattr(disk.calls, name, self._of(name), raising=False)

    def _of(self, name: str):
        real = getattr(disk.calls, name)

        def call(*arguments):
            self.names.append(name)
            if name in self.refused:
                if name == "write":
                    os.write(arguments[0], arguments[1][:3])
                raise OSError(5, f"no {name}")
            return real(*arguments)

        return call


@pytest.fixture
def calls(monkeypatch):
    return Disk(monkeypatch)


def names(folder) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# A new file ---------------------------------------------------------------------------------------


def test_a_new_file_has_its_records_and_is_its_owners_alone(folder, file):
    assert file.path == folder / "abc.jsonl"
    assert file.path.read_bytes() == text(HEAD, message_line(QUESTION))
    assert names(folder) == ["abc.jsonl", "abc.lock"]
    if os.name == "posix":
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    file.append([TITLE, HEAD])
    file.append([])
    assert file.path.read_bytes() == text(HEAD, message_line(QUESTION), TITLE, HEAD)


@pytest.mark.parametrize("call", ["open", "write", "replace"])
def test_a_file_that_cannot_be_made_leaves_nothing_and_can_be_tried_again(folder, calls, call):
    calls.refused.add(call)
    with pytest.raises(OSError, match=f"no {call}"):
        Journal.new(folder, [HEAD])
    assert names(folder) == []
    calls.refused.clear()
    Journal.new(folder, [HEAD]).close()
    assert names(folder) == ["abc.jsonl"]


def test_a_file_that_can_be_made_and_not_opened_is_removed(folder, calls, monkeypatch):
    whole = journal.write_whole

    def write(path, data):
        whole(path, data)
        calls.refused.add("open")

    monkeypatch.setattr(journal, "write_whole", write)
    with pytest.raises(OSError, match="no open"):
        Journal.new(folder, [HEAD])
    assert names(folder) == []


# One that is there --------------------------------------------------------------------------------


def test_one_process_writes_and_the_others_are_told_to_copy(folder, file):
    with pytest.raises(LockedError, match="copy"):
        Journal.of(file.path)
    assert journal.is_locked(file.path)
    file.close()
    assert not journal.is_locked(file.path)
    again, fold = Journal.of(file.path)
    assert fold.messages == [QUESTION]
    again.append([TITLE])
    again.close()
    assert file.path.read_bytes() == text(HEAD, message_line(QUESTION), TITLE)
    assert names(folder) == ["abc.jsonl"]


def test_a_lock_that_cannot_be_tried_counts_as_taken(folder, file, monkeypatch):
    file.close()
    (folder / "abc.lock").touch()
    assert not journal.is_locked(file.path)
    assert names(folder) == ["abc.jsonl"], "a lock that nobody has goes"
    (folder / "abc.lock").touch()

    def refuse(path):
        raise OSError("no locks here")

    monkeypatch.setattr(disk.calls, "lock", refuse, raising=False)
    assert journal.is_locked(file.path)
    (folder / "abc.lock").unlink()
    assert not journal.is_locked(file.path)


def test_half_a_line_goes_and_a_bad_line_is_damage(file):
    file.close()
    good = file.path.read_bytes()
    file.path.write_bytes(good + b'{"kind":"ti')
    again, fold = Journal.of(file.path)
    assert file.path.read_bytes() == good
    assert journal.describe_damage(fold, b"half") == ""
    again.append([TITLE])
    again.close()
    broken = good + b"{}\n" + records.line(TITLE)
    file.path.write_bytes(broken)
    with pytest.raises(DamagedError, match="copy"):
        Journal.of(file.path)
    assert file.path.read_bytes() == broken
    assert not journal.is_locked(file.path), "nothing is held of what was not opened"
    fold, size, tail = journal.read(file.path)
    assert (size, tail) == (len(good), b"{}\n" + records.line(TITLE))
    sentence = journal.describe_damage(fold, tail)
    assert "1 messages" in sentence
    assert f"{len(tail)} bytes" in sentence


def test_a_file_that_is_not_there_is_not_made(folder, file):
    with pytest.raises(FileNotFoundError):
        Journal.of(folder / "abd.jsonl")
    assert names(folder) == ["abc.jsonl", "abc.lock"]


def test_a_file_without_a_head_is_no_conversation(file):
    file.close()
    file.path.write_bytes(records.line(TITLE))
    with pytest.raises(SessionError, match="first line is damaged") as refusal:
        Journal.of(file.path)
    assert str(file.path) in str(refusal.value)
    assert not journal.is_locked(file.path)


@POSIX
def test_what_is_no_file_or_too_long_is_named(folder, file, monkeypatch):
    with pytest.raises(SessionError, match=f"{folder} is no file"):
        journal.read_bytes(folder)
    os.mkfifo(folder / "pipe.jsonl")
    with pytest.raises(SessionError, match=r"pipe\.jsonl is no file"):
        journal.read_bytes(folder / "pipe.jsonl")
    size = file.path.stat().st_size
    monkeypatch.setattr(journal, "MAX_BYTES", size)
    assert len(journal.read_bytes(file.path)) == size
    monkeypatch.setattr(journal, "MAX_BYTES", size - 1)
    with pytest.raises(SessionError, match=f"{size} bytes"):
        journal.read_bytes(file.path)


def test_a_file_is_read_whole_however_little_a_call_gives(file, monkeypatch):
    real = disk.calls.read
    monkeypatch.setattr(disk.calls, "read", lambda fd, size: real(fd, 7), raising=False)
    assert journal.read_bytes(file.path) == text(HEAD, message_line(QUESTION))


# Records ------------------------------------------------------------------------------------------


def test_records_that_are_refused_leave_the_file_as_it_was(file, calls):
    before = file.path.read_bytes()
    calls.refused.add("write")
    with pytest.raises(OSError, match="no write"):
        file.append([TITLE])
    assert file.path.read_bytes() == before
    calls.refused.clear()
    file.append([TITLE])
    assert file.path.read_bytes() == before + records.line(TITLE)
    assert records.part_head(3, QUESTION)["n"] == 3
    file.begin_message(QUESTION)
    assert file.path.with_suffix(".part").read_bytes() == text(records.part_head(3, QUESTION))


def test_what_could_not_be_taken_away_goes_with_the_next_call(file, calls):
    before = file.path.read_bytes()
    for next_call in (lambda: file.append([TITLE]), file.sync):
        calls.refused |= {"write", "truncate"}
        with pytest.raises(OSError, match="no write"):
            file.append([TITLE])
        assert file.path.read_bytes() == before + records.line(TITLE)[:3]
        with pytest.raises(OSError, match="no truncate"):
            next_call()
        calls.refused.clear()
        next_call()
        assert file.path.read_bytes() in (before, before + records.line(TITLE))
        before, count = file.path.read_bytes(), calls.names.count("truncate")
        file.sync()
        assert calls.names.count("truncate") == count, "nothing is left to take away"


def test_a_file_is_synced_when_it_has_grown(file, calls):
    file.sync()
    file.sync()
    assert calls.names.count("sync") == 1
    file.append([TITLE])
    assert calls.names.count("sync") == 1
    calls.refused.add("sync")
    with pytest.raises(OSError, match="no sync"):
        file.sync()
    calls.refused.clear()
    file.sync()
    file.sync()
    assert calls.names.count("sync") == 3
    assert calls.names.count("truncate") == 0, "there was nothing to take away"


@POSIX
@pytest.mark.parametrize("change", ["removed", "longer", "shorter"])
def test_a_file_that_another_program_has_changed_is_not_synced(file, change):
    if change == "removed":
        file.path.unlink()
    elif change == "longer":
        file.path.write_bytes(file.path.read_bytes() + b"x")
    else:
        os.truncate(file.path, 5)
    with pytest.raises(AlteredError, match=r"abc\.jsonl was changed or removed"):
        file.sync()


def test_a_closed_file_is_not_written(file):
    file.close()
    file.close()
    for call in (lambda: file.append([TITLE]), file.sync, lambda: file.begin_message(QUESTION)):
        with pytest.raises(OSError, match=r"abc\.jsonl is closed"):
            call()


def test_a_fork_writes_nothing_and_lets_go_of_nothing(folder, file):
    before, descriptor = file.path.read_bytes(), file._descriptor
    file._owner += 1  # as another process finds it
    for call in (lambda: file.append([TITLE]), file.sync, lambda: file.begin_message(QUESTION)):
        with pytest.raises(OSError, match="fork"):
            call()
    journal._let_go({descriptor}, file._lock, file.path, file._owner)
    assert os.fstat(descriptor).st_size == len(before)
    assert names(folder) == ["abc.jsonl", "abc.lock"]
    assert file.path.read_bytes() == before


# The unfinished message ---------------------------------------------------------------------------


def test_a_message_that_is_written_lies_beside_the_file_until_it_is_whole(folder, file):
    beside = folder / "abc.part"
    file.end_message()
    assert not beside.exists()
    file.begin_message(QUESTION)
    file.write_piece("so ")
    file.write_piece("")
    file.write_piece("far")
    head = records.line(records.part_head(2, QUESTION))
    assert beside.read_bytes() == head + b'"so "\n"far"\n'
    file.begin_message(QUESTION)
    assert beside.read_bytes() == head
    file.end_message()
    assert beside.read_bytes() == b""
    if os.name == "posix":
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    file.close()
    assert names(folder) == ["abc.jsonl"], "an empty part goes with its writer"


@pytest.mark.parametrize(
    ("before", "message", "line"),
    [
        ([], QUESTION, {"kind": "message"}),
        ([EMPTY], OUTPUT, {"kind": "instead", "at": 1}),
    ],
    ids=["behind the others", "in the place of empty output"],
)
def test_the_next_writer_takes_what_was_unfinished(folder, file, before, message, line):
    for each in before:
        file.append([message_line(each)])
    good = file.path.read_bytes()
    file.begin_message(message)
    file.write_piece("half")
    file.close()
    assert names(folder) == ["abc.jsonl", "abc.part"], "what is nowhere else stays"
    again, fold = Journal.of(file.path)
    half = Message(message.role, message.type, message.format, "half", id=message.id,
                   extra={PARTIAL: True})  # fmt: skip
    assert fold.messages == [QUESTION, half]
    assert file.path.read_bytes() == good + records.line({**line, "message": half.to_dict()})
    assert names(folder) == ["abc.jsonl", "abc.lock"]
    again.begin_message(QUESTION)
    head = records.part_head(3 + len(before), QUESTION)
    assert (folder / "abc.part").read_bytes() == records.line(head)
    again.close()


# The end ------------------------------------------------------------------------------------------


def test_to_remove_one_takes_all_that_lies_beside_it(folder, file):
    (folder / "abc.bad").write_bytes(b"x")
    (folder / "abd.part").write_bytes(b"x")
    file.begin_message(QUESTION)
    file.remove()
    assert names(folder) == ["abd.part"]
    with pytest.raises(OSError, match="is closed"):
        file.append([TITLE])
    file.remove()  # what is gone is gone


def test_a_disk_that_refuses_to_close_or_remove_does_not_keep_the_lock(folder, file, calls):
    file.begin_message(QUESTION)
    file.end_message()
    calls.refused |= {"close", "unlink"}
    file.close()
    calls.refused.clear()
    assert calls.names.count("close") == 2, "each is closed, though the first refuses"
    again, _ = Journal.of(file.path)
    again.close()


def test_a_writer_that_nobody_has_any_more_lets_go(folder):
    source = (
        "import gc, sys\nfrom pathlib import Path\n"
        "from lmc_jupyter.conversation.journal import Journal\n"
        f"Journal.new(Path({str(folder)!r}), [{HEAD!r}])\n"
        "gc.collect()\n"
        f"print(sorted(each.name for each in Path({str(folder)!r}).iterdir()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['abc.jsonl']"
