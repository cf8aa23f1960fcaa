"""What LiteLLM knows of a model by its name: provider, abilities, window, tokenizer.

One rule: nobody is asked over the network but a server of one's own. What the worker says is kept
until the environment changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel, ignore
from lmc_jupyter.models.found import OWN_SERVERS
from lmc_jupyter.models.litellm import client
from lmc_jupyter.models.litellm.facts import Facts

OLLAMA_WINDOW = 4_096
"""Tokens that Ollama reads unless it is told otherwise (`num_ctx`); it drops the rest unsaid."""

OLLAMA = ("ollama", "ollama_chat")
_NEWER = 1.35
"""Tokens of Claude's newer models for one of the tokenizer that LiteLLM brings along."""

_facts: dict[str, Facts] = {}
_environment: dict[str, str] = {}
"""What `_facts` were found in: a key may be set."""


def facts(model: str, notify: Notify = ignore, cancel: Cancel | None = None) -> Facts:
    """What LiteLLM knows of this model; the first time it may wait for LiteLLM's import.

    Raises
    ------
    ModelError
        When LiteLLM cannot be imported.
    Stopped
        `cancel` was set meanwhile.
    """
    global _environment
    environment = dict(os.environ)
    if environment != _environment:
        _facts.clear()
        _environment = environment
    known = _facts.get(model)
    if known is None:
        answer = client.look_up("facts", notify=notify, cancel=cancel, model=model)
        known = _facts[model] = Facts.from_dict(answer)
    return known


def prepare(model: str) -> None:
    """Have LiteLLM loaded, and `facts` known where no server has to be asked for them.

    Raises
    ------
    ModelError
        When LiteLLM cannot be imported.
    """
    client.begin()
    if model.partition("/")[0] in OWN_SERVERS:
        client.load()
    else:
        facts(model)


def refresh(model: str, notify: Notify, cancel: Cancel) -> None:
    """Have `facts` ask anew where a server of one's own has the model: it may be another now."""
    if facts(model, notify, cancel).provider in OWN_SERVERS:
        _facts.pop(model, None)
        facts(model, notify, cancel)


def provider(model: str) -> str:
    """LiteLLM's name of the provider; "" for a model that it does not know."""
    return facts(model).provider


def supports(model: str, ability: str) -> bool:
    """Whether a model has an ability by LiteLLM's word for it, such as "vision"."""
    return ability in facts(model).abilities


def window(model: str, options: Mapping[str, Any]) -> int:
    """Tokens that a model reads, as far as it is known; 0 where nothing is."""
    known = facts(model)
    if known.provider not in OLLAMA:
        return known.reads
    # its server would say what the model could read
    size = options.get("num_ctx") or os.environ.get("OLLAMA_CONTEXT_LENGTH")
    try:
        return int(size) if size else OLLAMA_WINDOW
    except ValueError:
        return OLLAMA_WINDOW


def output_limit(options: Mapping[str, Any]) -> int | None:
    """Tokens that a reply may have, where the person said so among the options."""
    said = (options.get(key) for key in ("max_completion_tokens", "max_tokens"))
    return next((each for each in said if isinstance(each, int) and each > 0), None)


def counter(model: str) -> tuple[budget.Count, str]:
    """The function that counts texts' tokens for this model, and what people call it."""
    tokenizer = facts(model).tokenizer
    if tokenizer == "openai":
        return partial(_count, model, tokenizer), "by LiteLLM's tokenizer"
    if tokenizer == "claude":

        def count(texts: Sequence[str]) -> list[int]:
            return [int(_NEWER * each) + 1 for each in _count(model, tokenizer, texts)]

        return count, "by LiteLLM's tokenizer for Claude, and 35 % more for its newer models"
    return budget.estimates, "by a cautious estimate: its tokenizer is not here"


def _count(model: str, tokenizer: str, texts: Sequence[str]) -> list[int]:
    found: list[int] = client.look_up("count", model=model, tokenizer=tokenizer, texts=list(texts))
    return found


def close(model: str) -> list[str]:
    """The names of models that this one may mean; none where LiteLLM knows it or is not loaded."""
    return client.look_up("close", model=model) if client.is_loaded() else []
