"""The conversation that a kernel has open, with which it goes on after a restart.

One rule: the id stands in a file beside the kernel's connection file, which Jupyter keeps over a
restart. A file whose connection file is gone is deleted.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from lmc_jupyter.errors import SessionError

_PREFIX, _SUFFIX = "lmc-", ".conversation"
_LONGEST = 64


def conversation_file(connection_file: str | Path) -> Path:
    """The file that names the conversation which the kernel of this connection file has open."""
    file = Path(connection_file)
    return file.parent / f"{_PREFIX}{file.stem}{_SUFFIX}"


class OfKernel:
    """The conversation that one kernel has open.

    Parameters
    ----------
    connection_file : of the kernel
    """

    def __init__(self, connection_file: str | Path) -> None:
        file = Path(connection_file)
        self.name = file.stem
        self._path = conversation_file(file)

    @property
    def id(self) -> str:
        """The id of the conversation; "" for none."""
        from lmc_jupyter.conversation import journal

        try:
            return journal.read_bytes(self._path)[:_LONGEST].decode("ascii", "replace").strip()
        except (OSError, SessionError):
            return ""

    @id.setter
    def id(self, value: str) -> None:
        from lmc_jupyter.conversation.disk import calls, write_whole

        if value:
            write_whole(self._path, value.encode())
        else:
            with suppress(FileNotFoundError):
                calls.unlink(self._path)

    def tidy(self) -> None:
        """Delete the files of kernels whose connection files are gone."""
        for file in self._path.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
            name = file.name[len(_PREFIX) : -len(_SUFFIX)]
            if not (file.parent / f"{name}.json").exists():
                with suppress(OSError):  # somebody else has taken it away
                    file.unlink()
