"""What a model is told beside the conversation: who it is, what there is, what it may write.

One rule: it is made anew for every reply, because the namespace changes while code runs, and what
of it was not sent before is said at the end of the request; it is never part of the history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lmc_jupyter.lmc import LANGUAGES, Message

if TYPE_CHECKING:
    from lmc_jupyter.agent import Model
    from lmc_jupyter.models.budget import Tokens
    from lmc_jupyter.models.openai.sent import Exchanges

MAX_OUTPUT = 8_000
"""Characters of one result, or of one file, that a model gets, where nothing else is said."""

Notify = Callable[[str], None]
"""Takes a short sentence for the person: "loading LiteLLM", "reading the weights, 42 %"."""


@dataclass(frozen=True)
class Brief:
    """The material of a prompt; each model makes its own wording of it.

    Parameters
    ----------
    instructions : the system prompt, plain text
    namespace : a line per name of the notebook ("df: DataFrame, 4 rows, columns a, b"), or ""
    languages : name -> other words for it; code in any other language is only shown
    folders : where files may be read that a message names, beside the working directory
    files : files elsewhere that may be read too, because the person named them; without links
    max_output : characters of one result, or of one file, that are sent: the head and the tail
    exchanges : what of this conversation went to each model; None: nobody keeps it
    only_words : whether no tool is offered, and no code wanted
    """

    instructions: str = ""
    namespace: str = ""
    languages: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(LANGUAGES))
    folders: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    max_output: int = MAX_OUTPUT
    exchanges: Exchanges | None = None
    only_words: bool = False


@runtime_checkable
class Briefable(Protocol):
    """A model that wants a brief; all of ours do. A bare `respond(messages)` is a model too."""

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> Model:
        """The same model, told `brief()` at each reply, saying what it waits for to `notify`."""
        ...


def give_brief(model: Model, brief: Callable[[], Brief], notify: Notify) -> Model:
    """The same model, with this brief if it wants one."""
    return model.with_brief(brief, notify) if isinstance(model, Briefable) else model


@runtime_checkable
class Countable(Protocol):
    """A model that can say how much of its window a conversation takes."""

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How many tokens the next request would take, and of what."""
        ...


@runtime_checkable
class Preloadable(Protocol):
    """A model that takes a while to load what its replies need."""

    def preload(self) -> None:
        """Begin to load it, and return at once; the next reply says what goes wrong."""
        ...


@runtime_checkable
class Stoppable(Protocol):
    """A model that can be stopped from another thread while it waits for its next piece."""

    def stop(self) -> None:
        """End the reply that is being given, and any that begins later, with `Stopped`."""
        ...


def name_of(model: object) -> str:
    """The name of the model, or of its class where it has none."""
    return str(getattr(model, "name", type(model).__name__))
