"""Conversations on disk: one file each, in the person's data directory.

One rule: a conversation outlives the kernel that it was held in, and only its owner reads it.
"""

from lmc_jupyter.history.conversations import Conversations, Kept
from lmc_jupyter.history.journal import Held, Journal

__all__ = ["Conversations", "Held", "Journal", "Kept"]
