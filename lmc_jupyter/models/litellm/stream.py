"""A call of a model from the caller's thread: open it, read it, finish it.

One rule: closing what these yield closes the connection, and `Cancel` ends any waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import Any

from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.keys import Secret
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel, receive
from lmc_jupyter.models.litellm import access
from lmc_jupyter.models.litellm.call import Call, TranscriptionCall
from lmc_jupyter.models.litellm.loading import event_loop, load
from lmc_jupyter.models.litellm.prices import Costs, Price, price_of_sound
from lmc_jupyter.models.sent import Record, Request
from lmc_jupyter.models.values import Body, Delta, Limits


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
    own_worker: bool = False,
    **request: Any,
) -> Generator[Delta, None, None]:
    """One streamed completion; the keywords are those of `litellm.completion`.

    `notify` is told what is waited for, `record` what is sent; when it raises, nothing is.

    Parameters
    ----------
    left_out : what the person is to know of what was not sent
    prompt_tokens : how many it has at most, as we count them
    price, free : what it costs, where that is known better than by LiteLLM
    own_worker : see `Exchange`

    Raises
    ------
    ModelError
        No whole reply: see `Limits` and the provider's sentence in it.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    key = _begin(notify, cancel, api_key)
    costs = Costs(request, price, free)
    written, refused = 0, False
    sent = Request(str(request["model"]), request, [key])
    sent.left_out, sent.free = left_out, costs.free
    sent.most = partial(costs.most, prompt_tokens)
    sent.came = lambda: 0.0 if refused else costs.of(prompt_tokens, written)
    if record is not None:
        record(sent)
    limits = limits or Limits()
    call = Call(request, api_base, key, limits, costs, record is not None, own_worker)
    try:
        with closing(_read(call, sent, notify, cancel)) as deltas:
            for delta in deltas:
                if delta.usage is not None:
                    used = delta.usage
                    sent.ended(used.prompt_tokens, used.completion_tokens, used.cost)
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
    key = _begin(notify, cancel, api_key)
    price = price_of_sound(model, wav)
    sent = Request(model, {"model": model, "file": f"a wav of {len(wav):,} bytes"}, [key])
    sent.most = lambda: price
    sent.came = lambda: 0.0  # it is counted when it has come
    if record is not None:
        record(sent)
    request = {"model": model, "file": ("recording.wav", wav)}
    call = TranscriptionCall(request, api_base, key, limits or Limits())
    try:
        words = "".join(delta.text for delta in _read(call, sent, notify, cancel)).strip()
        sent.ended(cost=price)
    finally:
        sent.ended()
    if not words:
        raise ModelError(f"{model} found no words in it")
    return words


def _begin(notify: Notify, cancel: Cancel, api_key: str | Secret | None) -> Secret | None:
    """Load LiteLLM and return the key in the form in which it is sent."""
    cancel.check()
    key = access.sendable(api_key)
    load(notify, cancel)
    return key


def _read(
    call: Call, sent: Request, notify: Notify, cancel: Cancel
) -> Generator[Delta, None, None]:
    """The deltas of the call, as they arrive."""
    with cancel.box() as box:
        call.put = box.put
        task = asyncio.run_coroutine_threadsafe(call.run(), event_loop())
        try:
            while True:
                item = receive(box)
                cancel.check()  # what has come but was not taken is not wanted any more
                if item is None:
                    return
                if isinstance(item, LMCError):
                    raise item
                if isinstance(item, Delta):
                    yield item
                elif isinstance(item, Body):
                    sent.went_out_as(item.sent)
                else:
                    notify(item)
        finally:
            task.cancel()
