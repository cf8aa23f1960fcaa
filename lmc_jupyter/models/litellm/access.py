"""The address of a model and its key: which key may go where.

One rule: a key goes only to its own address. Keys of the environment and the keyring go to the
provider's own hosts only, LMC_API_KEY to the address in LMC_API_BASE only.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from lmc_jupyter.errors import ModelError
from lmc_jupyter.keys import Secret, look_up
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import ignore
from lmc_jupyter.models.litellm import catalogue

PLACEHOLDER = "none"
"""The key in requests to a server that wants some key, where the person gave none."""

_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET")

# LiteLLM's name of a provider -> its hosts, where the keys of the environment may go
_HOSTS = {
    "openai": ("openai.com",),
    "azure": ("azure.com", "azure.us", "azure-api.net"),
    "azure_ai": ("azure.com",),
    "anthropic": ("anthropic.com",),
    "gemini": ("googleapis.com",),
    "vertex_ai": ("googleapis.com",),
    "mistral": ("mistral.ai",),
    "codestral": ("mistral.ai",),
    "groq": ("groq.com",),
    "deepseek": ("deepseek.com",),
    "xai": ("x.ai",),
    "openrouter": ("openrouter.ai",),
    "together_ai": ("together.xyz", "together.ai"),
    "fireworks_ai": ("fireworks.ai",),
    "cohere": ("cohere.com", "cohere.ai"),
    "cohere_chat": ("cohere.com", "cohere.ai"),
    "perplexity": ("perplexity.ai",),
    "cerebras": ("cerebras.ai",),
    "huggingface": ("huggingface.co",),
    "nvidia_nim": ("nvidia.com",),
    "bedrock": ("amazonaws.com",),
}


def secret(key: str | Secret | None, name: str = "api_key") -> Secret | None:
    """The key as a secret; None for an empty one."""
    if isinstance(key, str):
        return Secret(key, name) if key.strip() else None
    return key


def sendable(key: str | Secret | None) -> Secret | None:
    """The key, if a request can carry it.

    Raises
    ------
    ModelError
        For characters that no key has, which may come from copying.
    """
    key = secret(key)
    if key is not None and not (key.reveal().isascii() and key.reveal().isprintable()):
        raise ModelError(
            f"the key {key.name} holds characters that no key has, such as quotation marks or line "
            "breaks: copy it again"
        )
    return key


def usual_address() -> str | None:
    """LMC_API_BASE of the environment; None where it has none."""
    return os.environ.get("LMC_API_BASE") or None


def is_usual(base: str | None) -> bool:
    """Whether LMC_API_KEY may go to this address."""
    return usual_address() in (None, base)


def is_own(model: str, base: str | None) -> bool:
    """Whether the address is the provider's own, where the environment's keys may go."""
    host = (urlsplit(base or "").hostname or "").lower()
    hosts = _HOSTS.get(catalogue.facts(model).provider, ())
    return any(host == own or host.endswith("." + own) for own in hosts)


def missing(model: str) -> tuple[str, ...]:
    """The environment variables for this model's keys; none where its keys are set."""
    return catalogue.facts(model).missing


def stored_keys(model: str, base: str | None, *, usual: bool = False) -> dict[str, Secret]:
    """Keys for the call, typed or of the keyring, where the environment has none.

    Parameters
    ----------
    usual : whether LMC_API_KEY may go to this address
    """
    keys: dict[str, Secret] = {}
    if not base or is_own(model, base):
        for name in filter(_KEY_NAME.search, missing(model)):
            key = look_up(name)
            if key is not None:
                keys.setdefault(name.lower() if name.startswith("AWS_") else "api_key", key)
    if not keys and usual and (key := look_up("LMC_API_KEY")) is not None:
        keys["api_key"] = key
    return keys


def key_name(model: str, notify: Notify = ignore) -> str:
    """The variable of the environment for the key of this model: "OPENAI_API_KEY".

    Raises
    ------
    ModelError
        For a model that LiteLLM does not know.
    """
    catalogue.facts(model, notify)
    names = [name for name in missing(model) if name.endswith("_API_KEY")]
    if names:
        return names[0]
    provider = catalogue.facts(model).provider
    if not provider:
        raise ModelError(f"nobody can say which key {model!r:.80} needs: `%lmc key NAME`")
    return f"{re.sub('[^A-Z0-9]', '_', provider.upper())}_API_KEY"
