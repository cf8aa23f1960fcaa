"""What LiteLLM knows of a model by its name, as plain values.

One rule: these are LiteLLM's facts alone; those that the person sets are in the model's options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """LiteLLM's facts on one model.

    Parameters
    ----------
    provider : LiteLLM's name of it; "" for a model that LiteLLM does not know
    abilities : by LiteLLM's words: "vision", "function_calling", "audio_input", "pdf_input",
        "prompt_caching"
    reads, writes : tokens of its window, and of its longest reply; 0 where that is not known
    tokenizer : "openai", "claude", or "" where its tokenizer is not here
    missing : the environment variables for its keys; none where they are set
    prices : rows of (from more prompt tokens than this, US dollars for a prompt token, and for
        one of the reply), in this order; none where the price is not known
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
        """The facts of a dict by `to_dict`."""
        lists = {name: tuple(data[name]) for name in ("abilities", "missing")}
        prices = tuple((above, read, write) for above, read, write in data["prices"])
        return cls(**{**data, **lists, "prices": prices})
