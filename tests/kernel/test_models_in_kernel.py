"""A kernel that asks models: nothing of LiteLLM is in it, and its worker is gone with it."""

from __future__ import annotations

import base64
import io
import random
import time
import wave
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from model_server import STALL, ModelServer, Refusal, Turn, text, tool
from PIL import Image
from sampling import SEED, amount

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel, pytest.mark.long]

HEAVY = ("litellm", "openai", "aiohttp", "tiktoken", "httpx")
SOON = 60.0  # seconds, in which a process has to be gone: only a failing test waits so long

READY = """
import threading
for each in threading.enumerate():
    if each.name == "lmc-ahead": each.join()
"""
"""The kernel has done ahead of the first question what it can."""

OPEN = """
from lmc_jupyter import Message, Session
from lmc_jupyter.errors import LMCError

def ask(question, *attachments, **options):
    session = Session(**{{
        "model": "openai/gpt-4o-mini", "api_base": {base!r}, "api_key": "sk-0123456789abcdef",
        "auto_run": True, "keep": False, **options,
    }})
    try:
        for chunk in session.ask(question, attachments=list(attachments)):
            pass
        said = [message.content for message in session.messages]
    except LMCError as error:
        said = str(error)
    return said, session
"""


def picture() -> str:
    data = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(data, "png")
    return base64.b64encode(data.getvalue()).decode()


def sound() -> str:
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(b"\0\1" * 8_000)
    return base64.b64encode(data.getvalue()).decode()


def test_after_a_turn_of_every_kind_nothing_of_litellm_is_in_the_kernel(
    make_frontend: Callable[..., Any], model_server: ModelServer
) -> None:
    it = make_frontend()
    it.run(OPEN.format(base=model_server.base))
    model_server.turns = [Turn(text("Hello."), usage=(1_000, 100))]
    assert "Hello." in it.value("ask('Go.')[0]")
    assert 0 < it.value("ask('Go.')[1].spending.cost") < 0.01
    model_server.turns = [Turn(tool("python", "6 * 7")), Turn(text("It is 42."))]
    assert "It is 42." in it.value("ask('Go.')[0]")
    image = f"Message('user', 'image', 'base64.png', {picture()!r})"
    model_server.turns = [Turn(text("Red."))]
    assert "Red." in it.value(f"ask('Which colour?', {image})[0]")
    assert "data:image/png" in str(model_server.requests[-1].body)
    recording = f"Message('user', 'audio', 'wav', {sound()!r})"
    model_server.transcripts = ["What is six times seven?"]
    heard = f"ask('Listen.', {recording}, transcription_model='openai/whisper-1')[0]"
    assert "six times seven" in str(it.value(heard))
    model_server.turns = [Refusal(400, "temperature must be at most 2")]
    assert "temperature must be at most 2" in it.value("str(ask('Go.')[0])")
    assert "set ANTHROPIC_API_KEY" in it.value(
        "str(ask('Go.', model='anthropic/claude-sonnet-4-5', api_base=None, api_key=None)[0])"
    )
    assert "unknown model" in it.value("str(ask('Go.', model='gpt5', api_base=None)[0])")
    model_server.turns = [Turn(text("Short."))]
    assert "Short." in it.value("ask('Word. ' * 3_000 + 'Go.', context_window=30_000)[0]")
    it.run("session = ask('Go.')[1]")
    counted = it.value("str(session.choice.tokens(session.messages, session.brief()))")
    assert "by LiteLLM's tokenizer" in counted
    seen = it.value(f"sorted(m for m in sys.modules if m.split('.')[0] in {HEAVY})")
    assert seen == []


@pytest.mark.parametrize("end", ["kill -9", "restart", "shutdown"])
def test_the_worker_is_gone_with_its_kernel(
    make_frontend: Callable[..., Any], model_server: ModelServer, end: str
) -> None:
    """At whatever moment of a turn the kernel is killed; its other ends are waited for."""
    draw = random.Random(SEED)
    for _ in range(amount(2, 40) if end == "kill -9" else 1):
        it = make_frontend()
        it.run(OPEN.format(base=model_server.base))
        model_server.turns = [Turn(text("one"), STALL)]
        cell = it.start(
            "from lmc_jupyter.models.litellm import worker_process\n"
            "print(f'worker {worker_process.worker().pid}.', flush=True); ask('Go.')"
        )
        kernel = psutil.Process(it.manager.provisioner.pid)
        it.shows(cell, ".\n")
        pid = int(it.text(cell).split()[1].rstrip("."))
        workers = [psutil.Process(pid)]  # by its id: a moment after exec it has no arguments
        assert workers[0].ppid() == kernel.pid
        if end == "kill -9":
            time.sleep(draw.uniform(0, 8))  # from its start to a reply that has begun
            it.manager.signal_kernel(9)
        elif end == "restart":
            it.manager.restart_kernel(now=True)
        else:
            it.manager.shutdown_kernel(now=False)
        left = psutil.wait_procs(workers, timeout=SOON)[1]
        assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
        it.close()


def test_what_the_first_question_waits_for_is_there_before_it(
    make_frontend: Callable[..., Any], model_server: ModelServer
) -> None:
    it = make_frontend(env={"LMC_MODEL": "openai/gpt-4o-mini", "LMC_API_BASE": model_server.base})
    it.run("%load_ext lmc_jupyter")
    it.run(f"{READY}import sys\nthere = set(sys.modules)")
    assert model_server.requests == []
    model_server.turns = [Turn(text("ok"))]
    it.run("%%lmc\nGo.")
    later = it.value("sorted(name for name in {*sys.modules} - there if 'lmc' in name)")
    assert later == []


def test_it_starts_with_the_extension_where_the_model_needs_it(
    make_frontend: Callable[..., Any], model_server: ModelServer
) -> None:
    it = make_frontend(env={"LMC_MODEL": "openai/gpt-4o-mini"})
    it.run("%load_ext lmc_jupyter")
    it.run(f"{READY}from lmc_jupyter.models.litellm import worker_process")
    assert it.value("worker_process.is_loaded()")
    it.run("%config LMC.start_worker = False\nworker_process.close()")
    it.run("%lmc model openai/gpt-4o")
    assert it.value("worker_process._workers") == []
    it.run("%config LMC.start_worker = True")
    it.run("%lmc model openai/gpt-4.1")
    it.run(READY)
    assert it.value("worker_process.is_loaded()")
    it.run("worker_process.close()\n%config LMC.model = 'local'")
    assert it.value("worker_process._workers") == []
