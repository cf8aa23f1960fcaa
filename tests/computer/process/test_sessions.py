"""What the processes of every language have in common."""

from __future__ import annotations

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
