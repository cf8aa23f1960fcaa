"""LiteLLM, imported once, on a thread of its own.

One rule: nothing else in the package imports litellm; its users call `load`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
from typing import Any

from lmc_jupyter.models.litellm.worker import network

_modules: list[Any] = []


def load() -> Any:
    """The module litellm; the first call waits for its import."""
    if not _modules:
        _modules.append(_import())
    return _modules[0]


def warm_up() -> None:
    """Ask a model of OpenAI's that is nowhere: what LiteLLM imports at its first call is there
    before a person asks. Nothing is sent."""
    import httpcore  # noqa: F401 - httpx imports it for a connection
    import httpx
    import openai

    choice = {"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "none"}
    event = {**head, "choices": [choice]}
    reply = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n"

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=reply, headers={"content-type": "text/event-stream"})

    async def ask() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as opened:
            http: Any = opened  # openai 3 takes clients of httpx, as LiteLLM makes them, untyped
            client = openai.AsyncOpenAI(api_key="none", base_url="http://none", http_client=http)
            messages = [{"role": "user", "content": "."}]
            arguments = {"model": "openai/none", "messages": messages, "client": client}
            async for _ in await load().acompletion(stream=True, **arguments):
                pass

    asyncio.run(ask())


def _import() -> Any:
    before = dict(os.environ)
    # in its other mode it loads a file `.env` of this folder or one above it: whoever sends you a
    # folder would choose where your key is sent
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
    try:
        litellm: Any = importlib.import_module("litellm")
        litellm.ModelResponse()  # its types are made at their first use
        litellm.ModelResponseStream()
        network.install()
    finally:
        for name in {*os.environ, *before}:
            if name not in before:
                del os.environ[name]
            elif os.environ.get(name) != before[name]:
                os.environ[name] = before[name]
    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True  # a third party would learn the names of models
    litellm.telemetry = False
    litellm.disable_aiohttp_transport = True  # it drops the last bytes before a broken connection
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm
