"""What the panel is told has the names that the history's own events have."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from scripted import ScriptedModel

from lmc_jupyter.content.cell import Cell
from lmc_jupyter.context.cells import CellChoice, Selected
from lmc_jupyter.conversation import events
from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.panel.ledger import ledger, read_choice
from lmc_jupyter.frontends.panel.wire import name_of
from lmc_jupyter.session import Session

PROTOCOL = Path(__file__).parents[2] / "js" / "src" / "protocol.ts"
OF_THE_PANEL = {"state", "input", "queued", "cell"}
"""What the panel is told beside the events of the history."""
IN_OTHERS = {
    "asked": "the question comes as `appended`, the title as `configured`",
    "runs": "`became` says it, with its block",
    "noted": "`state` holds the words",
    "stopping": "`ended` follows",
    "files_read": "`%lmc methods` reads it from the journal",
    "acted": "the panel knows what its person pressed",
    "renamed": "`configured` holds the title",
    "described": "the panel does not show it",
    "exchanged": "it is for the model alone; What was sent shows the request",
    "changed": "`replaced` or `cut` came before it, and `state` comes with it",
    "saved": "`configured` holds the sentence of what cannot be saved",
}
"""The events that have no message of their own, and why."""


def test_a_message_to_the_panel_has_the_name_of_its_event():
    text = PROTOCOL.read_text("utf-8")
    union = text.partition("export type Event =")[2].partition(";\n\n")[0]
    named = set(re.findall(r"^  \| \{ (\w+):", union, re.MULTILINE))
    ours = {each for each in vars(events).values() if dataclasses.is_dataclass(each)}
    history = {name_of(each) for each in ours if each.__module__ == events.__name__}
    assert named > OF_THE_PANEL
    assert history > set(IN_OTHERS)
    assert named - OF_THE_PANEL == history - set(IN_OTHERS)


def fields(name: str) -> set[str]:
    """The fields of an interface of protocol.ts."""
    text = PROTOCOL.read_text("utf-8").partition(f"export interface {name} {{")[2]
    return set(re.findall(r"^  (\w+)\??:", text.partition("\n}")[0], re.MULTILINE))


def test_the_ledger_is_written_as_the_panel_reads_it():
    session = Session(ScriptedModel(), keep=False)
    session.prompt.cells = lambda: [Cell(3, "x = 1", id="c3")]
    sent = ledger(session, "", CellChoice())
    assert set(sent) == fields("Ledger")
    (part,) = sent["parts"]
    assert set(part) == fields("Part")
    assert set(sent["always"][0]) == fields("Part")


def test_the_choice_is_read_as_the_panel_writes_it():
    document = {
        "selected": {"id": "c9", "source": "y = 2\n", "text": "2"},
        "above": "# Title",
        "hidden": ["c1"],
        "outline": [["c8", "# Title"], ["c9", ""]],
    }
    choice = {"left_out": ["cell 3", "markdown"], "pinned": [4], "document": document}
    assert set(choice) == fields("Choice")
    assert set(document) == fields("Document")
    assert read_choice(choice, None) == CellChoice(
        pointed=frozenset({4}),
        left_out=frozenset({3}),
        without=frozenset({"markdown"}),
        above="# Title",
        places={"c8": "cell 1 of 2", "c9": "cell 2 of 2, below 'Title'"},
        selected=Selected("c9", "y = 2", "2"),
    )
    for wrong in ({"left_out": "cell 3"}, {"document": {"above": 3}}, {"pinned": {}}):
        with pytest.raises(LMCError):
            read_choice(wrong, None)
