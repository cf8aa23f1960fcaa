"""The chat panel: a session in a widget, in a cell's output or in JupyterLab's sidebar.

One rule: it works beside the kernel's main thread and never on it. What a front end says comes
in on any thread and is done on a thread of its own; what it sees is the mirror's numbered
events (js/src/protocol.ts). A turn of the panel is a thread that drives `Session.ask`.

It is one file of over 400 lines because a turn, a command and a request share what the front end
says and what it is answered: the question that is open, the field that is asked for, the mirror.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import uuid
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from lmc_jupyter.agent import Reply
from lmc_jupyter.content import charts
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.frontends.inputs import Inputs
from lmc_jupyter.frontends.magic.commands import COMMANDS, Commands, model
from lmc_jupyter.frontends.magic.commands.table import Call
from lmc_jupyter.frontends.magic.current import current_magics
from lmc_jupyter.frontends.panel import kept
from lmc_jupyter.frontends.panel.attachments import messages_of
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.kept import text
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.question import covered, decision, is_for_all
from lmc_jupyter.frontends.screen import PanelScreen
from lmc_jupyter.frontends.states import STATES
from lmc_jupyter.frontends.view import play
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.kernel.between_cells import between_cells
from lmc_jupyter.kernel.namespace import matching
from lmc_jupyter.lmc import LANGUAGES, Chunk, clean
from lmc_jupyter.models.brief import name_of
from lmc_jupyter.models.choice import label
from lmc_jupyter.models.sent import Request
from lmc_jupyter.session import Session
from lmc_jupyter.turn.turns import Turn, Watcher

if TYPE_CHECKING:
    from lmc_jupyter.frontends.panel.widget import Widget

_LOOKS = ("hello", "ready", "sync", "names", "sent", "console", "asset", "page")
"""What a front end says often: it changes nothing, takes no time, and is done on one thread."""
_FETCHED = ("katex.js", "highlight.js")
"""Files of the bundle that the front end asks for at need."""
_ENDING_SECONDS = 2.0  # an answer that the panel was told is over may still be putting things away


class ChatPanel:
    """A chat with a model that works in this kernel; the value of a cell shows it.

    Parameters
    ----------
    session : Session, optional
        Default: the one that the `%%lmc` cells share. The extension is loaded if it is not.

    Raises
    ------
    LMCError
        Where there is no Jupyter kernel, or the bundle was not built.
    """

    def __init__(self, session: Session | None = None) -> None:
        magics = _magics()
        mailbox = magics.stage.mailbox
        from lmc_jupyter.frontends.panel.widget import Widget  # anywidget: at the first panel

        self.session: Session = magics.session if session is None else session
        shared = self.session is magics.session
        self._commands = magics.commands if shared else Commands(self.session, cells=magics.cells)
        self._shell = magics.shell
        self._context = contextvars.copy_context()
        self._turning = threading.Lock()
        self._view: _View | None = None
        self._screen: PanelScreen | None = None
        self._typing: Inputs | None = None
        """What a command asks for, such as a key."""
        self._offered_to_fetch = ""
        self._mailbox = mailbox
        self._widget: Widget | None = None
        self.model_id = uuid.uuid4().hex
        self._batch = Batch(self._send)
        self._mirror = Mirror(self.session, self._batch, self._settings)
        self._looks: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._batch.start(self._context.run)
        self._on_a_thread(self._answer_looks)
        mailbox.open(self.model_id, self._receive, twice=(*_LOOKS, "models"))
        self._widget = Widget("panel", self.model_id)
        self._widget.on_msg(self._by_comm)
        if self.session.conversation.notice:
            self._mirror.note(self.session.conversation.notice, "error")
        if self.session.conversation.other_model:
            self._mirror.note(self.session.conversation.other_model)
        for each in magics.remarks if shared else ():
            self._mirror.note(each)
        self._closing: list[Callable[[], None]] = magics.stage.closing
        self._closing.append(self.close)

    def __repr__(self) -> str:
        return "<lmc-jupyter chat panel>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return self.bundle()

    def bundle(self) -> dict[str, Any]:
        """The mime bundle that shows it."""
        if self._widget is None:
            raise LMCError("this panel is closed: make another one with ChatPanel()")
        return self._widget.bundle()

    @property
    def alive(self) -> bool:
        """Whether a front end can still reach it."""
        widget = self._widget
        return widget is not None and widget.comm is not None and not widget.closed_there

    def close(self) -> None:
        """Take it away. The conversation stays; a turn that it drives is stopped."""
        widget = self._widget
        if widget is None:
            return
        view = self._view
        if view is not None:
            self.session.stop()
        typing = self._typing
        if typing is not None:
            typing.close()
        self._mirror.close()
        self._batch.close()
        self._widget = None
        self._looks.put(None)
        self._unlist()
        self._mailbox.close(self.model_id)
        widget.close()

    def _unlist(self) -> None:
        """Nobody need close it any more, nor keep it for that."""
        if self.close in self._closing:
            self._closing.remove(self.close)

    # What the front end says ----------------------------------------------------------------------

    def _by_comm(self, _: object, content: dict[str, Any], __: object) -> None:
        self._mailbox.deliver(self.model_id, content)

    def _receive(self, content: dict[str, Any]) -> None:
        """A message, on any thread; nothing here waits."""
        kind = content.get("kind")
        if kind == "decision":
            view = self._view
            if view is not None:
                view.decide(content)
        elif kind == "input":
            for inputs in self._inputs():
                inputs.answer(content)
        elif kind == "stop":
            typing = self._typing
            if typing is not None:
                typing.close()
            self.session.stop()
        elif kind in _LOOKS:
            self._looks.put(content)
        else:
            self._on_a_thread(lambda: self._answer(content))

    def _on_a_thread(self, work: Callable[[], None]) -> None:
        context = self._context.copy()
        threading.Thread(target=context.run, args=(work,), name="lmc-panel", daemon=True).start()

    def _answer_looks(self) -> None:
        """A thread for each would cost ipykernel two file descriptors each, for ten seconds."""
        for content in iter(self._looks.get, None):
            try:
                self._answer(content)
            except Exception as error:  # noqa: BLE001 - the next one may be answered
                warnings.warn(
                    f"the panel could not answer {content.get('kind')!r}: "
                    f"{type(error).__name__}: {error}",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def _show_input(self) -> None:
        """Called within code that waits for the person: see `Inputs`."""
        self._looks.put({"kind": "show input"})

    def _inputs(self) -> list[Inputs]:
        """Who may ask the person for a line: the code that runs, and a command."""
        screen = self._screen
        return [*filter(None, (None if screen is None else screen.inputs, self._typing))]

    def _secret(self, name: str) -> str:
        """A key that nobody sees; it goes to the kernel alone. "" where none is typed."""
        if self._typing is not None:
            raise SessionError("a key is asked for already: type it in the field above")
        typing = self._typing = Inputs(self._show_input)
        try:
            return typing.ask(name, password=True, key=True)
        except EOFError:
            return ""
        finally:
            self._typing = None
            self._show_input()

    def _answer(self, content: dict[str, Any]) -> None:
        kind = content.get("kind")
        if kind == "show input":
            asking = self._inputs()
            self._mirror.input(asking[0].asked(*asking[1:]) if asking else None)
        elif kind in ("hello", "ready"):
            self._batch.snapshot(self._snapshot)
        elif kind == "sync":
            if not self._batch.repeat(content.get("epoch"), content.get("have")):
                self._batch.snapshot(self._snapshot)
        elif kind in ("ask", "retry", "edit"):
            self._turn(content)
        elif kind == "page":
            self._page(content)
        else:
            self._reply(content, lambda: self._value(content))

    def _snapshot(self) -> dict[str, Any]:
        return {**self._mirror.snapshot(), "tables": tables()}

    def _reply(self, content: Mapping[str, Any], make: Callable[[], tuple[Any, ...]]) -> bool:
        """Say what `make` gives, or the sentence of what it raises; whether it went well."""
        buffers: list[bytes] = []
        answer: dict[str, Any]
        try:
            value, *buffers = make()
            answer = {"ok": True, "value": value}
        except LMCError as error:
            answer = {"ok": False, "error": clean(str(error))}
        except Exception as error:  # noqa: BLE001 - the person reads it in the panel
            said = f"the panel could not do this: {type(error).__name__}: {error}"
            answer = {"ok": False, "error": clean(said)}
        self._send({"kind": "reply", "of": content.get("id"), **answer}, buffers)
        return bool(answer["ok"])

    def _value(self, content: dict[str, Any]) -> tuple[Any, ...]:
        """The value that answers a request, and the buffers that go with it."""
        kind = content.get("kind")
        if kind == "command":
            return (clean(self._command(text(content, "line"))),)
        if kind == "models":
            return (self._models(),)
        if kind == "choose":
            base = content.get("api_base")
            name, keep = text(content, "model"), content.get("keep") is True
            base = base if isinstance(base, str) and base else None
            return (clean(model.model(Call(self._commands, _InPanel(self)), name, base, keep)),)
        if kind == "names":
            prefix = text(content, "prefix").removeprefix("@")
            found = matching(self._shell, prefix)
            return ([{"name": clean(n), "type": clean(t), "shape": s} for n, t, s in found],)
        if kind == "vision":
            return (self.session.choice.vision(),)
        if kind == "sent":
            turn = self._mirror.turn(content.get("turn"))
            return ([_sent(request) for request in list(turn.requests)],)
        if kind == "console":
            return (self._mirror.whole(content.get("at")),)
        if kind == "restore":
            return (clean(self.session.restore(self._mirror.names(content.get("at")))),)
        if kind == "asset":
            return None, self._asset(content.get("name"))
        if kind == "rate":
            return kept.rate(self.session, content, self._mirror.answer)
        if isinstance(kind, str) and kind in kept.ACTS:
            return kept.ACTS[kind](self.session, content)
        raise LMCError(f"the panel does not know the request {kind!r}: reload the page")

    # A turn ---------------------------------------------------------------------------------------

    def _turn(self, content: dict[str, Any]) -> None:
        """Begin an answer, say so, and drive it to its end."""
        begun: list[Reply] = []

        def begin() -> tuple[None]:
            begun.append(self._begin(content))
            return (None,)

        if self._mirror.over:
            self.session.wait(_ENDING_SECONDS)
        if not self._turning.acquire(blocking=not self.session.busy):
            self._reply(content, self._refuse)
            return
        try:
            if self._reply(content, begin):
                self._drive(begun[0])
        finally:
            self._turning.release()

    def _refuse(self) -> tuple[Any, ...]:
        raise SessionError(_BUSY)

    def _begin(self, content: dict[str, Any]) -> Reply:
        session, kind = self.session, content.get("kind")
        if session.busy:
            raise SessionError(_BUSY)
        if kind == "resume":
            return session.ask(where="panel")
        if kind == "retry":
            return session.retry(self._mirror.turn(content.get("turn")), where="panel")
        asked = text(content, "text")
        if kind == "edit":
            return session.edit(
                self._mirror.turn(content.get("turn")), asked, where="panel", insert=True
            )
        attachments = content.get("attachments") or []
        attached = messages_of(attachments, session.files.folder) if attachments else []
        question = None if attached and not asked.strip() else asked
        insert = not content.get("plain")
        return session.ask(question, attachments=attached, where="panel", insert=insert)

    def _page(self, content: Mapping[str, Any]) -> None:
        """A page says what became of it; whoever waits for that is told."""
        screen, at = self._screen, content.get("at")
        shown = self._mirror.page(at) if screen is not None else None
        if screen is None or shown is None or not isinstance(at, int):
            return
        if screen.pages.heard(shown, content.get("page")) is not None:
            self._mirror.page_heard(at)

    def _drive(self, reply: Reply) -> None:
        screen = self._screen = PanelScreen(Inputs(self._show_input))
        view = _View(self.session, self._mirror, screen)
        self._view, self._mirror.own = view, True
        self._mirror.awaited = screen.pages.awaited
        computer: Any = self.session.computer
        if lends := hasattr(computer, "screen"):
            computer.screen = screen
        unwatch = self.session.history.subscribe(view)
        python: Any = self.session.computer.languages.get("python")
        waits = hasattr(python, "on_wait")
        if waits:
            python.on_wait = self._say_it_waits
        try:
            with between_cells():
                play(reply, view)
        except SessionError as error:  # another answer has begun since it was asked
            self._mirror.note(f"this question has no answer yet: {error}", "error")
        except (LMCError, KeyboardInterrupt):
            return  # the mirror shows what ended it
        except Exception as error:  # noqa: BLE001 - the thread ends here
            self._mirror.note(f"{type(error).__name__}: {error}", "error")
        finally:
            unwatch()
            if waits:
                python.on_wait = None
            if lends:
                computer.screen = None
            self._screen = self._mirror.awaited = None
            self._view, self._mirror.own = None, False
            screen.inputs.close()

    def _say_it_waits(self, waiting: bool) -> None:
        self._mirror.busy_with("waiting for the running cell" if waiting else "")

    # Values ---------------------------------------------------------------------------------------

    def _command(self, line: str) -> str:
        return self._commands.run(line.strip().removeprefix("%lmc").lstrip(" /"), _InPanel(self))

    def _begin_turn(self, content: dict[str, Any]) -> None:
        """Begin a turn that a command asks for."""
        if self.session.busy:
            raise SessionError(_BUSY)
        self._on_a_thread(lambda: self._turn(content))

    def _choose(self, name: str, base: str | None) -> str:
        """Choose a model. One that must be fetched is chosen twice: the first time it is told."""
        said: list[str] = []
        again, self._offered_to_fetch = self._offered_to_fetch == name, ""
        try:
            done = model.choose(
                self._commands,
                name,
                base,
                ask=(lambda _: "yes") if again else None,
                say=said.append,
                progress=self._mirror.busy_with,
            )
        finally:
            self._mirror.busy_with("")
        if said and not again:
            self._offered_to_fetch = name
            raise LMCError(f"{' '.join(said)} To fetch it now, choose it once more.")
        return done

    def _models(self) -> list[dict[str, Any]]:
        """What could be used now (`Offer` of protocol.ts); what is in use comes first."""
        from lmc_jupyter.models import embedded, found

        name, base = self._named()
        offers = [
            {
                "name": offer.name,
                "label": offer.label or offer.name,
                "why": offer.why,
                "api_base": offer.options.get("api_base"),
            }
            for offer in [*found(), embedded()]
        ]
        for offer in offers:
            offer["current"] = (offer["name"], offer["api_base"]) == (name, base)
        if not any(offer["current"] for offer in offers):
            label = self._settings()["label"] or name
            used = {"name": name, "label": label, "why": "in use", "api_base": base}
            offers.insert(0, {**used, "current": True})
        return offers

    def _named(self) -> tuple[str, str | None]:
        named = self.session.choice.named
        if named is not None and not isinstance(named, str):
            named = name_of(named)
        return named or os.environ.get("LMC_MODEL") or "local", self.session.choice.api_base

    def _settings(self) -> dict[str, Any]:
        session = self.session
        try:
            name = label(session.model)
        except LMCError:
            name = ""  # the person is told when they ask something
        return {
            "model": clean(self._named()[0]),
            "label": clean(name),
            "chosen": session.choice.named is not None or bool(os.environ.get("LMC_MODEL")),
            "auto_run": session.runs_unasked,
            "title": clean(session.journal.title),
            "unsaved": clean(session.journal.problem),
        }

    def _asset(self, name: object) -> bytes:
        from lmc_jupyter.frontends.panel.widget import built

        if isinstance(name, str) and name in charts.LIBRARIES:
            return charts.library(name).read_bytes()
        if not isinstance(name, str) or name not in _FETCHED:
            raise LMCError(f"the panel has no file {name!r}")
        return built(name).read_bytes()

    def _send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        widget = self._widget
        if widget is not None and widget.comm is not None:
            widget.send(content, buffers or None)


class _View(Watcher):
    """The view of one turn of the panel: the mirror draws, this one waits for the person."""

    def __init__(self, session: Session, mirror: Mirror, screen: PanelScreen) -> None:
        self._session, self._mirror, self._screen = session, mirror, screen
        self._answers: queue.SimpleQueue[Decision | None] = queue.SimpleQueue()
        self._asked: Proposal | None = None
        self._all = False

    def show(self, chunk: Chunk) -> None:
        """The mirror has seen it already."""

    def confirm(self, chunk: Chunk) -> Decision | None:  # noqa: ARG002 - the gate holds the code
        """Wait for the person's click."""
        proposal = self._session.gate.pending
        if proposal is None:
            return None
        if proposal.verdict == "allow" or (self._all and covered(proposal)):
            return Decision(True)
        self._asked = proposal
        self._mirror.ask(proposal)
        try:
            answer = self._answers.get()
        finally:
            self._asked = None
            self._mirror.unask()
        if answer is None:
            raise Stopped("stopped before the code was run")
        return answer

    def decide(self, content: Mapping[str, Any]) -> None:
        """A click, on any thread; the first answer to a question counts."""
        asked = self._asked
        answer = decision(content, asked) if asked is not None else None
        if answer is not None:
            self._asked = None
            self._all = self._all or is_for_all(content)
            self._answers.put(answer)

    def stopping(self) -> None:
        self._answers.put(None)
        self._screen.stop()

    def fail(self, error: BaseException) -> None:
        """The mirror shows it."""

    def close(self) -> None:
        """There is nothing to leave."""


_BUSY = (
    "another answer is in progress in this kernel: wait for it or stop it, then send again; "
    "your text stays here"
)

_panels: list[ChatPanel] = []
"""The kernel's one panel, once it is made."""
_making = threading.RLock()


def panel_model_id() -> str:
    """The widget model's id of the one panel of this kernel, made at the first call.

    For the sidebar, which shows it.
    """
    return the_panel().model_id


def the_panel(magics: Any = None) -> ChatPanel:
    """The one panel of this kernel, made at the first call and again when it was closed."""
    with _making:  # the sidebar may ask on two threads at once: one of them waits for a cell
        session = (magics or _magics()).session
        if not _panels or not _panels[0].alive or _panels[0].session is not session:
            for old in _panels:
                old.close()
            _panels[:] = [ChatPanel()]
        return _panels[0]


def _magics() -> Any:
    """Our magics in this kernel; the extension is loaded if it is not."""
    try:
        return current_magics()
    except SessionError:
        shell = get_ipython()
        if shell is None:
            raise LMCError(
                "there is no notebook here: the panel needs a Jupyter kernel. "
                "From a script use lmc_jupyter.Session"
            ) from None
        extensions: Any = shell.extension_manager
        extensions.load_extension("lmc_jupyter")
        return current_magics()


def tables() -> dict[str, Any]:
    """What the front end takes from the kernel (`Tables` of protocol.ts)."""
    commands = [
        {
            "name": each.name,
            "takes": " ".join(takes.word for takes in each.takes),
            "does": each.help,
            "also": each.also,
        }
        for each in COMMANDS
        if each.in_panel
    ]
    return {"commands": commands, "states": STATES, "languages": LANGUAGES}


def _sent(request: Request) -> dict[str, Any]:
    return {
        "model": clean(request.model),
        "body": clean(request.body),
        "seconds": round(request.seconds, 2),
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": request.completion_tokens,
        "cost": request.cost,
    }


class _InPanel:
    """What a command needs of the panel that it was typed in."""

    def __init__(self, panel: ChatPanel) -> None:
        self._panel = panel

    def ask(self, question: str, insert: bool) -> None:
        self._panel._begin_turn({"kind": "ask", "text": question, "plain": not insert})

    def resume(self) -> None:
        self._panel._begin_turn({"kind": "resume"})

    def retry(self, turn: Turn) -> None:
        self._panel._begin_turn({"kind": "retry", "turn": turn.id})

    def show_panel(self) -> None:
        """It is here already."""

    def choose(self, name: str, api_base: str | None) -> str:
        return self._panel._choose(name, api_base)

    def secret(self, name: str) -> str:
        return self._panel._secret(name)
