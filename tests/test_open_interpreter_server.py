"""The documentation's server, and the guide's own JavaScript in node as its client."""

from __future__ import annotations

import contextlib
import http.client
import json
import runpy
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from scripted import ScriptedModel, code, said

from lmc_jupyter import OpenInterpreter
from lmc_jupyter.computer import default_computer
from lmc_jupyter.errors import ModelError

ROOT = Path(__file__).parents[1]
app_of = runpy.run_path(str(ROOT / "docs" / "open_interpreter_server.py"))["app_of"]


def agent(*replies: Any, **more: Any) -> OpenInterpreter:
    made = OpenInterpreter(conversation_history=False, **more)
    made.llm.model = ScriptedModel(*replies)
    return made


class Server(uvicorn.Server):
    """Says where it listens as soon as it does."""

    def __init__(self, app: Any) -> None:
        super().__init__(
            uvicorn.Config(app, host="127.0.0.1", port=0, ws="none", log_level="error")
        )
        self.listens = threading.Event()
        self.url = ""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.url = f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}/"
        self.listens.set()


@contextlib.contextmanager
def serving(interpreter: OpenInterpreter, *, run: bool = False) -> Iterator[str]:
    server = Server(app_of(interpreter, run=run))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.listens.wait(60)
        yield server.url
    finally:
        server.should_exit = True
        thread.join(60)


@contextlib.contextmanager
def client(url: str, *arguments: str) -> Iterator[Any]:
    """The guide's client: it takes a message, and gives all of its messages after the answer."""
    node = shutil.which("node")
    assert node is not None, "node is needed here: `make test` installs it"
    process = subprocess.Popen(
        [node, str(ROOT / "tests" / "guide_client.mjs"), url, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )

    def ask(**message: str) -> list[dict[str, Any]]:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield ask
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def user(content: str) -> dict[str, str]:
    return {"role": "user", "type": "message", "content": content}


def test_the_application_is_the_computer(shell: Any) -> None:
    it = agent(
        [said("I compute: "), code("2380*3875")],
        [said("It is 9222500.")],
        computer=default_computer(shell),
    )
    with serving(it) as url, client(url) as ask:
        first = ask(**user("What's 2380*3875?"))
        assert [each["content"] for each in first] == [
            "What's 2380*3875?",
            "I compute: ",
            "2380*3875",
        ], "nothing ran here"
        console = {"role": "computer", "type": "console", "format": "output"}
        second = ask(**console, content="9222500")
    assert [each["content"] for each in second][-2:] == ["9222500", "It is 9222500."]
    assert [each["content"] for each in it.messages] == [each["content"] for each in second]


def test_with_run_the_code_runs_here(shell: Any) -> None:
    it = agent([code("print(2380*3875)")], [said("Done.")], computer=default_computer(shell))
    with serving(it, run=True) as url, client(url) as ask:
        found = ask(**user("What's 2380*3875?"))
    assert [each["content"] for each in found][1:] == ["print(2380*3875)", "9222500\n", "Done."]


def test_an_error_is_sent_to_the_client() -> None:
    it = agent([ModelError("the line broke")], [said("Hello.")])
    with serving(it) as url, client(url) as ask:
        found = ask(**user("Hi."))
        assert found[-1]["role"] == "computer"
        assert "ModelError: the line broke" in found[-1]["content"]
        assert found[-1]["recipient"] == "user", "the model is not bothered with it"


def test_stop_halts_the_code_when_the_client_leaves(shell: Any) -> None:
    endless = "print('begun', flush=True)\nimport time\nwhile True:\n    time.sleep(0.01)"
    it = agent([code(endless)], [said("Done.")], computer=default_computer(shell))
    with serving(it, run=True) as url:
        body = json.dumps({"messages": [user("Wait.")]}).encode()
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, body, head)
        with urllib.request.urlopen(request, timeout=60) as reply:
            while b"begun" not in reply.readline():
                """Until the code runs; it is silent from then on."""
        assert it.session.wait(60), "the code was stopped"
    assert it.session.stopped


def status(url: str, **heads: str) -> int:
    body = json.dumps({"messages": [user("Hi.")]}).encode()
    names = {name.replace("_", "-"): value for name, value in heads.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, names), timeout=60) as reply:
            reply.read()
            return int(reply.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def test_a_page_of_another_site_has_no_use_of_it() -> None:
    it = agent([said("Hello.")])
    json_ = "application/json"
    with serving(it) as url:
        assert status(url, Content_Type=json_, Host="evil.example") == 400
        for kind in ("text/plain", "application/jsonx", "application/x-www-form-urlencoded"):
            assert status(url, Content_Type=kind) == 415
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            assert status(url, Content_Type=json_, Origin=origin) == 403
        assert it.messages == []
        own = url.rstrip("/")
        assert status(url, Content_Type=f"{json_}; charset=utf-8", Origin=own) == 200


def test_a_body_without_a_content_type_is_not_read() -> None:
    """Older versions of FastAPI read it as JSON."""
    it = agent([said("Hello.")])
    with serving(it) as url:
        line = http.client.HTTPConnection(url.split("/")[2], timeout=60)
        with contextlib.closing(line):
            line.request("POST", "/", b'{"messages": []}')
            assert line.getresponse().status == 415
    assert it.messages == []
