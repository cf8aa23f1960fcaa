"""A session's conversation for a file: with the time and tokens of its replies, without any key.

One rule: it makes another conversation for the file; the session's own stays unchanged.

The file also gets what the code of the conversation depends on: the person's own cells that ran
before it, and files that were attached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmc_jupyter.content.cell import own_code
from lmc_jupyter.context.cells import read_part
from lmc_jupyter.context.parts import of_question
from lmc_jupyter.conversation import Action, Conversation, OwnCell
from lmc_jupyter.conversation.scrub import Scrub
from lmc_jupyter.keys import Secret
from lmc_jupyter.keys.source import without_passwords
from lmc_jupyter.lmc import Message, is_code
from lmc_jupyter.turn.turns import Turn


class OwnCells:
    """Which of the kernel's cells had run when a block of a conversation began.

    Parameters
    ----------
    cells : the kernel's cells so far: the source of each, and its traceback's text if it failed
    """

    def __init__(self, cells: Callable[[], Sequence[tuple[str, str]]]) -> None:
        self._cells = cells
        self._before: dict[str | None, int] = {}

    def note(self, messages: Sequence[Message]) -> None:
        """The last block of these begins now."""
        for each in reversed(messages):
            if is_code(each):
                self._before[each.id] = len(self._cells())
                return

    def of(self, messages: Sequence[Message]) -> Iterator[OwnCell]:
        """The person's cells at their places in a conversation; none of the magic.

        Of blocks that ran in an earlier kernel those are known that went with a question.
        """
        end = next((at for at, each in enumerate(messages) if each.id in self._before), None)
        earlier = list(messages[:end])
        while earlier and not is_code(earlier[-1]):
            earlier.pop()
        for place, message in enumerate(earlier):
            for part in of_question(message):
                if part.kind == "cell":
                    source, error = read_part(part)
                    if own := own_code(source):
                        yield OwnCell(place, own, error)
        cells = self._cells()
        count, at = 0, len(earlier)
        for place, message in enumerate(messages):
            before = messages[place - 1].role if place else ""
            if message.role == "computer":
                at = max(at, place + 1)
            elif message.role == "user" and before != "user":  # above the question, not below it
                at = max(at, place)
            for source, error in cells[count : self._before.get(message.id, 0)]:
                if own := own_code(source):
                    yield OwnCell(at, own, error)
            count = max(count, self._before.get(message.id, 0))


def files_of(messages: Sequence[Message], folder: Path) -> dict[str, bytes]:
    """path -> bytes of the attached files that lie in this folder and that code names."""
    code = [str(each.content) for each in messages if is_code(each)]
    paths = {
        str(each.content): Path(str(each.content))
        for each in messages
        if (each.role, each.type, each.format) == ("user", "file", "path")
    }
    return {
        name: path.read_bytes()
        for name, path in paths.items()
        if path.parent == folder and path.is_file() and any(name in each for each in code)
    }


def add_measures(messages: Sequence[Message], turns: Sequence[Turn]) -> list[Message]:
    """The messages; the first of each reply in these turns has the measures of the reply:
    `completion_time` in seconds, and `token_count` where the provider has counted and the reply is
    one text, one block of code, or a text with its code."""
    result, end = list(messages), len(messages)
    places = {message.id: index for index, message in enumerate(result)}
    for turn in reversed(turns):
        for reply in reversed(turn.replies if turn.over else ()):
            begin = places.get(reply.behind, end) + 1
            of_reply = [i for i in range(begin, end) if result[i].role == "assistant"]
            end = min(begin, end)
            if not of_reply:
                continue
            took: dict[str, Any] = {"completion_time": round(reply.seconds, 3)}
            count = None if reply.request is None else reply.request.completion_tokens
            if count is not None and [result[i].type for i in of_reply] in _ONE_ENTRY:
                took["token_count"] = count
            result[of_reply[0]] = result[of_reply[0]].marked(**took)
        end = min(end, places.get(turn.anchor, end))
    return result


_ONE_ENTRY = (["message"], ["code"], ["message", "code"])


def for_a_file(
    conversation: Conversation, title: str, secrets: Iterable[Secret]
) -> tuple[Conversation, list[str]]:
    """The conversation without keys, without the folder of the notebook, and without the title and
    the time that its messages give as well.

    Parameters
    ----------
    title : the title that a person gave it; "" for none
    secrets : keys to redact beside the known ones

    Returns
    -------
    The conversation, and a sentence where a key was taken out.
    """
    notebook = Path(conversation.notebook).name
    messages = conversation.messages
    is_known = not messages or conversation.began == str(messages[0].created_at)
    began = "" if is_known else conversation.began
    value = replace(conversation, title=title, began=began, notebook=notebook)
    return _redact(value, Scrub(secrets))


def _redact(conversation: Conversation, scrub: Scrub) -> tuple[Conversation, list[str]]:
    count, messages = 0, []
    for message in conversation.messages:
        wire = message.to_dict()
        clean = scrub.message(wire)
        count += clean != wire
        messages.append(message if clean == wire else Message.from_dict(clean))
    events = [Action(each.at, scrub(dict(each.data))) for each in conversation.events]
    cells = [
        each._replace(source=without_passwords(scrub.text(each.source)))
        for each in conversation.cells
    ]
    cell_count = sum(
        new.source != old.source for new, old in zip(cells, conversation.cells, strict=True)
    )
    saved = [without_passwords(scrub.text(each)) for each in conversation.saved_cells]
    files = {name: data for name, data in conversation.files.items() if not _has_key(data, scrub)}
    beside = scrub({"title": conversation.title, "extra": conversation.extra})
    sentences = []
    if count:
        sentences.append(f"Keys were removed from {count} message{'' if count == 1 else 's'}.")
    if cell_count:
        sentences.append(f"Keys were removed from {cell_count} of your own cells.")
    sentences += [
        f"The attached file {name} contains a key: it is not written into the notebook."
        for name in conversation.files
        if name not in files
    ]
    value = replace(
        conversation,
        messages=messages,
        events=events,
        cells=cells,
        saved_cells=saved,
        files=files,
        **beside,
    )
    return value, sentences


def _has_key(data: bytes, scrub: Scrub) -> bool:
    text = data.decode("utf-8", "replace")
    return scrub.text(text) != text
