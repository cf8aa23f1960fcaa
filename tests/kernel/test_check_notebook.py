"""`%lmc check` in a kernel: which notebook it is, how far it is, and Stop."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from kernel.conftest import Frontend
from panel_view import Panel

from lmc_jupyter.computer.process import sessions

AGAIN = "ran from top to bottom in a fresh kernel: no output differs"

pytestmark = [pytest.mark.kernel, pytest.mark.long]

TESTS = Path(__file__).parents[1]

ANSWERS = f"""
%load_ext lmc_jupyter
import sys
sys.path.insert(0, {str(TESTS)!r})
from lmc_jupyter import current_session
from scripted import ScriptedModel, code, said
session = current_session()
session.auto_run = True
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[Any]:
    """A kernel of the notebook work.ipynb, which is not saved yet."""
    it = Frontend(env={"JPY_SESSION_NAME": str(folder / "work.ipynb")}, cwd=folder)
    it.run(ANSWERS)
    yield it
    it.close()


def write(path: Path, *sources: str) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def text_of(lab: Any, code: str) -> str:
    """What a cell shows at its end: a carriage return starts the line over."""
    cell = lab.start(code)
    lab.finish(cell)
    lines = lab.text(cell).split("\n")
    return "\n".join(line.rpartition("\r")[2].rstrip() for line in lines)


def number_of(messages: list[dict[str, Any]]) -> int:
    """The number of the cell that these messages are of."""
    return next(
        m["content"]["execution_count"] for m in messages if m["msg_type"] == "execute_input"
    )


def refused(lab: Any, code: str) -> str:
    """The sentence of a command that does nothing; IPython prints one on wrong words."""
    cell = lab.start(code)
    messages = lab.finish(cell)
    assert lab.status == "error"
    errors = [m["content"]["evalue"] for m in messages if m["msg_type"] == "error"]
    return "".join([lab.text(cell), *errors])


def test_this_notebook_is_checked_once_it_is_saved(lab: Any, folder: Path) -> None:
    assert "save the notebook" in refused(lab, "%lmc check")
    path = folder / "work.ipynb"
    write(path, "a = 1", "print(a)", "%lmc check")
    shown = text_of(lab, "%lmc check")
    assert shown.startswith(f"work.ipynb {AGAIN}.\n3 cells")
    lab.run("a = 2")
    assert "cells ran since the notebook was saved" in refused(lab, "%lmc check")
    os.utime(path, (time.time() + 1, time.time() + 1))  # saved again
    assert AGAIN in text_of(lab, "%lmc check")
    assert AGAIN in text_of(lab, "%lmc check")  # a check is no cell that counts
    assert lab.value("a") == 2


def test_numbers_of_the_kernel_before_a_restart_tell_of_no_order(
    make_frontend: Any, tmp_path: Path
) -> None:
    path = tmp_path / "mine.ipynb"
    lab = make_frontend(env={"JPY_SESSION_NAME": str(path)})
    lab.run(ANSWERS)
    first, second = (number_of(lab.run(source)) for source in ("b = 1", "c = 1"))
    cells = [
        nbformat.v4.new_code_cell(source, execution_count=count)
        for source, count in (("c = 1", second), ("b = 1", first))
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.write(notebook, path)
    order = f"it ran out of order: In [{second}] stands above In [{first}]"
    assert order in text_of(lab, "%lmc check")
    lab.restart()
    lab.run(ANSWERS)
    lab.run("b = 1")
    nbformat.write(notebook, path)  # of the first one it still has the number of that kernel
    shown = text_of(lab, "%lmc check")
    assert AGAIN in shown
    assert "out of order" not in shown


def on_screen(lab: Any, saved: float) -> None:
    """Tell the kernel, as JupyterLab does, that the file of that time is older than the screen."""
    data = {"saved": datetime.fromtimestamp(saved, timezone.utc).isoformat().replace("+00:00", "Z")}
    content = {"comm_id": f"of-{saved}", "target_name": "lmc-jupyter:document", "data": data}
    lab.client.shell_channel.send(lab.client.session.msg("comm_open", content))


def test_of_a_notebook_that_is_not_saved_the_report_says_so(lab: Any, folder: Path) -> None:
    path = folder / "work.ipynb"
    write(path, "a = 1")
    later = time.time() + 600
    os.utime(path, (later, later))
    at = time.strftime("%H:%M", time.localtime(later))
    assert text_of(lab, "%lmc check").rstrip().endswith(f"Checked as saved at {at}.")
    lab.run("from lmc_jupyter.kernel import document; document.SAVES = 0.1")
    on_screen(lab, later)
    shown = text_of(lab, "%lmc check").rstrip()
    assert shown.endswith(f"Checked as saved at {at}; the notebook on screen has changed since.")
    assert "1 cell" in shown
    lab.run("document.SAVES = 60.0")
    on_screen(lab, later)
    cell = lab.start("%lmc check")  # waits for what the front end saves
    write(path, "a = 1", "b = 2")
    os.utime(path, (later + 1, later + 1))
    lab.finish(cell)
    assert "2 cells" in lab.text(cell)
    assert "as saved" not in lab.text(cell)


def test_where_the_notebook_is_not_known_it_is_named(make_frontend: Any, tmp_path: Path) -> None:
    it = make_frontend(env={"JPY_SESSION_NAME": ""}, cwd=tmp_path)
    it.run("%load_ext lmc_jupyter")
    assert "`%lmc check PATH`" in refused(it, "%lmc check")
    assert "is no file" in refused(it, "%lmc check none.ipynb")
    assert "is a folder" in refused(it, "%lmc check .")
    assert "a number of seconds, not 'later'" in refused(it, "%lmc check --timeout later x.ipynb")
    (tmp_path / "a talk.ipynb").write_text("no notebook")
    assert "is no notebook" in refused(it, "%lmc check 'a talk.ipynb'")


def test_it_says_how_far_it_is_and_what_became_of_each_cell(lab: Any, folder: Path) -> None:
    write(folder / "b.ipynb", "a = 1", "b = 1", "print(c)", "1/0")
    cell = lab.start("%lmc check b.ipynb")
    lab.finish(cell)
    for number in (1, 2, 3, 4):
        assert f"\rcell {number} of 4 …" in lab.text(cell)
    lines = text_of(lab, "%lmc check b.ipynb").split("\n")
    assert lines[0] == "b.ipynb does not run again."
    assert lines[1].endswith("2 not compared, 1 failed, 1 missing a name.")
    assert lines[3:] == [
        "1-2  not compared",
        "3    missing a name  print(c)",
        "     no cell makes c",
        "4    failed          1/0",
        "     ZeroDivisionError: division by zero",
        "",
    ]


LOOP = """
import os, pathlib, subprocess
sleep = subprocess.Popen(["sleep", "600"])
pathlib.Path("new").write_text(f"{os.getpid()} {os.getppid()} {sleep.pid}")
os.replace("new", "pids")
while True: pass
"""


def begin(lab: Any, folder: Path) -> tuple[str, list[psutil.Process]]:
    """Check a notebook without an end; the cell, and the processes of the run."""
    write(folder / "loop.ipynb", LOOP)
    cell = lab.start("%lmc check loop.ipynb")
    lab.until((folder / "pids").exists, "the fresh kernel")
    lab.shows(cell, "cell 1 of 1")
    return cell, [psutil.Process(int(pid)) for pid in (folder / "pids").read_text().split()]


def test_stop_ends_the_check_with_all_its_processes(lab: Any, folder: Path) -> None:
    cell, processes = begin(lab, folder)
    lab.interrupt_wait(lambda: lab.is_idle(cell))
    messages = lab.finish(cell)
    (error,) = [m["content"] for m in messages if m["msg_type"] == "error"]
    assert error["traceback"] == [
        "Stopped: the check was stopped at cell 1 of 1: nothing of it runs any more"
    ]
    assert not any(map(sessions.lives, processes))
    assert lab.value("1 + 1") == 2


@pytest.mark.skipif(os.name != "posix", reason="not run: the reaper is for POSIX")
def test_a_check_ends_with_the_kernel_however_that_ends(make_frontend: Any, tmp_path: Path) -> None:
    it = make_frontend(cwd=tmp_path)
    it.run("%load_ext lmc_jupyter")
    _, processes = begin(it, tmp_path)
    it.manager.signal_kernel(9)
    assert psutil.wait_procs(processes, timeout=60)[1] == []


def test_an_exported_conversation_is_offered_to_be_checked_and_runs_again(
    lab: Any, folder: Path
) -> None:
    lab.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})")
    codes = (
        "total = int(df.a.sum())\nprint(total)\ntotal",
        "df",
        "import sys\nprint(1, file=sys.stderr)",
        "import matplotlib.pyplot as plt\nplt.plot([1, total])\nplt.show()",
    )
    lab.run(f"answers = [*([code(each)] for each in {codes!r}), [said('Done.')]]")
    lab.run("session.choose_model(ScriptedModel(*answers))")
    lab.run("%%lmc\nGo on.")
    shown = text_of(lab, "%lmc export 'my talk.ipynb'")
    assert '%lmc check "my talk.ipynb" shows whether it runs again.' in shown
    assert "check" not in text_of(lab, "%lmc export talk.json")
    report = text_of(lab, '%lmc check "my talk.ipynb"')
    assert report.startswith(f"my talk.ipynb {AGAIN}.\n"), report
    assert "different" not in report


def test_in_the_panel_it_is_no_command(lab: Any, folder: Path) -> None:
    write(folder / "b.ipynb", "a = 1")
    lab.run("from lmc_jupyter import panel_model_id\nmodel_id = panel_model_id()")
    panel = Panel(lab, lab.value("model_id"))
    assert "type it in a cell" in panel.refused("command", line="/check b.ipynb")
