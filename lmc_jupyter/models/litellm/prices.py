"""What a request costs, in US dollars: by the person's own price, else by LiteLLM's list.

One rule: None is a price that nobody knows; it is never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.models.found import OWN_SERVERS
from lmc_jupyter.models.litellm import catalogue

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
        self._facts = catalogue.facts(str(request["model"]))
        own = price is None and self._facts.provider in OWN_SERVERS
        self.free = own if free is None else free

    def of(self, read: int, written: int) -> float | None:
        """US dollars for so many tokens; None where the price is not known."""
        if self.free:
            return 0.0
        if self._price is not None:
            return read * self._price.read + written * self._price.written
        rows = [row for row in self._facts.prices if row[0] == 0 or row[0] < read]
        return read * rows[-1][1] + written * rows[-1][2] if rows else None

    def counted(self, read: int | None, written: int | None, listed: float | None) -> float | None:
        """US dollars for a reply, by the provider's own count of it.

        Parameters
        ----------
        listed : what LiteLLM makes of that count, in which some tokens may be cheaper
        """
        if read is None or written is None:
            return None
        return self.of(read, written) if self.free or self._price is not None else listed

    def most(self, read: int) -> float | None:
        """US dollars if the reply is as long as it may be; None where the price is not known."""
        written = catalogue.output_limit(self._request) or self._facts.writes or MOST_WRITTEN
        return self.of(read, written)


def price_of_sound(model: str, wav: bytes) -> float | None:
    """US dollars for a recording; None where the price is not known, or is not by the second."""
    known = catalogue.facts(model)
    if known.provider in OWN_SERVERS:
        return 0.0
    rate = int.from_bytes(wav[28:32], "little")  # bytes a second, by the wav's own head
    return known.second * len(wav) / rate if known.second is not None and rate else None
