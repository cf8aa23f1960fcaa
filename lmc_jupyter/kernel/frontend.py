"""The front end of this Python: a notebook, a terminal or none.

One rule: these functions only read.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Literal


def current_shell() -> Any | None:
    """The running IPython shell; None where there is none. Imports nothing."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def kernel_of(shell: Any | None) -> Any | None:
    """The ipykernel behind a shell; None for a terminal or a script."""
    kernel = getattr(shell, "kernel", None)
    return kernel if kernel is not None and hasattr(kernel, "session") else None


def kind(shell: Any | None = None) -> Literal["kernel", "terminal", "script"]:
    """Where this Python runs; `shell` defaults to the current one."""
    shell = shell if shell is not None else current_shell()
    if shell is None:
        return "script"
    if kernel_of(shell) is not None:
        return "kernel"
    return "terminal" if hasattr(shell, "pt_app") or hasattr(shell, "mainloop") else "script"


def can_ask(kernel: Any) -> bool:
    """Whether the front end of the running cell answers `input()`: papermill does not."""
    return bool(getattr(kernel, "_allow_stdin", False))


def connection_file(kernel: Any) -> str | None:
    """The file that front ends find this kernel by; it stays the same over a restart."""
    path = getattr(getattr(kernel, "parent", None), "abs_connection_file", None)
    return path if isinstance(path, str) and path else None


def notebook_path(shell: Any | None = None) -> str:
    """The path of this kernel's notebook, as its front end has it; "" where that is not known."""
    shell = shell if shell is not None else current_shell()
    if kernel_of(shell) is None:
        return ""
    for path in (  # jupyter_server; VS Code
        os.environ.get("JPY_SESSION_NAME"),
        getattr(shell, "user_ns", {}).get("__vsc_ipynb_file__"),
    ):
        if isinstance(path, str) and path:
            return path
    return ""


def parent_of(kernel: Any) -> dict[str, Any]:
    """The request whose cell runs now on this thread, in this context."""
    try:
        parent = kernel.get_parent("shell")
    except LookupError:  # ipykernel 7.0: a thread without the cell's context
        parent = None
    return dict(parent) if parent else {}


def tags_of_the_cell(shell: Any) -> object:
    """The tags of the cell that runs now, where its front end names them; else None."""
    kernel = kernel_of(shell)
    metadata = None if kernel is None else parent_of(kernel).get("metadata")
    return metadata.get("tags") if isinstance(metadata, dict) else None


def shows_updates(parent: dict[str, Any]) -> bool:
    """Whether the front end of this cell is known to show updates of what was displayed.

    Notebooks name their cell. Consoles (jupyter console, qtconsole, Spyder) have none, and leave
    what they have printed.
    """
    return "cellId" in (parent.get("metadata") or {})
