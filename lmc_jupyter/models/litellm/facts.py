"""What LiteLLM knows of a model by its name, as plain values.

One rule: it is what LiteLLM says; what the person says of a model stands beside it, in the
model's options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one model.

    Parameters
    ----------
    provider : LiteLLM's name of it; "" for a model that LiteLLM does not know
    abilities : by LiteLLM's words: "vision", "function_calling", "audio_input", "pdf_input"
    reads, writes : tokens of its window, and of its longest reply; 0 where that is not known
    tokenizer : "openai", "claude", or "" where its tokenizer is not here
    missing : the environment variables that would hold its keys; none where they are set
    prices : rows of (more tokens than this are read, US dollars for each that is read, and for
        each that is written), in this order; none where the price is not known
    second : US dollars for a second of sound
    """

    provider: str = ""
    abilities: tuple[str, ...] = ()
    reads: int = 0
    writes: int = 0
    tokenizer: str = ""
    missing: tuple[str, ...] = ()
    prices: tuple[tuple[int, float, float], ...] = ()
    second: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Facts:
        """The facts that `to_dict` has written down."""
        lists = {name: tuple(data[name]) for name in ("abilities", "missing")}
        prices = tuple((above, read, written) for above, read, written in data["prices"])
        return cls(**{**data, **lists, "prices": prices})
