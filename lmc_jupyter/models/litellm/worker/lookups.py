"""What LiteLLM knows of a model by its name, and how many tokens a text has for it.

One rule: only a server of one's own gets a request over the network, for its model's abilities.
"""

from __future__ import annotations

import inspect
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from lmc_jupyter.models.failure import close_names
from lmc_jupyter.models.litellm.worker.loading import load
from lmc_jupyter.models.litellm.worker.network import is_here
from lmc_jupyter.models.offers import OWN_SERVERS
from lmc_jupyter.models.values import Facts

_ABILITIES = ("function_calling", "vision", "audio_input", "pdf_input", "prompt_caching")
_ABOVE = re.compile(r"(?:input|output)_cost_per_token_above_(\d+)k_tokens")


def facts(model: str) -> Facts:
    """LiteLLM's facts on this model."""
    model = _plain(model)
    whose = provider(model)
    entry = {} if whose in OWN_SERVERS else _entry(model)  # LiteLLM would ask the server
    abilities = tuple(each for each in _ABILITIES if _supports(model, each))
    reads, writes = (
        next((size for size in map(entry.get, names) if isinstance(size, int) and size > 0), 0)
        for names in (("max_input_tokens", "max_tokens"), ("max_output_tokens", "max_tokens"))
    )
    tokenizer = ""
    if entry and whose in ("openai", "azure", "text-completion-openai"):
        tokenizer = "openai"
    elif entry and whose == "anthropic" and _claude_tokenizer() is not None:
        tokenizer = "claude"
    of_sound = load().model_cost
    of_sound = of_sound.get(model) or of_sound.get(model.partition("/")[2]) or {}
    second = of_sound.get("input_cost_per_second")
    return Facts(
        whose,
        abilities,
        reads,
        writes,
        tokenizer,
        tuple(missing(model)),
        tuple(_prices(model, entry)),
        second if isinstance(second, float) else None,
    )


def provider(model: str) -> str:
    """LiteLLM's name of the provider; "" for a model that it does not know."""
    try:
        return str(load().get_llm_provider(model)[1])
    except Exception:  # noqa: BLE001 - the call will say so
        return ""


def missing(model: str) -> list[str]:
    """The environment variables for this model's keys; none where its keys are set."""
    try:
        answer = load().validate_environment(model)
    except Exception:  # noqa: BLE001 - a model that it does not know: the call will say so
        return []
    return [] if answer["keys_in_environment"] else [str(each) for each in answer["missing_keys"]]


def counts_tokens(model: str) -> bool:
    """Whether the provider counts the tokens of a stream on request."""
    try:
        name, whose, *_ = load().get_llm_provider(model)
        options = load().get_supported_openai_params(name, whose)
    except Exception:  # noqa: BLE001 - a model that it does not know: the call will say so
        return False
    return "stream_options" in (options or ())


def goes_by_responses(model: str, request: Mapping[str, Any], base: str | None) -> bool:
    """Whether LiteLLM asks this model by OpenAI's Responses interface.

    Parameters
    ----------
    request, base : the keywords of the call, and its address
    """
    litellm = load()
    try:
        name, whose, *_ = litellm.get_llm_provider(model)
    except Exception:  # noqa: BLE001 - a model that it does not know: the call will say so
        return False
    asked = {
        "model": name,
        "custom_llm_provider": whose,
        "tools": request.get("tools"),
        "reasoning_effort": request.get("reasoning_effort"),
        "api_base": base,
    }
    check = litellm.main.responses_api_bridge_check
    known = inspect.signature(check).parameters  # older versions go by less
    info, _ = check(**{key: value for key, value in asked.items() if key in known})
    return bool(info.get("mode") == "responses")


def cost(model: str, prompt: int, reply: int, provider_count: Any = None) -> float | None:
    """US dollars for so many tokens by LiteLLM's list; None where it has no price.

    Parameters
    ----------
    counted : the provider's own count, which may say which tokens were cheaper
    """
    litellm = load()
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": reply}
    try:
        if provider_count is not None:
            fields = (
                provider_count if isinstance(provider_count, dict) else provider_count.model_dump()
            )
            usage = {"usage_object": litellm.Usage(**fields)}
        return float(sum(litellm.cost_per_token(model=_plain(model), **usage)))
    except Exception:  # noqa: BLE001 - it has no price for this model
        return None


def count(model: str, tokenizer: str, texts: Sequence[str]) -> list[int]:
    """The tokens of each text, by the tokenizer that `Facts` names."""
    # LiteLLM has one encoding for all of OpenAI's; by this name it asks no network for another
    name = "gpt-4o" if tokenizer == "openai" else model
    custom = _claude_tokenizer() if tokenizer == "claude" else None
    count_tokens = load().token_counter
    return [int(count_tokens(model=name, text=each, custom_tokenizer=custom)) for each in texts]


_WINDOW_KEYS = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "n_ctx",
    "context_window",
)
"""Where vLLM and SGLang, LM Studio, OpenRouter's like, and llama.cpp say how much a model reads."""
_SERVER_SECONDS = 3.0
"""For a server to say it: it is asked before the first question alone."""
_MOST_BYTES = 1_000_000


def window(model: str, base: str, key: str = "") -> int:
    """Tokens that a model reads by its server's own word; 0 where it does not say.

    Parameters
    ----------
    base : the address of a server that speaks OpenAI's protocol
    key : goes to this address alone
    """
    name = model.partition("/")[2]
    found = _get(f"{base.rstrip('/')}/models", key)
    entries = found.get("data") if isinstance(found, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        is_it = isinstance(entry, Mapping) and entry.get("id") == name
        if is_it and (size := _size_of(entry) or _size_of(entry.get("meta"))):
            return size
    props = _get(f"{base.rstrip('/').removesuffix('/v1')}/props", key)  # of llama.cpp
    return _size_of(props) or _size_of(
        props.get("default_generation_settings") if isinstance(props, Mapping) else None
    )


def _get(url: str, key: str) -> Any:
    """The JSON at an address; None where there is none."""
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    end = time.monotonic() + _SERVER_SECONDS
    try:
        address = httpx.URL(url)
        client = httpx.Client(
            timeout=_SERVER_SECONDS,
            follow_redirects=False,
            trust_env=not is_here(address.host),  # a proxy would get the key of a server here
            verify=address.scheme != "http",  # to load certificates takes 20 ms
        )
        with client, client.stream("GET", url, headers=headers) as response:
            data = b""
            for piece in response.iter_bytes():
                data += piece
                if len(data) > _MOST_BYTES or time.monotonic() > end:
                    return None
        return json.loads(data) if response.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None  # the request itself says what is wrong with the server


def _size_of(entry: Any) -> int:
    sizes = [entry.get(key) for key in _WINDOW_KEYS] if isinstance(entry, Mapping) else []
    return next((each for each in sizes if type(each) is int and each > 0), 0)


def close(model: str) -> list[str]:
    """Names of models that this one may mean; none where LiteLLM knows it."""
    return close_names(model, load().model_cost)


def _plain(model: str) -> str:
    """The name as LiteLLM's list has it: without the word that asks for the Responses interface."""
    return model.replace("/responses/", "/", 1)


def _entry(model: str) -> Mapping[str, Any]:
    """The model's entry in LiteLLM's list; empty where the list has none."""
    try:
        return dict(load().get_model_info(model))
    except Exception:  # noqa: BLE001 - a model that it does not know
        return {}


def _supports(model: str, ability: str) -> bool:
    return bool(getattr(load().utils, f"supports_{ability}")(model=model))


def _prices(model: str, entry: Mapping[str, Any]) -> Iterator[tuple[int, float, float]]:
    """The rows of `Facts.prices`: the price changes where more than so many tokens are read."""
    steps = {int(match[1]) * 1_000 for name in entry if (match := _ABOVE.fullmatch(name))}
    for above in sorted({0, *steps}):
        read, more = cost(model, above + 1, 0), cost(model, above + 1, 1)
        if read is None or more is None:
            return
        yield above, read / (above + 1), more - read


@lru_cache(maxsize=1)
def _claude_tokenizer() -> Any:
    """Claude's tokenizer that LiteLLM brings along; None in a version that has none."""
    litellm = load()
    file = resources.files(litellm) / "litellm_core_utils/tokenizers/anthropic_tokenizer.json"
    if not file.is_file():
        return None
    return litellm.create_tokenizer(file.read_text(encoding="utf-8"))
