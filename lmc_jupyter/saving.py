"""What of a session's conversation goes into a file: with what its replies took, without any key.

One rule: it makes another conversation for the file; the one that is held stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from lmc_jupyter.conversation import Conversation, Event
from lmc_jupyter.history.scrub import Scrub
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.keys import Secret
from lmc_jupyter.turns import Turn


def measured(messages: Sequence[Message], turns: Sequence[Turn]) -> list[Message]:
    """The messages; those that ended one of these turns say what that reply took: `token_count`,
    and `completion_time` in seconds."""
    found, begin = list(messages), len(messages)
    places = {message.id: index for index, message in enumerate(found)}
    for turn in reversed(turns):
        end, begin = begin, places.get(turn.anchor, begin)
        if not (turn.over and turn.requests):
            continue
        last = turn.requests[-1]
        at = next((i for i in range(end - 1, begin - 1, -1) if found[i].role == "assistant"), -1)
        if at >= 0 and last.completion_tokens is not None:
            took = {"completion_time": round(last.seconds, 3)}
            found[at] = found[at].marked(token_count=last.completion_tokens, **took)
    return found


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
    messages = conversation.messages
    told = not messages or conversation.began == str(messages[0].created_at)
    began = "" if told else conversation.began
    notebook = Path(conversation.notebook).name
    return _scrubbed(
        replace(conversation, title=title, began=began, notebook=notebook), Scrub(secrets)
    )


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
