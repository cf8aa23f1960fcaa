"""The message of an answer that is not yet whole, so that an app's list grows with the stream.

One rule: it stands behind the session's messages until the session has it itself.
"""

from __future__ import annotations

from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.stream import Assembler


class Growing:
    """Fed with the chunks of an answer as they come."""

    def __init__(self) -> None:
        self._assembler = Assembler()
        self._last: Message | None = None
        """The session's last message when this one began."""

    def feed(self, chunk: Chunk, messages: list[Message]) -> None:
        """Take the next chunk; `messages` are the session's."""
        if chunk.start:
            self._last = messages[-1] if messages else None
        self._assembler.feed(chunk)

    def after(self, messages: list[Message]) -> list[Message]:
        """The session's messages, and what has come of the one that is not whole."""
        message = self._assembler.so_far()
        last = messages[-1] if messages else None
        if message is None or not message.content or last is not self._last:
            return messages
        if last is not None and last.role == message.role == "computer" and last.content == "":
            messages = messages[:-1]  # the result that code has from the moment it begins
        return [*messages, message.marked(partial=True)]
