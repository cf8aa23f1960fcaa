"""AGENTS.md of the notebook's folder in the panel: offered, shown as it is sent, answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Turn, text
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

TEXT = (
    "# Rules\n\nUse `SI` units, and <b>no</b> *stars*: \u202eagain.\n"
    + "- Be brief. Canary.\n" * 30
)


@pytest.fixture
def agents(lab: Any) -> Iterator[Path]:
    path = Path(lab.root) / "AGENTS.md"
    path.write_text(TEXT, encoding="utf-8")
    yield path
    path.unlink()


def test_it_is_offered_with_a_question_shown_as_it_is_sent_and_answered(
    chat: Any, agents: Path, model_server: ModelServer
) -> None:
    model_server.turns = [Turn(text("Seen."))] * 9
    chat.do(
        "current_session().choose_model('openai/m', "
        f"api_base={model_server.base!r}, api_key='not-a-key', free=True)"
    )
    chat.ask("Hello?")
    chat.state("done")
    expect(chat.log).to_contain_text("AGENTS.md in this folder has instructions for models")
    assert "Canary" not in json.dumps(model_server.requests[-1].body)
    chat.ask("%lmc instructions")
    expect(chat.notice).to_contain_text("33 lines")
    shown = chat.notice.inner_text()
    for line in (
        "│ Use `SI` units, and <b>no</b> *stars*: ⟨U+202E⟩again.",
        "│ - Be brief. Canary.",
    ):
        assert line in shown
    chat.ask("/instructions yes")
    chat.noticed("goes with every question now")
    chat.ask("And now?")
    expect(chat.record("message", "assistant")).to_have_count(2)
    said = model_server.requests[-1].body["messages"][-1]["content"]  # the first one stays
    assert "The instructions have changed. New:" in said
    assert "Use `SI` units, and <b>no</b> *stars*: ⟨U+202E⟩again.\n- Be brief. Canary." in said
