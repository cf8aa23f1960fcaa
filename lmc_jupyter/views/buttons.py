"""The buttons of a cell: a state line with Stop, and Run / Edit / Don't run at a confirmation.

One rule: the front end never sends the code that it was shown, only the proposal's id, its
digest and the decision; what it sends is checked here and put into a queue, nothing more.
Nothing of the conversation is in a synced trait, so that saved widget state holds none.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from lmc_jupyter.agent import Decision
from lmc_jupyter.gate import Proposal, hidden
from lmc_jupyter.kernel.mailbox import Mailbox
from lmc_jupyter.views.html import highlight, style

_HERE = Path(__file__).parent
MAX_REASON = 500  # characters


class Buttons(anywidget.AnyWidget):
    """One row of buttons; `kind` is "bar" or "ask". All else travels as custom messages."""

    _esm = _HERE / "buttons.js"
    _css = style()
    kind = traitlets.Unicode().tag(sync=True)
    own_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, kind: str, model_id: str) -> None:
        super().__init__(kind=kind, own_id=model_id, model_id=model_id)

    def bundle(self) -> dict[str, Any]:
        """The mime bundle that shows it."""
        view = {"model_id": self.model_id, "version_major": 2, "version_minor": 0}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": "lmc-jupyter"}


class Person:
    """The person in front of the buttons of one cell.

    Parameters
    ----------
    mailbox : where clicks come in while the cell runs
    wake : called after each message, from any thread; must not block
    """

    def __init__(self, mailbox: Mailbox, wake: Callable[[], None]) -> None:
        self._mailbox, self._wake = mailbox, wake
        self.here = threading.Event()
        """Set once a front end has answered: there is somebody who can press."""
        self.inbox: list[tuple[str, dict[str, Any]]] = []
        self.bar, self.ask = self._make("bar"), self._make("ask")

    def _make(self, kind: str) -> Buttons:
        """A widget whose messages are heard from before the front end knows of it."""
        model_id = uuid.uuid4().hex
        self._mailbox.open(model_id, partial(self._receive, kind))
        widget = Buttons(kind, model_id)
        widget.on_msg(self._by_comm)
        return widget

    def _by_comm(self, widget: Buttons, content: dict[str, Any], _: object) -> None:
        self._mailbox.deliver(widget.model_id, content)

    def _receive(self, kind: str, content: dict[str, Any]) -> None:
        self.here.set()
        self.inbox.append((kind, content))
        self._wake()

    def close(self) -> None:
        """Take the widgets away; the displays must have been replaced before."""
        for widget in (self.bar, self.ask):
            self._mailbox.close(widget.model_id)
            widget.layout.close()  # it is a widget too, and would be saved with the notebook
            widget.close()


def question(proposal: Proposal) -> dict[str, Any]:
    """What the front end draws: made here from the bytes that would run."""
    count = hidden(proposal.code)
    warning = f"Hidden characters, marked in red: {count}" if count else proposal.reason
    return {
        "kind": "ask",
        "proposal": proposal.id,
        "digest": proposal.digest,
        "language": " + ".join([proposal.language, *sorted(proposal.uses - {proposal.language})]),
        "lines": highlight(proposal.code, proposal.language),
        "code": proposal.code,
        "warning": warning,
    }


def decision(content: Mapping[str, Any], proposal: Proposal) -> Decision | None:
    """The decision in a click, or None when it is not an answer to this proposal."""
    if content.get("proposal") != proposal.id or content.get("digest") != proposal.digest:
        return None
    code, reason = content.get("code"), content.get("reason", "")
    if content.get("decision") == "run" and (code is None or isinstance(code, str)):
        return Decision(True, code)
    if content.get("decision") == "decline" and isinstance(reason, str):
        return Decision(False, reason=reason[:MAX_REASON])
    return None
