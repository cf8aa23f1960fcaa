"""What LiteLLM knows of a model by its name: provider, abilities, window, tokenizer.

One rule: only a server of one's own gets a request over the network. The worker's answers are
cached until the environment changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lmc_jupyter.content.tokens import estimates
from lmc_jupyter.keys import Secret
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Notify
from lmc_jupyter.models.cancel import Cancel, ignore
from lmc_jupyter.models.litellm import worker_process
from lmc_jupyter.models.offers import OWN_SERVERS
from lmc_jupyter.models.values import Facts

OLLAMA_WINDOW = 4_096
"""Tokens that Ollama reads without `num_ctx`; it drops the others without notice."""

OLLAMA = ("ollama", "ollama_chat")
_NEWER = 1.35
"""Tokens of Claude's newer models for one of the tokenizer that LiteLLM brings along."""

_facts: dict[str, Facts] = {}
_environment: dict[str, str] = {}
"""The environment of `_facts`: a key may be set later."""


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
    entry = _facts.get(model)
    if entry is None:
        answer = worker_process.look_up("facts", notify=notify, cancel=cancel, model=model)
        entry = _facts[model] = Facts.from_dict(answer)
    return entry


def knows(model: str) -> bool:
    """Whether `facts` has an answer without a wait."""
    return model in _facts and dict(os.environ) == _environment


def prepare(model: str) -> None:
    """Have LiteLLM loaded, and `facts` known where no server has to be asked for them.

    Raises
    ------
    ModelError
        When LiteLLM cannot be imported.
    """
    worker_process.begin()
    if model.partition("/")[0] in OWN_SERVERS:
        worker_process.load()
    else:
        facts(model)


def refresh(model: str, notify: Notify, cancel: Cancel) -> None:
    """Ask a server of one's own anew for its model: it may be another one now."""
    if facts(model, notify, cancel).provider in OWN_SERVERS:
        _facts.pop(model, None)
        facts(model, notify, cancel)


def window(model: str, options: Mapping[str, Any]) -> int:
    """Tokens that a model reads; 0 where that is not known."""
    about = facts(model)
    if about.provider not in OLLAMA:
        return about.reads
    # Ollama itself would report what the model could read, not what it reads
    size = options.get("num_ctx") or os.environ.get("OLLAMA_CONTEXT_LENGTH")
    try:
        return int(size) if size else OLLAMA_WINDOW
    except ValueError:
        return OLLAMA_WINDOW


def window_of_server(model: str, base: str, key: Secret | None) -> int:
    """Tokens that a model reads by the word of the server at this address; 0 where it does not
    say.
    """
    size: int = worker_process.look_up("window", model=model, base=base, key=key or "")
    return size


def output_limit(options: Mapping[str, Any]) -> int | None:
    """Tokens that a reply may have by the person's options; None without such an option."""
    limits = (options.get(key) for key in ("max_completion_tokens", "max_tokens"))
    return next((each for each in limits if isinstance(each, int) and each > 0), None)


def counter(model: str) -> tuple[budget.Count, str]:
    """(the function that counts the tokens of texts for this model, its name for a sentence)."""
    tokenizer = facts(model).tokenizer
    if tokenizer == "openai":
        return partial(_count, model, tokenizer), "by LiteLLM's tokenizer"
    if tokenizer == "claude":

        def count(texts: Sequence[str]) -> list[int]:
            return [int(_NEWER * each) + 1 for each in _count(model, tokenizer, texts)]

        return count, "by LiteLLM's tokenizer for Claude, and 35 % more for its newer models"
    return estimates, "by a cautious estimate: its tokenizer is not here"


def _count(model: str, tokenizer: str, texts: Sequence[str]) -> list[int]:
    counts: list[int] = worker_process.look_up(
        "count", model=model, tokenizer=tokenizer, texts=list(texts)
    )
    return counts


def close(model: str) -> list[str]:
    """Names of models that this one may mean; none where LiteLLM knows it or is not loaded."""
    return worker_process.look_up("close", model=model) if worker_process.is_loaded() else []
