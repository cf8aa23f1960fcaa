"""Draws the cards of an answer, and the state line above them, in the output of one cell.

One rule: whatever draws holds the painter's lock. What changes often is drawn on the painter's own
thread, so that a slow front end never slows the model. Where updates are not known to be seen,
each message is shown once, whole, so that a person never says yes to code of which they see a part.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lmc_jupyter.content import terminal
from lmc_jupyter.conversation.events import TurnLike
from lmc_jupyter.frontends.cell import html
from lmc_jupyter.frontends.cell.card import Card, fresh
from lmc_jupyter.frontends.states import STATES, is_over, span
from lmc_jupyter.kernel.display import CellDisplay
from lmc_jupyter.models.choice import label
from lmc_jupyter.models.request import describe_tokens
from lmc_jupyter.models.spending import dollars
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.frontends.cell.asking import Prompter

PAINT_SECONDS = 0.05  # at most 20 updates a second…
PAINT_CHARACTERS_A_SECOND = 100_000  # …and fewer for a long message: each update sends it whole
TICK_SECONDS = 1.0

UNFINISHED = "Not over when the notebook was saved"
"""Of an answer whose live parts a page that is opened later does not find."""


class Painter:
    """Draws one answer.

    Parameters
    ----------
    session : whose answer it is
    display : where it draws
    person : makes the buttons, given what wakes the painter; None where there can be none
    """

    def __init__(
        self,
        session: Session,
        display: CellDisplay,
        person: Callable[[Callable[[], None]], Prompter] | None,
    ) -> None:
        self.display = display
        self.lock = threading.RLock()
        self.cards: list[Card] = []
        self._dirty: dict[Card, None] = {}
        self._unseen: dict[Card, None] = {}  # they are drawn when a front end says that it is here
        self._wakeup = threading.Condition()
        self._is_closed = self._leaving = False
        self.prompter = person(self.wake) if person is not None else None
        self.line = StateLine(session, self)

    def start(self, listen: Callable[[], None], fail: Callable[[BaseException], None]) -> None:
        """Begin to draw.

        Parameters
        ----------
        listen : does what the front end has sent; called on the painter's thread, under its lock
        fail : gets the error of that thread
        """

        def run() -> None:
            try:
                self._paint(listen)
            except BaseException as error:  # noqa: BLE001 - it is raised where the answer is played
                fail(error)

        context = contextvars.copy_context()  # ipykernel 7 keeps the cell's header in it
        self._thread = threading.Thread(
            target=context.run, args=(run,), name="lmc-view", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread, and draw what stays in the notebook."""
        with self._wakeup:
            self._is_closed = True
            self._wakeup.notify_all()
        self._thread.join()
        self._leaving = True
        for card in self.cards:
            if not card.is_final:
                card.over = True
                self.flush(card)

    @property
    def is_here(self) -> bool:
        """Whether a front end has said that it shows our widgets."""
        return self.prompter is not None and self.prompter.here.is_set()

    @property
    def updates_are_seen(self) -> bool:
        """Whether what is drawn may change, as it may in a record that nobody watches."""
        if self.display.repeats_updates:
            return False
        return self.prompter is None or self.display.shows_updates or self.is_here

    def wake(self) -> None:
        """Wake the painter: there is a message; from any thread."""
        with self._wakeup:
            self._wakeup.notify_all()

    def wait_for(self, happens: Callable[[], bool], seconds: float) -> None:
        """Wait until it happens, which is looked at after each `wake`."""
        with self._wakeup:
            self._wakeup.wait_for(happens, timeout=max(0.0, seconds))

    def soil(self, card: Card) -> None:
        """Mark a card as changed, so that it is drawn soon."""
        if card not in self._dirty:  # else what is new is drawn with it
            card.is_final = False
            with self._wakeup:
                self._dirty[card] = None
                self._wakeup.notify_all()

    def flush(self, card: Card) -> None:
        """Draw it now, before anything else happens."""
        with self.lock:
            self._dirty.pop(card, None)
            self._draw(card)

    def draw_again(self, _wait: bool = False) -> None:
        """The cell's output was cleared, and our part of it too; on any thread."""
        with self.lock:
            self.line.kind = ""
            self.line.draw()
            for card in self.cards:
                if card.is_shown:
                    card.is_shown = False
                    self._draw(card)

    def _paint(self, listen: Callable[[], None]) -> None:
        last_tick = time.monotonic()
        while True:
            self.wait_for(
                lambda: self._is_closed or bool(self._dirty) or self._has_messages, TICK_SECONDS
            )
            if self._is_closed:
                return
            with self.lock:
                listen()
                if self.updates_are_seen and self._unseen:
                    self._dirty.update(self._unseen)
                    self._unseen.clear()
                characters = 0
                for card in list(self._dirty):
                    self._dirty.pop(card, None)
                    characters += self._draw(card)
                is_tick = time.monotonic() - last_tick >= TICK_SECONDS
                if self.line.kind != "widget" and (is_tick or self.is_here):
                    last_tick = time.monotonic()
                    self.line.draw()
            if characters:  # messages of the person are heard at once all the same
                pause = max(PAINT_SECONDS, characters / PAINT_CHARACTERS_A_SECOND)
                self.wait_for(lambda: self._is_closed or self._has_messages, pause)

    @property
    def _has_messages(self) -> bool:
        return self.prompter is not None and bool(self.prompter.inbox)

    def _draw(self, card: Card) -> int:
        """Draw one card; returns how many characters were sent."""
        if card.has_buttons or card.is_native or (card.is_page and not card.over):
            return 0  # a page is shown whole
        if not (card.is_shown or card.over or self.updates_are_seen):
            self._unseen[card] = None
            return 0
        if self.display.repeats_updates and (card.is_shown or card.is_undecided):
            return 0  # once, when a person has decided about it: it stands as it is then
        if card.page is not None and not self._leaving:
            if not card.is_shown:
                card.is_shown = True
                saved = bundle(*card.render())
                self.display.show({**card.page.bundle(), **saved}, card.display_id)
            return 0
        card.is_final = card.over and card.runs_since is None  # first: `soil` may come meanwhile
        inner, text = card.render()
        if not inner:
            return 0
        draw = self.display.update if card.is_shown else self.display.show
        card.is_shown = True
        draw({**card.beside(), **bundle(inner, text)}, card.display_id)
        return len(inner)


class StateLine:
    """What is going on, how long it has taken and which model answers; with a Stop button.

    Parameters
    ----------
    session : whose model answers
    painter : draws
    """

    def __init__(self, session: Session, painter: Painter) -> None:
        self._session, self._painter = session, painter
        self.turn: TurnLike | None = None
        """The turn whose work it counts, once that has begun."""
        self.state, self._note = "thinking", ""
        self.usage: list[str] = []
        """What the answer took, once it is over."""
        self._id = fresh()
        self.kind = ""
        """What is shown: "widget", "html", or nothing yet."""

    def enter(self, state: str, note: str = "") -> None:
        """Another state, or what the model waits for in this one."""
        if (state, note) != (self.state, self._note):
            self.state, self._note = state, note
            self.draw()

    def draw(self) -> None:
        """Draw it: with buttons while the answer goes on in front of somebody."""
        painter = self._painter
        with painter.lock:
            if painter.display.repeats_updates:
                return  # it is drawn once, when the answer is over
            if painter.prompter is not None and painter.is_here and not is_over(self.state):
                bar = painter.prompter.bar
                if self.kind != "widget":
                    saved = self._bundle("stopped", UNFINISHED, [label(self._session.model)])
                    self._show("widget", {**bar.bundle(), **saved})
                note, seconds, name = self._words()
                now = {"state": self.state, "over": False, "note": note, "elapsed": seconds}
                bar.send({"kind": "state", "label": name, **now})
            else:
                self._show("html", self._now())

    def close(self) -> None:
        """Draw it for the last time; below the answer too, where updates are not seen."""
        self.draw()
        if not self._painter.updates_are_seen:
            self._painter.display.show(self._now(), fresh())

    def _words(self) -> tuple[str, float, str]:
        """What is going on, the seconds of work so far, and which model answers."""
        note = self._note or STATES[self.state]["label"]
        seconds = 0.0 if self.turn is None else self.turn.seconds
        return note, seconds, label(self._session.model)

    def _now(self) -> dict[str, Any]:
        note, seconds, name = self._words()
        took = [] if self.state == "stopped" else [span(seconds)]  # its block says how long it ran
        usage = self.usage if is_over(self.state) else []
        return self._bundle(self.state, note, [*took, name, *usage])

    def _bundle(self, state: str, note: str, facts: list[str]) -> dict[str, Any]:
        parts = " · ".join(facts)
        inner = (
            f'<div class="lmc-bar"><span class="lmc-dot {state}"></span>'
            f"<b>{html.escape(note)}</b> <span>{html.escape(parts)}</span></div>"
        )
        return bundle(inner, f"[{note} · {parts}]")

    def _show(self, kind: str, data: dict[str, Any]) -> None:
        draw = self._painter.display.update if self.kind else self._painter.display.show
        draw(data, self._id)
        self.kind = kind


def bundle(inner: str, text: str) -> dict[str, Any]:
    """A mime bundle of HTML of ours, and the same as plain text."""
    return {"text/html": html.page(inner), "text/plain": terminal.plain(text)}


def usage(turn: TurnLike) -> list[str]:
    """The tokens and the cost of an answer, all its requests together, as far as known."""
    counted = (turn.prompt_tokens or 0) + (turn.completion_tokens or 0)
    tokens = describe_tokens(counted, turn.cached_tokens or 0, turn.estimate or 0)
    parts = [tokens] if tokens else []
    if turn.cost:
        parts.append(dollars(turn.cost))
    return parts
