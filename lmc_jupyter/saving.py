"""What of a session's conversation goes into a file: with what its replies took, without any key.

One rule: it makes another conversation for the file; the one that is held stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmc_jupyter.conversation import Conversation, Event
from lmc_jupyter.history.scrub import Scrub
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.keys import Secret
from lmc_jupyter.turns import Turn


def measured(messages: Sequence[Message], turns: Sequence[Turn]) -> list[Message]:
    """The messages; the first of each reply in these turns says what that reply took:
    `completion_time` in seconds, and `token_count` where the provider has counted and the reply is
    one text, one block of code, or a text with its code."""
    found, end = list(messages), len(messages)
    places = {message.id: index for index, message in enumerate(found)}
    for turn in reversed(turns):
        for reply in reversed(turn.replies if turn.over else ()):
            begin = places.get(reply.behind, end) + 1
            said = [i for i in range(begin, end) if found[i].role == "assistant"]
            end = min(begin, end)
            if not said:
                continue
            took: dict[str, Any] = {"completion_time": round(reply.seconds, 3)}
            count = None if reply.request is None else reply.request.completion_tokens
            if count is not None and [found[i].type for i in said] in _ONE_ENTRY:
                took["token_count"] = count
            found[said[0]] = found[said[0]].marked(**took)
        end = min(end, places.get(turn.anchor, end))
    return found


_ONE_ENTRY = (["message"], ["code"], ["message", "code"])


def for_a_file(
    conversation: Conversation, title: str, secrets: Iterable[Secret]
) -> tuple[Conversation, list[str]]:
    """Without what the messages tell themselves (a title that nobody gave, the time), without where
    on this machine the notebook is, and without keys.

    Parameters
    ----------
    title : what a person called it; "" where nobody did
    secrets : what must not be in it, beside what is known to be a key

    Returns
    -------
    The conversation, and a sentence where a key was taken out.
    """
    notebook = Path(conversation.notebook).name
    messages = conversation.messages
    told = not messages or conversation.began == str(messages[0].created_at)
    began = "" if told else conversation.began
    found = replace(conversation, title=title, began=began, notebook=notebook)
    return _scrubbed(found, Scrub(secrets))


def _scrubbed(conversation: Conversation, scrub: Scrub) -> tuple[Conversation, list[str]]:
    changed, messages = 0, []
    for message in conversation.messages:
        wire = message.to_dict()
        clean = scrub.message(wire)
        changed += clean != wire
        messages.append(message if clean == wire else Message.from_dict(clean))
    events = [Event(each.at, scrub(dict(each.data))) for each in conversation.events]
    beside = scrub({"title": conversation.title, "extra": conversation.extra})
    said = f"Keys were taken out of {changed} message{'' if changed == 1 else 's'}."
    return replace(conversation, messages=messages, events=events, **beside), [said] * bool(changed)
