"""HTML, and JavaScript that is meant for a page: the person sees it, the model reads what it did.

One rule: nothing of it runs in this process. It is put out for the front end's sandbox, and only
text comes back: what its console said, its errors and blocked requests. A browser of this machine
is started for a picture only, and that only where pictures were asked for.

The shape (code for the person, then consoles, then an image for the model) is that of the
migration guide's static messages, "{HTML errors}".
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterable
from time import monotonic
from typing import ClassVar, Literal

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.chrome import NoPicture, Snapshot, browser
from lmc_jupyter.computer.screen import Expected, Page, Screen
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import LANGUAGES, Chunk

Pieces = Generator[Chunk, None, None]

WAIT_SECONDS = 15.0
"""How long a front end has to say what became of a page; it says after 10 s what it has."""
MOST_CODE = 8_000_000
"""Characters that a front end shows."""
MOST_HEARD = 8
"""Pages of one block of another language that are listened to: the first ones."""


class _Shown:
    """What both languages do."""

    name: str
    aliases: tuple[str, ...] = ()
    hint: str
    hears_pages = True
    """It waits for its pages itself; see `heard`."""
    _format: ClassVar[Literal["html", "javascript"]]

    def __init__(self, picture: bool = False) -> None:
        self.screen: Screen | None = None
        self.picture = picture
        """Whether the model gets a picture of what is shown, where Chrome or the like is found."""
        self._runs: list[_Run] = []

    def availability(self) -> Availability:
        """Always there; without a browser nobody sees it, and the model is told so."""
        pictures = ", pictures for the model" if self.picture and browser() is not None else ""
        return Availability(f"the notebook's page, in a sandbox without network{pictures}")

    def run(self, code: str) -> Pieces:
        """Put it out whole, then what its console said and its text.

        Raises
        ------
        KeyboardInterrupt
            After the last piece, when `stop` ended the wait.
        ComputerError
            When it is too long to be shown.
        """
        if len(code) > MOST_CODE:
            raise ComputerError(
                f"{len(code):,} characters of {self.name} are too many to be shown: "
                f"at most {MOST_CODE:,}"
            )
        run = _Run()
        self._runs.append(run)
        return self._run(code, run)

    def _run(self, code: str, run: _Run) -> Pieces:
        try:
            expected = self.screen.expect(code) if self.screen is not None else None
            run.ends(expected.stop if expected is not None else None)
            yield Chunk("computer", "code", self._format, code, "user", end=True)
            page = None
            if expected is None:
                yield _for_model(_NOT_SHOWN)
            elif not run.stopped:
                page = expected.wait(WAIT_SECONDS)
                yield from _told(page, stopped=run.stopped)
            if self.picture and not run.stopped:
                yield from self._pictured(code, page, run)
        finally:
            run.stop()
            self._runs.remove(run)
        if run.pressed:
            raise KeyboardInterrupt

    def _pictured(self, code: str, page: Page | None, run: _Run) -> Pieces:
        snapshot = Snapshot(code, self._format, page)
        run.ends(snapshot.stop)
        try:
            png = snapshot.take()
        except NoPicture as reason:
            if not run.stopped:
                yield _for_model(f"(There is no picture of it: {reason}.)\n")
            return
        yield Chunk("computer", "image", "base64.png", png, "assistant", end=True)

    def stop(self) -> None:
        """Wait no longer, from any thread; what is shown stays."""
        for run in list(self._runs):
            run.pressed = True
            run.stop()

    def close(self) -> None:
        """Stop. Nothing lives on between two blocks."""
        self.stop()


class Html(_Shown):
    """HTML, shown in the person's browser.

    Parameters
    ----------
    picture : whether the model gets a picture too; `%config LMC.html_pictures = True` sets it
    """

    name = "html"
    hint = "shown to the person; you get its text, console and errors; no network"
    aliases = LANGUAGES["html"]
    _format = "html"


class Browser(_Shown):
    """JavaScript in the person's browser: an empty page of its own for each block.

    Plain `javascript` is node's. The value of the block's last expression counts as said.
    """

    name = "browser"
    hint = "JavaScript in an empty page of its own, shown to the person; no network"
    aliases: tuple[str, ...] = ("page", "dom")
    _format = "javascript"


class _Run:
    """One block: what ends what it waits for."""

    def __init__(self) -> None:
        self.pressed = False
        self.stopped = False
        self._end: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def ends(self, end: Callable[[], None] | None) -> None:
        """From now on this ends the wait."""
        with self._lock:
            self._end = end
            stopped = self.stopped
        if stopped and end is not None:
            end()

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
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


def _told(page: Page | None, *, stopped: bool) -> Pieces:
    """What became of it: what it said for both, the rest for the model."""
    if page is None:
        if not stopped:
            yield _for_model(_NOT_HEARD.format(seconds=WAIT_SECONDS))
        return
    if page.lines:
        yield Chunk("computer", "console", "output", said(page.lines))
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


def said(lines: Iterable[str]) -> str:
    """Lines of a page's console as output; equal ones that follow each other are counted."""
    kept: list[tuple[str, int]] = []
    for line in lines:
        if kept and kept[-1][0] == line:
            kept[-1] = line, kept[-1][1] + 1
        else:
            kept.append((line, 1))
    return "".join(f"{line}{f'  ({count} times)' if count > 1 else ''}\n" for line, count in kept)


_MAY_SPEAK = re.compile(
    r"<(?:script|link|iframe|object|embed)\b|@import|url\("
    r"|<[^<>]*\s(?:on[a-z]+|src|srcset|href|data|poster|action)\s*=",
    re.IGNORECASE,
)


def may_speak(html: str) -> bool:
    """Whether a page can have a console or requests at all; a plain table has neither."""
    return _MAY_SPEAK.search(html) is not None


def heard(pieces: Pieces, screen: Screen, is_native: Callable[[], bool]) -> Pieces:
    """Pass on what another language puts out; at its end say what the HTML that it showed said.

    Parameters
    ----------
    is_native : whether the kernel itself shows it: then it is the person's own output, with the
        rights of their page, and nobody listens to it
    """
    expected: list[Expected] = []
    try:
        listens = not is_native()
        for piece in pieces:
            if (
                listens
                and piece.type == "code"
                and piece.format == "html"
                and piece.recipient != "assistant"
                and len(expected) < MOST_HEARD
                and isinstance(piece.content, str)
                and may_speak(piece.content)
                and (page := screen.expect(piece.content)) is not None
            ):
                expected.append(page)
            yield piece
        end = monotonic() + WAIT_SECONDS
        for each in expected:
            became = each.wait(max(0.0, end - monotonic()))
            if became is not None and became.lines:
                yield Chunk("computer", "console", "output", said(became.lines))
    finally:
        for each in expected:
            each.stop()
        pieces.close()


def _for_model(text: str) -> Chunk:
    return Chunk("computer", "console", "output", text, "assistant")
