"""What a block of code did to the person's names, as everybody above the computer sees it.

One rule: it tells and holds on; who wants the names back asks the computer (`Computer.restore`),
which knows on which thread that is safe.
"""

from __future__ import annotations

from typing import Protocol


class Names(Protocol):
    """The names that a block made, changed and took away; see `lmc_jupyter.kernel.changes`."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    lost: str
    """A sentence on what restoring would not bring back; "" when it brings back all."""

    @property
    def restorable(self) -> bool:
        """Whether there is something left to bring back: older values are not kept for ever."""
        ...
