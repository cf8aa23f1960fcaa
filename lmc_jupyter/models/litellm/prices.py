"""What a request costs, in US dollars: by the person's own price, else by LiteLLM's list.

One rule: None is an unknown price; it is never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.models.litellm import catalogue
from lmc_jupyter.models.offers import OWN_SERVERS
from lmc_jupyter.models.values import Usage

MOST_WRITTEN = 32_000
"""Tokens that a reply may have, where no limit is known."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for each token, as the person set them.

    Parameters
    ----------
    prompt, reply : of a prompt, and of a reply
    cached : of what the provider reads from its cache; None: as the rest of the prompt
    """

    prompt: float
    reply: float
    cached: float | None = None


class Costs:
    """What one request costs, in US dollars, as far as the price is known.

    Parameters
    ----------
    price, free : as the person set them; None: by LiteLLM's list
    """

    def __init__(self, request: Mapping[str, Any], price: Price | None, free: bool | None) -> None:
        self._request, self._price = request, price
        self._facts = catalogue.facts(str(request["model"]))
        own = price is None and self._facts.provider in OWN_SERVERS
        self.free = own if free is None else free

    def of(self, prompt: int, reply: int) -> float | None:
        """US dollars for so many tokens; None where the price is not known."""
        if self.free:
            return 0.0
        if self._price is not None:
            return prompt * self._price.prompt + reply * self._price.reply
        rows = [row for row in self._facts.prices if row[0] == 0 or row[0] < prompt]
        return prompt * rows[-1][1] + reply * rows[-1][2] if rows else None

    def of_reply(self, used: Usage) -> float | None:
        """US dollars for a reply, by the provider's own count of it.

        LiteLLM's list, which `used.cost` is by, has prices of its own for what came from a cache.
        """
        if used.prompt_tokens is None or used.completion_tokens is None:
            return None
        if self.free or self._price is None:
            return 0.0 if self.free else used.cost
        cost = self.of(used.prompt_tokens, used.completion_tokens)
        if cost is None or self._price.cached is None:
            return cost
        return cost - (used.cached_tokens or 0) * (self._price.prompt - self._price.cached)

    def most(self, prompt: int) -> float | None:
        """US dollars if the reply is as long as it may be; None where the price is not known."""
        reply = catalogue.output_limit(self._request) or self._facts.writes or MOST_WRITTEN
        return self.of(prompt, reply)
