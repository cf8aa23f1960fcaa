"""The conversation of this kernel: what `%%lmc` cells share, from Python.

One rule: it is looked up in the shell, and never made here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from lmc_jupyter.errors import SessionError

if TYPE_CHECKING:
    from lmc_jupyter.computer.share import Shared
    from lmc_jupyter.session import Session


def current_session() -> Session:
    """The session that the `%%lmc` cells of this kernel share.

    Raises
    ------
    SessionError
        Where the extension is not loaded.
    """
    session: Session = current_magics().session
    return session


def share(value: Any, to: str, name: str | None = None) -> Shared:
    """Hand a table to another language of this kernel's `%%lmc` cells, see `Session.share`."""
    from lmc_jupyter.computer.share import name_of

    return current_session().share(value, to, name or name_of(value, sys._getframe(1)))


def current_magics() -> Any:
    """The `LMCMagics` of this kernel; raises as `current_session`."""
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("LMCMagics") if shell is not None else None
    if magics is None:
        raise SessionError("there are no %%lmc cells here: run `%load_ext lmc_jupyter` first")
    return magics
