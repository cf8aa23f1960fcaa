"""The first time that cells leave the machine a person reads it, and never again."""

from __future__ import annotations

import pytest
from scripted import ScriptedModel, drive, said

from lmc_jupyter import Session
from lmc_jupyter.content.cell import Cell
from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.frontends.config import first_cells
from lmc_jupyter.models.choice import Choice


class Remote(ScriptedModel):
    """A model that says where its requests go."""

    name = "openai/far"

    def __init__(self, base: str | None = None) -> None:
        super().__init__([said("Seen.")], [said("Seen.")])
        self.base = base

    def access(self) -> tuple[str | None, None]:
        return self.base, None


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(first_cells.platformdirs, "user_data_path", lambda _: tmp_path)
    return tmp_path


def ask(model: ScriptedModel, cells: CellChoice | None) -> str:
    session = Session(model, keep=False)
    session.prompt.cells = lambda: [Cell(1, "a = 1", output="1")]
    reply = session.ask("What?", cells=cells)
    words = first_cells.notice(session)
    drive(reply)
    return words


def test_it_is_said_once_for_all_kernels_of_a_person(monkeypatch) -> None:
    assert ask(Remote(), None) == ""
    assert ask(Remote(), CellChoice(only=frozenset())) == ""
    words = ask(Remote(), CellChoice())
    assert words.startswith("Your cells and their output now go to openai/far with your questions.")
    assert "`%lmc config context names`" in words
    monkeypatch.setattr(first_cells, "_said", set())  # another kernel
    assert ask(Remote(), CellChoice()) == ""


def test_where_it_cannot_be_written_it_is_said_once_in_a_kernel(data) -> None:
    (data / "notices").write_text("in the way")
    assert ask(Remote(), CellChoice())
    assert ask(Remote(), CellChoice()) == ""


def test_of_a_model_on_this_machine_nothing_is_said() -> None:
    assert ask(ScriptedModel([said("Seen.")]), CellChoice()) == ""
    assert ask(Remote("http://127.0.0.1:8000/v1"), CellChoice()) == ""


@pytest.mark.parametrize(
    ("model", "base", "is_remote"),
    [
        ("openai/gpt-5-mini", None, True),
        ("openai/m", "http://localhost:8000/v1", False),
        ("openai/m", "http://[::1]:8000/v1", False),
        ("openai/m", "127.0.0.2:8000", False),
        ("openai/m", "https://localhost.example.org/v1", True),
        ("openai/m", "http://10.0.0.7/v1", True),
        ("ollama_chat/m", None, False),
        ("ollama_chat/m", "http://gpu.example.org:11434", True),
        ("local", None, False),
    ],
)
def test_an_address_on_loopback_is_this_machine(model, base, is_remote, monkeypatch) -> None:
    monkeypatch.delenv("LMC_API_BASE", raising=False)
    assert Choice(model, {"api_base": base} if base else {}).is_remote is is_remote
