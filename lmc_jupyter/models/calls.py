"""A tool call -> code, which streams while its arguments are still partial JSON.

One rule: each character of the arguments is decoded once, as it comes, and the code gets its
`end` only when the JSON object is whole.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping

from lmc_jupyter.chat import FUNCTION
from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, canonical

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


_PLAIN = re.compile(r'[^"\\]*')
_BLANK = re.compile(r"[ \t\r\n]*")
_OTHER = re.compile(r'[^"{}\[\],]*')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _Arguments:
    """Decodes a JSON object as it comes; the string under "code" goes out at once.

    JSON as in RFC 8259, but a string may hold raw newlines, as models write them.
    """

    def __init__(
        self, names: Mapping[str, str], out: list[Chunk], language: str | None = None
    ) -> None:
        self.done = False
        self._names, self._out, self._language = names, out, language
        self._language_given = language is not None
        self._state = self._object
        self._string = _String()
        self._key = ""
        self._seen: set[str] = set()
        self._code: list[str] = []
        self._started = False
        self._other: list[str] = []
        self._depth = 0
        self._quoted = self._escaped = False

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            at = self._state(text, at)
        self._say()

    # Each state reads from `at`, says where it stopped, and chooses the next state.

    def _object(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at < len(text):
            self._expect(text, at, "{")
            self._state = self._first_key
            at += 1
        return at

    def _first_key(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at < len(text) and text[at] == "}":
            return self._close(at)
        return self._next_key(text, at)

    def _next_key(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at < len(text):
            self._expect(text, at, '"')
            self._state = self._in_key
            at += 1
        return at

    def _in_key(self, text: str, at: int) -> int:
        at = self._string.read(text, at)
        if self._string.whole:
            self._key = self._string.take()
            if self._key in self._seen:
                raise _invalid(f"the key {self._key[:60]!r} is there twice")
            self._seen.add(self._key)
            self._string = _String()
            self._state = self._colon
        return at

    def _colon(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at < len(text):
            self._expect(text, at, ":")
            self._state = self._value
            at += 1
        return at

    def _value(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at == len(text):
            return at
        if text[at] == '"':
            self._state = self._in_string
            return at + 1
        if self._key in ("language", "code"):
            raise _invalid(f"{self._key!r} is not a string")
        self._state = self._in_other
        return at

    def _in_string(self, text: str, at: int) -> int:
        at = self._string.read(text, at)
        if self._key == "code":
            self._code.append(self._string.take())
        if self._string.whole:
            if self._key == "language" and not self._language_given:
                word = self._string.take().strip().lower()
                if not word:
                    raise _invalid("'language' is empty")
                self._language = self._names.get(word) or canonical(word)
            self._string = _String()
            self._state = self._after_value
        return at

    def _in_other(self, text: str, at: int) -> int:
        """A value that we do not need: read over it, but it must be JSON."""
        start = at
        while at < len(text):
            char = text[at]
            if self._quoted:
                at = self._skip_string(text, at)
                continue
            if char in ",}" and self._depth == 0:
                break
            if char == '"':
                self._quoted = True
                at += 1
                continue
            if char in "[{":
                self._depth += 1
            elif char in "]}":
                self._depth -= 1
            at = _end_of(_OTHER, text, at + 1)
        self._other.append(text[start:at])
        if at < len(text):
            try:
                json.loads("".join(self._other), strict=False)
            except (ValueError, RecursionError):
                raise _invalid(f"the value of {self._key[:60]!r}") from None
            self._other.clear()
            self._state = self._after_value
        return at

    def _skip_string(self, text: str, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        at = _end_of(_PLAIN, text, at)
        if at < len(text):
            self._escaped = text[at] == "\\"
            self._quoted = self._escaped
            at += 1
        return at

    def _after_value(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at == len(text):
            return at
        if text[at] == "}":
            return self._close(at)
        self._expect(text, at, ",")
        self._state = self._next_key
        return at + 1

    def _close(self, at: int) -> int:
        missing = [key for key in ("language", "code") if key not in self._seen]
        if self._language_given and "language" in missing:
            missing.remove("language")
        if missing:
            raise ModelError(
                f"the model called {FUNCTION} without {' and '.join(map(repr, missing))}: ask again"
            )
        self._say()
        if not self._started:  # blank code: there is nothing to stream, but it is a call
            self._out.append(Chunk("assistant", "code", self._language, start=True))
        self._out.append(Chunk("assistant", "code", self._language, end=True))
        self.done = True
        self._state = self._nothing
        return at + 1

    def _nothing(self, text: str, at: int) -> int:
        at = _skip(text, at)
        if at < len(text):
            raise _invalid(f"{text[at : at + 20]!r} after its end")
        return at

    def _say(self) -> None:
        """Pass on the code that has come, once its language is known."""
        if self._language is None or not self._code:
            return
        code = "".join(self._code)
        self._code.clear()
        if code:
            started, self._started = self._started, True
            self._out.append(Chunk("assistant", "code", self._language, code, start=not started))

    def _expect(self, text: str, at: int, char: str) -> None:
        if text[at] != char:
            raise _invalid(f"{text[at : at + 20]!r} where {char} should be")


class _String:
    """Decodes a JSON string as it comes, after its opening quote."""

    def __init__(self) -> None:
        self.whole = False
        self._parts: list[str] = []
        self._escape = ""  # the part of an escape that has come
        self._high = ""  # the first half of a surrogate pair

    def take(self) -> str:
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def read(self, text: str, at: int) -> int:
        """Read on from `at`, up to the closing quote; return where it stopped."""
        while at < len(text):
            if self._escape:
                self._continue_escape(text[at])
                at += 1
                continue
            end = _end_of(_PLAIN, text, at)
            if end > at:
                self._put(text[at:end])
                at = end
            if at < len(text):
                at += 1
                if text[at - 1] == '"':
                    self._put("")
                    self.whole = True
                    return at
                self._escape = "\\"
        return at

    def _continue_escape(self, char: str) -> None:
        self._escape += char
        if len(self._escape) == 2 and char != "u":
            if char not in _ESCAPES:
                raise _invalid(f"the escape {self._escape!r} in a string")
            self._put(_ESCAPES[char])
            self._escape = ""
        elif len(self._escape) == 6:
            digits, self._escape = self._escape[2:], ""
            if not all(digit in "0123456789abcdefABCDEF" for digit in digits):
                raise _invalid(f"the escape \\u{digits} in a string")
            self._unit(int(digits, 16))

    def _unit(self, unit: int) -> None:
        """One UTF-16 unit; a lone surrogate, which no file could hold, becomes U+FFFD."""
        if 0xD800 <= unit < 0xDC00:
            self._put("")
            self._high = chr(unit)
        elif 0xDC00 <= unit < 0xE000:
            high, self._high = self._high, ""
            code = 0x10000 + ((ord(high) - 0xD800) << 10) + unit - 0xDC00 if high else 0xFFFD
            self._put(chr(code))
        else:
            self._put(chr(unit))

    def _put(self, text: str) -> None:
        if self._high:
            self._high = ""
            self._parts.append("\ufffd")
        if text:
            self._parts.append(text)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _skip(text: str, at: int) -> int:
    return _end_of(_BLANK, text, at)


def _invalid(what: str) -> ModelError:
    return ModelError(
        f"the arguments of the model's call of {FUNCTION} are not valid JSON ({what}), "
        "so nothing was run: ask again"
    )
