"""The text that a model gets beside the conversation, in parts.

One rule: each part is made by a small module here, cheaply, and knows nothing of the session.
"""

# the order in which a model reads them:
from lmc_jupyter.context import instructions, functions  # isort: skip

__all__ = ["functions", "instructions"]
