"""What goes over the panel's wire beside records: the dictionaries, and text that comes in.

One rule: what goes out is a type of js/src/protocol.ts with the same name; what comes in is
checked before anybody believes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmc_jupyter.conversation.events import Event, TurnLike
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.magic.commands import COMMANDS
from lmc_jupyter.frontends.states import STATES
from lmc_jupyter.lmc import LANGUAGES, clean
from lmc_jupyter.models.request import Request


def text(content: Mapping[str, Any], key: str) -> str:
    """A text that a front end sent; "" where it sent none.

    Raises
    ------
    LMCError
        When it is something else.
    """
    value = content.get(key, "")
    if not isinstance(value, str):
        raise LMCError(f"{key!r} must be text, not {type(value).__name__}")
    return clean(value)


def name_of(event: type[Event]) -> str:
    """The name of an event on the wire (`Event` of protocol.ts): "names_changed"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event.__name__).lower()


def event_wire(event: type[Event], value: Any) -> dict[str, Any]:
    """`Event` of protocol.ts."""
    return {name_of(event): value}


def fate_marks(fate: str, seconds: object = None) -> dict[str, Any]:
    """Of `Marks` of protocol.ts: what code has become, and the seconds that it ran, if known."""
    took = {"seconds": round(seconds, 3)} if isinstance(seconds, float) else {}
    return {"fate": fate, **took}


def names_wire(names: Names) -> dict[str, Any]:
    """`Names` of protocol.ts."""
    return {
        "new": list(names.new),
        "changed": list(names.changed),
        "removed": list(names.removed),
        "lost": names.lost,
        "breach": names.breach,
        "restorable": names.restorable,
    }


def turn_wire(turn: TurnLike, at: int) -> dict[str, Any]:
    """`Turn` of protocol.ts, of a turn that begins at this record."""
    return {
        "id": turn.id,
        "at": at,
        "where": turn.where if turn.where in ("panel", "agent") else "cell",
        "model": turn.model,
        "over": turn.over,
        "seconds": round(turn.seconds, 2) if turn.over else 0,
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "cached_tokens": turn.cached_tokens,
        "estimate": turn.estimate,
        "cost": turn.cost,
        "requests": len(turn.requests),
        "left_out": turn.left_out,
    }


def request_wire(request: Request) -> dict[str, Any]:
    """`Request` of protocol.ts."""
    return {
        "model": request.model,
        "body": request.body,
        "messages": [{"role": role, "text": text} for role, text in request.outline()],
        "seconds": round(request.seconds, 2),
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": request.completion_tokens,
        "cached_tokens": request.cached_tokens,
        "estimate": request.estimate,
        "cost": request.cost,
    }


def tables() -> dict[str, Any]:
    """`Tables` of protocol.ts: what the front end takes from the kernel."""
    commands = [
        {
            "name": each.name,
            "takes": " ".join(parameter.word for parameter in each.parameters),
            "does": each.help,
            "also": each.also,
        }
        for each in COMMANDS
        if each.in_panel
    ]
    return {"commands": commands, "states": STATES, "languages": LANGUAGES}
