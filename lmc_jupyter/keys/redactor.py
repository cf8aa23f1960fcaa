"""Text without keys: one redactor, for whole texts and for text that arrives in pieces.

One rule: nowhere else is a key searched for in text. A key that a program writes in another form
of its own making, such as base64, is not recognised. In what code puts out only what is a key for
certain is redacted (a secret of the environment, a key that a model was given).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import replace

from lmc_jupyter.keys.secret import SHORTEST, Secret, known_secrets
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.stream import partial_suffix

_SHAPES = re.compile(
    r"\b(?:sk|rk|pplx|xai|nvapi|glpat)-(?=[A-Za-z0-9_\-]*\d)[A-Za-z0-9_\-]{12,}"
    r"|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|\b(?:gsk|hf|r8|gh[a-z]|fw)_[A-Za-z0-9]{12,}"  # with `_` it would be a name: hf_hub_download
    r"|\bgithub_pat_[A-Za-z0-9_]{12,}"
    r"|\bxox[a-z]-[A-Za-z0-9\-]{12,}"
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|\bA[KS]IA[A-Z0-9]{16}\b"
    r"|\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+"
    r"|(?<=Bearer )[A-Za-z0-9_\-.~+/]{8,}"
)
"""What looks like a key of somebody's; names in programs do not match."""
_BEGINS = (
    "sk[-_]|pk[-_]|rk[-_]|gsk[-_]|xai[-_]|hf[-_]|nvapi[-_]|pplx[-_]|r8[-_]|gh[a-z][-_]"
    "|github_pat[-_]|glpat[-_]|fw[-_]|xox[a-z][-_]|AIza|A[KS]IA|eyJ|Bearer "
)
_MAY_BEGIN = re.compile(_BEGINS)
"""Ten times faster than `_SHAPES`, which tries each of its words at each place; most texts end
here."""
_SHAPE_BEGINS = re.compile(rf"(?<![A-Za-z0-9])(?:{_BEGINS})[^\s\"'<>]*\Z")
_LONGEST_SHAPE = 4096
"""Characters of what looks like a key and has not ended that a stream buffers."""
_CONTEXT = 16
"""Characters before new text that a stream reads again: a key may begin there."""


class Redactor:
    """Replaces each key in a text by `[redacted: NAME]`, or `[redacted]` where it has no name.

    Parameters
    ----------
    secrets : keys to redact besides those of the environment and of this process
    shapes : whether to redact what only looks like a key, too; False where all else must stay
        the same to the character, such as the output of code
    """

    def __init__(self, secrets: Iterable[Secret] = (), *, shapes: bool = True) -> None:
        self.secrets = known_secrets()
        values = [each.reveal() for each in secrets]
        self._instead = {value: "[redacted]" for value in values if len(value) >= SHORTEST}
        for value, name in self.secrets.items():
            self._instead.setdefault(value, f"[redacted: {name}]")
        self.shapes = shapes

    def __bool__(self) -> bool:
        """Whether any text can change."""
        return self.shapes or bool(self._instead)

    def text(self, text: str) -> str:
        """The text without keys."""
        if len(text) < SHORTEST:
            return text
        for value, instead in self._instead.items():
            if value in text:
                text = text.replace(value, instead)
        if self.shapes and _MAY_BEGIN.search(text):
            text = _SHAPES.sub("[redacted]", text)
        return text

    def stream(self) -> RedactingStream:
        """A redactor of one text that arrives in pieces."""
        return RedactingStream(self)

    def safe_length(self, text: str) -> int:
        """The number of characters before a key that may not have ended; all where there is none.

        No whole key crosses this index.
        """
        at = len(text)
        if self.shapes and (match := _SHAPE_BEGINS.search(text, max(0, at - _LONGEST_SHAPE))):
            at = match.start()
        # A journal buffers as little as possible: three characters of a key are no secret.
        at = min(at, partial_suffix(text, self._instead, 4 if self.shapes else 1))
        end = len(text)
        while at < end:
            end = at
            for value in self._instead:
                start = text.find(value, max(0, at - len(value) + 1), at + len(value) - 1)
                at = start if 0 <= start < at else at
        return at


class RedactingStream:
    """Redacts one text in pieces: it buffers only what may be the beginning of a key."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._before = self._buffer = ""

    def feed(self, piece: str) -> str:
        """The text that no later piece can change."""
        before, text = self._before, self._before + self._buffer + piece
        at = max(len(before), self._redactor.safe_length(text))
        self._buffer = text[at:]
        return self._redact(text[:at])

    def end(self) -> str:
        """The rest of the text."""
        text, self._buffer = self._before + self._buffer, ""
        return self._redact(text)

    def _redact(self, text: str) -> str:
        before = self._before
        if len(text) == len(before):
            return ""
        clean = self._redactor.text(text)
        if self._redactor.shapes:
            self._before = clean[-_CONTEXT:]
        same = 0  # a key may begin in what was written
        while same < len(before) and clean[same : same + 1] == before[same]:
            same += 1
        return clean[same:]


def redact(text: str, secrets: Iterable[Secret] = ()) -> str:
    """The text without `secrets`, the known secrets, and whatever looks like a key."""
    return Redactor(secrets).text(text)


def address(url: str) -> str:
    """The address as it may be shown: without its password and without the values of its query."""
    bare = re.sub(r"(?<=://)[^/@\s]*@", "", url)
    at, mark, query = bare.partition("?")
    if mark:
        query = re.sub(r"=[^&#]*", "=…", query)
    return redact(f"{at}{mark}{query}")


_NO_TEXT = ("image", "audio", "file")
"""Types of messages whose content is no text."""


def redact_output(pieces: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
    """What code puts out, without keys; console text that may begin a key waits for its end."""
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
