"""The Markdown above a cell, as the notebook's file has it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter.kernel import document
from lmc_jupyter.kernel.document import _cells, _in_file, above

CELLS = (
    ("m1", "markdown", "# Far"),
    ("c1", "code", "1 + 1"),
    ("m2", "markdown", " One \n"),
    ("m3", "markdown", "Two"),
    ("c2", "code", "%%lmc\nWhy?"),
    ("r1", "raw", "raw"),
    ("c3", "code", "%%lmc\nWhy?"),
)


def write(path: Path, cells: Any) -> None:
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")


def read(path: Path) -> tuple[tuple[str, str, str], ...]:
    status = path.stat()
    return _cells(str(path), status.st_mtime_ns, status.st_size)


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("c2", "One\n\nTwo"),
        ("c1", "# Far"),
        ("m1", ""),
        ("m3", "One"),
        ("c3", ""),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_the_markdown_cells_directly_above_are_joined(id, text):
    assert above(CELLS, id) == text


def test_a_source_is_a_text_or_a_list_of_lines(tmp_path):
    path = tmp_path / "a.ipynb"
    write(path, [
        {"id": "m", "cell_type": "markdown", "source": ["# Tïtle\n", "Text"]},
        {"id": "c", "cell_type": "code", "source": "x = 1"},
    ])  # fmt: skip
    assert read(path) == (("m", "markdown", "# Tïtle\nText"), ("c", "code", "x = 1"))
    assert _in_file(str(path), "c") == "# Tïtle\nText"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no notebook",
        "[]",
        "null",
        '{"cells": 1}',
        '{"cells": [1, null, []]}',
        "\xff",
        "[" * 9_999,
    ],
)
def test_what_is_no_notebook_has_nothing_above(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text, encoding="latin-1")
    assert read(path) == ()
    assert _in_file(str(path), "c") == ""


def test_a_cell_without_id_or_source_is_no_error(tmp_path):
    path = tmp_path / "a.ipynb"
    write(path, [{"cell_type": "markdown"}, {"source": 5}, {"id": 7, "source": ["a", 1]}])
    assert read(path) == (("", "markdown", ""), ("", "", "5"), ("7", "", "a1"))


def test_a_file_that_changes_is_read_anew(tmp_path):
    path = tmp_path / "a.ipynb"
    for text, time in (("One", 1), ("Two", 2)):
        write(path, [{"id": "m", "cell_type": "markdown", "source": text}, {"id": "c"}])
        os.utime(path, (time, time))
        assert _in_file(str(path), "c") == text


def test_no_file_and_a_large_one_have_nothing_above(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    assert _in_file(str(path), "c") == _in_file("", "c") == ""
    write(path, [{"id": "m", "cell_type": "markdown", "source": "Text"}, {"id": "c"}])
    assert _in_file(str(path), "c") == "Text"
    monkeypatch.setattr(document, "MAX_BYTES", path.stat().st_size - 1)
    assert _in_file(str(path), "c") == ""


@pytest.mark.skipif(os.name != "posix" or not hasattr(os, "geteuid"), reason="rights of POSIX")
def test_a_file_that_may_not_be_read_has_nothing_above(tmp_path):
    path = tmp_path / "a.ipynb"
    write(path, [{"id": "m", "cell_type": "markdown", "source": "Text"}, {"id": "c"}])
    path.chmod(0)
    assert _in_file(str(path), "c") == ("Text" if os.geteuid() == 0 else "")
