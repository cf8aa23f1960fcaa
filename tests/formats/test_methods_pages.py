"""What is known of a notebook's code, as pages and as a crate that the format's own validator
finds valid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.conversation import Action, BlockRecord, Conversation, TurnRecord
from lmc_jupyter.errors import LMCError
from lmc_jupyter.formats import methods
from lmc_jupyter.formats.methods.crate import write
from lmc_jupyter.formats.methods.findings import digest
from lmc_jupyter.lmc import Message

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("LMC_TEST_LIBRARIES") or ROOT / ".venv-libraries" / "bin" / "python")
PNG = "iVBORw0KGgo="
EVIL = "</code><script>alert(1)</script> | ` *x* [a](javascript:b) ]]>"
TIME = "2026-11-28T10:00:00+00:00"


def message(id: str, role: str, type: str, content: str, format: str | None = None) -> Message:
    return Message(role, type, format, content, id=id)


@pytest.fixture(scope="module")
def found() -> methods.Methods:
    """Two blocks of one conversation; three cells, of which one was checked."""
    messages = [
        message("q", "user", "message", "Go."),
        message("c1", "assistant", "code", "df = pd.read_csv('a.csv')", "python"),
        message("o1", "computer", "console", "done", "output"),
        message("i1", "computer", "image", PNG, "base64.png"),
        message("c2", "assistant", "code", f"print({EVIL!r})", "python"),
    ]
    read = (FileRead("a.csv", 8, digest("a")), FileRead(f"big{EVIL}.csv", 9_000_000_000, ""))
    blocks = [
        BlockRecord("c1", TIME, "ran", "clicked", ("df", "pd"), ("x",), ("y",), read=read),
        BlockRecord("c2", TIME, "ran unasked", "harmless", breach="`out` was made"),
        BlockRecord("undone", TIME, "ran", "rule"),
    ]
    turn = TurnRecord("panel", f"Model {EVIL}", 1.0, ("q",), "q", (), "")
    checked = {"action": "check", "time": TIME,
               "cells": [{"sha256": digest("x = 1"), "state": "the same"}, "odd"]}  # fmt: skip
    talk = Conversation(
        messages, began=TIME, turns=[turn], blocks=blocks, events=[Action(0, checked)]
    )
    cells = [
        {"cell_type": "code", "source": "x = 1",
         "outputs": [{"data": {"image/png": [PNG, "\n"]}}, {"data": None}, 7]},
        {"cell_type": "markdown", "source": "# Text"},
        {"cell_type": "code", "source": "df = pd.read_csv('a.csv')",
         "metadata": {"lmc": {"model": "liar", "sha256": digest("df = pd.read_csv('a.csv')")}}},
        {"cell_type": "code", "source": EVIL},
    ]  # fmt: skip
    return methods.find(f"study {EVIL}.ipynb", cells, [talk], "Made today")


def test_what_is_known_stands_there_by_its_kind(found):
    first, second = found.blocks
    assert (first.by, first.fate, first.allowed) == (
        f"Model {EVIL}",
        "ran",
        "clicked by the person",
    )
    assert (first.figures, first.read[0].path) == ((("png", PNG),), "a.csv")
    assert (second.allowed, second.figures) == ("unasked: it only reads and makes new names", ())
    assert [(each.number, each.again) for each in found.cells] == [
        (1, "same output, 2026-11-28"), (3, ""), (4, ""),
    ]  # fmt: skip
    assert found.cells[1].by == f"Model {EVIL} after the person ran it"


def test_a_page_has_no_markup_of_others(found):
    page = methods.html(found)
    assert "<script" not in page
    assert page.count("<article>") == 5
    assert page.count('src="data:image/png;base64,iVBORw0KGgo="') == 2
    assert "9,000,000,000 bytes, too large for a SHA-256" in page
    assert "http" not in page.replace("http-equiv", "")
    text = methods.markdown(found)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count(" | ") for line in rows} <= {4, 5, 8}
    assert re.findall(r"(?<![\\`])<script", re.sub(r"(`+).+?\1", "", text)) == []


def crate_of(found: methods.Methods, folder: Path) -> Path:
    notebook = folder / "study.ipynb"
    notebook.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    write(found._replace(name="study.ipynb"), notebook, folder / "crate")
    return folder / "crate"


def validate(crate: Path) -> subprocess.CompletedProcess[str]:
    """By the validator of the format."""
    assert PYTHON.exists(), f"{PYTHON} is missing: `make test-long` makes it"
    program = Path(__file__).with_name("validate_crate.py")
    command = [PYTHON, program, crate, crate.parent / "cache"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_crate_has_each_block_with_what_it_read_and_made(found, tmp_path):
    crate = crate_of(found, tmp_path)
    entities = json.loads((crate / "ro-crate-metadata.json").read_text("utf-8"))["@graph"]
    by_id = {each["@id"]: each for each in entities}
    first, second = by_id["#block-1"], by_id["#block-2"]
    assert first["agent"] == {"@id": "#person"}
    assert by_id[second["agent"]["@id"]]["name"] == f"Model {EVIL}"
    assert second["description"].endswith("; unasked: `out` was made")
    names = [by_id[each["@id"]]["name"] for each in first["result"]]
    assert names == ["df", "pd", "x", "y"]
    objects = [by_id[each["@id"]] for each in first["object"]]
    assert [each.get("sha256") for each in objects] == [
        digest("df = pd.read_csv('a.csv')"), digest("a"), None,
    ]  # fmt: skip
    assert (crate / "block-1.py").read_text() == "df = pd.read_csv('a.csv')"
    parts = {each["@id"] for each in by_id["./"]["hasPart"]}
    assert parts == {each.name for each in crate.iterdir()} - {"ro-crate-metadata.json"}


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="its environment is made by make")
@pytest.mark.checkout
def test_the_crate_is_valid_by_the_formats_own_validator(found, tmp_path):
    crate = crate_of(found, tmp_path)
    done = validate(crate)
    assert done.returncode == 0, done.stdout + done.stderr
    file = crate / "ro-crate-metadata.json"
    text = file.read_text("utf-8")
    # the control: one that lacks what it must have
    assert '"datePublished"' in text
    file.write_text(text.replace('"datePublished"', '"datePrinted"'))
    assert validate(crate).returncode != 0


def test_without_its_library_a_sentence_says_what_to_do(found, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rocrate.rocrate", None)
    with pytest.raises(LMCError, match=r"%pip install rocrate"):
        crate_of(found, tmp_path)
    assert not (tmp_path / "crate").exists()
