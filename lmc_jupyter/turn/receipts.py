"""Where the numbers of an answer's closing words stand: in an output, a cell or a value.

One rule: what a model has said is no source. A number that only its own words have is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lmc_jupyter.content.html import html_text
from lmc_jupyter.content.numbers import NumberIndex, numbers
from lmc_jupyter.context.parts import of_question, text_of
from lmc_jupyter.lmc import RECEIPTS, Message, is_partial, is_thought

_ORDER = ("console", "code", "message")
"""Of the texts of a turn the output first: it is where a reader looks."""


def find_receipts(messages: Sequence[Message], begin: int) -> dict[str, str | None]:
    """Each number of the closing words -> the id of the message in which it stands; None where it
    stands in none.

    Parameters
    ----------
    messages : the conversation, which ends with the closing words; where it ends otherwise, there
        are none, and so no numbers
    begin : where the turn begins; its messages count before older ones. Where it has neither code
        nor an output nor anything of the notebook, the words are talk, and their numbers no claim
    """
    last = messages[-1] if messages else None
    if last is None or not is_closing(last):
        return {}
    turn = messages[begin:-1]
    if not any(each.role != "user" or of_question(each) for each in turn):
        return {}
    found = list(numbers(str(last.content)))
    if not found:
        return {}
    sources = [*_sources(turn), *_sources(messages[:begin][::-1])]
    index = NumberIndex(sources)
    receipts: dict[str, str | None] = {}
    for number in found:
        place = index.find(number)
        if receipts.get(number.text, "") is not None:  # one that is missing somewhere stays so
            receipts[number.text] = place
    return receipts


def receipts_of(message: Message) -> dict[str, str | None]:
    """Each number of closing words -> the id of the message that has it, None where none has; what
    is none of ours is left out.
    """
    found = message.extra.get(RECEIPTS)
    if message.role != "assistant" or not isinstance(found, Mapping):
        return {}
    return {
        text: id
        for text, id in found.items()
        if isinstance(text, str) and (id is None or isinstance(id, str))
    }


def is_closing(message: Message) -> bool:
    """Whether these can be the last words of an answer."""
    is_words = (message.role, message.type) == ("assistant", "message")
    return is_words and not is_thought(message) and not is_partial(message)


def _sources(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """(id, text) of what was printed, of code and of questions with what went along."""
    by_type: dict[str, list[tuple[str, str]]] = {each: [] for each in _ORDER}
    for message in messages:
        is_said = (message.role, message.type) == ("assistant", "message")
        if message.type not in by_type or is_said or message.id is None:
            continue
        text = str(message.content)
        is_page = message.role == "computer" and message.format == "html"
        kind = "console" if message.role == "computer" else message.type
        by_type[kind].append((message.id, html_text(text) if is_page else text))
        if parts := of_question(message):
            by_type["message"].append((message.id, text_of(parts)))
    for kind in _ORDER:
        yield from by_type[kind]
