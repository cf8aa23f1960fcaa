"""The text of a reply -> prose, code and thoughts, line by line.

One rule: a line is passed on as soon as it cannot be a fence or a tag any more, and a block
is code only when its closing fence has come.

Fences as in CommonMark 0.31, "Fenced code blocks".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, Recipient
from lmc_jupyter.stream import partial_suffix

_SPACE = " \t\r\n"
_FENCES = "`~"
_NESTING = {"markdown", "md", "mdx", "qmd", "rmd", "myst"}  # blocks that show fences themselves
_TAGS = ("<think>", "<thinking>")


class Prose:
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


class Text:
    """Splits text into prose, code and thoughts, line by line.

    A line is passed on as soon as it cannot be a fence or a tag any more; the first
    characters decide.
    """

    def __init__(self, names: Mapping[str, str], out: list[Chunk]) -> None:
        self._names, self._out = names, out
        self.prose = Prose(out)
        self._thought = Prose(out, "user")
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
                "the model's reply stopped inside a block of code, which was not run: "
                "ask it to continue"
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
        stop = start + partial_suffix(text[start:], (self._tag,))
        self._thought.put(text[start:stop])
        self._tail = text[stop:]
        return len(text)


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
