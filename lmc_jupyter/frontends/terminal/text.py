"""The answer in a terminal: text as it streams, code between rules, a question on the keyboard.

One rule: foreign text reaches the terminal without its control characters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

from lmc_jupyter.content import terminal
from lmc_jupyter.conversation.events import Turn
from lmc_jupyter.errors import Stopped
from lmc_jupyter.frontends.cell.html import page_text, visible
from lmc_jupyter.frontends.question import by_keyboard
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.session import Session
from lmc_jupyter.turn.turns import Watcher

_READ: dict[str | None, Callable[[str], str]] = {"html": page_text, "markdown": terminal.plain}
"""What the computer shows and a terminal can only read, and how its words are found."""


class TextView:
    """A view on a text stream.

    Parameters
    ----------
    session : whose answer it shows
    out : where it writes
    ask : asks on the keyboard (`input`); None where nobody can answer
    """

    def __init__(
        self, session: Session, out: TextIO, ask: Callable[[str], str] | None = input
    ) -> None:
        self._session, self._out, self._ask = session, out, ask
        self._runs_natively = False
        self._let_run = False
        self._ran: Proposal | None = None
        self._code: list[str] = []  # of the last block, as it was shown
        self._page: list[str] = []  # what the computer shows, as far as it has come
        self._at_line_start = True
        self._noted = False
        session.notify = self._waits_for
        self._left_out = _LeftOut()
        self._unwatch = session.watch(self._left_out)

    def show(self, chunk: Chunk) -> None:
        """Write the next chunk."""
        if chunk.type == "confirmation" or chunk.recipient == "assistant":
            return
        if self._let_run and chunk.role == "computer":
            self._let_run = False  # the gate may refuse all the same: an edit, another policy
            self._runs_natively = self._runs_natively and self._session.gate.ran is not self._ran
        if chunk.format == "active_line":
            self._runs_natively = self._runs_natively and chunk.content is not None
            return
        if self._runs_natively and chunk.role == "computer":
            return  # the shell shows the output of python itself
        if chunk.role == "computer" and chunk.format in _READ:
            self._shows(chunk)
            return
        if chunk.start:
            self._forget_note()
            self._line()
            if chunk.type == "code":
                self._head(chunk.format or "code")
        if chunk.type == "code" and chunk.role == "assistant" and chunk.content is not None:
            self._code.append(chunk.content)
        if chunk.content is not None:
            self._write(self._readable(chunk))
        if chunk.end:
            self._line()

    def confirm(self, chunk: Chunk) -> Decision | None:  # noqa: ARG002 - the gate holds the code
        """Ask y or n; where nobody can be asked, nothing runs, and it says so."""
        proposal = self._session.gate.pending
        if proposal is None:
            return None
        if proposal.verdict == "allow":
            decision = Decision(True)
        elif self._ask is None:
            decision = Decision(False, reason="nobody can be asked here")
        else:
            self._show_if_it_was_not(proposal)
            self._out.flush()
            decision = by_keyboard(self._ask, proposal)
            self._at_line_start = True
        self.decided(decision)
        return decision

    def decided(self, decision: Decision) -> None:
        """Whoever it was has decided on the code that waits: know who shows what it prints."""
        proposal = self._session.gate.pending
        if proposal is not None and decision.run:
            language = self._session.computer.languages.get(proposal.language)
            self._runs_natively = getattr(language, "native", False)
            self._let_run, self._ran = True, self._session.gate.ran
            self._out.flush()

    def fail(self, error: BaseException) -> None:
        """A stop is said here; an error is raised where the question was asked."""
        self._forget_note()
        self._line()
        if isinstance(error, (KeyboardInterrupt, Stopped)):
            self._write("[stopped]\n")

    def close(self) -> None:
        self._unwatch()
        self._line()
        for note in filter(None, (self._left_out.said, self._session.unsaved_news())):
            self._write(f"[{terminal.plain(note)}]\n")
        self._out.flush()

    def stop(self) -> None:
        """Nothing waits here but the keyboard, which hears Ctrl-C itself."""

    def _shows(self, chunk: Chunk) -> None:
        """What the computer shows is for a browser: here its words are read, such as a table's."""
        if chunk.start:
            self._page = []
        if chunk.content is not None:
            self._page.append(chunk.content)
        if chunk.end:
            self._forget_note()
            self._line()
            words = _READ[chunk.format or ""]("".join(self._page))
            self._write(words or f"[{chunk.format}: it is seen in a notebook only]")
            self._line()

    def _head(self, language: str) -> None:
        self._code = []
        self._write(f"── {visible(language)} ──\n")

    def _show_if_it_was_not(self, proposal: Proposal) -> None:
        """Code of an earlier answer is asked about too: nobody says yes to what is not there."""
        if "".join(self._code).replace("\r\n", "\n") != proposal.code:
            self._line()
            self._head(proposal.language)
            self._write(visible(proposal.code))
            self._line()
        self._code = []

    def _readable(self, chunk: Chunk) -> str:
        if chunk.type == "code":
            return visible(chunk.content)
        if chunk.type in ("message", "console"):
            return terminal.plain(chunk.content)
        if chunk.type == "file" or chunk.format == "path":
            return f"[{chunk.type}: {terminal.plain(chunk.content)}]"
        return f"[{chunk.type}]"

    def _waits_for(self, note: str) -> None:
        self._forget_note()
        if self._out.isatty() and os.environ.get("TERM") != "dumb":
            self._out.write(f"[{terminal.plain(note)}]")
            self._noted = True
            self._out.flush()

    def _forget_note(self) -> None:
        if self._noted:
            self._out.write("\r\x1b[K")
            self._noted = False

    def _line(self) -> None:
        if not self._at_line_start:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._at_line_start = text.endswith("\n")


class _LeftOut(Watcher):
    """Hears what of the conversation the model did not see."""

    said = ""

    def ended(self, turn: Turn, error: BaseException | None) -> None:  # noqa: ARG002
        self.said = turn.left_out
