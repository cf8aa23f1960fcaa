"""The one widget: what draws the panel, the state line and the buttons, by the same bundle.

One rule: nothing of a conversation is in a synced trait, so that saved widget state holds none;
all of it travels as custom messages (js/src/protocol.ts), and what UTF-8 cannot hold goes in none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from lmc_jupyter.errors import LMCError
from lmc_jupyter.lmc import clean

SAVED = "application/vnd.lmc.saved+json"
"""The MIME type of an output that is drawn without its widget where a page does not find that;
js/src/lab/saved.ts draws it."""
_PANEL = "The chat panel of lmc-jupyter: run this cell to show it."
STATIC = Path(__file__).parents[2] / "static"


def built(name: str) -> Path:
    """A file of the built bundle.

    Raises
    ------
    LMCError
        When it was not built.
    """
    path = STATIC / name
    if not path.is_file():
        raise LMCError(
            f"{name} of the panel is missing: this is a source tree that was not built. "
            "Run `make js` in it (it needs node, or takes it from PyPI), then restart the kernel"
        )
    return path


class Widget(anywidget.AnyWidget):
    """One view of ours; `kind` is "panel", "bar", "ask" or "page"."""

    _esm = built("widget.js")
    _css = built("widget.css")
    kind = traitlets.Unicode().tag(sync=True)
    own_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, kind: str, model_id: str) -> None:
        super().__init__(kind=kind, own_id=model_id, model_id=model_id)
        self.closed_there = False
        """Whether a front end has closed it: nothing that is sent arrives any more."""
        self.comm.on_close(self._on_close)

    def _on_close(self, _: object) -> None:
        self.closed_there = True

    def __repr__(self) -> str:
        return f"<lmc-jupyter {self.kind}>"

    def bundle(self) -> dict[str, Any]:
        """The mime bundle that shows it; whose part is not the panel puts its own text into it."""
        view = {"model_id": self.model_id, "version_major": 2, "version_minor": 0}
        return {"application/vnd.jupyter.widget-view+json": view, SAVED: {}, "text/plain": _PANEL}

    def send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        """Send a message of js/src/protocol.ts to its front ends."""
        super().send(_clean(content), buffers)

    def close(self) -> None:
        """End it, and its layout, which is a widget too and would be saved with the notebook."""
        if self.comm is not None:
            self.layout.close()
        super().close()


def _clean(value: Any) -> Any:
    """The JSON value with each text of it, keys too, as UTF-8 can hold it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _clean(each) for key, each in value.items()}
    return [*map(_clean, value)] if isinstance(value, (list, tuple)) else value
