"""What a person attaches to a question, or names in it, as messages of LMC.

One rule: whatever comes from a front end is checked here, and what cannot be taken is said in
a sentence; nothing is sent to a model that is not what it says it is.
"""

from __future__ import annotations

import base64
import binascii
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lmc_jupyter.content.chat import is_wav
from lmc_jupyter.content.images import Picture, for_history, from_svg, kind
from lmc_jupyter.errors import LMCError
from lmc_jupyter.lmc import Message

MAX_FILES = 5
MAX_BYTES = 10_000_000
MAX_READ = 50_000_000
"""Bytes of an image that is named by its path: it is scaled down at once."""
_MAX_NAME = 100
_WAV = {"audio/wav", "audio/wave", "audio/x-wav", "audio/vnd.wave"}


def messages_of(attachments: object, folder: Path) -> list[Message]:
    """The messages of the user that these attachments mean, in their order.

    Parameters
    ----------
    attachments : list of `Attachment` of protocol.ts: name, mime, data (base64)
    folder : where files that are no images are put

    Raises
    ------
    LMCError
        With the name of the one that cannot be taken, and why; none is taken then.
    """
    if not isinstance(attachments, list):
        raise LMCError(f"the attachments must be a list, not {type(attachments).__name__}")
    if len(attachments) > MAX_FILES:
        raise LMCError(
            f"{len(attachments)} files are attached: at most {MAX_FILES} go with one question"
        )
    read = [_read(each) for each in attachments]
    found = [_shown(name, mime, data) for name, mime, data in read]
    return [
        Message("user", "file", "path", str(_write(folder, name, data)))
        if message is None
        else message
        for (name, _, data), message in zip(read, found, strict=True)
    ]


def messages_of_paths(
    named: Iterable[tuple[str, str]], folder: Path, allow: Callable[[Path], Path]
) -> list[Message]:
    """The messages of the user that these files mean, in their order.

    An image or a sound is read now; of another file the path is given, and it is read when the
    model is asked.

    Parameters
    ----------
    named : pairs of "image", "file" or "audio", and a path; "~" is the person's home
    folder : where a path that is not absolute begins
    allow : called with each file that may be read later, once all of them are sound; returns
        the path to name it by

    Raises
    ------
    LMCError
        With the path that cannot be taken, and why; none is taken then.
    """
    found = [_of_path(what, path, folder) for what, path in named]
    return [
        Message("user", "file", "path", str(allow(each))) if isinstance(each, Path) else each
        for each in found
    ]


def _of_path(what: str, path: str, folder: Path) -> Message | Path:
    try:
        file = folder / Path(path).expanduser()
        status = file.stat()
        if stat.S_ISDIR(status.st_mode):
            raise LMCError(f"{path!r} is a folder: name a file in it")
        if not stat.S_ISREG(status.st_mode):
            raise LMCError(f"{path!r} is not a regular file: it cannot be attached")
        if what == "file":
            with file.open("rb"):
                return file
        if status.st_size > MAX_READ:
            raise LMCError(
                f"{path!r} has {status.st_size / 1e6:.1f} MB: at most "
                f"{MAX_READ // 1_000_000} MB of an image or a sound are read"
            )
        data = file.read_bytes()
    except FileNotFoundError:
        raise LMCError(f"there is no file {path!r} in {folder}") from None
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise LMCError(f"{path!r} cannot be read: {why}") from None
    if what == "audio":
        return _audio(path, data)
    return _image(path, data)


def _shown(name: str, mime: str, data: bytes) -> Message | None:
    """An image or a sound, whatever it is called; None for any other file."""
    if kind(data) is not None or (mime.startswith("image/") and mime != "image/svg+xml"):
        return _image(name, data, mime)
    if mime in _WAV or (mime.startswith("audio/") and is_wav(data)):
        return _audio(name, data)
    return None


def _image(name: str, data: bytes, mime: str = "") -> Message:
    said = f"{name!r} says that it is {mime}, but it" if mime and kind(data) is None else repr(name)
    found: Picture | None = None
    if kind(data) is None and b"<svg" in data[:4096]:
        png = from_svg(data.decode("utf-8", "replace"), said)
        if png is None:
            raise LMCError(
                f"{said} is an SVG, and no library that draws it is installed: `%pip install "
                "resvg_py`, or attach it with --file as text"
            )
        found = Picture("png", png)
    found = found or for_history(data, said)
    return Message("user", "image", found.format, found.text)


def _audio(name: str, data: bytes) -> Message:
    if not is_wav(data):
        raise LMCError(f"{name!r} is not a wav sound: convert it to wav first")
    return Message("user", "audio", "wav", base64.b64encode(data).decode("ascii"))


def _read(attachment: object) -> tuple[str, str, bytes]:
    if not isinstance(attachment, Mapping):
        raise LMCError(f"an attachment must have a name and data; it is {attachment!r:.80}")
    name, mime, text = (attachment.get(key) for key in ("name", "mime", "data"))
    name = _safe(name if isinstance(name, str) else "")
    if not isinstance(text, str):
        raise LMCError(f"the file {name!r} came without its data: attach it again")
    if len(text) > MAX_BYTES * 4 // 3 + 4:
        raise _too_large(name, len(text) * 3 // 4)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise LMCError(f"the data of {name!r} is not base64: attach it again") from None
    if not data:
        raise LMCError(f"the file {name!r} is empty: there is nothing to attach")
    if len(data) > MAX_BYTES:
        raise _too_large(name, len(data))
    return name, mime if isinstance(mime, str) else "", data


def _too_large(name: str, size: int) -> LMCError:
    return LMCError(
        f"the file {name!r} has {size / 1e6:.1f} MB: at most {MAX_BYTES // 1_000_000} MB can be "
        "attached; write its path into the question instead"
    )


def _write(folder: Path, name: str, data: bytes) -> Path:
    """Put it there under its name, or one beside it that is free."""
    path = folder / name
    number = 1
    while True:
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            number += 1
            path = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
        except OSError as error:
            raise LMCError(f"{name!r} cannot be kept in {folder}: {error.strerror}") from error
        else:
            return path


def _safe(name: str) -> str:
    """The last part of a file's name, without what a path or a line could mean."""
    name = name.replace("\\", "/").rpartition("/")[2]
    name = "".join(char for char in name if char.isprintable() and char not in '<>:"|?*')
    name = name.strip(" .")
    stem, dot, suffix = name.rpartition(".")
    if len(name) > _MAX_NAME:
        name = f"{(stem or name)[: _MAX_NAME - 20]}{dot}{suffix[:18]}" if dot else name[:_MAX_NAME]
    return name.encode("utf-8", "replace").decode("utf-8") or "attachment"
