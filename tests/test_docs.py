"""The documentation is true: its Python runs, its examples are the recorded ones, and whatever
names a page of it names one that is there."""

from __future__ import annotations

import json
import re
import subprocess
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


# What names a page --------------------------------------------------------------------------------

NAMED = re.compile(
    r"(?P<name>[\w./-]*\w\.md)\b"
    r"(?:#(?P<anchor>[\w-]+)|,? sections? \"?(?P<title>[^\"\n)]+)|, (?P<number>[\d.]*\d))?"
)
"""A page, and a section of it: `page.md#section`, `page.md, section "Title"`, `page.md, 2.2`."""
SAVED = {"a.md", "friend.md", "last.md", "x.md", "AGENTS.md", "CLAUDE.md"}
"""Conversations that an example or a test saves as Markdown, and files of a person: no pages."""


def sources() -> list[Path]:
    """The texts of this repository that people write."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    paths = [ROOT / name for name in names] or [*ROOT.rglob("*")]  # an archive has no index
    written = {".py", ".ts", ".tsx", ".js", ".mjs", ".css", ".md", ".toml", ".ipynb"}
    made = {"node_modules", "static", "labextension"}
    return [
        path
        for path in paths
        if path.suffix in written and path.is_file() and path != Path(__file__)
        and not any(part in made or part.startswith(".venv") for part in path.parts)
    ]  # fmt: skip


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def missing(named: re.Match[str], where: Path) -> bool:
    """Whether this names a page, or a section of one, that is not there."""
    folders = (where.parent, ROOT, ROOT / "docs")
    page = next((at for folder in folders if (at := folder / named["name"]).is_file()), None)
    if page is None:
        return Path(named["name"]).name not in SAVED
    if named["anchor"]:
        return named["anchor"] not in map(slug, headings(page))
    wanted = named["title"] or named["number"]
    return bool(wanted) and not any(each.startswith(wanted.strip()) for each in headings(page))


def test_every_page_that_is_named_is_there_and_so_is_its_section() -> None:
    found = sources()
    assert ROOT / "lmc_jupyter" / "agent.py" in found
    assert [
        f"{path.relative_to(ROOT)} names {named[0]}"
        for path in found
        for named in NAMED.finditer(path.read_text("utf-8"))
        if missing(named, path)
    ] == []


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("docs/protocol.md", True),
        ("protocol.md#the-loop", True),
        ('docs/protocol.md, section "The loop"', True),
        ("docs/nothing.md", False),
        ("docs/protocol.md#nothing", False),
        ('docs/protocol.md, section "Nothing"', False),
        ("security.md, 2.2", False),
        ("docs/protocol.md section 3", False),
    ],
)
def test_a_page_or_a_section_that_is_not_there_is_found(text: str, there: bool) -> None:
    named = NAMED.search(f"({text})")
    assert named is not None
    assert missing(named, ROOT / "lmc_jupyter" / "agent.py") is not there
