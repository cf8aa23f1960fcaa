"""The output of code without keys, before the model, the panel or a file gets it.

One rule: only what is a key for certain is redacted (a secret of the environment, a key that a
model was given); everything else is shown to the character.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from lmc_jupyter.keys.redactor import Redactor
from lmc_jupyter.lmc import Chunk

_NO_TEXT = ("image", "audio", "file")
"""Types of messages whose content is no text."""


def redact_output(pieces: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
    """The pieces without keys; console text that may begin a key is buffered until its end."""
    redactor = Redactor(shapes=False)
    return _redact(pieces, redactor) if redactor else pieces


def _redact(
    pieces: Generator[Chunk, None, None], redactor: Redactor
) -> Generator[Chunk, None, None]:
    console, last = redactor.stream(), None  # the console's last piece: what is buffered is of it
    try:
        for piece in pieces:
            text = piece.content
            if piece.format == "active_line" or not isinstance(text, str):
                yield piece
                continue
            if piece.type == "console":
                last, text = piece, console.feed(text) + (console.end() if piece.end else "")
                if not text and not piece.end:
                    continue
            else:
                if last is not None and (rest := console.end()):
                    yield replace(last, content=rest, end=False)
                text = text if piece.type in _NO_TEXT else redactor.text(text)
            yield piece if text == piece.content else replace(piece, content=text)
    except GeneratorExit:
        raise
    except BaseException:
        if last is not None and (rest := console.end()):  # what came before the error is shown
            yield replace(last, content=rest, end=False)
        raise
    finally:
        pieces.close()
    if last is not None and (rest := console.end()):
        yield replace(last, content=rest, end=False)
