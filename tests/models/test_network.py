"""What one call may do on the network: against real servers on loopback, for five providers."""

from __future__ import annotations

import asyncio
import contextvars
import gzip
import json
import socket
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import patched_worker
import pytest
from model_server import DONE, END, HEAD, Fault, ModelServer, Turn, chunked, event, text

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.litellm import LiteLLMModel, NetworkLimits, worker_process
from lmc_jupyter.models.litellm.worker import loading, network
from lmc_jupyter.models.litellm.worker.network import Exchange
from lmc_jupyter.models.speech_to_text import transcript

KEY = "sk-verysecret0123456789abcdef"
NAMES = [
    "openai/some-model",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "azure/some-deployment",
    "ollama_chat/x",
    "mistral/mistral-large-latest",
]
GO = [Message("user", "message", content="The secret plan is pineapple.")]


@pytest.fixture
def elsewhere() -> Iterator[socket.socket]:
    """Where a server would like the key to go; nobody may connect."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server
        with pytest.raises(BlockingIOError):
            server.accept()


def redirect(status: int, to: str) -> Fault:
    head = f"HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nConnection: close\r\n\r\n"
    return Fault(head.encode())


def model_at(server: ModelServer, name: str = NAMES[0], **options: Any) -> LiteLLMModel:
    more = {"api_version": "2024-10-21"} if name.startswith("azure") else {}
    root = f"http://127.0.0.1:{server.port}"
    base = server.base if name.startswith(("openai", "mistral")) else root
    return LiteLLMModel(name, api_base=base, api_key=KEY, tools=False, **{**more, **options})


def failure(model: LiteLLMModel) -> tuple[str, str]:
    """What came, and why it ended."""
    came = ""
    try:
        for chunk in model.respond(GO):
            came += chunk.content or ""
    except ModelError as error:
        return came, str(error)
    raise AssertionError(f"it came whole: {came[:200]!r}")


# Redirects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", NAMES)
def test_a_redirect_gets_neither_the_key_nor_the_conversation(
    model_server: ModelServer, elsewhere: socket.socket, name: str, status: int
) -> None:
    port = elsewhere.getsockname()[1]
    model_server.turns = [redirect(status, f"http://127.0.0.1:{port}/v1/thief?x={KEY}")]
    came, said = failure(model_at(model_server, name))
    assert came == ""
    assert f"redirect ({status}) to http://127.0.0.1:{port}/v1/thief" in said
    assert "nothing was sent there" in said
    assert "--api-base" in said
    assert KEY not in said
    assert len(model_server.requests) == 1, "it is not asked again"


def test_a_recording_does_not_follow_a_redirect_either(
    model_server: ModelServer, elsewhere: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = redirect(307, f"http://127.0.0.1:{elsewhere.getsockname()[1]}/")
    monkeypatch.setattr(model_server, "_pick", lambda _: fault)
    with pytest.raises(ModelError, match=r"redirect \(307\)"):
        transcript("openai/whisper-1", b"RIFF", str, api_base=model_server.base, api_key=KEY)


def test_a_redirect_to_what_is_no_address_is_a_sentence(model_server: ModelServer) -> None:
    model_server.turns = [redirect(302, "http://[")]
    assert "redirect (302)" in failure(model_at(model_server))[1]


def test_what_the_person_sends_by_the_same_library_follows_redirects(
    model_server: ModelServer,
) -> None:
    import httpx

    model_server.turns = [Turn(text("Hi."))]
    assert list(model_at(model_server).respond(GO))
    model_server.first = [redirect(302, f"{model_server.base}/models")]
    assert httpx.get(f"{model_server.base}/x", follow_redirects=True).status_code == 200


# Limits -------------------------------------------------------------------------------------------


class Endless:
    """A server that never ends its reply."""

    def __init__(self, piece: bytes) -> None:
        self.piece, self.sent = piece, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Endless:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        self._server.close()
        assert not self._thread.is_alive(), "the connection is still open"

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            connection.recv(65_536)
            try:
                connection.sendall(HEAD)
                while True:
                    connection.sendall(chunked(self.piece))
                    self.sent += len(self.piece)
            except OSError:  # the client has gone
                return


def endless(piece: bytes, **limits: Any) -> tuple[str, str, int]:
    with Endless(piece) as server:
        base = f"http://127.0.0.1:{server.port}/v1"
        model = LiteLLMModel(  # its window is known: the server has one connection alone
            "openai/m",
            api_base=base,
            api_key=KEY,
            context_window=32_000,
            limits=NetworkLimits(**limits),
        )
        came, said = failure(model)
    return came, said, server.sent


BUFFERED = 10_000_000
"""What the system may hold of a connection that nobody reads any more."""


def test_a_reply_without_an_end_is_ended() -> None:
    words = b"".join(event({"content": f"more {number} "}) for number in range(200))
    came, said, sent = endless(words, size=100_000)
    assert came.startswith("more 0 more 1 ")
    assert "sent more than 100,000 bytes for one reply" in said
    assert "the part that arrived is here" in said
    assert sent < 100_000 + BUFFERED


def test_a_reply_of_more_text_than_models_write_is_ended() -> None:
    words = b"".join(event({"content": f"more {number} "}) for number in range(200))
    came, said, _ = endless(words, text=1_000)
    assert "has more than 1,000 characters" in said
    assert 900 < len(came) <= 1_000


def test_a_line_without_an_end_is_ended() -> None:
    came, said, sent = endless(b"data: " + b"x" * 20_000, event=1_000_000)
    assert came == ""
    assert "sent more than 1,000,000 bytes in one event" in said
    assert sent < 1_000_000 + BUFFERED


def test_an_event_of_endless_lines_is_ended() -> None:
    _, said, _ = endless(b"data: x\n" * 1_000, event=100_000)
    assert "sent more than 100,000 bytes in one event" in said


def test_many_events_that_are_cut_anywhere_are_no_long_one() -> None:
    """The ends of these events are cut by every piece."""
    events = b"".join(event({"content": f"more {number} "}) for number in range(100))
    _, said, _ = endless(events[1:] + events[:1], size=200_000, event=1_000)
    assert "sent more than 200,000 bytes for one reply" in said


@pytest.mark.parametrize("piece", [b": ping\n\n", b":\r\n\r\n", b":" + b"x" * 999])
def test_a_stream_of_comments_ends_at_the_limit_of_silence_and_of_bytes(piece: bytes) -> None:
    _, said, _ = endless(piece, silent=0.1, event=1_000_000_000)
    assert "sent nothing but signs of life for 0 s" in said
    _, said, sent = endless(piece, size=100_000)
    assert "sent more than 100,000 bytes for one reply" in said
    assert sent < 100_000 + BUFFERED


@pytest.mark.parametrize(
    ("pieces", "counts"),
    [
        ([b": ping\n\n", b":\n", b": da", b"ta: x\r", b"\n\r\n"], False),
        ([b": ping\n", b"data: x\n\n"], True),
        ([b": ping", b"\nda", b"ta: x\n\n"], True),
        ([b": a\rdata: x\r\r"], True),
        ([b"\n\n"], False),
    ],
)
def test_what_is_no_comment_is_data_wherever_a_piece_is_cut(
    pieces: list[bytes], counts: bool
) -> None:
    exchange = Exchange("openai/m", 3_600, 10_000, 10_000)
    assert (True in [exchange._has_data(piece) for piece in pieces]) == counts


def test_a_reply_that_only_says_it_lives_is_ended() -> None:
    _, said, _ = endless(b": ping\n\n", whole=0.1)
    assert "took more than 0 s" in said


def test_a_body_in_a_coding_that_was_not_asked_for_is_not_unpacked(
    model_server: ModelServer,
) -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    model_server.turns = [Fault(head + chunked(b"\x1f\x8b") + END)]
    assert "encoding 'gzip', which was not requested" in failure(model_at(model_server))[1]
    assert model_server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("coding", ["none", "utf-8", "x-gzip"])
def test_a_coding_that_nobody_unpacks_is_ignored(model_server: ModelServer, coding: str) -> None:
    head = HEAD.replace(b"\r\n\r\n", f"\r\nContent-Encoding: {coding}\r\n\r\n".encode())
    model_server.turns = [Fault(head + chunked(event({"content": "Hi."})) + _finish() + END)]
    assert "".join(each.content or "" for each in model_at(model_server).respond(GO)) == "Hi."


def packed_error(status: int, coding: str, body: bytes) -> Fault:
    head = (
        f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\nContent-Encoding: {coding}\r\n"
        f"Retry-After: 0\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return Fault(head.encode() + body)


ERROR = json.dumps({"error": {"message": "the queue of this project is full"}}).encode()


@pytest.mark.parametrize("name", ["openai/some-model", "anthropic/claude-sonnet-4-5"])
@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_an_error_that_came_packed_is_read(
    model_server: ModelServer, name: str, coding: str, pack: Any
) -> None:
    model_server.turns = [packed_error(400, coding, pack(ERROR))]
    assert "the queue of this project is full" in failure(model_at(model_server, name))[1]


@pytest.mark.parametrize("body", [gzip.compress(ERROR), b"this is no gzip"], ids=["gzip", "none"])
def test_a_packed_error_that_may_pass_is_tried_again(
    model_server: ModelServer, body: bytes
) -> None:
    model_server.first = [packed_error(429, "gzip", body)]
    model_server.turns = [Turn(text("Hi."))]
    assert "".join(each.content or "" for each in model_at(model_server).respond(GO)) == "Hi."


def test_a_long_reply_is_whole_under_the_limits(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("word " * 20_000), cut="all")]
    assert "".join(chunk.content or "" for chunk in model_at(model_server).respond(GO)).split() == (
        ["word"] * 20_000
    )


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(
    model_server: ModelServer, elsewhere: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.getsockname()[1]}")
    model_server.turns = [Turn(text("here"))]
    assert "".join(chunk.content or "" for chunk in model_at(model_server).respond(GO)) == "here"


# Third parties ------------------------------------------------------------------------------------


NOTING = """
import socket
def noted(host, *args, real=socket.getaddrinfo, **options):
    note(host.decode() if isinstance(host, bytes) else host)
    return real("127.0.0.1" if host != "localhost" else host, *args, **options)
socket.getaddrinfo = noted
"""


@pytest.fixture(scope="module")
def noting() -> Iterator[worker_process.LiteLLMWorker]:
    """A worker that notes which hosts it looks up, and reaches none but this machine."""
    with patched_worker.patched(NOTING) as worker:
        yield worker


@pytest.mark.long
@pytest.mark.parametrize("name", ["openai/llama-3-8b", "together_ai/meta-llama/Llama-3-70b"])
def test_no_tokenizer_is_fetched(
    model_server: ModelServer,
    noting: worker_process.LiteLLMWorker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """LiteLLM counts itself where the provider does not."""
    notes = patched_worker.use(noting, tmp_path, monkeypatch)
    model_server.turns = [Fault(HEAD + chunked(event({"content": "Hi."})) + _finish() + END)]
    base = model_server.base.replace("127.0.0.1", "localhost")
    model = LiteLLMModel(name, api_base=base, api_key=KEY)
    assert "".join(chunk.content or "" for chunk in model.respond(GO)) == "Hi."
    assert set(notes()) == {"localhost"}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # as the worker does
def test_who_chose_hugging_face_may_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """For `huggingface/<provider>/...` LiteLLM asks it for the provider's name of the model."""
    loading.load()
    import httpx
    from litellm.llms.huggingface.common_utils import fetch_inference_provider_mapping

    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        mapping = {"together": {"status": "live", "providerId": "x", "task": "conversational"}}
        return httpx.Response(200, json={"inferenceProviderMapping": mapping})

    client = httpx.Client(transport=httpx.MockTransport(answer))
    monkeypatch.setattr(httpx, "get", client.get)

    def ask() -> Any:
        chosen = "huggingface/together/deepseek-ai/DeepSeek-R1"
        network.Exchange(chosen, 60, 10**6, 10**6).begin()
        fetch_inference_provider_mapping.cache_clear()
        return fetch_inference_provider_mapping("deepseek-ai/DeepSeek-R1")

    with client:
        found = contextvars.copy_context().run(ask)
    assert found["together"]["providerId"] == "x"
    assert asked == ["/api/models/deepseek-ai/DeepSeek-R1"]


@pytest.mark.filterwarnings("ignore")  # as the worker does
def test_getting_ready_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a proxy that the environment names."""
    loading.load()

    def refused(*_: Any) -> None:
        raise AssertionError("somebody is asked")

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refused)
    loading.warm_up()


# The person's own LiteLLM -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # as the worker does
def test_a_task_of_a_call_follows_no_redirect_and_is_not_the_replys_problem() -> None:
    """It may send the key, or be a callback of the person's own: LiteLLM makes tasks for both."""
    loading.load()
    import httpx

    def answer(request: httpx.Request) -> httpx.Response:
        moved = request.url.path == "/old"
        return httpx.Response(302, headers={"location": "/new"}) if moved else httpx.Response(200)

    async def send() -> None:
        transport = httpx.MockTransport(answer)
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            await client.get("http://traces.example/old")

    def send_on_a_thread() -> None:
        with httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True) as client:
            client.get("http://traces.example/old")

    async def call() -> str:
        exchange = network.Exchange("openai/m", 60, 10**6, 10**6)
        exchange.begin()
        with pytest.raises(ModelError, match=r"redirect \(302\)"):
            await asyncio.create_task(send())
        before = exchange.problem
        with pytest.raises(ModelError, match=r"redirect \(302\)"):
            await send()
        with pytest.raises(ModelError, match=r"redirect \(302\)"):
            await asyncio.to_thread(send_on_a_thread)
        return before

    assert asyncio.run(call()) == ""


def _finish() -> bytes:
    return chunked(b"data: " + json.dumps(json.loads(event({}, "stop")[6:])).encode() + b"\n\n") + (
        chunked(DONE)
    )
