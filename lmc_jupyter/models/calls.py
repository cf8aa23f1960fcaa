"""A tool call -> code to run or to propose, which streams while its arguments are partial JSON.

One rule: each character of the arguments is decoded once, as it comes, and the code gets its
`end` only when the JSON object is whole.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from lmc_jupyter.content.chat import FORM, FUNCTION, PROPOSE, PROPOSE_FORM, number_of_cell
from lmc_jupyter.errors import CallError
from lmc_jupyter.lmc import Chunk, canonical, clean

_T = TypeVar("_T")
_Steps = Generator[None, None, _T]

_SPACE = " \t\r\n"


class ToolCall:
    """One call: its name, then its arguments; their code streams as they come."""

    def __init__(self, names: Mapping[str, str], out: list[Chunk]) -> None:
        self.id = ""
        self.queue: deque[tuple[str, str]] = deque()
        self.has_begun = self.is_done = self.raw = False
        self._names, self._out = names, out
        self._name = ""
        self._language: str | None = None  # of a function that is called as a language
        self._arguments: _Arguments | None = None

    def read(self) -> None:
        """Read the pieces that have come so far."""
        while self.queue:
            self.has_begun = True
            name, arguments = self.queue.popleft()
            if name and self._arguments is None and not self.raw and name != self._name:
                self._name += name
            if arguments and not self._name.strip():
                self._name = FUNCTION  # some models leave it out
            if arguments:
                self._feed(arguments)

    def end(self, *, whole: bool) -> None:
        """No piece follows; raise if the call is not whole."""
        if not self.has_begun and whole:
            self.read()
        if self.is_done:
            return
        self.is_done = True
        if self.raw and whole:
            self._out.append(Chunk("assistant", "code", self._language, end=True))
        elif whole:
            form = PROPOSE_FORM if self._proposes else FORM
            raise CallError(
                f"The call of {self._name or FUNCTION} stopped before its arguments were complete, "
                f"so nothing was run: call it again. {form}"
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
            self.is_done = self._arguments.is_done

    @property
    def _proposes(self) -> bool:
        return self._name.strip().rpartition(".")[2] == PROPOSE

    def _begin(self, text: str) -> None:
        name = self._name.strip()
        if name.rpartition(".")[2] == FUNCTION:
            self._arguments = _Arguments(self._names, self._out)
        elif self._proposes:
            self._arguments = _ProposalText(self._names, self._out, "python")
        elif (language := self._names.get(name.lower())) is not None:
            self._language = language  # a call of "python" instead of execute
            self.raw = text[0] != "{"
            if self.raw:
                self._out.append(Chunk("assistant", "code", language, start=True))
            else:
                self._arguments = _Arguments(self._names, self._out, language)
        else:
            raise CallError(
                f"The model called a function {name[:60]!r} that does not exist, so nothing was "
                f"run: call {FUNCTION} or {PROPOSE}. {FORM}"
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
"""Characters of a value that we skip, where it is no string."""


class _Arguments:
    """Decodes a JSON object as it comes; the string under "code" goes out at once.

    JSON as in RFC 8259, but a string may hold raw newlines, as models write them.
    """

    function, form, key = FUNCTION, FORM, "code"

    def __init__(
        self, names: Mapping[str, str], out: list[Chunk], language: str | None = None
    ) -> None:
        self.is_done = False
        self._names, self._out, self._language = names, out, language
        self._is_known = language is not None  # what the code is
        self._code: list[str] = []
        self._has_begun = False
        self._text, self._at = "", 0  # the text so far, and where reading goes on
        self._reader = self._object(has_language=language is not None)
        next(self._reader)

    def feed(self, text: str) -> None:
        self._text, self._at = self._text[self._at :] + text, 0
        next(self._reader, None)
        self._emit()

    # Each of these reads on from `_at`, and yields where more text has to come first.

    def _object(self, *, has_language: bool) -> _Steps[None]:
        yield
        keys: set[str] = set()
        others: list[str] = []  # texts under names that the function does not have
        yield from self._expect("{")
        while (yield from self._next()) != "}" or keys:
            yield from self._expect('"')
            key = yield from self._string()
            if key in keys:
                raise self._json_error(f"the key {key[:60]!r} is there twice")
            keys.add(key)
            yield from self._expect(":")
            if (yield from self._next()) == '"':
                self._at += 1
                value = yield from self._string(self._code if key == self.key else None)
                if not self._take(key, value, has_language=has_language):
                    others.append(value)
            elif key in ("language", self.key):
                raise self._json_error(f"{key!r} is not a string")
            else:
                self._take(key, (yield from self._other(key)), has_language=True)
            if (yield from self._next()) == "}":
                break
            yield from self._expect(",")
        if self.key not in keys and len(others) == 1 and others[0].strip():
            keys.add(self.key)  # one text alone can be nothing else
            self._code.append(others[0])
        parameters = [self.key] if has_language else ["language", self.key]
        if missing := [repr(key) for key in parameters if key not in keys]:
            raise CallError(
                f"The model called {self.function} without {' and '.join(missing)}, so nothing was "
                f"run: call it again. {self.form}"
            )
        self._is_known = True
        self._emit()
        if not self._has_begun:  # blank code: there is nothing to stream, but it is a call
            self._out.append(self._piece(start=True))
        self._out.append(self._piece(end=True))
        self.is_done = True
        self._at += 1
        yield from self._next()
        raise self._json_error(f"{self._text[self._at : self._at + 20]!r} after its end")

    def _take(self, key: str, value: Any, *, has_language: bool) -> bool:
        """Take an argument; returns whether the function has one of this name."""
        if key == "language" and not has_language:
            word = value.strip().lower()
            if not word:
                raise self._json_error("'language' is empty")
            self._language = self._names.get(word) or canonical(word)
            self._is_known = True
        return key in ("language", self.key)

    def _piece(self, text: str | None = None, *, start: bool = False, end: bool = False) -> Chunk:
        """A piece of the code."""
        return Chunk("assistant", "code", self._language, text, None, start, end)

    def _next(self) -> _Steps[str]:
        """The next character that is not blank; reading stays before it."""
        while (at := _end_of(_BLANK, self._text, self._at)) == len(self._text):
            self._at = at
            yield
        self._at = at
        return self._text[at]

    def _expect(self, char: str) -> _Steps[None]:
        if (yield from self._next()) != char:
            text = self._text[self._at : self._at + 20]
            raise self._json_error(f"{text!r} where {char} should be")
        self._at += 1

    def _string(self, parts: list[str] | None = None) -> _Steps[str]:
        """The string behind its opening quote; its pieces go into `parts` as they come."""
        parts = [] if parts is None else parts
        while True:
            end = _end_of(_WHOLE, self._text, self._at)
            try:
                part = _JSON.decode(f'"{self._text[self._at : end]}"')
            except json.JSONDecodeError as error:
                raise self._json_error(error.msg) from None
            parts.append(clean(part))  # a lone surrogate could stand in no file
            self._at = end
            if self._text[end : end + 1] == '"':
                self._at += 1
                return "".join(parts)
            yield

    def _other(self, key: str) -> _Steps[Any]:
        """A value that is no string; it must be JSON."""
        while True:
            with suppress(ValueError, RecursionError):
                value, end = _JSON.raw_decode(self._text, self._at)
                if self._text[end : end + 1] in (",", "}", *_SPACE):  # a number may go on
                    self._at = end
                    return value
            if len(self._text) - self._at > MAX_OTHER:
                raise self._json_error(f"the value of {key[:60]!r}")
            yield

    def _emit(self) -> None:
        """Pass on the code that has come, once it is known what it is."""
        if not self._is_known:
            return
        code = "".join(self._code)
        self._code.clear()
        if code:
            start, self._has_begun = not self._has_begun, True
            self._out.append(self._piece(code, start=start))

    def _json_error(self, what: str) -> CallError:
        return CallError(
            f"The arguments of the model's call of {self.function} are not valid JSON ({what}), "
            f"so nothing was run: call it again. {self.form}"
        )


class _ProposalText(_Arguments):
    """Decodes the arguments of a proposal; its source goes out once its cell is known."""

    function, form, key = PROPOSE, PROPOSE_FORM, "source"

    def __init__(
        self, names: Mapping[str, str], out: list[Chunk], language: str | None = None
    ) -> None:
        super().__init__(names, out, language)
        self._is_known = False
        self._cell: int | None = None

    def _take(self, key: str, value: Any, *, has_language: bool) -> bool:
        if key == "cell":
            self._cell, self._is_known = number_of_cell(value), True
            return True
        if key == "language" and isinstance(value, str):
            word = value.strip().lower()
            self._language = self._names.get(word) or self._language
        return super()._take(key, value, has_language=has_language)

    def _piece(self, text: str | None = None, *, start: bool = False, end: bool = False) -> Chunk:
        piece = super()._piece(text, start=start, end=end)
        return replace(piece, recipient="user", cell=self._cell)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
