"""The conversations that are kept: listed, searched, found, opened, copied, renamed, deleted."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest
from sampling import amount
from scripted import Machine, ScriptedModel, code, printed, said
from watcher import Watcher

import lmc_jupyter
from lmc_jupyter import Session
from lmc_jupyter.conversation import Action, Conversation, disk, journal, records
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.events import Marked
from lmc_jupyter.conversation.journal import Journal
from lmc_jupyter.conversation.of_kernel import OfKernel
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.request import NO_BODY, Request
from lmc_jupyter.turn import current

POSIX = pytest.mark.skipif(os.name != "posix", reason="there are no such files here")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """A data directory of the test's own."""
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    return tmp_path / "data"


def session(*replies, **options):
    options.setdefault("computer", Machine())
    return Session(model=ScriptedModel(*replies), **options)


def drive(reply, *decisions):
    """Drive an answer to its end; these are the decisions."""
    answers, answer = list(decisions), None
    try:
        while True:
            chunk = reply.send(answer)
            answer = answers.pop(0) if chunk.type == "confirmation" and answers else None
    except StopIteration:
        return


def asked(question="What?", *replies, **options):
    it = session(*(replies or [[said("That.")]]), **options)
    drive(it.ask(question), Decision(True))
    return it


def kept(it, id_=None):
    return it.journal.conversations.read(id_ or it.journal.id)


def file_of(it) -> Path:
    return it.journal.conversations.path(it.journal.id)


# What is kept -------------------------------------------------------------------------------------


def test_a_conversation_is_kept_as_it_is():
    image = Message("user", "image", "base64.png", "aGk=")
    it = session([said("Größe "), said("ist 7\n\u2028"), code("1/0")], [said("Oh.")])
    drive(it.ask("Wie groß?", attachments=[image]), Decision(True))
    assert [each.content for each in it.messages] == [
        "aGk=",
        "Wie groß?",
        "Größe ist 7\n\u2028",
        "1/0",
        "done\n",
        "Oh.",
    ]
    assert kept(it).messages == it.messages
    assert [each.data["action"] for each in kept(it).events] == ["run"]
    assert kept(it).events == it.journal.actions


@POSIX
def test_only_its_owner_can_read_it(data):
    before = os.umask(0)
    try:
        it = asked()
    finally:
        os.umask(before)
    for path in [data / "lmc-jupyter", *(data / "lmc-jupyter").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert file_of(it).exists()


def test_there_is_no_file_before_the_first_message(data):
    it = session()
    assert it.journal.id == ""
    assert it.journal.conversations.list() == []
    assert not data.exists()


def test_a_session_that_keeps_nothing_writes_nothing(data):
    it = asked(keep=False)
    assert it.journal.conversations is None
    assert it.journal.problem == ""
    assert not data.exists()
    with pytest.raises(SessionError, match="keep=True"):
        it.conversation.open("abc")


def test_what_was_written_is_never_written_again():
    it = session([said("One.")], [said("Two.")])
    drive(it.ask("1?"))
    first = file_of(it).read_bytes()
    drive(it.ask("2?"))
    it.undo()
    it.conversation.rename("Other")
    it.rate(it.messages[-1].id, "up")
    assert file_of(it).read_bytes().startswith(first)
    assert [each.content for each in kept(it).messages] == ["1?", "One."]
    assert kept(it).messages == it.messages
    assert kept(it).title == "Other"


def test_an_edit_and_a_retry_are_kept():
    it = session([said("One.")], [said("Two.")], [said("Three.")])
    drive(it.ask("1?"))
    drive(it.edit(it.turns[-1], "2?"))
    drive(it.retry(it.turns[-1]))
    assert [each.content for each in kept(it).messages] == ["2?", "Three."]


def test_edited_code_is_kept_as_it_ran():
    it = session([code("1")], [said("Ok.")])
    drive(it.ask("Go."), Decision(True, "2"))
    assert kept(it).messages == it.messages
    assert kept(it).messages[1].content == "2"
    assert [each.data["action"] for each in kept(it).events] == ["edit"]


def test_reset_begins_a_new_conversation_and_the_old_one_stays():
    it = asked("First?")
    first = it.journal.id
    it.reset()
    assert (it.journal.id, it.journal.title, it.journal.actions) == ("", "", [])
    drive(it.ask("Second?"))
    assert it.journal.id != first
    assert {each.title for each in it.journal.conversations.list()} == {"First?", "Second?"}
    assert [each.content for each in kept(it, first).messages] == ["First?", "That."]


def test_messages_of_which_nothing_stays_are_another_conversation():
    it = asked("First?")
    first = it.journal.id
    it.messages = [{"role": "user", "type": "message", "content": "Else"}]
    assert it.journal.id not in ("", first)
    assert [each.content for each in kept(it, first).messages] == ["First?", "That."]


def test_messages_that_are_given_back_stay_the_same_ones():
    it = asked("First?")
    before, size = it.messages[:], file_of(it).stat().st_size
    it.messages = [{k: each.to_dict()[k] for k in ("role", "type", "content")} for each in before]
    assert it.messages == before
    assert file_of(it).stat().st_size == size


def test_messages_that_somebody_assigns_are_written():
    it = asked("First?", [said("One.")], [said("Two.")])
    it.messages = [it.messages[0], Message("assistant", "message", content="Mine.")]
    drive(it.ask("Second?"))
    assert kept(it).messages == it.messages
    assert [each.content for each in it.messages] == ["First?", "Mine.", "Second?", "Two."]


def test_a_stopped_answer_is_kept_as_far_as_it_came():
    it = session([said("One "), said("two.")])
    reply = it.ask("Go.")
    next(reply)  # the start
    next(reply)
    it.stop()
    reply.close()
    assert kept(it).messages == it.messages
    assert it.messages[-1].extra["partial"] is True
    assert [each.data["action"] for each in kept(it).events] == ["stop"]
    assert file_of(it).with_suffix(".part").read_bytes() == b""
    folder = file_of(it).parent
    it.close()
    assert [path.suffix for path in folder.iterdir()] == [".jsonl"]


def test_turns_are_recorded():
    it = asked()
    lines = file_of(it).read_bytes().splitlines()
    turns = [each for each in map(json.loads, lines) if each["kind"] == "turn"]
    assert [(each["at"], each["where"]) for each in turns] == [(2, "cell")]
    assert turns[0]["seconds"] >= 0


class Counted(ScriptedModel):
    """Says what each of its requests took."""

    def with_record(self, record):
        self.record = record
        return self

    def respond(self, messages):
        request = Request("counted", {"messages": [each.to_dict() for each in messages]})
        self.record(request)
        yield from super().respond(messages)
        request.left_out = "The first message was left out."
        request.cached_tokens = 60
        request.end(70, 8, 0.25)


def test_what_a_turn_took_outlives_its_kernel_and_its_question_can_be_asked_again():
    image = Message("user", "image", "base64.png", "aGk=")
    it = Session(model=Counted([said("Now."), code("1")], [said("One.")]), computer=Machine())
    drive(it.ask("What?", attachments=[image]), Decision(True))
    drive(it.ask("Gone."))
    it.undo()
    [before] = it.turns
    id_ = it.journal.id
    it.close()

    another = session([said("Again.")])
    another.conversation.open(id_)
    [turn] = another.turns
    assert turn.over
    assert (turn.where, turn.model) == (before.where, before.model)
    assert turn.seconds == pytest.approx(before.seconds, abs=0.001)
    assert (turn.prompt_tokens, turn.completion_tokens, turn.cost) == (140, 16, 0.5)
    assert (turn.cached_tokens, turn.estimate) == (120, None)
    assert turn.left_out == "The first message was left out."
    assert [each.body for each in turn.requests] == [NO_BODY, NO_BODY]
    assert another.journal.cost == 0.75, "a turn that was undone was paid all the same"
    drive(another.retry(turn))
    assert [each.content for each in another.messages] == ["aGk=", "What?", "Again."]


@pytest.mark.parametrize(
    "change", [{"said": 1}, {"said": [1]}, {"seconds": -1}, {"requests": [[1, 2]]}]
)
def test_a_turn_that_says_nothing_is_no_good_line(change):
    turn = {
        "where": "cell",
        "model": "m",
        "seconds": 1.5,
        "said": ["a"],
        "anchor": "a",
        "requests": [[1, None, 0.5, 1.0]],
        "left_out": "",
    }
    head = {"kind": "head", "version": records.VERSION, "id": "i"}
    good, bad = records.Fold(), records.Fold()
    assert good.take(head)
    assert good.take({"kind": "turn", **turn})
    [request] = good.conversation.turns[0].requests
    assert request == (1, None, 0.5, 1.0, None, None), "a line of an older version"
    assert bad.take(head)
    assert not bad.take({"kind": "turn", **turn, **change})


class Looks(Watcher):
    """Reads the file whenever something is shown."""

    def __init__(self, it):
        self.it, self.seen, self.there = it, [], []

    def shown(self, chunk):
        if chunk.content is not None and chunk.format != "active_line":
            self.seen.append(chunk.content)
            self.there.append("".join(str(m.content) for m in kept(self.it).messages))


def test_everything_is_written_before_it_is_shown():
    it = session([said("a "), said("b "), code("c"), code("d")], [said("e"), said("f")])
    it.history.subscribe(looks := Looks(it))
    drive(it.ask("?"), Decision(True))
    assert looks.seen == ["a ", "b ", "c", "d", "done\n", "e", "f"] or looks.seen
    shown = "?"
    for text, there in zip(looks.seen, looks.there, strict=True):
        shown += text
        assert there.startswith(shown)


def test_code_that_runs_has_its_answer_in_the_file_before_it_begins():
    found = []

    class Looking(Machine):
        def run(self, language, code):
            found.append(kept(it).messages[-1])
            yield printed("ran")

    it = session([code("1")], [said("Ok.")], computer=Looking())
    drive(it.ask("Go."), Decision(True))
    assert [(m.role, m.content, m.extra["partial"]) for m in found] == [("computer", "", True)]


# The list -----------------------------------------------------------------------------------------


def test_the_list_says_what_each_is_newest_first(monkeypatch):
    first = asked("How many rows\nhas df?")
    second = asked("x" * 200)
    os.utime(file_of(first), (1, 1))
    found = second.journal.conversations.list()
    assert [each.title for each in found] == ["x" * 59 + "…", "How many rows"]
    assert [each.messages for each in found] == [2, 2]
    assert [each.model for each in found] == ["ScriptedModel", "ScriptedModel"]
    assert [each.held for each in found] == [True, True]
    assert found[1].changed.startswith("1970-01-01T00:00:01")
    assert [each.id for each in found] == [second.journal.id, first.journal.id]
    first.close()
    assert [each.held for each in second.journal.conversations.list()] == [True, False]


def test_a_file_that_is_as_it_was_is_not_read_again_and_another_is(monkeypatch):
    it, other = asked("Right?"), asked("Other?")
    read, conversations = [], Conversations()
    real = journal.read_bytes
    monkeypatch.setattr(journal, "read_bytes", lambda path: read.append(path) or real(path))
    first = conversations.list()
    assert sorted(read) == sorted([file_of(it), file_of(other)])
    assert conversations.list() == first
    assert len(read) == 2
    it.conversation.rename("Mine")
    assert {each.title for each in conversations.list()} == {"Mine", "Other?"}
    assert read[2:] == [file_of(it)]
    other.conversation.delete(other.journal.id)
    assert [each.title for each in conversations.list()] == ["Mine"]


def test_what_is_undone_does_not_give_the_title():
    it = session([said("One.")], [said("Two.")])
    drive(it.ask("Wrong?"))
    it.undo()
    drive(it.ask("Right?"))
    assert [each.title for each in it.journal.conversations.list()] == ["Right?"]
    assert it.journal.title == "Right?"


def test_search_looks_into_messages_and_titles():
    it = asked("Where is the Nadel?", [said("In the Heuhaufen, of \\course")])
    it.close()
    asked("Else?").close()
    conversations = Conversations()
    for word in ("nadel", "NADEL", "heuhaufen", "of \\course", "Where is"):
        (found,) = conversations.list(word)
        assert found.title == "Where is the Nadel?"
        assert word.casefold() in found.found.casefold()
    assert conversations.list("assistant") == []
    assert conversations.list("content") == []
    conversations.rename(it_id(conversations, "Else?"), "Something")
    assert [each.title for each in conversations.list("someth")] == ["Something"]


def it_id(conversations, title):
    return next(each.id for each in conversations.list() if each.title == title)


def test_search_does_not_find_what_was_undone_or_is_no_text():
    it = session([said("gone")], [said("there")])
    drive(it.ask("1?", attachments=[Message("user", "image", "base64.png", "Z29uZQ==")]))
    it.undo()
    drive(it.ask("2?", attachments=[Message("user", "image", "base64.png", "Z29uZQ==")]))
    assert it.journal.conversations.list("gone") == []
    assert it.journal.conversations.list("Z29uZQ") == []
    assert len(it.journal.conversations.list("there")) == 1


def test_a_person_names_one_by_number_id_or_title():
    first, second = asked("Alpha one?"), asked("Alpha two?")
    os.utime(file_of(first), (1, 1))
    find = first.journal.conversations.find
    assert find("1").title == "Alpha two?"
    assert find("2").title == "Alpha one?"
    assert find(first.journal.id).title == "Alpha one?"
    assert find(first.journal.id[:10]).title == "Alpha one?"
    assert find("alpha TWO?").title == "Alpha two?"
    assert find("one").title == "Alpha one?"
    with pytest.raises(SessionError, match=r"2 conversations match 'Alpha'.*choose one"):
        find("Alpha")
    with pytest.raises(SessionError, match="no conversation 'nix'"):
        find("nix")
    with pytest.raises(SessionError):
        find("")
    assert second.journal.id


def test_there_is_nothing_to_find_where_nothing_is(tmp_path):
    assert Conversations(tmp_path / "no").list() == []
    with pytest.raises(SessionError, match="no conversation is saved yet"):
        Conversations(tmp_path / "no").find("1")


# Open, fork, rename, delete -----------------------------------------------------------------------


def test_a_conversation_is_opened_and_goes_on_in_its_file():
    it = asked("First?")
    id_ = it.journal.id
    it.close()
    again = session([said("More.")])
    said_so = again.conversation.open(id_)
    assert "Opened 'First?' (2 messages)" in said_so
    drive(again.ask("Second?"))
    assert again.journal.id == id_
    assert [m.content for m in kept(again).messages] == ["First?", "That.", "Second?", "More."]
    assert len(again.journal.conversations.list()) == 1


def test_the_model_reads_once_that_a_conversation_goes_on_in_another_kernel(monkeypatch):
    it = asked()
    first = it.journal.id
    it.reset()
    it.conversation.open(first)
    drive(it.ask("Again?"))  # in the same kernel
    it.close()
    monkeypatch.setattr(current, "_LOADED", "2999-01-01T00:00:00+00:00")
    other = session([said("Yes.")], [said("Yes.")])
    other.conversation.open(first)
    count = len(other.messages)
    drive(other.ask("And now?"))
    note, question, _ = other.messages[count:]
    assert "goes on in another kernel" in note.content
    assert (note.recipient, question.content) == ("assistant", "And now?")
    drive(other.ask("And then?"))
    assert ["another kernel" in each.content for each in other.messages].count(True) == 1


def test_one_that_another_session_writes_is_opened_as_a_copy():
    it = asked("First?")
    other = session([said("Mine.")])
    copied = "This is a copy, because another kernel uses the original."
    assert copied in other.conversation.open(it.journal.id)
    assert [m.content for m in other.messages] == ["First?", "That."]
    assert other.journal.id == ""
    assert len(it.journal.conversations.list()) == 1  # there is no copy before something is said
    drive(other.ask("Second?"))
    assert other.journal.id not in ("", it.journal.id)
    assert [m.content for m in kept(it).messages] == ["First?", "That."]
    assert [m.content for m in kept(other).messages] == ["First?", "That.", "Second?", "Mine."]
    assert kept(other).title == "First? (copy)"


def test_what_was_allowed_is_not_allowed_in_another_conversation(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("x")
    it = asked("First?")
    id_ = it.journal.id
    it.reset()
    it.files.allow(file)
    it.conversation.open(id_)
    assert it.brief().files == ()


def test_code_at_the_end_waits_and_does_not_run_by_itself():
    it = session([code("1")], [said("Ok.")])
    reply = it.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    id_ = it.journal.id
    assert kept(it, id_).messages[-1].type == "code"
    other = session([said("Never.")])
    assert "waits for your decision" in other.conversation.open(id_)
    assert other.pending is not None
    reply.close()


@pytest.mark.parametrize("way", ["open", "take"])
def test_code_of_a_file_is_asked_for_even_where_code_runs_unasked(way):
    it = session()
    pending = Message("assistant", "code", "python", "evil()")
    it.conversation.take(Conversation([Message("user", "message", content="x"), pending]))
    id_ = it.journal.id
    it.close()
    other = session([code("fine()")], [said("Ok.")], auto_run=True)
    if way == "open":
        other.conversation.open(id_)
    else:
        other.conversation.take(kept(other, id_))
    verdicts = []

    class Sees(Watcher):
        def waits(self, proposal):
            verdicts.append((proposal.code, proposal.verdict))

    other.history.subscribe(Sees())
    drive(other.ask(None))
    assert verdicts == [("evil()", "ask"), ("fine()", "allow")]
    assert [m.content for m in other.messages][1:4] == [
        "evil()",
        "This code was not run: nobody answered.",
        "fine()",
    ]
    assert other.auto_run is True


def test_an_empty_conversation_has_no_copy():
    it = session()
    with pytest.raises(SessionError, match="the conversation is empty"):
        it.conversation.fork()
    assert it.journal.title == ""


def test_a_copy_leaves_the_other_as_it_is():
    it = asked("First?")
    first = it.journal.id
    said_so = it.conversation.fork()
    assert "copy of 'First?'" in said_so
    assert it.journal.id not in ("", first)
    drive(it.ask("Second?"))
    assert [m.content for m in kept(it, first).messages] == ["First?", "That."]
    assert len(kept(it).messages) == 4
    assert it.journal.title == "First? (copy)"
    said_so = it.conversation.fork(first)
    assert "Opened 'First? (copy)'" in said_so
    assert [m.content for m in it.messages] == ["First?", "That."]


def test_half_a_file_of_a_killed_kernel_is_taken_away_and_no_other():
    it = asked()
    folder, made = it.journal.conversations.folder, file_of(it)
    half = folder / f".{made.name}.4711"
    others = [folder / name for name in (f".{made.name}", ".x.jsonl.txt", f"{made.name}.4711")]
    for each in (half, *others):
        each.write_text("What?")
    it.journal.conversations.list()
    assert half.exists(), "whoever writes this conversation may be making it"
    it.close()
    assert [each.id for each in Conversations().list()] == [made.stem]
    assert not half.exists()
    assert all(each.exists() for each in (made, *others))


def test_an_emptied_one_that_is_left_is_nothing_that_the_next_kernel_could_go_on_with(tmp_path):
    it = session([said("That.")])
    it.journal.kernel = kernel = OfKernel(tmp_path / "kernel-1.json")
    drive(it.ask("What?"))
    assert kernel.id == it.journal.id
    it.conversation.fork()
    assert kernel.id == it.journal.id
    it.undo()
    it.reset()
    assert (kernel.id, it.journal.id) == ("", "")
    it.close()


def test_a_title_is_given_here_and_there():
    it = asked("First?")
    first = it.journal.id
    it.conversation.rename("  Mine\nand more ")
    assert it.journal.title == "Mine"
    it.reset()
    it.conversation.rename("Other", first)
    assert [each.title for each in it.journal.conversations.list()] == ["Other"]
    with pytest.raises(SessionError, match="empty"):
        it.conversation.rename(" ", first)
    with pytest.raises(SessionError, match="empty"):
        it.conversation.rename(" ")


def test_a_title_that_is_given_first_is_kept():
    it = session()
    it.conversation.rename("Plan")
    drive(it.ask("What?"))
    assert [each.title for each in it.journal.conversations.list()] == ["Plan"]


def test_a_conversation_is_deleted_with_all_that_lies_beside_it():
    it = asked("First?")
    first, folder = it.journal.id, it.journal.conversations.folder
    it.reset()
    for suffix in (".bad", ".part"):  # the first is of an older version
        (folder / f"{first}{suffix}").write_bytes(b"x")
    assert it.conversation.delete(first) == "Deleted 'First?'."
    assert [path.name for path in folder.iterdir() if path.name.startswith(first)] == []
    with pytest.raises(SessionError, match="no conversation"):
        it.conversation.delete(first)


def test_to_delete_this_one_begins_a_new_one():
    it = asked("First?")
    first = it.journal.id
    assert "A new conversation begins" in it.conversation.delete(first)
    assert (it.messages, it.journal.id) == ([], "")
    assert it.journal.conversations.list() == []
    drive(it.ask("Second?"))
    assert [each.title for each in it.journal.conversations.list()] == ["Second?"]


def test_one_that_is_written_elsewhere_is_neither_deleted_nor_renamed():
    it, other = asked("First?"), session()
    with pytest.raises(SessionError, match="another kernel"):
        other.conversation.delete(it.journal.id)
    with pytest.raises(SessionError, match="another kernel"):
        other.conversation.rename("Mine", it.journal.id)
    assert len(it.journal.conversations.list()) == 1


def test_nothing_is_opened_while_an_answer_is_given():
    it = asked("First?")
    first = it.journal.id
    it.reset()
    reply = it.ask("Second?")
    next(reply)
    for act in (
        lambda: it.conversation.open(first),
        it.conversation.fork,
        lambda: it.conversation.delete(it.journal.id),
    ):
        with pytest.raises(SessionError, match="while an answer is in progress"):
            act()
    reply.close()


# Thumbs -------------------------------------------------------------------------------------------


def test_a_thumb_is_kept_and_can_be_taken_back():
    it, told = asked(), []

    class Hears(Watcher):
        def edited(self, event):
            if isinstance(event, Marked):
                told.append(event.message.extra.get("feedback"))

    it.history.subscribe(Hears())
    answer = it.messages[-1].id
    for rating in ("up", "down", None):
        it.rate(answer, rating)
        assert kept(it).messages[-1].extra.get("feedback") == rating
        assert kept(it).messages == it.messages
    assert told == ["up", "down", None]
    for wrong in (it.messages[0].id, "nix"):
        with pytest.raises(SessionError, match="no longer"):
            it.rate(wrong, "up")
    with pytest.raises(SessionError, match="'up', 'down' or None"):
        it.rate(answer, "left")


def test_a_thumb_on_what_is_being_answered_waits():
    it = session([said("One.")], [said("Two."), code("1")])
    drive(it.ask("1?"))
    reply = it.ask("2?")
    while next(reply).type != "confirmation":
        pass
    it.rate(it.messages[1].id, "up")
    with pytest.raises(SessionError, match="wait"):
        it.rate(it.messages[3].id, "up")
    reply.close()
    assert kept(it).messages == it.messages


# Values -------------------------------------------------------------------------------------------


def test_a_conversation_goes_into_a_session_and_comes_out_again():
    events = [Action(1, {"action": "run", "time": "2026-01-01T00:00:00+00:00"})]
    messages = [
        Message("user", "message", content="Hi", id="a", created_at="2026"),
        Message("assistant", "message", content="Ho", id="b", created_at="2026"),
    ]
    taken = Conversation(
        messages, "Title", "gpt", "2025-01-01", "n.ipynb", events, {"glm": {"x": [1]}}
    )
    it = asked("First?")
    it.conversation.take(taken)
    assert it.conversation.value() == taken
    assert kept(it) == replace(taken, notebook=""), "a file claims no notebook of this person"
    assert len(it.journal.conversations.list()) == 2
    assert it.messages is not messages


def test_an_agent_whose_code_ran_is_not_the_model_of_a_conversation():
    it = asked("First?")
    drive(it.offer("python", "1", by="Claude Code"), Decision(True))
    [listed] = it.journal.conversations.list()
    assert (listed.model, kept(it).model) == ("ScriptedModel", "ScriptedModel")


def test_a_conversation_that_nothing_is_known_of_has_what_there_is():
    it = asked("First?")
    found = it.conversation.value()
    assert (found.title, found.model) == ("First?", "ScriptedModel")
    assert found.began
    asked_, answer = found.messages
    assert asked_ == it.messages[0]
    assert set(answer.extra) == {"completion_time"}, "what its reply took"
    assert replace(answer, extra={}) == it.messages[1]


# Files of strangers -------------------------------------------------------------------------------


def hostile(folder: Path) -> list[str]:
    """Files that somebody put there; their ids."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    head = {"kind": "head", "version": 1, "id": "x", "began": ""}
    good = records.line(head)
    deep = b'{"kind":"event","at":0,"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    strange = {**said("x").to_dict(), "id": {"a": 1}}
    bad = {
        "empty": b"",
        "bytes": bytes(range(256)) * 50,
        "no-head": records.line({"kind": "message", "message": {}}),
        "version": records.line({**head, "version": 99}),
        "head-types": records.line({**head, "id": 5}),
        "list": b"[]\n",
        "deep-head": b"[" * 100_000 + b"\n",
        "in-a-list": records.line({"crc": 0, "rec": [head]}),
        "deep": good + deep,
        "number": good + b'{"kind":"back","to":' + b"9" * 5000 + b"}\n",
        "far": good + records.line({"kind": "back", "to": 5}),
        "minus": good + records.line({"kind": "back", "to": -1}),
        "unhashable": good + records.line({"kind": "message", "message": strange}),
        "kind": good + records.line({"kind": ["a"]}),
        "data": good + records.line({"kind": "event", "at": 0, "data": 5}),
        "set": good + records.line({"kind": "mark", "id": "x", "set": [1]}),
        "extra": good + records.line({"kind": "extra", "extra": "x"}),
        "title": good + records.line({"kind": "title", "title": {"a": 1}}),
    }
    for name, data in bad.items():
        (folder / f"{name}.jsonl").write_bytes(data)
    (folder / "folder.jsonl").mkdir()
    names = [*bad, "folder", "gone"]
    if os.name == "posix":
        os.mkfifo(folder / "pipe.jsonl")
        (folder / "link.jsonl").symlink_to("/etc/passwd")
        (folder / "loop.jsonl").symlink_to("loop.jsonl")
        names += ["pipe", "link", "loop"]
    return names


def test_files_of_strangers_give_sentences(data):
    it = asked("Mine?")
    names = hostile(it.journal.conversations.folder)
    titles = [each.title for each in it.journal.conversations.list()]
    assert "Mine?" in titles
    assert it.journal.conversations.list("mine")[0].title == "Mine?"
    before, sentences = it.messages[:], []
    for name in names:
        other = session()
        try:
            other.conversation.open(name)
        except SessionError as error:
            sentences.append(str(error))
        assert other.messages == []
        other.close()
    assert it.messages == before
    assert len(sentences) >= 9
    assert max(map(len, sentences)) < 500
    for name in ("../x", "", ".", "a/b", "A" * 70, "x\n", None, 5):
        with pytest.raises(SessionError):
            it.conversation.open(name)
    for name in names:
        with suppress(SessionError):
            it.conversation.delete(name)
    assert Path("/etc/passwd").exists() or os.name != "posix"
    assert it.messages == before


# Two who write ------------------------------------------------------------------------------------

WRITER = """
import sys
sys.path.insert(0, {tests!r})
from scripted import ScriptedModel, said
from lmc_jupyter import Session
from lmc_jupyter.conversation import disk
if sys.argv[4:]:  # without the lock, and without a look whether somebody else has written
    from types import SimpleNamespace
    from lmc_jupyter.conversation.journal import Journal
    disk.calls.lock = lambda path: SimpleNamespace(release=lambda: None)
    Journal._size = property(
        lambda self: disk.calls.status(self._descriptor).st_size, lambda self, size: None
    )
turns = int(sys.argv[3])
session = Session(model=ScriptedModel(*[[said(str(n))] for n in range(turns * 5)]))
session.conversation.open(sys.argv[1])
print("open", flush=True)
input()
for n in range(turns):
    for _ in session.ask(f"{{sys.argv[2]}} {{n}}"):
        pass
print(session.journal.id)
"""
WRITERS = "abcd"


def write_at_once(turns: int, *words: str) -> list[str]:
    """The conversation that each process has in the end: all open the same one, then all write."""
    it = asked("First?")
    id_ = it.journal.id
    it.close()
    root = Path(lmc_jupyter.__file__).parents[1]
    script = WRITER.format(tests=str(Path(__file__).parents[1]))
    env = {**os.environ, "PYTHONPATH": str(root)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, id_, name, str(turns), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
        )
        for name in WRITERS
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "open\n"
    for process in processes:
        process.stdin.write("go on\n")
        process.stdin.flush()
    ids = []
    for process in processes:
        with process:
            ids.append(process.communicate()[0].strip())
        assert process.returncode == 0
    return ids


def lost(ids: list[str], turns: int) -> int:
    """How many questions are not where their process has put them."""
    missing = 0
    for id_, name in zip(ids, WRITERS, strict=True):
        found = Conversations().read(id_)
        questions = [m.content for m in found.messages if m.role == "user"]
        wanted = [f"{name} {n}" for n in range(turns)]
        missing += sum(a != b for a, b in zip_longest(questions[-turns:], wanted))
        missing += len(found.losses)
    return missing


def test_of_processes_that_write_at_once_one_has_the_file_and_the_others_copies(
    data, record_property
):
    turns = amount(15, 300)
    ids = write_at_once(turns)
    assert len(set(ids)) == len(ids)
    assert lost(ids, turns) == 0
    lines = sum(len(Conversations().path(id_).read_bytes().splitlines()) for id_ in ids)
    record_property("figure", f"{len(ids)} processes, {lines:,} records: 0 lost, 0 torn, one owner")


def test_control_without_the_lock_they_write_into_one_file(data, record_property):
    turns = 15
    ids = write_at_once(turns, "without the lock")
    assert len(set(ids)) < len(ids)
    assert lost(ids, turns) > 0
    record_property("figure", f"{lost(ids, turns)} of {len(ids) * turns} questions lost")


@POSIX
def test_a_fork_of_the_process_writes_nothing_and_holds_nothing(data):
    it = asked("First?")
    path, into_out = file_of(it), os.pipe()
    size = path.stat().st_size
    child = os.fork()
    if not child:
        drive(it.ask("In the child?"))
        os.write(into_out[1], b"said")
        os.read(into_out[0], 0)
        os._exit(0 if "fork" in it.journal.problem else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert path.stat().st_size == size
    drive(it.ask("Here?"))
    assert it.journal.problem == ""
    assert kept(it).messages == it.messages


def test_messages_that_are_assigned_are_synced_once(monkeypatch):
    syncs = []
    monkeypatch.setattr(disk.calls, "sync", syncs.append, raising=False)
    it = session()
    it.messages = [
        message
        for number in range(50)
        for message in (
            Message("user", "message", content=f"{number}?"),
            Message("assistant", "code", "python", f"{number}"),
            Message("computer", "console", "output", f"{number}\n"),
        )
    ]
    assert len(syncs) < 5
    assert kept(it).messages == it.messages


def test_a_file_that_was_taken_away_while_a_message_streams_is_no_trouble_with_the_disk():
    it, told = session([said("One "), said("two "), said("three")]), []

    class Told(Watcher):
        def saved(self, problem):
            told.append(problem)

    it.history.subscribe(Told())
    for chunk in it.ask("What?"):
        if chunk.content == "One ":
            file_of(it).unlink()
            it.conversation.rename("Mine")
    assert told == []
    assert kept(it).messages == it.messages


def test_code_that_got_words_of_the_user_while_it_waits_can_still_be_edited():
    it = session([code("1")], [said("Ok.")])
    reply = it.ask("Go.")
    next(chunk for chunk in reply if chunk.type == "confirmation")
    it.glm.set_feedback(it.messages[-1].id, "nice")
    drive_on = [reply.send(Decision(True, "2")), *reply]
    assert drive_on
    assert it.messages[1].content == "2"
    assert it.messages[1].extra["feedback"] == "nice"


def test_a_question_that_is_asked_again_takes_its_place_in_one_piece(monkeypatch):
    """A kill in between would leave neither."""
    it = asked("What?", [said("That.")], [said("This.")])
    pieces = []
    append = Journal.append

    def written(journal, rest):
        pieces.append([each["kind"] for each in rest])
        append(journal, rest)

    monkeypatch.setattr(Journal, "append", written)
    drive(it.retry(it.turns[-1]))
    assert pieces[0] == ["back", "message"]
    assert kept(it).messages == it.messages
