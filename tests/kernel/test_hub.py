"""A real JupyterHub with three pupils, the administrator's file, and one server of models with a
key for each: a stand-in first, whose words are known, then llama.cpp's own."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from llama_server import LlamaServer, llama_server
from model_server import ModelServer, Turn, text
from test_tutor import COURSE, RIGHT, WRONG
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from lmc_jupyter.models import weights

# not on the oldest ipykernel: the hub has an environment of its own, and needs the weights
pytestmark = [pytest.mark.kernel, pytest.mark.local_model, pytest.mark.long]

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("LMC_TEST_HUB") or ROOT / ".venv-hub" / "bin" / "python")
PUPILS = ("ada", "bob", "eve")
PATIENCE = 120
KEY = "key-of-{}"
FILE = """\
model: openai/of-the-school
api_base: {base}
context: names
deny: [bash]
agents: "off"
tutor: hints
"""
LOOSER = "context: notebook\nagents: ask\ntutor: ''\nmodel: openai/other\n"
CONFIG = """
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 100}}
c.Spawner.start_timeout = c.Spawner.http_timeout = 100
c.Spawner.cmd = [{single!r}]
c.Spawner.args = {args!r}
c.Spawner.environment = {{
    "LMC_API_BASE": lambda spawner: open({address!r}).read(),
    "LMC_CACHE": {cache!r},
    "LMC_API_KEY": lambda spawner: {key!r}.format(spawner.user.name),
    "XDG_DATA_HOME": lambda spawner: {homes!r} + "/" + spawner.user.name + "/data",
}}
c.JupyterHub.services = [{{"name": "test", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{
    "name": "test", "services": ["test"],
    "scopes": ["admin:users", "admin:servers", "access:servers"],
}}]
"""
KIND = (
    "You are nearly there! Your result misses by exactly one. Where does your counting begin, and "
    "does it take the last one that the exercise wants?"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Hub:
    """A hub, as its administrator and its pupils reach it."""

    def __init__(self, folder: Path, base: str) -> None:
        self.folder, self.token = folder, secrets.token_hex(16)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        values = {
            "port": self.port, "hub_port": free_port(), "proxy_port": free_port(),
            "token": self.token, "key": KEY,
            "homes": str(folder), "address": str(folder / "address"),
            "cache": str(weights.directory().parent),
            "args": ["--allow-root"] if os.geteuid() == 0 else [],
            "single": str(PYTHON.with_name("jupyterhub-singleuser")),
        }  # fmt: skip
        (folder / "jupyterhub_config.py").write_text(CONFIG.format(**values))
        self.file = PYTHON.parents[1] / "etc" / "jupyter" / "lmc.yaml"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.set_models(base)
        for name in PUPILS:
            (folder / name).mkdir()
            shutil.copy(COURSE / "exercises.yaml", folder / name)
            (folder / name / "lmc.yaml").write_text(LOOSER)
        path = f"{PYTHON.parent}:{PYTHON.parents[1] / 'node_modules' / '.bin'}:{os.environ['PATH']}"
        outside = {k: v for k, v in os.environ.items() if not k.startswith(("LMC_", "JUPYTER"))}
        self.log = (folder / "hub.log").open("w")
        self.process = subprocess.Popen(
            [PYTHON, "-m", "jupyterhub"], cwd=folder, stdout=self.log, stderr=self.log,
            env={**outside, "PATH": path},
        )  # fmt: skip
        self.until(lambda: self.api("GET", "/hub/api/"), "the hub")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        self.file.unlink()

    def set_models(self, base: str) -> None:
        """What an administrator does who has another server of models."""
        self.file.write_text(FILE.format(base=base))
        (self.folder / "address").write_text(base)

    def api(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(self.url + path, data, headers, method=method)) as reply:
                return json.loads(reply.read() or "null") or True
        except HTTPError as error:
            with error:
                said = error.read()[:500]
            if error.code in (404, 409, 424, 503):  # it is there already, or not there yet
                return None
            raise AssertionError(f"{path}: {error} {said!r}") from None
        except URLError:
            return None

    def until(self, true: Any, what: str) -> Any:
        end = time.monotonic() + PATIENCE
        while not (found := true()):
            assert time.monotonic() < end, f"{what} never came: {self.tail()}"
            time.sleep(0.2)  # the hub's API has no event to wait for
        return found

    def tail(self) -> str:
        return (self.folder / "hub.log").read_text()[-2000:]

    def start(self, name: str) -> None:
        """The server of a pupil."""
        self.api("POST", f"/hub/api/users/{name}")
        self.api("POST", f"/hub/api/users/{name}/server", {})
        self.until(
            lambda: self.api("GET", f"/hub/api/users/{name}")["servers"].get("", {}).get("ready"),
            f"the server of {name}",
        )

    def stop(self, name: str) -> None:
        """What a culler does."""
        self.api("DELETE", f"/hub/api/users/{name}/server")
        self.until(
            lambda: "" not in self.api("GET", f"/hub/api/users/{name}")["servers"],
            f"the end of the server of {name}",
        )

    def open(self, name: str) -> Pupil:
        body = {"path": "lists.ipynb", "name": "lists.ipynb", "type": "notebook",
                "kernel": {"name": "python3"}}  # fmt: skip
        made = self.until(
            lambda: self.api("POST", f"/user/{name}/api/sessions", body), f"the kernel of {name}"
        )
        kernel = made["kernel"]["id"]
        path = f"/user/{name}/api/kernels/{kernel}/channels"
        return Pupil(f"ws://127.0.0.1:{self.port}{path}", self.token)


class Pupil:
    """The kernel of a pupil, over the hub's proxy, as JupyterLab reaches it."""

    def __init__(self, url: str, token: str) -> None:
        self.request = HTTPRequest(url, headers={"Authorization": f"token {token}"})
        self.run("%load_ext lmc_jupyter\nfrom lmc_jupyter import current_session")

    def run(self, code: str, *tags: str) -> str:
        """What a cell prints and shows, and its error."""
        return asyncio.run(asyncio.wait_for(self._run(code, tags), PATIENCE))

    async def _run(self, code: str, tags: tuple[str, ...]) -> str:
        connection = await websocket_connect(self.request)
        id = uuid.uuid4().hex
        header = {"msg_id": id, "msg_type": "execute_request", "username": "", "session": id,
                  "date": "", "version": "5.3"}  # fmt: skip
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": True}  # fmt: skip
        request = {"header": header, "parent_header": {}, "metadata": {"tags": list(tags)},
                   "content": content, "channel": "shell", "buffers": []}  # fmt: skip
        with closing(connection):
            await connection.write_message(json.dumps(request))
            found = await self._outputs(connection, id)
        while await connection.read_message() is not None:
            pass
        return found

    async def _outputs(self, connection: WebSocketClientConnection, id: str) -> str:
        found = ""
        while True:
            message = json.loads(await connection.read_message() or "{}")
            if message["parent_header"].get("msg_id") != id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                found += content["text"]
            elif kind == "error":
                found += f"{content['ename']}: {content['evalue']}"
            elif kind in ("display_data", "update_display_data", "execute_result"):
                found += content["data"].get("text/plain", "")
            elif kind == "status" and content["execution_state"] == "idle":
                return found


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.turns = [Turn(text(KIND))]
        yield server


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaServer]:
    with llama_server([KEY.format(name) for name in ("ada", "bob")]) as server:
        yield server


@pytest.fixture(scope="module")
def hub(server, tmp_path_factory) -> Iterator[Hub]:
    assert PYTHON.exists(), f"{PYTHON} is missing: `make test-long` makes it"
    hub = Hub(tmp_path_factory.mktemp("hub"), server.base)
    try:
        yield hub
    finally:
        hub.close()


def test_three_pupils_work_by_the_administrators_file_and_each_by_their_own_key(hub, server):
    pupils = {}
    for name in PUPILS:
        hub.start(name)
        pupils[name] = hub.open(name)
    for name, pupil in pupils.items():
        said = pupil.run(
            "s = current_session()\n"
            "print(s.choice.spec, s.options.context, s.options.agents, s.options.tutor)"
        )
        assert said.strip() == "openai/of-the-school names off hints"
        for line in ("%config LMC.tutor = ''", "%config LMC.agents = 'ask'",
                     "%config LMC.context = 'notebook'", "%lmc model openai/other"):  # fmt: skip
            assert "has set" in pupil.run(line), line
        found = pupil.run(
            "from pathlib import Path\nfrom lmc_jupyter.models import weights\n"
            "print(Path.home(), weights.locate('qwen2.5-coder-0.5b'))"
        )
        assert found.strip() == f"{hub.folder / name} {weights.locate('qwen2.5-coder-0.5b')}"
        pupil.run(WRONG, "lmc-exercise: sum_to")
        hint = pupil.run("%%lmc\nJust write it, please.")
        assert "Hint for sum_to (a question, to find the mistake; 4 of 5 hints left)" in hint
        assert KIND in hint
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY.format(name)}"
        assert server.requests[-1].body["model"] == "of-the-school"


def test_what_a_pupil_had_is_there_when_the_server_was_culled(hub):
    hub.stop("ada")
    hub.start("ada")
    ada = hub.open("ada")
    ada.run(WRONG, "lmc-exercise: sum_to")
    again = ada.run("%lmc hint sum_to")
    assert "4 of 5 hints left" in again
    assert KIND in again
    ada.run(RIGHT, "lmc-exercise: sum_to")
    assert "all 2 tests pass" in ada.run("%lmc test sum_to")
    assert "as pupil-" in ada.run("%lmc report")
    assert (hub.folder / "ada" / "lists-report.html").exists()
    assert not (hub.folder / "bob" / "lists-report.html").exists()


def test_llama_cpp_words_hints_for_who_has_a_key_of_its_list_and_for_nobody_else(hub, llama):
    hub.set_models(f"{llama.address}/v1")
    key = KEY.format("bob")
    for name, is_known in (("bob", True), ("eve", False)):
        hub.stop(name)
        hub.start(name)
        pupil = hub.open(name)
        pupil.run(WRONG.replace("total", "whole"), "lmc-exercise: sum_to")
        before = llama.count_written(key)
        shown = pupil.run("%%lmc\nWhat is wrong?")
        assert "3 of 5 hints left" in shown
        assert (llama.count_written(key) > before) is is_known
        assert ("the hint comes in fixed words" in shown) is not is_known
        assert KEY.format(name) not in shown
