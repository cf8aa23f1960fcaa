"""What LiteLLM knows of a model by its name: provider, abilities, list entry, tokenizer.

One rule: nobody is asked over the network. Each function answers from LiteLLM's own lists, and
loads it where that was not done before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache, partial
from importlib import resources
from typing import Any

from lmc_jupyter.models import budget
from lmc_jupyter.models.failure import close_names
from lmc_jupyter.models.found import OWN_SERVERS
from lmc_jupyter.models.litellm.loading import load, loaded

OLLAMA_WINDOW = 4_096
"""Tokens that Ollama reads unless it is told otherwise (`num_ctx`); it drops the rest unsaid."""

OLLAMA = ("ollama", "ollama_chat")
_NEWER = 1.35
"""Tokens of Claude's newer models for one of the tokenizer that LiteLLM brings along."""


def provider(model: str) -> str:
    """LiteLLM's name of the provider; "" for a model that it does not know."""
    try:
        return str(load().get_llm_provider(model)[1])
    except Exception:  # noqa: BLE001 - the call will say so
        return ""


def supports(model: str, ability: str) -> bool:
    """Whether a model has an ability by LiteLLM's word for it, such as "vision"."""
    return bool(getattr(load().utils, f"supports_{ability}")(model=model))


def entry(model: str) -> Mapping[str, Any]:
    """The model's entry in LiteLLM's list; empty where the list has none."""
    if provider(model) in OWN_SERVERS:
        return {}  # LiteLLM would ask the server
    try:
        return dict(load().get_model_info(model))
    except Exception:  # noqa: BLE001 - a model that it does not know
        return {}


def window(model: str, options: Mapping[str, Any]) -> int:
    """Tokens that a model reads, as far as it is known; 0 where nothing is."""
    if provider(model) in OLLAMA:  # its server would say what the model could read
        size = options.get("num_ctx") or os.environ.get("OLLAMA_CONTEXT_LENGTH")
        try:
            return int(size) if size else OLLAMA_WINDOW
        except ValueError:
            return OLLAMA_WINDOW
    info = entry(model)
    tokens = info.get("max_input_tokens") or info.get("max_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def output_limit(options: Mapping[str, Any]) -> int | None:
    """Tokens that a reply may have, where the person said so among the options."""
    said = (options.get(key) for key in ("max_completion_tokens", "max_tokens"))
    return next((each for each in said if isinstance(each, int) and each > 0), None)


def counter(model: str) -> tuple[budget.Count, str]:
    """The function that counts a text's tokens for this model, and what people call it."""
    whose = provider(model) if entry(model) else ""
    if whose in ("openai", "azure", "text-completion-openai"):
        # LiteLLM has one encoding for all of them; by this name it asks no network for another
        return partial(_encoded, "gpt-4o"), "by LiteLLM's tokenizer"
    tokenizer = _claude_tokenizer() if whose == "anthropic" else None
    if tokenizer is not None:

        def count(text: str) -> int:
            return int(_NEWER * _encoded(model, text, tokenizer)) + 1

        return count, "by LiteLLM's tokenizer for Claude, and 35 % more for its newer models"
    return budget.estimate, "by a cautious estimate: its tokenizer is not here"


def _encoded(model: str, text: str, tokenizer: Any = None) -> int:
    return int(load().token_counter(model=model, text=text, custom_tokenizer=tokenizer))


@lru_cache(maxsize=1)
def _claude_tokenizer() -> Any:
    """Claude's tokenizer that LiteLLM brings along; None in a version that has none."""
    litellm = load()
    file = resources.files(litellm) / "litellm_core_utils/tokenizers/anthropic_tokenizer.json"
    if not file.is_file():
        return None
    return litellm.create_tokenizer(file.read_text(encoding="utf-8"))


def close(model: str) -> list[str]:
    """The names of models that this one may mean; none where LiteLLM knows it or is not loaded."""
    litellm = loaded()
    return close_names(model, litellm.model_cost) if litellm is not None else []
