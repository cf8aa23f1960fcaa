"""lmc-jupyter: a Language Model Computer inside the live Jupyter kernel.

`%load_ext lmc_jupyter`, then write a question under `%%lmc`. From Python: `Session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmc_jupyter.agent import Decision, respond
from lmc_jupyter.errors import LMCError
from lmc_jupyter.lmc import FORMATS, Chunk, Message
from lmc_jupyter.stream import Assembler, delimit

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from lmc_jupyter.models import get_model
    from lmc_jupyter.session import Session

__version__ = "0.1.0"

__all__ = [
    "FORMATS",
    "Assembler",
    "Chunk",
    "Decision",
    "LMCError",
    "Message",
    "Session",
    "delimit",
    "get_model",
    "respond",
]


def __getattr__(name: str) -> Any:
    """`Session` and `get_model` at first use: the protocol alone loads nothing else."""
    if name == "Session":
        from lmc_jupyter.session import Session

        return Session
    if name == "get_model":
        from lmc_jupyter.models import get_model

        return get_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext lmc_jupyter`: register `%%lmc` and `%lmc`."""
    from lmc_jupyter.magic import LMCMagics

    shell.register_magics(LMCMagics)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext lmc_jupyter`: leave the shell as it was."""
    magics = shell.magics_manager.registry.pop("LMCMagics", None)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("lmc", None)
    if magics is not None:
        magics.close()
