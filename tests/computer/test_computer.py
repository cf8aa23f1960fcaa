"""Languages by name and alias."""

from __future__ import annotations

import pytest

from lmc_jupyter.computer import Availability, Computer, default_computer
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.errors import ComputerError, UnknownLanguageError
from lmc_jupyter.lmc import Chunk


class Echo:
    """A language that says its code."""

    def __init__(self, name="echo", aliases=("say",)):
        self.name, self.aliases = name, aliases
        self.closed = self.stopped = 0

    def run(self, code):
        yield Chunk("computer", "console", "output", f"{self.name}: {code}")

    def stop(self):
        self.stopped += 1

    def close(self):
        self.closed += 1


def said(pieces):
    return [piece.content for piece in pieces]


@pytest.mark.parametrize("word", ["echo", "ECHO", " Echo ", "say", "SAY"])
def test_a_language_is_found_by_any_of_its_words(word):
    assert said(Computer(Echo()).run(word, "hi")) == ["echo: hi"]


@pytest.mark.parametrize("word", ["bash", "sh", "zsh", "Shell"])
def test_the_words_of_the_protocol_are_known_for_every_language(word):
    assert said(Computer(Echo("shell", ())).run(word, "ls")) == ["shell: ls"]


def test_of_two_with_one_name_the_later_is_used():
    computer, second = Computer(Echo()), Echo(aliases=("speak",))
    computer.register(second)
    assert computer.languages == {"echo": second}
    assert said(computer.run("speak", "hi")) == ["echo: hi"]


def test_a_word_may_be_taken_over_by_another_language():
    computer = Computer(Echo(), Echo("loud", aliases=("say",)))
    assert said(computer.run("say", "hi")) == ["loud: hi"]


def test_an_unknown_language_is_said_at_the_call_with_those_there_are():
    with pytest.raises(UnknownLanguageError, match=r"no language 'cobol': it has echo"):
        Computer(Echo()).run("cobol", "x")
    with pytest.raises(UnknownLanguageError, match=r"no language 'cobol': it has none"):
        Computer().uses("cobol", "x")


def test_words_are_told_for_the_model():
    computer = Computer(Echo("shell", aliases=("mysh",)), Echo())
    assert computer.words() == {"shell": ("mysh", "bash", "sh", "zsh"), "echo": ("say",)}


def test_stop_and_close_reach_every_language():
    one, two = Echo(), Echo("two")
    computer = Computer(one, two)
    computer.close()
    assert [(each.stopped, each.closed) for each in (one, two)] == [(1, 1), (1, 1)]


def test_uses_is_the_language_itself_and_what_it_says():
    both = Echo()
    both.uses = lambda code: ["Bash", "r"] if "!" in code else []
    computer = Computer(both)
    assert computer.uses("say", "x") == {"echo"}
    assert computer.uses("say", "!") == {"echo", "shell", "r"}


def test_the_default_computer_has_python_and_a_shell_and_starts_nothing():
    computer = default_computer()
    assert list(computer.languages)[:2] == ["python", "shell"]
    assert computer.languages["python"].native is True
    assert computer.uses("py", "!ls") == {"python", "shell"}
    computer.close()


def test_a_language_of_ones_own_takes_the_place_of_what_its_word_meant():
    class Own:
        name = "node"
        aliases = ()

        def run(self, code):
            yield Chunk("computer", "console", "output", f"own: {code}")

        def close(self): ...

    computer = Computer(Own())
    for word in ("node", "javascript"):
        assert [chunk.content for chunk in computer.run(word, "1")] == ["own: 1"]


# What can run here --------------------------------------------------------------------------------


class Absent(Echo):
    """A language whose program is not installed."""

    def availability(self):
        return Availability("by absent 1.0", "there is no absent on the PATH: install absent")


def test_a_language_that_cannot_run_here_says_what_to_install_and_what_there_is():
    computer = Computer(Echo(), Absent("gone", ("away",)))
    for ask in (computer.run, computer.uses):
        with pytest.raises(UnknownLanguageError, match=r"install absent\. This computer has echo$"):
            ask("away", "x")


def test_a_language_that_fails_to_tell_breaks_no_other():
    broken = Echo("broken")
    broken.availability = lambda: 1 / 0
    computer = Computer(Echo(aliases=()), broken)
    assert computer.words() == {"echo": ()}
    assert "ZeroDivisionError" in computer.availability()["broken"].missing
    with pytest.raises(UnknownLanguageError, match=r"Echo\.availability\(\) failed"):
        computer.run("broken", "x")


def test_only_what_can_run_is_told_to_the_model():
    hinted = Echo("sums")
    hinted.hint = "one sum a block"
    computer = Computer(Echo(), Absent("gone"), hinted)
    assert list(computer.words()) == ["echo", "sums"]
    assert computer.hints(computer.words()) == {"echo": "", "sums": "one sum a block"}
    assert {name: bool(it) for name, it in computer.availability().items()} == {
        "echo": True, "gone": False, "sums": True,
    }  # fmt: skip


def test_a_language_whose_place_is_taken_is_closed():
    first, second = Echo(), Echo()
    computer = Computer(first)
    computer.register(second)
    computer.register(second)
    assert (first.closed, second.closed) == (1, 0)


def test_what_is_installed_is_looked_for_when_it_is_asked_for_and_not_before():
    looks = []

    def search(there, gives_way):
        looks.append((sorted(there), sorted(gives_way)))
        return [Echo("late", ())] if "late" not in there else []

    computer = Computer(Echo(), search=search)
    computer.register(Echo("weak", ()), gives_way=True)
    computer.run("echo", "x")
    computer.stop()
    computer.close()
    assert looks == []
    assert said(computer.run("late", "hi")) == ["late: hi"]
    assert looks == [(["echo", "say", "weak"], ["weak"])]
    assert list(computer.languages) == ["echo", "weak", "late"]


class Half:
    name = "half"

    def run(self, code):
        yield code


@pytest.mark.parametrize(
    ("language", "says"),
    [
        (Echo, r"Echo is a class: register an object of it, Echo\(\)"),
        (Half(), "Half is no language: it lacks aliases, close"),
        (Echo(""), "the name of Echo is ''"),
        (
            Echo("sums", "total"),
            r"are 'total': .* as in aliases = \(\"mirror\",\)",
        ),
        (Echo("sums", None), "the aliases of Echo are None"),
        (Echo("sums", (1,)), r"the aliases of Echo are \(1,\)"),
    ],
)
def test_what_is_no_language_is_refused_and_breaks_nothing(language, says):
    computer = Computer(Echo())
    with pytest.raises(ComputerError, match=says):
        computer.register(language)
    assert list(computer.languages) == list(computer.words()) == ["echo"]


def test_the_loss_of_what_a_block_made_is_no_loss_of_the_person_s(shell):
    shell.run_cell("mine = 1")
    python = LivePython(shell)
    for _ in python.run("theirs = [1]"):
        pass
    found = {each.name: each.is_theirs for each in python.effects("mine = theirs = 2")}
    assert found == {"mine": True, "theirs": False}


def test_that_code_only_reads_is_said(shell):
    computer = Computer(LivePython(shell))
    (effect,) = computer.effects("python", "print(1)")
    assert (effect.kind, effect.detail) == ("reads", "only reads, and shows output")


def test_of_code_that_is_no_python_it_is_said_that_it_does_not_run(shell):
    (effect,) = Computer(LivePython(shell)).effects("python", "ages.clear()\nif (")
    assert (effect.kind, effect.name) == ("reads", "")
    assert "no valid Python" in effect.detail


def test_variables_of_loops_are_not_listed_among_what_code_creates():
    computer = default_computer()
    code = "import json\nfor i in 'ab':\n    b = i\nfor c in b:\n    c = 1"
    found = [(each.kind, each.name) for each in computer.effects("python", code)]
    assert found == [("makes", "b"), ("makes", "c")]
    [only] = computer.effects("python", "for i in 'ab':\n    print(i)")
    assert only.kind == "reads"
