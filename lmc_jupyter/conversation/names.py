"""What a block of code did to the person's names, as everything above the computer sees it.

One rule: nothing here changes a name. `Computer.restore` does that, because it knows on which
thread it is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.errors import SessionError


class Names(Protocol):
    """The names that a block made, changed and took away; see `lmc_jupyter.kernel.changes`."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    lost: str
    """A sentence on what restoring would not bring back; "" when it brings back all."""
    read: tuple[FileRead, ...]
    """The files that the block has opened for reading."""
    breach: str
    """What was found after a block that ran unasked, beside new names: a sentence without its
    capital letter and stop; "" for nothing."""

    @property
    def restorable(self) -> bool:
        """Whether there is something left to bring back: older values are not kept for ever."""
        ...


class RestorableNames:
    """What the blocks of code of one session did, the last one last, as far as it is restorable."""

    def __init__(self) -> None:
        self._all: list[Names] = []

    def add(self, names: Names | None) -> Names | None:
        """What the next block did, which is given back; None for nothing."""
        if names is not None:
            self._all = [each for each in self._all if each.restorable] + [names]
        return names

    def restore(
        self, bring_back: Callable[[Names], str], names: Names | None = None
    ) -> tuple[Names, str]:
        """Bring names back as they were before a block; default: the last one that can be restored.

        Parameters
        ----------
        bring_back : does it, and says what it did; it is not called where there is nothing to do

        Returns
        -------
        That block's names, and sentences on what was brought back.

        Raises
        ------
        SessionError
            When there is nothing to restore.
        ComputerError
            While a cell is running, or when the values from before are kept no longer.
        """
        if names is None:
            names = next((each for each in reversed(self._all) if each.restorable), None)
        if names is None:
            raise SessionError(
                "there is nothing to restore: no code of these conversations has "
                "changed your variables, or their earlier values are no longer in memory"
            )
        sentences = bring_back(names)
        self._all = [each for each in self._all if each is not names]
        return names, sentences
