"""The demo is a front end: what it prints is what the kernel shows, once."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.long

DEMO = Path(__file__).parents[1] / "notebooks" / "demo.py"


@pytest.fixture
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(text: str, display_id: str | None = None, kind: str = "display_data") -> dict[str, Any]:
    transient = {} if display_id is None else {"display_id": display_id}
    return {"msg_type": kind, "content": {"data": {"text/plain": text}, "transient": transient}}


def printed(text: str) -> dict[str, Any]:
    return {"msg_type": "stream", "content": {"name": "stdout", "text": text}}


def test_what_streams_is_printed_once(demo: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = demo.Terminal()
    for message in (
        shown("[Thinking… · 0.1 s]", "bar"),
        shown("[python, writing…]\nx = 1\n", "code"),
        shown("[python, writing…]\nx = 1\nprint(x)", "code", "update_display_data"),
        shown("[python, waits for your decision]\nx = 1\nprint(x)", "code", "update_display_data"),
        printed("1\n"),
        shown("[python, you ran this · 0.0 s]\nx = 1\nprint(x)", "code", "update_display_data"),
        shown("x is", "text"),
        shown("x is 1.", "text", "update_display_data"),
        shown("[Done · 1.0 s]", "bar", "update_display_data"),
        shown("[Done · 1.0 s]", "bar", "update_display_data"),
        shown("[Done · 1.0 s]", "below"),  # for who sees no updates
    ):
        terminal.output(message)
    assert capsys.readouterr().out == (
        "── python ──\nx = 1\nprint(x)\n1\n[you ran this · 0.0 s]\nx is 1.\n[Done · 1.0 s]\n"
    )


def test_foreign_control_characters_do_not_reach_the_terminal(
    demo: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = demo.Terminal()
    for message in (
        printed("\x1b]0;owned\x07a\x1b[2Jb\n"),
        shown("\x1b[31mred\x9b2J"),
        {"msg_type": "error", "content": {"traceback": ["\x1b[31mValueError\x1b[0m: \x07no"]}},
    ):
        terminal.output(message)
    out = capsys.readouterr().out
    assert "ValueError" in out
    assert not set(out) & {"\x1b", "\x07", "\x9b"}


@pytest.mark.parametrize(
    ("question", "yes", "typed", "answer"),
    [
        ("Run this python code? ", True, "n\n", "y"),
        ("Run this python code? ", False, "not now\n", "not now"),
        ("Run this python code? ", False, "", "n"),
        ("Your name? ", True, "Ada\n", "Ada"),
    ],
)
def test_yes_answers_for_code_and_for_nothing_else(
    demo: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    yes: bool,
    typed: str,
    answer: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert demo.answer(question, yes=yes) == answer


def test_the_views_question_is_the_one_that_yes_answers(demo: ModuleType) -> None:
    """The demo knows the view's question by how it begins."""
    from lmc_jupyter.frontends.question import by_keyboard
    from lmc_jupyter.gate import Gate

    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "n"

    by_keyboard(ask, Gate().propose(1, 1, "python", "1+1"))
    assert asked[0].startswith(demo.RUN)
