"""What a request costs, in US dollars: by the person's own price, else by LiteLLM's list.

One rule: None is a price that nobody knows; it is never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.models.found import OWN_SERVERS
from lmc_jupyter.models.litellm import catalogue
from lmc_jupyter.models.litellm.loading import load

MOST_WRITTEN = 32_000
"""Tokens that a reply may have, where nobody said and nobody knows."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for each token that is read, and each that is written, as the person said it."""

    read: float
    written: float


class Costs:
    """What one request costs, in US dollars, as far as the price is known.

    Parameters
    ----------
    price, free : as the person said; None: by LiteLLM's list
    """

    def __init__(self, request: Mapping[str, Any], price: Price | None, free: bool | None) -> None:
        self._request, self._price = request, price
        self._model = str(request["model"])
        own = price is None and catalogue.provider(self._model) in OWN_SERVERS
        self.free = own if free is None else free

    def of(self, read: int, written: int, counted: Any = None) -> float | None:
        """US dollars for so many tokens; None where the price is not known.

        Parameters
        ----------
        counted : the provider's own count, which may say which tokens were cheaper
        """
        if self.free:
            return 0.0
        if self._price is not None:
            return read * self._price.read + written * self._price.written
        litellm = load()
        usage: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written}
        try:
            if counted is not None:
                fields = counted if isinstance(counted, dict) else counted.model_dump()
                usage = {"usage_object": litellm.Usage(**fields)}
            return float(sum(litellm.cost_per_token(model=self._model, **usage)))
        except Exception:  # noqa: BLE001 - it has no price for this model
            return None

    def most(self, read: int) -> float | None:
        """US dollars if the reply is as long as it may be; None where the price is not known."""
        if self.free:
            return 0.0
        written = catalogue.output_limit(self._request)
        if written is None:
            entry = catalogue.entry(self._model)
            written = entry.get("max_output_tokens") or entry.get("max_tokens") or MOST_WRITTEN
        return self.of(read, written)


def price_of_sound(model: str, wav: bytes) -> float | None:
    """US dollars for a recording; None where the price is not known, or is not by the second."""
    if catalogue.provider(model) in OWN_SERVERS:
        return 0.0
    list_ = load().model_cost
    entry = list_.get(model) or list_.get(model.partition("/")[2]) or {}
    second = entry.get("input_cost_per_second")
    rate = int.from_bytes(wav[28:32], "little")  # bytes a second, by the wav's own head
    return second * len(wav) / rate if isinstance(second, float) and rate else None
