"""The answer in a cell's output: one display per message, updated in place while it streams.

One rule: it draws under its own cell whatever else runs, and what it leaves at the end is
static HTML that needs no kernel. It never draws what the kernel itself shows (the output of
python), only what nobody else would. Where updates are not known to be seen, each message is shown
once, whole, so that a person never says yes to code of which they see a part.

Drawing happens on a thread of its own, so that a slow front end never slows the model; a
message that ends and a question are drawn before the answer goes on.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.hidden import hidden
from lmc_jupyter.conversation.events import Turn
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.errors import Stopped
from lmc_jupyter.frontends.cell import html
from lmc_jupyter.frontends.question import covered, decision, is_for_all, question
from lmc_jupyter.frontends.screen import Pages, read_page
from lmc_jupyter.frontends.states import STATES, is_over
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.lmc import Chunk, canonical, clean
from lmc_jupyter.models.choice import label
from lmc_jupyter.models.spending import dollars
from lmc_jupyter.session import Session
from lmc_jupyter.turn.turns import Watcher

PAINT_SECONDS = 0.05  # at most 20 updates a second…
PAINT_CHARACTERS_A_SECOND = 400_000  # …and fewer for a long message: each update sends it whole
HELLO_SECONDS = 2.0  # how long a front end has, once it has the widgets, to say that it can press
EXPECTED_SECONDS = 20.0  # …in a kernel that has heard one before
TICK_SECONDS = 1.0


class Display(Protocol):
    """Where it draws: see `lmc_jupyter.kernel.display.CellDisplay`."""

    shows_updates: bool

    def show(self, data: dict[str, Any], display_id: str) -> None: ...

    def update(self, data: dict[str, Any], display_id: str) -> None: ...

    def flush(self) -> None: ...

    def clear(self) -> None: ...


class Prompter(Protocol):
    """Somebody with buttons: see `lmc_jupyter.frontends.cell.buttons.Prompter`."""

    here: threading.Event
    expected: bool
    inbox: list[tuple[str, dict[str, Any]]]
    bar: Any
    ask: Any

    def page(self) -> Any: ...

    def close(self) -> None: ...


class CellView:
    """A view in a notebook cell.

    Parameters
    ----------
    session : whose answer it shows
    display : where it draws
    person : makes the buttons, given what wakes this view; None where there can be none
    ask : asks on the keyboard, where there are no buttons; None where that is not allowed
    withdraw : ends `ask` with a KeyboardInterrupt, from any thread; False where it asks nothing
    """

    def __init__(
        self,
        session: Session,
        display: Display,
        person: Callable[[Callable[[], None]], Prompter] | None = None,
        ask: Callable[[str], str] | None = None,
        withdraw: Callable[[], bool] | None = None,
    ) -> None:
        self._session, self._display = session, display
        self._ask, self._withdraw = ask, withdraw
        self._on_keyboard = self._withdrawn = False
        self._begun = time.monotonic()
        self._state, self._note = "thinking", ""
        self._cards: list[_Card] = []
        self._dirty: dict[_Card, None] = {}
        self._wakeup = threading.Condition()
        self._painting = threading.RLock()
        self._answers: queue.SimpleQueue[Decision | None] = queue.SimpleQueue()
        self._asking: tuple[Proposal, _Card] | None = None
        self._closed = self._stopped = self._all = False
        self._runs_natively = self._ran_natively = False
        self._ended_below = False
        """Whether the last state stands below the answer too: no update of the bar may be seen."""
        self._let_run: tuple[_Card, Proposal | None] | None = None
        self._failure: BaseException | None = None
        self.pages = Pages()
        """The pages that the answer waits for."""
        self._by_page: dict[str, _Card] = {}  # by the id of the widget that shows it
        self._leaving = False  # what is drawn now stays in the notebook
        self._hearing: list[Any] = []  # languages that tell when their code clears the output
        self._bar = _fresh()
        self._bar_kind = ""
        self._person = person(self._wake) if person is not None else None
        self._offered = time.monotonic()
        self._draw_bar()
        session.notify = self._waits_for
        self._left_out = ""
        self._took: list[str] = []
        self._unwatch = session.watch(_Hears(self.stop, self._named, self._ended))
        context = contextvars.copy_context()  # ipykernel 7 keeps the cell's header in it
        self._painter = threading.Thread(
            target=context.run, args=(self._paint_until_closed,), name="lmc-view", daemon=True
        )
        self._painter.start()

    # What the loop tells --------------------------------------------------------------------------

    def show(self, chunk: Chunk) -> None:
        """Draw the next chunk."""
        if chunk.type == "confirmation":
            return
        if self._let_run is not None and chunk.role == "computer":
            self._see_whether_it_runs(*self._let_run)
        if chunk.format == "active_line":
            self._active_line(chunk.content)
            return
        if self._runs_natively and chunk.role == "computer":
            return
        if chunk.start:
            self._cards.append(_Card(chunk))
        card = self._cards[-1] if self._cards else None
        if card is None or card.over:
            return  # a whole message without flags has no place in the loop's own stream
        if chunk.content is not None:
            card.parts.append(chunk.content)
            if card.shown:
                self._soil(card)
            else:
                self._flush(card)  # the first words at once, without a change of threads
                if card.head.role == "assistant":
                    self._enter("writing")
        if chunk.end:
            card.over = True
            self._frame(card)
            self._flush(card)
            if card.head.role == "assistant":
                self._enter("thinking")

    def confirm(self, chunk: Chunk) -> Decision | None:
        """Ask by buttons, else on the keyboard; where neither is possible it is not run."""
        proposal = self._session.gate.pending
        if proposal is None:
            return None
        card = self._code_card(chunk)
        if proposal.verdict == "allow":
            self._run(card, "ran without asking")
            return Decision(True)
        if self._all and covered(proposal):
            self._run(card, "you ran all the code of this answer")
            return Decision(True)
        self._enter("waiting")
        card.status = "waits for you"
        decision = self._decide(proposal, card)
        if not decision.run:
            card.status = "not run"
            self._flush(card)
            self._enter("thinking")
            return decision
        if decision.code is not None and decision.code != proposal.code:
            card.parts = [decision.code]
            self._run(card, "you edited and ran this")
        else:
            self._run(card, "you ran this")
        return decision

    def fail(self, error: BaseException) -> None:
        """The state becomes Stopped or Failed; the sentence itself is raised in the cell."""
        stopped = isinstance(error, (KeyboardInterrupt, Stopped))
        self._enter("stopped" if stopped else "failed")

    def close(self) -> None:
        """Leave a static record, and end the thread."""
        if not is_over(self._state):
            self._enter("stopped" if self._session.stopped else "done")
        self._unwatch()
        for language in self._hearing:
            language.on_clear = None
        with self._wakeup:
            self._closed = True
            self._wakeup.notify()
        self._painter.join()
        with self._painting:
            self._leaving = True
            for card in self._cards:
                if not card.settled:
                    card.over = True
                    if card.runs_since is not None:  # it was stopped
                        card.status += f" · stopped after {span(card.seconds())}"
                        card.runs_since = None
                    card.active_line = None
                    if card.is_code and not card.status:
                        card.status = "not run"
                    self._draw(card)
            for note in filter(None, (self._left_out, self._session.unsaved_news())):
                inner = f'<div class="lmc-note">{html.escape(note)}</div>'
                text = terminal.plain(f"[{note}]")
                self._display.show({"text/html": html.page(inner), "text/plain": text}, _fresh())
            self._draw_bar()
        if self._person is not None:
            self._person.close()
        self._session.notify = lambda _: None
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Somebody pressed Stop: from any thread. A question that is open is not answered."""
        self._stopped = True
        self._answers.put(None)
        self.pages.stop()
        self._wake()

    def has_browser(self) -> bool:
        """Whether a browser shows this cell: known once it has said so, or had its time for it.

        Raises
        ------
        Stopped
            When the answer is stopped meanwhile.
        """
        return self._person is not None and self._somebody_presses()

    # Questions ------------------------------------------------------------------------------------

    def _decide(self, proposal: Proposal, card: _Card) -> Decision:
        if self._person is not None and self._somebody_presses():
            return self._by_buttons(proposal, card)
        self._flush(card)
        if self._ask is None:
            return Decision(
                False,
                reason="nobody can be asked here; "
                "`%%lmc --auto-run` lets the code of a cell run without asking",
            )
        self._on_keyboard, self._withdrawn = True, False
        try:
            return _by_keyboard(self._ask, proposal)
        except KeyboardInterrupt:
            if not self._withdrawn or self._stopped:
                raise
        finally:
            self._on_keyboard = False
        with self._painting:
            self._display.clear()  # the input field, which nothing else takes away
            self._draw_again(False)
        return self._by_buttons(proposal, card)

    def _take_over(self) -> None:
        """Buttons that came late ask in place of the keyboard.

        Not where python has shown something: its output would go with the input field.
        """
        if self._on_keyboard and not self._ran_natively and self._withdraw is not None:
            self._withdrawn = True  # before the KeyboardInterrupt, which is understood by it
            self._withdrawn = self._withdraw()
            self._on_keyboard = not self._withdrawn  # one that is about to be asked: the next time

    def _somebody_presses(self) -> bool:
        assert self._person is not None
        patience = max(HELLO_SECONDS, EXPECTED_SECONDS) if self._person.expected else HELLO_SECONDS
        deadline = self._offered + patience
        with self._wakeup:
            self._wakeup.wait_for(
                lambda: self._person.here.is_set() or self._stopped,  # type: ignore[union-attr]
                timeout=max(0.0, deadline - time.monotonic()),
            )
        if self._stopped:
            raise Stopped("stopped before the code was run")
        return self._person.here.is_set()

    def _by_buttons(self, proposal: Proposal, card: _Card) -> Decision:
        assert self._person is not None
        with self._painting:
            self._asking = proposal, card
            self._display.update(self._person.ask.bundle(), card.display_id)
            card.swapped = True
        answer = self._answers.get()
        with self._painting:
            self._asking = None
            card.swapped = False
            stopped = answer is None or self._stopped
            card.status = "not run" if stopped else ""
            self._draw(card)
        if answer is None or stopped:
            raise Stopped("stopped before the code was run")
        return answer

    def _receive(self, kind: str, content: dict[str, Any]) -> None:
        """A message of the front end, on the painter's thread."""
        assert self._person is not None
        if kind in self._by_page:
            self._receive_page(self._by_page[kind], content)
            return
        widget = self._person.bar if kind == "bar" else self._person.ask
        what = content.get("kind")
        if what == "ready" and kind == "bar":
            widget.send(self._bar_state())
        elif what == "ready" and self._asking is not None:
            widget.send({"kind": "ask", **question(self._asking[0])})
        elif what == "decision" and self._asking is not None:
            answer = decision(content, self._asking[0])
            if answer is not None:
                self._asking = None  # the first answer counts; the next one is to no question
                self._all = self._all or is_for_all(content)
                self._answers.put(answer)
        elif what == "stop":
            self.stop()
            self._session.stop()

    def _receive_page(self, card: _Card, content: dict[str, Any]) -> None:
        """A message of the frame that shows this card."""
        text = "".join(card.parts)
        if content.get("kind") == "ready":
            language = card.head.format
            card.page.send({"kind": "page", "language": language, "code": clean(text)})
        elif content.get("kind") == "page":
            report = content.get("page")
            page = self.pages.heard(text, report) or read_page(report)
            if page is not None:
                card.height = page.height if page.width else None  # out of sight it has none
                card.works = bool(page.width or page.text or not page.lines)
                card.picture = page.picture

    # Cards ----------------------------------------------------------------------------------------

    def _frame(self, card: _Card) -> None:
        """HTML gets a live frame where a browser is; JavaScript, where somebody waits for it."""
        if not card.is_page or not self._is_here():
            return
        text = "".join(card.parts)
        awaited = self.pages.awaited(text)
        if not awaited and html.table_html(text) is not None:
            return  # it needs no frame
        if card.head.format == "html" or awaited:
            assert self._person is not None
            # what nobody waits for, a plain table, may still be loading when the answer is over
            card.page, card.works = self._person.page(), not awaited
            self._by_page[card.page.model_id] = card

    def _code_card(self, chunk: Chunk) -> _Card:
        """The card of the code that is asked about; a new one when an old answer goes on."""
        code = chunk.content
        last = self._cards[-1] if self._cards else None
        if last is not None and last.is_code and not last.status:
            if "".join(last.parts) != code["content"]:
                last.parts = [code["content"]]
                last.shown = last.shown and self._updates_are_seen()
            return last
        card = _Card(Chunk("assistant", "code", code["format"], start=True))
        card.parts, card.over = [code["content"]], True
        self._cards.append(card)
        return card

    def _run(self, card: _Card, status: str) -> None:
        card.status = status
        card.runs_since = time.monotonic()
        self._let_run = card, self._session.gate.ran
        language: Any = self._session.computer.languages.get(canonical(card.head.format or ""))
        self._runs_natively = getattr(language, "native", False)
        self._ran_natively = self._ran_natively or self._runs_natively
        if hasattr(language, "on_clear"):
            language.on_clear = self._draw_again
            self._hearing.append(language)
        self._enter("running")
        self._flush(card)

    def _see_whether_it_runs(self, card: _Card, before: Proposal | None) -> None:
        """The gate may refuse in spite of the yes: an edit that policy denies."""
        self._let_run = None
        if self._session.gate.ran is before:
            card.status, card.runs_since = "not run", None
            self._runs_natively = False
            self._flush(card)
            self._enter("thinking")

    def _draw_again(self, _wait: bool) -> None:
        """The code has cleared the cell's output, and our part of it too; on its thread."""
        with self._painting:
            self._bar_kind = ""
            self._draw_bar()
            for card in self._cards:
                if card.shown:
                    card.shown = False
                    self._draw(card)

    def _running(self) -> _Card | None:
        return next((card for card in reversed(self._cards) if card.runs_since is not None), None)

    def _named(self, names: Names) -> None:
        """Just before the block is known to be over: it is drawn then."""
        running = self._running()
        if running is not None:
            running.names = names

    def _ended(self, turn: Turn) -> None:
        """What the answer took stands above it, what the model did not see below."""
        self._took, self._left_out = usage(turn), turn.left_out

    def _active_line(self, line: int | None) -> None:
        running = self._running()
        if running is None:
            return
        if line is not None:
            running.active_line = line
            self._soil(running)
            return
        seconds = running.seconds()
        running.active_line = running.runs_since = None
        running.status += f" · {span(seconds)}"
        if self._runs_natively:  # here and not at the next words, which are to be seen at once
            self._display.flush()
        self._runs_natively = False
        self._flush(running)
        self._enter("thinking")

    # Painting -------------------------------------------------------------------------------------

    def _wake(self) -> None:
        with self._wakeup:
            self._wakeup.notify_all()

    def _soil(self, card: _Card) -> None:
        with self._wakeup:
            self._dirty[card] = None
            self._wakeup.notify()

    def _flush(self, card: _Card) -> None:
        """Draw now, before anything else happens."""
        with self._painting:
            self._dirty.pop(card, None)
            self._draw(card)

    def _paint_until_closed(self) -> None:
        """The painter's thread: what goes wrong there is raised where the answer is played."""
        try:
            self._paint()
        except BaseException as error:  # noqa: BLE001 - it is raised by `close`
            self._failure = error
            self.stop()
            self._session.stop()

    def _paint(self) -> None:
        ticked = time.monotonic()
        while True:
            with self._wakeup:
                self._wakeup.wait_for(self._has_work, timeout=TICK_SECONDS)
                if self._closed:
                    return
            with self._painting:
                if self._person is not None:
                    while self._person.inbox:
                        self._receive(*self._person.inbox.pop(0))
                if self._is_here():
                    self._take_over()
                drawn = 0
                for card in list(self._dirty):
                    self._dirty.pop(card, None)
                    drawn += self._draw(card)
                if time.monotonic() - ticked >= TICK_SECONDS and self._bar_kind != "widget":
                    ticked = time.monotonic()
                    self._draw_bar()
                elif self._bar_kind == "html" and self._is_here():
                    self._draw_bar()
            if drawn:
                pause = max(PAINT_SECONDS, drawn / PAINT_CHARACTERS_A_SECOND)
                with self._wakeup:  # messages of the person are heard at once all the same
                    self._wakeup.wait_for(
                        lambda: self._closed or bool(self._person and self._person.inbox), pause
                    )

    def _has_work(self) -> bool:
        person = self._person
        return bool(
            self._closed
            or self._dirty
            or (person is not None and person.inbox)
            or (self._bar_kind == "html" and self._is_here())
        )

    def _is_here(self) -> bool:
        return self._person is not None and self._person.here.is_set()

    def _updates_are_seen(self) -> bool:
        """Whether what is drawn may change, as it may in a record that nobody watches."""
        return self._person is None or self._display.shows_updates or self._is_here()

    def _draw(self, card: _Card) -> int:
        """Draw one card; returns how many characters were sent."""
        if card.swapped or (card.is_page and not card.over):
            return 0  # the buttons stand in its place; a page is shown whole
        if not (card.shown or card.over or self._updates_are_seen()):
            return 0
        if card.page is not None and not self._leaving:
            if not card.shown:
                card.shown = True
                self._display.show(card.page.bundle(), card.display_id)
            return 0
        inner, text = card.render()
        if not inner:
            return 0
        bundle = {"text/html": html.page(inner), "text/plain": text}
        if card.shown:
            self._display.update(bundle, card.display_id)
        else:
            card.shown = True
            self._display.show(bundle, card.display_id)
        card.settled = card.over and card.runs_since is None
        return len(bundle["text/html"])

    # The state line -------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        if state == self._state and not self._note:
            return
        self._state, self._note = state, ""
        with self._painting:
            self._draw_bar()

    def _waits_for(self, note: str) -> None:
        """The model says what it waits for, such as loading its weights."""
        self._note = note
        with self._painting:
            self._draw_bar()

    def _bar_state(self) -> dict[str, Any]:
        return {
            "kind": "state",
            "state": self._state,
            "over": is_over(self._state),
            "note": self._note or STATES[self._state]["label"],
            "elapsed": time.monotonic() - self._begun,
            "label": label(self._session.model),
        }

    def _draw_bar(self) -> None:
        if not is_over(self._state) and self._is_here():
            assert self._person is not None
            if self._bar_kind == "widget":
                self._person.bar.send(self._bar_state())
            else:
                self._put_bar("widget", self._person.bar.bundle())
            return
        said = self._note or STATES[self._state]["label"]
        parts = [span(time.monotonic() - self._begun), label(self._session.model)]
        if is_over(self._state):
            parts += self._took
        inner = (
            f'<div class="lmc-bar"><span class="lmc-dot {self._state}"></span>'
            f"<b>{html.escape(said)}</b><span>{html.escape(' · '.join(parts))}</span></div>"
        )
        text = terminal.plain(f"[{said} · {' · '.join(parts)}]")
        self._put_bar("html", {"text/html": html.page(inner), "text/plain": text})

    def _put_bar(self, kind: str, bundle: dict[str, Any]) -> None:
        if self._bar_kind:
            self._display.update(bundle, self._bar)
        else:
            self._display.show(bundle, self._bar)
        ends = is_over(self._state) and not self._ended_below
        if self._bar_kind and ends and not self._updates_are_seen():
            self._ended_below = True
            self._display.show(bundle, _fresh())
        self._bar_kind = kind


def _sound(text: str) -> str:
    """The path of a sound as it is; of its data, how much there is."""
    return text if "." in text else f"wav, {len(text) * 3 // 4000:,} kB"  # base64 has no dot


class _Hears(Watcher):
    """What a view hears past the chunks: a stop from elsewhere, what code did to the names, and
    what of the conversation was left out.
    """

    def __init__(
        self,
        stop: Callable[[], None],
        named: Callable[[Names], None],
        ended: Callable[[Turn], None],
    ) -> None:
        self._stop, self._named, self._ended = stop, named, ended

    def ended(self, turn: Turn, error: BaseException | None) -> None:  # noqa: ARG002
        self._ended(turn)

    def stopping(self) -> None:
        self._stop()

    def named(self, names: Names) -> None:
        self._named(names)


class _Card:
    """One message on the screen."""

    def __init__(self, head: Chunk) -> None:
        self.head = head
        self.display_id = _fresh()
        self.parts: list[str] = []
        self.over = self.shown = self.settled = self.swapped = False
        self.status = ""
        self.active_line: int | None = None
        self.names: Names | None = None
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
        self._taken = 0

    @property
    def is_page(self) -> bool:
        """HTML or JavaScript that the computer shows to the person."""
        shown = self.head.format in ("html", "javascript") and self.head.recipient != "assistant"
        return self.head.role == "computer" and self.head.type == "code" and shown

    @property
    def is_code(self) -> bool:
        return self.head.role == "assistant" and self.head.type == "code"

    def seconds(self) -> float:
        """How long it has run."""
        return 0.0 if self.runs_since is None else time.monotonic() - self.runs_since

    def render(self) -> tuple[str, str]:
        """The message as it stands, as (html, plain text); ("", "") when there is nothing yet."""
        count = len(self.parts)  # the loop appends meanwhile
        if not count:
            return "", ""
        if self.head.type == "message" and self.head.role != "computer":
            return self._render_markdown(count)
        text = "".join(self.parts[:count])
        inner, plain = self._render_whole(text)
        if self.head.recipient == "assistant":
            return html.details("For the model", inner), ""
        return inner, plain

    def _render_markdown(self, count: int) -> tuple[str, str]:
        for part in self.parts[self._taken : count]:
            self._markdown.push(part)
        self._taken = count
        text = self._markdown.text()
        inner = self._markdown.whole() if self.over else self._markdown.html()
        if self.head.recipient == "assistant":
            return html.details("For the model", inner), ""
        if self.head.role == "assistant" and self.head.recipient == "user":
            return html.details("Thoughts", inner), ""
        return inner, terminal.plain(text)

    def _render_whole(self, text: str) -> tuple[str, str]:
        type_, format_ = self.head.type, self.head.format
        if self.is_page and (format_ == "html" or self.page is not None):
            table = html.table_html(text) if self.page is None and format_ == "html" else None
            if table is not None:
                return table, html.page_text(text)
            inner = html.page_html(
                text, format_ or "", self.height, works=self.works, picture=self.picture
            )
            return inner, f"[{format_}]\n{shorten.lines(html.visible(text), html.CONSOLE_LINES)}"
        if self.head.role == "computer" and format_ == "markdown":
            return html.markdown(text), terminal.plain(text)
        if type_ == "code":
            return self._render_code(text, format_ or "text")
        if type_ == "image" and format_ != "path":
            return html.image_html(text, format_), "[image]"
        if type_ in ("image", "file", "audio"):
            named = _sound(text) if type_ == "audio" else html.visible(text)
            return html.note_html(f"{type_}: {named}"), terminal.plain(f"[{type_}: {named}]")
        plain = shorten.lines(terminal.plain(text), html.CONSOLE_LINES).strip("\n")
        return html.console_html(text), plain

    def _render_code(self, text: str, language: str) -> tuple[str, str]:
        status = self.status or ("" if self.over else "writing…")
        if self.runs_since is not None:
            status = "running…"
        if self.is_code and (count := hidden(text)):
            warning = html.note_html(f"Hidden characters, marked in red: {count}", "lmc-warn")
        else:
            warning = ""
        named = html.visible(language)
        inner = (
            f'<div class="lmc-code"><div class="lmc-head"><b>{html.escape(named)}</b>'
            f"<span>{html.escape(status)}</span></div>{warning}"
            f"{html.code_html(text, language, self.active_line)}"
            f"{html.names_html(self.names) if self.names else ''}</div>"
        )
        head = f"[{named}{f', {status}' if status else ''}]"
        tail = f"\n{html.names_text(self.names)}" if self.names else ""
        return inner, f"{head}\n{html.visible(text)}{tail}"


def _by_keyboard(ask: Callable[[str], str], proposal: Proposal) -> Decision:
    """Ask in words: y runs; n, or anything else as the reason, does not."""
    uses = html.visible(
        " and ".join([proposal.language, *sorted(proposal.uses - {proposal.language})])
    )
    why = f" ({proposal.reason})" if proposal.reason else ""
    try:
        said = ask(f"Run this {uses} code?{why} [y]es, [n]o, or say why not: ").strip()
    except EOFError:
        return Decision(False, reason="nobody answered on the keyboard")
    if said.lower() in ("y", "yes"):
        return Decision(True)
    return Decision(False, reason="" if said.lower() in ("", "n", "no") else said)


def usage(turn: Turn) -> list[str]:
    """What an answer took, all its requests together: tokens and cost, as far as known."""
    said = []
    tokens = (turn.prompt_tokens or 0) + (turn.completion_tokens or 0)
    if tokens:
        said.append(f"{tokens:,} tokens")
    if turn.cost:
        said.append(dollars(turn.cost))
    return said


def span(seconds: float) -> str:
    """Seconds for a person: `3.2 s`, `48 s`, `2 min 05 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def _fresh() -> str:
    return f"lmc-{uuid.uuid4().hex}"
