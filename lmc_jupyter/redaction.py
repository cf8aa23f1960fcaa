"""What code puts out, without the keys that are known: before the model, the panel or a file.

One rule: only what is a key for certain is taken out (a secret of the environment, a key that a
model was given); everything else is shown to the character. A key that a program writes in
another form of its own making, such as base64, is not recognised.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace

from lmc_jupyter.lmc import Chunk
from lmc_jupyter.models.keys import known, unfinished, without_known

_NO_TEXT = ("image", "audio", "file")
"""Types of messages whose content is no text."""


def without_keys(pieces: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
    """The same pieces; in console text, what may be the beginning of a key waits for its end."""
    secrets = known()
    return _scrubbed(pieces, secrets) if secrets else pieces


def _scrubbed(
    pieces: Generator[Chunk, None, None], secrets: Mapping[str, str]
) -> Generator[Chunk, None, None]:
    last: Chunk | None = None  # console text whose end waits
    waits = ""
    try:
        for piece in pieces:
            text = piece.content
            if piece.format == "active_line" or not isinstance(text, str):
                yield piece
            elif piece.type != "console":
                if last is not None and waits:
                    yield replace(last, content=without_known(waits, secrets))
                    waits = ""
                clean = text if piece.type in _NO_TEXT else without_known(text, secrets)
                yield piece if clean is text else replace(piece, content=clean)
            else:
                text = waits + text
                at = len(text) if piece.end else unfinished(text, secrets)
                last, waits, text = piece, text[at:], without_known(text[:at], secrets)
                if text or piece.end:
                    yield piece if text == piece.content else replace(piece, content=text)
    except GeneratorExit:
        raise
    except BaseException:
        if last is not None and waits:  # what has come is kept
            yield replace(last, content=without_known(waits, secrets), end=False)
        raise
    finally:
        pieces.close()
    if last is not None and waits:
        yield replace(last, content=without_known(waits, secrets), end=False)
