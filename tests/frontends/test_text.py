"""The terminal view, on a stream that remembers: what stands there when a question is asked."""

from __future__ import annotations

import io
import re

import pytest
from scripted import EchoComputer, ScriptedModel, code, said

from lmc_jupyter.computer import Computer
from lmc_jupyter.errors import CallError
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.frontends.view import play
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.session import Session


class Echo:
    """A language that says what it ran."""

    name, aliases = "python", ()

    def run(self, code):
        yield from EchoComputer().run(self.name, code)

    def close(self): ...


def session_of(*replies) -> Session:
    return Session(ScriptedModel(*replies), Computer(Echo()))


def shown_when_asked(session: Session, question: str | None) -> str:
    out, seen = io.StringIO(), []

    def ask(_: str) -> str:
        seen.append(out.getvalue())
        return "n"

    play(session.ask(question), TextView(session, out, ask))
    assert len(seen) == 1
    return seen[0]


def test_code_that_was_stopped_says_so_once_and_how_long_it_ran():
    class Stops(Echo):
        def run(self, code):
            yield Chunk("computer", "console", "output", f"{code}\n")
            raise KeyboardInterrupt

    out = io.StringIO()
    session = Session(ScriptedModel([code("1")]), Computer(Stops()))
    with pytest.raises(KeyboardInterrupt):
        play(session.ask("Go."), TextView(session, out, lambda _: "y"))
    assert re.search(r"1\n\[stopped after 0\.\d s\]\n$", out.getvalue())
    assert out.getvalue().count("stopped") == 1


def test_code_stands_there_once_when_it_is_asked_about():
    seen = shown_when_asked(session_of([code("6*"), code("7")], [said("Well.")]), "Go.")
    assert seen == "── python ──\n6*7\n"


def test_what_code_will_do_stands_there_before_it_is_asked_about():
    seen = shown_when_asked(
        session_of([code("y = 6*7\nopen('a.txt', 'w')")], [said("Well.")]), "Go."
    )
    assert seen.endswith("\n[creates `y` · writes `a.txt`]\n")


def test_what_code_will_do_is_said_where_nobody_can_be_asked():
    out = io.StringIO()
    session = session_of([code("y = 6*7")], [said("Well.")])
    play(session.ask("Go."), TextView(session, out, None))
    assert "[creates `y`]\n" in out.getvalue()


def test_code_of_an_earlier_answer_is_shown_again_before_it_is_asked_about():
    session = session_of([code("6*7")], [said("Well.")])
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    reply.close()
    assert shown_when_asked(session, None) == "── python ──\n6*7\n"


def test_code_that_a_model_hides_from_the_person_is_shown_before_it_is_asked_about():
    hidden = Chunk("assistant", "code", "python", "6*7", "assistant", end=True)
    assert "6*7" in shown_when_asked(session_of([hidden], [said("Well.")]), "Go.")


def test_a_language_s_name_brings_no_escapes_to_the_terminal():
    out = io.StringIO()
    session = session_of([code("1", "\x1b]0;title\x07\x1b[2Jpy")], [said("Well.")])
    play(session.ask("Go."), TextView(session, out, None))
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()


class Shows:
    """A language that shows HTML, as SQL does a table and HTML itself."""

    name, aliases = "html", ()

    def run(self, code):
        yield Chunk("computer", "code", "html", code, "user", end=True)

    def close(self): ...


def read(source: str) -> str:
    out = io.StringIO()
    session = Session(
        ScriptedModel([code(source, "html")], [said("Well.")]), Computer(Shows()), auto_run=True
    )
    play(session.ask("Go."), TextView(session, out, None))
    return out.getvalue()


def test_of_a_page_its_words_are_read_and_its_source_stands_there_once():
    source = "<table>\n<tr>\n<td>Graz</td>\n<td>5</td></tr><tr><td>Linz</td><td>2</td></tr></table>"
    assert read(source) == f"── html ──\n{source}\nGraz 5\nLinz 2\nWell.\n"


def test_a_page_without_words_is_seen_in_a_notebook_only():
    source = "<canvas></canvas>"
    shown = "[html: it is seen in a notebook only]"
    assert read(source) == f"── html ──\n{source}\n{shown}\nWell.\n"


def test_of_a_wrong_call_one_line_says_what_the_model_reads():
    class Mends:
        count = 0

        def respond(self, messages):
            self.count += 1
            if self.count == 1:
                yield Chunk("assistant", "message", content="I look.")
                raise CallError(
                    f"The model called 'view_figure', which is no tool.\n{'Form. ' * 40}"
                )
            yield Chunk("assistant", "message", content="Done.")

    out = io.StringIO()
    session = Session(Mends())
    play(session.ask("Go."), TextView(session, out, None))
    before, line, after = out.getvalue().splitlines()
    assert (before, after) == ("I look.", "Done.")
    assert line.startswith("[for the model: The model called 'view_figure', which is no tool.")
    assert len(line) <= 120
