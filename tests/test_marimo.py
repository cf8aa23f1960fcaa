"""In marimo, by a stand-in for its module: it has no Jupyter kernel."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.cell.live_display import LiveDisplay


def test_the_panel_says_what_works_in_marimo(monkeypatch: pytest.MonkeyPatch, shell: Any) -> None:
    monkeypatch.setitem(sys.modules, "marimo", ModuleType("marimo"))
    with pytest.raises(LMCError, match=r"marimo has none: ask in a cell with `for chunk in Open"):
        _ = LiveDisplay(shell).mailbox
