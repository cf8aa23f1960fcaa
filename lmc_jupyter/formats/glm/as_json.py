"""GLM chat histories as JSON; the dictionary is made in `dictionary`.

One rule: only the bytes are decided here.
"""

from __future__ import annotations

import json

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats import strict_json
from lmc_jupyter.formats.glm.counts import document_of
from lmc_jupyter.formats.glm.settings import conversation_of

NAME = "glm-json"
EXTENSIONS = (".glm.json",)


def read(data: bytes) -> Conversation:
    """The conversation of a file of any of the shapes in docs/glm.md.

    Raises
    ------
    FormatError
        When it is no JSON, or no GLM chat history.
    """
    notes: list[str] = []
    conversation = conversation_of(strict_json.loads(data, notes))
    conversation.losses[:0] = notes
    return conversation


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The specification's dictionary, indented for people."""
    document, losses = document_of(conversation)
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return f"{text}\n".encode(), losses
