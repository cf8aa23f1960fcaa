"""lmc-jupyter: a Language Model Computer inside the live Jupyter kernel.

`%load_ext lmc_jupyter`, then write a question under `%%lmc`. From Python: `Session`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from lmc_jupyter.agent import respond
    from lmc_jupyter.computer.tools.namespace import Tools
    from lmc_jupyter.errors import LMCError
    from lmc_jupyter.frontends.magic.current import current_session, share
    from lmc_jupyter.frontends.panel.panel import ChatPanel, panel_model_id
    from lmc_jupyter.gate import Decision
    from lmc_jupyter.lmc import FORMATS, Chunk, Message
    from lmc_jupyter.models import get_model
    from lmc_jupyter.open_interpreter import OpenInterpreter
    from lmc_jupyter.session import Session
    from lmc_jupyter.stream import Assembler, delimit

    tools: Tools
    interpreter: OpenInterpreter

__version__ = "0.1.0"

__all__ = [
    "FORMATS",
    "Assembler",
    "ChatPanel",
    "Chunk",
    "Decision",
    "LMCError",
    "Message",
    "OpenInterpreter",
    "Session",
    "current_session",
    "delimit",
    "get_model",
    "interpreter",
    "panel_model_id",
    "respond",
    "share",
    "tools",
]


_LATER = {
    "Assembler": "lmc_jupyter.stream",
    "ChatPanel": "lmc_jupyter.frontends.panel.panel",
    "Chunk": "lmc_jupyter.lmc",
    "Decision": "lmc_jupyter.gate",
    "FORMATS": "lmc_jupyter.lmc",
    "LMCError": "lmc_jupyter.errors",
    "Message": "lmc_jupyter.lmc",
    "OpenInterpreter": "lmc_jupyter.open_interpreter",
    "Session": "lmc_jupyter.session",
    "current_session": "lmc_jupyter.frontends.magic.current",
    "delimit": "lmc_jupyter.stream",
    "get_model": "lmc_jupyter.models",
    "panel_model_id": "lmc_jupyter.frontends.panel.panel",
    "respond": "lmc_jupyter.agent",
    "share": "lmc_jupyter.frontends.magic.current",
}


def __getattr__(name: str) -> Any:
    """The public names at first use: `lmc-jupyter mcp` and the workers start with few of them."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name == "interpreter":  # the ready instance of the migration guide, one for all
        from lmc_jupyter.open_interpreter import OpenInterpreter

        return globals().setdefault(name, OpenInterpreter())
    if name == "tools":  # the tools of MCP servers, one object for all
        from lmc_jupyter.computer.tools.namespace import the_tools

        return globals().setdefault(name, the_tools())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext lmc_jupyter`: register `%%lmc` and `%lmc`."""
    from lmc_jupyter.frontends.magic.magics import LMCMagics

    shell.register_magics(LMCMagics)
    shell.magics_manager.registry["LMCMagics"].greet()


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext lmc_jupyter`: leave the shell as it was."""
    magics = shell.magics_manager.registry.pop("LMCMagics", None)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("lmc", None)
    if magics is not None:
        magics.close()


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where the JupyterLab extension is, for `jupyter labextension develop`."""
    return [{"src": "labextension", "dest": "lmc-jupyter"}]
