"""What the panel is told has the names that the history's own events have."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from lmc_jupyter.conversation import events
from lmc_jupyter.frontends.panel.wire import name_of

PROTOCOL = Path(__file__).parents[2] / "js" / "src" / "protocol.ts"
OF_THE_PANEL = {"state", "input"}
"""What the panel is told beside the events of the history."""
IN_OTHERS = {
    "asked": "the question comes as `appended`, the title as `configured`",
    "runs": "`became` says it, with its block",
    "noted": "`state` holds the words",
    "stopping": "`ended` follows",
    "acted": "the panel knows what its person pressed",
    "renamed": "`configured` holds the title",
    "described": "the panel does not show it",
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
