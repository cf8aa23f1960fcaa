"""An IPython shell for a plain script: made once, without history and without a prompt.

One rule: it works in the namespace of `__main__`, as code typed after the script would.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_INLINE = "module://matplotlib_inline.backend_inline"


def own_shell() -> Any:
    """The process's IPython shell, made here where there is none."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    if InteractiveShell.initialized():
        return InteractiveShell.instance()
    if "matplotlib" not in sys.modules:
        os.environ.setdefault("MPLBACKEND", _INLINE)  # as a kernel does: figures are displays
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor" if _names_in_lower_case() else "NoColor"
    config.InteractiveShell.banner1 = ""
    return InteractiveShell.instance(config=config, user_module=sys.modules["__main__"])


def _names_in_lower_case() -> bool:
    import IPython

    return tuple(IPython.version_info[:1]) >= (9,)
