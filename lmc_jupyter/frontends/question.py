"""The question whether code runs, as buttons and a keyboard ask it, and what answers it.

One rule: the front end never sends the code that it was shown, only the proposal's id, its
digest and the decision. What it sends is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmc_jupyter.content.effect import Effect
from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.cell.html import highlight, visible
from lmc_jupyter.frontends.effect_words import pieces
from lmc_jupyter.gate import Decision, Gate, Proposal
from lmc_jupyter.lmc import clean

MAX_REASON = 500  # characters


def question(proposal: Proposal, at: int = -1) -> dict[str, Any]:
    """What the front end draws: made here from the bytes that would run.

    Parameters
    ----------
    at : the number of the panel's record that holds the code; -1 in a cell
    """
    count = count_hidden(proposal.code)
    warning = f"Hidden characters, marked in red: {count}" if count else proposal.reason
    return {
        "proposal": proposal.id,
        "digest": proposal.digest,
        "at": at,
        "language": visible(languages(proposal)),
        "lines": highlight(proposal.code, proposal.language),
        "code": proposal.code,
        "warning": warning,
        "effects": _wire(proposal.effects),
    }


def effects_of_edit(gate: Gate, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the person's edit of the code that waits would do (`Piece` of protocol.ts).

    Raises
    ------
    LMCError
        When other code waits by now, or none.
    """
    proposal, code = gate.pending, content.get("code")
    is_open = proposal is not None and content.get("proposal") == proposal.id
    if proposal is None or not is_open or not isinstance(code, str):
        raise LMCError("this code no longer waits for your decision")
    return _wire(gate.effects(proposal.language, clean(code)))


def _wire(effects: Iterable[Effect]) -> list[dict[str, Any]]:
    return [{"warns": each.warns, "parts": [*map(list, each.parts)]} for each in pieces(effects)]


def languages(proposal: Proposal, between: str = " + ") -> str:
    """The language of the code, and those that it uses."""
    return between.join([proposal.language, *sorted(proposal.uses - {proposal.language})])


def decision(content: Mapping[str, Any], proposal: Proposal) -> Decision | None:
    """The decision in a click, or None when it is not an answer to this proposal."""
    if content.get("proposal") != proposal.id or content.get("digest") != proposal.digest:
        return None
    code, reason = content.get("code"), content.get("reason", "")
    if content.get("decision") in ("run", "all") and (code is None or isinstance(code, str)):
        return Decision(True, None if code is None else clean(code))
    if content.get("decision") == "decline" and isinstance(reason, str):
        return Decision(False, reason=clean(reason[:MAX_REASON]))
    return None


def is_for_all(content: Mapping[str, Any]) -> bool:
    """Whether the click also lets run what comes in the same turn."""
    return content.get("decision") == "all"


def is_covered(proposal: Proposal) -> bool:
    """Whether a person who said "run all in this turn" has said yes to this code too.

    Not to what policy denies, nor to what has something that a person must see.
    """
    return proposal.verdict == "ask" and not proposal.reason and not count_hidden(proposal.code)


def by_keyboard(ask: Callable[[str], str], proposal: Proposal) -> Decision:
    """Ask in words: y runs; n, or anything else as the reason, does not."""
    uses = visible(languages(proposal, " and "))
    why = f" ({proposal.reason})" if proposal.reason else ""
    try:
        answer = ask(f"Run this {uses} code?{why} [y]es, [n]o, or say why not: ").strip()
    except EOFError:
        return Decision(False, reason="nobody answered on the keyboard")
    if answer.lower() in ("y", "yes"):
        return Decision(True)
    return Decision(False, reason="" if answer.lower() in ("", "n", "no") else answer)
