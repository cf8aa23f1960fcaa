"""A disk that refuses: whatever call fails, the turn ends, the file is good, the person is told."""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from sampling import sample
from scripted import Machine, ScriptedModel, assert_valid, code, said
from test_conversations import drive, kept
from watcher import Watcher

import lmc_jupyter
from lmc_jupyter import Session
from lmc_jupyter.conversation import disk
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.events import Acted, Renamed
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.journal import read_bytes
from lmc_jupyter.conversation.writer import JournalWriter
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Chunk, Message

ERRORS = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EMFILE", "EINTR", "EACCES", "short", "nothing")
CALLS = ("open", "write", "read", "truncate", "close", "status", "unlink", "replace", "sync")
OTHER_CALLS = ("make_folder", "lock")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    return tmp_path / "data"


class Failing(disk.Calls):
    """The N-th call fails, once or from then on."""

    def __init__(self, fault: str = "", at: int = 0, *, ever: bool = False) -> None:
        self.fault, self.at, self.ever, self.count, self.failed = fault, at, ever, 0, []

    def _fails(self, name: str) -> bool:
        self.count += 1
        fails = self.count == self.at or (self.ever and 0 < self.at <= self.count)
        if fails:
            self.failed.append(name)
        return fails


def _of(name):
    real = getattr(disk.Calls, name)

    def call(self, *arguments):
        if not self._fails(name):
            return None if name == "sync" else real(*arguments)  # it only takes time here
        if self.fault == "short":
            if name == "write":
                return os.write(arguments[0], arguments[1][: (len(arguments[1]) + 1) // 2])
            return real(*arguments)
        if self.fault == "nothing":
            return 0 if name == "write" else real(*arguments)
        if name == "close":
            real(*arguments)  # as Linux does it: the descriptor is gone all the same
        if name == "write" and self.count % 2:
            os.write(arguments[0], arguments[1][: len(arguments[1]) // 3])
        number = getattr(errno, self.fault)
        raise OSError(number, os.strerror(number))

    return call


for _name in (*CALLS, *OTHER_CALLS):
    setattr(Failing, _name, _of(_name))


@pytest.fixture
def failing():
    """Put failing calls in the place of the real ones."""

    def put(fault="", at=0, ever=False):
        calls = Failing(fault, at, ever=ever)
        for name in (*CALLS, *OTHER_CALLS):
            setattr(disk.calls, name, getattr(calls, name))
        return calls

    yield put
    whole_again()


def whole_again():
    for name in (*CALLS, *OTHER_CALLS):
        vars(disk.calls).pop(name, None)


class Hears(Watcher):
    def __init__(self):
        self.problems = []

    def saved(self, problem):
        self.problems.append(problem)


def talked():
    """A conversation with everything in it, as far as the disk lets it; the session."""
    model = ScriptedModel(
        [said("One "), said("two "), code("1")], [said("Ok.")], [said("Again."), code("2")]
    )
    it = Session(model=model, computer=Machine())
    it.history.subscribe(hears := Hears())
    it.hears = hears
    drive(it.ask("First?"), Decision(True, "3"))
    it.rate(it.messages[-1].id, "up")
    it.conversation.rename("Mine")
    drive(it.ask("Second?"), Decision(False))
    it.undo()
    return it


def all_is_well(it):
    """Once the disk takes what it is given, everything is there."""
    drive(it.ask("Last?"))
    assert it.journal.problem == ""
    assert_valid(it.messages)
    found = kept(it)
    assert found.losses == []
    assert found.messages == it.messages
    assert found.title == "Mine"
    assert found.events == it.journal.actions
    assert found.messages[-3].extra.get("feedback") == "up" or len(found.messages) != 7
    names = [
        path.name for path in it.journal.conversations.folder.iterdir() if path.suffix == ".jsonl"
    ]
    assert names == [f"{it.journal.id}.jsonl"]


def number_of_calls(failing) -> int:
    gc.collect()  # sessions of other tests would close their files in the middle, and be counted
    calls = failing()
    it = talked()
    count = calls.count
    whole_again()
    it.close()
    return count


@pytest.mark.parametrize("ever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", ERRORS)
def test_whichever_call_fails_the_turns_end_and_no_file_is_damaged(
    tmp_path, monkeypatch, failing, fault, ever
):
    last = number_of_calls(failing)
    assert last > 60
    told = 0
    tried = sample(range(1, last + 1), 4)
    for at in tried:
        for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
            monkeypatch.setenv(name, str(tmp_path / f"at{at}"))
        calls = failing(fault, at, ever)
        it = talked()
        whole_again()
        assert [m.content for m in it.messages] == ["First?", "One two ", "3", "done\n", "Ok."]
        for path in Conversations().folder.glob("*.jsonl"):
            assert_good(path)
        told += bool(it.hears.problems)
        if it.journal.problem:
            assert it.hears.problems[-1] == it.journal.problem
            assert "not being saved" in it.journal.problem
        elif it.hears.problems:
            assert it.hears.problems[-1] == ""
        assert calls.failed
        all_is_well(it)
        it.close()
    assert told > max(1, len(tried) // 8) or fault in ("short", "nothing")


def saved_plainly(path: Path, messages: list[Message]) -> None:
    """As programs save: all of it anew, by the same calls of the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    descriptor = disk.calls.open(str(path), flags, 0o600)
    try:
        for message in messages:
            disk.calls.write(descriptor, json.dumps(message.to_dict()).encode() + b"\n")
        disk.calls.sync(descriptor)
    finally:
        disk.calls.close(descriptor)


def test_control_a_plain_save_loses_what_was_there(tmp_path, failing, record_property):
    old = [Message("user", "message", content=f"{n}") for n in range(8)]
    damaged = 0
    for at in range(1, 14):
        path = tmp_path / f"{at}.jsonl"
        saved_plainly(path, old)
        failing("ENOSPC", at)
        with suppress(OSError):
            saved_plainly(path, [*old, *old[:2]])
        whole_again()
        lines = path.read_bytes().splitlines()
        try:
            found = [json.loads(line)["content"] for line in lines]
        except ValueError:
            found = []
        damaged += found[:8] != [message.content for message in old]
    assert damaged > 6
    record_property("figure", f"a plain save loses what was there at {damaged} of 13 calls")


def assert_good(path: Path) -> None:
    """What is in the file can be read, but for half a line that is cut off next."""
    data = read_bytes(path)
    if b"\n" in data:
        assert Conversations().read(path.stem).losses == []


def test_a_short_write_is_gone_on_with(failing):
    failing("short", 1, True)
    it = talked()
    whole_again()
    assert kept(it).messages == it.messages


def test_the_sentence_says_where_and_why_and_goes_when_all_is_well(failing):
    it = talked()
    failing("ENOSPC", 1, True)
    drive(it.ask("Third?"))
    assert "No space left on device" in it.journal.problem
    assert str(it.journal.conversations.folder) in it.journal.problem
    assert it.journal.problem.count("\n") == 0
    whole_again()
    all_is_well(it)
    assert it.hears.problems[-1] == ""
    assert len(it.hears.problems) == 2  # it is told once


def test_a_disk_that_refuses_to_open_one_leaves_the_session_as_it_is(failing):
    other = talked()
    id_ = other.journal.id
    other.close()
    it = talked()
    before = it.messages[:]
    last = 40
    for at in range(1, last):
        failing("EIO", at, True)
        try:
            it.conversation.open(id_)
        except SessionError:
            assert it.messages == before
        else:
            it.reset()
            whole_again()
            it.conversation.take(it.conversation.value())
            it.messages = before
        whole_again()
    it.conversation.open(id_)
    assert it.messages[0].content == "First?"


# And for real -------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["open", "write", "close", "replace"])
def test_a_ctrl_c_while_the_file_is_made_comes_when_it_is_there(call, monkeypatch):
    def once(*arguments):
        monkeypatch.delattr(disk.calls, call)
        result = getattr(disk.Calls, call)(*arguments)
        signal.raise_signal(signal.SIGINT)
        return result

    gc.collect()  # a journal of another test may still have its file to close
    it = Session(ScriptedModel([said("Hello.")]), Machine())
    monkeypatch.setattr(disk.calls, call, once, raising=False)
    with pytest.raises(KeyboardInterrupt):
        it.ask("Hello?")
    assert [each.content for each in kept(it).messages] == ["Hello?"]
    assert not it.busy
    it.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_disk_that_is_full(data):
    folder = Conversations().folder
    folder.mkdir(parents=True)
    it = talked()
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, it.journal._journal._descriptor)
    os.close(full)
    drive(it.ask("Third?"))
    assert "No space left" in it.journal.problem or "Invalid argument" in it.journal.problem
    assert it.messages[-1].content == "No more to say."


def test_a_home_that_is_a_file(data):
    data.write_text("no folder")
    it = talked()
    assert "not being saved" in it.journal.problem
    assert it.journal.conversations.list() == []
    data.unlink()
    all_is_well(it)


@pytest.mark.skipif(os.name != "posix", reason="such homes are of POSIX")
def test_a_home_that_is_read_only(data):
    root = os.geteuid() == 0
    if root:  # who may write everywhere, but not into this
        data.symlink_to("/proc")
    else:
        data.mkdir(mode=0o500)
    it = talked()
    assert "is not being saved" in it.journal.problem
    if root:
        data.unlink()
    else:
        data.chmod(0o700)
    all_is_well(it)


def test_a_file_that_is_taken_away_is_written_anew(data):
    it = talked()
    path = it.journal.conversations.path(it.journal.id)
    path.unlink()
    drive(it.ask("Third?"))
    assert it.journal.problem == ""
    assert kept(it).messages == it.messages


def test_a_file_that_somebody_writes_into_is_left_and_a_new_one_begun(data):
    it = talked()
    path = it.journal.conversations.path(it.journal.id)
    with path.open("ab") as file:
        file.write(b"mine\n")
    drive(it.ask("Third?"))
    assert it.journal.problem == ""
    assert kept(it).messages == it.messages
    assert kept(it).losses == []


LIMITED = """
import resource, signal, sys
sys.path.insert(0, {tests!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
from scripted import ScriptedModel, said
from lmc_jupyter import Session
session = Session(model=ScriptedModel(*[[said("word " * 40)] for n in range(60)]))
problems = 0
for n in range(40):
    for _ in session.ask(f"question {{n}}"):
        pass
    problems += bool(session.journal.problem)
found = session.journal.conversations.read(session.journal.id)
assert problems, "the limit was never met"
assert found.losses == [], found.losses
*whole, last = found.messages  # the last one may be as far as it came
there = session.messages[len(whole)]
assert whole == session.messages[:len(whole)]
assert last == there or (last.extra["partial"] and there.content.startswith(last.content))
assert len(session.messages) == 80
sys.stdout.write(str(len(found.messages)))
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="there is no such limit here")
@pytest.mark.parametrize("size", [3000, 5001, 7777])
def test_a_limit_on_the_size_of_files(data, size):
    root = Path(lmc_jupyter.__file__).parents[1]
    script = LIMITED.format(tests=str(Path(__file__).parents[1]), size=size)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_what_a_full_disk_did_not_take_stays_in_the_part_beside_it(monkeypatch):
    it, full = Session(model=ScriptedModel([said("One "), said("two")])), []
    real = disk.calls.write

    def write(descriptor, data):
        if full and b'"kind":' in data:
            raise OSError(errno.ENOSPC, "full")
        return real(descriptor, data)

    monkeypatch.setattr(disk.calls, "write", write, raising=False)
    for chunk in it.ask("What?"):
        full += [True] if chunk.content == "two" else []
    assert it.journal.problem
    assert kept(it).messages[-1].content == "One two"


def test_another_conversation_begins_and_the_last_try_saves_the_one_before(monkeypatch):
    it = Session(model=ScriptedModel([said("One.")], [said("Two.")]))
    drive(it.ask("First?"))
    id_ = it.journal.id

    def full(descriptor, data):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(disk.calls, "write", full, raising=False)
        drive(it.ask("Second?"))
        assert it.journal.problem
    it.reset()
    assert [m.content for m in kept(it, id_).messages] == ["First?", "One.", "Second?", "Two."]


def test_a_conversation_that_the_disk_does_not_delete_is_not_said_to_be_deleted(data, monkeypatch):
    it = talked()

    def refuse(path):
        raise PermissionError(13, "no")

    id_ = it.journal.id
    with monkeypatch.context() as patch:
        patch.setattr(disk.calls, "unlink", refuse, raising=False)
        with pytest.raises(SessionError, match=r"could not be deleted: .* is still there"):
            it.conversation.delete(id_)
    assert id_ in [each.id for each in it.journal.conversations.list()]
    it.close()


class Unspeakable:
    def __str__(self):
        raise RuntimeError("no words")


def test_what_json_cannot_hold_is_a_sentence_in_the_file_and_the_rest_is_saved():
    deep = last = {}
    for _ in range(100_000):
        last["in"] = last = {}
    round_ = {}
    round_["round"] = round_
    it = talked()
    for value in (deep, round_, Unspeakable(), {(1, 2): "pair"}, 1 << 20_000, {None: 1, 2: 3.5}):
        it.history.tell(Acted({"action": "try", "value": value}))
        assert not it.journal.problem
    drive(it.ask("And now?"))
    assert not it.journal.problem
    assert kept(it).messages == it.messages
    values = [json.dumps(e.data["value"]) for e in kept(it).events if e.data["action"] == "try"]
    assert ["not saved" in value for value in values] == [True] * 3 + [False, True, False]
    assert values[3:] == ['{"(1, 2)": "pair"}', values[4], '{"null": 1, "2": 3.5}']


@pytest.mark.parametrize("short", [False, True])
def test_a_piece_that_could_not_be_written_leaves_no_gap_in_the_part(data, short, monkeypatch):
    """The disk has room again within the message, which a rename finds out."""
    history, failed = History(), []
    there = Conversations(data / "there")
    writer = JournalWriter(history, there, lambda: ())
    history.append(Message("user", "message", None, "What?"))
    real = disk.calls.write

    def write(descriptor, data):
        if b'"two "' not in data or failed:
            return real(descriptor, data)
        failed.append(real(descriptor, data[:4]) if short else 0)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk.calls, "write", write, raising=False)
    history.grow(Chunk("assistant", "message", start=True))
    history.grow(Chunk("assistant", "message", content="One "))
    history.grow(Chunk("assistant", "message", content="two "))
    assert "No space" in writer.problem
    history.tell(Renamed("Mine"))
    assert not writer.problem
    history.grow(Chunk("assistant", "message", content="three"))
    assert there.read(writer.id).messages[-1].content == "One "
    history.grow(Chunk("assistant", "message", end=True))
    assert there.read(writer.id).messages[-1].content == "One two three"
    writer.close()
