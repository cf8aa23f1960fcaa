"""docs/agents.md is true: each command that it gives an agent starts the server, and each tool that
it lists is there."""

from __future__ import annotations

import builtins
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from agent import Agent
from test_docs import blocks

from lmc_jupyter.frontends import command

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "agents.md"
pytestmark = pytest.mark.kernel  # it starts programs: in the half that waits


def commands() -> list[list[str]]:
    """Each command line that the page has an agent start."""
    found: list[list[str]] = []
    for _, text in blocks(PAGE, "bash"):
        words = shlex.split(text)
        words = words[words.index("--") + 1 :] if "--" in words else words
        if words[0] == "lmc-jupyter":
            found.append(words)
    for _, text in blocks(PAGE, "json"):
        (servers,) = json.loads(text).values()
        found += [[each["command"], *each["args"]] for each in servers.values()]
    for _, text in blocks(PAGE, "toml"):
        values = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)
        found.append([json.loads(values["command"]), *json.loads(values["args"])])
    return found


def test_each_command_of_the_page_starts_the_server_with_the_tools_of_its_table() -> None:
    found = commands()
    assert len(found) == 6
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.M))
    for program, subcommand, *options in {tuple(each) for each in found}:
        assert (program, subcommand) == ("lmc-jupyter", "mcp")
        agent = Agent("Reader", *options)
        try:
            tools = agent.run(lambda client: client.list_tools()).tools
        finally:
            agent.close()
        assert {each.name for each in tools} == listed


def test_the_command_and_the_extra_are_in_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    entry = re.search(r'^lmc-jupyter = "([\w.]+):(\w+)"$', project, re.M)
    assert entry is not None
    assert getattr(importlib.import_module(entry[1]), entry[2]) is command.main
    assert 'pip install "lmc-jupyter[mcp]"' in PAGE.read_text("utf-8")
    assert re.search(r'^mcp = \["mcp>=2', project, re.M)


def test_the_setting_of_the_page_shuts_the_door(shell) -> None:
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        ((_, line),) = blocks(PAGE, "python")
        shell.run_cell(line).raise_error()
        assert shell.magics_manager.registry["LMCMagics"].session.agents == "off"
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")


def test_without_the_sdk_a_sentence_says_what_to_install(monkeypatch, capsys) -> None:
    usual = builtins.__import__

    def without(name, *arguments, **options):
        if name == "lmc_jupyter.frontends.agents.server":
            raise ModuleNotFoundError("No module named 'mcp'", name="mcp")
        return usual(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert command.main(["mcp"]) == 1
    assert 'pip install "lmc-jupyter[mcp]"' in capsys.readouterr().err


@pytest.mark.parametrize("wait", ["0", "4000", "nan", "soon"])
def test_a_time_that_is_none_is_refused(wait, capsys) -> None:
    with pytest.raises(SystemExit):
        command.main(["mcp", "--wait", wait])
    assert "--wait" in capsys.readouterr().err
