"""How much of a conversation a model reads, and what of it a request holds.

One rule: what is known of the window is never asked of anybody; a refusal that names a smaller
one is believed from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Message
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.budget import Fitted, Measure, Tokens, Window
from lmc_jupyter.models.failure import read_window
from lmc_jupyter.models.litellm import catalogue
from lmc_jupyter.models.openai import execute_tool

NAMES_SHARE = 1 / 5
"""The part of the window that the names of the notebook may take."""

_AROUND_ALL = 80
"""Tokens of our own words in every request: what delimiters mean, and the protocol's own."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a request has room for.

    Parameters
    ----------
    fixed : tokens of the instructions, the names and the tool
    """

    window: Window
    fixed: int

    @property
    def tokens(self) -> int:
        """The tokens that the conversation may take."""
        return self.window.tokens - self.window.answer - self.fixed


class ContextWindow:
    """How many tokens a model reads, and what was left out of the conversation before.

    Parameters
    ----------
    chosen : its window as the person chose it, in tokens
    """

    def __init__(self, name: str, chosen: int | None, options: Mapping[str, Any]) -> None:
        if chosen is not None and (
            isinstance(chosen, bool) or not isinstance(chosen, int) or chosen < 256
        ):
            raise ModelError(
                f"a context_window of {chosen!r} is not a number of tokens: give a whole number "
                "such as 8192, or leave it out"
            )
        self._name, self._chosen, self._options = name, chosen, options
        self._learned: int | None = None
        self._factor = 1.0
        self._setting: object = None
        self._cut: budget.Cut | None = None
        self._rough: Measure | None = None
        self._exact: Measure | None = None
        self._texts: dict[str, int] = {}

    def size(self) -> Window:
        """The model's window, and how it is known."""
        tokens, source = self._chosen or 0, "said"
        if not tokens:
            tokens, source = catalogue.window(self._name, self._options), "known"
        if not tokens:
            tokens, source = budget.DEFAULT_WINDOW, "default"
        if self._learned is not None and self._learned < tokens:
            tokens, source = self._learned, "learned"
        most = catalogue.output_limit(self._options)
        return Window(tokens, source, budget.answer_share(tokens, most))

    def shorten(self, brief: Brief) -> Brief:
        """The brief with as many names as a small window has room for."""
        names = budget.fewer_names(brief.namespace, int(NAMES_SHARE * self.size().tokens))
        return brief if names is brief.namespace else replace(brief, namespace=names)

    def fit(
        self, messages: list[Message], brief: Brief, tools: bool, vision: bool, hears: bool
    ) -> tuple[Fitted, Room]:
        """The part of the conversation that is sent, and the room that there is for it.

        Raises
        ------
        budget.WindowError
            When the last question alone does not fit.
        """
        room = self._room(brief, tools)
        setting = room.window.tokens, vision, hears, brief.max_output
        if self._setting != setting:
            self._setting, self._cut, self._exact = setting, None, None
            self._rough = self._measure(budget.estimates, brief, vision, hears)
        assert self._rough is not None
        tokens = int(room.tokens / self._factor)
        if self._cut is not None and not self._cut.begins(messages):
            self._cut = None
        if self._cut is None and (total := self._rough.total(messages, tokens)) <= tokens:
            return Fitted(list(messages), None, total), room
        if self._exact is None:
            count, _ = catalogue.counter(self._name)
            is_rough = count is budget.estimates
            self._exact = self._rough if is_rough else self._measure(count, brief, vision, hears)
        fitted = budget.fit(messages, tokens, self._exact, self._cut, room.window)
        self._cut = fitted.cut
        return fitted, room

    def tokens(
        self, messages: list[Message], brief: Brief, tools: bool, vision: bool, hears: bool
    ) -> Tokens:
        """The tokens that the next request would take, by part."""
        count, how = catalogue.counter(self._name)
        measure = self._measure(count, brief, vision, hears)
        names = measure.text(brief.namespace)
        fixed = measure.text(brief.instructions) + measure.text(_schema(brief) if tools else "")
        return budget.tokens(messages, measure, self.size(), fixed, names, how, self._cut)

    def learn(self, text: str, sent: int) -> bool:
        """Take from a refusal how much the model reads; whether less can be sent now.

        Parameters
        ----------
        sent : tokens of the request that was refused, as we count them
        """
        before = self._learned
        window, was = read_window(text)
        if window is None:
            window = int(0.6 * sent)
        elif was is not None and sent and 1 < was / sent <= 4:
            self._factor = max(self._factor, was / sent)  # its tokens are shorter than we thought
        elif self._learned is not None and window >= self._learned:
            window = int(0.8 * self._learned)  # it was right about that, and it was too much
        self._learned = max(256, window)
        self._setting = None
        return self._learned != before or self._factor > 1

    def _room(self, brief: Brief, tools: bool) -> Room:
        parts = [brief.instructions, brief.namespace, _schema(brief) if tools else ""]
        sizes = {part: self._texts.get(part) or budget.estimate(part) for part in parts if part}
        self._texts = sizes
        return Room(self.size(), sum(sizes.values()) + _AROUND_ALL)

    @staticmethod
    def _measure(count: budget.Count, brief: Brief, vision: bool, hears: bool) -> Measure:
        return Measure(count, vision=vision, hears=hears, max_output=brief.max_output)


def _schema(brief: Brief) -> str:
    return json.dumps(execute_tool(brief.languages))
