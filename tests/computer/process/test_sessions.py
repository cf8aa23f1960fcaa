"""What the processes of every language have in common."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from lmc_jupyter.computer.languages.javascript import JavaScript
from lmc_jupyter.computer.process import sessions


def test_nothing_asks_for_colours_that_are_refused(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = sessions.plain_environment()
    assert found["NO_COLOR"] == "1"
    assert "FORCE_COLOR" not in found


def test_a_node_within_node_does_not_warn_of_colours(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    node = JavaScript()
    inner = "require('child_process').execSync('node -e 1', {stdio: 'inherit'}); 'done'"
    try:
        said = "".join(each.content for each in node.run(inner) if each.format == "output")
    finally:
        node.close()
    assert said == "'done'\n"


LARGE = """
memory = bytearray(300 << 20)
for place in range(0, len(memory), 4096):
    memory[place] = 1
print("begun", flush=True)
__import__("time").sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="not run: sessions of POSIX")
def test_an_ended_session_is_gone_though_its_memory_takes_long_to_free(monkeypatch):
    monkeypatch.setattr(sessions, "END_SECONDS", 60.0)
    command = [sys.executable, "-c", LARGE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        found = psutil.Process(process.pid)
        sessions.end(process.pid)
        assert not sessions.lives(found)
