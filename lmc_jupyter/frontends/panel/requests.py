"""What a front end asks the panel for, and gets a value or a sentence in reply.

One rule: a request is read and checked here, done by whoever owns what it is about, and answered
in the words of js/src/protocol.ts (`Values`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from lmc_jupyter.content import charts
from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.magic.commands import Commands, model
from lmc_jupyter.frontends.magic.commands.table import Front, Invocation
from lmc_jupyter.frontends.panel import conversations
from lmc_jupyter.frontends.panel.about_cell import read_cell, reference
from lmc_jupyter.frontends.panel.conversations import Answer
from lmc_jupyter.frontends.panel.ledger import ledger, pointers, read_choice
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.panel.wire import request_wire, text
from lmc_jupyter.frontends.question import effects_of_edit
from lmc_jupyter.kernel.namespace import matching
from lmc_jupyter.models import describe_missing
from lmc_jupyter.models.brief import name_of
from lmc_jupyter.models.choice import label
from lmc_jupyter.session import Session
from lmc_jupyter.turn import course

_FETCHED = ("katex.js", "highlight.js")
"""Files of the bundle that the front end asks for at need."""


class PanelRequests:
    """Answers the requests of one panel.

    Parameters
    ----------
    commands : the commands of its session
    front : where what a command asks for is shown
    mirror : knows what the records are that a request names
    shell : whose names are completed
    """

    def __init__(
        self, commands: Commands, front: Front, mirror: Mirror, shell: InteractiveShell
    ) -> None:
        self._commands, self._front, self._mirror = commands, front, mirror
        self._session, self._shell = commands.session, shell

    def answer(self, content: Mapping[str, Any]) -> Answer:
        """The value that answers a request, and the buffers that go with it.

        Raises
        ------
        LMCError
            When it cannot be done.
        """
        session, mirror, at = self._session, self._mirror, content.get("at")
        match content.get("kind"):
            case "command":
                line = text(content, "line").strip().removeprefix("%lmc").lstrip(" /")
                return (self._commands.run(line, self._front),)
            case "models":
                return (models(session),)
            case "choose":
                return (self._choose(content),)
            case "point":
                return (reference(session, read_cell(content)),)
            case "names":
                prefix = text(content, "prefix").removeprefix("@")
                found = matching(self._shell, prefix)
                names = [{"name": n, "type": t, "shape": s} for n, t, s in found]
                words = pointers(session, prefix, content.get("document") is True)
                return ([*names, *words] if prefix else [*words, *names],)
            case "context":
                choice = read_choice(content.get("choice"), self._commands.cells)
                return (ledger(session, text(content, "text"), choice),)
            case "effects":
                return (effects_of_edit(session.gate, content),)
            case "place":
                return (mirror.place(text(content, "message")),)
            case "cell":
                return (self._id_of_cell(content.get("number")),)
            case "take":
                session.take_proposal(mirror.proposal_id(at), text(content, "how"))
                return (None,)
            case "hide":
                return (self._hide(content.get("number")),)
            case "vision":
                return (session.choice.vision(),)
            case "sent":
                turn = mirror.turn(content.get("turn"))
                return ([request_wire(request) for request in list(turn.requests)],)
            case "console":
                return (mirror.whole_text(at),)
            case "restore":
                return (session.restore(mirror.names(at)),)
            case "rate":
                conversations.rate(session, mirror.answer_id(at), content.get("rating"))
                return (None,)
            case "asset":
                return None, _asset(content.get("name"))
            case str(kind) if kind in conversations.ANSWERS:
                return conversations.ANSWERS[kind](session, content)
            case kind:
                raise LMCError(f"the panel does not know the request {kind!r}: reload the page")

    def _id_of_cell(self, number: object) -> str:
        """The id of the cell that ran here as this number; "" where none is known."""
        cells = self._session.prompt.cells()
        return next((each.id for each in reversed(cells) if each.number == number), "")

    def _hide(self, number: object) -> str:
        """Hide a run of a cell from all models; the cell's id in the notebook."""
        found = [each for each in self._session.prompt.cells() if each.number == number]
        if self._commands.cells is None or not found:
            raise LMCError(f"no cell ran here as In [{number}]: nothing was hidden")
        self._commands.cells.hide(number=found[0].number)
        return found[0].id

    def _choose(self, content: Mapping[str, Any]) -> str:
        base, keep = content.get("api_base"), content.get("keep") is True
        call = Invocation(self._commands, self._front)
        base = base if isinstance(base, str) and base else None
        return model.model(call, text(content, "model"), base, keep)


def settings(session: Session) -> dict[str, Any]:
    """`Settings` of protocol.ts."""
    return {
        "model": _model_name(session),
        "label": _label(session),
        "chosen": session.choice.spec is not None or bool(os.environ.get("LMC_MODEL")),
        "auto_run": session.runs_unasked,
        "asks": session.asks_now,
        "tutor": course.mode(session.tutor),
        "title": session.journal.title,
        "unsaved": session.journal.problem,
    }


def models(session: Session) -> list[dict[str, Any]]:
    """What could be used now (`Offer` of protocol.ts); what is in use comes first."""
    from lmc_jupyter.models import embedded_offer, find_offers

    name, base = _model_name(session), session.choice.api_base
    offers = [
        {
            "name": offer.name,
            "label": offer.label or offer.name,
            "why": offer.why,
            "api_base": offer.options.get("api_base"),
        }
        for offer in [*find_offers(), embedded_offer()]
    ]
    for offer in offers:
        offer["current"] = (offer["name"], offer["api_base"]) == (name, base)
    if not any(offer["current"] for offer in offers):
        current = {"name": name, "label": _label(session) or name, "why": "in use"}
        offers.insert(0, {**current, "api_base": base, "current": True})
    return offers


def _model_name(session: Session) -> str:
    named = session.choice.spec
    if named is not None and not isinstance(named, str):
        named = name_of(named)
    return named or os.environ.get("LMC_MODEL") or "local"


def _label(session: Session) -> str:
    """The model as a person reads it; "" where it cannot be made, or is not here yet."""
    if describe_missing(session.choice.spec):
        return ""
    try:
        return label(session.model)
    except LMCError:
        return ""  # the person is told when they ask something


def _asset(name: object) -> bytes:
    from lmc_jupyter.frontends.panel.widget import built

    if isinstance(name, str) and name in charts.LIBRARIES:
        return charts.library(name).read_bytes()
    if not isinstance(name, str) or name not in _FETCHED:
        raise LMCError(f"the panel has no file {name!r}")
    return built(name).read_bytes()
