"""To import and to load the package asks no network, and no conversation opens a port."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

WATCH = """
import sys
asked = []
sys.addaudithook(lambda name, args: name.startswith("socket.") and asked.append((name, str(args))))
"""
NETWORK = ("socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.bind")
LOAD = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "lmc_jupyter")
shell.run_line_magic("lmc", "help")
import lmc_jupyter.session, lmc_jupyter.agent, lmc_jupyter.frontends.panel
"""


def asked(code: str, folder: object, **environment: str) -> list[str]:
    """What a Python that runs this asked of the network."""
    report = f"print('ASKED', *[each for each in asked if each[0] in {NETWORK}], sep='\\n')"
    home = {name: str(folder) for name in ("HOME", "IPYTHONDIR", "XDG_DATA_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", f"{WATCH}{code}\n{report}"],
        cwd=str(folder), env={**os.environ, **home, **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.partition("ASKED")[2].split("\n")[1:-1]


def test_to_import_and_to_load_it_asks_nobody(tmp_path, record_property):
    found = asked(LOAD, tmp_path)
    assert found == []
    record_property("figure", f"{len(found)} look-ups, connections and sockets that listen")


@pytest.mark.long
def test_control_a_plain_import_of_litellm_asks_somebody(tmp_path, record_property):
    found = asked("import litellm", tmp_path, LITELLM_LOCAL_MODEL_COST_MAP="")
    assert any("getaddrinfo" in each or "connect" in each for each in found)
    record_property("figure", f"{len(found)} calls of the network")


PORTS = f"""
import psutil, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
def ports():
    me = psutil.Process()
    of = [me, *me.children(recursive=True)]
    return {{each.laddr.port for one in of for each in one.net_connections("inet")
             if each.status == psutil.CONN_LISTEN}}
before = ports()
%load_ext lmc_jupyter
from scripted import ScriptedModel, code, said
from lmc_jupyter import current_session
current_session().choose_model(ScriptedModel([code("x = 6 * 7")], [said("It is 42.")]))
"""


def test_a_conversation_opens_no_port(frontend, record_property):
    frontend.run(PORTS)
    frontend.run("%%lmc --auto-run\nWhat is it?")
    assert frontend.value("current_session().messages[-1].content") == "It is 42."
    opened = frontend.value("sorted(ports() - before)")
    assert opened == []
    record_property("figure", f"{len(opened)} ports more after a conversation than before")


def test_control_a_port_that_somebody_opens_is_seen(frontend):
    frontend.run("import socket; server = socket.create_server(('127.0.0.1', 0))")
    assert frontend.value("len(ports() - before)") == 1
    frontend.run("server.close()")
