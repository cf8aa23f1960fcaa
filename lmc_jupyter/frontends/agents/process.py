"""Another process of this machine: an agent's server for the kernel, the kernel for that server.

One rule: a process whose number went to another one is gone.
"""

from __future__ import annotations

import psutil


class Process:
    """The process that has this number now.

    Raises
    ------
    LookupError
        When there is none.
    """

    def __init__(self, pid: object) -> None:
        try:
            self._process = psutil.Process(pid if isinstance(pid, int) else -1)
        except (psutil.Error, ValueError, OverflowError):
            raise LookupError(f"there is no process {pid!r:.40} on this machine") from None

    @property
    def is_alive(self) -> bool:
        """Whether it runs still; one that has ended and that nobody has waited for does not."""
        try:
            return bool(
                self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE
            )
        except psutil.Error:
            return False
