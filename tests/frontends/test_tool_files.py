"""What is offered of a folder's mcp.json: nobody says yes to what they have not seen."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from lmc_jupyter.frontends.config.tool_files import ToolFiles


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Gives the files of a folder with these servers; the person has none of their own."""
    for name in ("user_config_path", "user_data_path"):
        monkeypatch.setattr(platformdirs, name, lambda *_, **__: tmp_path / "person")
    folder = tmp_path / "notebook"
    folder.mkdir()

    def write(**servers: dict[str, Any]) -> ToolFiles:
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        return ToolFiles(Path(folder), lambda _: None)

    return write


def test_a_command_is_offered_whole_with_the_folder_that_it_begins_in(offer):
    long = "option=1; " * 40 + "print('the end')"
    files = offer(demo={"command": "python", "args": ["-c", long], "cwd": "/elsewhere"})
    assert f"│ demo: python -c {shlex.quote(long)} (in /elsewhere)\n" in files.show()


def test_a_line_break_in_an_argument_is_shown_where_the_person_is_asked(offer):
    files = offer(demo={"command": "sh", "args": ["-c", "echo harmless #\ntouch  X"]})
    line = "│ demo: sh -c 'echo harmless #⟨line break⟩touch⟨2 blanks⟩X'\n"
    assert line in files.answer(True), "nobody was shown it yet, so it is shown and not started"


def test_a_command_that_is_too_long_to_be_shown_is_not_offered(offer):
    files = offer(demo={"command": "python", "args": ["-c", "x" * 2_000]}, good={"command": "true"})
    text = files.show()
    assert "│ good: true\n" in text
    assert "│ demo" not in text
    assert "the command of the server 'demo' has 2,010 characters, and at most 2,000" in text
    assert [each.name for each in files._here().servers] == ["good"]


def test_every_variable_is_named_that_a_server_gets_now_or_later(offer, monkeypatch):
    monkeypatch.setenv("NOW", "1")
    monkeypatch.delenv("LATER_API_KEY", raising=False)
    headers = {"X-Now": "${NOW}", "X-Trace": "${LATER_API_KEY:-none}"}
    files = offer(demo={"url": "http://127.0.0.1/mcp", "headers": headers})
    assert "(it gets your NOW, LATER_API_KEY (not set now))" in files.show()


def test_a_yes_is_not_for_a_server_that_was_not_shown_as_its_variable_was_missing(
    offer, monkeypatch
):
    monkeypatch.delenv("LATER_API_KEY", raising=False)
    files = offer(demo={"command": "no-such-program", "args": ["${LATER_API_KEY}"]})
    assert "needs the variable LATER_API_KEY of the environment" in files.show()
    files.answer(True)
    monkeypatch.setenv("LATER_API_KEY", "x")
    assert "has changed since you answered" in files.offer()
