"""LMC content as HTML that is safe in Jupyter's own page, and as plain text beside it.

One rule: foreign text is always escaped or cleaned here; no other module makes HTML. What a
model, a console or a file says never becomes a script, a form, a remote image or a style.
(docs/security.md)
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import mistune
import nh3
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token, _TokenType
from pygments.util import ClassNotFound

from lmc_jupyter.computer.languages.html import may_speak
from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.hidden import split_hidden
from lmc_jupyter.content.html import html_text, plain_table
from lmc_jupyter.content.nested import frame
from lmc_jupyter.conversation.names import Names

Tokens = list[list[tuple[str, str]]]
"""Highlighted code: lines of (css class or "", text)."""

_TAGS = {
    *("p", "br", "em", "strong", "s", "del", "code", "pre", "ul", "ol", "li", "blockquote", "hr"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "a", "table", "thead", "tbody", "tr", "th", "td"),
    "span",
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "span": {"class"},
    "td": {"align"},
    "th": {"align"},
}
_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)

# Formulas are those of the panel (js/src/render/math.ts). Jupyter's page typesets what stands
# between two dollars anywhere in an output, so it is told to look at nothing but them.
_TYPESET = "mathjax_process tex2jax_process"
_NOT_TYPESET = "mathjax_ignore tex2jax_ignore"
_ANY = r"(?:(?!\n[ \t]*\n)[^\\])"  # no blank line, and one way only to read a backslash
_DISPLAY_MATH = rf"(?:\$\$(?:\\[^\n]|(?!\$\$){_ANY})+?\$\$|\\\[(?:\\[^\[\]]|{_ANY})+?\\\])"
_INLINE_MATH = (  # money is none: no space inside at the ends, and no digit after
    r"(?:\$(?![\s$])(?:\\.|[^\\$\n])*?(?:\\.|[^\\$\s])\$(?![\d$])"
    rf"|\\\((?:\\[^()]|{_ANY})+?\\\))"
)


class _Renderer(mistune.HTMLRenderer):
    def image(self, text: str, url: str, title: str | None = None) -> str:  # noqa: ARG002
        """Never fetched: a remote image tells its host what the text says. A link instead."""
        label = f"image: {text or url}"
        return (
            f'<a href="{html.escape(url)}">{html.escape(label)}</a>' if _LINK.match(url) else label
        )


def _keep(tag: str, attribute: str, value: str) -> str | None:
    if (tag, attribute) == ("a", "href"):
        return value if _LINK.match(value) else None
    if (tag, attribute) == ("span", "class"):
        return value if value == _TYPESET else None
    return value


def _formula(inline: Any, match: re.Match[str], state: Any) -> int:  # noqa: ARG001 - mistune's
    state.append_token({"type": "formula", "raw": match[0]})
    return match.end()


def _formula_block(block: Any, match: re.Match[str], state: Any) -> int:  # noqa: ARG001
    state.append_token({"type": "formula_block", "raw": match[0].strip()})
    return match.end()


def _formulas(md: Any) -> None:
    """Leave formulas as they are written: no emphasis in them, every backslash stays."""
    within_line = f"{_DISPLAY_MATH}|{_INLINE_MATH}"
    md.inline.register("formula", within_line, _formula, before="escape")
    alone = rf"^ {{0,3}}{_DISPLAY_MATH}[ \t]*(?:\n|$)"
    md.block.register("formula_block", alone, _formula_block, before="list")
    md.block.insert_rule(md.block.list_rules, "formula_block", before="list")
    md.block.insert_rule(md.block.block_quote_rules, "formula_block", before="list")
    md.renderer.register("formula", lambda _, raw: _as_written(raw))
    md.renderer.register("formula_block", lambda _, raw: f"<p>{_as_written(raw)}</p>\n")


def _as_written(formula: str) -> str:
    return f'<span class="{_TYPESET}">{html.escape(formula)}</span>'


@functools.cache
def _markdown() -> Callable[[str], Any]:
    return mistune.create_markdown(
        renderer=_Renderer(escape=True), plugins=["table", "strikethrough", _formulas]
    )


def markdown(text: str) -> str:
    """Markdown as clean HTML: the tags of prose and tables, formulas, links to the web, no more."""
    raw = _markdown()(text)
    return nh3.clean(
        raw if isinstance(raw, str) else "",
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=_keep,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def underline_missing(inner: str, missing: Iterable[str]) -> str:
    """HTML of `markdown` with these numbers underlined, and a line that says why."""
    numbers = "|".join(map(re.escape, sorted(missing, key=len, reverse=True)))
    number = rf"(?<![\w.])(?<!\d,)({numbers})(?!\d|[.,]\d)"
    parts = re.compile(rf"(<pre.*?</pre>|<[^>]*>|&#?\w+;)|{number}", re.DOTALL)
    marked = parts.sub(lambda part: part[1] or f'<u class="lmc-missing">{part[2]}</u>', inner)
    return f'{marked}<div class="lmc-note"><u class="lmc-missing">Underlined</u>: {NOT_FOUND}</div>'


NOT_FOUND = "not found in any output"
"""What is said of a number in closing words that no output, cell or value has."""


class MarkdownStream:
    """Renders Markdown that grows; blocks that can no longer change are rendered once.

    When the text is whole, `markdown` is to render it: a link may be defined at its end.
    """

    def __init__(self) -> None:
        self._html, self._length = "", 0  # HTML of what can no longer change, and its length there

    def html(self, text: str) -> str:
        """The text, which begins as the one before, as HTML."""
        tail = text[self._length :]
        if cut := _stable_length(tail):
            self._html += markdown(tail[:cut])
            self._length += cut
        return self._html + markdown(tail[cut:])


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CONTINUES = re.compile(r"[ \t]|[-*+] |\d{1,9}[.)] |\||>")


def _stable_length(text: str) -> int:
    """The number of characters of the text, in whole blocks, that later text cannot change."""
    cut = position = 0
    fence = ""
    after_blank = False
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(" \n").strip(fence[0])
            fence = "" if closes else fence
        else:
            if after_blank and not _CONTINUES.match(line) and line.strip():
                cut = position
            if mark:
                fence = mark[1]
        after_blank = not line.strip() and not fence
        position += len(line)
    return cut


# Code ---------------------------------------------------------------------------------------------

MOST_HIGHLIGHTED = 30_000
"""Characters of code that get colours."""
_MOST_BY_LANGUAGE = {"r": 2_000}  # pygments: a string without end takes its length squared

_CLASSES = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Name.Builtin, "b"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Tag, "k"),
    (Name.Attribute, "f"),
    (Operator.Word, "k"),
    (Operator, "o"),
)


def _class(token: _TokenType) -> str:
    # for pygments `in` means "is a kind of", and only its tokens do
    return next((name for kind, name in _CLASSES if token in kind), "")  # type: ignore[comparison-overlap]


_LEXERS = {"shell": "bash", "r": "splus", "browser": "javascript"}


@functools.cache
def _lexer(language: str) -> Lexer:
    try:
        return get_lexer_by_name(_LEXERS.get(language, language))
    except ClassNotFound:
        return TextLexer()


def highlight(code: str, language: str) -> Tokens:
    """The code as lines of (class, text); hidden characters become marks of class `h`."""
    lines: Tokens = [[]]
    for css, text in _pieces(code, language):
        first, *more = text.split("\n")
        if first:
            lines[-1].append((css, first))
        for rest in more:
            lines.append([(css, rest)] if rest else [])
    return lines


def _pieces(code: str, language: str) -> Iterator[tuple[str, str]]:
    is_long = len(code) > _MOST_BY_LANGUAGE.get(language, MOST_HIGHLIGHTED)
    lexer = TextLexer() if is_long else _lexer(language)
    tokens = [(token, text) for _, token, text in lexer.get_tokens_unprocessed(code)]
    if "".join(text for _, text in tokens) != code:  # lexers of consoles leave out and reorder
        tokens = [(Token.Text, code)]
    for token, text in tokens:
        for part, is_hidden in split_hidden(text):
            yield ("h" if is_hidden else _class(token)), part


def visible(code: str) -> str:
    """The code as plain text, in which hidden characters are marks."""
    return "".join(text for text, _ in split_hidden(code))


def code_html(code: str, language: str, active_line: int | None = None) -> str:
    """The code highlighted; the line that runs now is marked."""
    lines = []
    for number, line in enumerate(highlight(code, language), 1):
        inner = "".join(
            f'<span class="{css}">{html.escape(text)}</span>' if css else html.escape(text)
            for css, text in line
        )
        lines.append(f'<span class="lmc-now">{inner}</span>' if number == active_line else inner)
    return f"<pre><code>{chr(10).join(lines)}</code></pre>"


# Consoles -----------------------------------------------------------------------------------------

CONSOLE_LINES = 200
"""How many lines of a console are drawn, at its head and at its tail."""


def console_html(text: str) -> str:
    """Console text, escaped and bounded."""
    plain = shorten.lines(terminal.plain(text), CONSOLE_LINES).rstrip("\n")
    return f"<pre>{html.escape(plain)}</pre>"


def image_html(data: str, format_: str | None) -> str:
    """An image of ours, given as base64; anything that is not base64 is said, not drawn."""
    if not re.fullmatch(r"[A-Za-z0-9+/=\s]+", data):
        return '<span class="lmc-note">An image that is not base64.</span>'
    kind = "jpeg" if format_ == "base64.jpeg" else "png"
    return f'<img alt="image" src="data:image/{kind};base64,{"".join(data.split())}">'


def table_html(code: str) -> str | None:
    """A plain table of cells, cleaned, or None for what is more than that and needs a frame.

    Without a frame it has its own height and the colours of the notebook.
    """
    clean = plain_table(code)
    return None if clean is None else f'<div class="lmc-table">{clean}</div>'


MOST_PAGE = 1_000_000
"""Characters of HTML that a record shows; longer ones would swell the notebook."""
MOST_SOURCE = 100_000
"""Characters of its source that a record holds."""
PAGE_HEIGHT = 320
"""Pixels of a page whose height nobody knows; it can be drawn taller."""
BAR_HEIGHT = 28
"""Pixels of the button that runs its scripts again."""


def page_html(
    code: str, language: str, height: int | None, *, works: bool = True, picture: str = ""
) -> str:
    """HTML or JavaScript that the computer shows, in frames that need no kernel and reach nothing.

    Parameters
    ----------
    height : pixels; 0 for a page with nothing to see, None where it is not known
    works : False for a page that did not load: it is not loaded again
    picture : HTML, how a page with scripts looked: they run again when the person says so
    """
    name = "HTML" if language == "html" else "JavaScript"
    text = shorten.head(code, MOST_SOURCE)
    source = details(f"{name} source", code_html(text, language))
    if not works:
        return note_html(f"This {name} did not finish loading.") + source
    if len(code) > MOST_PAGE:
        return note_html(f"{len(code):,} characters of {name} are not saved here.") + source
    if height == 0:
        return source
    bar = BAR_HEIGHT if may_speak(code) or language != "html" else 0
    tall = PAGE_HEIGHT if height is None else min(2_000, height + bar)
    element = frame(code, language, picture)
    return f'<div class="lmc-frame" style="height:{tall}px">{element}</div>{source}'


def page_text(code: str) -> str:
    """The text of HTML, bounded; a row of a table is a line."""
    words = html_text(" ".join(code.split()))
    return shorten.lines(terminal.plain(words), CONSOLE_LINES)


def details(summary: str, inner: str) -> str:
    """HTML of ours, folded away under a summary."""
    return f"<details><summary>{html.escape(summary)}</summary>{inner}</details>"


def names_html(names: Names) -> str:
    """The names that code changed, as a line of chips; the tooltip says how to restore them."""
    chips = " ".join(  # the blank counts where a page takes our style away
        f'<code class="{kind}">{sign} {html.escape(terminal.plain(name))}</code>'
        for kind, sign, group in _kinds(names)
        for name in group
    )
    how = html.escape(f"`%lmc restore` takes this back. {names.lost}".strip())
    breach = f"<b>{html.escape(breach_text(names))}</b> " if names.breach else ""
    return f'<div class="lmc-names" title="{how}">{breach}{chips}</div>'


def names_text(names: Names) -> str:
    """The same as plain text: `names: + df ~ x - y`."""
    chips = [f"{sign} {terminal.plain(name)}" for _, sign, group in _kinds(names) for name in group]
    text = f"names: {'  '.join(chips)}"
    return f"{breach_text(names)} {text}" if names.breach else text


def breach_text(names: Names) -> str:
    """What was found after code that ran unasked, as a sentence."""
    return f"While this ran unasked, {terminal.plain(names.breach)}."


def effects_html(pieces: Iterable[tuple[bool, Iterable[tuple[str, str]]]]) -> str:
    """What code will do, as a line: (whether it warns, its (class, text) parts) of each piece."""
    words = []
    for warns, parts in pieces:
        inner = "".join(
            f"<code>{html.escape(text)}</code>" if css else html.escape(text) for css, text in parts
        )
        words.append(f"<b>{inner}</b>" if warns else f"<span>{inner}</span>")
    return f'<div class="lmc-effects">{" · ".join(words)}</div>'


def _kinds(names: Names) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    return (
        ("new", "+", names.new),
        ("changed", "~", names.changed),
        ("removed", "-", names.removed),
    )


def note_html(text: str, css: str = "lmc-note") -> str:
    """A short remark of ours."""
    return f'<div class="{css}">{html.escape(text)}</div>'


escape = html.escape


@functools.cache
def style() -> str:
    """The style sheet of every display, and of the buttons."""
    text = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def page(inner: str) -> str:
    """HTML for display: our own tags, in our own scope."""
    return f'<style>{style()}</style><div class="lmc-output {_NOT_TYPESET}">{inner}</div>'
