"""The screens that a panel and a cell give to the languages: reports of pages, and a person to ask.

One rule: a report of a page is hostile. It is bounded and checked here, once, and is text from
then on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from lmc_jupyter.computer.screen import Choices, Page, PendingPage, in_words
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.frontends.inputs import Inputs
from lmc_jupyter.lmc import clean

MOST_LINES = 200
"""Lines of a page's console that are taken; the front end sends no more."""
MOST_LINE = MOST_TEXT = 10_000
MOST_PICTURE = 500_000
"""Characters of one line, and of the page's text."""
MOST_CONSOLE = 100_000
"""Characters of all its lines."""
MOST_PIXELS = 100_000
SILENT_SECONDS = 1.0
"""How long a page is waited for after one that was not heard: nobody may be looking."""


class Pages:
    """The pages that an answer waits for, by what they show; used from any thread."""

    def __init__(self) -> None:
        self._pending: list[_AwaitedPage] = []
        self._lock = threading.Lock()
        self._is_stopped = self._silent = False

    def expect(self, code: str) -> PendingPage:
        """A page that shows this comes next."""
        page = _AwaitedPage(code, self)
        with self._lock:
            self._pending.append(page)
            is_stopped = self._is_stopped
        if is_stopped:
            page.stop()
        return page

    def is_awaited(self, code: str) -> bool:
        """Whether a page that shows this is waited for."""
        text = clean(code)
        with self._lock:
            return any(each.code == text for each in self._pending)

    def receive(self, code: str, content: object) -> Page | None:
        """Receive a front end's report of a page (`Page` of protocol.ts).

        Returns
        -------
        The bounded report; None when nobody waits for it, or it is no report of a page.
        """
        page, text = read_page(content), clean(code)
        if page is None:
            return None
        with self._lock:
            for each in self._pending:
                if each.code == text and each.page is None:
                    self._silent = False
                    each.tell(page)
                    return page
        return None

    def stop(self) -> None:
        """Nobody waits any longer; also not for pages that come later."""
        with self._lock:
            self._is_stopped = True
            waiting = list(self._pending)
        for each in waiting:
            each.stop()

    def patience(self, seconds: float) -> float:
        """How long to wait: so long, but only a moment where the last page was not heard."""
        return min(seconds, SILENT_SECONDS) if self._silent else seconds

    def forget(self, page: _AwaitedPage, *, silent: bool = False) -> None:
        """Nobody waits for this one any longer; `silent`: its time was over."""
        with self._lock:
            self._silent = self._silent or silent
            self._pending = [each for each in self._pending if each is not page]


class _AwaitedPage:
    """One page that is waited for."""

    def __init__(self, code: str, pages: Pages) -> None:
        self.code = clean(code)
        self.page: Page | None = None
        self._pages = pages
        self._over = threading.Event()

    def wait(self, seconds: float) -> Page | None:
        """What became of it; None when nothing was heard, or `stop` was called."""
        has_page = self._over.wait(self._pages.patience(seconds))
        self._pages.forget(self, silent=not has_page)
        return self.page

    def stop(self) -> None:
        """Have `wait` return now; from any thread."""
        self._over.set()
        self._pages.forget(self)

    def tell(self, page: Page) -> None:
        self.page = page
        self._over.set()


class PanelScreen:
    """What the panel lends, while it gives one answer.

    Parameters
    ----------
    inputs : the questions of running programs
    """

    def __init__(self, inputs: Inputs) -> None:
        self.pages, self.inputs = Pages(), inputs

    def expect(self, code: str) -> PendingPage | None:
        """See `lmc_jupyter.computer.screen.Screen`."""
        return self.pages.expect(code)

    def ask(self, prompt: str, password: bool = False, choices: Choices = ()) -> str:
        """See `lmc_jupyter.computer.screen.Screen`."""
        __tracebackhide__ = True
        return self.inputs.ask(prompt, password, choices=choices)

    def stop(self) -> None:
        """Whoever waits for a page or a person waits no longer."""
        self.pages.stop()
        self.inputs.stop()


class CellScreen:
    """What a `%%lmc` cell lends.

    Parameters
    ----------
    pages : of the cell's view
    has_browser : waits until it is known whether somebody's browser shows the cell
    ask : asks on the keyboard, from the answer's thread, with the prompt and whether it is for a
        password; None where nobody can be asked
    """

    def __init__(
        self, pages: Pages, has_browser: Callable[[], bool], ask: Callable[[str, bool], str] | None
    ) -> None:
        self._pages, self._has_browser, self._ask = pages, has_browser, ask

    def expect(self, code: str) -> PendingPage | None:
        """See `lmc_jupyter.computer.screen.Screen`."""
        return self._pages.expect(code) if self._has_browser() else None

    def ask(self, prompt: str, password: bool = False, choices: Choices = ()) -> str:
        """See `lmc_jupyter.computer.screen.Screen`; a choice is typed."""
        if self._ask is None:
            raise ComputerError("the code asks for input, and nobody can be asked here")
        return self._ask(in_words(prompt, choices), password)


def read_page(content: object) -> Page | None:
    """A front end's report as a `Page`, bounded; None when it is none."""
    if not isinstance(content, Mapping):
        return None
    lines, text = content.get("lines"), content.get("text")
    if not isinstance(lines, list) or not isinstance(text, str):
        return None
    result: list[str] = []
    room = MOST_CONSOLE
    for line in lines[:MOST_LINES]:
        if isinstance(line, str) and room > 0:
            result.append(clean(line[: min(MOST_LINE, room)]))
            room -= len(result[-1])
    if len(lines) > MOST_LINES or room <= 0:
        result.append("… more lines are left out …")
    return Page(
        tuple(result),
        clean(text[:MOST_TEXT]),
        _pixels(content.get("width")),
        _pixels(content.get("height")),
        _picture(content.get("picture")),
    )


def _picture(value: object) -> str:
    return clean(value) if isinstance(value, str) and len(value) <= MOST_PICTURE else ""


def _pixels(value: Any) -> int:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(min(MOST_PIXELS, max(0, value))) if is_number and value == value else 0
