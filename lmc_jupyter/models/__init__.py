"""Language models: what answers a conversation. `get_model` makes one from a name.

One rule: nothing here is chosen for the person. A name is taken as it is said; what `found`
finds is only offered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lmc_jupyter.errors import ModelError
from lmc_jupyter.models.brief import Model
from lmc_jupyter.models.found import Offer, close_offers, found

__all__ = ["Offer", "embedded", "found", "get_model", "key_name", "meant", "prepare", "warm_up"]


def get_model(name: str | Model | None = None, **options: Any) -> Model:
    """Make the model of this name; nothing is loaded and nobody is asked yet.

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
    from lmc_jupyter.models.transcription import Transcribing

    return Transcribing(model, transcriber)


def key_name(name: str | None, api_base: str | None = None) -> str:
    """What the environment would call the key of this model: OPENAI_API_KEY.

    Raises
    ------
    ModelError
        When it needs none, or nobody can say.
    """
    name = (name or os.environ.get("LMC_MODEL") or "local").strip()
    if name.partition("/")[0] in ("local", "replay"):
        raise ModelError(f"the model {name} needs no key: name one, `%lmc key OPENAI_API_KEY`")
    if api_base or os.environ.get("LMC_API_BASE"):
        return "LMC_API_KEY"
    from lmc_jupyter.models import litellm

    return litellm.key_name(name)


def meant(name: str, api_base: str | None = None) -> str:
    """Which model may be meant by a name that nobody knows, as a question; "" where nobody can say.

    Servers on this machine are asked for their models. LiteLLM's list counts where it has been
    loaded, which takes seconds, and where no address was given.
    """
    if name.partition("/")[0] in ("local", "replay"):
        return ""
    from lmc_jupyter.models import litellm
    from lmc_jupyter.models.failure import did_you_mean

    near = close_offers(name, found(), api_base)
    return did_you_mean((near + ([] if api_base else litellm.close(name)))[:3])


def embedded() -> Offer:
    """The model that needs neither a key nor a server; it may have to be fetched first."""
    from lmc_jupyter.models import weights
    from lmc_jupyter.models.local.model import DEFAULT
    from lmc_jupyter.models.local.process import has_runtime

    why = "runs on this machine, no key"
    if not has_runtime():
        why += "; `%pip install 'lmc-jupyter[local]'` comes first"
    elif weights.locate(DEFAULT) is None:
        why += f"; {weights.known(DEFAULT).megabytes:,} MB are fetched first"
    return Offer("local", why, label=f"{weights.title(DEFAULT)} (small, built in)")


def prepare(
    name: str,
    *,
    ask: Callable[[str], str] | None,
    say: Callable[[str], None],
    progress: Callable[[str], None],
) -> bool:
    """See to it that this model can answer; the embedded one may need its weights first.

    Parameters
    ----------
    ask : asks the person on the keyboard; None where nobody can be asked: nothing is fetched
    say : shows a sentence
    progress : shows how far it is, in place of what it showed before

    Returns
    -------
    Whether it can be chosen now.
    """
    provider, _, rest = name.strip().partition("/")
    if provider != "local":
        return True
    from lmc_jupyter.models import weights
    from lmc_jupyter.models.local.model import DEFAULT
    from lmc_jupyter.models.local.process import runtime

    wanted = rest or DEFAULT
    runtime()  # without it the weights are of no use
    if weights.locate(wanted) is not None:
        return True
    say(weights.consent_text(wanted))
    if ask is None or ask("Fetch it now? [y]es, [n]o: ").strip().lower() not in ("y", "yes"):
        return False
    weights.fetch(wanted, progress)
    return True


def warm_up(name: str | Model | None, more: Callable[[], object]) -> None:
    """Start the process that this model is asked through, if it has one, and return at once.

    Parameters
    ----------
    more : called on a thread when that is ready, after seconds: what else the first question
        would wait for
    """
    if not isinstance(name, str | None):
        return
    wanted = (name or os.environ.get("LMC_MODEL") or "local").strip()
    if wanted.partition("/")[0] not in ("local", "replay"):
        threading.Thread(
            target=_warm_up, args=(wanted, more), name="lmc-ahead", daemon=True
        ).start()


def _warm_up(name: str, more: Callable[[], object]) -> None:
    from lmc_jupyter.models import litellm

    with suppress(ModelError):  # the first question says it
        litellm.prepare(name)
    more()
