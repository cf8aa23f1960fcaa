"""A day's work of 30 questions on a real data set: how often the person is asked."""

from __future__ import annotations

import builtins
import hashlib
from pathlib import Path

import pytest
from scripted import ScriptedModel, code, said

from lmc_jupyter import Decision, Session

DAY = Path(__file__).with_name("day.txt")
SET_UP = """
import matplotlib
matplotlib.use("Agg")
import plotly.data
df = plotly.data.gapminder(return_type="pandas")
"""

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:.*non-interactive.*")]


def read_day() -> dict[str, list[str]]:
    """The question -> the blocks that answer it."""
    parts = [part.split("\n", 1) for part in DAY.read_text("utf-8").split("# --- ")[1:]]
    return {question: [each.strip() for each in text.split("\n---\n")] for question, text in parts}


def work(shell, ask: str) -> tuple[dict[str, int], str, list[str]]:
    """Do the day's work: the clicks of each question, a digest of the table then, the outputs."""
    shell.reset(new_session=False)
    shell.run_cell(SET_UP)
    day = read_day()
    replies = [
        [code(each)] if each else [said("Done.")]
        for blocks in day.values()
        for each in [*blocks, ""]
    ]
    session = Session(model=ScriptedModel(*replies), ask=ask)
    clicks = {}
    for question in day:
        clicks[question], reply, answer = 0, session.ask(question), None
        while True:
            try:
                chunk = reply.send(answer)
            except StopIteration:
                break
            answer = None
            if chunk.type == "confirmation":
                clicks[question] += session.gate.pending.verdict == "ask"
                answer = Decision(run=True)
    outputs = [each.content for each in session.messages if each.type == "console"]
    session.close()
    table = shell.user_ns["df"].to_csv()
    return clicks, hashlib.sha256(table.encode()).hexdigest(), outputs


def test_a_day_s_work_asks_where_the_person_s_table_or_a_file_changes(
    shell, tmp_path, monkeypatch, record_property
):
    monkeypatch.chdir(tmp_path)
    questions: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt="": questions.append(prompt) or "n")
    always, table, outputs = work(shell, "always")
    files = sorted(path.name for path in tmp_path.iterdir())
    changes, again, outputs_again = work(shell, "changes")
    assert len(always) == 30
    assert sum(always.values()) == 32
    assert (again, outputs_again) == (table, outputs)
    assert not any("Error" in each for each in outputs)
    assert (
        sorted(path.name for path in tmp_path.iterdir()) == files == ["asia.png", "gapminder.csv"]
    )
    assert questions == []
    asked = {question for question, count in changes.items() if count}
    assert asked == {
        "Add a column with the total GDP.",
        "Rename the columns so that they are easier to read.",
        "Save that figure for my report.",
        "Sort the table by income.",
        "Take out the rows before 1960.",
        "Write the table to a file for a colleague.",
    }
    record_property("figure", f"{sum(changes.values())} clicks in place of {sum(always.values())}")
