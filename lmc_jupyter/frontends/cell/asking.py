"""Asks a person whether code runs: by buttons in the cell, else on the keyboard.

One rule: the first answer to a question counts, and a stop is no answer. Where nobody can be
asked, nothing runs.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lmc_jupyter.errors import Stopped
from lmc_jupyter.frontends.cell import html
from lmc_jupyter.frontends.cell.card import Card
from lmc_jupyter.frontends.cell.painter import Painter, bundle
from lmc_jupyter.frontends.question import by_keyboard, decision, is_for_all, question
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.kernel.mailbox import Mailbox
from lmc_jupyter.kernel.runner import submit
from lmc_jupyter.kernel.stop import Interruptible

if TYPE_CHECKING:
    from lmc_jupyter.frontends.panel.widget import Widget

HELLO_SECONDS = 2.0  # how long a front end has, once it has the widgets, to say that it can press
EXPECTED_SECONDS = 20.0  # …in a kernel that has had its message before

DRAWN_SECONDS = (4.0, 8.0, 16.0)
"""How long buttons have to be drawn before they are made anew, each time: anywidget gives a model
2 s to load and never draws it if that was too short, as in a busy page."""

_STOPPED = "stopped before the code was run"
_AGAIN = (
    "To be asked again, run this cell. A kernel that is busy may still wait for the answer: "
    "interrupt it first."
)
_UNTRUSTED = (
    "Code waits for you, and its buttons cannot be shown in a notebook that is not trusted. "
    "Run the command Trust Notebook (View > Activate Command Palette), and they come here; or "
    "interrupt the kernel, and ask in the chat panel (Ctrl+Alt+L)."
)


class Prompter:
    """The person in front of the buttons of one cell; their messages go into a queue.

    Parameters
    ----------
    mailbox : where clicks come in while the cell runs
    wake : called after each message, from any thread; must not block
    """

    def __init__(self, mailbox: Mailbox, wake: Callable[[], None]) -> None:
        self._mailbox, self._wake = mailbox, wake
        self.here = threading.Event()
        """Set once a front end has answered: there is somebody who can press."""
        self.will_answer = mailbox.has_received
        """Whether this kernel has had a message of a front end before: one will probably answer."""
        self.inbox: list[tuple[str, dict[str, Any]]] = []
        self.bar, self.ask = self._make("bar"), self._make("ask")
        self._pages: list[Widget] = []

    def page(self) -> Widget:
        """A frame for HTML; in the inbox its messages stand under its own `model_id`."""
        self._pages.append(self._make("page"))
        return self._pages[-1]

    def renew(self) -> Widget:
        """The buttons anew, in place of those that no page could draw."""
        self._pages.append(self.ask)  # closed at the end: it may be drawn after all
        self.ask = self._make("ask")
        return self.ask

    def _make(self, kind: str) -> Widget:
        """A widget whose messages are heard from before the front end knows of it."""
        from lmc_jupyter.frontends.panel.widget import Widget  # anywidget: at the first answer

        model_id = uuid.uuid4().hex
        self._mailbox.open(model_id, partial(self._receive, model_id if kind == "page" else kind))
        widget = Widget(kind, model_id)
        widget.on_msg(self._by_comm)
        return widget

    def _by_comm(self, widget: Widget, content: dict[str, Any], _: object) -> None:
        self._mailbox.deliver(widget.model_id, content)

    def _receive(self, kind: str, content: dict[str, Any]) -> None:
        self.here.set()
        self.inbox.append((kind, content))
        self._wake()

    def close(self) -> None:
        """Take the widgets away; the displays must have been replaced before."""
        for widget in (self.bar, self.ask, *self._pages):
            self._mailbox.close(widget.model_id)
            widget.close()


class Asker:
    """Asks about the code of one answer.

    Parameters
    ----------
    painter : draws the buttons
    ask : asks on the keyboard, where there are no buttons; None where that is not allowed
    """

    def __init__(self, painter: Painter, ask: Callable[[str], str] | None) -> None:
        self._painter, self._ask = painter, ask
        self._answers: queue.SimpleQueue[Decision | None] = queue.SimpleQueue()
        self._proposal: Proposal | None = None
        self._start = time.monotonic()
        self._typing: Interruptible | None = None  # the question on the keyboard
        self._reading: Interruptible | None = None  # that of code that runs
        self._is_stopped = self._is_drawn = False
        self.all = False
        """Whether the person has said yes to what else comes in this answer."""
        self.may_clear = True
        """Whether the cell's output holds nothing yet that only the kernel can show."""

    def decide(self, proposal: Proposal, card: Card) -> Decision:
        """Ask, and wait for the answer.

        Raises
        ------
        Stopped
            When the answer is stopped meanwhile.
        """
        if not self._painter.display.repeats_updates:
            self._painter.flush(card)  # the buttons take its place
        if self.somebody_presses():
            return self._by_buttons(proposal, card)
        ask = self._ask
        if ask is None:
            return Decision(
                False,
                reason="nobody can be asked here: ask in the chat panel of a notebook, or let the "
                "code of a cell run without asking by `%%lmc --auto-run`",
            )
        self._typing = typing = Interruptible()
        try:
            if self._is_stopped:  # before `stop` could see this question
                raise Stopped(_STOPPED)
            return by_keyboard(lambda words: submit(lambda: ask(words), typing), proposal)
        except KeyboardInterrupt:
            if self._is_stopped:
                raise Stopped(_STOPPED) from None
            if self._typing is typing:  # the kernel's own button, and not `take_over`
                raise
        finally:
            self._typing = None
        with self._painter.lock:
            self._painter.display.clear()  # the input field, which nothing else takes away
            self._painter.draw_again()
        return self._by_buttons(proposal, card)

    def somebody_presses(self) -> bool:
        """Whether a browser shows this cell: known once it has said so, or had its time for it.

        Raises
        ------
        Stopped
            When the answer is stopped meanwhile.
        """
        painter = self._painter
        if painter.prompter is None:
            return False
        seconds = EXPECTED_SECONDS if painter.prompter.will_answer else 0.0
        until = self._start + max(HELLO_SECONDS, seconds)
        painter.wait_for(lambda: painter.is_here or self._is_stopped, until - time.monotonic())
        if self._is_stopped:
            raise Stopped(_STOPPED)
        return painter.is_here

    def stop(self) -> None:
        """End an open question without an answer; from any thread."""
        self._is_stopped = True
        self._answers.put(None)
        for typing in (self._typing, self._reading):
            if typing is not None:
                typing.stop()

    def read_line(self, read: Callable[[], str]) -> str:
        """A line that code asks for, read on the keyboard.

        Raises
        ------
        KeyboardInterrupt
            When the answer is stopped meanwhile.
        """
        self._reading = reading = Interruptible()
        try:
            if self._is_stopped:
                raise KeyboardInterrupt
            return submit(read, reading)
        finally:
            self._reading = None

    def hear(self, content: dict[str, Any]) -> None:
        """A message of the buttons; the painter's lock is held."""
        proposal, prompter = self._proposal, self._painter.prompter
        if proposal is None or prompter is None:
            return
        if content.get("kind") == "ready":
            self._is_drawn = True
            prompter.ask.send({"kind": "ask", **question(proposal)})
        elif content.get("kind") == "decision":
            answer = decision(content, proposal)
            if answer is not None:
                self._proposal = None  # the next answer is to no question
                self.all = self.all or is_for_all(content)
                self._answers.put(answer)

    def take_over(self) -> None:
        """Buttons that came late ask in place of the keyboard.

        Not where python has shown something: its output would go with the input field.
        """
        typing = self._typing
        if typing is not None and self.may_clear:
            self._typing = None  # before the KeyboardInterrupt, which is understood by it
            typing.stop()

    def _by_buttons(self, proposal: Proposal, card: Card) -> Decision:
        painter = self._painter
        assert painter.prompter is not None
        with painter.lock:
            self._proposal, self._is_drawn = proposal, False
            repeats = painter.display.repeats_updates
            buttons, saved = painter.prompter.ask.bundle(), _undecided(card)
            if repeats:  # such a server trusts no output of its own either: no widget is drawn
                painter.display.show({**buttons, "text/plain": _UNTRUSTED}, card.display_id)
            else:
                painter.display.update({**buttons, **saved}, card.display_id)
            card.has_buttons = True
        answer = self._answers.get() if repeats else self._wait(painter.prompter, card, saved)
        with painter.lock:
            self._proposal, card.has_buttons = None, False
            is_stopped = answer is None or self._is_stopped
            card.status = "not run" if is_stopped else ""
            if repeats and self.may_clear:
                painter.display.clear()  # the buttons, whose place nothing can take
                painter.draw_again()
            painter.flush(card)
        if answer is None or is_stopped:
            raise Stopped(_STOPPED)
        return answer

    def _wait(self, prompter: Prompter, card: Card, saved: dict[str, Any]) -> Decision | None:
        """The answer to the buttons, which are drawn anew while no page says that it has them."""
        painter = self._painter
        for seconds in DRAWN_SECONDS:
            try:
                return self._answers.get(timeout=seconds)
            except queue.Empty:
                with painter.lock:
                    if self._is_drawn or self._proposal is None:
                        break
                    buttons = prompter.renew().bundle()
                    painter.display.update({**buttons, **saved}, card.display_id)
        return self._answers.get()


def _undecided(card: Card) -> dict[str, Any]:
    """What a page draws of a question that it can no longer ask."""
    status, card.status = card.status, "not decided when the notebook was saved"
    inner, text = card.render()
    card.status = status
    return bundle(f"{inner}{html.note_html(_AGAIN)}", f"{text}\n[{_AGAIN}]")
