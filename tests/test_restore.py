"""The names that code changed: everybody hears of them, and the way back is told to the model."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from frontends.test_cell import Page
from panel_view import Records
from scripted import ScriptedModel, assert_valid, code, drive, said
from watcher import Watcher

from lmc_jupyter.computer import Computer
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.cell.cell import CellView
from lmc_jupyter.frontends.magic.commands import Commands, help_text
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.view import play
from lmc_jupyter.gate import Decision
from lmc_jupyter.session import Session

RUN = Decision(True)


class Ear(Watcher):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def became(self, fate: Any, seconds: float, code: Any) -> None:
        self.heard.append(fate)

    def named(self, names: Any) -> None:
        self.heard.append(names)

    def restored(self, names: Any) -> None:
        self.heard.append(("restored", names))


@pytest.fixture
def session(shell: Any) -> Session:
    shell.user_ns.update(x=1, numbers=[1])
    return Session(model=ScriptedModel(), computer=Computer(LivePython(shell)))


def run(session: Session, *blocks: str, answer: Decision = RUN) -> None:
    """A turn that runs these."""
    session.choose_model(ScriptedModel(*[[code(block)] for block in blocks], [said("Done.")]))
    drive(session.ask("Go."), *[answer] * len(blocks))


def test_who_watches_hears_of_the_names_after_the_block(session, shell):
    ear = Ear()
    session.history.subscribe(ear)
    run(session, "x = 2; y = 3; numbers.append(2)", "x", "del y")
    running, ran, first, *rest = ear.heard
    assert (running, ran) == ("running", "ran")
    assert (first.new, first.changed, first.removed) == (("y",), ("x", "numbers"), ())
    assert rest[:4] == ["running", "ran", "running", "ran"]
    assert rest[4].removed == ("y",)


def test_code_that_was_not_run_is_no_block_and_what_ran_past_the_session_is_not_its_own(session):
    ear = Ear()
    session.history.subscribe(ear)
    list(session.computer.run("python", "past = 1"))
    run(session, "1 + 1")
    run(session, "y = 1", answer=Decision(False))
    assert ear.heard == ["running", "ran", "not run"]


def test_code_that_failed_or_was_stopped_has_changed_names_too(session, shell):
    ear = Ear()
    session.history.subscribe(ear)
    run(session, "y = 1; 1/0")
    assert ear.heard[-1].new == ("y",)

    def press():
        session.stop()

    shell.user_ns["press"] = press
    session.choose_model(ScriptedModel([code("z = 1\npress()\nwhile True: pass")]))
    drive(session.ask("Go."), RUN)
    assert ear.heard[-2] == "stopped"
    assert ear.heard[-1].new == ("z",)


def test_the_last_block_that_changed_something_is_taken_back_and_the_model_is_told(session, shell):
    run(session, "x = 2", "x = 3; numbers.append(2)", "x")
    assert session.restore() == (
        "Restored `numbers` and `x`. Files, the network and other programs were not restored."
    )
    assert (shell.user_ns["x"], shell.user_ns["numbers"]) == (2, [1])
    assert_valid(session.messages)
    last = session.messages[-1]
    assert (last.role, last.type, last.format) == ("computer", "console", "output")
    assert last.content == (
        "The user restored the notebook's variables. Restored `numbers` and `x`."
    )
    session.restore()
    assert shell.user_ns["x"] == 1
    with pytest.raises(SessionError, match="nothing to restore"):
        session.restore()
    run(session, "z = 1")  # the conversation goes on, and the model reads it
    assert any("user restored" in str(message.content) for message in session.model.seen[0])


def test_a_block_of_before_is_taken_back_by_its_names(session, shell):
    ear = Ear()
    session.history.subscribe(ear)
    run(session, "x = 2", "y = 2")
    first = next(each for each in ear.heard if not isinstance(each, str))
    assert session.restore(first).startswith("Restored `x`.")
    assert ear.heard[-1] == ("restored", first)
    assert "y" in shell.user_ns
    with pytest.raises(LMCError, match="variables cannot be restored"):
        session.restore(first)


def test_it_waits_for_no_answer(session, shell):
    run(session, "x = 2")
    session.choose_model(ScriptedModel([said("Half.")]))
    reply = session.ask("Go.")
    next(reply)
    with pytest.raises(SessionError, match="cannot restore names while an answer is in progress"):
        session.restore()
    reply.close()
    assert shell.user_ns["x"] == 2


def test_it_is_no_answer_to_code_that_waits(session):
    run(session, "x = 2")
    session.choose_model(ScriptedModel([code("x = 3")], [said("ok")]))
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    reply.close()
    assert session.pending is not None
    session.restore()
    assert session.pending is not None
    assert "user restored" in session.messages[-2].content


def test_after_a_reset_there_is_nobody_to_tell(session, shell):
    run(session, "x = 2")
    session.reset()
    session.restore()
    assert shell.user_ns["x"] == 1
    assert session.messages == []


def test_a_computer_of_somebodys_own_has_no_names(session):
    class Own:
        name, aliases = "python", ()

        def run(self, code: str) -> Any:
            yield from ()

        def close(self) -> None: ...

    own = Session(model=ScriptedModel(), computer=Computer(Own()))
    run(own, "x = 1")
    with pytest.raises(SessionError, match="nothing to restore"):
        own.restore()


def test_no_computer_is_made_to_say_that_there_is_nothing_to_restore(monkeypatch):
    monkeypatch.setattr("lmc_jupyter.session.default_computer", lambda: pytest.fail("made"))
    with pytest.raises(SessionError, match="nothing to restore"):
        Session(model=ScriptedModel(), keep=False).restore()


def test_on_another_thread_without_a_kernel_it_is_done_there(session, shell):
    run(session, "x = 2")
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(session.restore()))
    thread.start()
    thread.join()
    assert "Restored `x`" in said[0]
    assert shell.user_ns["x"] == 1


def test_the_command(session, shell):
    run(session, "x = 2")
    nobody: Any = None
    line = Commands(session).run("restore", nobody)
    assert line.startswith("Restored `x`.")
    assert shell.user_ns["x"] == 1
    assert "%lmc restore " in help_text()


def test_close_lets_the_old_values_go(session, shell):
    ear = Ear()
    session.history.subscribe(ear)
    run(session, "x = 2")
    names = ear.heard[-1]
    assert names.restorable
    session.close()
    assert not names.restorable


# The mirror ---------------------------------------------------------------------------------------


class Shown:
    def __init__(self, session: Session) -> None:
        self.view = Records()
        self.batch = Batch(self.view.take)
        self.mirror = Mirror(session, self.batch, dict)
        self.batch.snapshot(self.mirror.snapshot)

    def names(self) -> list[Any]:
        self.batch.flush()
        fresh = Records()
        other = Batch(fresh.take)
        other.snapshot(self.mirror.snapshot)
        found = [each.get("names", 0) for each in self.view.records]
        assert found == [each.get("names", 0) for each in fresh.records]
        return found


def test_the_panel_shows_them_on_the_record_of_the_code(session, monkeypatch):
    shown = Shown(session)
    run(session, "x = 2; new = 1", "numbers.append(5)")
    wire = {"new": ["new"], "changed": ["x"], "removed": [], "lost": "", "breach": ""}
    wire = {**wire, "restorable": True}
    second = {**wire, "new": [], "changed": ["numbers"]}
    assert shown.names() == [0, wire, 0, second, 0, 0]
    session.restore(shown.mirror.names(1))
    assert shown.names() == [0, None, 0, second, 0, 0, 0]
    for at in (1, 0, 99, None, [], True):
        with pytest.raises(LMCError, match="no names to restore"):
            shown.mirror.names(at)
    assert shown.mirror.names(3).changed == ("numbers",)


def test_what_can_be_restored_no_longer_says_so(session, monkeypatch):
    monkeypatch.setattr("lmc_jupyter.kernel.changes.MAX_BLOCKS", 1)
    shown = Shown(session)
    run(session, "x = 2", "y = 2")
    assert [each["restorable"] for each in shown.names() if each] == [False, True]


def test_names_that_are_no_identifiers_are_plain_data(session):
    shown = Shown(session)
    run(session, "globals()['<b>\\ud800'] = 1")
    assert shown.names()[1]["new"] == ["<b>\ud800"], "the widget replaces what UTF-8 cannot hold"


# The cell -----------------------------------------------------------------------------------------


def test_the_record_of_a_cell_has_a_line_of_them(session):
    page = Page()
    session.choose_model(
        ScriptedModel([code("x = 2; globals()['<b>'] = 1; del numbers")], [said("ok")])
    )
    session.auto_run = True
    play(session.ask("Go."), CellView(session, page))
    assert '<code class="new">+ &lt;b&gt;</code> <code class="changed">~ x</code>' in page.html()
    assert '<code class="removed">- numbers</code>' in page.html()
    assert "%lmc restore" in page.html()
    assert "names: + <b>  ~ x  - numbers" in page.plain()
