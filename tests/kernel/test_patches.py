"""The table of what is replaced in IPython, ipykernel and the process is whole, and so are docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lmc_jupyter
from lmc_jupyter.kernel.patches import PATCHES, markdown

PACKAGE = Path(lmc_jupyter.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"

REPLACEMENT = re.compile(
    r"""
      _(?:patch|replace)\( (?:[\w.]+,\ )? "(?P<by_method>\w+)"
    | attributes\["(?P<past_traitlets>\w+)"\]\ =\ (?!before|own|self)
    | handlers\[(?P<handler>\w+)\]\ =\s
    | \b(?:kernel|shell|hook|manager|stream|compiler)\.(?P<assigned>\w+)\ =\s
    | \b(?:setattr|delattr)\((?:self\._)?(?:kernel|shell|hook),\ "(?P<by_setattr>\w+)"
    | ^\s+\("(?P<in_a_loop>\w+)",\ (?:(?:self\._)?\w+|lambda\b.*)\),$
    | ^\s+\((?:publisher|hook|shell|kernel|history),\ "(?P<in_a_list>\w+)"(?:,\ [^,]+)?\),
    | \.(?P<receiver>on_recv)\(
    | events\.register\("(?P<event>\w+)"
    | \.(?P<matchers>custom_matchers)\.append\(
    | (?P<transformers>token_transformers)$
    """,
    re.VERBOSE | re.MULTILINE,
)


def replaced(source: str) -> set[str]:
    """The members that this source replaces."""
    return {next(filter(None, found.groups())) for found in REPLACEMENT.finditer(source)}


def path(module: str) -> Path:
    return PACKAGE / module if "/" in module else PACKAGE / "kernel" / f"{module}.py"


def test_every_replacement_in_the_code_is_in_the_table_and_the_other_way_round():
    table: dict[Path, set[str]] = {}
    for patch in PATCHES:
        table.setdefault(path(patch.module), set()).update(patch.members)
    languages = PACKAGE / "computer" / "languages"
    sources = [*(PACKAGE / "kernel").glob("*.py"), *languages.glob("python*.py")]
    code = {each: replaced(each.read_text("utf-8")) for each in sources}
    assert {each: members for each, members in code.items() if members} == table


def test_no_other_module_can_replace_by_a_name_that_is_computed():
    known = {path(patch.module) for patch in PATCHES} | {path("snapshot")}
    for each in PACKAGE.glob("kernel/*.py"):
        writes = re.findall(r"\b(?:setattr|vars)\(|\.__dict__\b", each.read_text("utf-8"))
        assert not writes or each in known, each


@pytest.mark.parametrize(
    ("line", "member"),
    [
        ('        self._patch(shell, "run_cell", self._run)', "run_cell"),
        ('    attributes["send"] = mended', "send"),
        ("    kernel.shell_handlers[OTHER] = handle", "OTHER"),
        ("    shell.ast_node_interactivity = 'all'", "ast_node_interactivity"),
        ('    setattr(kernel, "session", session)', "session"),
        ("    stream.on_recv(tap, copy=False)", "on_recv"),
        ('    shell.events.register("pre_run_cell", look)', "pre_run_cell"),
    ],
)
def test_a_new_replacement_is_found(line, member):
    assert replaced(f"def f():\n{line}\n") == {member}


def test_the_docs_show_the_table():
    assert markdown() in (DOCS / "how-it-works.md").read_text("utf-8")
