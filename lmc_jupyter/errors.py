"""What can go wrong, by whose fault it is.

One rule: every message is a sentence for the person who reads it: what was wrong, the
offending value, and what to do about it. Nothing here ever carries a key.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class LMCError(Exception):
    """The root: `except LMCError` catches everything that lmc-jupyter raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows for it: the sentence. The frames are ours and help nobody.

        A provider's own words may be in it, and it may be shown in a terminal: no escapes.
        """
        return [f"{type(self).__name__}: {_CONTROL.sub('', str(self))}"]


class ProtocolError(LMCError, ValueError):
    """A message or chunk that LMC does not allow; the sender made a mistake."""


class FormatError(LMCError, ValueError):
    """A file that cannot be read as a conversation, or a conversation that it cannot hold."""


class ModelError(LMCError):
    """The language model did not give a whole reply: no key, no network, a broken stream.

    What had arrived before stays in the history, marked as partial.
    """


class CallError(ModelError):
    """The model called a tool that it does not have, or in a way that it cannot be called.

    The sentence is the result of that call: the model reads it, and calls again.
    """


class ComputerError(LMCError):
    """The computer cannot run what it was asked to; nothing was run."""


class UnknownLanguageError(ComputerError, KeyError):
    """A language that the computer does not have."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])


class ToolError(LMCError):
    """A tool of an MCP server failed, or its server cannot be reached."""


class Stopped(LMCError):  # noqa: N818 - it is no error
    """Not a fault: the person pressed Stop. What had come so far is kept."""


class GateError(LMCError):
    """A run without a valid grant: refused."""


class SessionError(LMCError):
    """The session was asked for something it cannot do now, such as a second turn at once."""
