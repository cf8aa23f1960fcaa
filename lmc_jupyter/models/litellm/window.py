"""How many tokens a model reads, and the part of a conversation that a request sends.

One rule: only a server of one's own is asked for its window, once; a refusal that names a smaller
one counts from then on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmc_jupyter.content.tokens import estimate, estimates
from lmc_jupyter.context.names import fewer_columns, fewer_names, names_in
from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Message
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.budget import Selection, TokenCounts, Tokens, Window
from lmc_jupyter.models.failure import read_window
from lmc_jupyter.models.litellm import catalogue
from lmc_jupyter.models.openai import Sent, tools_of

NAMES_SHARE = 1 / 5
"""The share of the window that the names of the notebook may take."""

FRAME_SHARE = 1 / 50
"""The share of the window that the line of one frame may take."""

SMALL = 16_000
"""Tokens; a model that reads fewer gets short instructions."""

_AROUND_ALL = 130
"""Tokens of our own text in every request: on code, delimiters, and of the protocol."""


@dataclass(frozen=True, slots=True)
class Room:
    """The room in a request.

    Parameters
    ----------
    overhead : tokens of the instructions, the names and the tool
    """

    window: Window
    overhead: int

    @property
    def tokens(self) -> int:
        """The tokens that the conversation may take."""
        return self.window.tokens - self.window.answer - self.overhead


class ContextWindow:
    """How many tokens a model reads, and the last decision on what to leave out.

    Parameters
    ----------
    own_size : its window as the person set it, in tokens
    ask : asks the server for it; returns 0 where it does not say
    """

    def __init__(
        self,
        name: str,
        own_size: int | None,
        options: Mapping[str, Any],
        ask: Callable[[], int] = int,
    ) -> None:
        if own_size is not None and (
            isinstance(own_size, bool) or not isinstance(own_size, int) or own_size < 256
        ):
            raise ModelError(
                f"a context_window of {own_size!r} is not a number of tokens: give a whole number "
                "such as 8192, or leave it out"
            )
        self._name, self._own_size, self._options = name, own_size, options
        self._ask = ask
        self._of_server: int | None = None  # once it was asked
        self._limit: int | None = None
        self._factor = 1.0
        self._setting: object = None
        self._cut: budget.Omission | None = None
        self._rough: TokenCounts | None = None
        self._exact: TokenCounts | None = None
        self._texts: dict[str, int] = {}

    def size(self) -> Window:
        """The model's window, with the source of its size."""
        tokens, source = self._own_size or 0, "said"
        if not tokens:
            tokens, source = catalogue.window(self._name, self._options), "known"
        if not tokens:
            if self._of_server is None:
                self._of_server = self._ask()
            tokens, source = self._of_server, "server"
        if not tokens:
            tokens, source = budget.DEFAULT_WINDOW, "default"
        if self._limit is not None and self._limit < tokens:
            tokens, source = self._limit, "learned"
        most = catalogue.output_limit(self._options)
        return Window(tokens, source, budget.answer_share(tokens, most))

    def is_small(self) -> bool:
        """Whether it is known to be small, without asking anybody."""
        is_known = bool(self._own_size or self._limit) or catalogue.knows(self._name)
        return is_known and self.size().tokens < SMALL

    def shorten(self, brief: Brief, messages: Sequence[Message] = ()) -> Brief:
        """The brief, with as many columns and names as the window has room for.

        Parameters
        ----------
        messages : the columns come first that the person's questions and cells name
        """
        window = self.size().tokens
        names = fewer_columns(brief.namespace, int(FRAME_SHARE * window), messages)
        names = fewer_names(names, int(NAMES_SHARE * window))
        return brief if names is brief.namespace else replace(brief, namespace=names)

    def fit(
        self,
        messages: list[Message],
        brief: Brief,
        tools: bool,
        vision: bool,
        hears: bool,
        sent: Sent | None = None,
    ) -> tuple[Selection, Room]:
        """(the part of the conversation to send, the room for it).

        Parameters
        ----------
        sent : the request so far: one that was shortened before a restart goes on while it fits

        Raises
        ------
        budget.WindowError
            When the last question alone does not fit.
        """
        room = self._room(brief, tools)
        setting = room.window.tokens, vision, hears, brief.max_output
        if self._setting != setting:
            self._setting, self._exact = setting, None
            self._rough = self._measure(estimates, brief, vision, hears)
        assert self._rough is not None
        tokens = int(room.tokens / self._factor)
        if self._cut is not None and not self._cut.begins(messages):
            self._cut = None
        if self._cut is None and (total := self._rough.total(messages, tokens)) <= tokens:
            return Selection(list(messages), None, total), room
        rest = sent.rest(messages) if self._cut is None and sent is not None else None
        if rest is not None and sent is not None:
            total = sent.tokens() + sum(map(self._rough.size, rest))
            if total <= tokens:
                return Selection(list(messages), sent.cut, total), room
        if self._exact is None:
            count, _ = catalogue.counter(self._name)
            is_rough = count is estimates
            self._exact = self._rough if is_rough else self._measure(count, brief, vision, hears)
        living = names_in(brief.namespace)
        selection = budget.fit(messages, tokens, self._exact, self._cut, room.window, living)
        self._cut = selection.cut
        return selection, room

    def tokens(
        self, messages: list[Message], brief: Brief, tools: bool, vision: bool, hears: bool
    ) -> Tokens:
        """The tokens that the next request would take, by part."""
        count, how = catalogue.counter(self._name)
        measure = self._measure(count, brief, vision, hears)
        names = measure.text(brief.namespace)
        overhead = measure.text(brief.instructions) + measure.text(_schema(brief) if tools else "")
        living = names_in(brief.namespace)
        return budget.tokens(
            messages, measure, self.size(), overhead, names, how, self._cut, living
        )

    def learn(self, text: str, tokens: int) -> bool:
        """Learn from a refusal how much the model reads; whether a shorter request makes sense.

        Parameters
        ----------
        tokens : of the refused request, by our count
        """
        before = self._limit
        window, was = read_window(text)
        if window is None:
            window = int(0.6 * tokens)
        elif was is not None and tokens and 1 < was / tokens <= 4:
            self._factor = max(self._factor, was / tokens)  # its tokens are shorter than we thought
        elif self._limit is not None and window >= self._limit:
            window = int(0.8 * self._limit)  # the server named that window, and it was too much
        self._limit = max(256, window)
        self._setting = None
        return self._limit != before or self._factor > 1

    def _room(self, brief: Brief, tools: bool) -> Room:
        parts = [brief.instructions, brief.namespace, _schema(brief) if tools else ""]
        sizes = {part: self._texts.get(part) or estimate(part) for part in parts if part}
        self._texts = sizes
        return Room(self.size(), sum(sizes.values()) + _AROUND_ALL)

    @staticmethod
    def _measure(count: budget.Count, brief: Brief, vision: bool, hears: bool) -> TokenCounts:
        return TokenCounts(count, vision=vision, hears=hears, max_output=brief.max_output)


def _schema(brief: Brief) -> str:
    return json.dumps(tools_of(brief.languages))
