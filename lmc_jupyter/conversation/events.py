"""What can happen in a conversation: one closed union of small frozen values.

One rule: an event says everything that a reader needs to follow the conversation. No reader
compares lists of messages to find out what has changed.

The journal on disk, the panel and every view read this one stream (`History.subscribe`). A line of
the journal has the name in brackets below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.lmc import Chunk, Message

if TYPE_CHECKING:
    from typing import TypeAlias

Fate = Literal["waits", "running", "ran", "ran unasked", "edited", "not run", "stopped"]
"""What has become of a block of code."""


class TurnLike(Protocol):
    """A turn, as events carry it; see `lmc_jupyter.turn.turns.Turn`."""

    id: str
    where: str
    model: str
    over: bool
    failure: str
    said: list[Message]
    anchor: str | None

    @property
    def seconds(self) -> float: ...
    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def completion_tokens(self) -> int | None: ...
    @property
    def cached_tokens(self) -> int | None: ...
    @property
    def estimate(self) -> int | None: ...
    @property
    def cost(self) -> float | None: ...
    @property
    def left_out(self) -> str: ...
    @property
    def requests(self) -> Sequence[Any]: ...


# Messages -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Appended:
    """A whole message stands at the end, at this place. [message]"""

    at: int
    message: Message


@dataclass(frozen=True, slots=True)
class Grown:
    """The next chunk of a message that is being written; `Appended` comes before its end."""

    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Another message stands at this place: edited code, or output where nothing was. [instead]"""

    at: int
    message: Message


@dataclass(frozen=True, slots=True)
class Cut:
    """The messages from this place on are gone. [back]"""

    length: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """Another conversation stands here, with its messages and what is known beside them.

    Parameters
    ----------
    file : the open file in which it stands already; None where it stands in none
    cost : US dollars that it has cost, as far as that is known
    keep : whether the file of the one before stays on the disk
    written : whether it is to be written at once, and not when it first changes
    """

    conversation: Conversation
    file: Any = None
    cost: float | None = None
    keep: bool = True
    written: bool = True


@dataclass(frozen=True, slots=True)
class Marked:
    """The message at this place has these keys beside the protocol's; None: no longer. [mark]"""

    at: int
    message: Message
    keys: Mapping[str, Any]


# Blocks of code -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waits:
    """Code needs an answer before it runs; also where policy has already said yes."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to it; None: nobody answered."""

    proposal: Proposal
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class Runs:
    """A block of code is about to run."""


@dataclass(frozen=True, slots=True)
class Became:
    """What became of the last block of code; `code` is what runs, if it was edited."""

    fate: Fate
    seconds: float = 0.0
    code: str | None = None


@dataclass(frozen=True, slots=True)
class NamesChanged:
    """What the last block of code did to the person's names."""

    names: Names


@dataclass(frozen=True, slots=True)
class FilesRead:
    """The files that the last block of code has read. [read]"""

    files: tuple[FileRead, ...]


@dataclass(frozen=True, slots=True)
class NamesRestored:
    """These names are again as they were before their block."""

    names: Names


# Turns --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """A question was put; it stands at the end of the messages."""


@dataclass(frozen=True, slots=True)
class Began:
    """The answer to it begins."""

    turn: TurnLike


@dataclass(frozen=True, slots=True)
class Noted:
    """What the model waits for, in a few words: "loading LiteLLM"."""

    text: str


@dataclass(frozen=True, slots=True)
class Stopping:
    """Somebody wants the answer to stop; told on any thread, beside the order."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The answer is over, and the messages are as they stay; `error` is what ended it. [turn]"""

    turn: TurnLike
    error: BaseException | None = None


# The conversation ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Acted:
    """The person did something beside the messages, such as pressing Run. [event]

    Parameters
    ----------
    at : how many messages stand before it; None: all. What stands behind those that an undo takes
        away goes with them
    """

    data: Mapping[str, Any]
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Renamed:
    """The conversation has another title. [title]"""

    title: str


@dataclass(frozen=True, slots=True)
class Described:
    """This is known of the conversation beside its messages, by the name of a format. [extra]"""

    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What went to a model or came from it, in its provider's form, for it alone. [sent]"""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Changed:
    """The person has changed the conversation (undo, reset, open), and it is as it stays."""


@dataclass(frozen=True, slots=True)
class Configured:
    """Another model, or another policy."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The conversation is written to disk again (""), or not any more, and why; told at once."""

    problem: str


MessageEvent: TypeAlias = "Appended | Grown | Rewritten | Cut | Replaced | Marked"
BlockEvent: TypeAlias = (
    "Waits | Answered | Runs | Became | NamesChanged | FilesRead | NamesRestored"
)
TurnEvent: TypeAlias = "Asked | Began | Noted | Stopping | Ended"
ConversationEvent: TypeAlias = (
    "Acted | Renamed | Described | Exchanged | Changed | Configured | Saved"
)
Event: TypeAlias = "MessageEvent | BlockEvent | TurnEvent | ConversationEvent"
