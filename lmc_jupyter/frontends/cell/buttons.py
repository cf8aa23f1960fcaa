"""The live parts of a cell: a state line with Stop, Run / Edit / Don't run, and HTML that is shown.

One rule: what the front end sends is put into a queue, nothing more.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from lmc_jupyter.frontends.panel.widget import Widget
from lmc_jupyter.kernel.mailbox import Mailbox


class Prompter:
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
        self.expected = mailbox.heard
        """Whether this kernel has heard a front end before, so that it will probably answer."""
        self.inbox: list[tuple[str, dict[str, Any]]] = []
        self.bar, self.ask = self._make("bar"), self._make("ask")
        self._pages: list[Widget] = []

    def page(self) -> Widget:
        """A frame for HTML; in the inbox its messages stand under its own `model_id`."""
        self._pages.append(self._make("page"))
        return self._pages[-1]

    def _make(self, kind: str) -> Widget:
        """A widget whose messages are heard from before the front end knows of it."""
        model_id = uuid.uuid4().hex
        self._mailbox.open(model_id, partial(self._receive, model_id if kind == "page" else kind))
        widget = Widget(kind, model_id)
        widget.on_msg(self._by_comm)
        return widget

    def _by_comm(self, widget: Widget, content: dict[str, Any], _: object) -> None:
        self._mailbox.deliver(widget.model_id, content)

    def _receive(self, kind: str, content: dict[str, Any]) -> None:
        self.here.set()
        self.inbox.append((kind, content))
        self._wake()

    def close(self) -> None:
        """Take the widgets away; the displays must have been replaced before."""
        for widget in (self.bar, self.ask, *self._pages):
            self._mailbox.close(widget.model_id)
            widget.close()
