"""Images, sounds and files of a conversation as parts of a chat, or as words in their place.

One rule: what cannot be read or sent becomes a sentence that says what it is and why; nothing is
left out in silence.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmc_jupyter.content import images, pdf, plots, terminal
from lmc_jupyter.content.chat import (
    audio_part,
    decode_base64,
    fence,
    file_part,
    image_part,
    text_part,
)
from lmc_jupyter.keys import Redactor
from lmc_jupyter.lmc import Message, clean
from lmc_jupyter.models.openai.files import (
    MARGIN,
    Roots,
    clip,
    kind_of_file,
    length_of_sound,
    look,
    read,
    readable,
)
from lmc_jupyter.models.openai.sounds import Recording, sender, wav_of

MAX_FILE = 50_000_000
"""Bytes of an image that is read from a file; it is scaled down before it is sent."""

AS_FILE = "sent as a PDF file"
"""How a PDF is sent to a model that reads PDFs."""


@dataclass(slots=True)
class Media:
    """Makes the parts for one model.

    Parameters
    ----------
    vision, hears, reads_pdf : whether it takes images, wav audio, PDF files
    max_output : characters of a result or file that are sent
    roots : the folders that paths are read in
    pdfs : name of each PDF, and how it was sent
    """

    vision: bool
    hears: bool
    reads_pdf: bool
    max_output: int
    roots: Roots
    redactor: Redactor = field(default_factory=lambda: Redactor(shapes=False))
    pdfs: list[tuple[str, str]] = field(default_factory=list)

    def part(self, message: Message, *, own: bool) -> dict[str, Any]:
        """An image, audio or file; `own` says whether it is the user's."""
        content = clean(message.content) if isinstance(message.content, str) else ""
        if message.type == "image":
            return self._image(message, content)
        return self._audio(message) if message.type == "audio" else self._file(content, own=own)

    def clip(self, text: str, *, seen: bool = False) -> str:
        """As much of a text as is sent; `seen` says whether the person saw all of it."""
        return clip(text, self.max_output, seen=seen)

    def _image(self, message: Message, content: str) -> dict[str, Any]:
        data: bytes | str
        if message.format == "path":
            data, name = read(content, self.roots, MAX_FILE), f"the file {content[:200]!r}"
        else:
            data, name = decode_base64(content), "the image"
            if not data:
                return text_part(f"({sender(message)} an image, but its data are not base64.)")
        if isinstance(data, str):
            return text_part(f"({data})")
        if not self.vision:
            details = ", ".join(
                filter(None, [name.removeprefix("the image"), images.describe(data)])
            )
            what = f"an image ({details})" if details else "an image"
            told = f"({sender(message)} {what}; you cannot see images.)"
            if message.role == "computer" and (text := plots.text_of(data)):
                told += f" It has:\n{clean(terminal.plain(text))}"
            return text_part(told)
        return _image_part(data, name)

    def _audio(self, message: Message) -> dict[str, Any]:
        data = wav_of(message, self.roots)
        if isinstance(data, str):
            return text_part(f"({data})")
        if self.hears:
            return audio_part(base64.b64encode(data).decode("ascii"))
        words = message.transcript if isinstance(message, Recording) else ""
        if words.strip():
            words = clean(self.redactor.text(words.strip()))
            return text_part(f"({sender(message)} {length_of_sound(data)}; a transcript:)\n{words}")
        return text_part(f"({sender(message)} {length_of_sound(data)}; you cannot hear it.)")

    def _file(self, content: str, *, own: bool) -> dict[str, Any]:
        """A file by its path: text, PDFs and images are read; of others, kind and size."""
        name = f"the file {content[:200]!r}"
        view = look(content, self.roots, 4 * self.max_output + MARGIN)
        if isinstance(view, str):
            return text_part(f"({view})")
        if view.head.startswith(pdf.BEGINS):
            return self._pdf(content, name, own=own)
        kind = images.kind(view.head)
        if kind is not None:
            data = read(content, self.roots, MAX_FILE) if view.tail else view.head
            if isinstance(data, str):
                return text_part(f"({data})")
            if self.vision:
                return _image_part(data, name)
            details = images.describe(data) or f"a {kind} image that is broken"
            return text_part(f"({_upper(name)}: an image, {details}, {view.size:,} bytes.)")
        text = readable(view, self.max_output, self.redactor)
        if text is None:
            details = kind_of_file(view.head, content)
            return text_part(f"({_upper(name)}: {details}, {view.size:,} bytes.)")
        return text_part(f"{_upper(name)}:\n{fence('', text)}")

    def _pdf(self, content: str, name: str, *, own: bool) -> dict[str, Any]:
        """A PDF as a part: the user's own as a file for a model that reads PDFs, else its text."""
        data = read(content, self.roots, pdf.MAX_BYTES)
        if isinstance(data, str):
            return text_part(f"({data})")
        base = Path(content).name
        if own and self.reads_pdf:
            self.pdfs.append((base, AS_FILE))
            return file_part(base, base64.b64encode(data).decode("ascii"))
        document = pdf.text_of(data)
        if isinstance(document, str):
            self.pdfs.append((base, f"not sent, because {document}"))
            details = f"a PDF document, {len(data):,} bytes, not read: {document}"
            return text_part(f"({_upper(name)}: {details}.)")
        of = (
            f"{document.read} of its {document.pages}"
            if document.read < document.pages
            else f"{document.pages}"
        )
        pages = f"{of} page{'' if document.pages == 1 else 's'}"
        if not document.text:
            self.pdfs.append((base, "not sent, because it has no text (it may be a scan)"))
            return text_part(
                f"({_upper(name)}: a PDF document of {pages} without text, perhaps a scan.)"
            )
        self.pdfs.append((base, f"sent as its text ({pages}), without its layout and figures"))
        text = self.clip(self.redactor.text(terminal.plain(clean(document.text))))
        return text_part(f"{_upper(name)}, a PDF; its text ({pages}):\n{fence('', text)}")


def _image_part(data: bytes, name: str) -> dict[str, Any]:
    try:
        image = images.for_model(data, name)
    except images.ImageError as error:
        return text_part(f"({_upper(str(error))}.)")
    return image_part(image.kind, image.text)


def _upper(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"
