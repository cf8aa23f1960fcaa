"""HTML, and JavaScript for a page: the person sees the page, the model reads its report.

One rule: nothing of it runs in this process. It runs in the front end's sandbox, and only text
comes back: its console, its errors and blocked requests.

The shape (code for the person, then consoles) is that of the migration guide's static messages,
"{HTML errors}".
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterable
from time import monotonic
from typing import ClassVar, Literal

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.screen import Page, PendingPage, Screen
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk

Pieces = Generator[Chunk, None, None]

WAIT_SECONDS = 15.0
"""Seconds for a front end to report on a page; it reports after 10 s what it has."""
MAX_CODE = 8_000_000
"""Characters that a front end shows."""
MAX_PAGES = 8
"""Pages of one block of another language whose reports are waited for: the first ones."""


class _PageLanguage:
    """The part that both languages share."""

    name: str
    aliases: tuple[str, ...] = ()
    hint: str
    hears_pages = True
    """It waits for its pages itself; see `listen`."""
    _format: ClassVar[Literal["html", "javascript"]]

    def __init__(self) -> None:
        self.screen: Screen | None = None
        self._runs: list[_PageRun] = []

    def availability(self) -> Availability:
        """It is always available; without a browser nobody sees it, and the model reads that."""
        return Availability("the notebook's page, in a sandbox without network")

    def run(self, code: str) -> Pieces:
        """Yield the whole code for the page, then its console and its text.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended the wait.
        ComputerError
            When the code is too long for a front end.
        """
        if len(code) > MAX_CODE:
            raise ComputerError(
                f"{len(code):,} characters of {self.name} are too many to be shown: "
                f"at most {MAX_CODE:,}"
            )
        run = _PageRun()
        self._runs.append(run)
        return self._run(code, run)

    def _run(self, code: str, run: _PageRun) -> Pieces:
        try:
            pending = self.screen.expect(code) if self.screen is not None else None
            run.ends(pending.stop if pending is not None else None)
            yield Chunk("computer", "code", self._format, code, "user", end=True)
            if pending is None:
                yield _for_model(_NOT_SHOWN)
            elif not run.is_stopped:
                page = pending.wait(WAIT_SECONDS)
                yield from _describe(page, is_stopped=run.is_stopped)
        finally:
            run.stop()
            self._runs.remove(run)
        if run.is_interrupted:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """End the wait, from any thread; the page stays."""
        for run in list(self._runs):
            run.is_interrupted = True
            run.stop()

    def close(self) -> None:
        """Stop. No state lives on between two blocks."""
        self.stop()


class Html(_PageLanguage):
    """HTML, shown in the person's browser."""

    name = "html"
    hint = "shown; you get its text, console and errors; no network"
    aliases = LANGUAGES["html"]
    _format = "html"


class Browser(_PageLanguage):
    """JavaScript in the person's browser: an empty page of its own for each block.

    Plain `javascript` is node's. The value of the block's last expression goes to its console.
    """

    name = "browser"
    hint = "JavaScript in an empty page that is shown; no network"
    aliases: tuple[str, ...] = ("page", "dom")
    _format = "javascript"


class _PageRun:
    """One block, and what ends its wait."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.is_stopped = False
        self._end: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def ends(self, end: Callable[[], None] | None) -> None:
        """From now on `stop` ends the wait by this call."""
        with self._lock:
            self._end = end
            is_stopped = self.is_stopped
        if is_stopped and end is not None:
            end()

    def stop(self) -> None:
        with self._lock:
            self.is_stopped = True
            end = self._end
        if end is not None:
            end()


_NOT_SHOWN = (
    "(This was not shown, because no browser is open here: how it looks and runs is unknown. It "
    "stays in the conversation.)\n"
)
_NOT_HEARD = (
    "(The person's browser received it but reported nothing within {seconds:.0f} s: "
    "perhaps the notebook is closed or hidden.)\n"
)


def _describe(page: Page | None, *, is_stopped: bool) -> Pieces:
    """Yield the report of a page: its console for both, the rest for the model."""
    if page is None:
        if not is_stopped:
            yield _for_model(_NOT_HEARD.format(seconds=WAIT_SECONDS))
        return
    if page.lines:
        yield Chunk("computer", "console", "output", format_console(page.lines))
    size = f"{page.width} by {page.height} px" if page.width else "though out of sight now"
    text = page.text.strip()
    if text:
        yield _for_model(f"(It is shown to the person, {size}. Its text:)\n{text}\n")
    elif page.height:
        yield _for_model(f"(It is shown to the person, {size}, without text.)\n")
    elif not page.lines:
        yield _for_model(
            "(It ran in the person's browser; it shows nothing and printed nothing.)\n"
        )


def format_console(lines: Iterable[str]) -> str:
    """Lines of a page's console as output; consecutive equal lines are one with a count."""
    groups: list[tuple[str, int]] = []
    for line in lines:
        if groups and groups[-1][0] == line:
            groups[-1] = line, groups[-1][1] + 1
        else:
            groups.append((line, 1))
    return "".join(f"{line}{f'  ({count} times)' if count > 1 else ''}\n" for line, count in groups)


_MAY_SPEAK = re.compile(
    r"<(?:script|link|iframe|object|embed)\b|@import|url\("
    r"|<[^<>]*\s(?:on[a-z]+|src|srcset|href|data|poster|action)\s*=",
    re.IGNORECASE,
)


def may_speak(html: str) -> bool:
    """Whether a page can have a console or requests at all; a plain table has neither."""
    return _MAY_SPEAK.search(html) is not None


def listen(pieces: Pieces, screen: Screen) -> Pieces:
    """Yield the output of another language, and at its end the consoles of its pages."""
    pages: list[PendingPage] = []
    try:
        for piece in pieces:
            if (
                piece.type == "code"
                and piece.format == "html"
                and piece.recipient != "assistant"
                and len(pages) < MAX_PAGES
                and isinstance(piece.content, str)
                and may_speak(piece.content)
                and (page := screen.expect(piece.content)) is not None
            ):
                pages.append(page)
            yield piece
        end = monotonic() + WAIT_SECONDS
        for each in pages:
            report = each.wait(max(0.0, end - monotonic()))
            if report is not None and report.lines:
                yield Chunk("computer", "console", "output", format_console(report.lines))
    finally:
        for each in pages:
            each.stop()
        pieces.close()


def _for_model(text: str) -> Chunk:
    return Chunk("computer", "console", "output", text, "assistant")
