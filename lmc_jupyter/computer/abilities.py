"""What a computer may be able to do beside running code; one that somebody made may lack it.

One rule: what is lacking is as if there were nothing to tell or to do.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from lmc_jupyter.conversation.names import Names
from lmc_jupyter.lmc import Chunk


def guard(computer: Any, gate: Any) -> None:
    """Let code of a model that reaches for the computer itself meet this gate there too."""
    guards = getattr(computer, "guards", None)
    if guards is not None:
        guards.add(gate)


def take_pictures(computer: Any, wanted: bool) -> None:
    """Whether its languages give pictures of what they show to a model that sees."""
    for language in getattr(computer, "languages", {}).values():
        if hasattr(language, "picture"):
            language.picture = wanted


def granted(computer: Any, language: str, code: str) -> Generator[Chunk, None, None]:
    """Run code that the gate has granted, without asking its guards again."""
    pieces: Generator[Chunk, None, None]
    pieces = getattr(computer, "granted", computer.run)(language, code)
    return pieces


def changes(computer: Any) -> Names | None:
    """What the last block of code did to the person's names, once."""
    look = getattr(computer, "changes", None)
    found: Names | None = None if look is None else look()
    return found


def value(computer: Any, name: str) -> str | None:
    """The value of a variable as text; None where there is none of that name."""
    look = getattr(computer, "value", None)
    found: str | None = None if look is None else look(name)
    return found


def cells(computer: Any) -> list[tuple[str, str]]:
    """The person's cells so far: the source of each, and its traceback's text if it failed."""
    look = getattr(computer, "cells", None)
    found: list[tuple[str, str]] = [] if look is None else look()
    return found


def hints(computer: Any) -> dict[str, str]:
    """What is to be known of each of its languages; "" for nothing."""
    told = getattr(computer, "hints", None)
    found: dict[str, str] = dict.fromkeys(computer.words(), "") if told is None else told()
    return found
