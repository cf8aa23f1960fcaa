"""A conversation: its messages and the events that change them, its file, and the list of files.

One rule: it is data. A file makes nothing pending, allowed or chosen; the caller who opens one
decides what counts. `history` has the messages, `events` their changes, `writer` and `journal` the
file on the disk; here is the value that files of any format store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from lmc_jupyter.content.file_read import FileRead
    from lmc_jupyter.lmc import Message

Rating = Literal["up", "down"]
"""A person's thumb on an answer: `extra["feedback"]` of the assistant's message."""


class Action(NamedTuple):
    """Something that a person did beside the messages, such as pressing Run.

    Parameters
    ----------
    at : how many messages stood before it
    data : what it was: {"action": "run" | "edit" | "decline" | "stop" | ..., "time": ISO 8601,
        "message": id of the code it was about, ...}; keys of other programs are kept
    """

    at: int
    data: Mapping[str, Any]


class OwnCell(NamedTuple):
    """A cell that the person ran, in the notebook of the conversation.

    Parameters
    ----------
    at : how many messages stood before it
    source : as the person wrote it
    error : the text of its traceback; "" where it did not fail, or where that is not known
    """

    at: int
    source: str
    error: str = ""


class RequestRecord(NamedTuple):
    """What a request took: tokens sent and received, US dollars, seconds.

    Parameters
    ----------
    cached : tokens of those sent that the provider read from its cache
    estimate : tokens by our own count, where the provider did not say them
    """

    sent: int | None
    received: int | None
    cost: float | None
    seconds: float
    cached: int | None
    estimate: int | None


class TurnRecord(NamedTuple):
    """What a turn took, as it stays when its kernel is gone.

    Parameters
    ----------
    said : the ids of the messages of its question; without one of its own, none
    anchor : the id of the message that it begins at
    """

    where: str
    model: str
    seconds: float
    said: tuple[str, ...]
    anchor: str | None
    requests: tuple[RequestRecord, ...]
    left_out: str


class BlockRecord(NamedTuple):
    """What became of a block of code, as it stays when its kernel is gone.

    Parameters
    ----------
    message : the id of the code
    time : ISO 8601, UTC, when that was known
    fate : what became of it, see `lmc_jupyter.conversation.events.Fate`
    allowed : "clicked" by the person; "covered" by their yes to the rest of an answer or of an
        agent's blocks; "harmless" where it ran unasked as it only reads and makes new names;
        "rule" where a rule of theirs lets it run; "" where nobody allowed it
    new, changed, removed : names
    seconds : how long it ran; 0 where that is not known
    breach : what it did beside new names where it had promised to make these only
    read : the files that it has opened for reading
    """

    message: str
    time: str
    fate: str
    allowed: str
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    seconds: float = 0.0
    breach: str = ""
    read: tuple[FileRead, ...] = ()


@dataclass
class Conversation:
    """Messages in order, with their title, model, time and so on.

    Parameters
    ----------
    messages : of `lmc_jupyter.lmc.Message`, oldest first
    title : as a list of conversations shows it; "" where nobody gave one
    model : the name of the model that was used last; "" where that is not known
    began : ISO 8601; "" where that is not known
    notebook : the path of its notebook; "" where there was none
    events : what a person did, in order
    extra : what the file said that has no place here, by the name of its format; kept, so that
        the same format gives it back
    losses : sentences on what could not be carried over when it was read
    cells : the person's own cells, in order, as far as they are known: the conversation's code may
        use what they made
    saved_cells : sources of the person's cells in the notebook's file, in its order
    files : path -> content of what was attached to questions and lies in a folder that goes with
        the session
    sent : what went to each model and came from it, in its provider's form; only a journal has it
    turns : its turns, in order, undone ones too; only a journal has them
    blocks : what became of its code, in order, undone too; only a journal has them
    """

    messages: Sequence[Message] = ()
    title: str = ""
    model: str = ""
    began: str = ""
    notebook: str = ""
    events: Sequence[Action] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    cells: Sequence[OwnCell] = ()
    saved_cells: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    sent: Sequence[Mapping[str, Any]] = field(default_factory=list)
    turns: Sequence[TurnRecord] = field(default_factory=list)
    blocks: Sequence[BlockRecord] = field(default_factory=list)
