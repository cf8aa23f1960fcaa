"""The worker of the embedded model, with a stand-in for the native runtime."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.local import LocalModel, process
from lmc_jupyter.models.request import Request

pytestmark = pytest.mark.long

STAND_IN = Path(__file__).parent / "stand_in"
QUESTION = [Message("user", "message", content="Hello")]

Script = Callable[..., Path]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """Makes the "weights" of the stand-in, which is the runtime that is found."""
    monkeypatch.syspath_prepend(str(STAND_IN))

    def make(*replies: Any, **more: Any) -> Path:
        path = tmp_path / "own.gguf"
        path.write_text(json.dumps({"replies": replies, **more}))
        monkeypatch.setenv("LMC_LOCAL_MODEL", str(path))
        return path

    yield make
    process.close_all()


def said(model: LocalModel) -> str:
    return "".join(piece.content or "" for piece in model.respond(QUESTION))


def ask(endpoint: process.Endpoint, path: str, key: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {endpoint.key if key is None else key}"}
    request = urllib.request.Request(endpoint.base + path, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


def the_worker(path: Path) -> process.LocalWorker:
    return process.worker(path, path.name)


def test_a_reply_streams_through_the_worker(script: Script) -> None:
    script("Hello to you")
    pieces = [piece.content for piece in LocalModel().respond(QUESTION)]
    assert "".join(pieces).strip() == "Hello to you"
    assert len(pieces) == 3


def test_usage_is_counted_and_costs_nothing(script: Script) -> None:
    script("Hello")
    model = LocalModel()
    said(model.with_brief(Brief, lambda _: None))
    assert model.usage is not None
    assert (model.usage.prompt_tokens, model.usage.completion_tokens) == (7, 5)
    assert model.usage.cost == 0


def test_the_worker_is_shared_by_all_models_of_the_process(script: Script) -> None:
    path = script("Hello")
    said(LocalModel())
    first = the_worker(path).pid
    said(LocalModel(temperature=0.5))
    assert the_worker(path).pid == first is not None


def test_options_go_to_the_runtime(script: Script) -> None:
    path = script("Hello")
    said(LocalModel(temperature=0.25))
    [request] = ask(the_worker(path).ready(lambda _: None), "/seen")
    assert request["temperature"] == 0.25
    assert request["cache_prompt"] is False


def test_an_address_and_a_key_of_other_models_are_not_used(script: Script) -> None:
    path = script("Hello")
    said(LocalModel(api_base="http://127.0.0.1:9/v1", api_key="sk-0", extra_body={"top_k": 3}))
    [request] = ask(the_worker(path).ready(lambda _: None), "/seen")
    assert request["top_k"] == 3


def test_what_is_shown_as_sent_is_what_was_sent(script: Script) -> None:
    path = script("Hello")
    requests: list[Request] = []
    said(LocalModel(seed=7, extra_body={"top_k": 3}).with_record(requests.append))
    [request] = requests
    assert [json.loads(request.body)] == ask(the_worker(path).ready(lambda _: None), "/seen")
    assert request.model == "local/qwen2.5-coder-0.5b"
    assert (request.prompt_tokens, request.completion_tokens, request.cost) == (7, 5, 0)
    assert request.seconds > 0


def test_what_a_limit_forbids_is_not_sent(script: Script) -> None:
    path = script("Hello")

    def forbid(request: Request) -> None:
        raise ModelError("that is the limit")

    with pytest.raises(ModelError, match="that is the limit"):
        said(LocalModel().with_record(forbid))
    assert ask(the_worker(path).ready(lambda _: None), "/seen") == []


def test_what_the_environment_says_for_a_provider_does_not_reach_it(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-my-company")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: of-my-company")
    path = script("Hello")
    assert said(LocalModel()).strip() == "Hello"
    endpoint = the_worker(path).ready(lambda _: None)
    [headers] = ask(endpoint, "/headers")
    assert headers["authorization"] == f"Bearer {endpoint.key}"
    assert not {"openai-organization", "openai-project", "x-gateway"} & {*headers}
    assert "of-my-company" not in str(headers)


@pytest.mark.parametrize("key", ["", "wrong"])
def test_without_its_key_the_worker_answers_nobody(script: Script, key: str) -> None:
    endpoint = the_worker(script("Hello")).ready(lambda _: None)
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(endpoint, "/seen", key)
    refused.value.close()
    assert refused.value.code == 401


def test_the_key_is_not_in_what_is_printed_of_an_endpoint(script: Script) -> None:
    endpoint = the_worker(script("Hello")).ready(lambda _: None)
    assert endpoint.key not in repr(endpoint)


def test_it_listens_on_this_computer_only(script: Script) -> None:
    worker = the_worker(script("Hello"))
    worker.ready(lambda _: None)
    listening = [c for c in psutil.Process(worker.pid).net_connections() if c.status == "LISTEN"]
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}


def test_closing_the_reply_stops_the_generation(script: Script) -> None:
    path = script({"endless": True})
    reply = LocalModel().respond(QUESTION)
    assert next(reply).content == "one "
    reply.close()
    assert ask(the_worker(path).ready(lambda _: None), "/closed") is True


def test_stop_from_another_thread_ends_the_reply(script: Script) -> None:
    path = script({"endless": True})
    model = LocalModel().with_brief(Brief, lambda _: None)
    reply = model.respond(QUESTION)
    next(reply)
    threading.Thread(target=model.stop).start()
    with pytest.raises(Stopped):
        list(reply)
    assert ask(the_worker(path).ready(lambda _: None), "/closed") is True


def test_stop_ends_the_wait_for_the_weights(script: Script) -> None:
    path = script("Hello", load="never")
    model = LocalModel()

    def stop_when_loading(text: str) -> None:
        if text.startswith("loading own.gguf"):
            model.stop()

    model._notify = stop_when_loading
    with pytest.raises(Stopped):
        list(model.respond(QUESTION))
    assert the_worker(path).pid is None


def test_the_wait_is_told(script: Script) -> None:
    script("Hello")
    told: list[str] = []
    said(LocalModel().with_brief(Brief, told.append))
    assert any("loading own.gguf" in text for text in told)


def test_it_may_load_before_it_is_asked_and_nobody_waits_for_that(script: Script) -> None:
    path = script("Hello", load="never")
    LocalModel().preload()
    first = the_worker(path).pid
    assert first is not None
    waits = threading.Event()

    def notify(text: str) -> None:
        if text.startswith("loading own.gguf"):
            waits.set()

    model = LocalModel().with_brief(Brief, notify)

    def ask() -> None:
        with pytest.raises(Stopped):
            said(model)

    asks = threading.Thread(target=ask)
    asks.start()
    assert waits.wait(30)
    model.preload()  # though the other thread waits for it
    assert the_worker(path).pid == first
    model.stop()
    asks.join()


def test_what_was_loaded_before_answers(script: Script) -> None:
    path = script("Hello")
    model = LocalModel()
    model.preload()
    first = the_worker(path).pid
    assert said(model).strip() == "Hello"
    assert the_worker(path).pid == first


def test_without_weights_nothing_is_loaded_beforehand_and_nothing_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LMC_LOCAL_MODEL", raising=False)
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    LocalModel().preload()
    assert process._workers == {}


def test_a_worker_that_died_is_started_again(script: Script) -> None:
    path = script("Hello")
    said(LocalModel())
    worker = the_worker(path)
    first = worker.pid
    assert first is not None
    dead = psutil.Process(first)
    os.kill(first, signal.SIGKILL)
    psutil.wait_procs([dead], timeout=30)
    assert said(LocalModel()).strip() == "Hello"
    assert worker.pid not in (None, first)


@pytest.mark.parametrize("after", [0, 0.8], ids=["at once", "behind its connections"])
def test_a_crash_in_the_middle_of_a_reply_is_an_error_and_the_next_question_works(
    script: Script, after: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmc_jupyter.models.local.model.ENDING_SECONDS", 60)
    path = script({"die": True, "after": after})
    reply = LocalModel().respond(QUESTION)
    assert next(reply).content == "one "
    with pytest.raises(ModelError):
        list(reply)
    path.write_text(json.dumps({"replies": ["Hello again"]}))
    assert said(LocalModel()).strip() == "Hello again"


def test_a_worker_that_dies_before_its_reply_begins_is_started_again_unseen(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmc_jupyter.models.local.model.ENDING_SECONDS", 60)
    path = script("Hello", dies=True)
    first = the_worker(path).start().process.pid
    requests: list[Request] = []
    assert said(LocalModel().with_record(requests.append)).strip() == "Hello"
    assert the_worker(path).pid not in (None, first)
    assert len(requests) == 1


def test_weights_that_cannot_be_loaded_are_named(script: Script) -> None:
    path = script(load="fail")
    with pytest.raises(ModelError, match=r"could not be loaded.*Failed to init") as caught:
        said(LocalModel())
    assert str(path) in str(caught.value)


def test_without_the_runtime_the_error_says_what_to_install(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script("Hello")
    monkeypatch.setattr(process.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'lmc-jupyter\[local\]'"):
        said(LocalModel())


def test_without_weights_the_error_says_what_would_be_fetched_and_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LMC_LOCAL_MODEL", raising=False)
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        list(LocalModel().respond(QUESTION))
    for word in ("Qwen2.5-Coder 0.5B", "Qwen team", "Apache-2.0", "491 MB", "%lmc model local"):
        assert word in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_closing_ends_the_process(script: Script) -> None:
    worker = the_worker(script("Hello"))
    worker.ready(lambda _: None)
    child = psutil.Process(worker.pid)
    process.close_all()
    assert worker.pid is None
    assert not child.is_running()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no POSIX sessions there")
def test_an_interrupt_for_the_kernel_does_not_reach_it(script: Script) -> None:
    worker = the_worker(script("Hello"))
    worker.ready(lambda _: None)
    assert worker.pid is not None
    assert os.getsid(worker.pid) != os.getsid(0)


PARENT = """
import os, sys, time
from pathlib import Path
from lmc_jupyter.models.local import process
worker = process.worker(Path(sys.argv[1]), "own")
worker.ready(lambda _: None)
fork = os.fork() if sys.argv[2] == "forked" else 0
if sys.argv[2] == "forked" and fork == 0:
    time.sleep(600)  # holds the worker's standard input open
print(worker.pid, fork, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork and no SIGKILL there")
@pytest.mark.parametrize("kind", ["plain", "forked"])
def test_it_ends_when_its_parent_is_killed(script: Script, kind: str) -> None:
    path = script("Hello")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(STAND_IN), str(Path(__file__).parents[2])])
    }
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(path), kind],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert parent.stdout is not None
    worker, fork = map(int, parent.stdout.readline().split())
    child = psutil.Process(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    try:
        child.wait(timeout=30)
    except psutil.NoSuchProcess:
        pass  # it was quicker
    finally:
        if fork:
            os.kill(fork, signal.SIGKILL)
    assert not child.is_running()


def test_without_the_runtime_no_weights_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmc_jupyter.models import embedded_offer, prepare

    monkeypatch.delenv("LMC_LOCAL_MODEL", raising=False)
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    monkeypatch.setattr(process.importlib.util, "find_spec", lambda name: None)
    said_: list[str] = []
    with pytest.raises(ModelError, match=r"^the runtime of the embedded model is not installed"):
        prepare("local", ask=lambda _: "y", say=said_.append, progress=said_.append)
    assert said_ == []
    assert "MB" not in embedded_offer().why
    with pytest.raises(ModelError) as caught:
        said(LocalModel())
    assert "MB" not in str(caught.value)


def test_the_first_error_without_a_model_begins_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LMC_LOCAL_MODEL", raising=False)
    monkeypatch.setenv("LMC_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"^No model can answer yet. Choose one with `%lmc model"):
        said(LocalModel())
