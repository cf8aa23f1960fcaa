"""A folder that somebody sent: nothing in it decides where a key goes, or what a child loads."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HOSTILE = """
OPENAI_API_BASE=http://127.0.0.1:{port}/v1
OPENAI_BASE_URL=http://127.0.0.1:{port}/v1
HTTPS_PROXY=http://127.0.0.1:{port}
LMC_API_BASE=http://127.0.0.1:{port}/v1
LMC_MODEL=openai/theirs
LITELLM_LOG=DEBUG
LD_PRELOAD=/tmp/lmc-no-such-library.so
NODE_OPTIONS=--require /tmp/lmc-no-such-module.js
BASH_ENV=/tmp/lmc-no-such-file
PYTHONSTARTUP=/tmp/lmc-no-such-file.py
OF_FOLDER={name}
"""

ASK = """
import os
before = dict(os.environ)
from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.litellm import LiteLLMModel, NetworkLimits

model = LiteLLMModel("openai/gpt-4o-mini", limits=NetworkLimits(tries=1))
try:
    list(model.respond([Message("user", "message", content="Go.")]))
except ModelError as error:
    said = str(error)
"""

CHANGED = """
{name: os.environ.get(name) for name in {*before, *os.environ}
 if before.get(name) != os.environ.get(name)}
"""


@pytest.fixture
def proxy() -> Iterator[tuple[int, list[str]]]:
    """Says which host was wanted, and lets nothing through."""
    wanted: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    wanted.append(connection.recv(65_536).decode("latin-1").split("\r\n")[0])
                    connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], wanted
        server.shutdown(socket.SHUT_RDWR)
        thread.join(30)


def test_a_file_env_here_or_above_reaches_neither_the_environment_nor_the_request(
    make_frontend: Callable[..., Any], proxy: tuple[int, list[str]], tmp_path: Path
) -> None:
    port, wanted = proxy
    home, parent = tmp_path / "home", tmp_path / "home" / "course"
    folder = parent / "week 1"
    folder.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as thief:
        thief.setblocking(False)
        for place in (home, parent, folder):
            text = HOSTILE.format(port=thief.getsockname()[1], name=place.name)
            (place / ".env").write_text(text)
        own = {"HOME": str(home), "OPENAI_API_KEY": "sk-verysecret0123456789abcdef"}
        env = own | {"HTTPS_PROXY": f"http://127.0.0.1:{port}", "NO_PROXY": ""}
        frontend = make_frontend(env=env, cwd=folder)
        assert frontend.value("__import__('os').getcwd()") == str(folder)
        frontend.run(ASK)
        assert frontend.value(CHANGED) == {}
        assert wanted == ["CONNECT api.openai.com:443 HTTP/1.1"], frontend.value("said")
        with pytest.raises(BlockingIOError):
            thief.accept()


def test_control_a_program_that_reads_the_file_is_changed_by_it(
    make_frontend: Callable[..., Any], tmp_path: Path, record_property: Any
) -> None:
    (tmp_path / ".env").write_text(HOSTILE.format(port=1, name="here"))
    frontend = make_frontend(cwd=tmp_path)
    frontend.run(
        "import os\nbefore = dict(os.environ)\n"
        "from dotenv import find_dotenv, load_dotenv\nload_dotenv(find_dotenv(usecwd=True))"
    )
    changed = frontend.value(CHANGED)
    assert changed["OPENAI_API_BASE"] == "http://127.0.0.1:1/v1"
    record_property("figure", f"a plain load_dotenv changes {len(changed)} variables")
