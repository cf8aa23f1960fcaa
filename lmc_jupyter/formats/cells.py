"""A passage of a conversation <-> the cells of a notebook that shows it.

One rule: code that ran, and that Jupyter can run, is a code cell; everything else is Markdown that
loads nothing. The same passage gives the same cells, so that a reader can compare them with cells
that somebody has edited.

Shapes: the notebook format 4.5. HTML of a conversation is put out in Jupyter's own page only as a
plain table; a page with scripts is shown again, in a frame, when its cell is run.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import nh3

from lmc_jupyter.content import terminal
from lmc_jupyter.content.chat import decode_base64, place_of_cell
from lmc_jupyter.content.html import html_text, plain_table
from lmc_jupyter.content.nested import around, nested_document
from lmc_jupyter.formats.passages import Passage, is_text
from lmc_jupyter.formats.safe_markdown import (
    code_block,
    fold,
    html_block,
    line,
    plain,
    quote,
    quote_safely,
    safe,
    unquote,
)
from lmc_jupyter.lmc import (
    TAKEN,
    TAKINGS,
    Message,
    Recipient,
    Role,
    canonical,
    cell_of,
    is_proposal,
    is_thought,
)

QUESTION = "> **You:**\n>\n"
"""Stands before a question, in the same quotation."""

THOUGHTS = "> **Thoughts:**\n>\n"
"""The same before what a model said to itself."""

_MAGICS = {
    "shell": "%%bash",
    "r": "%%R",
    "javascript": "%%script node",
    "ruby": "%%ruby",
    "perl": "%%perl",
    "applescript": "%%script osascript",
}
_PAGES = ("html", "browser")
_BY_MAGIC = {
    **{magic: language for language, magic in _MAGICS.items()},
    "%%sh": "shell",
    "%%javascript": "browser",
    "%%js": "browser",
    "%%html": "html",
    "%%HTML": "html",
}
_PAGE = """\
# A page with scripts, in two frames without a network: they run when you say so
import json
from html import escape

from IPython.display import HTML

page = \"\"\"\\
"""
_PAGE_END = f'''"""
frames = {nested_document("PAGE", "html", is_still=True).split(json.dumps("PAGE"))}
framed = escape(json.dumps(page).replace("<", "\\\\u003c").join(frames))
HTML(f{f"<div>{around('{framed}')}</div>"!r})'''
_FRAMES = re.compile(r'"""\nframes = \[.*\]\nframed = .*\nHTML\(f.*\)\Z')


@dataclass
class NewCell:
    """A cell before it is one of nbformat's; `outputs` and `attachments` are in its own form."""

    kind: str
    source: str
    outputs: list[dict[str, Any]] = field(default_factory=list)
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)
    role: str = "block"  # or "rest": a second cell of the same block

    def same(self, other: NewCell) -> bool:
        """Whether a reader sees the same."""
        return (self.kind, self.source, self.outputs, self.attachments) == (
            other.kind,
            other.source,
            other.outputs,
            other.attachments,
        )


def can_run(language: str | None) -> bool:
    """Whether Jupyter runs this language in a cell."""
    return canonical(language or "") in ("python", *_MAGICS, *_PAGES)


def cells_of(passage: Passage, lines: int = 0) -> list[NewCell]:
    """The cells that show a passage.

    Parameters
    ----------
    lines : of a passage that failed, how many are run all the same, because later code needs what
        they make
    """
    if not passage.is_code:
        return [_text_cell(passage.first)]
    if passage.fate == "ran" and can_run(passage.first.format):
        return [
            NewCell("code", _source(passage.first), [_output(each) for each in passage.visible])
        ]
    if lines:
        code = str(passage.first.content).split("\n")
        part = NewCell("code", "\n".join(code[:lines]).rstrip())
        return [part, _not_run(passage, "\n".join(code[lines:]))]
    return [_not_run(passage, str(passage.first.content))]


# Code ---------------------------------------------------------------------------------------------


def _source(message: Message) -> str:
    language, code = canonical(message.format or ""), str(message.content)
    if language == "python":
        return code
    if language in _MAGICS:
        return f"{_MAGICS[language]}\n{code}"
    if language == "html" and _is_harmless(code):
        return f"%%html\n{code}"
    page = code if language == "html" else f"<script>\n{code}\n</script>"
    return f"{_PAGE}{_ESCAPES.sub(_escape, page)}{_PAGE_END}"


_ESCAPES = re.compile(r'\\|"(?="|\Z)|>(?=>>)|[^\n\x20-\x7e]')
"""What is escaped between the quotation marks of a page: of several `"`, or of one at the end, none
stands beside another, so that no text ends the literal; nor is there a `>>>`, which IPython takes
for a prompt at the beginning of a line, and leaves out (seen in 9.18)."""


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in '\\"':
        return f"\\{char}"
    if char == ">":
        return "\\x3e"
    return char if char.isprintable() else char.encode("unicode_escape").decode()


_LITERAL = re.compile(r'(?:[^"\\]|\\.|"(?!""))*', re.DOTALL)


def _page(text: str) -> str | None:
    """The page of what stands in the literal; None where somebody made other Python of it."""
    if not _LITERAL.fullmatch(text):
        return None
    try:
        return str(ast.literal_eval(f'"""{text}"""'))
    except (SyntaxError, ValueError):
        return None


def code_of(source: str, language: str | None = None) -> tuple[str, str]:
    """(language, code) of a code cell's source, as it stands there now."""
    frames = _FRAMES.search(source) if source.startswith(_PAGE) else None
    if frames is not None:
        page = _page(source[len(_PAGE) : frames.start()])
        if page is None:
            return "python", source
        script = re.fullmatch(r"<script>\n(.*)\n</script>", page, re.DOTALL)
        if script is not None and language == "browser":
            return "browser", script[1]
        return "html", page
    if source.startswith("%%"):
        head, _, code = source.partition("\n")
        magic = head.replace(" --no-raise-error", "").strip()
        name = _BY_MAGIC.get(magic) or _BY_MAGIC.get(magic.split()[0])
        if name is not None:
            return name, code
    return "python", source


_PROSE = {
    *("p", "br", "em", "strong", "b", "i", "s", "u", "code", "pre", "ul", "ol", "li", "hr", "div"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "span", "small", "sub", "sup"),
    *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"),
}
_HARMLESS = {"*": {"colspan", "rowspan", "title", "align"}}
"""No `class`: those of Jupyter cover its page."""


def _is_harmless(code: str) -> bool:
    """Whether it is prose and tables, with nothing that runs, loads or covers the page."""
    return nh3.clean(code, tags=_PROSE, attributes=_HARMLESS) == code


_WHY = {
    "failed": "*This was tried and failed:*",
    "stopped": "*This was stopped before it was done:*",
    "waits": "*This was not run:*",
    "ran": "*This ran in a language that Jupyter has no cell for:*",
    "declined": "*This was not run{}:*",
}


def why_not(passage: Passage) -> str:
    """A line that says why code stands there as text; "" for code that ran."""
    if passage.fate == "ran":
        return ""
    reason = (
        " ".join(passage.why_not.split())[:200].rstrip(".") if passage.fate == "declined" else ""
    )
    return _WHY[passage.fate].format(f" ({line(reason)})" if reason else "")


def as_fence(language: str | None, code: str) -> str:
    """Code as a text of Markdown."""
    return code_block(_word(language), code)


def _not_run(passage: Passage, code: str) -> NewCell:
    """Code that did not run, as Markdown, with its results."""
    parts, attachments = [why_not(passage) or _WHY["ran"], as_fence(passage.first.format, code)], {}
    for number, each in enumerate(passage.visible):
        if passage.fate == "declined" and is_text(each):
            continue
        text, images = words_of(each, f"{number}.")
        if passage.fate == "failed" and is_text(each):
            text = fold("What it said", text)
        parts.append(text)
        attachments.update(images)
    return NewCell("markdown", "\n\n".join(parts), [], attachments)


def _word(language: str | None) -> str:
    """A language as the word of a fence."""
    word = {"shell": "bash", "browser": "javascript"}.get(language or "", language or "")
    return word if re.fullmatch(r"[\w+#.-]{1,40}", word) else ""


# Text ---------------------------------------------------------------------------------------------


def _text_cell(message: Message) -> NewCell:
    """A message that is no code to be run."""
    if is_proposal(message):
        return NewCell("markdown", proposal_text(message))
    if message.type == "message":
        text = str(message.content)
        if message.role == "user":
            return NewCell("markdown", QUESTION + quote_safely(text))
        if is_thought(message):
            return NewCell("markdown", THOUGHTS + quote_safely(text))
        return NewCell("markdown", safe(text))
    source, attachments = words_of(message, "")
    if message.role == "user":
        source = QUESTION + quote(source)
    return NewCell("markdown", source, [], attachments)


def proposal_text(message: Message) -> str:
    """A proposal as Markdown; of one that the person took, their own cell has the code."""
    which = place_of_cell(cell_of(message))
    if message.extra.get(TAKEN) in TAKINGS:
        return f"*Proposed for {which}, and taken: the code stands in your notebook.*"
    code = as_fence(message.format, str(message.content))
    return f"*Proposed for {which}, and not run:*\n\n{code}"


def text_of(source: str) -> Message:
    """The message that a Markdown cell shows."""
    heads: tuple[tuple[str, Role, Recipient | None], ...]
    heads = ((QUESTION, "user", None), (THOUGHTS, "assistant", "user"))
    for head, role, recipient in heads:
        if source.startswith(head):
            content = plain(unquote(source.removeprefix(head)))
            return Message(role, "message", None, content, recipient)
    return Message("assistant", "message", None, plain(source))


def words_of(message: Message, prefix: str = "") -> tuple[str, dict[str, dict[str, str]]]:
    """(Markdown, attachments) of any message."""
    content = "" if message.content is None else str(message.content)
    if message.type == "image" and message.format != "path":
        kind = "jpeg" if message.format == "base64.jpeg" else "png"
        if decode_base64(content):
            name = f"{prefix}image.{kind}"
            return f"![image](attachment:{name})", {name: {f"image/{kind}": content}}
        return "*An image that is broken.*", {}
    if message.type == "audio" and decode_base64(content):
        return "*A sound.*", {}
    if message.type in ("image", "file", "audio"):
        what = {"image": "Image", "file": "File", "audio": "Sound"}[message.type]
        return f"*{what}:* {line(content)}", {}
    if message.type == "message":
        return safe(content), {}
    if message.type == "code" and message.role == "computer" and message.format == "html":
        table = plain_table(content)
        return code_block("", html_text(content)) if table is None else html_block(table), {}
    if message.type == "console":
        return code_block("", terminal.plain(content).rstrip("\n")), {}
    if isinstance(message.content, Mapping):
        content = str(message.content.get("content", ""))
    return code_block(_word(message.format), content), {}


# Outputs ------------------------------------------------------------------------------------------


def _output(message: Message) -> dict[str, Any]:
    """A result of the computer, as an output of a code cell."""
    content = str(message.content)
    if is_text(message):
        return {"output_type": "stream", "name": "stdout", "text": content}
    data: dict[str, Any]
    if message.type == "image" and message.format != "path" and decode_base64(content):
        kind = "jpeg" if message.format == "base64.jpeg" else "png"
        data = {f"image/{kind}": content, "text/plain": "(an image)"}
    elif message.type == "code" and message.format == "html":
        table = plain_table(content)
        data = {"text/plain": html_text(content) or "(a page)"}
        if table is not None:
            data = {"text/html": table, **data}
    elif message.type in ("code", "message"):
        data = {"text/plain": content}
    else:
        names = message.type == "file" or message.format == "path" or not decode_base64(content)
        data = {"text/plain": f"({message.type}: {content})" if names else f"({message.type})"}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def messages_of(outputs: Sequence[Any], losses: list[str]) -> list[Message]:
    """The messages that outputs of a code cell stand for. A text that was printed in pieces, which
    a page joins and a runner of notebooks does not, is one message.
    """
    messages: list[Message] = []
    stream: Any = None  # whose text the last message is
    for output in outputs:
        if not isinstance(output, Mapping):
            continue
        kind, data = output.get("output_type"), output.get("data")
        before, stream = stream, (kind, output.get("name")) if kind == "stream" else None
        if kind == "stream":
            begun = messages.pop().content if stream == before else ""
            content = begun + text(output.get("text"))
            messages.append(Message("computer", "console", "output", content))
        elif kind == "error":
            trace = output.get("traceback")
            lines = [text(each) for each in trace] if isinstance(trace, list) else []
            trace = "\n".join(lines) or f"{text(output.get('ename'))}: {text(output.get('evalue'))}"
            messages.append(Message("computer", "console", "output", terminal.plain(trace)))
        elif isinstance(data, Mapping):
            messages.append(_richest(data, losses))
    return messages


_RICH = (
    ("image/png", "image", "base64.png"),
    ("image/jpeg", "image", "base64.jpeg"),
    ("text/html", "code", "html"),
    ("text/plain", "console", "output"),
    ("text/markdown", "message", None),
    ("text/latex", "console", "output"),
)


def _richest(data: Mapping[str, Any], losses: list[str]) -> Message:
    """The richest form of a MIME bundle, as a message."""
    for mime, type_, format_ in _RICH:
        if mime in data:
            content = text(data[mime])
            return Message(
                "computer", type_, format_, content.rstrip("\n") if type_ == "image" else content
            )
    names = ", ".join(str(each)[:60] for each in data)
    losses.append(f"An output is of a kind that LMC does not have ({names}): it is left out.")
    return Message("computer", "console", "output", f"({names})")


def text(value: Any) -> str:
    """A text of a notebook: one string, or its lines."""
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""
