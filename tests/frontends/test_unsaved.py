"""A conversation that cannot be saved says so in the cell and in the terminal, and says it once;
and nothing that a person presses or types takes its place unsaid."""

from __future__ import annotations

import base64
import errno
import io
import json

import pytest
from scripted import ScriptedModel, drive, said

from lmc_jupyter import current_session
from lmc_jupyter.conversation import disk
from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.cell.cell import CellView
from lmc_jupyter.frontends.magic.commands import Commands
from lmc_jupyter.frontends.panel import conversations
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.frontends.view import play
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.session import Session

NOTE = "This conversation is not being saved"


class Page:
    shows_updates = True
    repeats_updates = False

    def __init__(self):
        self.bundles = {}

    def show(self, data, display_id):
        self.bundles[display_id] = data

    update = show

    def flush(self): ...

    def count(self):
        return sum(NOTE in bundle["text/html"] for bundle in self.bundles.values())


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """A session whose data directory cannot be made: a file stands in its place."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    return Session(model=ScriptedModel([said("One.")], [said("Two.")]))


def test_a_cell_says_it_below_the_answer(homeless):
    counts = []
    for question in ("First?", "Second?"):
        page = Page()
        play(homeless.ask(question), CellView(homeless, page))
        counts.append(page.count())
    assert counts == [1, 0]
    assert NOTE in homeless.journal.problem


def test_a_terminal_says_it_in_a_line_of_its_own(homeless):
    shown = []
    for question in ("First?", "Second?"):
        out = io.StringIO()
        play(homeless.ask(question), TextView(homeless, out, None))
        shown.append(out.getvalue())
    assert shown[0].startswith(f"One.\n[{NOTE}")
    assert shown[1] == "Two.\n"


FILE = json.dumps([{"role": "user", "type": "message", "content": "From a file?"}])


@pytest.fixture
def other(tmp_path):
    """The path of another conversation."""
    path = tmp_path / "other.json"
    path.write_text(FILE)
    return path


def leave(it, how, other):
    if how == "import":
        data = base64.b64encode(FILE.encode()).decode()
        return conversations.ANSWERS["import"](it, {"name": "other.json", "data": data})
    return Commands(it).run(how if how == "reset" else f"load {other}", None)


@pytest.mark.parametrize("how", ["reset", "load", "import"])
def test_what_is_nowhere_else_is_left_only_when_it_is_asked_for_again(homeless, how, other):
    leave(homeless, how, other)  # nothing is lost: nothing was said
    homeless.reset()
    drive(homeless.ask("First?"))
    with pytest.raises(
        SessionError, match=r"would be lost.*%lmc save.*repeat the command to discard it"
    ):
        leave(homeless, how, other)
    assert [each.content for each in homeless.messages] == ["First?", "One."]
    drive(homeless.ask("Second?"))
    with pytest.raises(SessionError, match="would be lost"):  # there is more in it now
        leave(homeless, how, other)
    leave(homeless, how, other)
    assert "First?" not in [each.content for each in homeless.messages]


def test_what_is_in_a_file_of_the_persons_own_is_left_at_once(homeless, other, tmp_path):
    drive(homeless.ask("First?"))
    homeless.save(tmp_path / "mine.ipynb")
    leave(homeless, "reset", other)
    assert homeless.messages == []


def test_a_file_without_the_thoughts_counts(homeless, other, tmp_path):
    thought = Chunk("assistant", "message", None, "Hm.", "user")
    homeless.choose_model(ScriptedModel([thought, said("One.")]))
    drive(homeless.ask("First?"))
    remarks = homeless.save(tmp_path / "mine.ipynb")
    assert any("thoughts are left out" in each for each in remarks)
    leave(homeless, "reset", other)
    assert homeless.messages == []


def test_what_the_disk_takes_by_now_is_left_at_once(homeless, other, tmp_path):
    drive(homeless.ask("First?"))
    (tmp_path / "file").unlink()
    leave(homeless, "reset", other)
    assert homeless.messages == []
    assert [each.title for each in homeless.journal.conversations.list()] == ["First?"]


def test_it_has_no_copy_before_it_is_saved_itself(homeless, tmp_path):
    drive(homeless.ask("First?"))
    with pytest.raises(SessionError, match="so it cannot be copied"):
        homeless.conversation.fork()
    (tmp_path / "file").unlink()
    assert "This is a copy of 'First?'" in homeless.conversation.fork()
    assert len(homeless.journal.conversations.list()) == 2


def test_a_new_conversation_of_a_cell_asks_too(shell, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        it = current_session()
        it.choose_model(ScriptedModel([said("One.")], [said("Two.")]))
        for cell in ("%%lmc\nFirst?", "%%lmc --new\nSecond?"):
            shell.run_cell(cell)
        assert "would be lost" in capsys.readouterr().out
        assert [each.content for each in it.messages] == ["First?", "One."]
        shell.run_cell("%%lmc --new\nSecond?")
        assert [each.content for each in it.messages] == ["Second?", "Two."]
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")


@pytest.mark.parametrize("by", ["panel", "command"])
def test_another_is_opened_over_it_only_when_that_is_asked_for_again(by, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    it = Session(model=ScriptedModel([said("One.")], [said("Two.")]))
    drive(it.ask("First?"))
    first = it.journal.id
    it.reset()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk.calls, "write", full, raising=False)
    drive(it.ask("Second?"))

    def opened():
        if by == "panel":
            conversations.ANSWERS["open"](it, {"conversation": first})
        else:
            Commands(it).run("open First?", None)

    with pytest.raises(SessionError, match="would be lost"):
        opened()
    assert it.journal.title == "Second?"
    opened()
    assert it.journal.title == "First?"
