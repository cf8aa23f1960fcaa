"""LiteLLM's provider `local`: any LiteLLM call to `local/NAME` is answered by the worker.

One rule: it only forwards. The worker speaks OpenAI's protocol, so LiteLLM's own `openai/`
route does the work, with the address and the key of the worker that is started on the way.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from lmc_jupyter.errors import ModelError
from lmc_jupyter.models import weights
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.local.process import Worker, runtime, worker

PROVIDER = "local"

EXTRA = ("grammar", "json_schema", "cache_prompt")
"""What llama.cpp takes beyond OpenAI's parameters."""


def title(name: str) -> str:
    """What people call the model of that name; a file of their own is called by its name."""
    own, known = os.environ.get("LMC_LOCAL_MODEL"), weights.CATALOGUE.get(name)
    if own and (known is None or Path(own).name != known.file):
        return Path(own).name
    return known.title if known is not None else name


def worker_of(name: str) -> Worker:
    """The worker for a model's name; a `ModelError` says how to get weights that are not here."""
    runtime()  # without it the weights are of no use
    path = weights.locate(name)
    if path is None:
        raise ModelError(
            "No model can answer yet. Choose one with `%lmc model NAME`, or run `%lmc model "
            f"local`, which asks before it fetches the embedded one. {weights.consent_text(name)}"
        )
    return worker(path, title(name))


def register(litellm: Any) -> None:
    """Make `local/…` known to this LiteLLM; doing it twice does no harm."""
    if any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
        return
    litellm.custom_provider_map = [
        *litellm.custom_provider_map,
        {"provider": PROVIDER, "custom_handler": _provider(litellm)},
    ]


def _provider(litellm: Any) -> Any:
    class Local(litellm.CustomLLM):  # type: ignore[misc]  # LiteLLM is imported at first use only
        """Forwards to the worker."""

        def completion(self, *_: Any, **given: Any) -> Any:
            return litellm.completion(**_request(given))

        async def acompletion(self, *_: Any, **given: Any) -> Any:
            return await litellm.acompletion(**await asyncio.to_thread(_request, given))

        def streaming(self, *_: Any, **given: Any) -> Iterator[dict[str, Any]]:
            stream = litellm.completion(**_request(given), **STREAMED)
            try:
                for part in stream:
                    yield from _chunks(part, stream)
            finally:
                for each in _closable(stream):
                    each.close()

        async def astreaming(self, *_: Any, **given: Any) -> AsyncIterator[dict[str, Any]]:
            # starting the worker waits, which an event loop must not
            request = await asyncio.to_thread(_request, given)
            stream = await litellm.acompletion(**request, **STREAMED)
            try:
                async for part in stream:
                    for chunk in _chunks(part, stream):
                        yield chunk
            finally:
                for each in _closable(stream):
                    await each.close()

    return Local()


STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def _request(given: dict[str, Any], notify: Notify = lambda _: None) -> dict[str, Any]:
    options = dict(given.get("optional_params") or {})
    extra = dict(options.pop("extra_body", None) or {})
    extra |= {key: options.pop(key) for key in EXTRA if key in options}
    options.pop("stream", None)
    options.pop("stream_options", None)
    endpoint = worker_of(given["model"]).ready(notify)
    return {
        "model": f"openai/{given['model']}",
        "messages": given["messages"],
        "api_base": f"{endpoint.base}/v1",
        "api_key": endpoint.key,
        "extra_body": extra,
        "num_retries": 0,
        "max_retries": 0,
        **options,
    }


def _chunks(part: Any, stream: Any) -> Iterator[dict[str, Any]]:
    """A chunk of the inner stream as a custom provider gives it.

    LiteLLM makes up an end for a stream that breaks off; a crash must not look like one.
    """
    usage = getattr(part, "usage", None)
    counted = usage.model_dump() if usage is not None else None
    for choice in part.choices:
        if choice.finish_reason is not None and not getattr(stream, "received_finish_reason", None):
            raise ConnectionResetError("the worker ended in the middle of its reply")
        yield {
            "text": choice.delta.content or "",
            "is_finished": choice.finish_reason is not None,
            "finish_reason": choice.finish_reason or "",
            "index": choice.index,
            "tool_use": None,
            "usage": counted,
        }


def _closable(stream: Any) -> Iterator[Any]:
    """The provider's own stream below LiteLLM's: closing it ends the generation at once."""
    inner = getattr(stream, "completion_stream", None)
    if hasattr(inner, "close"):
        yield inner
