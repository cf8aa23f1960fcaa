"""The documentation is true: its Python runs, its examples are the recorded ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scripted import read_lines

from lmc_jupyter.frontends.magic.commands import table

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def blocks(path: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language: (line of its first line, text)."""
    text = path.read_text("utf-8")
    return [
        (text.count("\n", 0, found.start()) + 2, found[1])
        for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    ]


@pytest.mark.parametrize("page", ["README.md", "docs/extending.md"])
def test_python_of_the_page_runs_from_top_to_bottom(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table, "COMMANDS", list(table.COMMANDS))  # an example adds one
    found = blocks(ROOT / page, "python")
    assert found, f"{page} has no Python block"
    namespace: dict[str, object] = {"__name__": page}
    for line, source in found:
        exec(compile("\n" * (line - 1) + source, page, "exec"), namespace)


def test_example_of_the_protocol_is_the_recorded_stream() -> None:
    stream, messages = blocks(ROOT / "docs" / "protocol.md", "jsonl")
    for (_, text), name in ((stream, "code-run.jsonl"), (messages, "code-run.messages.jsonl")):
        assert [json.loads(line) for line in text.splitlines()] == read_lines(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
