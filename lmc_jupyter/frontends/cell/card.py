"""One message on the screen: its state, and how it is drawn.

One rule: it has no text of its own. While the message is being written, the history has its text;
then the card has the whole message.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from lmc_jupyter.content import remarks, shorten, terminal
from lmc_jupyter.content.chat import place_of_cell
from lmc_jupyter.content.effect import Effect
from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.context.parts import of_question, text_of
from lmc_jupyter.context.question import describe, unseen_of
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.frontends.cell import html
from lmc_jupyter.frontends.effect_words import pieces, plain_text
from lmc_jupyter.frontends.screen import Pages, read_page
from lmc_jupyter.lmc import (
    Chunk,
    Message,
    Note,
    cell_of,
    is_partial,
    is_thought,
    is_written_code,
)
from lmc_jupyter.turn.receipts import receipts_of

PROPOSAL = "application/vnd.lmc.proposal+json"
"""The MIME type of a proposal; js/src/lab/proposal.ts draws it."""

WAITS = "waits for your decision"
"""The status of code whose person is asked."""


class Card:
    """One message on the screen.

    Parameters
    ----------
    head : its role, type, format and recipient; a message that is whole
    history : in which it is being written
    """

    def __init__(self, head: Chunk | Message, history: History) -> None:
        self.head, self._history = head, history
        self.message = head if isinstance(head, Message) else None
        self.over = self.message is not None
        self.display_id = fresh()
        self.is_shown = False
        self.is_final = False
        """Whether the drawing on the screen is the last one."""
        self.has_buttons = self.is_native = False
        """Whether the buttons stand in its place, and whether the kernel shows it itself."""
        self.status = self.outcome = ""
        self.active_line: int | None = None
        self.names: Names | None = None
        self.effects: tuple[Effect, ...] = ()
        """What the code will do, as long as nobody who has read it has let it run."""
        self.runs_since: float | None = None
        self.page: Any = None
        """The widget that shows it live."""
        self.height: int | None = None
        """Of its page, in pixels, as far as it is known."""
        self.picture = ""
        """HTML: how its page looked."""
        self.works = True
        """Whether its page may be loaded again where nobody watches over it."""
        self._markdown = html.MarkdownStream()

    @property
    def text(self) -> str:
        """The message as far as it has come."""
        growing = None if self.over else self._history.growing_message()  # before `message`
        message = self.message or growing
        return "" if message is None else message.content

    @property
    def is_page(self) -> bool:
        """HTML or JavaScript that the computer shows to the person."""
        is_visible = (
            self.head.format in ("html", "javascript") and self.head.recipient != "assistant"
        )
        return self.head.role == "computer" and self.head.type == "code" and is_visible

    @property
    def is_code(self) -> bool:
        """Code that the model wrote to be run."""
        return is_written_code(self.head) and self.head.recipient != "user"

    @property
    def is_proposal(self) -> bool:
        """Code that the model wrote for a cell of the person."""
        return is_written_code(self.head) and self.head.recipient == "user"

    @property
    def is_undecided(self) -> bool:
        """Whether it is code of which it is not known yet whether it runs."""
        return self.is_code and self.status in ("", WAITS)

    def beside(self) -> dict[str, Any]:
        """What stands beside the HTML: of a whole proposal what a front end with our extension
        needs for its buttons. Its code is in the conversation.
        """
        if not self.is_proposal or self.message is None or is_partial(self.message):
            return {}
        return {PROPOSAL: {"id": self.message.id, "cell": cell_of(self.message)}}

    def hear(self, content: dict[str, Any], pages: Pages) -> None:
        """A message of the frame that shows it."""
        text = self.text
        if content.get("kind") == "ready":
            self.page.send({"kind": "page", "language": self.head.format, "code": text})
        elif content.get("kind") == "page":
            report = content.get("page")
            page = pages.receive(text, report) or read_page(report)
            if page is not None:
                self.height = page.height if page.width else None  # out of sight it has none
                self.works = bool(page.width or page.text or not page.lines)
                self.picture = page.picture

    def render(self) -> tuple[str, str]:
        """The message as it stands, as (html, plain text); ("", "") when there is nothing yet."""
        if isinstance(self.head, Message) and (parts := of_question(self.head)):
            line = f"Sent with the question: {describe(parts)}"
            sent, plain = html.details(line, html.console_html(text_of(parts))), f"[{line}]"
            if (unseen := unseen_of(self.head)) is not None:
                line = f"Not sent: {unseen.title}. {unseen.why}. {unseen.advice}".strip()
                sent, plain = sent + html.note_html(line), f"{plain}\n[{line}]"
            return sent, plain
        text = self.text
        if not text:
            return "", ""
        inner, plain = self._render(text)
        if self.head.recipient == "assistant":
            return html.details("For the model", inner), ""
        if is_thought(self.head):
            return html.details("Thoughts", inner), ""
        return inner, plain

    def _render(self, text: str) -> tuple[str, str]:
        role, type_, format_ = self.head.role, self.head.type, self.head.format
        if type_ == "message" and role != "computer":
            if not self.over:
                return self._markdown.html(text), terminal.plain(text)
            inner, plain = html.markdown(text), terminal.plain(text)
            if missing := missing_of(self.message):
                inner = html.underline_missing(inner, missing)
                plain += f"\n[{missing_text(missing)}]"
            return inner, plain
        if self.is_page and (format_ == "html" or self.page is not None):
            return self._render_page(text, format_ or "")
        if role == "computer" and format_ == "markdown":
            return html.markdown(text), terminal.plain(text)
        if type_ == "code":
            return self._render_code(text, format_ or "text")
        if type_ == "image" and format_ != "path":
            return html.image_html(text, format_), "[image]"
        if type_ in ("image", "file", "audio"):
            name = _sound(text) if type_ == "audio" else html.visible(text)
            return html.note_html(f"{type_}: {name}"), terminal.plain(f"[{type_}: {name}]")
        plain = shorten.lines(terminal.plain(text), html.CONSOLE_LINES).strip("\n")
        if isinstance(self.message, Note):
            plain = remarks.for_person(plain)
            return html.note_html(plain), plain
        return html.console_html(text), plain

    def _render_page(self, text: str, language: str) -> tuple[str, str]:
        table = html.table_html(text) if self.page is None and language == "html" else None
        if table is not None:
            return table, html.page_text(text)
        inner = html.page_html(text, language, self.height, works=self.works, picture=self.picture)
        return inner, f"[{language}]\n{shorten.lines(html.visible(text), html.CONSOLE_LINES)}"

    def _render_code(self, text: str, language: str) -> tuple[str, str]:
        status = self.status or ("" if self.over else "writing…")
        outcome = self.outcome
        if self.runs_since is not None:
            status, outcome = "running…", "running"
        if (self.is_code or self.is_proposal) and (count := count_hidden(text)):
            warning = html.note_html(f"Hidden characters, marked in red: {count}", "lmc-warn")
        else:
            warning = ""
        name = html.visible(language)
        if self.is_proposal:
            name = f"{name}, proposed for {place_of_cell(cell_of(self.head))}, not run here"
        inner = (
            f'<div class="lmc-code {outcome}"><div class="lmc-head"><b>{html.escape(name)}</b> '
            f"<span>{html.escape(status)}</span></div>{warning}"
            f"{html.code_html(text, language, self.active_line)}"
            f"{html.effects_html(pieces(self.effects)) if self.effects else ''}"
            f"{html.names_html(self.names) if self.names else ''}</div>"
        )
        head = f"[{name}{f', {status}' if status else ''}]"
        tail = f"\n[{plain_text(self.effects)}]" if self.effects else ""
        tail += f"\n{html.names_text(self.names)}" if self.names else ""
        return inner, f"{head}\n{html.visible(text)}{tail}"


def missing_of(message: Message | None) -> list[str]:
    """The numbers of closing words that stand in no output, cell or value."""
    receipts = {} if message is None else receipts_of(message)
    return [terminal.plain(number) for number, place in receipts.items() if place is None]


def missing_text(missing: Iterable[str]) -> str:
    """These as plain text: `not found in any output: 99, 12.5`."""
    return f"{html.NOT_FOUND}: {', '.join(missing)}"


def _sound(text: str) -> str:
    """The path of a sound as it is; of its data, how much there is."""
    return text if "." in text else f"wav, {len(text) * 3 // 4000:,} kB"  # base64 has no dot


def fresh() -> str:
    """The id of a display that nobody has shown yet."""
    return f"lmc-{uuid.uuid4().hex}"
