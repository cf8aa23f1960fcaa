"""What the panel offers to type is what the kernel takes: one table here, and its words there."""

from __future__ import annotations

import re
from pathlib import Path

from lmc_jupyter.frontends.magic.commands import COMMANDS

WORDS = Path(__file__).parents[2] / "js" / "src" / "words.ts"
ELSEWHERE = {"ask", "panel"}
"""Commands for cells: in the panel one just asks."""


def test_the_panel_offers_every_command_but_those_for_cells():
    table = WORDS.read_text("utf-8").partition("export const COMMANDS")[2].partition("];")[0]
    offered = re.findall(r'name: "(\w+)"', table)
    assert len(offered) == len(set(offered))
    assert set(offered) == {command.name for command in COMMANDS} - ELSEWHERE
