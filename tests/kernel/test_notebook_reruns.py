"""An exported notebook runs from top to bottom in a kernel that knows nothing of us."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from lmc_jupyter import formats
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.lmc import Message

pytestmark = [pytest.mark.kernel, pytest.mark.long]

OURS = "import sys\nprint([name for name in sys.modules if name.startswith('lmc_jupyter')])"
TRACE = "Traceback (most recent call last):\n  line 3\nNameError: name 'broken' is not defined\n"


def talk() -> list[Message]:
    found = [Message("user", "message", content="Numbers, please.")]

    def ran(language: str, code: str, *printed: str) -> None:
        found.append(Message("assistant", "code", language, code))
        found.extend(Message("computer", "console", "output", each) for each in printed or ("",))

    ran("python", "base = 6\nimport math\nbroken()\nnever = 1", TRACE)
    ran("python", "print(base * 7, math.floor(2.5))", "42 2\n")
    ran("python", "raise SystemExit", "This code was not run: the user declined.")
    ran("sql", "select 1", "1")
    ran("html", "<h3>Hi</h3>", "Hi")
    ran("html", "<script>document.title = 'x'</script>", "")
    if shutil.which("bash"):
        ran("shell", "echo from bash", "from bash\n")
    if shutil.which("node"):
        ran("javascript", "console.log(6 * 7)", "42\n")
    if shutil.which("Rscript"):
        ran("r", "cat(6 * 7)", "42")
    ran("python", OURS, "[]\n")
    return found


def test_it_runs_from_top_to_bottom_without_us(tmp_path: Path) -> None:
    path = tmp_path / "talk.ipynb"
    before = Conversation([each.stamped() for each in talk()])
    formats.write(before, path)
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(
        notebook, timeout=300, iopub_timeout=60, kernel_name="python3", resources=resources
    ).execute()
    nbformat.write(notebook, path)
    after = formats.read(path).messages
    kept = [each for each in after if each.role != "computer"]
    assert kept == [each for each in before.messages if each.role != "computer"]

    def printed(code: str) -> str:
        at = next(i for i, each in enumerate(after) if each.content == code)
        return str(after[at + 1].content)

    assert printed("print(base * 7, math.floor(2.5))") == "42 2\n"
    assert printed(OURS) == "[]\n"
    for code in ("echo from bash", "console.log(6 * 7)", "cat(6 * 7)"):
        if any(each.content == code for each in after):
            assert "42" in printed(code) or "from bash" in printed(code)
    done = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in done)
    assert not any(o.output_type == "error" for cell in done for o in cell.outputs)
