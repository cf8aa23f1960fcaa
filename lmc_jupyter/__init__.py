"""lmc-jupyter: a Language Model Computer inside the live Jupyter kernel."""

from lmc_jupyter.agent import Decision, respond
from lmc_jupyter.errors import LMCError
from lmc_jupyter.lmc import FORMATS, Chunk, Message
from lmc_jupyter.stream import Assembler, delimit

__all__ = [
    "FORMATS",
    "Assembler",
    "Chunk",
    "Decision",
    "LMCError",
    "Message",
    "delimit",
    "respond",
]
