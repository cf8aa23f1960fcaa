"""Foreign text as Markdown that loads nothing when somebody opens it.

One rule: whether it loads something does not depend on where a reader of Markdown sees code or
mathematics. A tag and an image are broken wherever they stand; only a fence of ours, which begins
at the first column after a blank line and is longer than any inside, keeps them as they are. What
was recognized as code or as mathematics decides only how they are broken: so that they look the
same there.
"""

from __future__ import annotations

import itertools
import re
from html import unescape

from lmc_jupyter.content import terminal
from lmc_jupyter.content.chat import fence

_LOADS = re.compile(r"<(?=[a-zA-Z/!?])|!(?=\[)")
"""What begins every tag, comment and image."""
_ADDRESS = r"<https?://[\w./?=&%#:,;+~@-]+>"
_BREAKS = re.compile(rf"({_ADDRESS})|(?<!\\)((?:\\\\)*)\\?(<(?=[a-zA-Z/!?])|!(?=\[))")
_ESCAPES = re.compile(r"&lt;(?=[a-zA-Z/!?])|(?:&#33;|\\!)(?=\[)|\\<(?=[a-zA-Z/!?])")
"""What we write for them: entities, because an address before it would take a backslash as its own.
Older files have backslashes."""
_SPANS = re.compile(
    r"(?<![`\\])(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?<!\\)(?P<math>\$\$?[^$`]+\$\$?|\\\\?\([^`]{1,999}?\\\)|\\\\?\[[^`]{1,999}?\\\])",
    re.DOTALL,
)
_PARAGRAPHS = re.compile(r"(\n[ \t>]*\n)")
_MARKS = re.compile(r"[\\`*_{}\[\]<>&$~|!@:\"'#^=\n\u2028\u2029]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;"}
_OTHER_LINES = re.compile(r"[\u2028\u2029]")
"""What ends a line for some readers only."""

_OPENS = re.compile(
    r"(?P<before>(?:[ \t>]|(?:[*+-]|\d{1,9}[.)])[ \t])*)"
    r"(?P<mark>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)"
)
_LIKE_A_FENCE = re.compile(r"\A((?:[ \t>*+-]|\d{1,9}[.)])*)(?=`{3,}[^`]*\Z|~{3,})")
_INFO = re.compile(r"[\w+#.=:,/ -]{0,80}")

_MATH = re.compile(r"\$|\\\\[(\[]|\\begin|@@")
_ENDS_MATH = re.compile(r"\$\$|\\\\[)\]]|\\end")
"""Mathematics that began in a text above: for nbconvert it may reach over empty lines."""
_ADDRESSES = re.compile(r"\]\(|\]:|://|www\.", re.IGNORECASE)
"""JupyterLab puts mathematics back into its HTML as text: in an address, a quotation mark of it
would end the attribute, and a name with `=` behind it would be an attribute of its own."""


# Text ---------------------------------------------------------------------------------------------


def safe(text: str) -> str:
    """The text as Markdown that looks as it would and loads nothing."""
    return "\n".join(_lines(text, keeps_fences=True))


def quote_safely(text: str) -> str:
    """The text as a quotation that loads nothing."""
    return quote("\n".join(_lines(text, keeps_fences=False)))


def line(text: str) -> str:
    """A title or a name as one line of Markdown that shows its very characters."""
    text = " ".join(terminal.plain(text).split())
    text = re.sub(r"\\", "&#92;", re.sub(r"&(?=#?\w+;)", "&amp;", text))
    text = re.sub(r"<(?=[a-zA-Z/!?])|\[", lambda match: _entities(match[0]), text)
    text = re.sub(r"([`*\]$~|]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", text)
    return text if re.match(r"[\w(]", text) else re.sub(r"^([#>+=-])", r"\\\1", text)


def plain(text: str) -> str:
    """The text that `safe` or `line` got, as far as their escapes show."""
    text = re.sub(r"<pre><code>(.*)</code></pre>", _fence_again, text)
    text = re.sub(r"<code>([^<\n]*)</code>", _span_again, text)
    return _ESCAPES.sub(lambda match: unescape(match[0])[-1], text)


def plain_line(text: str) -> str:
    """The title that `line` got."""
    return unescape(re.sub(r"\\([`*\[\]$~|<_#>+=-])", r"\1", text)).strip()


def _fence_again(match: re.Match[str]) -> str:
    return fence("", unescape(match[1]))


def _span_again(match: re.Match[str]) -> str:
    code = unescape(match[1])
    ticks = "`" * (max(map(len, re.findall("`+", code)), default=0) + 1)
    return f"{ticks}{code}{ticks}"


def _without_controls(text: str) -> str:
    """The text without control characters, so that it is safe in a terminal too."""
    return terminal.plain(re.sub(r"\r\n?", "\n", text))


def _lines(text: str, keeps_fences: bool) -> list[str]:
    lines = _without_controls(text).split("\n")
    result: list[str] = []
    prose: list[str] = []
    at = 0
    while at < len(lines):
        opens = _OPENS.fullmatch(lines[at])
        end = None if opens is None else _end(lines, at, opens)
        if opens is None or end is None:
            prose.append(_LIKE_A_FENCE.sub(r"\1\\", lines[at]))
            at += 1
            continue
        code = lines[at + 1 : end]
        apart = any(map(_matters, code)) or _above(prose)
        result += _prose(prose)
        prose = []
        if apart and result and result[-1].strip(" \t>"):
            result.append(_indent(opens).rstrip())
        result += _fence(opens, code, keeps_fences)
        at = end + 1
        if apart and at < len(lines) and lines[at].strip(" \t>"):
            result.append(_indent(opens).rstrip())
    return result + _prose(prose)


def _matters(line: str) -> bool:
    """Whether some reader could see a tag, or mathematics that reaches over the end of a fence."""
    return _LOADS.search(line) is not None or _MATH.search(line) is not None


def _above(prose: list[str]) -> bool:
    """Whether something in the paragraph above a fence matters."""
    paragraph = itertools.takewhile(lambda line: line.strip(" \t>"), reversed(prose))
    return any(map(_matters, paragraph))


def _indent(opens: re.Match[str]) -> str:
    """What stands before the further lines of a fence, which may begin in the line of a list."""
    return re.sub(r"[^\s>]", " ", opens["before"])


def _end(lines: list[str], start: int, opens: re.Match[str]) -> int | None:
    """The line that closes this fence; at the first column, the end of the text does as well.

    None where it is not sure for every reader.
    """
    indent, mark = _indent(opens), opens["mark"]
    closes = re.compile(rf"{re.escape(indent)} {{0,3}}{mark}{mark[0]}*[ \t]*")
    for at in range(start + 1, len(lines)):
        if closes.fullmatch(lines[at]):
            return at
        if indent and lines[at].strip(" \t>"):
            if not lines[at].startswith(indent):
                return None
            if _LIKE_A_FENCE.match(lines[at][len(indent) :]):
                return None
    return None if indent else len(lines)


def _fence(opens: re.Match[str], code: list[str], keeps_fences: bool) -> list[str]:
    before, indent, info = opens["before"], _indent(opens), opens["info"].strip()
    if not _INFO.fullmatch(info) or "mermaid" in info.lower():
        info = ""  # a diagram can load pictures
    content = "\n".join(each[len(indent) :] for each in code)
    if keeps_fences and not before:
        return code_block(info, content).split("\n")
    if _LOADS.search(content):
        return [before + _preformat(content)]
    return [f"{before}{opens['mark']}{info}", *code, f"{indent}{opens['mark']}"]


def _prose(lines: list[str]) -> list[str]:
    if not lines:
        return []
    parts = _PARAGRAPHS.split("\n".join(lines))
    parts[::2] = [_paragraph(part) for part in parts[::2]]
    return "".join(parts).split("\n")


def _paragraph(text: str) -> str:
    if _MATH.search(text) and _ADDRESSES.search(text):
        before, equals, after = text.rpartition("=")
        text = before.replace('"', "&quot;") + equals + after
    if not _LOADS.search(text):
        return text
    parts, at = [], 0
    for span in _SPANS.finditer(text):
        parts += [_break_loads(text[at : span.start()]), _break_span(span)]
        at = span.end()
    return "".join([*parts, _break_loads(text[at:])])


def _break_span(span: re.Match[str]) -> str:
    if not _LOADS.search(span[0]):
        return span[0]
    if span["code"] is None:
        return _LOADS.sub(r"\g<0> ", span[0])  # a space says nothing in mathematics
    code = span["code"].replace("\n", " ")
    return f"<code>{_entities(code[1:-1] if code.startswith(' `') else code)}</code>"


def _break_loads(text: str) -> str:
    return _BREAKS.sub(lambda match: match[1] or match[2] + _entities(match[3]), text)


# Code ---------------------------------------------------------------------------------------------


def code_block(language: str | None, code: str) -> str:
    """Code, or what a program put out, as a block that begins at the first column."""
    code = _without_controls(code)
    if _OTHER_LINES.search(code) or (_LOADS.search(code) and _ENDS_MATH.search(code)):
        return _preformat(code)
    word = language or ""
    return fence(word if _INFO.fullmatch(word) and "mermaid" not in word.lower() else "", code)


def _preformat(code: str) -> str:
    """Code in one line of HTML of ours: no reader of Markdown sees anything in it."""
    return f"<pre><code>{_entities(code)}</code></pre>"


def _entities(text: str) -> str:
    return _MARKS.sub(lambda match: _ENTITIES.get(match[0]) or f"&#{ord(match[0])};", text)


# HTML of ours -------------------------------------------------------------------------------------


def html_block(html: str) -> str:
    """Cleaned HTML as a block in which Markdown sees nothing of its own."""
    lines = (line.strip() for line in _without_controls(html).split("\n"))
    html = "\n".join(filter(None, lines))
    return re.sub(r"[!$`\\@]", lambda match: f"&#{ord(match[0])};", html)


def quote(text: str) -> str:
    """Markdown of ours as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def unquote(text: str) -> str:
    """The text of a quotation."""
    return "\n".join(re.sub(r"^> ?", "", line) for line in text.split("\n"))


def fold(summary: str, inner: str) -> str:
    """Markdown of ours, folded away under a summary."""
    return f"<details>\n<summary>{summary}</summary>\n\n{inner}\n\n</details>"
