"""One request to a model: its body, for the person who wants to read it, and its costs.

One rule: it has the body itself and never a key. Bodies stay in memory for the last turns only, and
messages that two requests share are in memory once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lmc_jupyter.content import shorten
from lmc_jupyter.keys import Secret, is_secret, redact
from lmc_jupyter.models.outline import outline

if TYPE_CHECKING:
    from lmc_jupyter.agent import Model

MAX_DATA = 2_000
"""Characters of an image or a sound that `Request.body` shows; the rest is counted."""

NO_BODY = "This request is no longer in memory: only those of this kernel's last turns are."

_BESIDE = {"api_key", "extra_headers", "headers", "default_headers", "client"}
"""Arguments of a call that are no part of its body."""

Record = Callable[["Request"], None]
"""Takes each request as it goes out; its tokens and costs follow at the end of the reply."""


class Request:
    """One request to a model, with the tokens, time and cost of its reply.

    Parameters
    ----------
    model : its name
    body : of the request; it is not copied
    keys : those to redact in it
    """

    def __init__(
        self, model: str, body: Mapping[str, Any], keys: Iterable[Secret | None] = ()
    ) -> None:
        self.model = model
        self.free = False
        """Whether it costs nothing, whatever the list of prices says."""
        self.seconds = 0.0
        """From the request to the end of the reply, without what was skipped; 0 until then."""
        self.prompt_tokens: int | None = None
        self.cached_tokens: int | None = None
        """Tokens of the prompt that came from the provider's cache; None where it does not say."""
        self.completion_tokens: int | None = None
        self.estimate: int | None = None
        """Tokens of prompt and reply by our own count, where the provider did not say them."""
        self.cost: float | None = None
        """US dollars; None where the price is not known."""
        self.left_out = ""
        """A sentence on what of the conversation was not sent; "" where nothing was."""
        self.renewal = ""
        """Why it does not begin with the request before; "" where it does."""
        self.most: Callable[[], float | None] = _unknown
        """Gives the most US dollars that it may cost; None where the price is not known."""
        self.cost_so_far: Callable[[], float | None] = _unknown
        """Gives the US dollars of the part that has come, where the provider has not counted."""
        self.on_end: Callable[[Request], None] | None = None
        """Called once when the reply is over."""
        self._start = time.monotonic()
        self._data: Mapping[str, Any] | None = _without_keys(body)
        self._keys = [key for key in keys if key is not None]

    def __repr__(self) -> str:
        return f"<request to {self.model}, {self.seconds:.1f} s>"

    @property
    def body(self) -> str:
        """The body as indented JSON, without keys; long images and sounds are cut, and say so."""
        if self._data is None:
            return NO_BODY
        data = _truncate_data(_without_secrets(self._data))
        text = json.dumps(data, ensure_ascii=False, indent=2, default=repr)
        return redact(text, self._keys)

    def outline(self) -> list[tuple[str, str]]:
        """(role, text) of each message of the body, without keys; see `outline`."""
        if self._data is None:
            return []
        data = _without_secrets(self._data)
        why = [("written anew", self.renewal)] if self.renewal else []
        return [*why, *((role, redact(text, self._keys)) for role, text in outline(data))]

    def set_body(self, body: Mapping[str, Any]) -> None:
        """Set the body that went to the provider; equal messages are shared with the one before."""
        messages = (self._data or {}).get("messages")
        self._data = {key: value for key, value in _without_keys(body).items() if value is not None}
        if isinstance(messages, list) and self._data.get("messages") == messages:
            self._data = {**self._data, "messages": messages}

    def end(
        self,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
        cost: float | None = None,
    ) -> None:
        """End it: the reply is over, whole or not; with the provider's count of tokens."""
        if not self.seconds:
            self.seconds = time.monotonic() - self._start
        if prompt_tokens is not None or completion_tokens is not None or cost is not None:
            self.prompt_tokens, self.completion_tokens = prompt_tokens, completion_tokens
            self.cost = 0.0 if self.free else cost
        tell, self.on_end = self.on_end, None
        if tell is not None:
            tell(self)

    def skip(self, seconds: float) -> None:
        """Leave out this time, in which nobody read the reply."""
        self._start += seconds

    def follows(self, earlier: Request) -> None:
        """Share the first messages with an earlier request, where they are equal."""
        mine, others = (
            each._data.get("messages") if each._data else None for each in (self, earlier)
        )
        if not isinstance(mine, list) or not isinstance(others, list) or mine is others:
            return
        for index, (own, other) in enumerate(zip(mine, others, strict=False)):
            if own is not other:
                if own != other:
                    return
                mine[index] = other

    def drop_body(self) -> None:
        """Remove the body, and keep the counts."""
        self._data = None


def describe_tokens(counted: int, cached: int, estimate: int) -> str:
    """One figure for a person, and where it is from; "" for none.

    Parameters
    ----------
    counted : tokens by the provider's word, or counted by the embedded model
    cached : those of them that it read from its cache
    estimate : tokens by our own count, of what the provider did not count
    """
    if estimate:
        return f"about {int(float(f'{counted + estimate:.2g}')):,} tokens (estimated)"
    if not counted:
        return ""
    from_cache = f", {cached:,} cached" if cached else ""
    return f"{counted:,} tokens (counted{from_cache})"


def _unknown() -> float | None:
    return None


@runtime_checkable
class Recordable(Protocol):
    """A model that reports its requests; all of ours do."""

    def with_record(self, record: Record) -> Model:
        """The same model, giving each request to `record` as it goes out."""
        ...


def _without_keys(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in body.items()
        if key not in _BESIDE and not isinstance(value, Secret)
    }


def _without_secrets(value: Any) -> Any:
    """The value without what is secret by its name."""
    if isinstance(value, Mapping):
        return {
            name: "[redacted]" if is_secret(str(name), each) else _without_secrets(each)
            for name, each in _without_keys(value).items()
        }
    if isinstance(value, (list, tuple)):
        return [_without_secrets(each) for each in value]
    return value


def _truncate_data(value: Any, key: str = "") -> Any:
    """The value with long data truncated, but never text."""
    if isinstance(value, Mapping):
        return {name: _truncate_data(each, str(name)) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_truncate_data(each, key) for each in value]
    if isinstance(value, str) and len(value) > MAX_DATA and _is_data(value, key):
        return shorten.head(value, MAX_DATA)
    return value


def _is_data(value: str, key: str) -> bool:
    return value.startswith("data:") or (key in ("data", "bytes") and " " not in value[:MAX_DATA])
