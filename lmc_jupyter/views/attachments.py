"""What a person attaches to a question, as messages of LMC.

One rule: whatever comes from a front end is checked here, and what cannot be taken is said in
a sentence; nothing is sent to a model that is not what it says it is.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmc_jupyter.errors import LMCError
from lmc_jupyter.lmc import Message

MAX_FILES = 5
MAX_BYTES = 10_000_000
MAX_PIXELS = 50_000_000
_MAX_NAME = 100

_FIRST_BYTES = {
    b"\x89PNG\r\n\x1a\n": "base64.png",
    b"\xff\xd8\xff": "base64.jpeg",
}


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
    images = [_image(name, mime, data) for name, mime, data in read]
    return [
        Message("user", "file", "path", str(_write(folder, name, data)))
        if image is None
        else Message("user", "image", image[0], image[1])
        for (name, _, data), image in zip(read, images, strict=True)
    ]


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


def _image(name: str, mime: str, data: bytes) -> tuple[str, str] | None:
    """Format and base64, if it is an image; by its bytes, whatever it is called."""
    for first, format_ in _FIRST_BYTES.items():
        if data.startswith(first):
            return format_, base64.b64encode(data).decode("ascii")
    if not mime.startswith("image/") or mime == "image/svg+xml":  # that one is text
        return None
    return "base64.png", base64.b64encode(_as_png(name, mime, data)).decode("ascii")


_CONVERTED = ("GIF", "WEBP", "BMP", "TIFF")
"""What Pillow may read here: some of its other formats start programs of the system."""


def _as_png(name: str, mime: str, data: bytes) -> bytes:
    try:
        image_module: Any = importlib.import_module("PIL.Image")
    except ImportError:
        raise LMCError(
            f"{name!r} is {mime}: attach a png or jpeg, or install Pillow (`%pip install pillow`) "
            "so that it can be converted"
        ) from None
    try:
        with image_module.open(io.BytesIO(data), formats=_CONVERTED) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise LMCError(
                    f"the image {name!r} is {width} x {height} pixels: attach a smaller one"
                )
            out = io.BytesIO()
            image.convert("RGBA").save(out, "PNG")
    except LMCError:
        raise
    except Exception as error:
        raise LMCError(
            f"{name!r} says that it is {mime}, but cannot be read as an image "
            f"({type(error).__name__}): attach a png or jpeg"
        ) from error
    return out.getvalue()


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
