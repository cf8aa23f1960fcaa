"""The parts of what a model gets beside the conversation, each with its size.

One rule: a part of the instructions is one function from `Material` to text, with the decorator
`part`. It is called anew for every reply, so it is quick; "" leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmc_jupyter.content.tokens import estimate
from lmc_jupyter.lmc import CONTEXT, Message

if TYPE_CHECKING:
    from lmc_jupyter.computer.tools.catalogue import Server


@dataclass(frozen=True)
class Part:
    """A part of what a model gets, as the person sees it listed.

    Parameters
    ----------
    kind : "cell", "markdown", "figure", "names", "instructions", ...
    title : its name for the person: "In [12]"
    content : the text that is sent
    more : tokens beside those of the text, such as an image's
    id : by which a person leaves it out: "cell 12", "figure 12.0", "markdown"; "" where they cannot
    makes : the names that a cell makes
    """

    kind: str
    title: str
    content: str
    more: int = 0
    id: str = ""
    makes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """How many tokens it takes, by a cautious estimate."""
        return self.more + (estimate(self.content) if self.content else 0)


@dataclass(frozen=True)
class Material:
    """The values that a part of the instructions is made of.

    Parameters
    ----------
    languages : those that can run, each with a hint for the model, "" for none
    messages : the conversation so far
    functions : those that the person gives to the model, by name
    foreign_functions : names of functions that the conversation's file speaks of
    system_message, custom_instructions : as in the options of the session
    folder_instructions : the AGENTS.md of the notebook's folder that the person has said yes to
    tools : the MCP servers whose tools code can call
    redact : takes keys out of a text
    is_short : whether the model reads so little that it gets short instructions
    """

    languages: Mapping[str, str]
    messages: Sequence[Message] = ()
    functions: Mapping[str, Callable[..., Any]] | None = None
    foreign_functions: Collection[str] = ()
    system_message: str | None = None
    custom_instructions: str = ""
    folder_instructions: str = ""
    redact: Callable[[str], str] = str
    tools: Sequence[Server] = ()
    is_short: bool = False


Make = Callable[[Material], str]

PARTS: list[Make] = []
"""In the order in which a model reads them."""


def part(make: Make) -> Make:
    """Add a function to the parts: the model gets its text, behind those of the others."""
    PARTS.append(make)
    return make


def make_parts(material: Material) -> list[Part]:
    """All parts of the instructions that this material has."""
    parts = []
    for make in PARTS:
        if text := make(material):
            name = getattr(make, "__name__", "part")
            parts.append(Part(name, name.replace("_", " "), text))
    return parts


def join_parts(parts: Iterable[Part], *others: str) -> str:
    """The parts, and these other texts, as one text."""
    return "\n".join(filter(None, (*(each.content for each in parts), *others)))


def to_extra(parts: Iterable[Part], **more: Any) -> dict[str, Any]:
    """The `extra` of a question with these parts; `more` stands beside them."""
    listed = [
        {"kind": each.kind, "title": each.title, "content": each.content}
        | ({"makes": [*each.makes]} if each.makes else {})
        for each in parts
    ]
    return {CONTEXT: {"parts": listed, **more}}


def extra_of(message: Message) -> Mapping[str, Any]:
    """What `to_extra` has made for this question; an empty mapping where that is nothing."""
    found = message.extra.get(CONTEXT) if message.role == "user" else None
    return found if isinstance(found, Mapping) else {}


def of_question(message: Message) -> list[Part]:
    """The parts that were sent with a question; what is none of ours is left out."""
    listed = extra_of(message).get("parts")
    parts = []
    for each in listed if isinstance(listed, (list, tuple)) else ():
        if isinstance(each, Mapping):
            values = [each.get(key) for key in ("kind", "title", "content")]
            words = [value for value in values if isinstance(value, str)]
            if len(words) == len(values):
                made = each.get("makes")
                names = made if isinstance(made, (list, tuple)) else ()
                makes = tuple(filter(_is_text, names))
                parts.append(Part(words[0], words[1], words[2], makes=makes))
    return parts


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def text_of(parts: Iterable[Part]) -> str:
    """The parts of a question as a model reads them."""
    return "\n\n".join(each.content for each in parts if each.content)
