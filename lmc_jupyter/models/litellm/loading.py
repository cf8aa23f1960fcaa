"""LiteLLM, imported at the first call, and the one thread that reads the network for it.

One rule: nothing else in the package imports litellm. So a reply goes on downloading while a
person reads its first block of code, waiting can be interrupted, and whoever wants LiteLLM calls
`load`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from lmc_jupyter.content.loop_thread import LoopThread
from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.models import network
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel, ignore, receive
from lmc_jupyter.models.environment import unchanged_environment

# The thread ---------------------------------------------------------------------------------------


async def _close_all() -> None:
    """Close the connections that are kept for the next reply."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.wait_for(asyncio.gather(*rest, return_exceptions=True), 0.5)
    if _loaded:
        await asyncio.wait_for(_loaded[0].close_litellm_async_clients(), 0.3)


event_loop = LoopThread("lmc-models", _close_all, 1.0)
"""The event loop that reads the network."""


# The import ---------------------------------------------------------------------------------------

_loaded: list[Any] = []


def loaded() -> Any:
    """The module litellm where it was loaded before, else None."""
    return _loaded[0] if _loaded else None


def load(notify: Notify = ignore, cancel: Cancel | None = None) -> Any:
    """The module litellm, imported on the network's thread: that takes seconds the first time.

    Raises
    ------
    ModelError
        When it cannot be imported.
    Stopped
        `cancel` was set meanwhile.
    """
    if not _loaded:
        notify("loading LiteLLM")
        with (cancel or Cancel()).box() as box:
            event_loop().call_soon_threadsafe(_import, box.put)
            item = receive(box)
        if isinstance(item, LMCError):
            raise item
    return _loaded[0]


def _import(put: Callable[[Any], None]) -> None:
    if not _loaded:
        mine = "litellm" not in sys.modules
        prices = os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
        _quiet()
        try:
            # in its other mode it loads a file `.env` of this folder or one above it
            with unchanged_environment(
                LITELLM_MODE="PRODUCTION", LITELLM_LOCAL_MODEL_COST_MAP=prices
            ):
                litellm: Any = importlib.import_module("litellm")
            litellm.ModelResponse()  # its types are made at their first use, with warnings
            litellm.ModelResponseStream()
            network.install()
        except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
            put(ModelError(f"LiteLLM cannot be imported ({type(error).__name__}: {error})"))
            return
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True  # a third party would learn what is asked
        if mine:  # else its user has chosen
            litellm.telemetry = False
            litellm.disable_aiohttp_transport = True  # it drops what came just before a cut
            for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        _loaded.append(litellm)
    put(_loaded[0])


def _quiet() -> None:
    """Ignore LiteLLM's warnings, for the whole process: `catch_warnings` knows no threads."""
    warnings.filterwarnings("ignore", module=r"litellm\b")
    warnings.filterwarnings("ignore", message=r"Items? .* on TypedDict class", category=UserWarning)
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    # a call that is stopped while LiteLLM still prepares it
    warnings.filterwarnings("ignore", message=r"coroutine '\w+\.\w+' was never awaited")
    warnings.filterwarnings("ignore", message=r"module 'sre_\w+' is deprecated")
