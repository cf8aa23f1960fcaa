"""Language models: what answers a conversation. `get_model` makes one from a name.

One rule: nothing here chooses for the person. A name is used as it is written; `find_offers` only
offers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lmc_jupyter.errors import ModelError
from lmc_jupyter.models.offers import Offer, close_offers, find_offers, offers_by_key

if TYPE_CHECKING:
    from lmc_jupyter.agent import Model

__all__ = [
    "Offer",
    "describe_missing",
    "embedded_offer",
    "embedded_title",
    "find_offers",
    "get_model",
    "key_name",
    "prepare",
    "suggest",
    "warm_up",
]


EXAMPLE = "openai/gpt-5-mini"
"""A model of a provider, as an example of a name."""


def get_model(name: str | Model | None = None, **options: Any) -> Model:
    """The model of this name; nothing is loaded and no request is sent yet.

    Parameters
    ----------
    name : str or object with `respond(messages)`, optional
        "local" or "local/NAME", "replay/PATH", any name of LiteLLM. Default: LMC_MODEL of
        the environment, else the embedded model. An object is returned as it is.
    **options
        api_base, api_key, temperature, max_tokens, ...: see each model. transcription_model: the
        model that transcribes recordings for one that takes no sound.
    """
    if name is not None and not isinstance(name, str):
        return name
    name = (name or os.environ.get("LMC_MODEL") or "local").strip()
    transcriber = options.pop("transcription_model", None)
    provider, _, rest = name.partition("/")
    if provider == "replay":
        from lmc_jupyter.models.replay import ReplayModel

        return ReplayModel(rest, **options)
    model: Model
    if provider == "local":
        from lmc_jupyter.models.local import LocalModel

        model = LocalModel(rest, **options) if rest else LocalModel(**options)
    else:
        from lmc_jupyter.models.litellm import LiteLLMModel

        model = LiteLLMModel(name, **options)
    if not transcriber:
        return model
    from lmc_jupyter.models.speech_to_text import TranscribingModel

    return TranscribingModel(model, transcriber)


def key_name(name: str | None, api_base: str | None = None) -> str:
    """The variable of the environment for the key of this model: "OPENAI_API_KEY".

    Raises
    ------
    ModelError
        When it needs none, or its variable is not known.
    """
    name = (name or os.environ.get("LMC_MODEL") or "local").strip()
    if name.partition("/")[0] in ("local", "replay"):
        raise ModelError(f"the model {name} needs no key: name one, `%lmc key OPENAI_API_KEY`")
    if api_base or os.environ.get("LMC_API_BASE"):
        return "LMC_API_KEY"
    from lmc_jupyter.models import litellm

    return litellm.key_name(name)


def suggest(name: str, api_base: str | None = None) -> str:
    """A question that offers models with a name like this unknown one; "" where there are none.

    It asks the servers on this machine for their models, and, without an address, LiteLLM's list,
    where that is loaded already: loading takes seconds.
    """
    if name.partition("/")[0] in ("local", "replay"):
        return ""
    from lmc_jupyter.models import litellm
    from lmc_jupyter.models.failure import did_you_mean

    near = close_offers(name, find_offers(), api_base)
    return did_you_mean((near + ([] if api_base else litellm.close(name)))[:3])


def embedded_offer() -> Offer:
    """The offer of the embedded model, which needs neither a key nor a server."""
    from lmc_jupyter.models import weights

    why = "runs on this machine, no key"
    if not weights.has_runtime():
        why += "; `%pip install 'lmc-jupyter[local]'` comes first"
    elif weights.locate(weights.DEFAULT) is None:
        why += f"; {weights.get_weights(weights.DEFAULT).megabytes:,} MB are fetched first"
    return Offer("local", why, label=f"{weights.title(weights.DEFAULT)} (small, built in)")


def embedded_title() -> str:
    """The name of the embedded model as a person reads it."""
    from lmc_jupyter.models import weights

    return weights.title(weights.DEFAULT)


def describe_missing(name: str | Model | None = None) -> str:
    """What to do before the first question, where this is an embedded model that is not here yet;
    "" where it is, and for every other model.
    """
    if not isinstance(name, str | None):
        return ""
    model_name = (name or os.environ.get("LMC_MODEL") or "local").strip()
    provider, _, rest = model_name.partition("/")
    if provider != "local":
        return ""
    from lmc_jupyter.models import weights

    try:
        if weights.has_runtime() and weights.locate(rest or weights.DEFAULT) is not None:
            return ""
        megabytes = weights.get_weights(rest or weights.DEFAULT).megabytes
    except ModelError as error:
        return f"No model yet: {error}."
    local = f"`%lmc model {model_name}` downloads a small one ({megabytes:,} MB)"
    if not weights.has_runtime():
        local = f"`%pip install 'lmc-jupyter[local]'`, then {local}"
    keyed = offers_by_key()
    other = f"`%lmc model {keyed[0].name}`" if keyed else f"`%lmc model {EXAMPLE}` and `%lmc key`"
    return f"No model yet: {local}, or {other} uses one of a provider."


def prepare(
    name: str,
    *,
    ask: Callable[[str], str] | None,
    say: Callable[[str], None],
    progress: Callable[[str], None],
) -> bool:
    """Fetch what this model needs to answer: the weights of the embedded one; nothing for others.

    Parameters
    ----------
    ask : asks the person on the keyboard; None where nobody can answer: nothing is fetched
    say : shows a sentence
    progress : shows the progress, in place of the line before

    Returns
    -------
    Whether the person can choose it now.
    """
    provider, _, rest = name.strip().partition("/")
    if provider != "local":
        return True
    from lmc_jupyter.models import weights
    from lmc_jupyter.models.local.process import runtime

    weights_name = rest or weights.DEFAULT
    runtime()  # without it the weights are of no use
    if weights.locate(weights_name) is not None:
        return True
    say(weights.consent_text(weights_name))
    if ask is None or ask("Fetch it now? [y]es, [n]o: ").strip().lower() not in ("y", "yes"):
        return False
    weights.fetch(weights_name, progress)
    return True


def warm_up(name: str | None) -> None:
    """Start the worker process that asks this model, if it has one; it takes seconds."""
    model_name = (name or os.environ.get("LMC_MODEL") or "local").strip()
    if model_name.partition("/")[0] not in ("local", "replay"):
        from lmc_jupyter.models import litellm

        with suppress(ModelError):  # the first question reports it
            litellm.prepare(model_name)
