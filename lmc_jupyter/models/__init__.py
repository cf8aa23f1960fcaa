"""Language models: what answers a conversation. `get_model` makes one from a name.

One rule: nothing here is chosen for the person. A name is taken as it is said; what `found`
finds is only offered.
"""

from __future__ import annotations

import os
from typing import Any

from lmc_jupyter.models.brief import Model
from lmc_jupyter.models.found import Offer, found

__all__ = ["Offer", "found", "get_model"]


def get_model(name: str | Model | None = None, **options: Any) -> Model:
    """Make the model of this name; nothing is loaded and nobody is asked yet.

    Parameters
    ----------
    name : str or object with `respond(messages)`, optional
        "local" or "local/NAME", "replay/PATH", any name of LiteLLM. Default: LMC_MODEL of
        the environment, else the embedded model. An object is returned as it is.
    **options
        api_base, api_key, temperature, max_tokens, ...: see each model.
    """
    if name is not None and not isinstance(name, str):
        return name
    name = (name or os.environ.get("LMC_MODEL") or "local").strip()
    provider, _, rest = name.partition("/")
    if provider == "local":
        from lmc_jupyter.models.local import LocalModel

        model: Model = LocalModel(rest, **options) if rest else LocalModel(**options)
        return model
    if provider == "replay":
        from lmc_jupyter.models.replay import ReplayModel

        return ReplayModel(rest, **options)
    from lmc_jupyter.models.litellm import LiteLLMModel

    return LiteLLMModel(name, **options)
