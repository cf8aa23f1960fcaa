"""What is said the first time that cells of a person go to a model which is not on this machine.

One rule: it is said once for a person, in all their notebooks; a file in their data directory
remembers it.
"""

from __future__ import annotations

from contextlib import suppress

import platformdirs

from lmc_jupyter.context.parts import of_question
from lmc_jupyter.conversation.disk import calls, write_whole
from lmc_jupyter.lmc import clean
from lmc_jupyter.models.choice import label
from lmc_jupyter.session import Session

_OF_CELLS = ("cell", "output", "selection")

_said: set[str] = set()
"""Where the file cannot be written, it is said once in each kernel."""


def notice(session: Session) -> str:
    """The sentence, where the question that was put last takes cells to a remote model for the
    first time; else "".
    """
    question = session.history.last
    parts = [] if question is None else of_question(question)
    if not any(part.kind in _OF_CELLS for part in parts) or not session.choice.is_remote:
        return ""
    path = platformdirs.user_data_path("lmc-jupyter") / "notices" / "cells"
    if str(path) in _said or path.exists():
        return ""
    _said.add(str(path))
    with suppress(OSError):  # it is said again in the next kernel
        calls.make_folder(path.parent)
        write_whole(path, b"")
    return (
        f"Your cells and their output now go to {clean(label(session.model))} with your questions. "
        "`%lmc config context names` sends names only; untick in the panel what should not go."
    )
