"""In marimo, by a stand-in for its module of figures: it has no Jupyter kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest
from scripted import ScriptedModel, code, said

from lmc_jupyter import OpenInterpreter
from lmc_jupyter.computer import default_computer
from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.cell.live_display import LiveDisplay

pytestmark = pytest.mark.long

FIGURES = """
from matplotlib import pyplot as plt
from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

sent = []

def _internal_show(canvas):
    plt.close(canvas.figure)
    sent.append(canvas)

def show(*, block=None):
    for manager in Gcf.get_all_fig_managers():
        _internal_show(manager.canvas)
"""


@pytest.fixture
def marimo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    name = "marimo._output.mpl"
    for each in ("marimo", "marimo._output", name):
        monkeypatch.setitem(sys.modules, each, ModuleType(each))
    exec(FIGURES, vars(sys.modules[name]))
    before = mpl.get_backend()
    mpl.use(f"module://{name}")
    yield sys.modules[name]
    mpl.use(before)


@pytest.mark.parametrize("display", [True, False])
def test_figures_are_images_whether_they_were_shown_or_left(
    display: bool, marimo: Any, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1, 2]); plt.show()\nprint('between')\nplt.figure(); plt.plot([2, 1])"
    )
    it = OpenInterpreter(
        computer=default_computer(shell), conversation_history=False, auto_run=True
    )
    it.llm.model = ScriptedModel([code(program)], [said("Done.")])
    messages = it.chat("Plot.", display=display)
    kinds = [(each["type"], each.get("format")) for each in messages if each["role"] == "computer"]
    assert kinds[0] == ("image", "base64.png")
    assert kinds.count(("image", "base64.png")) == 2
    assert len(marimo.sent) == (2 if display else 0)  # marimo shows them too, where it is to
    assert marimo.plt.get_fignums() == []
    capsys.readouterr()


def test_the_panel_says_what_works_in_marimo(marimo: Any, shell: Any) -> None:
    with pytest.raises(LMCError, match=r"marimo has none: ask in a cell with `for chunk in Open"):
        _ = LiveDisplay(shell).mailbox
