"""One block of code that is there already, as the reply of a stand-in for a model.

One rule: its first reply is the block, and every later one is empty.
"""

from __future__ import annotations

from collections.abc import Generator

from lmc_jupyter.lmc import Chunk, Message


def reason_to_ask(by: str) -> str:
    """Why the person is asked about code of this agent, whatever `auto_run` says."""
    return f"it comes from {by}, so you are asked"


class OneBlock:
    """The stand-in.

    Parameters
    ----------
    label : who wrote the code, as a person reads it
    language, code : the block
    """

    free = True
    """It sends nothing, so there is nothing to count."""

    def __init__(self, label: str, language: str, code: str) -> None:
        self.label = label
        self._blocks = [Chunk("assistant", "code", language, code, start=True, end=True)]

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:  # noqa: ARG002
        """The block, once."""
        yield from self._blocks
        self._blocks = []
