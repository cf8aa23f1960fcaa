"""What goes into a call of a model and comes out of it, as plain values.

One rule: nothing here imports LiteLLM or asks the network: a reader of replies needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

from lmc_jupyter.errors import ModelError


@dataclass(frozen=True, slots=True)
class NetworkLimits:
    """What one request may take: all limits of the network.

    Parameters
    ----------
    connect, first_byte, idle : seconds to wait for the connection, the first byte, any later byte
    silent : seconds in which a server may send nothing but comments, which say that it lives
    whole : seconds that a whole reply may take, on however slow a machine
    size : bytes of a whole reply on the wire; the longest ones of today have 50 million
    event : bytes of one event or line of it
    text : characters of its text; a million tokens have about so many
    tries : how many requests there may be for one reply
    longest_wait : seconds between two tries
    """

    connect: float = 10.0
    first_byte: float = 60.0
    idle: float = 60.0
    silent: float = 300.0
    whole: float = 3_600.0
    size: int = 64_000_000
    event: int = 4_000_000
    text: int = 4_000_000
    tries: int = 4
    longest_wait: float = 60.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took: the provider's count of tokens, US dollars, seconds.

    Parameters
    ----------
    cached_tokens : those of the prompt that the provider read from its cache
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call.

    Parameters
    ----------
    more : what the provider wants back with it, by the provider's own keys, such as the signature
        of a thought
    """

    index: int
    id: str | None
    name: str | None
    arguments: str | None
    more: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply. The last one has `finish`, the provider's word for why it ended.

    Parameters
    ----------
    more : what the provider wants back beside text and calls, by the provider's own keys:
        `thinking_blocks`, `reasoning_content`, ...; see `lmc_jupyter.models.openai.provider`
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()
    finish: str | None = None
    usage: Usage | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of characters in it."""
        calls = sum(len(each.arguments or "") for each in self.calls)
        return len(self.text) + len(self.reasoning) + calls

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON, without empty values."""
        fields: dict[str, Any] = {
            "text": self.text,
            "reasoning": self.reasoning,
            "calls": [astuple(each) for each in self.calls],
            "finish": self.finish,
            "usage": self.usage and astuple(self.usage),
            "more": self.more,
        }
        return {name: value for name, value in fields.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Delta:
        """The delta of a dict by `to_dict`."""
        calls, usage = data.get("calls"), data.get("usage")
        return cls(
            data.get("text", ""),
            data.get("reasoning", ""),
            tuple(CallDelta(*each) for each in calls) if calls else (),
            data.get("finish"),
            Usage(*usage) if usage else None,
            data.get("more", {}),
        )


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request, in the provider's own form."""

    data: Mapping[str, Any]


class ToolsRefused(ModelError):  # noqa: N818 - it may be asked again without tools
    """The server refused the tools that it was sent."""


class ReasoningMissing(ModelError):  # noqa: N818 - it may be asked again with a blank in its place
    """The server wants `reasoning_content` with each call, also with those of other models."""


class WindowExceeded(ModelError):  # noqa: N818 - it may be asked again with less
    """The provider refused a request that is longer than the model's window.

    Parameters
    ----------
    text : the provider's own words
    """

    def __init__(self, sentence: str, text: str) -> None:
        super().__init__(sentence)
        self.text = text


@dataclass(frozen=True, slots=True)
class Facts:
    """LiteLLM's facts on one model; those that the person sets are in the model's options.

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
