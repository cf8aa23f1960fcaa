"""`get_model`, and what `find_offers` offers."""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from model_server import ModelServer
from scripted import ScriptedModel

from lmc_jupyter.frontends.panel.requests import settings
from lmc_jupyter.models import Offer, describe_missing, find_offers, get_model, weights
from lmc_jupyter.models.litellm import LiteLLMModel, catalogue
from lmc_jupyter.models.offers import KEYS, close_offers
from lmc_jupyter.models.weights import DEFAULT, get_weights
from lmc_jupyter.session import Session


def test_any_name_is_a_name_of_litellm() -> None:
    model = get_model("openai/gpt-4o", temperature=0)
    assert isinstance(model, LiteLLMModel)
    assert model.name == "openai/gpt-4o"


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMC_MODEL", "mistral/mistral-large-latest")
    assert get_model().name == "mistral/mistral-large-latest"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "expected"),
    [(None, ()), ("local", ()), ("local/qwen2.5-coder-1.5b", ("qwen2.5-coder-1.5b",))],
)
def test_the_embedded_model_is_the_default(
    monkeypatch: pytest.MonkeyPatch, name: str | None, expected: tuple[str, ...]
) -> None:
    monkeypatch.delenv("LMC_MODEL", raising=False)
    made: list[Any] = []

    class LocalModel:
        def __init__(self, *args: Any, **options: Any) -> None:
            made.append((args, options))

    module = ModuleType("lmc_jupyter.models.local")
    module.LocalModel = LocalModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lmc_jupyter.models.local", module)
    assert isinstance(get_model(name, temperature=0), LocalModel)
    assert made == [(expected, {"temperature": 0})]


def test_an_object_that_responds_is_a_model() -> None:
    model = ScriptedModel()
    assert get_model(model) is model


def test_keys_are_offered_by_the_name_of_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    assert find_offers({}) == []
    monkeypatch.setenv("GROQ_API_KEY", "gsk-something")
    (offer,) = find_offers({})
    assert offer.name.startswith("groq/")
    assert "GROQ_API_KEY" in offer.why
    assert "gsk-" not in repr(offer)


def test_litellm_knows_every_model_that_is_offered() -> None:
    unknown = [
        each for each in KEYS.values() if "function_calling" not in catalogue.facts(each).abilities
    ]
    assert unknown == []


def test_a_server_on_this_machine_is_offered_with_its_base(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    port = model_server.port
    assert find_offers({port: "LM Studio"}) == [
        Offer(
            "openai/some/model-1",
            f"LM Studio runs on this machine, port {port}",
            {"api_base": f"http://127.0.0.1:{port}/v1"},
            "some/model-1 (LM Studio)",
        )
    ]
    assert find_offers({port: "Ollama"})[0].name == "ollama_chat/some/model-1"


@pytest.mark.parametrize(
    ("listed", "name", "label"),
    [
        (
            {"id": "/home/me/My Models/qwen2.5 coder.gguf", "owned_by": "llamacpp"},
            "openai/qwen2.5-coder.gguf",
            "qwen2.5-coder.gguf (llama.cpp)",
        ),
        (
            {"id": "C:\\models\\qwen.gguf", "owned_by": "llamacpp"},
            "openai/qwen.gguf",
            "qwen.gguf (llama.cpp)",
        ),
        ({"id": "/models/qwen", "owned_by": "vllm"}, "openai//models/qwen", "qwen (llama.cpp)"),
    ],
)
def test_a_server_whose_model_is_a_path_is_offered_also_when_it_is_slow(
    listed: dict[str, str], name: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one answers after the time that is enough on an idle machine."""
    module = sys.modules[find_offers.__module__]
    assert module._WITHIN >= 2.0
    monkeypatch.setattr(module, "_WITHIN", 60.0)
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    body = json.dumps({"object": "list", "data": [listed]}).encode()
    late = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                late.wait(0.5 if name.startswith("openai//") else 0)
                head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
                connection.sendall(head + body)

        thread = threading.Thread(target=talk)
        thread.start()
        (offer,) = find_offers({server.getsockname()[1]: "llama.cpp"})
        thread.join()
    assert (offer.name, offer.label) == (name, label)


def test_a_server_that_hangs_or_is_no_server_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[find_offers.__module__], "_WITHIN", 0.4)
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    with (
        socket.create_server(("127.0.0.1", 0)) as hanging,
        socket.create_server(("127.0.0.1", 0)) as talking,
    ):

        def talk() -> None:
            connection, _ = talking.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n[1, 2]")

        thread = threading.Thread(target=talk)
        thread.start()
        ports = {each.getsockname()[1]: "vLLM" for each in (hanging, talking)}
        assert find_offers(ports) == []
        thread.join()


def test_a_mistyped_name_finds_models_of_servers_here_and_of_none_elsewhere() -> None:
    ollama, studio = "http://127.0.0.1:11434", "http://127.0.0.1:1234/v1"
    offers = [
        Offer("ollama_chat/qwen2.5-coder:7b", "", {"api_base": ollama}),
        Offer("openai/gpt-oss-20b", "", {"api_base": studio}),
        Offer("openai/gpt-5-mini", "a key"),
    ]
    qwen, oss = offers[0].words, offers[1].words
    assert qwen == f"ollama_chat/qwen2.5-coder:7b --api-base {ollama}"
    assert close_offers("qwen2.5-coder:7b", offers) == [qwen]
    assert close_offers("ollama/qwen2.5-Coder:7", offers) == [qwen]
    assert close_offers("ollama_chat/qwen2.5-coder:7b", offers) == []
    assert close_offers("groq/gpt-oss-20b", offers) == []
    assert close_offers("openai/gpt-oss-2b", offers, f"{studio}/") == [oss]
    assert close_offers("openai/gpt-oss-2b", offers, "http://127.0.0.1:1/v1") == []
    assert close_offers("gpt-5-min", offers) == []
    assert close_offers("llama", offers) == []


# No model yet -------------------------------------------------------------------------------------


def pretend_weights(cache: Path) -> Path:
    """A cache whose file of weights has the right size and nothing in it."""
    weights = get_weights(DEFAULT)
    (cache / "weights").mkdir(parents=True)
    with (cache / "weights" / weights.file).open("wb") as file:
        file.truncate(weights.size)
    return cache


def test_what_is_missing_for_the_embedded_model_is_said_with_the_commands_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("LMC_MODEL", "LMC_LOCAL_MODEL", *KEYS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMC_CACHE", str(pretend_weights(tmp_path / "full")))
    assert describe_missing(None) == ""  # its weights are here
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    for name in (None, "local"):
        said = describe_missing(name)
        assert "`%lmc model local` downloads a small one (491 MB)" in said
        assert "`%lmc model openai/gpt-5-mini` and `%lmc key`" in said
    assert "`%lmc model local/qwen2.5-coder-1.5b`" in describe_missing("local/qwen2.5-coder-1.5b")
    assert "choose one of" in describe_missing("local/qwen9")
    assert describe_missing("openai/gpt-5-mini") == ""
    assert describe_missing(ScriptedModel()) == ""
    monkeypatch.setenv("GROQ_API_KEY", "not-a-key")
    assert f"or `%lmc model {KEYS['GROQ_API_KEY']}`" in describe_missing(None)
    monkeypatch.setenv("LMC_MODEL", "replay/somewhere")
    assert describe_missing(None) == ""


def test_a_runtime_that_is_missing_is_installed_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    monkeypatch.delenv("LMC_MODEL", raising=False)
    monkeypatch.setattr(weights, "has_runtime", lambda: False)
    assert "`%pip install 'lmc-jupyter[local]'`, then `%lmc model local`" in describe_missing()


def test_a_panel_has_no_name_for_a_model_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LMC_MODEL", raising=False)
    monkeypatch.setenv("LMC_CACHE", str(pretend_weights(tmp_path / "full")))
    session = Session(keep=False)
    assert settings(session)["label"]
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    assert settings(session)["label"] == ""
