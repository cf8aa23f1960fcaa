"""Whatever goes wrong is one clear sentence in the cell; what came stays, the next cell works.

Through the real server and LiteLLM, in a real kernel; nobody is in front of it but for the
interrupt, so code runs by `--auto-run` or is declined.
"""

from __future__ import annotations

import os
import queue
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import (
    END,
    HEAD,
    STALL,
    Fault,
    ModelServer,
    Refusal,
    Turn,
    chunked,
    deltas,
    event,
    text,
)
from started_kernel import StartedKernel

from lmc_jupyter import errors
from lmc_jupyter.errors import LMCError, ModelError, UnknownLanguageError

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
KEY = "sk-verysecret0123456789abcdef"
PATIENCE = 240.0  # seconds: only a failing test waits so long

SET_UP = """
%load_ext lmc_jupyter
from lmc_jupyter import current_session
from scripted import assert_valid
session = current_session()

def ask_at(base, key=None, name="openai/some-model", **options):
    session.reset()
    more = {} if base is None else {"api_base": base}
    session.choose_model(name, api_key=key, **more, **options)

def contents():
    assert_valid(session.messages)
    assert not session.busy
    return [message.content for message in session.messages]
"""


# The words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [each for each in vars(errors).values() if isinstance(each, type)],
    ids=lambda k: k.__name__,
)
def test_every_error_is_ours_and_shows_itself_as_its_sentence(kind):
    assert issubclass(kind, LMCError)
    error = kind("the thing was wrong: do this")
    assert str(error) == "the thing was wrong: do this"
    assert error._render_traceback_() == [f"{kind.__name__}: the thing was wrong: do this"]


def test_an_unknown_language_can_be_caught_as_a_key_error():
    with pytest.raises(KeyError):
        raise UnknownLanguageError("no such language")


# In the cell --------------------------------------------------------------------------------------


class Cell:
    """What a cell has shown: its words, its errors, how it ended."""

    def __init__(self, shown: str, raised: list[dict[str, Any]], status: str) -> None:
        self.shown, self.raised, self.status = shown, raised, status

    def sentence(self) -> str:
        """The one error that it shows: a sentence, and no traceback, file, or key of ours."""
        assert self.status == "error"
        assert len(self.raised) == 1
        error = self.raised[0]
        said = "\n".join(error["traceback"])
        assert said == f"{error['ename']}: {error['evalue']}"
        for each in (said, self.shown):
            assert KEY not in each
            assert "Traceback" not in each
            assert ".py" not in each
        assert "\n" not in said
        assert len(said) < 600
        return said


class Kernel:
    """A kernel whose cells nobody can be asked in."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}", "NO_PROXY": "127.0.0.1"}
        for name in list(env):
            if re.search("_API_KEY$|^LMC_", name):
                del env[name]
        self._kernel = StartedKernel(env, PATIENCE)
        self.manager, self.client = self._kernel.manager, self._kernel.client
        assert self.cell(SET_UP).status == "ok"

    def start(self, code: str) -> str:
        return str(self.client.execute(code, allow_stdin=False))

    def cell(self, code: str, interrupt_at: str = "") -> Cell:
        """Run a cell; interrupt the kernel once these words are shown."""
        started = self.start(code)
        bundles: dict[str, str] = {}
        raised = []
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != started:
                continue
            kind, content = message["msg_type"], message["content"]
            at = content.get("transient", {}).get("display_id") or message["header"]["msg_id"]
            if "data" in content:
                bundles[at] = str(content["data"].get("text/plain", ""))
            elif kind == "stream":
                bundles[at] = content["text"]
            elif kind == "error":
                raised.append(content)
            elif kind == "status" and content["execution_state"] == "idle":
                break
            if interrupt_at and interrupt_at in "".join(bundles.values()):
                interrupt_at = ""
                self.manager.interrupt_kernel()
        else:
            raise AssertionError(f"the cell does not end; it shows {bundles}")
        reply = self.client.get_shell_msg(timeout=PATIENCE)
        while reply["parent_header"].get("msg_id") != started:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
        return Cell("\n".join(bundles.values()), raised, reply["content"]["status"])

    def value(self, expression: str) -> Any:
        cell = self.cell(expression)
        assert cell.status == "ok", cell.raised
        return eval(cell.shown)  # our own literals

    def close(self) -> None:
        self._kernel.close()


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    it = Kernel()
    yield it
    it.close()


def ask(
    kernel: Kernel, server: ModelServer, *turns: Any, line: str = "%%lmc", **options: Any
) -> Cell:
    server.turns = list(turns)
    prepare(kernel, server.base, **options)
    return kernel.cell(f"{line}\nGo.")


def prepare(kernel: Kernel, base: str | None, key: str | None = KEY, **options: Any) -> None:
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    assert kernel.cell(f"ask_at({base!r}, {key!r}{more})").status == "ok"


@pytest.fixture
def works(kernel, model_server) -> Iterator[None]:
    """After the test the next cell of the same conversation is answered."""
    yield
    before = kernel.value("contents()")
    model_server.first, model_server.turns = [], [Turn(text("Here I am."))]
    kernel.cell(
        "session.choose_model('openai/some-model', "
        f"api_base={model_server.base!r}, api_key={KEY!r})"
    )
    cell = kernel.cell("%%lmc\nAre you there?")
    assert cell.status == "ok", cell.raised
    assert "Here I am." in cell.shown
    after = kernel.value("contents()")
    assert after[: len(before)] == before
    assert after[-2:] == ["Are you there?", "Here I am."]


pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("works")]


def test_no_key(kernel):
    prepare(kernel, None, key=None)
    said = kernel.cell("%%lmc\nGo.").sentence()
    assert "there is no API key for openai/some-model" in said
    assert "OPENAI_API_KEY" in said
    assert kernel.value("contents()") == ["Go."]


def test_a_wrong_key(kernel, model_server):
    refusal = Refusal(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key")
    said = ask(kernel, model_server, refusal).sentence()
    assert "was refused (401)" in said
    assert len(model_server.requests) == 1, "it was asked again"


@pytest.mark.parametrize("name", ["nonsense", "no-provider/at-all"])
def test_a_name_that_nobody_knows(kernel, name):
    prepare(kernel, None, name=name)
    said = kernel.cell("%%lmc\nGo.").sentence()
    assert re.search(f"unknown model '?{name}", said)
    assert "provider/name" in said


def test_a_model_that_the_server_does_not_have(kernel, model_server):
    refusal = Refusal(404, "The model `some-model` does not exist", code="model_not_found")
    said = ask(kernel, model_server, refusal).sentence()
    assert re.search("there is no model '?openai/some-model", said)
    assert "127.0.0.1" in said


def test_nobody_there(kernel):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused
        port = taken.getsockname()[1]
        prepare(kernel, f"http://127.0.0.1:{port}/v1")
        said = kernel.cell("%%lmc\nGo.").sentence()
    assert f"127.0.0.1:{port} cannot be reached: check the network" in said


def test_too_many_requests(kernel, model_server):
    refusal = Refusal(429, "Rate limit reached", {"Retry-After": "600"})
    said = ask(kernel, model_server, refusal).sentence()
    assert "accepts no more requests now (429): wait 600 s" in said


def test_a_short_wait_is_waited_and_the_answer_comes(kernel, model_server):
    model_server.first = [Refusal(429, "slow down", {"Retry-After": "0"})]
    cell = ask(kernel, model_server, Turn(text("Now.")))
    assert cell.status == "ok"
    assert "Now." in cell.shown
    assert kernel.value("contents()") == ["Go.", "Now."]


def broken(*parts: Any) -> Fault:
    """A stream that breaks off after these parts."""
    found, _ = deltas(Turn(*parts, cut="all"))
    return Fault(HEAD + b"".join(chunked(event(each)) for each in found), reset=True)


def test_a_stream_that_breaks_off_in_a_sentence(kernel, model_server):
    cell = ask(kernel, model_server, broken(text("Half a sentence")))
    assert "stopped before its end: the part that arrived is here" in cell.sentence()
    assert "Half a sentence" in cell.shown
    assert "Failed" in cell.shown
    assert kernel.value("contents()") == ["Go.", "Half a sentence"]
    assert kernel.value("session.messages[-1].extra") == {"partial": True}
    assert len(model_server.requests) == 1, "what had begun was asked for again"


def test_a_stream_that_breaks_off_in_code_runs_nothing(kernel, model_server):
    kernel.cell("broke = 0")
    part = "I set it.\n\n```python\nbroke = 1\n"
    cell = ask(kernel, model_server, broken(text(part)), line="%%lmc --auto-run")
    assert "stopped before its end" in cell.sentence()
    assert "broke = 1" in cell.shown
    assert "not run" in cell.shown
    assert kernel.value("(broke, session.pending)") == (0, None)
    assert kernel.value("contents()")[:2] == ["Go.", "I set it."]


def test_a_stream_that_ends_without_its_end(kernel, model_server):
    data = HEAD + chunked(event({"role": "assistant", "content": "Half"})) + END
    cell = ask(kernel, model_server, Fault(data))
    assert "stopped before its end" in cell.sentence()
    assert kernel.value("contents()") == ["Go.", "Half"]


def test_a_reply_that_was_cut_by_the_limit_says_which(kernel, model_server):
    said = ask(kernel, model_server, Turn(text("Half a"), finish="length")).sentence()
    assert "raise max_tokens" in said
    assert kernel.value("contents()") == ["Go.", "Half a"]


def test_a_model_that_says_nothing(kernel, model_server):
    said = ask(kernel, model_server, Turn()).sentence()
    assert "the model sent an empty reply: ask again" in said
    assert kernel.value("contents()") == ["Go."]


def test_a_server_that_fails_on_its_own(kernel, model_server):
    options = {"limits": None}
    model_server.first = [Refusal(500, "Internal error", {"Retry-After": "0"})] * 9
    said = ask(kernel, model_server, Turn(text("x")), **options).sentence()
    assert "the server of openai/some-model" in said
    assert "failed (500)" in said


@pytest.mark.long
def test_a_page_in_place_of_an_answer(kernel, model_server):
    page = b"<html><body>Log in</body></html>"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n"
    ask(kernel, model_server, Fault(head.encode() + page)).sentence()
    assert kernel.value("contents()") == ["Go."]


def test_an_endless_loop_ends_at_the_limit_and_says_so(kernel, model_server):
    kernel.cell("n = 0; session.max_turns = 3")
    cell = ask(kernel, model_server, Turn(text("```python\nn += 1\n```")), line="%%lmc --auto-run")
    kernel.cell("session.max_turns = 20")
    assert cell.status == "ok"
    assert "Stopped after 3 replies and 3 blocks of code" in cell.shown
    assert kernel.value("n") == 3
    assert "Stopped after 3 replies" in kernel.value("contents()")[-1]


def test_code_that_nobody_lets_run_is_not_written_for_ever(kernel, model_server):
    cell = ask(kernel, model_server, Turn(text("```python\n1\n```")))
    assert cell.status == "ok"
    assert "in a row were not run" in cell.shown
    assert "nobody can be asked here" in cell.shown
    assert len(model_server.requests) == 3


def test_a_language_that_the_computer_does_not_have(kernel, model_server):
    from model_server import tool

    turns = [Turn(tool("cobol", "STOP RUN.")), Turn(text("Then not."))]
    cell = ask(kernel, model_server, *turns, line="%%lmc --auto-run", tools=True)
    assert cell.status == "ok", cell.raised
    assert "no language 'cobol'" in cell.shown
    assert "python" in cell.shown
    assert "Then not." in cell.shown


def test_an_error_of_the_code_is_the_models_to_mend(kernel, model_server):
    turns = [
        Turn(text("```python\nfixed = 1 / 0\n```")),
        Turn(text("```python\nfixed = 1\n```")),
        Turn(text("Mended.")),
    ]
    cell = ask(kernel, model_server, *turns, line="%%lmc --auto-run")
    assert cell.status == "ok"
    assert "ZeroDivisionError" in cell.shown
    assert kernel.value("fixed") == 1
    assert "ZeroDivisionError: division by zero" in str(model_server.requests[1].body["messages"])


def test_an_interrupt_while_the_model_writes(kernel, model_server):
    model_server.turns = [Turn(text("Half a sentence"), STALL, cut="all")]
    prepare(kernel, model_server.base)
    cell = kernel.cell("%%lmc\nGo.", interrupt_at="Half a sentence")
    assert "the answer was stopped; the text so far stays" in str(cell.raised)
    assert "Stopped" in cell.shown
    assert model_server.dropped.wait(PATIENCE), "the connection stays open"
    assert kernel.value("contents()") == ["Go.", "Half a sentence"]


def test_an_interrupt_before_the_first_word(kernel, model_server):
    model_server.turns = [Turn(STALL)]
    prepare(kernel, model_server.base)
    cell = kernel.cell("%%lmc\nGo.", interrupt_at="Thinking")
    assert "the answer was stopped" in str(cell.raised)
    assert kernel.value("contents()") == ["Go."]


def test_an_interrupt_in_the_code(kernel, model_server):
    endless = "```python\nprint('begun', flush=True)\nwhile True: pass\n```"
    model_server.turns = [Turn(text(endless)), Turn(text("Never."))]
    prepare(kernel, model_server.base)
    cell = kernel.cell("%%lmc --auto-run\nGo.", interrupt_at="begun\n")
    assert cell.status == "error"
    assert "Stopped" in cell.shown
    assert "Never." not in cell.shown
    assert "begun" in kernel.value("contents()")[2]


@pytest.mark.long
def test_the_model_error_of_a_bare_session_is_the_same(model_server):
    from lmc_jupyter import Session

    model_server.turns = [Refusal(401, f"bad key {KEY}")]
    session = Session("openai/some-model", api_base=model_server.base, api_key=KEY)
    with pytest.raises(ModelError, match="was refused") as caught:
        list(session.ask("Go."))
    assert KEY not in str(caught.value)
