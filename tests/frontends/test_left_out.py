"""What a long conversation left out is said in every view, and only where something was."""

from __future__ import annotations

import copy
import io
import re
import threading
from typing import Any

import pytest

from lmc_jupyter.frontends.cell.cell import CellView
from lmc_jupyter.frontends.panel.wire import turn_wire
from lmc_jupyter.frontends.terminal.text import TextView
from lmc_jupyter.frontends.view import play
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.models.request import Request
from lmc_jupyter.session import Session

SAID = "The 14 oldest messages were left out, so that it <b>fits</b> the \x1b[2Jwindow."


class Forgetful:
    """A model that leaves something out of every other request."""

    label = "forgetful"

    def __init__(self) -> None:
        self.asked = [0]

    def with_record(self, record: Any) -> Forgetful:
        told = copy.copy(self)
        told.record = record  # type: ignore[attr-defined]
        return told

    def respond(self, messages: Any) -> Any:
        request = Request("m", {})
        self.asked[0] += 1
        request.left_out = SAID if self.asked[0] % 2 else ""
        self.record(request)  # type: ignore[attr-defined]
        yield Chunk("assistant", "message", content="Yes.")
        request.end(1, 1, 0.0)


class Page:
    shows_updates = True
    repeats_updates = False

    def __init__(self) -> None:
        self.bundles: dict[str, Any] = {}
        self.lock = threading.Lock()

    def show(self, data: Any, display_id: str) -> None:
        with self.lock:
            assert display_id not in self.bundles
            self.bundles[display_id] = data

    def update(self, data: Any, display_id: str) -> None:
        with self.lock:
            self.bundles[display_id] = data

    def flush(self) -> None: ...


@pytest.fixture
def session() -> Session:
    return Session(model=Forgetful(), keep=False)


def test_a_cell_says_it_below_the_answer_as_text(session):
    page = Page()
    play(session.ask("Go."), CellView(session, page))
    bundles = list(page.bundles.values())
    html = re.sub(r"<style>.*?</style>", "", bundles[-1]["text/html"], flags=re.S)
    assert "The 14 oldest messages were left out" in html
    assert "<b>fits" not in html
    assert "\x1b" not in bundles[-1]["text/plain"]
    page = Page()
    play(session.ask("Go."), CellView(session, page))
    assert "oldest" not in str(page.bundles)


def test_a_terminal_says_it_in_a_line_of_its_own(session):
    out = io.StringIO()
    play(session.ask("Go."), TextView(session, out, None))
    assert out.getvalue() == (
        "Yes.\n[The 14 oldest messages were left out, so that it <b>fits</b> the window.]\n"
    )
    out = io.StringIO()
    play(session.ask("Go."), TextView(session, out, None))
    assert out.getvalue() == "Yes.\n"


def test_the_panel_is_told_with_the_turn(session):
    for _ in session.ask("Go."):
        pass
    assert turn_wire(session.turns[-1], 0)["left_out"].startswith("The 14 oldest")
    for _ in session.ask("Go."):
        pass
    assert turn_wire(session.turns[-1], 0)["left_out"] == ""
