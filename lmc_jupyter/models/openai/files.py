"""Files that a message names: which may be read, and the part of one that a model gets.

One rule: a file is read only within the folders of the brief or where the person named it, without
a link out of them; a file that cannot be read becomes a sentence.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from lmc_jupyter.content import shorten
from lmc_jupyter.content.chat import is_wav
from lmc_jupyter.keys import Redactor
from lmc_jupyter.models.brief import Brief


@dataclass(frozen=True, slots=True)
class Roots:
    """Where files may be read: within the folders, or one of the files themselves.

    A relative path begins at the first folder, `here`.
    """

    here: Path
    folders: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, brief: Brief, root: Path | None = None) -> Roots:
        """The roots of a brief, and the folder `root`; default: the working directory."""
        here = (root or Path.cwd()).resolve()
        return cls(here, tuple(each.resolve() for each in brief.folders), brief.files)

    def allow(self, real: Path) -> bool:
        """Whether this path, without any link in it, may be read."""
        return real in self.files or any(
            real.is_relative_to(folder) for folder in (self.here, *self.folders)
        )


@dataclass(frozen=True, slots=True)
class Look:
    """The beginning of a file, and its end where the beginning is not all of it."""

    size: int
    head: bytes
    tail: bytes = b""


LONGEST_PATH = 4_096
MARGIN = 4_096
"""Bytes that are read beyond the shown ones, so that the redactor sees secrets whole."""


def read(path: str, roots: Roots, limit: int) -> bytes | str:
    """The bytes of a regular file that may be read, or a sentence that says why not."""
    view = look(path, roots, limit, whole=True)
    return view if isinstance(view, str) else view.head


def look(path: str, roots: Roots, most: int, *, whole: bool = False) -> Look | str:
    """The first and the last `most` bytes of a file that may be read, or a sentence.

    With `whole`, a longer file is not read at all.
    """
    try:
        real = (roots.here / path).resolve(strict=True)
        if not roots.allow(real):
            name = roots.here.name
            return f"The file {path!r} is outside of {name!r}, the notebook's folder: not read."
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(real, flags | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError, RuntimeError):
        return f"The file {path[:200]!r} cannot be read: it is not there, or not readable."
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return f"{path!r} is not a regular file: not read."
        if whole and status.st_size > most:
            return f"The file {path!r} has {status.st_size:,} bytes, too many to send."
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            head = file.read(most)
            if status.st_size <= most:
                return Look(len(head), head)
            file.seek(status.st_size - most)
            return Look(status.st_size, head, file.read(most))
    except OSError as error:
        return f"The file {path!r} cannot be read: {error.strerror}."
    finally:
        os.close(descriptor)


def readable(file: Look, limit: int, redactor: Redactor) -> str | None:
    """The text of a file, its head and tail if it is long; None if it is no text."""
    head, tail = _decode(file.head, cut=bool(file.tail)), _decode(file.tail, cut=True)
    if head is None or tail is None:
        return None
    head = redactor.text(head)
    if not file.tail:
        return clip(head, limit)
    tail = redactor.text(tail)
    start, _ = shorten.bounds(head, limit)
    _, stop = shorten.bounds(tail, limit)
    begin = head[: start or limit // 2]
    return f"{begin}\n… of {file.size:,} bytes, the middle left out …\n{tail[stop:]}"


def _decode(data: bytes, *, cut: bool) -> str | None:
    """The text of UTF-8, or of UTF-16 with its mark; None for other bytes.

    At a cut, the half of a character is dropped.
    """
    if data.startswith(b"%PDF-"):
        return None  # though it may have letters only
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data[: len(data) // 2 * 2].decode("utf-16", "replace")
    if b"\0" in data:
        return None
    if cut:
        data = data.lstrip(bytes(range(0x80, 0xC0)))  # the rest of a character
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3:
            return data[: error.start].decode("utf-8-sig")
        return None


_BY_FIRST_BYTES = (
    (b"%PDF-", "a PDF document"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"\x7fELF", "a program"),
    (b"ID3", "an mp3 sound"),
    (b"\xff\xfb", "an mp3 sound"),
    (b"OggS", "an Ogg sound"),
    (b"fLaC", "a FLAC sound"),
)
_BY_NAME = {  # these are zip archives by their bytes
    ".docx": "a Word document",
    ".xlsx": "an Excel workbook",
    ".pptx": "a PowerPoint presentation",
    ".odt": "an OpenDocument text",
    ".ods": "an OpenDocument sheet",
    ".npz": "NumPy arrays",
    ".whl": "a Python wheel",
}


def kind_of_file(head: bytes, path: str) -> str:
    """The kind of a file that is no text, by its first bytes: "a PDF document"."""
    if is_wav(head):
        return length_of_sound(head)
    if head.startswith(b"PK\x03\x04"):
        return _BY_NAME.get(Path(path).suffix.lower(), "a zip archive")
    if head[4:8] == b"ftyp":
        return "an MP4 film or sound"
    kind = next((what for first, what in _BY_FIRST_BYTES if head.startswith(first)), None)
    return kind or "not text"


def length_of_sound(wav: bytes) -> str:
    """ "3.2 seconds of sound", by the wav's own head."""
    at = wav.find(b"fmt ", 12, 200)
    size = int.from_bytes(wav[4:8], "little")
    rate = int.from_bytes(wav[at + 16 : at + 20], "little") if at >= 0 else 0
    return f"{size / rate:.1f} seconds of sound" if rate else "a sound"


_NOT_SAVED = re.compile(
    r"\n… (\d[\d,]{0,20}) characters were shown(?: and not saved|, not kept) …\n"
)
"""The line in place of the middle of a long output (`lmc_jupyter.computer.output_buffer`); older
conversations have "not kept"."""


def clip(text: str, limit: int, *, seen: bool = False) -> str:
    """Head and tail, with the middle counted; see `shorten.middle`."""
    more = 0
    for note in _NOT_SAVED.finditer(text, *shorten.bounds(text, limit)):
        more += int(note.group(1).replace(",", "")) - len(note.group(0))
    return shorten.middle(text, limit, more=more, seen=seen)
