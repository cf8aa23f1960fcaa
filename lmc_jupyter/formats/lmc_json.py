"""LMC JSON: a plain list of messages, as the seed documents print them; and JSON Lines.

One rule: a message is one line, with the seed's keys in the seed's order and nothing else of
ours, so that a person can read it and any other program can.

Source: "LMC Messages", the examples of the first section; "0.2.0 Migration Guide", section New
Static Messages Structure.
"""

from __future__ import annotations

import json

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats import strict_json
from lmc_jupyter.formats.foreign import conversation_of
from lmc_jupyter.formats.losses import beside, differences, plain_keys
from lmc_jupyter.lmc import Message

NAME = "lmc"
EXTENSIONS = (".json", ".jsonl", ".lmc")


def read(data: bytes) -> Conversation:
    """A list of messages, or one in each line; what Open Interpreter wrote opens too.

    Raises
    ------
    FormatError
        When it is no JSON, or no list of messages.
    """
    losses: list[str] = []
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    values = strict_json.lines(data, losses) if begins == b"{" else strict_json.loads(data, losses)
    return Conversation(conversation_of(values, losses), losses=losses)


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The list, one message in a line; a title, and what a person pressed, have no place in it."""
    losses = beside(conversation)
    messages = plain_keys(conversation.messages, losses)
    text = ",\n".join(map(line, messages))
    data = f"[\n{text}\n]\n".encode() if text else b"[]\n"
    return data, losses + differences(messages, read(data).messages)


def line(message: Message) -> str:
    """One message as the seed documents write it."""
    return json.dumps(message.to_dict(), ensure_ascii=False, allow_nan=False)
