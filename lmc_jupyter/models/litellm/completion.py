"""A call of a model from the caller's thread: open it, read it, finish it.

One rule: closing these generators closes the connection, and `Cancel` ends any wait.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.keys import Secret, problem, redact
from lmc_jupyter.models import suggest
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel
from lmc_jupyter.models.failure import (
    Failure,
    Problem,
    lacks_key,
    over_window,
    refuses_tools,
    wants_reasoning,
)
from lmc_jupyter.models.litellm import access, catalogue, worker_process
from lmc_jupyter.models.litellm.prices import Costs, Price
from lmc_jupyter.models.request import Record, Request
from lmc_jupyter.models.values import (
    Delta,
    NetworkLimits,
    ReasoningMissing,
    ToolsRefused,
    WindowExceeded,
)

CHARACTERS_A_TOKEN = 4
"""Of a reply that the provider did not count."""


def stream(
    notify: Notify,
    *,
    limits: NetworkLimits | None = None,
    cancel: Cancel | None = None,
    record: Record | None = None,
    api_base: str | None = None,
    api_key: str | Secret | None = None,
    left_out: str = "",
    renewal: str = "",
    prompt_tokens: int = 0,
    price: Price | None = None,
    free: bool | None = None,
    **request: Any,
) -> Generator[Delta, None, None]:
    """One streamed completion; the keywords are those of `litellm.completion`.

    `notify` gets a sentence on each wait, `record` the request; when `record` raises, nothing is
    sent.

    Parameters
    ----------
    left_out : a sentence for the person on what was not sent
    renewal : why it does not begin with the request before; "" where it does
    prompt_tokens : its most tokens, by our count
    price, free : its price, where LiteLLM's list has no better one

    Raises
    ------
    ModelError
        No whole reply: see `Limits` and the provider's sentence in it.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    call = CompletionCall(
        request, api_base, access.sendable(api_key), limits or NetworkLimits(), notify, cancel
    )
    catalogue.facts(call.model, notify, cancel)
    costs = Costs(request, price, free)
    size, is_refused = 0, False
    entry = Request(call.model, request, [call.key])
    entry.left_out, entry.renewal, entry.free = left_out, renewal, costs.free
    entry.most = partial(costs.most, prompt_tokens)
    entry.cost_so_far = lambda: 0.0 if is_refused else costs.of(prompt_tokens, size)
    if record is not None:
        record(entry)
    try:
        with closing(call.deltas(entry, "call", shows_body=record is not None)) as deltas:
            for delta in deltas:
                if delta.usage is not None:
                    used = delta.usage
                    cost = costs.of_reply(used)
                    delta = replace(delta, usage=replace(used, cost=cost))
                    entry.cached_tokens = used.cached_tokens
                    entry.end(used.prompt_tokens, used.completion_tokens, cost)
                size += delta.size
                start = time.monotonic()
                yield delta
                entry.skip(time.monotonic() - start)  # its code waits, or runs
    except ModelError:
        is_refused = not size
        raise
    finally:
        if not is_refused and entry.prompt_tokens is None:
            entry.estimate = prompt_tokens + -(-size // CHARACTERS_A_TOKEN)
        entry.end()


@dataclass(frozen=True, slots=True)
class CompletionCall:
    """One request, and what the sentences on its errors need."""

    request: Mapping[str, Any]
    base: str | None
    key: Secret | None
    limits: NetworkLimits
    notify: Notify
    cancel: Cancel

    @property
    def model(self) -> str:
        return str(self.request["model"])

    def deltas(self, entry: Request, do: str, **options: Any) -> Generator[Delta, None, None]:
        """The deltas of the reply, as they arrive."""
        self.cancel.check()
        has_begun = False
        with closing(
            worker_process.answers(
                do,
                notify=self.notify,
                cancel=self.cancel,
                request=self.request,
                access=self._access(),
                lacks_key=bool(self._missing()),
                limits=asdict(self.limits),
                **options,
            )
        ) as answers:
            for answer in answers:
                for each in answer.get("deltas", ()):
                    has_begun = True
                    yield Delta.from_dict(each)
                    self.cancel.check()  # after a cancel, deltas that have come are dropped
                if "failed" in answer:
                    # `pop`: a provider's text may have the key, and a traceback shows values
                    raise self._failure(answer.pop("failed"), has_begun)
                if "body" in answer:
                    messages = {"messages": self.request["messages"]} if answer["same"] else {}
                    entry.set_body({**answer["body"], **messages})
                if "notice" in answer:
                    self.notify(answer["notice"])

    def _access(self) -> dict[str, str | Secret]:
        """The address and the key, as arguments of the call."""
        arguments: dict[str, str | Secret] = {"api_base": self.base} if self.base else {}
        if self.key is not None:
            arguments["api_key"] = self.key
        elif self.base and not access.is_own(self.model, self.base):
            arguments["api_key"] = access.PLACEHOLDER
        return arguments

    # What went wrong, in a sentence ---------------------------------------------------------------

    def _failure(self, report: Mapping[str, Any], has_begun: bool) -> LMCError:
        if "sentence" in report:
            return ModelError(redact(report["sentence"], self._keys()))
        what = Problem.from_dict(report["problem"])
        missing = self._missing() if lacks_key(what) else ()
        failure = Failure(
            what,
            self.model,
            self.base,
            has_begun=has_begun,
            missing=list(missing),
            key_hint=self._key_hint(),
            suggest=lambda: suggest(self.model, self.base),
            keyring=problem(),
            first_byte=self.limits.first_byte,
            idle=self.limits.idle,
        )
        sentence = redact(failure.sentence(), self._keys())
        if over_window(what) and not has_begun:
            return WindowExceeded(sentence, what.text)
        if wants_reasoning(what) and not has_begun:
            return ReasoningMissing(sentence)
        without_tools = "tools" in self.request and not has_begun and refuses_tools(what)
        return ToolsRefused(sentence) if without_tools else ModelError(sentence)

    def _missing(self) -> tuple[str, ...]:
        """The environment variables for the key of this call; none where it has a key."""
        return () if self.key is not None or self.base else access.missing(self.model)

    def _key_hint(self) -> str:
        """How to give a key to the address of a request without one; "" where it had one."""
        if not self.base or access.is_own(self.model, self.base) or self._keys():
            return ""
        if not access.is_usual(self.base):
            return (
                "LMC_API_KEY goes to the address in LMC_API_BASE only, which is another one: set "
                "LMC_API_BASE to this address"
            )
        return "set LMC_API_KEY in the environment, or type it with `%lmc key LMC_API_KEY`"

    def _keys(self) -> list[Secret]:
        return [key for key in (self.key, *self.request.values()) if isinstance(key, Secret)]
