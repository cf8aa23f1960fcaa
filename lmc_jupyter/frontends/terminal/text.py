"""The answer in a terminal: text as it streams, code between rules, a question on the keyboard.

One rule: foreign text reaches the terminal without its control characters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

from lmc_jupyter.content import remarks, shorten, terminal
from lmc_jupyter.content.chat import place_of_cell
from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.events import Event
from lmc_jupyter.conversation.history import History
from lmc_jupyter.errors import Stopped
from lmc_jupyter.frontends.cell.card import missing_of, missing_text
from lmc_jupyter.frontends.cell.html import page_text, visible
from lmc_jupyter.frontends.effect_words import plain_text
from lmc_jupyter.frontends.question import by_keyboard
from lmc_jupyter.frontends.states import span
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.lmc import Chunk, Message, Note, cell_of, is_code
from lmc_jupyter.session import Session

FOR_MODEL = 100
"""Characters of a note to the model."""

_READ: dict[str | None, Callable[[str], str]] = {"html": page_text, "markdown": terminal.plain}
"""Formats that a terminal cannot draw -> the function that reads their text."""


class TextView:
    """A view on a text stream.

    Parameters
    ----------
    session : whose answer it shows
    out : where it writes
    ask : asks on the keyboard (`input`); None where nobody can answer
    history : whose events it reads; by default the session's
    """

    def __init__(
        self,
        session: Session,
        out: TextIO,
        ask: Callable[[str], str] | None = input,
        history: History | None = None,
    ) -> None:
        self._session, self._out, self._ask = session, out, ask
        self._is_answer = history is not None  # else what comes before the answer is not of it
        self._open = self._is_shown = False  # a message is being written; and is shown here
        self._code: str | None = None  # the last block, as it was shown
        self._language = ""  # of the code that was asked about
        self._runs_natively = False  # the shell shows the output of python itself
        self._at_line_start = True
        self._has_note = False
        self._left_out, self._stopped = "", "[stopped]\n"
        self._unwatch = (session.history if history is None else history).subscribe(self)

    def __call__(self, event: Event) -> None:
        """Write what has happened."""
        match event:
            case events.Began():
                self._is_answer = True
            case events.Grown(chunk):
                self._grow(chunk)
            case events.Appended(_, message) | events.Rewritten(_, message) if self._is_answer:
                self._take(message)
            case events.Noted(text):
                self._note(text)
            case events.Waits(proposal):
                self._language = proposal.language
            case events.Runs():
                language = self._session.computer.languages.get(self._language)
                self._runs_natively = getattr(language, "native", False)
            case events.Became(fate, seconds) if fate != "running":
                self._runs_natively = False
                if fate == "stopped":
                    self._stopped = f"[stopped after {span(seconds)}]\n"
            case events.Marked(_, message) if missing := missing_of(message):
                self._line()
                self._write(f"[{missing_text(missing)}]\n")
            case events.Ended(turn):
                self._left_out, self._is_answer = turn.left_out, False

    def show(self, chunk: Chunk) -> None:
        """Nothing: the events have drawn it."""

    def confirm(self, chunk: Chunk) -> Decision | None:  # noqa: ARG002 - the gate holds the code
        """Ask y or n; where nobody can be asked, nothing runs, and it says so."""
        proposal = self._session.gate.pending
        if proposal is None:
            return None
        if proposal.verdict == "allow":
            self._show_effects(proposal)
            return Decision(True)
        if self._ask is None:
            self._show_effects(proposal)
            return Decision(False, reason="nobody can be asked here")
        self._show_if_it_was_not(proposal)
        self._show_effects(proposal)
        self._out.flush()
        decision = by_keyboard(self._ask, proposal)
        self._at_line_start = True
        return decision

    def fail(self, error: BaseException) -> None:
        """Write that the answer was stopped; an error is raised where the question was asked."""
        self._forget_note()
        self._line()
        if isinstance(error, (KeyboardInterrupt, Stopped)):
            self._write(self._stopped)

    def close(self) -> None:
        self._unwatch()
        self._line()
        for note in filter(None, (self._left_out, self._session.journal.news())):
            self._write(f"[{terminal.plain(note)}]\n")
        self._out.flush()

    def stop(self) -> None:
        """Nothing: only the keyboard waits here, and Ctrl-C interrupts it."""

    def _grow(self, chunk: Chunk) -> None:
        """The next chunk of a message."""
        if chunk.start:
            is_native = self._runs_natively and chunk.role == "computer"
            self._open, self._is_shown = True, chunk.recipient != "assistant" and not is_native
        if not self._is_shown or _is_read(chunk) or chunk.format == "active_line":
            return
        if chunk.start:
            self._begin(chunk)
        if chunk.content is not None:
            self._write(_readable(chunk))
        if chunk.end:
            self._line()

    def _take(self, message: Message) -> None:
        """A message is whole: one that was written, or a remark of the loop."""
        was_open, self._open = self._open, False
        if message.role == "computer" and message.content:
            if _is_read(message) and self._is_shown:
                words = _READ[message.format](message.content)
                self._whole(message, words or f"[{message.format}: it is seen in a notebook only]")
            elif not was_open:
                text = _readable(message)
                is_note = isinstance(message, Note)
                text = remarks.for_person(text) if is_note else text
                if is_note and message.recipient == "assistant":
                    text = f"[for the model: {shorten.line(' '.join(text.split()), FOR_MODEL)}]"
                self._whole(message, text)
        elif is_code(message):
            self._code = message.content if self._is_shown else None

    def _whole(self, message: Message, text: str) -> None:
        self._begin(message)
        self._write(text)
        self._line()

    def _begin(self, head: Chunk | Message) -> None:
        """Begin a message on a line of its own."""
        self._forget_note()
        self._line()
        if head.type == "code" and not _is_read(head):
            name = visible(head.format or "code")
            if (head.role, head.recipient) == ("assistant", "user"):
                name = f"{name}, proposed for {place_of_cell(cell_of(head))}, not run here"
            self._write(f"── {name} ──\n")

    def _show_if_it_was_not(self, proposal: Proposal) -> None:
        """Show code of an earlier answer: nobody says yes to code that is not there."""
        if self._code is None or self._code.replace("\r\n", "\n") != proposal.code:
            self._begin(Message("assistant", "code", proposal.language, proposal.code))
            self._write(visible(proposal.code))
            self._line()
        self._code = None

    def _show_effects(self, proposal: Proposal) -> None:
        if proposal.effects:
            self._forget_note()
            self._line()
            self._write(f"[{plain_text(proposal.effects)}]\n")

    def _note(self, text: str) -> None:
        """Write what the model waits for, until other text replaces it."""
        self._forget_note()
        if self._out.isatty() and os.environ.get("TERM") != "dumb":
            self._out.write(f"[{terminal.plain(text)}]")
            self._has_note = True
            self._out.flush()

    def _forget_note(self) -> None:
        if self._has_note:
            self._out.write("\r\x1b[K")
            self._has_note = False

    def _line(self) -> None:
        if not self._at_line_start:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._at_line_start = text.endswith("\n")


def _is_read(part: Chunk | Message) -> bool:
    """Whether it is for a browser, and here its words are read, such as a table's."""
    return part.role == "computer" and part.format in _READ


def _readable(part: Chunk | Message) -> str:
    if part.type == "code":
        return visible(part.content)
    if part.type in ("message", "console"):
        return terminal.plain(part.content)
    if part.type == "file" or part.format == "path":
        return f"[{part.type}: {terminal.plain(part.content)}]"
    return f"[{part.type}]"
