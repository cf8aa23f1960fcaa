"""What is said to a session, as messages of its conversation.

One rule: it makes messages and changes no conversation; what can be no message is an error before
anything has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmc_jupyter.context.references import Look, insert, without_values
from lmc_jupyter.errors import ProtocolError, SessionError
from lmc_jupyter.formats.foreign import read_messages
from lmc_jupyter.lmc import Message, Recipient


def as_message(value: Message | Mapping[str, Any]) -> Message:
    """A message, or a dict of one.

    Raises
    ------
    ProtocolError
        For a message that LMC does not allow.
    """
    return value if isinstance(value, Message) else Message.from_dict(value)


def as_messages(values: Iterable[Any], lost: list[str] | None = None) -> list[Message]:
    """A list of messages or dicts, of LMC or of another format.

    Parameters
    ----------
    lost : sentences on what of them could not be read are added to it

    Raises
    ------
    ProtocolError
        For what is no list of messages.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ProtocolError(
            f"{values!r:.80} is not a conversation: give a list of messages, such as "
            "[{'role': 'user', 'type': 'message', 'content': '...'}]"
        )
    return read_messages(values, [] if lost is None else lost)


def as_question(text: str, look: Look | None = None) -> Message:
    """A question of the user.

    Parameters
    ----------
    look : tells the values of the variables that the text names, which are put below it

    Raises
    ------
    SessionError
        For a text without a word, and for `{{name}}` of no variable.
    """
    if not text.strip():
        raise SessionError("the question is empty: write a question first")
    if look is None:
        return Message("user", "message", content=text)
    sent, below = insert(text, look)
    extra = {"inserted": len(below)} if below else {}
    return Message("user", "message", content=sent, extra=extra)


def note(text: str, recipient: Recipient | None = None) -> Message:
    """What the conversation is told of something that happened beside it."""
    return Message("computer", "console", "output", text, recipient).stamped()


def as_written(text: str, said: Sequence[Message]) -> str:
    """The text of an edited question without the values that were put below it when it was said."""
    length = said[-1].extra.get("inserted") if said else None
    return without_values(text, str(said[-1].content)[-int(length) :]) if length else text


def said_again(said: Sequence[Message], asked: Message | None) -> list[Message]:
    """What was said to begin a turn, as new messages; with `asked` in place of its question."""
    again = [replace(each, id=None, created_at=None).stamped() for each in said]
    if asked is not None:
        if again[-1].type == "message":
            again.pop()
        again.append(asked.stamped())
    return again


def last(messages: Sequence[Message]) -> int:
    """Where the last question of the user begins, with what is attached to it; 0 without one."""
    start = len(messages) - 1
    while start > 0 and messages[start].role != "user":
        start -= 1
    while start > 0 and _is_attachment(messages[start - 1]):
        start -= 1
    return max(start, 0)


def _is_attachment(message: Message) -> bool:
    return message.role == "user" and message.type in ("image", "file", "audio")
