"""Where an answer is played: the cell of a kernel, or a terminal.

One rule: this is the only place that decides which view, on which thread, and who can be asked.
A view and what it draws with (a Markdown parser, lexers) are imported with the first answer.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from lmc_jupyter.agent import Reply
from lmc_jupyter.content import terminal
from lmc_jupyter.errors import LMCError, Stopped
from lmc_jupyter.frontends.screen import CellScreen
from lmc_jupyter.frontends.view import play
from lmc_jupyter.kernel.display import CellDisplay
from lmc_jupyter.kernel.frontend import can_ask, kernel_of, parent_of, shows_updates
from lmc_jupyter.kernel.mailbox import Mailbox
from lmc_jupyter.kernel.runner import run_blocking
from lmc_jupyter.lmc import is_proposal
from lmc_jupyter.session import Session


class Interrupted(KeyboardInterrupt):
    """The kernel's interrupt button, without the traceback of our own frames."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the answer was stopped; the text so far stays"]


class LiveDisplay:
    """The front end of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._kernel = kernel_of(shell)
        self._mailbox: Mailbox | None = None
        self.closing: list[Callable[[], None]] = []
        """Called when the extension is unloaded."""

    @property
    def ask(self) -> Callable[[str], str] | None:
        """Asks on the keyboard, on the main thread; None where nobody can be asked."""
        if self._kernel is not None and not can_ask(self._kernel):
            return None
        return _input

    def secret(self, prompt: str) -> str:
        """Ask for a word that nobody sees, on the main thread.

        Raises
        ------
        LMCError
            Where nobody can be asked.
        """
        if self.ask is None:
            raise LMCError("nobody can be asked for a key here: put it into the environment")
        return _read_line(prompt, True)

    def play(self, session: Session, reply: Reply) -> None:
        """Show a whole answer and return when it is over.

        Raises
        ------
        LMCError
            What ended it too early.
        Interrupted
            After the kernel's interrupt.
        """
        try:
            if self._kernel is None:
                from lmc_jupyter.frontends.terminal.text import TextView

                play(reply, TextView(session, sys.stdout, self.ask))
            else:
                self._play_in_cell(session, reply)
        except KeyboardInterrupt:
            raise Interrupted from None
        if self._kernel is None or not shows_updates(parent_of(self._kernel)):
            self._load_proposals(session)

    def _load_proposals(self, session: Session) -> None:
        """In a terminal, what the model has proposed is the next input, as after `%recall`."""
        sources: list[str] = []
        for message in session.messages:
            if message.role == "user":
                sources.clear()
            elif is_proposal(message):
                sources.append(terminal.plain(message.content))
        if sources:
            self._shell.set_next_input("\n\n".join(sources))

    def _play_in_cell(self, session: Session, reply: Reply) -> None:
        from lmc_jupyter.frontends.cell.asking import Prompter
        from lmc_jupyter.frontends.cell.cell import CellView

        display, mailbox, may_type = CellDisplay.here(), self.mailbox, can_ask(self._kernel)
        # buttons need a comm and no keyboard, which a server that runs the cell does not offer
        is_shown = may_type or mailbox.has_received or mailbox.has_page
        display.repeats_updates = is_shown and not may_type and not display.shows_updates
        person = partial(Prompter, mailbox) if is_shown else None
        view = CellView(session, display, person, self.ask)
        was_interrupted = False

        def stop() -> None:
            nonlocal was_interrupted
            was_interrupted = True
            view.stop()
            session.stop()

        poll = self._mailbox.poll if self._mailbox is not None else None
        computer: Any = session.computer
        if lends := hasattr(computer, "screen"):

            def typed(prompt: str, password: bool) -> str:
                """Read on the main thread, which the worker waits for."""
                return view.read_line(partial(_read_line, prompt, password))

            keyboard = None if self.ask is None else typed
            computer.screen = CellScreen(view.pages, view.has_browser, keyboard)
        try:
            run_blocking(lambda: play(reply, view), stop=stop, poll=poll)
        except Stopped:
            if not was_interrupted:
                raise
        finally:
            if lends:
                computer.screen = None
            if self._mailbox is not None:
                self._mailbox.release()
        if was_interrupted:  # the kernel's own button: the cells that wait behind must not run
            raise KeyboardInterrupt

    def show(self, bundle: dict[str, Any]) -> None:
        """Show a mime bundle in the cell that runs."""
        CellDisplay.here().show(bundle)

    @property
    def mailbox(self) -> Mailbox:
        """Where messages of our widgets come in, one for the kernel.

        Raises
        ------
        LMCError
            Where there is no kernel.
        """
        if self._kernel is None:
            if "marimo" in sys.modules:
                raise LMCError(
                    "the panel needs a Jupyter kernel, and marimo has none: ask in a cell with "
                    "`for chunk in OpenInterpreter().chat(QUESTION, stream=True)`"
                )
            raise LMCError(
                "there is no Jupyter kernel here: the panel needs a notebook; "
                "in a terminal ask with %%lmc"
            )
        if self._mailbox is None:
            self._mailbox = Mailbox.of(self._kernel)
        return self._mailbox

    def close(self) -> None:
        """Remove our patches of the kernel."""
        while self.closing:
            self.closing.pop()()
        if self._mailbox is not None:
            self._mailbox.uninstall()
            self._mailbox = None


def _input(question: str) -> str:
    return input(question)


def _read_line(prompt: str, password: bool) -> str:
    return getpass.getpass(prompt) if password else input(prompt)
