"""The text of a reply -> prose, code and thoughts, line by line.

One rule: a line goes on as soon as it can no longer be a fence or a tag, and a block is whole
only when its closing fence has come.

Fences as in CommonMark 0.31, "Fenced code blocks".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lmc_jupyter.content.chat import number_of_cell
from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Chunk, Recipient
from lmc_jupyter.stream import partial_suffix

_SPACE = " \t\r\n"
_NESTING = {"markdown", "md", "mdx", "qmd", "rmd", "myst"}  # blocks that show fences themselves
_TAGS = ("<think>", "<thinking>")
MAX_FENCE = 250
"""Characters of a line that may open or close a block; a longer one is text."""


class Prose:
    """Writes the text of a message, without the blank lines around it."""

    def __init__(self, out: list[Chunk], recipient: Recipient | None = None) -> None:
        self._out, self._recipient = out, recipient
        self._has_begun = False
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
        if not self._has_begun:
            self._has_begun = True
            blank = len(body) - len(body.lstrip(_SPACE))
            body = body[body.rfind("\n", 0, blank) + 1 :]
        self._out.append(Chunk("assistant", "message", content=body, recipient=self._recipient))

    def stop(self) -> None:
        """The message ends here."""
        self._has_begun = False
        self._space.clear()


class FenceSplitter:
    """Splits text into prose, code and thoughts, line by line.

    A line is passed on as soon as it cannot be a fence or a tag any more; the first
    characters decide.
    """

    def __init__(self, names: Mapping[str, str], out: list[Chunk]) -> None:
        self._names, self._out = names, out
        self.prose = Prose(out)
        self._thought = Prose(out, "user")
        self.thoughts: list[str] = []  # they came inside code; they are shown after it
        self._return = False  # a \r that may belong to a \r\n
        self._tail = ""  # of a thought: it may begin the closing tag
        self._tag = ""
        self._fence: _Fence | None = None
        self._start: str | None = ""  # of a line that may be a fence or a tag; None: it is neither

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
                start = stop - self._read_part(text[start:stop])

    def end(self, *, whole: bool) -> None:
        """The text ends here, or a tool call follows; raise if the last block is not whole."""
        if self._return:
            self._return = False
            self._read_part("\r")
        if self._tag:
            self._thought.put(self._tail)
            self._thought.stop()
            self._tag = self._tail = ""
        rest = self._start or ""
        opens = False
        if rest and whole and self._fence is not None and self._fence.is_closed_by(rest):
            self._close(rest)
        elif rest:
            opens = self._fence is None and self._parse_opening(rest) is not None
            self._write(rest)
        fence, self._fence, self._start = self._fence, None, ""
        if fence is not None and fence.language is not None:
            if not fence.has_begun:
                self.prose.put("".join([fence.opening, *fence.blank]))
            self.thoughts.clear()  # after unfinished code they would look like its end
            opens = True
        self.prose.stop()
        if opens and whole:
            raise ModelError(
                "the model's reply stopped inside a block of code, which was not run: "
                "ask it to continue"
            )

    def _read_part(self, part: str) -> int:
        """Read a line, or a part of one; return how many characters of its end belong to a thought.

        Only the last character may be a newline.
        """
        if self._start is not None:
            part, self._start = self._start + part, None
            if self._fence is None and (tag := _TAG.match(part)) is not None:
                self._tag = tag[1].replace("<", "</")
                self.prose.stop()
                self._start = ""
                return len(part) - tag.end()
            if self._may_be_fence(part):
                if part.endswith("\n"):
                    self._read_fence(part)
                    part = ""
                self._start = part
                return 0
        self._write(part)
        if part.endswith("\n"):
            self._start = ""
        return 0

    def _may_be_fence(self, text: str) -> bool:
        """Whether a line with this beginning may be a fence, or a tag of a thought."""
        body, fence = text.lstrip(" "), self._fence
        if len(text) - len(body) > 3 or len(text) > MAX_FENCE:
            return False
        if fence is None and body and any(tag.startswith(body) for tag in _TAGS):
            return True
        for char in "`~" if fence is None else fence.char:
            run = len(body) - len(body.lstrip(char))
            if run == len(body.rstrip("\n")) or run >= (3 if fence is None else fence.length):
                return True
        return False

    def _read_fence(self, text: str) -> None:
        """Read a whole line that may be a fence."""
        fence = self._fence
        if fence is None:
            self._fence = opening = self._parse_opening(text)
            if opening is None or opening.language is None:
                self.prose.put(text)
        elif fence.is_closed_by(text):
            self._close(text)
        else:
            if fence.nesting and (inner := _FENCE.match(text)) and inner["info"]:
                fence.depth += 1
            self._write(text)

    def _parse_opening(self, text: str) -> _Fence | None:
        match = _FENCE.match(text)
        if match is None or (match["run"][0] == "`" and "`" in match["info"]):
            return None
        word = _WORD.match(match["info"])
        word_text = word[1].lower() if word else ""
        return _Fence(
            opening=text,
            indent=len(match["indent"]),
            char=match["run"][0],
            length=len(match["run"]),
            language=self._names.get(word_text),
            nesting=word_text in _NESTING,
            cell=cell[1] if (cell := _CELL.search(match["info"])) else None,
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
        elif not fence.has_begun:  # nothing to run: the block is text
            self.prose.put("".join([fence.opening, *fence.blank, text]))
        else:
            self._out.append(fence.piece(end=True))
        self._say_thoughts()

    def _write(self, text: str) -> None:
        """Write text that is no fence: of the message, or of the open block."""
        fence = self._fence
        if fence is None or fence.language is None:
            self.prose.put(text)
            return
        if fence.indent and fence.at_line_start:
            blank = len(text) - len(text.lstrip(" "))
            text = text[min(fence.indent, blank) :]
        fence.at_line_start = text.endswith("\n")
        if not fence.has_begun:
            fence.blank.append(text)
            if not text.strip():
                return
            fence.has_begun = True
            self.prose.stop()
            text, fence.blank = "".join(fence.blank), []
            self._out.append(fence.piece(start=True))
        if fence.newline:
            text = "\n" + text
        fence.newline = text.endswith("\n")  # the newline before the closing fence is not code
        if fence.newline:
            text = text[:-1]
        if text:
            self._out.append(fence.piece(text))

    def _say_thoughts(self) -> None:
        for text in self.thoughts:
            self._thought.put(text)
        self._thought.stop()
        self.thoughts.clear()

    def _think(self, text: str, start: int) -> int:
        """Read a thought up to its closing tag; return where the text goes on."""
        at = text.find(self._tag, start)
        if at >= 0:
            self._thought.put(text[start:at])
            self._thought.stop()
            start = at + len(self._tag)
            self._tag = ""
            return start
        stop = start + partial_suffix(text[start:], (self._tag,))
        self._thought.put(text[start:stop])
        self._tail = text[stop:]
        return len(text)


_FENCE = re.compile(r"(?P<indent> {0,3})(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*?)[ \t]*\n?\Z")
_TAG = re.compile(" {0,3}(<think(?:ing)?>)")
_WORD = re.compile(r"\{?\s*\.?([^\s,{}:=]+)")  # python, {python}, {.python}, python title="x"
_CELL = re.compile(r"\bcell=[\"']?(\w+)")  # python cell=7, python cell=new: a proposal


@dataclass(slots=True)
class _Fence:
    """An open block. `language` is None for a block that only a person reads; `cell` for one that
    is no proposal.
    """

    opening: str
    indent: int
    char: str
    length: int
    language: str | None
    nesting: bool
    cell: str | None = None
    depth: int = 0
    has_begun: bool = False
    newline: bool = False
    at_line_start: bool = True
    blank: list[str] = field(default_factory=list)

    def piece(self, text: str | None = None, *, start: bool = False, end: bool = False) -> Chunk:
        """A piece of its code."""
        piece = Chunk("assistant", "code", self.language, text, None, start, end)
        if self.cell is None:
            return piece
        return replace(piece, recipient="user", cell=number_of_cell(self.cell))

    def is_closed_by(self, text: str) -> bool:
        body = text.lstrip(" ")
        run = body.rstrip(_SPACE)
        return len(text) - len(body) <= 3 and len(run) >= self.length and not run.strip(self.char)
