"""A call of a model from the caller's thread: open it, read it, finish it.

One rule: closing what these yield closes the connection, and `Cancel` ends any waiting.
"""

from __future__ import annotations

import base64
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
from lmc_jupyter.models.failure import Failure, Problem, lacks_key, over_window, refuses_tools
from lmc_jupyter.models.litellm import access, catalogue, client
from lmc_jupyter.models.litellm.prices import Costs, Price, price_of_sound
from lmc_jupyter.models.sent import Record, Request
from lmc_jupyter.models.values import Delta, Limits, ToolsRefused, WindowExceeded


def stream(
    notify: Notify,
    *,
    limits: Limits | None = None,
    cancel: Cancel | None = None,
    record: Record | None = None,
    api_base: str | None = None,
    api_key: str | Secret | None = None,
    left_out: str = "",
    prompt_tokens: int = 0,
    price: Price | None = None,
    free: bool | None = None,
    **request: Any,
) -> Generator[Delta, None, None]:
    """One streamed completion; the keywords are those of `litellm.completion`.

    `notify` is told what is waited for, `record` what is sent; when it raises, nothing is.

    Parameters
    ----------
    left_out : what the person is to know of what was not sent
    prompt_tokens : how many it has at most, as we count them
    price, free : what it costs, where that is known better than by LiteLLM

    Raises
    ------
    ModelError
        No whole reply: see `Limits` and the provider's sentence in it.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    call = _Call(request, api_base, access.sendable(api_key), limits or Limits(), notify, cancel)
    catalogue.facts(call.model, notify, cancel)
    costs = Costs(request, price, free)
    written, refused = 0, False
    sent = Request(call.model, request, [call.key])
    sent.left_out, sent.free = left_out, costs.free
    sent.most = partial(costs.most, prompt_tokens)
    sent.came = lambda: 0.0 if refused else costs.of(prompt_tokens, written)
    if record is not None:
        record(sent)
    try:
        with closing(call.deltas(sent, "call", shows_body=record is not None)) as deltas:
            for delta in deltas:
                if delta.usage is not None:
                    used = delta.usage
                    cost = costs.counted(used.prompt_tokens, used.completion_tokens, used.cost)
                    delta = replace(delta, usage=replace(used, cost=cost))
                    sent.ended(used.prompt_tokens, used.completion_tokens, cost)
                written += delta.size
                yield delta
    except ModelError:
        refused = not written
        raise
    finally:
        sent.ended()


def transcript(
    model: str,
    wav: bytes,
    notify: Notify,
    *,
    api_base: str | None = None,
    api_key: str | Secret | None = None,
    limits: Limits | None = None,
    cancel: Cancel | None = None,
    record: Record | None = None,
) -> str:
    """The words of a recording, written down by a model such as `whisper-1`.

    Raises
    ------
    ModelError
        When it could not be transcribed, or nothing is said in it.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    key = access.sendable(api_key)
    call = _Call({"model": model}, api_base, key, limits or Limits(), notify, cancel)
    catalogue.facts(model, notify, cancel)
    price = price_of_sound(model, wav)
    sent = Request(model, {"model": model, "file": f"a wav of {len(wav):,} bytes"}, [key])
    sent.most = lambda: price
    sent.came = lambda: 0.0  # it is counted when it has come
    if record is not None:
        record(sent)
    text = base64.b64encode(wav).decode()
    try:
        words = "".join(each.text for each in call.deltas(sent, "transcribe", wav=text)).strip()
        sent.ended(cost=price)
    finally:
        sent.ended()
    if not words:
        raise ModelError(f"{model} found no words in it")
    return words


@dataclass(frozen=True, slots=True)
class _Call:
    """One request, and what its errors are told with."""

    request: Mapping[str, Any]
    base: str | None
    key: Secret | None
    limits: Limits
    notify: Notify
    cancel: Cancel

    @property
    def model(self) -> str:
        return str(self.request["model"])

    def deltas(self, sent: Request, do: str, **options: Any) -> Generator[Delta, None, None]:
        """The deltas of the reply, as they arrive."""
        self.cancel.check()
        begun = False
        with closing(
            client.answers(
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
                    begun = True
                    yield Delta.from_dict(each)
                    self.cancel.check()  # what has come but was not taken is not wanted any more
                if "failed" in answer:
                    # taken out: a provider's words may hold the key, and a traceback shows values
                    raise self._failure(answer.pop("failed"), begun)
                if "body" in answer:
                    shared = {"messages": self.request["messages"]} if answer["same"] else {}
                    sent.went_out_as({**answer["body"], **shared})
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

    def _failure(self, failed: Mapping[str, Any], begun: bool) -> LMCError:
        if "sentence" in failed:
            return ModelError(redact(failed["sentence"], self._keys()))
        what = Problem.from_dict(failed["problem"])
        missing = self._missing() if lacks_key(what) else ()
        failure = Failure(
            what,
            self.model,
            self.base,
            begun=begun,
            missing=list(missing),
            unkeyed=self._unkeyed(),
            meant=lambda: suggest(self.model, self.base),
            keyring=problem(),
            first_byte=self.limits.first_byte,
            idle=self.limits.idle,
        )
        sentence = redact(failure.sentence(), self._keys())
        if over_window(what) and not begun:
            return WindowExceeded(sentence, what.text)
        refused = "tools" in self.request and not begun and refuses_tools(what)
        return ToolsRefused(sentence) if refused else ModelError(sentence)

    def _missing(self) -> tuple[str, ...]:
        """The environment variables that would hold the key of this call, if it has none."""
        return () if self.key is not None or self.base else access.missing(self.model)

    def _unkeyed(self) -> str:
        """How to give a key to the address that was asked without one; "" when one was sent."""
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
