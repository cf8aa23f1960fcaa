"""Questions to a session, as messages of its conversation.

One rule: these functions make messages and change no conversation; a value that can be no message
is an error before anything has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmc_jupyter.context.parts import Part, extra_of, of_question, to_extra
from lmc_jupyter.context.question import unseen_of
from lmc_jupyter.context.references import Look, insert, split, without_values
from lmc_jupyter.errors import ProtocolError, SessionError
from lmc_jupyter.formats.foreign import read_messages
from lmc_jupyter.lmc import CONTEXT, FIGURE_OF, INSERTED, Message, Recipient


def as_message(value: Message | Mapping[str, Any]) -> Message:
    """A message, or a dict of one.

    Raises
    ------
    ProtocolError
        For a message that LMC does not allow.
    """
    return value if isinstance(value, Message) else Message.from_dict(value)


def as_messages(values: Iterable[Any], losses: list[str] | None = None) -> list[Message]:
    """A list of messages or dicts, of LMC or of another format.

    Parameters
    ----------
    losses : sentences on what of them could not be read are added to it

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
    return read_messages(values, [] if losses is None else losses)


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
    content, below = insert(text, look)
    extra = {INSERTED: len(below)} if below else {}
    return Message("user", "message", content=content, extra=extra)


def note(text: str, recipient: Recipient | None = None) -> Message:
    """A message on an event beside the conversation, such as a restart."""
    return Message("computer", "console", "output", text, recipient).stamped()


def as_written(text: str, messages: Sequence[Message]) -> str:
    """The text of an edited question without the values that were inserted when it was asked."""
    return without_values(text, split(messages[-1])[1]) if messages else text


def repeat(messages: Sequence[Message], question: Message | None) -> list[Message]:
    """The messages that began a turn, as new ones; with `question` in place of theirs."""
    again = [replace(each, id=None, created_at=None).stamped() for each in messages]
    if question is not None:
        if again[-1].type == "message":
            context = extra_of(again.pop())  # what went with it goes with the new one too
            if context:
                question = replace(question, extra={CONTEXT: context, **question.extra})
        again.append(question.stamped())
    return again


def with_parts(question: Message, said: Sequence[Message]) -> Message:
    """The question with the parts that went with an earlier one, and its own besides."""
    now, then = extra_of(question), extra_of(said[-1]) if said else {}
    before = of_question(said[-1]) if then else []
    texts = {each.content for each in before}
    fresh = [each for each in of_question(question) if each.content not in texts]
    beside = {key: value for key, value in now.items() if key not in ("parts", "until")}
    if named := named_of(question) | (named_of(said[-1]) if said else frozenset()):
        beside["named"] = sorted(named)
    if "until" in then and then.get("kernel") == now.get("kernel"):
        beside["until"] = then["until"]  # what ran since may go with the next question
    if "unseen" in then:
        beside.setdefault("unseen", then["unseen"])
    extra = to_extra([*before, *fresh], **beside)
    return replace(question, extra={**question.extra, **extra})


def with_figures(question: Message, parts: Iterable[Part]) -> Message:
    """The question with these cells as they read now that their figures go with it."""
    cells = {each.title: each for each in parts if each.kind == "cell"}
    now = [cells.get(each.title, each) for each in of_question(question)]
    beside = {k: v for k, v in extra_of(question).items() if k not in ("parts", "unseen")}
    return replace(question, extra={**question.extra, **to_extra(now, **beside)})


def named_of(question: Message) -> frozenset[int]:
    """The numbers of the cells that the person named for it."""
    match extra_of(question).get("named"):
        case [*numbers]:
            return frozenset(each for each in numbers if isinstance(each, int))
    return frozenset()


def without_cells(
    messages: Sequence[Message], hidden: Collection[str], *, only_named: bool, above: bool
) -> list[Message]:
    """The messages of a question without what of the notebook is not given any more.

    Parameters
    ----------
    hidden : labels of cells that no model gets by now
    only_named : whether only that goes by now at which the question points
    above : whether it points at the Markdown above it
    """
    *before, last = messages
    parts = of_question(last)
    given = {f"In [{number}]" for number in named_of(last)}
    given |= {each.title.removeprefix("output of ") for each in parts if each.kind == "output"}

    def goes(label: str) -> bool:
        return label not in hidden and (label in given or not only_named)

    def stays(part: Part) -> bool:
        if part.kind == "selection":
            return not any(part.content.startswith(f"Selected in {each}:\n") for each in hidden)
        if part.kind in ("cell", "output"):
            return goes(part.title.removeprefix("output of "))
        return not only_named or (part.kind == "markdown" and above)

    figures = [
        each for each in before if goes(str(each.extra.get(FIGURE_OF))) or not _is_figure(each)
    ]
    beside = {key: value for key, value in extra_of(last).items() if key != "parts"}
    if unseen := unseen_of(last):
        numbers = [each for each in unseen.numbers if goes(f"In [{each}]")]
        beside |= {"unseen": {**beside["unseen"], "numbers": numbers}}
        if not numbers:
            del beside["unseen"]
    if not extra_of(last):
        return [*figures, last]
    extra = to_extra(filter(stays, parts), **beside)
    return [*figures, replace(last, extra={**last.extra, **extra})]


def _is_figure(message: Message) -> bool:
    return message.role == "user" and FIGURE_OF in message.extra


def last(messages: Sequence[Message]) -> int:
    """The index of the last question of the user, or of its first attachment; 0 without one."""
    start = len(messages) - 1
    while start > 0 and messages[start].role != "user":
        start -= 1
    while start > 0 and _is_attachment(messages[start - 1]):
        start -= 1
    return max(start, 0)


def _is_attachment(message: Message) -> bool:
    return message.role == "user" and message.type in ("image", "file", "audio")
