"""A request to the worker's server: what comes of each reply that a server may give."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.models.budget import WindowError
from lmc_jupyter.models.cancel import Cancel
from lmc_jupyter.models.local import client
from lmc_jupyter.models.local.client import encode, stream
from lmc_jupyter.models.local.process import Endpoint
from lmc_jupyter.models.values import Delta, NetworkLimits

Answer = Callable[[socket.socket], None]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def at(listening: socket.socket) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}", "k-1")


class Server:
    """Answers one connection after the other with bytes, or by a function; keeps what was asked."""

    def __init__(self, answer: bytes | Answer) -> None:
        self.answer, self.asked = answer, b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = at(self._listening)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # the client may go away at any time
                self._read(connection)
                if not isinstance(self.answer, bytes):
                    self.answer(connection)
                else:
                    connection.sendall(self.answer)

    def _read(self, connection: socket.socket) -> None:
        self.asked = asked = b""
        while not _is_whole(asked):
            more = connection.recv(65536)
            if not more:
                return
            asked += more
        self.asked = asked

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()


def _is_whole(request: bytes) -> bool:
    head, found, body = request.partition(b"\r\n\r\n")
    if not found:
        return False
    return len(body) >= int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])


@pytest.fixture
def serve() -> Iterator[Callable[[bytes | Answer], Server]]:
    servers: list[Server] = []

    def make(answer: bytes | Answer) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield make
    for each in servers:
        each.close()


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def piece(text: str | None = None, finish: str | None = None) -> bytes:
    delta = {} if text is None else {"content": text}
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


COUNT = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
REPLY = [piece("naïve "), piece("🙂"), piece(finish="stop"), COUNT, b"data: [DONE]\n\n"]
WHOLE = HEAD + b"".join(map(chunked, REPLY)) + b"0\r\n\r\n"


def ask(server: Server, cancel: Cancel | None = None, **limits: Any) -> list[Delta]:
    """All pieces of the reply."""
    body = encode({"messages": []})
    return list(stream("Tiny", server.endpoint, body, cancel or Cancel(), NetworkLimits(**limits)))


def failure(server: Server, **limits: Any) -> str:
    with pytest.raises(ModelError) as caught:
        ask(server, **limits)
    return str(caught.value)


def test_a_reply_comes_in_the_pieces_that_were_sent_and_with_its_count(serve) -> None:
    *texts, end = ask(serve(WHOLE))
    assert [each.text for each in texts] == ["naïve ", "🙂"]
    assert end.finish == "stop"
    assert end.usage is not None
    assert (end.usage.prompt_tokens, end.usage.completion_tokens, end.usage.cost) == (3, 2, 0)


def test_the_request_goes_to_the_server_alone_whatever_the_environment_says(
    serve, monkeypatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server = serve(WHOLE)
    ask(server)
    head = server.asked.partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")
    assert head[0] == "post /v1/chat/completions http/1.1"
    assert {line.split(":")[0] for line in head[1:]} == {
        "host", "accept-encoding", "content-length", "authorization", "content-type",
    }  # fmt: skip
    assert "authorization: bearer k-1" in head


@pytest.mark.parametrize("pace", [1, 7, 4096])
def test_however_the_network_cuts_the_reply_the_same_comes(serve, pace: int) -> None:
    def slowly(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(WHOLE), pace):
            connection.sendall(WHOLE[at : at + pace])

    assert "".join(each.text for each in ask(serve(slowly))) == "naïve 🙂"


def test_a_reply_that_breaks_off_anywhere_is_an_error_and_never_a_whole_reply(serve) -> None:
    server = serve(b"")
    finished = WHOLE.index(chunked(piece(finish="stop"))) + len(chunked(piece(finish="stop")))
    for cut in range(finished - 3):  # the line's own end may be missing
        server.answer = WHOLE[:cut]
        deltas: list[Delta] = []
        with pytest.raises(ModelError, match=r"Tiny (stopped|ended|refused)|reply of Tiny"):
            deltas.extend(stream("Tiny", server.endpoint, b"{}", Cancel()))
        assert not any(each.finish for each in deltas)
        assert "naïve 🙂".startswith("".join(each.text for each in deltas))


def test_a_reply_whose_count_is_cut_off_is_whole_without_it(serve, monkeypatch) -> None:
    monkeypatch.setattr(client, "COUNT_SECONDS", 0.05)
    until = WHOLE.index(chunked(COUNT))
    over = threading.Event()

    def silent(connection: socket.socket) -> None:
        connection.sendall(WHOLE[:until])
        over.wait(60)

    for answer in (WHOLE[:until], silent):
        end = ask(serve(answer))[-1]
        over.set()
        assert end.finish == "stop"
        assert end.usage is not None
        assert end.usage.prompt_tokens is None


def test_a_reply_that_its_own_limit_cut_says_so(serve) -> None:
    reply = HEAD + chunked(piece("a")) + chunked(piece(finish="length")) + b"0\r\n\r\n"
    assert "raise max_tokens" in failure(serve(reply))


def test_an_error_within_the_reply_is_said_in_the_servers_words(serve) -> None:
    bad = event({"error": {"message": "out of memory", "code": 500}})
    assert failure(serve(HEAD + chunked(piece("a")) + chunked(bad))) == "Tiny failed: out of memory"


def test_a_line_that_is_no_json_ends_the_reply(serve) -> None:
    said = failure(serve(HEAD + chunked(piece("a")) + chunked(b"data: {oh\n\n")))
    assert said.startswith("the reply of Tiny stopped before its end")


def refusal(status: str, body: bytes, *more: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status}".encode(), b"Content-Length: %d" % len(body), *more, b"", body]
    return b"\r\n".join(lines)


def test_a_refusal_is_said_in_the_servers_words(serve) -> None:
    body = json.dumps({"error": {"code": 400, "message": "failed to parse grammar"}}).encode()
    assert "failed to parse grammar" in failure(serve(refusal("400 Bad Request", body)))
    assert "(500)" in failure(serve(refusal("500 Internal Server Error", b"<oh>")))


def test_a_request_longer_than_it_reads_is_told_apart(serve) -> None:
    told = {"type": "exceed_context_size_error", "n_prompt_tokens": 10_029, "n_ctx": 4096}
    body = json.dumps({"error": {"code": 400, "message": "too long", **told}}).encode()
    with pytest.raises(WindowError, match=r"have 10,029 tokens, and this small model reads 4,096"):
        ask(serve(refusal("400 Bad Request", body)))


def test_a_redirect_is_not_followed(serve) -> None:
    other = serve(WHOLE)
    where = f"Location: {other.endpoint.base}/v1/chat/completions".encode()
    assert failure(serve(refusal("307 Temporary Redirect", b"", where)))
    assert other.asked == b""


def test_nobody_at_the_address_is_said_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused
        with pytest.raises(ModelError, match=r"^Tiny ended without an answer: ask again"):
            list(stream("Tiny", at(taken), b"{}", Cancel()))


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(serve) -> None:
    over = threading.Event()

    def silent(connection: socket.socket) -> None:
        over.wait(60)

    assert failure(serve(silent), first_byte=0.05).startswith("Tiny did not answer within")

    def begins(connection: socket.socket) -> None:
        connection.sendall(HEAD + chunked(piece("a")))
        over.wait(60)

    said = failure(serve(begins), idle=0.05)
    assert said.startswith("the reply of Tiny stopped before its end")
    over.set()


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"event": 50}, "more than 50 bytes in one event"),
        ({"size": 300}, "more than 300 bytes"),
        ({"whole": 0.0}, "more than 0 seconds"),
    ],
)
def test_a_reply_is_not_read_beyond_its_limits(serve, limits: dict[str, float], said: str) -> None:
    def endless(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        while True:
            connection.sendall(chunked(piece("a")))

    assert said in failure(serve(endless), **limits)


def waits(server_ready: threading.Event, gone: threading.Event) -> Answer:
    """Sends one piece, says so, and tells when the client has gone away."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD + chunked(piece("a")))
        server_ready.set()
        connection.settimeout(60)
        if connection.recv(1) == b"":
            gone.set()

    return answer


def test_stop_ends_it_at_once_and_closes_the_connection(serve) -> None:
    ready, gone, cancel = threading.Event(), threading.Event(), Cancel()
    deltas = stream("Tiny", serve(waits(ready, gone)).endpoint, b"{}", cancel)
    assert next(deltas).text == "a"
    threading.Thread(target=cancel.set).start()
    with pytest.raises(Stopped):
        next(deltas)
    assert gone.wait(60)


def test_the_interrupt_key_ends_the_waiting_and_closes_the_connection(serve) -> None:
    ready, gone = threading.Event(), threading.Event()
    deltas = stream("Tiny", serve(waits(ready, gone)).endpoint, b"{}", Cancel())
    assert next(deltas).text == "a"
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        while not deltas.gi_running:  # until the main thread waits for the next piece
            threading.Event().wait(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(deltas)
    thread.join()
    assert gone.wait(60)


def test_closing_the_generator_closes_the_connection(serve) -> None:
    ready, gone = threading.Event(), threading.Event()
    deltas = stream("Tiny", serve(waits(ready, gone)).endpoint, b"{}", Cancel())
    next(deltas)
    deltas.close()
    assert gone.wait(60)


def test_a_stop_before_the_first_byte_ends_it(serve) -> None:
    asked, gone, cancel = threading.Event(), threading.Event(), Cancel()

    def silent(connection: socket.socket) -> None:
        asked.set()
        connection.settimeout(60)
        if connection.recv(1) == b"":
            gone.set()

    deltas = stream("Tiny", serve(silent).endpoint, b"{}", cancel)

    def stop() -> None:
        asked.wait(60)
        cancel.set()

    threading.Thread(target=stop).start()
    with pytest.raises(Stopped):
        next(deltas)
    assert gone.wait(60)


def test_what_was_stopped_before_it_began_is_not_asked(serve) -> None:
    server, cancel = serve(WHOLE), Cancel()
    cancel.set()
    with pytest.raises(Stopped):
        ask(server, cancel)


@pytest.mark.parametrize("option", [object(), float("nan"), {1, 2}])
def test_an_option_that_is_no_json_is_refused_with_a_sentence(option: Any) -> None:
    with pytest.raises(ModelError, match=r"cannot be given one of its options .*: give numbers"):
        encode({"seed": option})
