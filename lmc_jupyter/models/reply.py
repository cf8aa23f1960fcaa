"""The text, reasoning and tool calls of one model reply -> pieces of LMC messages.

One rule: how the provider cut the reply makes no difference, and code gets its `end` only
when it is whole: its fence has closed, or its arguments are a whole JSON object. Every
character is looked at a constant number of times.

Rules of lmc.md section 3; fences as in CommonMark 0.31, "Fenced code blocks".
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, Recipient, canonical

FUNCTION = "execute"
"""The one function that a model may call: execute(language, code)."""

_SPACE = " \t\r\n"
_FENCES = "`~"
_NESTING = {"markdown", "md", "mdx", "qmd", "rmd", "myst"}  # blocks that show fences themselves
_TAGS = ("<think>", "<thinking>")


class Reply:
    """Reads one reply as it streams; each method returns the pieces that have become sure.

    Parameters
    ----------
    languages : name -> other words for it
        Blocks in these become code; any other block is part of the message, word for word.
    """

    def __init__(self, languages: Mapping[str, tuple[str, ...]]) -> None:
        self._names = {
            word.lower(): name for name, words in languages.items() for word in (name, *words)
        }
        self._out: list[Chunk] = []
        self._text = _Text(self._names, self._out)
        self._thought = _Prose(self._out, "user")
        self._calls: dict[int, _Call] = {}
        # in the order of arrival: text, or a call, whose later pieces come by its index
        self._queue: deque[str | _Thought | _Call] = deque()

    def text(self, delta: str) -> Iterator[Chunk]:
        """Take the next piece of the reply's text."""
        if delta:
            self._queue.append(delta)
        return self._take()

    def reasoning(self, delta: str) -> Iterator[Chunk]:
        """Take the next piece of what the model thinks: for the person, never sent back."""
        if delta:
            self._queue.append(_Thought(delta))
        return self._take()

    def tool(
        self, index: int | None, id: str | None, name: str | None, arguments: str | None
    ) -> Iterator[Chunk]:
        """Take the next piece of a tool call; `None` and `""` mean "not in this piece".

        Raises
        ------
        ModelError
            For a function that there is not, or arguments that are not what it takes.
        """
        call = self._calls.get(index or 0)
        if call is None or (id and call.id and id != call.id):  # some give every call index 0
            call = self._calls[index or 0] = _Call(self._names, self._out)
            self._queue.append(call)
        call.id = id or call.id
        call.waiting.append((name or "", arguments or ""))
        if call.done:
            call.read()
        return self._take()

    def end(self) -> Iterator[Chunk]:
        """The provider says that the reply is whole.

        Raises
        ------
        ModelError
            After the last pieces, when it broke off inside a block of code or a tool call.
        """
        return self._take(last=True, whole=True)

    def cut(self) -> Iterator[Chunk]:
        """The connection broke here: return what was held back, none of it with an `end`."""
        return self._take(last=True, whole=False)

    def _take(self, *, last: bool = False, whole: bool = True) -> Iterator[Chunk]:
        error = None
        try:
            self._read()
            if last:
                self._read_last(whole=whole)
        except ModelError as problem:
            error = problem
            self._queue.clear()  # anything behind unfinished code would look like its end
        yield from _merged(self._out)
        self._out.clear()
        if error is not None:
            raise error

    def _read(self) -> None:
        """Everything in the queue, up to a call that is not whole yet."""
        queue = self._queue
        while queue:
            item = queue[0]
            if isinstance(item, _Call):
                if not item.begun:
                    self._text.end(whole=True)
                    self._thought.stop()
                item.read()
                if item.raw and len(queue) > 1:
                    item.end(whole=True)
                if not item.done:
                    return
            elif isinstance(item, str):
                self._thought.stop()
                self._text.feed(item)
            elif self._text.in_code:
                self._text.thoughts.append(item.text)  # a block of code is not broken in two
            else:
                self._text.prose.stop()
                self._thought.put(item.text)
            queue.popleft()

    def _read_last(self, *, whole: bool) -> None:
        while self._queue:
            item = self._queue.popleft()
            if isinstance(item, _Call):
                if not (whole or item.done):
                    self._queue.clear()
                    return
                item.end(whole=whole)
            self._read()
        self._text.end(whole=whole)


@dataclass(frozen=True, slots=True)
class _Thought:
    text: str


def _merged(pieces: list[Chunk]) -> Iterator[Chunk]:
    """One piece for what arrived at once."""
    first: Chunk | None = None
    parts: list[str] = []
    for piece in pieces:
        if first is not None and piece.key == first.key and not piece.start and not piece.end:
            parts.append(piece.content)
            continue
        if first is not None:
            yield _joined(first, parts)
        first, parts = (None, []) if piece.end else (piece, [])
        if piece.end:
            yield piece
    if first is not None:
        yield _joined(first, parts)


def _joined(first: Chunk, parts: list[str]) -> Chunk:
    if not parts:
        return first
    content = "".join([first.content or "", *parts])
    return Chunk(first.role, first.type, first.format, content, first.recipient, first.start)


# Text ---------------------------------------------------------------------------------------------


class _Prose:
    """Writes text, without the blank lines around a message."""

    def __init__(self, out: list[Chunk], recipient: Recipient | None = None) -> None:
        self._out, self._recipient = out, recipient
        self._begun = False
        self._space: list[str] = []

    def put(self, text: str) -> None:
        body = text.rstrip(_SPACE)
        if not body:
            self._space.append(text)
            return
        if self._space:
            space, self._space = "".join(self._space), []
        else:
            space = ""
        if len(body) < len(text):
            self._space.append(text[len(body) :])
        body = space + body
        if not self._begun:
            self._begun = True
            blank = len(body) - len(body.lstrip(_SPACE))
            body = body[body.rfind("\n", 0, blank) + 1 :]
        self._out.append(Chunk("assistant", "message", content=body, recipient=self._recipient))

    def stop(self) -> None:
        """The message ends here."""
        self._begun = False
        self._space.clear()


class _Text:
    """Splits text into prose, code and thoughts, line by line.

    A line is passed on as soon as it cannot be a fence or a tag any more; the first
    characters decide.
    """

    def __init__(self, names: Mapping[str, str], out: list[Chunk]) -> None:
        self._names, self._out = names, out
        self.prose = _Prose(out)
        self._thought = _Prose(out, "user")
        self.thoughts: list[str] = []  # they came inside code and are said after it
        self._return = False  # a \r that may belong to a \r\n
        self._tail = ""  # of a thought: it may begin the closing tag
        self._tag = ""
        self._fence: _Fence | None = None
        self._line = _Line(None)

    @property
    def in_code(self) -> bool:
        return self._fence is not None and self._fence.language is not None

    def feed(self, text: str) -> None:
        if self._tail or self._return:
            text = self._tail + ("\r" if self._return else "") + text
            self._tail = ""
        self._return = text.endswith("\r")
        if self._return:
            text = text[:-1]
        text = text.replace("\r\n", "\n")
        start = 0
        while start < len(text):
            if self._tag:
                start = self._think(text, start)
            else:
                stop = text.find("\n", start) + 1 or len(text)
                start = stop - self._part(text[start:stop])

    def end(self, *, whole: bool) -> None:
        """No text follows, or a tool call does; raise if the last block of code is not whole."""
        if self._return:
            self._return = False
            self._part("\r")
        if self._tag:
            self._thought.put(self._tail)
            self._thought.stop()
            self._tag = self._tail = ""
        rest = "" if self._line.plain else self._line.held()
        opens = False
        if rest and whole and self._fence is not None and self._fence.closed_by(rest):
            self._close(rest)
        elif rest:
            opens = self._fence is None and self._opened(rest) is not None
            self._write(rest)
        fence, self._fence = self._fence, None
        self._line = _Line(None)
        if fence is not None and fence.language is not None:
            if not fence.begun:
                self.prose.put("".join([fence.opening, *fence.blank]))
            self.thoughts.clear()  # after unfinished code they would look like its end
            opens = True
        self.prose.stop()
        if opens and whole:
            raise ModelError(
                "the model's reply broke off inside a block of code, which was not run: "
                "ask it to go on"
            )

    def _part(self, part: str) -> int:
        """A line, or a part of one, and how much of its end belongs to a thought.

        Only its last character may be a newline.
        """
        line, rest = self._line, 0
        if not line.plain:
            line.add(part)
            if line.tag:
                self._tag = line.tag.replace("<", "</")
                self.prose.stop()
                rest = len(line.held().lstrip(" ")) - len(line.tag)
                self._line = _Line(None)
                return rest
            if line.plain:
                part = line.held()
            elif part.endswith("\n"):
                self._whole_line(line.held())
                self._line = _Line(self._fence)
                return 0
            else:
                return 0
        self._write(part)
        if part.endswith("\n"):
            self._line = _Line(self._fence)
        return 0

    def _whole_line(self, text: str) -> None:
        """A line that may be a fence."""
        fence = self._fence
        if fence is None:
            self._fence = opened = self._opened(text)
            if opened is None or opened.language is None:
                self.prose.put(text)
        elif fence.closed_by(text):
            self._close(text)
        else:
            if fence.nesting and (inner := _FENCE.match(text)) and inner["info"]:
                fence.depth += 1
            self._write(text)

    def _opened(self, text: str) -> _Fence | None:
        found = _FENCE.match(text)
        if found is None or (found["run"][0] == "`" and "`" in found["info"]):
            return None
        word = _WORD.match(found["info"])
        word_text = word[1].lower() if word else ""
        return _Fence(
            opening=text,
            indent=len(found["indent"]),
            char=found["run"][0],
            length=len(found["run"]),
            language=self._names.get(word_text),
            nesting=word_text in _NESTING,
        )

    def _close(self, text: str) -> None:
        fence = self._fence
        assert fence is not None
        if fence.depth:
            fence.depth -= 1
            self.prose.put(text)
            return
        self._fence = None
        if fence.language is None:
            self.prose.put(text)
        elif not fence.begun:  # nothing to run: what was written is text
            self.prose.put("".join([fence.opening, *fence.blank, text]))
        else:
            self._out.append(Chunk("assistant", "code", fence.language, end=True))
        self._say_thoughts()

    def _write(self, text: str) -> None:
        """Text that is no fence: of the message, or of the open block."""
        fence = self._fence
        if fence is None or fence.language is None:
            self.prose.put(text)
            return
        if fence.indent and fence.at_line_start:
            blank = len(text) - len(text.lstrip(" "))
            text = text[min(fence.indent, blank) :]
        fence.at_line_start = text.endswith("\n")
        if not fence.begun:
            fence.blank.append(text)
            if not text.strip():
                return
            fence.begun = True
            self.prose.stop()
            text, fence.blank = "".join(fence.blank), []
            self._out.append(Chunk("assistant", "code", fence.language, start=True))
        if fence.newline:
            text = "\n" + text
        fence.newline = text.endswith("\n")  # the one before the closing fence is not code
        if fence.newline:
            text = text[:-1]
        if text:
            self._out.append(Chunk("assistant", "code", fence.language, text))

    def _say_thoughts(self) -> None:
        for text in self.thoughts:
            self._thought.put(text)
        self._thought.stop()
        self.thoughts.clear()

    def _think(self, text: str, start: int) -> int:
        """Read up to the closing tag; return where the text goes on."""
        found = text.find(self._tag, start)
        if found >= 0:
            self._thought.put(text[start:found])
            self._thought.stop()
            start = found + len(self._tag)
            self._tag = ""
            return start
        stop = len(text) - _overlap(text, self._tag)
        self._thought.put(text[start : max(start, stop)])
        self._tail = text[max(start, stop) :]
        return len(text)


def _overlap(text: str, tag: str) -> int:
    """How long the end of the text is that may begin the tag."""
    return next(
        (n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0
    )


_FENCE = re.compile(r"(?P<indent> {0,3})(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*?)[ \t]*\n?\Z")
_WORD = re.compile(r"\{?\s*\.?([^\s,{}:=]+)")  # python, {python}, {.python}, python title="x"


@dataclass(slots=True)
class _Fence:
    """An open block. `language` is None for one that is only to be read."""

    opening: str
    indent: int
    char: str
    length: int
    language: str | None
    nesting: bool
    depth: int = 0
    begun: bool = False
    newline: bool = False
    at_line_start: bool = True
    blank: list[str] = field(default_factory=list)

    def closed_by(self, text: str) -> bool:
        body = text.lstrip(" ")
        run = body.rstrip(_SPACE)
        return len(text) - len(body) <= 3 and len(run) >= self.length and not run.strip(self.char)


class _Line:
    """The beginning of a line, until it is plain, a tag, or whole."""

    def __init__(self, fence: _Fence | None) -> None:
        self.plain = False
        self.tag = ""
        self._prose = fence is None
        self._chars = _FENCES if fence is None else fence.char
        self._length = 3 if fence is None else fence.length
        self._parts: list[str] = []
        self._state = "indent"
        self._count = 0

    def held(self) -> str:
        return "".join(self._parts)

    def add(self, part: str) -> None:
        self._parts.append(part)
        if self._state == "indent":
            body = part.lstrip(" ")
            self._count += len(part) - len(body)
            if self._count > 3:
                self.plain = True
            elif body and body[0] in self._chars:
                self._state, self._chars, self._count, part = "run", body[0], 0, body
            elif body and body[0] == "<" and self._prose:
                self._state = "tag"
            elif body and body != "\n":
                self.plain = True
        if self._state == "run":
            body = part.lstrip(self._chars)
            self._count += len(part) - len(body)
            if body and self._count >= self._length:
                self._state = "fence"  # as long as the line is not whole
            elif body and body[0] != "\n":
                self.plain = True
        elif self._state == "tag":
            body = self.held().lstrip(" ")
            self.tag = next((tag for tag in _TAGS if body.startswith(tag)), "")
            self.plain = not self.tag and not any(tag.startswith(body) for tag in _TAGS)


# Tool calls ---------------------------------------------------------------------------------------


class _Call:
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
                f"the model's call of {self._name or FUNCTION} broke off before its arguments "
                "were whole, so nothing was run: ask it to go on"
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
