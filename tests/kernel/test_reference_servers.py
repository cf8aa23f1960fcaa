"""The reference servers of MCP in a real kernel, started as docs/tools.md says, and called by the
code of a scripted model. The commands of that page run here too."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel.conftest import Frontend
from kernel.test_tools import SET_UP, config, printed

pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.checkout]

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / ".cache" / "servers"
PAGE = (ROOT / "docs" / "tools.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files").resolve()
    (folder / "poem.txt").write_text("Roses are red.\n")
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory, folder) -> Iterator[Frontend]:
    assert (SERVERS / "node_modules" / ".done").exists(), "`make test` installs the servers"
    assert shutil.which("npx"), "`make test` puts Node.js on the path"
    page = json.loads(re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)[0])["mcpServers"]
    servers = {"time": page["time"], "filesystem": page["filesystem"]}
    servers["filesystem"] |= {"args": [*servers["filesystem"]["args"][:-1], str(folder)]}
    for name in ("memory", "everything"):
        package = f"@modelcontextprotocol/server-{name}"
        servers[name] = {"command": "npx", "args": ["-y", package]}
    servers["memory"]["env"] = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    for each in servers.values():  # npx and uvx would fetch them from the network
        if each["command"] == "npx":
            each["cwd"] = str(SERVERS)
        else:
            each |= {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    env = config(tmp_path_factory.mktemp("config"), **servers)
    frontend = Frontend(env=env, cwd=tmp_path_factory.mktemp("notebook"))
    try:
        frontend.run(SET_UP)
        frontend.run("servers.wait(100)")
        states = frontend.value("[(each.name, each.state, each.why) for each in servers.current()]")
        assert states == [(name, "ready", "") for name in servers]
        yield frontend
    finally:
        frontend.close()


def test_filesystem(lab, folder):
    block = f"print(tools.filesystem.read_text_file({str(folder / 'poem.txt')!r}))"
    assert "Roses are red." in lab.value(f"answer({block!r})")
    assert lab.value("[(e.kind, e.name) for e in proposed[0].effects]") == [
        ("tools", "filesystem.read_text_file")
    ]
    block = f"tools.filesystem.write_file({str(folder / 'new.txt')!r}, 'Hello')"
    lab.value(f"answer({block!r}, run=False)")
    assert not (folder / "new.txt").exists()
    lab.value(f"answer({block!r})")
    assert (folder / "new.txt").read_text() == "Hello"
    assert "outside allowed" in lab.value(
        "answer('tools.filesystem.read_text_file(\"/etc/hosts\")')"
    )


def test_memory(lab):
    block = (
        "tools.memory.create_entities([{'name': 'Ana', 'entityType': 'person', "
        "'observations': ['likes tea']}])\n"
        "print([each['name'] for each in tools.memory.read_graph()['entities']])"
    )
    assert "['Ana']" in lab.value(f"answer({block!r})")


def test_everything(lab):
    assert "Echo: hello" in lab.value("answer('print(tools.everything.echo(\"hello\"))')")
    assert "7" in lab.value("answer('print(tools.everything.get_sum(3, 4))')")
    shown = lab.run("kinds = [type(each).__name__ for each in tools.everything.get_tiny_image()]")
    assert lab.value("kinds") == ["str", "Image", "str"], "PIL cannot read its colour profile"
    assert [m for m in shown if "image/png" in m["content"].get("data", {})]
    names = lab.value("dir(tools.everything)")
    assert "get_structured_content" in names
    block = "print(tools.everything.get_structured_content('New York')['temperature'])"
    assert re.search(r"\d", lab.value(f"answer({block!r})"))


def test_time(lab):
    block = "print(tools.time.get_current_time('Europe/Berlin'))"
    assert "Europe/Berlin" in lab.value(f"answer({block!r})")


def test_each_command_and_each_call_of_the_page_runs(lab):
    commands = re.findall(r"`(%lmc [^`]+)`", PAGE)
    assert "%lmc tools restart time" in commands
    for command in dict.fromkeys(commands):
        if not command.endswith(("yes", "no")):  # tests/kernel/test_tools.py runs these
            lab.run(command)
    for setting in dict.fromkeys(re.findall(r"`(%config [^`]+)`", PAGE)):
        lab.run(setting)
    lab.run("%config LMC.auto_run = False\n%config LMC.deny = []")
    lab.run("servers.wait(100)")
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    assert "Asia/Tokyo" in str(lab.run(block))
    lab.run("tools\ndir(tools.time)\nhelp(tools.time.convert_time)\ntools.search('words')")
    assert "time (" in printed(lab, "%lmc tools time")
