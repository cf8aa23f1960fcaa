"""Asks a person whether code runs: by buttons in the cell, else on the keyboard.

One rule: the first answer to a question counts, and a stop is no answer. Where nobody can be
asked, nothing runs.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

from lmc_jupyter.errors import Stopped
from lmc_jupyter.frontends.cell.card import Card
from lmc_jupyter.frontends.cell.painter import Painter
from lmc_jupyter.frontends.question import by_keyboard, decision, is_for_all, question
from lmc_jupyter.gate import Decision, Proposal

HELLO_SECONDS = 2.0  # how long a front end has, once it has the widgets, to say that it can press
EXPECTED_SECONDS = 20.0  # …in a kernel that has heard one before


class Asker:
    """Asks about the code of one answer.

    Parameters
    ----------
    painter : draws the buttons
    ask : asks on the keyboard, where there are no buttons; None where that is not allowed
    withdraw : ends `ask` with a KeyboardInterrupt, from any thread; False where it asks nothing
    """

    def __init__(
        self,
        painter: Painter,
        ask: Callable[[str], str] | None,
        withdraw: Callable[[], bool] | None,
    ) -> None:
        self._painter, self._ask, self._withdraw = painter, ask, withdraw
        self._answers: queue.SimpleQueue[Decision | None] = queue.SimpleQueue()
        self._asked: Proposal | None = None
        self._offered = time.monotonic()
        self._on_keyboard = self._withdrawn = self._stopped = False
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
        if self.somebody_presses():
            return self._by_buttons(proposal, card)
        self._painter.flush(card)
        if self._ask is None:
            return Decision(
                False,
                reason="nobody can be asked here; "
                "`%%lmc --auto-run` lets the code of a cell run without asking",
            )
        self._on_keyboard, self._withdrawn = True, False
        try:
            return by_keyboard(self._ask, proposal)
        except KeyboardInterrupt:
            if not self._withdrawn or self._stopped:
                raise
        finally:
            self._on_keyboard = False
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
        expected = EXPECTED_SECONDS if painter.prompter.expected else 0.0
        until = self._offered + max(HELLO_SECONDS, expected)
        painter.wait_for(lambda: painter.is_here or self._stopped, until - time.monotonic())
        if self._stopped:
            raise Stopped("stopped before the code was run")
        return painter.is_here

    def stop(self) -> None:
        """A question that is open is not answered; from any thread."""
        self._stopped = True
        self._answers.put(None)

    def hear(self, content: dict[str, Any]) -> None:
        """A message of the buttons; the painter's lock is held."""
        asked, prompter = self._asked, self._painter.prompter
        if asked is None or prompter is None:
            return
        if content.get("kind") == "ready":
            prompter.ask.send({"kind": "ask", **question(asked)})
        elif content.get("kind") == "decision":
            answer = decision(content, asked)
            if answer is not None:
                self._asked = None  # the next answer is to no question
                self.all = self.all or is_for_all(content)
                self._answers.put(answer)

    def take_over(self) -> None:
        """Buttons that came late ask in place of the keyboard.

        Not where python has shown something: its output would go with the input field.
        """
        if self._on_keyboard and self.may_clear and self._withdraw is not None:
            self._withdrawn = True  # before the KeyboardInterrupt, which is understood by it
            self._withdrawn = self._withdraw()
            self._on_keyboard = not self._withdrawn  # one that is about to be asked: the next time

    def _by_buttons(self, proposal: Proposal, card: Card) -> Decision:
        painter = self._painter
        assert painter.prompter is not None
        with painter.lock:
            self._asked = proposal
            painter.display.update(painter.prompter.ask.bundle(), card.display_id)
            card.swapped = True
        answer = self._answers.get()
        with painter.lock:
            self._asked, card.swapped = None, False
            stopped = answer is None or self._stopped
            card.status = "not run" if stopped else ""
            painter.flush(card)
        if answer is None or stopped:
            raise Stopped("stopped before the code was run")
        return answer
