"""Displays that belong to one cell, whatever runs by now and from whichever thread.

One rule: nothing here goes through the shell's display publisher, so the capture of a running
code block never sees it.
"""

from __future__ import annotations

import sys
from typing import Any

from lmc_jupyter.errors import LMCError
from lmc_jupyter.kernel.frontend import current_shell, kernel_of, parent_of, shows_updates


class CellDisplay:
    """The output of one cell: what is shown here lands there, even after the cell has ended."""

    def __init__(self, kernel: Any, parent: dict[str, Any]) -> None:
        self._kernel, self._parent = kernel, parent
        self.shows_updates = shows_updates(parent)
        """Whether `update` is known to be seen."""
        self.repeats_updates = False
        """Whether each `update` stands below as one more output, as where a server runs the cell
        and not the front end (jupyter-server-documents 0.3, which Jupyter AI 3 brings)."""

    @classmethod
    def here(cls) -> CellDisplay:
        """The cell that runs now.

        Raises
        ------
        LMCError
            Where there is no Jupyter kernel.
        """
        kernel = kernel_of(current_shell())
        if kernel is None:
            raise LMCError("there is no Jupyter kernel here: use a view for the terminal")
        return cls(kernel, parent_of(kernel))

    def show(
        self,
        data: dict[str, Any],
        display_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Put a mime bundle at the end of the cell's output; `flush` before it what is printed."""
        self._send("display_data", data, display_id, metadata)

    def flush(self) -> None:
        """Have what was printed so far shown before what is shown next."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:  # the code may have done that
                stream.flush()

    def clear(self) -> None:
        """Empty the cell's output, once something else is shown in it."""
        publish(self._kernel, self._parent, "clear_output", {"wait": True})

    def update(
        self, data: dict[str, Any], display_id: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Replace what was shown under this id, wherever it stands."""
        self._send("update_display_data", data, display_id, metadata)

    def _send(
        self,
        kind: str,
        data: dict[str, Any],
        display_id: str | None,
        metadata: dict[str, Any] | None,
    ) -> None:
        transient = {} if display_id is None else {"display_id": display_id}
        content = {"data": data, "metadata": metadata or {}, "transient": transient}
        publish(self._kernel, self._parent, kind, content)


def publish(kernel: Any, parent: dict[str, Any], kind: str, content: dict[str, Any]) -> None:
    """Send a message to every front end as the output of `parent`; from any thread."""
    topic = kernel._topic(kind) if hasattr(kernel, "_topic") else kind.encode()
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent, ident=topic)
