"""A tool call -> code, which streams while its arguments are still partial JSON.

One rule: each character of the arguments is decoded once, as it comes, and the code gets its
`end` only when the JSON object is whole.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import TypeVar

from lmc_jupyter.content.chat import FUNCTION
from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, canonical, clean

_T = TypeVar("_T")
_Steps = Generator[None, None, _T]

_SPACE = " \t\r\n"


class Call:
    """One call: its name, then its arguments, whose code streams while they come."""

    def __init__(self, names: Mapping[str, str], out: list[Chunk]) -> None:
        self.id = ""
        self.waiting: deque[tuple[str, str]] = deque()
        self.begun = self.done = self.raw = False
        self._names, self._out = names, out
        self._name = ""
        self._language: str | None = None  # when the name of the function says it
        self._arguments: _Arguments | None = None

    def read(self) -> None:
        """What has come for it so far."""
        while self.waiting:
            self.begun = True
            name, arguments = self.waiting.popleft()
            if name and self._arguments is None and not self.raw and name != self._name:
                self._name += name
            if arguments and not self._name.strip():
                self._name = FUNCTION  # some leave it out
            if arguments:
                self._feed(arguments)

    def end(self, *, whole: bool) -> None:
        """Nothing more comes for it; raise if it is not whole."""
        if not self.begun and whole:
            self.read()
        if self.done:
            return
        self.done = True
        if self.raw and whole:
            self._out.append(Chunk("assistant", "code", self._language, end=True))
        elif whole:
            raise ModelError(
                f"the model's call of {self._name or FUNCTION} stopped before its arguments "
                "were complete, so nothing was run: ask it to continue"
            )

    def _feed(self, text: str) -> None:
        if self._arguments is None and not self.raw:
            text = text.lstrip(_SPACE)
            if not text:
                return
            self._begin(text)
        if self.raw:
            self._out.append(Chunk("assistant", "code", self._language, text))
        elif self._arguments is not None:
            self._arguments.feed(text)
            self.done = self._arguments.done

    def _begin(self, text: str) -> None:
        name = self._name.strip()
        if name.rpartition(".")[2] == FUNCTION:
            self._arguments = _Arguments(self._names, self._out)
        elif (language := self._names.get(name.lower())) is not None:
            self._language = language  # a call of "python" instead of execute
            self.raw = text[0] != "{"
            if self.raw:
                self._out.append(Chunk("assistant", "code", language, start=True))
            else:
                self._arguments = _Arguments(self._names, self._out, language)
        else:
            raise ModelError(
                f"the model called a function {name[:60]!r} that does not exist: "
                f"there is only {FUNCTION}(language, code); ask again, or choose another model"
            )


_BLANK = re.compile(r"[ \t\r\n]*")
_WHOLE = re.compile(
    r"""(?: [^"\\]+ | \\[^u] | \\u(?![dD][89abAB])....
        | \\u[dD][89abAB].. (?= [^\\] | \\[^u] | \\u.... )  # the second of a pair comes too
    )*""",
    re.DOTALL | re.VERBOSE,
)
"""As much of a string as can be decoded: no half of an escape, nor of a surrogate pair."""
_JSON = json.JSONDecoder(strict=False)
MAX_OTHER = 10_000
"""Characters of a value that is not needed and no string."""


class _Arguments:
    """Decodes a JSON object as it comes; the string under "code" goes out at once.

    JSON as in RFC 8259, but a string may hold raw newlines, as models write them.
    """

    def __init__(
        self, names: Mapping[str, str], out: list[Chunk], language: str | None = None
    ) -> None:
        self.done = False
        self._names, self._out, self._language = names, out, language
        self._code: list[str] = []
        self._started = False
        self._text, self._at = "", 0  # what has come, and where reading goes on
        self._reader = self._object(language_given=language is not None)
        next(self._reader)

    def feed(self, text: str) -> None:
        self._text, self._at = self._text[self._at :] + text, 0
        next(self._reader, None)
        self._say()

    # Each of these reads on from `_at`, and yields where more text has to come first.

    def _object(self, *, language_given: bool) -> _Steps[None]:
        yield
        seen: set[str] = set()
        yield from self._expect("{")
        while (yield from self._next()) != "}" or seen:
            yield from self._expect('"')
            key = yield from self._string()
            if key in seen:
                raise _invalid(f"the key {key[:60]!r} is there twice")
            seen.add(key)
            yield from self._expect(":")
            if (yield from self._next()) == '"':
                self._at += 1
                value = yield from self._string(self._code if key == "code" else None)
                if key == "language" and not language_given:
                    word = value.strip().lower()
                    if not word:
                        raise _invalid("'language' is empty")
                    self._language = self._names.get(word) or canonical(word)
            elif key in ("language", "code"):
                raise _invalid(f"{key!r} is not a string")
            else:
                yield from self._other(key)
            if (yield from self._next()) == "}":
                break
            yield from self._expect(",")
        needed = ["code"] if language_given else ["language", "code"]
        if missing := [repr(key) for key in needed if key not in seen]:
            raise ModelError(
                f"the model called {FUNCTION} without {' and '.join(missing)}: ask again"
            )
        self._say()
        if not self._started:  # blank code: there is nothing to stream, but it is a call
            self._out.append(Chunk("assistant", "code", self._language, start=True))
        self._out.append(Chunk("assistant", "code", self._language, end=True))
        self.done = True
        self._at += 1
        yield from self._next()
        raise _invalid(f"{self._text[self._at : self._at + 20]!r} after its end")

    def _next(self) -> _Steps[str]:
        """The next character that is not blank; it is not taken."""
        while (at := _end_of(_BLANK, self._text, self._at)) == len(self._text):
            self._at = at
            yield
        self._at = at
        return self._text[at]

    def _expect(self, char: str) -> _Steps[None]:
        if (yield from self._next()) != char:
            found = self._text[self._at : self._at + 20]
            raise _invalid(f"{found!r} where {char} should be")
        self._at += 1

    def _string(self, parts: list[str] | None = None) -> _Steps[str]:
        """A string behind its opening quote; into `parts` it goes as it comes."""
        parts = [] if parts is None else parts
        while True:
            end = _end_of(_WHOLE, self._text, self._at)
            try:
                part = _JSON.decode(f'"{self._text[self._at : end]}"')
            except json.JSONDecodeError as error:
                raise _invalid(error.msg) from None
            parts.append(clean(part))  # a lone surrogate could stand in no file
            self._at = end
            if self._text[end : end + 1] == '"':
                self._at += 1
                return "".join(parts)
            yield

    def _other(self, key: str) -> _Steps[None]:
        """Read over a value that is not needed; it must be JSON."""
        while True:
            with suppress(ValueError, RecursionError):
                _, end = _JSON.raw_decode(self._text, self._at)
                if self._text[end : end + 1] in (",", "}", *_SPACE):  # a number may go on
                    self._at = end
                    return
            if len(self._text) - self._at > MAX_OTHER:
                raise _invalid(f"the value of {key[:60]!r}")
            yield

    def _say(self) -> None:
        """Pass on the code that has come, once its language is known."""
        if self._language is None:
            return
        code = "".join(self._code)
        self._code.clear()
        if code:
            started, self._started = self._started, True
            self._out.append(Chunk("assistant", "code", self._language, code, start=not started))


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _invalid(what: str) -> ModelError:
    return ModelError(
        f"the arguments of the model's call of {FUNCTION} are not valid JSON ({what}), "
        "so nothing was run: ask again"
    )
