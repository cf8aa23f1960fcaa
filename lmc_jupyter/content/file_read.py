"""A file that code has read.

One rule: a value; `lmc_jupyter.kernel.reads` finds them.
"""

from __future__ import annotations

from typing import NamedTuple


class FileRead(NamedTuple):
    """A file that a block has opened for reading.

    Parameters
    ----------
    path : below the working folder, else absolute
    size : bytes, when the block had ended
    sha256 : in hexadecimal, then; "" for one that was too large to be read again
    """

    path: str
    size: int
    sha256: str
