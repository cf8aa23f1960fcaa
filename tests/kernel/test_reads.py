"""The files that a block of Python has read, with their SHA-256."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.kernel import audit, reads


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.csv").write_text("x,y\n1,2\n")
    (place / ".hidden").write_text("h")
    (place / "mine.py").write_text("ONE = 1\n")
    (tmp_path / "b.txt").write_text("elsewhere")
    monkeypatch.chdir(place)
    return place


def read(shell, code: str) -> list[str]:
    """What the block has read."""
    python = LivePython(shell)
    list(python.run(code))
    changes = python.changes()
    return [] if changes is None else [each.path for each in changes.read]


@pytest.mark.parametrize(
    "code",
    [
        "with open('a.csv') as file:\n    text = file.read()",
        "from pathlib import Path\nPath('a.csv').read_bytes()",
        "import pandas as pd\npd.read_csv('a.csv')",
        "import numpy as np\nnp.loadtxt('a.csv', delimiter=',', skiprows=1)",
        "import csv\nwith open('a.csv') as file:\n    rows = list(csv.reader(file))",
        "import threading\nt = threading.Thread(target=lambda: open('a.csv').close())\n"
        "t.start()\nt.join()",
        "import os\nf = os.open('a.csv', os.O_RDONLY)\nos.close(f)",
        "for _ in range(3):\n    open(b'a.csv').close()",
        "import os\nfrom pathlib import Path\nf = os.open(Path('a.csv'), os.O_RDONLY)\nos.close(f)",
        "import os\nclass Place:\n    __hash__ = None\n    def __fspath__(self):\n"
        "        return 'a.csv'\nf = os.open(Place(), os.O_RDONLY)\nos.close(f)",
    ],
)
def test_a_file_that_is_opened_is_seen_once(shell, folder, code):
    assert read(shell, code) == ["a.csv"]


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "import sys\nsys.path.insert(0, '')\nimport mine\nsys.path.pop(0)",
        "open('.hidden').close()",
        "open('/etc/hostname').close() if __import__('os').path.exists('/etc/hostname') else None",
        "import json\nopen(json.__file__).close()",
        "try: open('missing')\nexcept OSError: pass",
        "import os\nos.listdir('.')",
        "open('new', 'w').close()",
        "import polars as pl\nframe = pl.read_csv('a.csv')",  # by native code: the page says so
    ],
)
def test_what_is_no_data_of_the_person_is_not_named(shell, folder, code):
    assert read(shell, code) == []


def test_path_size_and_digest_are_as_the_block_left_them(shell, folder):
    python = LivePython(shell)
    code = "open('../b.txt').close()\nopen('a.csv').close()\n"
    code += "with open('a.csv', 'a') as file:\n    file.write('3,4')"
    list(python.run(code))
    there = (folder / "a.csv").read_bytes()
    assert python.changes().read == (
        (str(folder.parent / "b.txt"), 9, hashlib.sha256(b"elsewhere").hexdigest()),
        ("a.csv", len(there), hashlib.sha256(there).hexdigest()),
    )


def test_a_large_file_is_named_without_its_digest(shell, folder, monkeypatch):
    monkeypatch.setattr(reads, "MAX_BYTES", 5)
    python = LivePython(shell)
    list(python.run("open('a.csv').close()"))
    assert python.changes().read == (("a.csv", 8, ""),)


def test_other_threads_and_cells_are_not_the_blocks(shell, folder):
    python = LivePython(shell)
    begun, done = threading.Event(), threading.Event()

    def other() -> None:
        assert begun.wait(60)
        (folder / "a.csv").read_text()
        done.set()

    shell.user_ns |= {"begun": begun, "done": done}
    thread = threading.Thread(target=other)
    thread.start()
    list(python.run("begun.set()\nassert done.wait(60)\nopen('../b.txt').close()"))
    thread.join()
    assert [each.path for each in python.changes().read] == [str(folder.parent / "b.txt")]
    shell.run_cell("open('a.csv').close()")
    assert audit.readers == []


def test_where_the_working_folder_is_gone_code_opens_files_as_ever(shell, folder):
    place = folder.parent / "gone"
    place.mkdir()
    code = f"import os\nos.chdir({str(place)!r})\nos.rmdir({str(place)!r})\n"
    code += f"text = open({str(folder / 'a.csv')!r}).close()\ntry: open('a')\n"
    code += f"except FileNotFoundError: pass\nos.chdir({str(folder)!r})"
    assert read(shell, code) == ["a.csv"]
