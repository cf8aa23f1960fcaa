"""The answers that are asked for in a panel: each is begun here, and driven to its end.

One rule: one answer at a time, on a thread of its own. Whoever waits for the person in it (a block
of code for a click, a program for a line, a page for its report) waits no longer when it is
stopped or over.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, Protocol

from lmc_jupyter.agent import Reply
from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.context.question import pointed_cells
from lmc_jupyter.conversation.events import Configured, Ended, Event, Stopping, TurnLike
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.frontends.config.first_cells import notice
from lmc_jupyter.frontends.inputs import Inputs
from lmc_jupyter.frontends.magic.commands import Commands, model
from lmc_jupyter.frontends.panel import about_cell
from lmc_jupyter.frontends.panel.attachments import messages_of
from lmc_jupyter.frontends.panel.ledger import read_choice
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.panel.wire import text
from lmc_jupyter.frontends.question import decision, is_covered, is_for_all
from lmc_jupyter.frontends.screen import PanelScreen
from lmc_jupyter.frontends.view import play
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.kernel.between_cells import between_cells
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.session import Session
from lmc_jupyter.turn.prompt import EVERY_CELL

_ENDING_SECONDS = 2.0  # an answer that the panel was told is over may still be putting things away
_QUEUE_SECONDS = 60.0  # for the next question of the queue, which nobody waits for
ANSWERED = ("ask", "retry", "edit", *about_cell.WISHES)
"""What of protocol.ts a model answers."""

_BUSY = (
    "another answer is in progress in this kernel: wait for it or stop it, then send again; "
    "your text stays here"
)


class Driver:
    """Drives the answers of one panel, and is the `Front` of the commands that are typed there.

    Parameters
    ----------
    commands : the commands of the panel's session
    mirror : shows what becomes of an answer
    start_thread : does this on a new thread
    do_soon : does this on another thread; one step that no Ctrl-C leaves half done (see `Inputs`)
    after_cells : does this once the cells that wait now have run
    """

    shows_notes = True

    def __init__(
        self,
        commands: Commands,
        mirror: Mirror,
        start_thread: Callable[[Callable[[], None]], None],
        do_soon: Callable[[Callable[[], None]], None],
        after_cells: Callable[[Callable[[], None]], None],
    ) -> None:
        self._commands, self._session, self._mirror = commands, commands.session, mirror
        self._start_thread, self._do_soon = start_thread, do_soon
        self._after_cells = after_cells
        self._answering = threading.Lock()  # held from the question to the end of its answer
        self._view: _PanelView | None = None
        self._key: Inputs | None = None  # while a command asks for a key
        self._offered_to_fetch = ""
        self._is_urgent = False  # what stands first in the queue is asked after the stop
        self._is_withdrawn = False  # nobody of the panel has stopped it
        self._session.queue.on_change = mirror.queue_changed
        self._unsubscribe = self._session.history.subscribe(self._hear)

    # What the front end says ----------------------------------------------------------------------

    def answer(self, content: Mapping[str, Any]) -> None:
        """Begin the answer that a front end asks for (see `ANSWERED`).

        Raises
        ------
        LMCError
            When it cannot begin now.
        """
        session, kind = self._session, content.get("kind")
        if kind == "retry":
            self.retry(self._mirror.turn(content.get("turn")))
            return
        cells = read_choice(content.get("choice"), self._commands.cells)
        if kind in about_cell.WISHES:
            asked = about_cell.question(session, kind, about_cell.read_cell(content))
            if isinstance(asked, str):  # a cell that is asked about goes, whatever was unticked
                named = pointed_cells(asked, session.prompt.cells(), cells)
                cells = replace(cells, left_out=cells.left_out - named)
            if isinstance(asked, str) and session.busy:
                self._queue(asked, cells)
            else:
                self._begin(lambda: session.ask(asked, where="panel", cells=cells))
            return
        question = text(content, "text")
        if kind == "edit":
            turn = self._mirror.turn(content.get("turn"))
            self._begin(
                lambda: session.edit(turn, question, where="panel", insert=True, cells=cells)
            )
            return
        attachments = content.get("attachments") or []
        for each in (self._commands.place, self._commands.tool_files):
            if each is not None and (offer := each.offer_once()):  # the file is new, or has changed
                self._mirror.note(offer)

        def ask() -> Reply:
            attached = messages_of(attachments, session.files.folder) if attachments else []
            asked = None if attached and not question.strip() else question
            return session.ask(asked, attachments=attached, where="panel", insert=True, cells=cells)

        self._begin(ask)

    def change_queue(self, content: Mapping[str, Any]) -> None:
        """What the person does with the questions that wait ("queue" of protocol.ts).

        Raises
        ------
        LMCError
            When the question has been asked already, or has no word.
        """
        waiting, entry = self._session.queue, text(content, "entry")
        match content.get("do"):
            case "add":
                cells = read_choice(content.get("choice"), self._commands.cells)
                self._queue(text(content, "text"), cells)
            case "edit":
                waiting.edit(entry, text(content, "text"))
            case "remove":
                waiting.remove(entry)
            case "move":
                to = content.get("to")
                waiting.move(entry, to if isinstance(to, int) else 0)
            case "now":
                waiting.move(entry, 0)
                self._is_urgent = self._session.busy
                if self._is_urgent:
                    self.stop()
                else:
                    self._ask_next()
            case what:
                raise LMCError(f"the queue does not know {what!r}: reload the page")

    def _queue(self, question: str, cells: CellChoice) -> None:
        """Put a question in the queue; where the end of the answer has looked there already, it is
        asked. The mirror hears of that end before `_hear`, and the session is busy a moment longer.
        """
        self._session.queue.add(question, cells=cells)
        if self._mirror.over or not self._session.busy:
            self._start_thread(self._ask_next)

    def _hear(self, event: Event) -> None:
        """At the end of an answer the next question in the queue is asked."""
        if isinstance(event, Ended):
            is_urgent, self._is_urgent = self._is_urgent, False
            is_withdrawn, self._is_withdrawn = self._is_withdrawn, False
            is_wanted = is_urgent or is_withdrawn or not (event.error or self._session.stopped)
            if not (is_wanted and self._session.queue.entries):
                return
            if is_urgent or event.turn.where != "cell":
                self._start_thread(self._ask_next)
            else:  # a cell that waits behind this one keeps its place
                self._after_cells(lambda: self._start_thread(self._ask_next))

    def _ask_next(self) -> None:
        """Ask the first question of the queue, where there is one."""
        try:
            self._session.queue.ask_first(
                lambda entry: self._begin(
                    lambda: self._session.ask(
                        entry.text, where="panel", insert=True, cells=entry.cells
                    ),
                    _QUEUE_SECONDS,
                )
            )
        except LMCError as error:  # it stays in the queue
            self._mirror.note(f"The next question could not be asked: {error}.", "error")

    def decide(self, content: Mapping[str, Any]) -> None:
        """A click on a question whether code runs."""
        view = self._view
        if view is not None:
            view.decide(content)

    def enter(self, content: Mapping[str, Any]) -> None:
        """A line that the person has typed for a program, or a key."""
        for inputs in self._inputs():
            inputs.answer(content)

    def report(self, content: Mapping[str, Any]) -> None:
        """What became of a page; whoever waits for that is told."""
        view, at = self._view, content.get("at")
        code = self._mirror.page(at) if view is not None else None
        if view is None or code is None or not isinstance(at, int):
            return
        if view.screen.pages.receive(code, content.get("page")) is not None:
            self._mirror.page_heard(at)

    def offer(self, ask: Callable[[], Reply], guest: Guest) -> bool:
        """Offer code of an agent, and drive that turn to its end, on this thread.

        Returns
        -------
        False while another answer is in progress: nothing has begun then.
        """
        if self._session.busy or not self._answering.acquire(blocking=False):
            return False
        try:
            reply = None if self._session.busy else ask()
        except BaseException:
            self._answering.release()
            raise
        if reply is None:
            self._answering.release()
            return False
        self._drive(reply, guest)
        return True

    def withdraw(self, guest: Guest, reason: str, *, stop: bool = True) -> None:
        """Take the code of this agent away: if it waits for the person, they are asked no longer;
        if it runs, it is stopped, unless `stop` is False. Anybody else's answer goes on.
        """
        view = self._view
        if view is None or view.guest is not guest:
            return
        if not view.withdraw(reason) and stop and guest.runs:
            self._is_withdrawn = True
            self._session.stop()

    def stop(self) -> None:
        """Stop the answer that is being given, wherever it was asked for, and ask for no key."""
        self._stop_key()
        self._session.stop()

    def close(self) -> None:
        """The panel goes: an answer that is driven here is stopped, and no key is asked for."""
        self._unsubscribe()
        self._stop_key()
        if self._view is not None:
            self._session.stop()

    def _stop_key(self) -> None:
        key = self._key
        if key is not None:
            key.close()

    # What a command asks for ----------------------------------------------------------------------

    def ask(self, question: str | Message, insert: bool) -> bool:
        cells = EVERY_CELL if insert else None
        self._begin(lambda: self._session.ask(question, where="panel", insert=insert, cells=cells))
        return False

    def resume(self) -> None:
        self._begin(lambda: self._session.ask(where="panel"))

    def retry(self, turn: TurnLike) -> None:
        self._begin(lambda: self._session.retry(turn, where="panel"))

    def show_panel(self) -> None:
        """It is here already."""

    def choose(self, name: str, api_base: str | None) -> str:
        """Choose a model. One that must be fetched is chosen twice: the first time it is said."""
        sentences: list[str] = []
        again, self._offered_to_fetch = self._offered_to_fetch == name, ""
        try:
            answer = model.choose(
                self._commands,
                name,
                api_base,
                ask=(lambda _: "yes") if again else None,
                say=sentences.append,
                progress=self._mirror.show_progress,
            )
        finally:
            self._mirror.show_progress("")
        if sentences and not again:
            self._offered_to_fetch = name
            raise LMCError(f"{' '.join(sentences)} To fetch it now, choose it once more.")
        return answer

    def progress(self, text: str) -> None:  # noqa: ARG002 - the panel's Stop is for answers
        raise SessionError("this takes its time: type it in a cell, where Stop ends it")

    def secret(self, name: str) -> str:
        """A key that nobody sees; it goes to the kernel alone. "" where none is typed."""
        if self._key is not None:
            raise SessionError("a key is asked for already: type it in the field above")
        key = self._key = Inputs(self._input_changed)
        try:
            return key.ask(name, password=True, key=True)
        except EOFError:
            return ""
        finally:
            self._key = None
            self._input_changed()

    # The fields into which the person types -------------------------------------------------------

    def _inputs(self) -> list[Inputs]:
        """Who may ask the person for a line: the code that runs, and a command."""
        view = self._view
        return [*filter(None, (None if view is None else view.screen.inputs, self._key))]

    def _input_changed(self) -> None:
        self._do_soon(self._show_input)

    def _show_input(self) -> None:
        inputs = self._inputs()
        self._mirror.input(inputs[0].current(*inputs[1:]) if inputs else None)

    # An answer ------------------------------------------------------------------------------------

    def _begin(self, ask: Callable[[], Reply], patience: float | None = None) -> None:
        """Ask, and drive the answer on a thread of its own."""
        if patience is None:
            patience = _ENDING_SECONDS if self._mirror.over else 0.0
        if not self._answering.acquire(timeout=patience):
            raise SessionError(_BUSY)
        try:
            if not self._session.wait(patience):
                raise SessionError(_BUSY)
            reply = ask()
            if words := notice(self._session):
                self._mirror.note(words)
            self._start_thread(lambda: self._drive(reply))
        except BaseException:
            self._answering.release()
            raise

    def _drive(self, reply: Reply, guest: Guest | None = None) -> None:
        try:
            with self._lend(guest) as view, between_cells():
                play(reply, view)
        except SessionError as error:  # another answer has begun since it was asked
            self._mirror.note(f"this question has no answer yet: {error}", "error")
        except (LMCError, KeyboardInterrupt):
            return  # the mirror shows what ended it
        except Exception as error:  # noqa: BLE001 - the thread ends here
            self._mirror.note(f"{type(error).__name__}: {error}", "error")
        finally:
            self._answering.release()

    @contextmanager
    def _lend(self, guest: Guest | None) -> Iterator[_PanelView]:
        """The view of an answer; until its end, whoever needs the person or the panel has it."""
        computer = self._session.computer
        view = _PanelView(
            self._session, self._mirror, PanelScreen(Inputs(self._input_changed)), guest
        )
        python: Any = computer.languages.get("python")
        waits = hasattr(python, "on_wait")
        unsubscribe = self._session.history.subscribe(view.hear)
        try:
            self._view, computer.screen = view, view.screen
            if waits:
                python.on_wait = self._note_wait
            with self._mirror.driving(view.screen.pages.is_awaited):
                yield view
        finally:
            unsubscribe()
            if waits:
                python.on_wait = None
            self._view = computer.screen = None
            view.screen.inputs.close()

    def _note_wait(self, waits: bool) -> None:
        self._mirror.show_progress("waiting for the running cell" if waits else "")


class Guest(Protocol):
    """An agent outside the notebook, whose code is offered in a turn."""

    @property
    def runs(self) -> bool:
        """Whether its code runs now."""
        ...

    def is_covered(self, proposal: Proposal) -> bool:
        """Whether the person has said yes to this code before."""
        ...

    def wait(self, waits: bool) -> None:
        """Its code begins to wait for the person, or waits no longer."""
        ...

    def allow_all(self) -> None:
        """The person lets all of its code run that comes next."""
        ...


class _PanelView:
    """The view of one answer: the mirror draws, this one waits for the person's clicks."""

    def __init__(
        self, session: Session, mirror: Mirror, screen: PanelScreen, guest: Guest | None
    ) -> None:
        self.screen = screen
        """What the panel lends to the code of the answer."""
        self.guest = guest
        """The agent whose code it is; None where a model answers."""
        self._session, self._mirror = session, mirror
        self._decisions: queue.SimpleQueue[Decision | Literal["stop", "outdated"]]
        self._decisions = queue.SimpleQueue()
        self._proposal: Proposal | None = None  # while the person is asked about it
        self._all = False  # the person has said yes to the rest of the answer
        self._withdrawn = ""  # why nobody need be asked any more

    def show(self, chunk: Chunk) -> None:
        """The mirror has drawn it already."""

    def confirm(self, chunk: Chunk) -> Decision | None:  # noqa: ARG002 - the gate has the code
        """Wait for the person's click."""
        proposal = self._session.gate.pending
        if proposal is None:
            return None
        if proposal.verdict == "allow" or (self._is_covered(proposal) and not self._withdrawn):
            return Decision(True, asked=False)
        self._proposal = proposal
        self._mirror.ask(proposal)
        if self.guest is not None:
            self.guest.wait(True)
        try:
            if self._withdrawn:  # before the question was open
                return Decision(False, reason=self._withdrawn)
            answer = self._decisions.get()
        finally:
            self._proposal = None
            self._mirror.unask()
            if self.guest is not None:
                self.guest.wait(False)
        if answer == "stop":
            raise Stopped("stopped before the code was run")
        return None if answer == "outdated" else answer

    def _is_covered(self, proposal: Proposal) -> bool:
        if self.guest is not None:
            return self.guest.is_covered(proposal)
        return self._all and is_covered(proposal)

    def withdraw(self, reason: str) -> bool:
        """Ask the person no longer, from any thread; returns whether they were being asked."""
        self._withdrawn = reason
        proposal, self._proposal = self._proposal, None
        if proposal is not None:
            self._decisions.put(Decision(False, reason=reason))
        return proposal is not None

    def decide(self, content: Mapping[str, Any]) -> None:
        """A click, on any thread; the first answer to a question counts."""
        proposal = self._proposal
        answer = decision(content, proposal) if proposal is not None else None
        if answer is not None:
            self._proposal = None
            if is_for_all(content):
                self._all = True
                if self.guest is not None:
                    self.guest.allow_all()
            self._decisions.put(answer)

    def hear(self, event: Event) -> None:
        """A stop ends every wait, and another policy that of its code; told on any thread."""
        if isinstance(event, Stopping):
            self._decisions.put("stop")
            self.screen.stop()
        proposal = self._proposal
        if not isinstance(event, Configured) or proposal is None:
            return
        if self._session.gate.is_outdated(proposal):
            self._proposal = None
            self._decisions.put("outdated")

    def fail(self, error: BaseException) -> None:
        """The mirror shows it."""

    def close(self) -> None:
        """There is nothing to leave."""
