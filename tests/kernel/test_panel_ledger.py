"""The ledger in a real kernel: what it lists for a question is what goes with that."""

from __future__ import annotations

from typing import Any

import pytest
from panel_view import Panel
from test_panel import SET_UP

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


@pytest.fixture(scope="module")
def lab(frontend: Any) -> Any:
    frontend.run(SET_UP)
    return frontend


@pytest.fixture
def panel(lab: Any) -> Any:
    it = Panel(lab, lab.value("model_id"))
    lab.run("%lmc reset\nmodel = scripted(*[[said('Seen.')] for _ in range(4)])")
    it.ask("Before.")
    it.over()
    yield it
    lab.run("assert session.wait(60)")


def choice(*left_out: str, pinned: tuple[int, ...] = (), **document: Any) -> dict[str, Any]:
    known = {"selected": None, "above": "", "hidden": [], **document}
    return {"left_out": list(left_out), "pinned": list(pinned), "document": known}


def listed(panel: Panel, chosen: dict[str, Any], text: str = "") -> dict[str, str]:
    """Titles and texts of what is listed."""
    ledger = panel.value("context", text=text, choice=chosen)
    return {each["title"]: each["content"] for each in ledger["parts"]}


def ask(panel: Panel, text: str, chosen: dict[str, Any], kind: str = "ask", **more: Any) -> str:
    """The text that went with this question, as its record in the panel has it; "" for none."""
    panel.begin(kind, text=text, attachments=[], choice=chosen, **more)
    panel.over()
    said = [each for each in panel.view.records if each.get("message", {}).get("role") == "user"]
    sent = said[-1].get("sent")
    return "" if sent is None else str(sent["text"])


def last(panel: Panel) -> int:
    """The number of the last cell that ran: `lab.value` would be another one."""
    *_, title = (each for each in listed(panel, choice()) if each.startswith("In ["))
    return int(title[4:-1])


def test_what_is_listed_is_what_is_sent_and_what_is_left_out_stays_listed(lab, panel):
    lab.run("one = 1\nprint('canary-one')")
    first = last(panel)
    lab.run("two = 2")
    parts = listed(panel, choice(above="# Title"))
    assert list(parts) == ["Markdown", f"In [{first}]", f"In [{first + 1}]", "changed names"]
    assert "canary-one" in parts[f"In [{first}]"]
    chosen = choice(f"cell {first}", above="# Title")
    assert listed(panel, chosen) == parts
    ledger = panel.value("context", text="", choice=chosen)
    own = sum(each["tokens"] for each in ledger["parts"] if each["id"] != f"cell {first}")
    always = sum(each["tokens"] for each in ledger["always"])
    line = f"markdown · 1 cell · names · {own:,} tokens + {always:,} always"
    assert ledger["line"] == line
    lab.finish(cell := lab.start("%lmc context"))
    assert f"With every question: {always:,} tokens." in lab.text(cell)
    del parts[f"In [{first}]"]
    assert ask(panel, "What?", chosen) == "\n\n".join(parts.values())
    assert listed(panel, choice()) == {}
    assert "canary-one" not in lab.value("str(model.seen[-1])")


def test_a_cell_that_ends_is_said_to_the_panel(lab, panel):
    lab.run("three = 3")
    panel.until(lambda: panel.view.cell == last(panel), "the number of the cell")


def test_a_hidden_cell_is_listed_no_more_and_cannot_be_pinned(lab, panel):
    lab.run("four = 'canary-four'")
    at = last(panel)
    assert panel.value("hide", number=at) == ""  # this front end names no ids
    assert list(listed(panel, choice(pinned=(at,)))) == ["changed names"]  # and no value
    assert "lmc-hide" in panel.refused("context", text=f"@cell {at}", choice=choice())
    assert "nothing was hidden" in panel.refused("hide", number=10_000)


def test_the_selected_cell_and_the_selection_go_as_the_document_has_them(lab, panel):
    selected = {"id": "c9", "source": "five = 5  # canary-five", "text": "canary-five"}
    parts = listed(panel, choice(selected=selected), "@selection")
    assert list(parts) == ["selected cell", "selection"]
    text = ask(panel, "What is @selection?", choice(selected=selected))
    assert text == "\n\n".join(parts.values())
    assert listed(panel, choice(selected=selected)) == {}
    assert listed(panel, choice(selected=selected, hidden=["c9"])) == {}
    ours = {**selected, "source": "%%lmc\nMe?"}
    assert listed(panel, choice(selected=ours)) == {}


def test_an_edited_question_takes_along_what_went_and_what_it_points_at(lab, panel):
    lab.run("six = 'canary-six'")
    lab.run("seven = 'canary-seven'")
    at = last(panel)
    text = ask(panel, "One?", choice(f"cell {at - 1}"))
    assert "canary-seven" in text
    turn = panel.view.turns[-1]["id"]
    lab.run("eight = 'canary-eight'")
    assert ask(panel, "One more?", choice(), "edit", turn=turn) == text
    turn = panel.view.turns[-1]["id"]
    edited = ask(panel, f"And @cell {at - 1}?", choice(), "edit", turn=turn)
    assert "canary-six" in edited
    assert "canary-seven" in edited
    assert "canary-eight" not in edited
    assert f"In [{at + 1}]" in listed(panel, choice())  # it waits for the next question


def test_a_question_that_waits_goes_with_what_was_chosen_for_it(lab, panel):
    lab.run("model = scripted([code('1 + 1')], [said('Two.')], [said('Three.')])")
    panel.ask("First?")
    question = panel.question()
    lab.run("nine = 'canary-nine'")
    lab.run("ten = 'canary-ten'")
    panel.value("queue", do="add", text="Second?", choice=choice(f"cell {last(panel) - 1}"))
    panel.decide(question)
    panel.over()
    said = [each for each in panel.view.records if each.get("message", {}).get("role") == "user"]
    assert [each["message"]["content"] for each in said][-1] == "Second?"
    assert "canary-nine" not in said[-1]["sent"]["text"]
    assert "canary-ten" in said[-1]["sent"]["text"]
