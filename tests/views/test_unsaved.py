"""A conversation that cannot be saved says so in the cell and in the terminal, and says it once."""

from __future__ import annotations

import io

import pytest
from scripted import ScriptedModel, said

from lmc_jupyter.session import Session
from lmc_jupyter.views import play
from lmc_jupyter.views.cell import CellView
from lmc_jupyter.views.text import TextView

NOTE = "This conversation is not being saved"


class Page:
    def __init__(self):
        self.bundles = {}

    def show(self, data, display_id):
        self.bundles[display_id] = data

    update = show

    def flush(self): ...

    def count(self):
        return sum(NOTE in bundle["text/html"] for bundle in self.bundles.values())


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """A session whose data directory cannot be made: a file stands in its place."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    return Session(model=ScriptedModel([said("One.")], [said("Two.")]))


def test_a_cell_says_it_below_the_answer(homeless):
    counts = []
    for question in ("First?", "Second?"):
        page = Page()
        play(homeless.ask(question), CellView(homeless, page))
        counts.append(page.count())
    assert counts == [1, 0]
    assert NOTE in homeless.unsaved


def test_a_terminal_says_it_in_a_line_of_its_own(homeless):
    shown = []
    for question in ("First?", "Second?"):
        out = io.StringIO()
        play(homeless.ask(question), TextView(homeless, out, None))
        shown.append(out.getvalue())
    assert shown[0].startswith(f"One.\n[{NOTE}")
    assert shown[1] == "Two.\n"
