"""The answer in a cell's output: one display per message, updated in place while it streams.

One rule: it draws under its own cell whatever else runs, and what it leaves at the end is
static HTML that needs no kernel. It never draws what the kernel itself shows (the output of
python), only what nobody else would.

It reads the events of the conversation. What is drawn stands in `card`, `painter` draws it, and
`asking` waits for the person.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lmc_jupyter.content.error_text import fails
from lmc_jupyter.context.parts import of_question
from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.events import Event
from lmc_jupyter.errors import LMCError, Stopped
from lmc_jupyter.frontends.cell import html
from lmc_jupyter.frontends.cell.asking import Asker, Prompter
from lmc_jupyter.frontends.cell.card import WAITS, Card, fresh, missing_of, missing_text
from lmc_jupyter.frontends.cell.painter import Painter, bundle, usage
from lmc_jupyter.frontends.question import effects_of_edit, is_covered
from lmc_jupyter.frontends.screen import Pages
from lmc_jupyter.frontends.states import SHORTEST_SPAN, is_over, span
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.kernel.display import CellDisplay
from lmc_jupyter.lmc import Chunk, Message, canonical
from lmc_jupyter.session import Session


class CellView:
    """A view in a notebook cell.

    Parameters
    ----------
    session : whose answer it shows
    display : where it draws
    person : makes the buttons, given what wakes this view; None where there can be none
    ask : asks on the keyboard, where there are no buttons; None where that is not allowed
    """

    def __init__(
        self,
        session: Session,
        display: CellDisplay,
        person: Callable[[Callable[[], None]], Prompter] | None = None,
        ask: Callable[[str], str] | None = None,
    ) -> None:
        self._session = session
        self._painter = Painter(session, display, person)
        self._line = self._painter.line
        self._asker = Asker(self._painter, ask)
        self.pages = Pages()
        """The pages that the answer waits for."""
        self._open: Card | None = None  # the message that is being written
        self._code: Card | None = None  # the last block of code
        self._runs_natively = False
        self._calling: list[Any] = []  # languages that call us when their code clears the output
        self._left_out = ""
        self._failure: BaseException | None = None
        self._of_panel = session.busy
        self._is_answer = False  # what is put into the conversation before is not of it
        self._line.draw()
        self._unwatch = session.history.subscribe(self)
        self._painter.start(self._listen, self._fail)

    # Events of the conversation -------------------------------------------------------------------

    def __call__(self, event: Event) -> None:
        """Draw an event, unless it belongs to an answer that the panel shows."""
        if isinstance(event, events.Began):
            self._of_panel, self._is_answer = event.turn.where != "cell", True
            self._line.turn = None if self._of_panel else event.turn
            for question in event.turn.said if not self._of_panel else ():
                if of_question(question):
                    self._end(self._add(Card(question, self._session.history)))
        if isinstance(event, events.Stopping):
            self.stop()
        elif not self._of_panel:
            try:
                self._hear(event)
            except Exception as error:  # noqa: BLE001 - it is raised by `close`
                self._fail(error)

    def _hear(self, event: Event) -> None:
        match event:
            case events.Grown(chunk):
                self._grow(chunk)
            case events.Appended(_, message) | events.Rewritten(_, message) if self._is_answer:
                self._take(message)
            case events.Noted(text):
                self._line.enter(self._line.state, text)
            case events.Answered(_, decision) if decision is not None and decision.run:
                self._begin()
            case events.Runs():
                self._run()
            case events.Became("not run"):
                self._over(None)
            case events.Became("stopped", seconds):
                words = f"stopped after {span(seconds)}"
                self._over(words, "stopped")
                if self._painter.display.repeats_updates:  # its card stands as it was
                    row = bundle(html.note_html(words.capitalize()), words.capitalize())
                    self._painter.display.show(row, fresh())
            case events.Became("ran" | "ran unasked" | "edited", seconds) if self._has_failed():
                took = f"failed after {span(seconds)}" if seconds >= SHORTEST_SPAN else "failed"
                self._over(took, "failed")
            case events.Became("ran" | "ran unasked" | "edited", seconds):
                self._over(span(seconds) if seconds >= SHORTEST_SPAN else "")
            case events.NamesChanged(names) if self._code is not None:
                self._code.names = names
                if self._painter.display.repeats_updates:  # its card stands as it was
                    row = bundle(html.names_html(names), html.names_text(names))
                    self._painter.display.show(row, fresh())
                self._painter.soil(self._code)
            case events.Marked(_, message) if missing := missing_of(message):
                self._underline(message, missing)
            case events.Ended(turn):
                self._line.usage = usage(turn)
                self._left_out, self._is_answer = turn.left_out, False

    def _grow(self, chunk: Chunk) -> None:
        """The next chunk of a message."""
        if chunk.format == "active_line":
            if self._code is not None and chunk.content is not None:
                self._code.active_line = chunk.content
                self._painter.soil(self._code)
            return
        if chunk.start:
            self._open = self._add(Card(chunk, self._session.history))
            self._open.is_native = self._runs_natively and chunk.role == "computer"
        card = self._open
        if card is None:
            return
        if chunk.content is not None and card.is_shown:
            self._painter.soil(card)
        elif chunk.content is not None:
            self._painter.flush(card)  # the first words at once, without a change of threads
            if card.head.role == "assistant":
                self._line.enter("writing")
        if chunk.end:
            self._end(card)

    def _take(self, message: Message) -> None:
        """A message is whole: one that was written, an edited block, or a remark of the loop."""
        card = self._open
        if card is not None:
            card.message = message
            self._end(card)
        elif message.role == "assistant" and self._code is not None:
            self._code.message = message
            self._painter.flush(self._code)
        elif message.role == "computer" and message.content:
            self._end(self._add(Card(message, self._session.history)))

    def _begin(self) -> None:
        """The code may run: it waits for a cell, and the gate may still refuse it."""
        if self._code is not None:
            self._line.enter("running")
            if not self._painter.display.repeats_updates:
                self._code.runs_since = time.monotonic()
                self._painter.flush(self._code)

    def _run(self) -> None:
        """The code is about to run, as it stands now."""
        if self._code is not None and self._painter.display.repeats_updates:
            self._painter.flush(self._code)
        name = "" if self._code is None else self._code.head.format or ""
        language: Any = self._session.computer.languages.get(canonical(name))
        self._runs_natively = getattr(language, "native", False)
        if self._runs_natively:
            self._asker.may_clear = False
        if hasattr(language, "on_clear"):
            language.on_clear = self._painter.draw_again
            language.on_traceback = self._fold
            self._calling.append(language)

    def _fold(self, traceback: str) -> None:
        """Show the whole of a traceback, folded: the cell shows its short form."""
        inner = html.details("The whole traceback", html.console_html(traceback))
        self._painter.display.show(bundle(inner, ""), fresh())

    def _underline(self, message: Message, missing: list[str]) -> None:
        """Numbers of the closing words stand in no output."""
        cards = self._painter.cards
        card = next(
            (each for each in cards if each.message and each.message.id == message.id), None
        )
        if card is None:
            return
        card.message = message
        if self._painter.updates_are_seen:
            self._painter.flush(card)
        else:  # its card stands as it was
            text = missing_text(missing)
            self._painter.display.show(bundle(html.note_html(text.capitalize()), text), fresh())

    def _has_failed(self) -> bool:
        """Whether the output of the last code says that it failed."""
        cards = self._painter.cards
        if (code := self._code) is None or code not in cards:
            return False
        behind = cards[cards.index(code) + 1 :]
        texts = [each.text for each in behind if each.head.type == "console"]
        return any(fails(text, code.head.format) for text in texts)

    def _over(self, remark: str | None, outcome: str = "") -> None:
        """The code is over, or None: it does not run; `outcome` is "failed", "stopped" or ""."""
        if (card := self._code) is None:
            return
        words = filter(None, (card.status, remark))
        card.status = "not run" if remark is None else " · ".join(words)
        card.outcome = outcome
        card.runs_since = card.active_line = None
        if self._runs_natively:  # not at the next words, which are to be seen at once
            self._painter.display.flush()
            self._runs_natively = False
        self._painter.flush(card)
        self._line.enter("thinking")

    # Calls of `play` ------------------------------------------------------------------------------

    def show(self, chunk: Chunk) -> None:
        """Nothing: the events have drawn it."""

    def confirm(self, chunk: Chunk) -> Decision | None:  # noqa: ARG002 - the gate holds the code
        """Ask by buttons, else on the keyboard; where neither is possible it is not run."""
        proposal = self._session.gate.pending
        if proposal is None:
            return None
        card = self._code_card(proposal)
        card.effects = proposal.effects
        if proposal.verdict == "allow" or (self._asker.all and is_covered(proposal)):
            card.status = "ran without asking"
            return Decision(True, asked=False)
        self._line.enter("waiting")
        card.status = WAITS
        decision = self._asker.decide(proposal, card)
        is_edit = decision.code is not None and decision.code != proposal.code
        card.status = "you edited and ran this" if is_edit else "you ran this"
        if decision.run:
            card.effects = ()
        return decision

    def fail(self, error: BaseException) -> None:
        """The state becomes Stopped or Failed; the sentence itself is raised in the cell."""
        was_stopped = isinstance(error, (KeyboardInterrupt, Stopped))
        self._line.enter("stopped" if was_stopped else "failed")

    def close(self) -> None:
        """Leave a static record, and end the thread."""
        if not is_over(self._line.state):
            self._line.enter("stopped" if self._session.stopped else "done")
        self._unwatch()
        for language in self._calling:
            language.on_clear = language.on_traceback = None
        for card in self._painter.cards:
            if card.is_code and not card.status:
                card.status, card.is_final = "not run", False
        self._painter.close()
        for note in filter(None, (self._left_out, self._session.journal.news())):
            self._painter.display.show(bundle(html.note_html(note), f"[{note}]"), fresh())
        self._line.close()
        if self._painter.prompter is not None:
            self._painter.prompter.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Somebody pressed Stop: from any thread. A question that is open is not answered."""
        self._asker.stop()
        self.pages.stop()
        self._painter.wake()

    def has_browser(self) -> bool:
        """Whether a browser shows this cell; see `Asker.somebody_presses`."""
        return self._asker.somebody_presses()

    def read_line(self, read: Callable[[], str]) -> str:
        """A line that code asks for; see `Asker.read_line`."""
        return self._asker.read_line(read)

    # Cards ----------------------------------------------------------------------------------------

    def _add(self, card: Card) -> Card:
        self._painter.cards.append(card)
        if card.is_code:
            self._code = card
        return card

    def _end(self, card: Card) -> None:
        """The message is whole."""
        self._open, card.over = None, True
        if card.is_page and self._painter.is_here:
            self._frame(card)
        self._painter.flush(card)
        if card.head.role == "assistant":
            self._line.enter("thinking")

    def _frame(self, card: Card) -> None:
        """HTML gets a live frame; JavaScript, where somebody waits for it."""
        is_awaited = self.pages.is_awaited(card.text)
        if not is_awaited and html.table_html(card.text) is not None:
            return  # it needs no frame
        if card.head.format == "html" or is_awaited:
            assert self._painter.prompter is not None
            # what nobody waits for, a plain table, may still be loading when the answer is over
            card.page, card.works = self._painter.prompter.page(), not is_awaited

    def _code_card(self, proposal: Proposal) -> Card:
        """The card of the code that is asked about; a new one when an old answer goes on."""
        card = self._code
        if card is None or card.status:
            head = Message("assistant", "code", proposal.language, proposal.code)
            card = self._add(Card(head, self._session.history))
        elif card.text != proposal.code:
            card.message = Message("assistant", "code", card.head.format, proposal.code)
            card.is_shown = card.is_shown and self._painter.updates_are_seen
        return card

    # The front end --------------------------------------------------------------------------------

    def _listen(self) -> None:
        """What the front end has sent; on the painter's thread."""
        prompter = self._painter.prompter
        while prompter is not None and prompter.inbox:
            source, content = prompter.inbox.pop(0)
            if source not in ("bar", "ask"):  # a page, which can do nothing but tell of itself
                for card in self._painter.cards:
                    if card.page is not None and card.page.model_id == source:
                        card.hear(content, self.pages)
            elif content.get("kind") == "stop":
                self._session.stop()
            elif source == "ask" and content.get("kind") == "effects":
                self._tell_effects(prompter, content)
            elif source == "ask":
                self._asker.hear(content)
            elif content.get("kind") == "ready":
                self._line.draw()
        if self._painter.is_here:
            self._asker.take_over()

    def _tell_effects(self, prompter: Prompter, content: dict[str, Any]) -> None:
        """What the person's edit of the code would do: the reply to the buttons."""
        reply: dict[str, Any]
        try:
            reply = {"ok": True, "value": effects_of_edit(self._session.gate, content)}
        except LMCError as error:
            reply = {"ok": False, "error": str(error)}
        prompter.ask.send({"kind": "reply", "of": content.get("id"), **reply})

    def _fail(self, error: BaseException) -> None:
        """Drawing has failed: the answer ends, and `close` raises it."""
        self._failure = self._failure or error
        self._session.stop()
