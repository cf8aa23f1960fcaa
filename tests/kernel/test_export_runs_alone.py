"""A conversation about the person's own variables is exported and runs in a kernel of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.kernel, pytest.mark.long]

TESTS = Path(__file__).parents[1]

ANSWERS = """
%load_ext lmc_jupyter
import sys
sys.path.insert(0, {tests!r})
from lmc_jupyter import current_session
from scripted import ScriptedModel, code, said
session = current_session()
session.auto_run = True
answers = lambda *codes: session.choose_model(
    ScriptedModel(*([code(each)] for each in codes), [said('Done.')])
)
"""


@pytest.fixture
def lab(make_frontend: Any, tmp_path: Path) -> Any:
    """A kernel that works in a folder of its own."""
    it = make_frontend()
    it.run(f"import os; os.chdir({str(tmp_path)!r})")
    it.run(ANSWERS.format(tests=str(TESTS)))
    return it


def ask(lab: Any, *codes: str) -> None:
    lab.run(f"answers(*{codes!r})")
    lab.run("%%lmc\nGo on.")


def saved(lab: Any, folder: Path) -> tuple[str, Any]:
    """What was said, and the notebook."""
    cell = lab.start("%lmc save talk.ipynb --replace")
    lab.finish(cell)
    return lab.text(cell), nbformat.read(folder / "talk.ipynb", as_version=4)


def run_alone(book: Any, folder: Path) -> list[str]:
    """Run it in a kernel of its own; the text that each code cell printed."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(
        book, timeout=120, iopub_timeout=60, kernel_name="python3", resources=resources
    ).execute()
    done = [cell for cell in book.cells if cell.cell_type == "code"]
    return ["".join(o.get("text", "") for o in cell.outputs) for cell in done]


def sources(book: Any) -> list[str]:
    return [cell.source for cell in book.cells if cell.cell_type == "code"]


def test_the_persons_cells_that_made_the_names_stand_before_the_code(
    lab: Any, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("name,age\nAda,36\nBob,\n")
    lab.run("unused = 1")
    lab.run("import csv")
    lab.run("def load(path):\n    with open(path) as f:\n        return list(csv.DictReader(f))")
    lab.run("%config LMC.context = True\ndf = load('people.csv')")
    lab.run("df[0].keys()\nlen(df)")
    ask(lab, "known = [each for each in df if each['age']]\nprint(len(known))")
    lab.run("df.append({'name': 'Eve', 'age': '50'})")
    ask(lab, "print(len(df), known[0]['name'])", "print(sorted(each['name'] for each in df))")
    text, book = saved(lab, tmp_path)
    assert "does not run alone" not in text
    assert sources(book) == [
        "import csv",
        "def load(path):\n    with open(path) as f:\n        return list(csv.DictReader(f))",
        "df = load('people.csv')",
        "known = [each for each in df if each['age']]\nprint(len(known))",
        "df.append({'name': 'Eve', 'age': '50'})",
        "print(len(df), known[0]['name'])",
        "print(sorted(each['name'] for each in df))",
    ]
    headings = [cell.source for cell in book.cells if cell.source.startswith("###")]
    assert headings == ["### From your notebook"] * 2
    assert run_alone(book, tmp_path)[3:] == ["1\n", "", "3 Ada\n", "['Ada', 'Bob', 'Eve']\n"]
    before = lab.value("[each.content for each in session.messages]")
    lab.run("%lmc load talk.ipynb")
    assert lab.value("[each.content for each in session.messages]") == before


def test_of_a_cell_that_failed_what_ran_before_stands_there(lab: Any, tmp_path: Path) -> None:
    failed = "numbers = [1, 2]\nnumbers.push(3)"
    lab.finish(lab.start(failed))
    ask(lab, "print(sum(numbers))")
    _, book = saved(lab, tmp_path)
    if not lab.value("hasattr(get_ipython().history_manager, 'exceptions')"):
        assert sources(book)[0] == failed  # IPython 8 does not remember which cells failed
        return
    assert sources(book) == ["numbers = [1, 2]", "print(sum(numbers))"]
    assert run_alone(book, tmp_path) == ["", "3\n"]


def test_names_that_no_cell_makes_are_said_with_who_made_them(lab: Any, tmp_path: Path) -> None:
    (tmp_path / "prepare.py").write_text("table = [1]\nother = 2\n")
    lab.run("%run prepare.py")
    ask(lab, "print(table)", "def show():\n    print(other, later)\nlater = 3\nshow()")
    text, book = saved(lab, tmp_path)
    said = "does not run alone: no cell in it defines table, other before the code that needs them."
    assert said in text
    assert "%run prepare.py" in text
    assert [cell.cell_type for cell in book.cells[:2]] == ["markdown", "markdown"]
    assert book.cells[0].source.startswith("# ")
    assert (
        "No cell here defines `table`, `other` before the code that needs them."
        in book.cells[1].source
    )
    lab.restart()
    lab.run(f"import os; os.chdir({str(tmp_path)!r})")
    lab.run(ANSWERS.format(tests=str(TESTS)))
    lab.run("table = [2]")  # nobody knows whether that is the same
    text, book = saved(lab, tmp_path)
    assert said in text
    assert "%run prepare.py" in text  # of the conversation, which outlives the kernel
    assert len(sources(book)) == 2


def test_keys_in_the_persons_cells_are_taken_out(lab: Any, tmp_path: Path) -> None:
    key = "sk-" + "aBcD1234" * 5
    lab.run(f"key = {key!r}\nsize = len(key)")
    lab.run("password = 'hunter2'\nopen('sent', 'a')")
    ask(lab, "print(size > 1)")
    text, book = saved(lab, tmp_path)
    assert "1 of your own cells was included, because the code needs its variables. Read it" in text
    assert "Keys were removed from 2 of your own cells." in text
    assert "hunter2" not in (tmp_path / "talk.ipynb").read_text()
    assert key not in (tmp_path / "talk.ipynb").read_text()
    assert run_alone(book, tmp_path) == ["", "True\n"]


def test_an_attached_file_is_there_when_its_folder_is_gone(lab: Any, tmp_path: Path) -> None:
    lab.run(
        "from pathlib import Path\n"
        "from lmc_jupyter.lmc import Message\n"
        "path = session.files.folder / 'data.csv'\n"
        "path.write_text('a,b\\n1,2\\n')\n"
        "unused = session.files.folder / 'unused.csv'\n"
        "unused.write_text('x')\n"
        "attached = [Message('user', 'file', 'path', str(each)) for each in (path, unused)]\n"
        "answers(f'print(open({str(path)!r}).read())')\n"
        "list(session.ask('What is in it?', attachments=attached))"
    )
    _, book = saved(lab, tmp_path)
    lab.run("path.unlink()")
    assert "unused.csv" not in sources(book)[0]
    assert run_alone(book, tmp_path) == ["", "a,b\n1,2\n\n"]


def test_a_question_that_was_asked_again_stands_there_once(lab: Any, tmp_path: Path) -> None:
    class_ = "class Fails:\n    def respond(self, messages):\n        raise OSError('no line')\n"
    lab.run(f"{class_}session.choose_model(Fails())")
    lab.finish(lab.start("%%lmc\nHow many?"))
    lab.run("session.choose_model(ScriptedModel([said('Two.')]))")
    lab.run("%%lmc\nHow many?")
    before = lab.value("[each.content for each in session.messages]")
    assert before == ["How many?", "How many?", "Two."]
    _, book = saved(lab, tmp_path)
    head, *rest = [cell.source for cell in book.cells]
    assert head.startswith("# How many?\n\n*ScriptedModel, ")
    assert rest == ["> **You:**\n>\n> How many?", "Two."]
    lab.run("%lmc load talk.ipynb")
    assert lab.value("[each.content for each in session.messages]") == before
