"""Notebooks that run again in a real fresh kernel, and what is left of it."""

from __future__ import annotations

import json
import os
import sys

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

from lmc_jupyter.computer.check import check
from lmc_jupyter.errors import ComputerError

pytestmark = [pytest.mark.kernel, pytest.mark.long]


def write(path, *cells, **metadata):
    """A notebook; a cell is its source, or (source, its saved number, what it printed)."""
    nodes = []
    for cell in cells:
        source, count, text = cell if isinstance(cell, tuple) else (cell, None, "")
        outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)] if text else []
        nodes.append(nbformat.v4.new_code_cell(source, execution_count=count, outputs=outputs))
    nbformat.write(nbformat.v4.new_notebook(cells=nodes, metadata=metadata), path)
    return path


def states(report):
    return {each.number: each.state for each in report.cells}


LEAVES = """
import os, pathlib, subprocess
sleep = subprocess.Popen(["sleep", "600"])
pathlib.Path("pids").write_text(f"{os.getpid()} {os.getppid()} {sleep.pid}")
"""


def left(folder):
    """The processes of the run that are there still, after a while."""
    processes = []
    for pid in (folder / "pids").read_text().split():
        try:
            processes.append(psutil.Process(int(pid)))
        except psutil.NoSuchProcess:
            continue
    return psutil.wait_procs(processes, timeout=30)[1]


def test_every_state_of_a_cell(tmp_path):
    path = write(
        tmp_path / "all.ipynb",
        ("x = 1", 1, ""),
        ("print(x)", 2, "1\n"),
        ("import random; print(random.random())", 3, "0.5\n"),
        ("1 / 0", 4, ""),
        ("print(nothing)", 5, ""),
        ("%%lmc\nmake df", 6, "An answer."),
        ("print(later)", 9, "3\n"),
        ("later = 3", 7, ""),
        ("%lmc\nprint(later)", 10, "State\n3\n"),
        "print('new')",
        "   ",
        ("# skipped", 11, ""),
    )
    book = nbformat.read(path, as_version=4)
    book.cells[-1].metadata["tags"] = ["skip-execution"]
    nbformat.write(book, path)
    before, begun = path.read_bytes(), []
    report = check(path, progress=begun.append)
    assert states(report) == {
        1: "the same", 2: "the same", 3: "different", 4: "failed", 5: "missing", 6: "not run",
        7: "out of order", 8: "the same", 9: "ran", 10: "ran", 11: "not run",
    }  # fmt: skip
    assert begun == [f"cell {number} of 11" for number in (1, 2, 3, 4, 5, 7, 8, 9, 10)]
    assert report.cells[2].notes[0] == "saved: 0.5"
    assert report.cells[6].notes == ["`later` comes from cell 8, which stands below"]
    assert path.read_bytes() == before


def test_what_a_kernel_shows_is_the_same_when_it_is_run_again(tmp_path):
    path = write(
        tmp_path / "shows.ipynb",
        "%matplotlib inline\nimport matplotlib.pyplot as plt, pandas as pd, sys, warnings",
        "plt.plot([1, 2])\nplt.title('a');",
        "df = pd.DataFrame({'a': [1, 2]})\ndf",
        "%time sum(range(10))",
        "%timeit -n 1 -r 1 sum(range(10))",
        "%%time\nn = 3\nprint(n)",
        "print('err', id(df), file=sys.stderr)\nobject()",
        "files = !echo hello\nfiles",
        "!echo from the shell",
        "%%bash\necho bash",
        "from IPython.display import HTML, display\nhandle = display('one', display_id=True)",
        "handle.update('two')",
        "HTML('<p>words</p>')",
        "import ipywidgets\nipywidgets.IntSlider()",
        "int('no')",
    )
    book = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(book, allow_errors=True, kernel_name="python3", resources=resources)
    client.execute()
    nbformat.write(book, path)
    report = check(path)
    assert set(states(report).values()) == {"the same"}, report.cells


def test_it_is_this_python_in_the_folder_of_the_notebook_with_this_environment(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OF_THIS_PROCESS", "here")
    (tmp_path / "nbformat.py").write_text("raise ImportError('a file beside the notebook')\n")
    path = write(
        tmp_path / "where.ipynb",
        ("import sys; print(sys.executable)", 1, sys.executable),
        ("import os; print(os.getcwd())", 2, os.path.realpath(tmp_path)),
        ("print(os.environ['OF_THIS_PROCESS'])", 3, "here"),
    )
    report = check(path)
    assert set(states(report).values()) == {"the same"}, report.cells


def test_a_notebook_without_outputs_is_only_run(tmp_path):
    report = check(write(tmp_path / "bare.ipynb", "a = 1", "print(a)"))
    assert states(report) == {1: "ran", 2: "ran"}


def test_loading_our_extension_starts_no_worker_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LMC_MODEL", "openai/gpt-5-mini")
    path = write(
        tmp_path / "ours.ipynb",
        "%load_ext lmc_jupyter\nimport psutil",
        "print(len(psutil.Process().children()))",
        "%%lmc\nWhy?",
        "from lmc_jupyter import current_session\nprint(len(current_session().messages))",
    )
    book = nbformat.read(path, as_version=4)
    for cell, text in ((book.cells[1], "0\n"), (book.cells[3], "0\n")):
        cell.execution_count = 1
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
    nbformat.write(book, path)
    report = check(path)
    assert states(report) == {1: "ran", 2: "the same", 3: "not run", 4: "the same"}, report.cells
    assert not list((tmp_path / "data").rglob("*.jsonl"))


ENDLESS = "import time; time.sleep(600)"


def test_a_cell_without_an_end_ends_the_run_with_all_its_processes(tmp_path):
    path = write(tmp_path / "loop.ipynb", LEAVES, ENDLESS, "print(1)", "%%lmc\nWhy?")
    report = check(path, timeout=20)
    assert states(report) == {1: "ran", 2: "failed", 3: "not run", 4: "not run"}
    assert report.cells[1].notes == ["it took longer than 20 seconds"]
    assert report.cells[2].notes == ["cell 2 did not end by itself"]
    assert left(tmp_path) == []


def test_a_cell_that_ends_the_kernel_ends_the_run(tmp_path):
    path = write(tmp_path / "exit.ipynb", LEAVES, "os._exit(3)", "print(1)")
    report = check(path)
    assert states(report) == {1: "ran", 2: "failed", 3: "not run"}
    assert report.cells[1].notes == ["the kernel died in it"]
    assert left(tmp_path) == []


def test_nothing_is_left_after_a_run_to_the_end(tmp_path):
    check(write(tmp_path / "jobs.ipynb", LEAVES))
    assert left(tmp_path) == []


def test_a_question_of_the_code_is_no_wait_without_end(tmp_path):
    (it,) = check(write(tmp_path / "asks.ipynb", "input('Name? ')")).cells
    assert it.state == "failed"
    assert "StdinNotImplementedError" in it.notes[0]


NO_NOTEBOOKS = {
    "text": ("hello", "is no notebook"),
    "other JSON": ("[1, 2]", "is no notebook"),
    "empty": ("", "is no notebook"),
    "no cells": (json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}}), "no notebook"),
    "no code": (
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}),
        "has no code",
    ),
}


@pytest.mark.parametrize(("text", "words"), NO_NOTEBOOKS.values(), ids=NO_NOTEBOOKS.keys())
def test_what_is_no_notebook_is_a_sentence(tmp_path, text, words):
    path = tmp_path / "it.ipynb"
    path.write_text(text)
    with pytest.raises(ComputerError, match=words):
        check(path)


def test_a_notebook_of_another_language_is_a_sentence(tmp_path):
    spec = {"name": "ir", "display_name": "R", "language": "R"}
    with pytest.raises(ComputerError, match="a notebook of R"):
        check(write(tmp_path / "r.ipynb", "1", kernelspec=spec))


def test_a_notebook_that_jupyter_opens_is_checked_though_its_form_is_not_strict(tmp_path):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [],
            "execution_count": None}  # fmt: skip
    spec = {"name": "my-env", "display_name": "My own"}
    it = {"cells": [cell], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "it.ipynb").write_text(json.dumps(it))  # ids are of 4.5
    assert states(check(tmp_path / "it.ipynb")) == {1: "ran"}


def test_a_fresh_kernel_that_does_not_start_is_a_sentence_with_its_reason(tmp_path, monkeypatch):
    program = "import sys\nif 'ipykernel_launcher' in sys.orig_argv: sys.exit('no kernels today')\n"
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ComputerError, match=r"did not start: .*no kernels today"):
        check(write(tmp_path / "it.ipynb", "1"))


def test_a_file_that_is_gone_is_a_sentence(tmp_path):
    with pytest.raises(ComputerError, match="cannot be read"):
        check(tmp_path / "none.ipynb")


def test_without_nbclient_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "nbclient.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ComputerError, match="install nbclient"):
        check(write(tmp_path / "it.ipynb", "1"))
