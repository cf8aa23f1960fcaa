"""The question as the front end draws it: nothing in its head is hidden either."""

from __future__ import annotations

import io

from scripted import ScriptedModel, code, said

from lmc_jupyter.computer import Computer
from lmc_jupyter.frontends.question import question
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.frontends.view import play
from lmc_jupyter.gate import Proposal
from lmc_jupyter.session import Session

LANGUAGE = "p\u0443thon\u202e"
MARKED = "p⟨U+0443⟩thon⟨U+202E⟩"


def test_a_language_s_name_in_a_question_has_its_hidden_characters_marked():
    uses = frozenset({"r\u200b"})
    proposal = Proposal("id", "t", "b", LANGUAGE, "f()", "", "ask", "", False, uses)
    assert question(proposal)["language"] == f"{MARKED} + r⟨U+200B⟩"


def test_a_language_s_name_in_a_terminal_has_its_hidden_characters_marked():
    out = io.StringIO()
    session = Session(ScriptedModel([code("f()", LANGUAGE)], [said("Well.")]), Computer())
    play(session.ask("Go."), TextView(session, out, None))
    assert f"── {MARKED} ──" in out.getvalue()
