"""A session: questions, one turn at a time, stop at any moment, what reaches the model."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import psutil
import pytest
from scripted import (
    EchoComputer,
    Endless,
    ScriptedModel,
    Waiting,
    assert_stream,
    assert_valid,
    code,
    drive,
    kinds,
    line,
    printed,
    said,
)

from lmc_jupyter.computer import Availability, Computer, default_computer, lookups
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.computer.languages.shell import Shell
from lmc_jupyter.content.cell import Cell, Figure
from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.context.parts import of_question, text_of
from lmc_jupyter.context.question import unseen_of
from lmc_jupyter.errors import ComputerError, ModelError, ProtocolError, SessionError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.litellm import LiteLLMModel
from lmc_jupyter.session import Session

ROOT = Path(__file__).parents[1]
PATIENCE = 30.0  # seconds: only a failing test waits so long
HELLO = {"role": "user", "type": "message", "content": "Hello."}


class Words:
    """A language that says prepared pieces and remembers what it ran."""

    aliases = ()

    def __init__(self, name: str = "python", *pieces: Chunk) -> None:
        self.name, self.pieces = name, pieces or (line(1), printed("42\n"))
        self.ran: list[str] = []
        self.closed = 0

    def run(self, code: str) -> Generator[Chunk, None, None]:
        self.ran.append(code)
        yield from self.pieces

    def close(self) -> None:
        self.closed += 1


def session_of(*replies: Any, languages: tuple[Any, ...] = (), **options: Any) -> Session:
    model = options.pop("model", None) or ScriptedModel(*replies)
    return Session(model=model, computer=Computer(*(languages or (Words(),))), **options)


class Slow(ScriptedModel):
    """A model that takes a while to load."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(*replies)
        self.happened: list[str] = []

    def preload(self) -> None:
        self.happened.append("loads")

    def with_brief(self, brief: Callable[[], Brief], notify: Any) -> Slow:
        self.happened.append("is told its context")
        return self


def test_a_model_begins_to_load_before_its_context_is_made() -> None:
    session = session_of(model=(model := Slow([said("Hi.")])))
    drive(session.ask("Hello."))
    assert model.happened == ["loads", "is told its context"]


# Questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["Hello.", HELLO, Message("user", "message", content="Hello."), [HELLO]],
    ids=["text", "dict", "message", "list"],
)
def test_a_question_may_be_text_a_message_or_a_list(question):
    session = session_of([said("Hi.")])
    assert_stream(drive(session.ask(question)))
    assert kinds(session.messages) == [
        ("user", "message", "Hello."),
        ("assistant", "message", "Hi."),
    ]
    assert_valid(session.messages)


def test_the_second_question_comes_after_the_first_answer():
    model = ScriptedModel([said("One.")], [said("Two.")])
    session = session_of(model=model)
    drive(session.ask("1"))
    drive(session.ask("2"))
    assert [message.content for message in model.seen[1]] == ["1", "One.", "2"]


def test_a_list_takes_the_place_of_the_conversation():
    session = session_of([said("One.")], [said("Two.")])
    drive(session.ask("forgotten"))
    drive(session.ask([HELLO, {**HELLO, "role": "assistant", "content": "Hi."}, HELLO]))
    assert [message.content for message in session.messages] == ["Hello.", "Hi.", "Hello.", "Two."]


def test_none_goes_on_from_where_it_stands():
    session = session_of([said("Half "), ModelError("broke")], [said("and whole.")])
    with pytest.raises(ModelError):
        drive(session.ask("Go."))
    drive(session.ask())
    assert [message.content for message in session.messages] == ["Go.", "Half ", "and whole."]


def test_none_offers_code_that_waits_for_its_answer_without_asking_the_model():
    model = ScriptedModel([said("It is 42.")])
    session = session_of(model=model)
    session.messages = [HELLO, {"role": "assistant", "type": "code", "format": "python",
                                "content": "6*7"}]  # fmt: skip
    assert session.pending is session.messages[-1]
    reply = session.ask()
    assert next(reply).type == "confirmation"
    assert model.seen == []
    reply.close()
    chunks = drive(session.ask(), Decision(True))
    assert chunks[0].content == {"type": "code", "format": "python", "content": "6*7"}
    assert [message.content for message in session.messages[2:]] == ["42\n", "It is 42."]


@pytest.mark.parametrize("question", [None, [], ""], ids=["none", "empty-list", "empty-text"])
def test_nothing_to_go_on_from_is_a_sentence(question):
    session = session_of([said("Hi.")])
    with pytest.raises(SessionError, match="a question first"):
        session.ask(question)
    assert session.messages == []


@pytest.mark.parametrize(
    "bad",
    [
        {"role": "nobody", "type": "message", "content": "x"},
        {"role": "user", "type": "song", "content": "x"},
        {"role": "user", "type": "message"},
        {"role": "user", "type": "message", "content": 7},
        [HELLO, {"role": "user", "type": "image", "format": "gif", "content": "x"}],
        [HELLO, "just words"],
        7,
    ],
)
def test_a_bad_message_is_refused_and_leaves_the_conversation_as_it_was(bad):
    session = session_of([said("One.")], [said("Two.")])
    drive(session.ask("1"))
    before = list(session.messages)
    with pytest.raises(ProtocolError):
        session.ask(bad)
    assert session.messages == before
    assert not session.busy
    if not isinstance(bad, dict):
        with pytest.raises(ProtocolError):
            session.messages = bad
        assert session.messages == before
    drive(session.ask("2"))
    assert session.messages[-1].content == "Two."


def test_a_new_question_answers_code_that_waited_with_no():
    session = session_of([code("6*7")], [said("Gone on.")])
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    reply.close()
    drive(session.ask("Something else."))
    assert [message.content for message in session.messages[2:]] == [
        "This code was not run: the user went on without it.",
        "Something else.",
        "Gone on.",
    ]


def test_the_app_may_answer_code_that_waited_itself():
    model = ScriptedModel([said("So it is 42.")])
    session = session_of(model=model)
    session.messages = [HELLO, {"role": "assistant", "type": "code", "format": "python",
                                "content": "6*7"}]  # fmt: skip
    drive(session.ask(Message("computer", "console", "output", "42")))
    assert kinds(session.messages)[2:] == [
        ("computer", "console", "42"),
        ("assistant", "message", "So it is 42."),
    ]


def test_messages_can_be_assigned_and_are_stamped():
    session = session_of([said("Hi.")])
    session.messages = [HELLO, Message("assistant", "message", content="Yes?")]
    assert_valid(session.messages)
    assert [message.content for message in session.messages] == ["Hello.", "Yes?"]


def test_a_conversation_can_be_taken_from_another_session():
    first = session_of([code("6*7")], [said("It is 42.")])
    drive(first.ask("Go."), Decision(True))
    second = session_of([said("Again.")])
    second.messages = [message.to_dict() for message in first.messages]
    assert second.messages == first.messages


def test_undo_takes_back_the_last_question_and_all_after_it():
    session = session_of([said("One.")], [code("6*7")], [said("Two.")])
    drive(session.ask("1"))
    drive(session.ask("2"), Decision(True))
    taken = session.undo()
    assert [message.content for message in taken] == ["2", "6*7", "42\n", "Two."]
    assert [message.content for message in session.messages] == ["1", "One."]
    session.undo()
    assert session.messages == []
    assert session.undo() == []


def test_reset_begins_a_new_conversation_and_nothing_waits_any_more():
    session = session_of([code("6*7")], [said("New.")])
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    reply.close()
    assert session.pending is not None
    session.reset()
    assert session.messages == []
    assert session.pending is None
    assert session.gate.pending is None
    drive(session.ask("Again."))
    assert_valid(session.messages)


# One turn at a time -------------------------------------------------------------------------------


def test_a_second_question_meanwhile_is_refused_with_a_sentence():
    session = session_of([said("One."), said(" More.")])
    reply = session.ask("1")
    next(reply)
    heard: list[BaseException] = []

    def second() -> None:
        try:
            session.ask("2")
        except SessionError as error:
            heard.append(error)

    thread = threading.Thread(target=second)
    thread.start()
    thread.join(PATIENCE)
    assert "stop it first" in str(heard[0])
    for refused in (session.undo, session.reset, lambda: setattr(session, "messages", [])):
        with pytest.raises(SessionError, match="stop it first"):
            refused()
    drive(reply)
    assert [message.content for message in session.messages] == ["1", "One. More."]


def test_two_answers_that_both_wait_to_begin_do_not_mix():
    session = session_of([said("One.")], [said("Two.")])
    first, second = session.ask("1"), session.ask("2")
    next(first)
    with pytest.raises(SessionError, match="still in progress"):
        next(second)
    drive(first)
    assert_valid(session.messages)
    assert not session.busy


def test_a_reply_that_was_dropped_does_not_keep_the_session_busy():
    session = session_of([said("One.")], [said("Two.")])
    next(session.ask("1"))
    drive(session.ask("2"))
    assert session.messages[-1].content == "Two."


# Stop ---------------------------------------------------------------------------------------------


class Driver(threading.Thread):
    """Reads an answer on a thread of its own, as a cell's worker does."""

    def __init__(self, session: Session, answer: Callable[[Chunk], Any] = lambda _: None) -> None:
        super().__init__()
        self.reply, self.answer = session.ask("Go."), answer
        self.chunks: list[Chunk] = []
        self.news = threading.Condition()
        self.error: BaseException | None = None

    def run(self) -> None:
        answer = None
        try:
            while True:
                chunk = self.reply.send(answer)
                with self.news:
                    self.chunks.append(chunk)
                    self.news.notify_all()
                answer = self.answer(chunk) if chunk.type == "confirmation" else None
        except StopIteration:
            return
        except BaseException as error:
            self.error = error

    def until(self, seen: Callable[[Chunk], bool]) -> None:
        with self.news:
            assert self.news.wait_for(lambda: any(map(seen, self.chunks)), PATIENCE), self.error

    def end(self) -> None:
        self.join(PATIENCE)
        assert not self.is_alive(), "the answer goes on"
        assert self.error is None, self.error


def goes_on_after_a_stop(session: Session) -> None:
    """At rest after a stop, and the next question is answered."""
    assert session.stopped
    assert not session.busy
    assert_valid(session.messages)
    chunks = drive(session.ask("Are you there?"))
    assert chunks
    assert not session.stopped
    assert_valid(session.messages)


def test_stop_while_the_model_is_silent():
    model = Waiting()
    session = session_of(model=model)
    driver = Driver(session)
    driver.start()
    assert model.silent.wait(PATIENCE)
    session.stop()
    driver.end()
    assert [message.content for message in session.messages] == ["Go."]
    goes_on_after_a_stop(session)


def test_stop_when_the_model_falls_silent_in_a_sentence_keeps_what_came():
    model = Waiting(said("Half a sen"))
    session = session_of(model=model)
    driver = Driver(session)
    driver.start()
    assert model.silent.wait(PATIENCE)
    session.stop()
    driver.end()
    assert session.messages[-1].content == "Half a sen"
    assert session.messages[-1].extra == {"partial": True}
    goes_on_after_a_stop(session)


def test_stop_while_the_model_writes():
    session = session_of(model=Endless())
    driver = Driver(session)
    driver.start()
    driver.until(lambda chunk: chunk.content == "la ")
    session.stop()
    driver.end()
    assert session.messages[-1].content.startswith("la ")
    assert session.messages[-1].extra == {"partial": True}
    goes_on_after_a_stop(session)


def test_stop_in_the_middle_of_code_that_is_being_written_offers_it_never():
    model = Waiting(code("import o"))
    session = session_of(model=model)
    driver = Driver(session)
    driver.start()
    assert model.silent.wait(PATIENCE)
    session.stop()
    driver.end()
    assert session.messages[-1].content == "import o"
    assert session.pending is None
    goes_on_after_a_stop(session)


def test_stop_while_code_waits_for_a_decision_runs_nothing_even_if_yes_is_said_after_it():
    language = Words()
    session = session_of([code("6*7")], [said("Well.")], languages=(language,))
    asked, answered = threading.Event(), threading.Event()

    def answer(_: Chunk) -> Decision:
        asked.set()
        assert answered.wait(PATIENCE)
        return Decision(True)

    driver = Driver(session, answer)
    driver.start()
    assert asked.wait(PATIENCE)
    session.stop()
    answered.set()
    driver.end()
    assert language.ran == []
    assert session.pending is not None
    assert_valid(session.messages)
    drive(session.ask(), Decision(True))
    assert language.ran == ["6*7"]
    assert_valid(session.messages)


def test_stop_in_a_shell_block_ends_it_and_keeps_what_it_printed():
    shell = Shell()
    endless = "echo begun; while :; do sleep 1000; done"
    session = session_of(
        [code(endless, "shell")], [said("Well.")], languages=(shell,), auto_run=True
    )
    try:
        driver = Driver(session)
        driver.start()
        driver.until(lambda chunk: chunk.content == "begun\n")
        session.stop()
        driver.end()
        assert session.messages[-1].content.strip() == "begun"
        goes_on_after_a_stop(session)
        assert list(session.computer.run("shell", "echo works"))
    finally:
        session.close()


def test_stop_in_python_ends_it_and_keeps_what_it_printed(shell):
    session = session_of(
        [code("print('begun', flush=True)\nwhile True: pass")],
        [said("Well.")],
        languages=(LivePython(shell),),
        auto_run=True,
    )
    driver = Driver(session)
    driver.start()
    driver.until(lambda chunk: chunk.content == "begun\n")
    session.stop()
    driver.end()
    assert "begun\n" in session.messages[2].content
    goes_on_after_a_stop(session)


def test_stop_at_a_line_of_code_keeps_what_the_code_had_put_out_before_it():
    line = Chunk("computer", "console", "active_line", 2)
    computer = Computer(Words("python", line, printed("begun\n")))
    session = Session(ScriptedModel([code("1")]), computer, auto_run=True, keep=False)
    for chunk in session.ask("Go."):
        if chunk.content == 2:
            session.stop()
    assert session.messages[-1].content == "begun\n"
    assert_valid(session.messages)


def test_stop_before_the_answer_has_begun_asks_nobody():
    model = ScriptedModel([said("Hi.")])
    session = session_of(model=model)
    reply = session.ask("Go.")
    session.stop()
    assert list(reply) == []
    assert model.seen == []
    assert session.stopped
    goes_on_after_a_stop(session)


def test_stop_when_nothing_is_asked_does_no_harm():
    session = session_of([said("Hi.")])
    session.stop()
    goes_on_after_a_stop(session)


@pytest.mark.parametrize("at", range(1, 14))
def test_closing_the_generator_anywhere_leaves_a_conversation_that_goes_on(at):
    session = session_of(
        [said("Let me "), said("see."), code("6*"), code("7")], [said("It is 42.")]
    )
    reply = session.ask("Go.")
    answer = None
    for _ in range(at):
        chunk = reply.send(answer)
        answer = Decision(True) if chunk.type == "confirmation" else None
    reply.close()
    assert not session.busy
    assert_valid(session.messages)
    drive(session.ask("On."))
    assert_valid(session.messages)


def test_close_stops_and_ends_what_the_computer_started():
    language = Words()
    session = session_of([said("Hi.")], languages=(language,))
    session.close()
    assert language.closed == 1


# Policy -------------------------------------------------------------------------------------------


def ran_unasked(session: Session) -> bool:
    """Whether the code of the scripted answer runs when nobody answers."""
    drive(session.ask("Go."))
    return not any("This code was not run" in str(each.content) for each in session.messages)


@pytest.mark.parametrize(
    ("language", "options", "runs"),
    [
        ("python", {}, False),
        ("python", {"auto_run": False}, False),
        ("python", {"auto_run": True}, True),
        ("python", {"auto_run": ("python",)}, True),
        ("python", {"auto_run": "python"}, True),
        ("python", {"auto_run": ["py"]}, True),
        ("python", {"auto_run": ()}, False),
        ("python", {"auto_run": ("shell",)}, False),
        ("shell", {"auto_run": ("python",)}, False),
        ("shell", {"auto_run": ["python", "shell"]}, True),
        ("shell", {"auto_run": True, "deny": ("shell",)}, False),
        ("shell", {"auto_run": True, "deny": ["bash"]}, False),
        ("python", {"auto_run": True, "deny": ("shell",)}, True),
    ],
)
def test_what_runs_unasked(language, options, runs):
    languages = (Words("python"), Words("shell"))
    session = session_of([code("x", language)], [said("ok")], languages=languages, **options)
    assert ran_unasked(session) is runs


def test_auto_run_of_python_does_not_let_it_use_the_shell(shell):
    session = session_of(
        [code("!echo hacked")],
        [said("ok")],
        languages=(LivePython(shell), Words("shell")),
        auto_run=("python",),
    )
    assert not ran_unasked(session)


def test_a_changed_policy_counts_from_the_next_block():
    session = session_of([code("1")], [said("ok")], [code("2")], [said("ok")])
    assert not ran_unasked(session)
    session.auto_run = True
    session.reset()
    assert ran_unasked(session)


def test_deny_is_one_word_or_several_and_counts_as_soon_as_it_is_set():
    shell = Words("shell")
    assert not ran_unasked(session_of([code("x", "shell")], [said("ok")], languages=(shell,),
                                      auto_run=True, deny="shell"))  # fmt: skip
    session = session_of([code("x", "bash")], [said("ok")], languages=(shell,), auto_run=True)
    session.deny = ["shell"]
    assert not ran_unasked(session)
    assert shell.ran == []


def test_deny_knows_the_names_that_a_language_of_the_persons_own_has():
    sql = Words("sql")
    sql.aliases = ("sqlite",)
    session = session_of([code("x", "sql")], [said("ok")], languages=(sql,),
                         auto_run=True, deny=["SQLite"])  # fmt: skip
    assert not ran_unasked(session)


@pytest.mark.parametrize("name", default_computer().words())
def test_every_language_is_denied_by_any_of_its_words_however_it_is_written(name):
    words = [name, *default_computer().words()[name]]
    for denied in words:
        session = Session(ScriptedModel(), deny=[denied.upper()], auto_run=True)
        verdicts = {word: session.gate.propose(1, 1, word, "1").verdict for word in words}
        assert verdicts == dict.fromkeys(words, "deny"), denied


SHARE = """\
said = []
try:
    share([1], {to}, "df")
except Exception as error:
    said.append(error)
"""


def shared_by_code(shell, code_, **options):
    """The session whose code hands a table to cobol; what it caught, and whether it was asked."""
    session = session_of(
        [code(code_)], [said("ok")], languages=(LivePython(shell), Words("cobol")), **options
    )
    shell.user_ns["share"] = session.share
    asked = any(c.type == "confirmation" for c in drive(session.ask("Go."), Decision(True)))
    return shell.user_ns.get("said"), asked, session


def test_a_table_is_handed_over_by_code_that_was_let_run(shell):
    caught, _, session = shared_by_code(shell, SHARE.format(to="'cobol'"))
    assert caught == []
    assert (session.files.folder / "df.csv").read_text() == "0\n1\n"


def test_code_that_hands_a_table_over_is_denied_with_that_language(shell):
    caught, asked, session = shared_by_code(shell, SHARE.format(to="'cobol'"), deny="cobol")
    assert (caught, asked) == (None, False)
    assert "your policy forbids cobol" in session.messages[2].content


def test_a_language_that_is_only_known_while_it_runs_is_denied_then(shell):
    caught, _, session = shared_by_code(shell, SHARE.format(to="'co' + 'bol'"), deny="cobol")
    assert "your policy forbids cobol" in str(caught[0])
    assert not (session.files.folder / "df.csv").exists()


def test_code_that_runs_unasked_cannot_use_what_is_asked_for(shell):
    hidden, seen = SHARE.format(to="'co' + 'bol'"), SHARE.format(to="'cobol'")
    caught, *_ = shared_by_code(shell, hidden, auto_run=["python"])
    assert "wants to be asked about cobol" in str(caught[0])
    shell.user_ns.pop("said")
    caught, _, session = shared_by_code(shell, seen, auto_run=["python"])
    assert caught == []  # it was asked for, since the word is there
    assert session.gate.ran.verdict == "ask"


def test_what_a_person_shares_in_a_cell_of_their_own_is_not_asked_for(shell):
    *_, session = shared_by_code(shell, "1", deny="cobol")
    shell.run_cell("rows = [[1]]\nshared = share(rows, to='cobol')").raise_error()
    assert shell.user_ns["shared"].name == "rows"
    shell.run_cell("import pandas; df = pandas.DataFrame({'n': [1], 'a b': [2]})").raise_error()
    shell.run_cell("shared = share(df['n'], to='cobol')").raise_error()
    assert shell.user_ns["shared"].name == "n"
    for nameless in ("[[1]]", "df['a b']"):
        done = shell.run_cell(f"share({nameless}, to='cobol')", silent=True)
        with pytest.raises(ComputerError, match="has no name here"):
            done.raise_error()
    with pytest.raises(ComputerError, match="has no name here"):
        session.share([[1]], to="cobol")


ATTACHES = """
import time, psutil
from lmc_jupyter.session import Session
session = Session(model="replay/none")
(session.files.folder / "private.txt").write_text("a secret")
(reaper,) = psutil.Process().children()
print(session.files.folder, reaper.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
def test_what_was_attached_goes_with_a_kernel_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", ATTACHES], stdout=subprocess.PIPE) as kernel:
        folder, reaper = kernel.stdout.readline().decode().rsplit(maxsplit=1)
        assert (Path(folder) / "private.txt").exists()
        left = psutil.Process(int(reaper))
        kernel.kill()
    left.wait(PATIENCE)
    assert not Path(folder).exists()


REACH = """\
said = []
try:
    {what}
except Exception as error:
    said.append(error)
"""
RUNS = REACH.format(what="reached = getattr(session, 'computer'); list(reached.run('cobol', '1'))")
TAKES = REACH.format(what="session.computer.register(Evil())")


class Evil(Words):
    aliases = ("python",)


def reached_by_code(shell, code_, **options):
    """What code caught that reaches for the computer itself; the session and its cobol."""
    cobol = Words("cobol")
    session = session_of(
        [code(code_)], [said("ok")], languages=(LivePython(shell), cobol), **options
    )
    shell.user_ns.update(session=session, Evil=lambda: Evil("evil"))
    shell.user_ns.pop("said", None)
    drive(session.ask("Go."), Decision(True))
    return shell.user_ns["said"], cobol, session


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"deny": ["cobol"]}, "forbids cobol"),
        ({"deny": ["cobol"], "auto_run": True}, "forbids cobol"),
        ({"auto_run": ["python"]}, "wants to be asked about cobol"),
    ],
)
def test_code_that_runs_another_language_past_the_session_meets_the_gate(shell, options, says):
    caught, cobol, session = reached_by_code(shell, RUNS, **options)
    assert says in str(caught[0])
    assert cobol.ran == []
    assert list(session.computer.run("cobol", "1"))  # a person, in a cell of their own


def test_code_that_a_person_let_run_may_run_what_no_policy_forbids(shell):
    caught, cobol, _ = reached_by_code(shell, RUNS)
    assert (caught, cobol.ran) == ([], ["1"])


def test_code_of_a_model_puts_no_language_in_the_place_of_another(shell):
    caught, _, session = reached_by_code(shell, TAKES)
    assert "evil takes the place of another language" in str(caught[0])
    assert session.computer.canonical("python") == "python"
    session.computer.register(Evil("evil"))  # a person may
    assert session.computer.canonical("python") == "evil"


def test_code_of_a_model_may_add_a_language_of_a_new_word(shell):
    new = TAKES.replace("Evil()", "type(Evil())('cobol2')")
    caught, _, session = reached_by_code(shell, new.replace("type(Evil())", "Plain"))
    assert "NameError" in repr(caught)
    shell.user_ns["Plain"] = Words
    caught, _, session = reached_by_code(shell, new.replace("type(Evil())", "Plain"))
    assert caught == []
    assert session.computer.canonical("cobol2") == "cobol2"


def test_an_interrupt_while_it_closes_does_not_leave_the_session_busy():
    class Interrupted(Words):
        def run(self, code):
            try:
                yield from super().run(code)
            finally:
                raise KeyboardInterrupt

    session = session_of([code("1")], [said("ok")], languages=(Interrupted(),), auto_run=True)
    reply = session.ask("Go.")
    while next(reply).content != "42\n":
        pass
    with pytest.raises(KeyboardInterrupt):
        reply.close()
    assert not session.busy
    assert_valid(session.messages)


def test_a_denied_language_is_never_even_asked():
    session = session_of([code("x", "shell")], [said("ok")], languages=(Words("shell"),),
                         deny=("shell",))  # fmt: skip
    chunks = drive(session.ask("Go."), Decision(True))
    assert not any(chunk.type == "confirmation" for chunk in chunks)
    assert "your policy forbids shell" in session.messages[2].content


def test_the_limit_of_replies_is_said():
    model = ScriptedModel(*[[code("1")]] * 9)
    session = session_of(model=model, auto_run=True, max_turns=3)
    drive(session.ask("Go."))
    assert len(model.seen) == 3
    assert "Stopped after 3 replies" in session.messages[-1].content
    assert_valid(session.messages)


# What reaches the model ---------------------------------------------------------------------------


class Briefed(ScriptedModel):
    """Keeps the brief of each of its replies, and says what it waits for."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(*replies)
        self.briefs: list[Brief] = []

    def with_brief(self, brief: Callable[[], Brief], notify: Callable[[str], None]) -> Briefed:
        self.brief, self.notify = brief, notify
        return self

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        self.notify("loading")
        self.briefs.append(self.brief())
        yield from super().respond(messages)


class Named(Words):
    """A python that knows names."""

    def names(self, **_: Any) -> str:
        return f"df: DataFrame, after {len(self.ran)} blocks"


def test_the_brief_tells_the_names_as_they_are_at_each_reply():
    model = Briefed([code("1")], [said("ok")])
    session = session_of(model=model, languages=(Named(),), auto_run=True)
    drive(session.ask("Go."))
    assert [brief.namespace for brief in model.briefs] == [
        "df: DataFrame, after 0 blocks",
        "df: DataFrame, after 1 blocks",
    ]
    assert "Python" in model.briefs[0].instructions
    assert "py" in model.briefs[0].languages["python"]


def test_the_brief_tells_which_languages_can_run_and_what_they_share():
    shell, away, one, other = Words("shell"), Words("away"), Words("one"), Words("other")
    shell.hint = "keeps its folder"
    one.hint = other.hint = "a program a block"
    away.availability = lambda: Availability("by away", "install away")
    python = Words("python")
    session = session_of([], languages=(python, shell, away, one, other))
    told = session.brief().instructions
    assert "run: python; shell (keeps its folder); one, other (a program a block)." in told
    assert "share(df, to='shell')` hands a DataFrame over" in told
    assert "share" not in session_of([], languages=(python, one)).brief().instructions
    session.computer.register(Words("r"))
    assert "share(df, to='r')" in session.brief().instructions


def test_without_context_no_name_reaches_the_model():
    model = Briefed([said("ok")])
    session = session_of(model=model, languages=(Named(),), context=False)
    drive(session.ask("Go."))
    assert model.briefs[0].namespace == ""


def test_a_system_message_takes_the_place_of_our_instructions():
    model = Briefed([said("ok")])
    session = session_of(model=model, system_message="Speak like a pirate.")
    drive(session.ask("Go."))
    assert model.briefs[0].instructions == "Speak like a pirate."
    assert all(message.content != "Speak like a pirate." for message in session.messages)


def test_an_empty_system_message_says_nothing():
    model = Briefed([said("ok")])
    drive(session_of(model=model, system_message="").ask("Go."))
    assert model.briefs[0].instructions == ""


def test_what_the_model_waits_for_is_told_to_whoever_looks():
    notes: list[str] = []
    session = session_of(model=Briefed([said("ok")]))
    session.notify = notes.append
    drive(session.ask("Go."))
    assert notes == ["loading"]


def test_a_model_without_with_brief_is_a_model():
    session = session_of([said("Just words.")])
    drive(session.ask("Go."))
    assert session.messages[-1].content == "Just words."


def test_options_reach_the_model(monkeypatch):
    made: list[Any] = []

    def get(name: Any, **options: Any) -> Any:
        made.append((name, options))
        return ScriptedModel([said("Hi.")])

    monkeypatch.setattr("lmc_jupyter.models.choice.get_model", get)
    session = Session("some/model", Computer(), temperature=0, api_base="http://127.0.0.1:1/v1")
    drive(session.ask("Go."))
    assert made == [("some/model", {"temperature": 0, "api_base": "http://127.0.0.1:1/v1"})]
    session.choose_model("other/model", seed=1)
    drive(session.ask("Go."))
    assert made[1:] == [("other/model", {"seed": 1})]


def test_a_name_makes_a_model_and_loads_nothing():
    session = Session("openai/some-model", api_base="http://127.0.0.1:1/v1")
    assert isinstance(session.model, LiteLLMModel)
    assert session.model is session.model


def test_another_model_for_now_is_taken_back():
    session = session_of([said("Mine.")])
    mine, choice = session.model, session.choice
    session.choose_model(ScriptedModel([said("Its.")]))
    drive(session.ask("Go."))
    session.choose(choice)
    assert session.model is mine
    assert session.messages[-1].content == "Its."


def test_the_computer_can_be_used_by_itself():
    session = session_of([], languages=(Words("python", printed("42\n")),))
    pieces = list(session.computer.run("py", "6*7"))
    assert [piece.content for piece in pieces] == ["42\n"]


def test_a_computer_of_ones_own_derives_from_ours():
    computer = EchoComputer()
    session = Session(ScriptedModel([code("a")], [said("ok")]), computer, auto_run=True)
    drive(session.ask("Go."))
    assert computer.ran == [("python", "a")]
    with pytest.raises(ComputerError, match=r"object is no Computer: .*Computer\(language"):
        Session(ScriptedModel(), object())


# A plain script, without IPython ------------------------------------------------------------------

SCRIPT = """\
import sys
from scripted import ScriptedModel, code, said
from lmc_jupyter import Decision, Session

def session(*replies, **options):
    return Session(ScriptedModel(*replies), **options)
"""


def script(body: str) -> list[str]:
    return [sys.executable, "-W", "error", "-c", SCRIPT + textwrap.dedent(body)]


ENV = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}


def runs(body: str) -> str:
    done = subprocess.run(script(body), capture_output=True, text=True, env=ENV, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_in_a_script_code_that_gets_no_answer_is_declined():
    out = runs("""
        s = session([code("print('ran')")], [said("Well.")])
        for chunk in s.ask("Go."):
            pass
        print([m.content for m in s.messages])
    """)
    assert out == (
        "['Go.', \"print('ran')\", 'This code was not run: nobody answered.', 'Well.']\n"
    )


def test_in_a_script_code_runs_in_the_script_s_own_names():
    out = runs("""
        x = 40
        s = session([code("y = x + 2\\nprint('ran')\\ny")], [said("Well.")])
        reply, answer = s.ask("Go."), None
        while True:
            try:
                chunk = reply.send(answer)
            except StopIteration:
                break
            answer = Decision(True) if chunk.type == "confirmation" else None
        print(y, [m.content for m in s.messages][2:])
        print([c.content for c in s.computer.run("python", "y * 2") if c.format == "output"])
    """)
    assert "42 ['ran\\n42\\n', 'Well.']" in out.splitlines()
    assert out.splitlines()[-1] == "['84\\n']"


def test_in_a_script_ctrl_c_ends_the_code_and_the_answer_and_the_script_goes_on():
    body = """
        import time
        # it says so when it sleeps: a Ctrl-C that falls into the printing shows where that is
        s = session([code("import threading, time\\nprint('now')\\n"
                          "threading.Timer(0.3, print, ['begun'], {'flush': True}).start()\\n"
                          "time.sleep(1000)")],
                    [said("Well.")], auto_run=True)
        try:
            for chunk in s.ask("Go."):
                pass
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print([m.role for m in s.messages], s.busy)
        s.computer.run("python", "")
        print("now" in s.messages[2].content)
        for chunk in s.ask("On."):
            pass
        print(s.messages[-1].content)
    """
    process = subprocess.Popen(
        script(body), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
    )
    try:
        assert process.stdout is not None
        while "begun" not in (read := process.stdout.readline()):
            assert read, process.communicate()[1]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    lines = out.splitlines()
    assert "interrupted" in lines
    assert lines[-3:] == ["['user', 'assistant', 'computer'] False", "True", "Well."]
    assert "lmc_jupyter" not in out


@pytest.mark.long
def test_in_a_script_ctrl_c_while_the_model_is_silent_ends_the_answer(model_server):
    from model_server import STALL, Turn, text

    model_server.turns = [Turn(text("Half a sen"), STALL, cut="all")]
    body = f"""
        s = Session("openai/m", api_base={model_server.base!r}, api_key="none")
        try:
            for chunk in s.ask("Go."):
                if chunk.content:
                    print("came", flush=True)
        except KeyboardInterrupt:
            print("interrupted")
        print(s.messages[-1].content, s.busy)
    """
    process = subprocess.Popen(
        script(body), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
    )
    try:
        assert process.stdout is not None
        while "came" not in (read := process.stdout.readline()):
            assert read, process.communicate()[1]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert out.splitlines()[-2:] == ["interrupted", "Half a sen False"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_the_folder_stays_when_a_fork_of_the_process_ends_as_a_process_does():
    script = (
        "import os, sys\nfrom lmc_jupyter import Session\n"
        "session = Session('replay/none', keep=False)\nfolder = session.files.folder\n"
        "child = os.fork()\nif not child: sys.exit()\n"
        "os.waitpid(child, 0)\nassert folder.is_dir()\n"
    )
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=120)
    assert ended.returncode == 0


def test_two_threads_that_use_the_computer_first_use_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, used = Session(ScriptedModel(), keep=False), []
    other = threading.Thread(target=lambda: used.append(session.computer))

    def make() -> Computer:
        if other.ident is None:
            other.start()
            other.join(0.5)  # it has to wait, so this time passes
        return Computer(Words("python"))

    monkeypatch.setattr("lmc_jupyter.session.default_computer", make)
    used.append(session.computer)
    other.join()
    assert used[0] is used[1] is session.computer
    assert session.gate.guard in session.computer.guards


def test_a_ctrl_c_at_any_call_leaves_the_session_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter looks for a signal where a function begins."""
    monkeypatch.setattr(lookups, "SECONDS", 3600.0)
    package = str(Path(inspect.getfile(Session)).parent)

    def calls(act: Callable[[], Any], at: int = 0) -> list[Any]:
        """The functions of the package that are called; an interrupt comes at one of them."""
        seen: list[Any] = []

        def trace(frame: Any, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(package):
                seen.append(frame.f_code)
                if len(seen) == at:
                    signal.raise_signal(signal.SIGINT)

        gc.disable()  # what it calls would be counted
        sys.settrace(trace)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                act()
        finally:
            sys.settrace(None)
            gc.enable()
        return seen

    def made() -> Session:
        model = ScriptedModel([said("So:"), code("1"), said("and")], [said("Done.")])
        computer = Computer(Words("python", printed("1\n")))
        return Session(model, computer, auto_run=True, keep=False)

    def ask(session: Session) -> Callable[[], Any]:
        return lambda: drive(session.ask("Go."), Decision(True))

    drive(made().ask("Go."), Decision(True))  # what is looked up once is known then
    whole = calls(ask(made()))
    first = {each: at for at, each in reversed(list(enumerate(whole, 1)))}
    last = {each: at for at, each in enumerate(whole, 1)}
    for at in sorted({*first.values(), *last.values()}):
        session = made()
        name = calls(ask(session), at)[at - 1].co_qualname if sys.version_info >= (3, 11) else at
        assert not session.busy, f"after a Ctrl-C at {name}"
        assert_valid(session.messages)
        drive(session.ask("Again."), Decision(False))
        assert_valid(session.messages)


def test_a_question_asked_again_takes_the_figures_that_its_model_sees_by_now() -> None:
    model = ScriptedModel([said("I read of a figure.")], [said("I see it.")])
    sees = "no"
    model.vision = lambda: sees  # type: ignore[attr-defined]
    session = Session(model=model)
    session.prompt.cells = lambda: [Cell(5, "plot()", figures=(Figure("png", "QQ=="),))]
    drive(session.ask("Look at this.", cells=CellChoice()))
    [asked] = model.seen[0]
    assert "not sent: you get no images" in text_of(of_question(asked))
    sees = "yes"
    drive(session.retry(session.turns[-1]))
    [figure, asked] = model.seen[1]
    assert (figure.type, figure.content) == ("image", "QQ==")
    assert asked.content == "Look at this."
    assert "not sent" not in text_of(of_question(asked))
    assert unseen_of(asked) is None
    assert [each.type for each in session.messages] == ["image", "message", "message"]


@pytest.mark.parametrize("level", ["names", "none"])
def test_a_question_asked_again_gives_no_more_than_the_context_level_of_now(level: str) -> None:
    model = ScriptedModel(*[[said("Yes.")]] * 4)
    model.vision = lambda: "yes"  # type: ignore[attr-defined]
    session = Session(model=model)
    session.prompt.cells = lambda: [
        Cell(4, "named = 1"),
        Cell(5, "plot()", figures=(Figure("png", "QQ=="),)),
    ]
    choice = CellChoice(above="# A heading")
    drive(session.ask("Look at this, beside @cell 4.", cells=choice))
    assert [each.title for each in of_question(model.seen[0][-1])] == [
        "Markdown",
        "In [4]",
        "In [5]",
    ]
    session.configure(context=level)
    drive(session.retry(session.turns[-1]))
    [asked] = model.seen[1]
    assert [each.title for each in of_question(asked)] == ["In [4]"]
    drive(session.edit(session.turns[-1], "Another one about @cell 4."))
    [asked] = model.seen[2]
    assert [each.title for each in of_question(asked)] == ["In [4]"]
    drive(session.retry(session.turns[-1]))  # and what the person named stays named
    assert [each.title for each in of_question(model.seen[3][-1])] == ["In [4]"]


def test_a_question_asked_again_gives_no_cell_that_is_hidden_by_now() -> None:
    model = ScriptedModel([said("Yes.")], [said("Yes.")])
    model.vision = lambda: "yes"  # type: ignore[attr-defined]
    cells = [Cell(4, "secret()", figures=(Figure("png", "QQ=="),)), Cell(5, "b = 1")]
    session = Session(model=model)
    session.prompt.cells = lambda: cells
    drive(session.ask("Look at @cell 4 too.", cells=CellChoice()))
    assert [each.type for each in model.seen[0]] == ["image", "message"]
    cells[0] = cells[0]._replace(hidden=True)
    drive(session.retry(session.turns[-1]))
    [asked] = model.seen[1]
    assert "secret" not in text_of(of_question(asked))
    assert [each.title for each in of_question(asked)] == ["In [5]"]


def test_of_figures_that_did_not_go_none_of_a_hidden_cell_is_offered_again() -> None:
    model = ScriptedModel([said("Yes.")], [said("Yes.")])
    sees = "no"
    model.vision = lambda: sees  # type: ignore[attr-defined]
    cells = [Cell(number, "plot()", figures=(Figure("png", "QQ=="),)) for number in (4, 5)]
    session = Session(model=model)
    session.prompt.cells = lambda: cells
    drive(session.ask("Look.", cells=CellChoice()))
    cells[0] = cells[0]._replace(hidden=True)
    drive(session.retry(session.turns[-1]))
    unseen = unseen_of(model.seen[1][-1])
    assert unseen is not None
    assert unseen.numbers == (5,)
