"""Files that lie in a notebook's folder and may be anybody's: `mcp.json`, `lmc.yaml`, `AGENTS.md`.

One rule: nothing is waited for and nothing grows. Only a regular file of text within its folder is
read, up to a size; all else is a sentence.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lmc_jupyter.errors import FormatError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY", "O_CLOEXEC"):  # as far as the system has them
    _FLAGS |= getattr(os, _name, 0)


def read_file(path: Path, most: int, *, inside: Path | None = None) -> bytes | None:
    """The bytes of a file of UTF-8 text; None where there is no file of that name.

    Parameters
    ----------
    most : bytes of the file
    inside : the folder that a link must not lead out of; None for a file of the person's own,
        which they may have linked to wherever they keep it

    Raises
    ------
    FormatError
        For anything else of that name, with a sentence that has no full stop.
    """
    try:
        real = path.resolve(strict=True)
        if inside is not None and not real.is_relative_to(inside.resolve()):
            raise FormatError(f"{path} is a link to {real}, outside its folder")
        _check_kind(path, real.stat().st_mode)  # to open a device may do something
        with os.fdopen(os.open(real, _FLAGS), "rb") as file:
            _check_kind(path, os.fstat(file.fileno()).st_mode)
            data = file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FormatError(f"{path} cannot be read ({error.strerror})") from None
    except RuntimeError:  # a link to itself, for Python before 3.13
        raise FormatError(f"{path} cannot be read (a link that leads to itself)") from None
    if len(data) > most:
        raise FormatError(f"{path} has more than {most:,} bytes")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not text in UTF-8") from None
    return data


def _check_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise FormatError(f"{path} is {kind}, not a file")
