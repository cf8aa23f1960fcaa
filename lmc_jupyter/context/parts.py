"""The parts of the text that a model gets beside the conversation.

One rule: a part is one function from `Material` to text, with the decorator `part`. It is called
anew for every reply, so it is quick; "" leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.lmc import Message


@dataclass(frozen=True)
class Material:
    """The values that a part is made of.

    Parameters
    ----------
    languages : those that can run, each with a hint for the model, "" for none
    messages : the conversation so far
    functions : those that the person gives to the model, by name
    foreign_functions : names of functions that the conversation's file speaks of
    system_message, custom_instructions : as in the options of the session
    redact : takes keys out of a text
    """

    languages: Mapping[str, str]
    messages: Sequence[Message] = ()
    functions: Mapping[str, Callable[..., Any]] | None = None
    foreign_functions: Collection[str] = ()
    system_message: str | None = None
    custom_instructions: str = ""
    redact: Callable[[str], str] = str


Part = Callable[[Material], str]

PARTS: list[Part] = []
"""In the order in which a model reads them."""


def part(make: Part) -> Part:
    """Add a function to the parts: the model gets its text, behind those of the others."""
    PARTS.append(make)
    return make


def join_parts(material: Material, *others: str) -> str:
    """All parts of this material, and these other texts, as one text."""
    return "\n".join(filter(None, (*(make(material) for make in PARTS), *others)))
