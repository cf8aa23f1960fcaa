"""Models that this machine could use: by a key in the environment, or a server on loopback.

One rule: it offers models and never chooses one. It reads of a key only whether it is there, and
sends requests to 127.0.0.1 alone.
"""

from __future__ import annotations

import json
import os
import queue
import re
import threading
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

KEYS: dict[str, str] = {
    "OPENAI_API_KEY": "openai/gpt-5-mini",
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5",
    "GEMINI_API_KEY": "gemini/gemini-3.5-flash",
    "MISTRAL_API_KEY": "mistral/mistral-large-latest",
    "GROQ_API_KEY": "groq/openai/gpt-oss-120b",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-chat",
    "OPENROUTER_API_KEY": "openrouter/anthropic/claude-sonnet-5",
    "XAI_API_KEY": "xai/grok-4.5",
}
"""A variable of the environment -> a model for its key."""

PORTS: dict[int, str] = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""The usual port of a server of models -> its name."""

OWN_SERVERS = ("ollama", "ollama_chat", "lm_studio", "llamafile", "docker_model_runner")
"""LiteLLM's names of the providers that are a server of one's own."""

_WITHIN = 2.0
"""Seconds for a server to answer: on a busy machine nothing is quick. A port without a server
refuses at once."""
_MOST = 256_000
_NAME = re.compile(r"[\w/~][\w./:@+\-]{0,254}")


class Offer(NamedTuple):
    """A model that could be used here: its name, the reason, and the options that it needs."""

    name: str
    why: str
    options: Mapping[str, Any] = MappingProxyType({})
    label: str = ""
    """For a person: "qwen2.5-coder:7b (Ollama)"."""

    @property
    def words(self) -> str:
        """The text behind `%lmc model` that chooses it: its name, and its address if needed."""
        base = self.options.get("api_base")
        return f"{self.name} --api-base {base}" if base else self.name


def find_offers(ports: Mapping[int, str] | None = None) -> list[Offer]:
    """The models that could be used here, servers first; it takes 2 s at most."""
    return [*_servers(PORTS if ports is None else ports), *offers_by_key()]


def close_offers(name: str, offers: Sequence[Offer], api_base: str | None = None) -> list[str]:
    """The texts behind `%lmc model` for models here that a mistyped name may mean, closest first.

    Without an address, only a name without a provider, or with a provider that is a server of
    one's own, can mean one of them: any other name is a model elsewhere.
    """
    provider, _, short = name.rpartition("/")
    if any(offer.name == name for offer in offers):
        return []
    if api_base is None and provider not in ("", *OWN_SERVERS):
        return []
    names: dict[str, str] = {}
    for offer in offers:
        base = offer.options.get("api_base")
        if base and (api_base is None or api_base.rstrip("/") == base):
            names.setdefault(offer.name.rpartition("/")[2].lower(), offer.words)
    return [names[each] for each in get_close_matches(short.lower(), names, 3, 0.75)]


def offers_by_key() -> list[Offer]:
    """The models for the keys in the environment."""
    return [
        Offer(name, f"{key} is in the environment", label=_label(key, name))
        for key, name in KEYS.items()
        if os.environ.get(key, "").strip()
    ]


def _label(key: str, name: str) -> str:
    word = key.removesuffix("_API_KEY").lower()
    own = {"openai": "OpenAI", "gemini": "Google", "deepseek": "DeepSeek", "xai": "xAI"}
    own["openrouter"] = "OpenRouter"
    return f"{name.rpartition('/')[2]} ({own.get(word, word.capitalize())})"


def _servers(ports: Mapping[int, str]) -> list[Offer]:
    """The models of all servers that answer in time; all ports are tried at once."""
    deadline = time.monotonic() + _WITHIN
    answers: queue.SimpleQueue[tuple[int, list[str]]] = queue.SimpleQueue()
    for port in ports:
        threading.Thread(target=_ask, args=(port, answers), daemon=True).start()
    models: dict[int, list[str]] = {}
    while len(models) < len(ports):
        try:
            port, names = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        models[port] = names
    return [_offer(name, port, ports[port]) for port in ports for name in models.get(port, [])]


def _offer(name: str, port: int, server: str) -> Offer:
    why = f"{server} runs on this machine, port {port}"
    base, label = f"http://127.0.0.1:{port}", f"{_short(name)} ({server})"
    if server == "Ollama":
        return Offer(f"ollama_chat/{name}", why, {"api_base": base}, label)
    return Offer(f"openai/{name}", why, {"api_base": f"{base}/v1"}, label)


def _ask(port: int, answers: queue.SimpleQueue[tuple[int, list[str]]]) -> None:
    """Put the models of one server into `answers`; http.client uses no proxy and no redirect."""
    import http.client

    names: list[str] = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_WITHIN)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status == 200:
            entries = json.loads(response.read(_MOST))["data"]
            ids = [_id(each) for each in entries]
            names = [each for each in ids if _NAME.fullmatch(each)][:20]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        names = []  # no server, or one of another kind
    finally:
        connection.close()
        answers.put((port, names))


def _id(entry: Mapping[str, Any]) -> str:
    """The name by which a server knows a model.

    llama.cpp without an alias gives the path of its file, and answers to any name.
    """
    name = str(entry["id"])
    if entry.get("owned_by") == "llamacpp":
        return re.sub(r"[^\w.:@+\-]+", "-", re.split(r"[/\\]", name)[-1])
    return name


def _short(name: str) -> str:
    """The name as a person reads it: of a path, its last part."""
    return name.rstrip("/").rpartition("/")[2] if name[:1] in "/~" else name
