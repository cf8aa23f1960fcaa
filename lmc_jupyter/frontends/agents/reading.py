"""What an agent may read of the notebook: what the person's own model may read, and no more.

One rule: the level of `context` counts, hidden cells never go, keys are redacted, texts are short.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmc_jupyter.content import shorten
from lmc_jupyter.content.cell import Cell
from lmc_jupyter.context.cells import choose, figures_of, read_choice, text_of
from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.agents.result import Result, answer
from lmc_jupyter.session import Session

MAX_TEXT = 20_000
"""Characters of all cells that are read at once; the newest come first into it."""


def _check(session: Session, *levels: str) -> None:
    level = session.options.context
    if level not in levels:
        what = {"none": "nothing of this notebook", "names": "the names of variables alone"}
        raise SessionError(
            f"its person lets models read {what[str(level)]} (`%config LMC.context = {level!r}`)"
        )


def variables(session: Session) -> Result:
    """A line for each variable; with short values where the person lets models read them."""
    _check(session, "names", "notebook")
    options = session.options
    values = options.context_values and options.context == "notebook"
    text = session.prompt.redact(session.computer.names(values))
    return answer(text or "There are no variables yet.")


def inspect(session: Session, name: str) -> Result:
    """A variable in some lines, as `@name` puts it into a question."""
    _check(session, "notebook")
    text = session.prompt.value(name.strip())
    if text is None:
        raise SessionError(f"there is no variable {name!r:.60}: list_variables lists them")
    return answer(text)


def cells(session: Session, numbers: str) -> Result:
    """The cells that ran, the newest ones or those of these numbers ("3-5", "2,4")."""
    _check(session, "notebook")
    recent = session.prompt.cells()
    if numbers.strip():
        chosen = choose(recent, 0, (), read_choice(numbers))
        if not chosen:
            raise SessionError(f"no cell that may be read ran as {numbers.strip()!r:.60}")
    else:
        chosen = [each for each in recent if not each.hidden]
    texts, left = _bounded(chosen)
    if not texts:
        return answer("No cell ran since lmc-jupyter was loaded in this notebook.")
    if left:
        texts.insert(0, f"{left} earlier cell{'' if left == 1 else 's'} left out: name them.")
    result = answer(session.prompt.redact("\n\n".join(texts)))
    shown = figures_of([each for each in chosen if not each.hidden])
    result["images"] = [
        {"mime": f"image/{figure.format}", "data": figure.content} for _, figure in shown
    ]
    return result


def _bounded(chosen: Sequence[Cell]) -> tuple[list[str], int]:
    """The texts of the newest cells that have room, and how many older ones have none."""
    texts: list[str] = []
    room = MAX_TEXT
    for cell in reversed(chosen):
        text = shorten.middle(text_of(cell), MAX_TEXT)
        room -= len(text)
        if room < 0 and texts:
            break
        texts.insert(0, text)
    return texts, len(chosen) - len(texts)
